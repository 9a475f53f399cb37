"""Benchmarks: what everything costs beside plain numpy, and on a GPU."""
