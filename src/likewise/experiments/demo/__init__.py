"""The demo: learners side by side, a round in plain words, figures and a report."""
