"""Identities of callers: tokens, sign-ins, seats, and limits."""
