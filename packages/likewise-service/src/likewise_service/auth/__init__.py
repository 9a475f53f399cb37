"""Callers: tokens, sign-ins, seats, and limits."""
