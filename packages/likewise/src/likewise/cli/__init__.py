"""The command line. Heavy libraries are imported inside the commands, so that help is instant."""

from likewise.cli import audit, elicit, play  # noqa: F401 - their commands
from likewise.cli.main import main

__all__ = ["main"]
