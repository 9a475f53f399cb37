"""The command line. Heavy libraries are imported inside the commands, so that help is instant."""

from likewise.cli import (  # noqa: F401 - they add their commands
    audit,
    compare,
    demo,
    dockets,
    ledger,
    listing,
    operate,
    panels,
    propose,
    serve,
    simulate,
    sweep,
)
from likewise.cli.main import main

__all__ = ["main"]
