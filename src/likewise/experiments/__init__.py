"""Experiments: the learners by name, games side by side, figures and reports."""
