"""Arithmetic that is the same on every machine."""
