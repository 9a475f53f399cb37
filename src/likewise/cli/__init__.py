"""The command line. Heavy libraries are imported inside the commands, so that help is instant."""

from likewise.cli import (  # noqa: F401 - they add their commands
    audit,
    benchmark,
    compare,
    demo,
    dockets,
    keys,
    ledger,
    listing,
    operate,
    packets,
    panels,
    propose,
    retention,
    serve,
    simulate,
    sweep,
)
from likewise.cli.main import main

__all__ = ["main"]
