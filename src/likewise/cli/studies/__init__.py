"""Commands that play games: one, many side by side, what they cost, and a report to read."""

from likewise.cli.studies import (  # noqa: F401 - they add their commands
    benchmark,
    compare,
    demo,
    panels,
    simulate,
    sweep,
)
