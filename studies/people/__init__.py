"""Worlds of real people, from files that are not part of this project."""
