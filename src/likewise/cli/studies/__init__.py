"""The command line of the studies: many games side by side, and what everything costs."""

from likewise.cli.studies import benchmark, compare, panels, sweeps  # noqa: F401 - their commands
from likewise.cli.studies.main import main

__all__ = ["main"]
