"""Signatures: the installation's keys, what members sign, and time-stamps of authorities."""
