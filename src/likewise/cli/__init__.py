"""The command line. Heavy libraries are imported inside the commands, so that help is instant."""

from likewise.cli import (  # noqa: F401 - they add their commands
    demo,
    dockets,
    keys,
    ledger,
    listing,
    packets,
    serve,
    simulate,
    study,
    tune,
)
from likewise.cli.main import main

__all__ = ["main"]
