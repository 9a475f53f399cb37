"""Dockets at work: their settings, rounds, learner and commands."""
