"""Callers: tokens, sign-ins, and how much they may ask for."""
