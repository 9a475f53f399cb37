"""Worlds of real people, whose files are read where they are, and surveys of what people judged."""
