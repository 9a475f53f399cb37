"""Settings for all tests: hypothesis is deterministic, and never times a single example."""

from hypothesis import settings

settings.register_profile("likewise", derandomize=True, deadline=None)
settings.load_profile("likewise")
