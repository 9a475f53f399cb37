"""The commands that this package adds to ``likewise``, by entry points."""
