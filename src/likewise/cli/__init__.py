"""The command line. Heavy libraries are imported inside the commands, so that help is instant."""

from likewise.cli import demo, listing, simulate, studies  # noqa: F401 - they add their commands
from likewise.cli.main import main

__all__ = ["main"]
