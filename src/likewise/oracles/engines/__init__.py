"""Engines: the same draws, made in different ways. The numpy one is the reference."""
