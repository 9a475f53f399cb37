"""Commands that play games: one, many side by side, what they cost, and a report to read."""

import likewise.experiments  # noqa: F401 - registers worlds of real people and predecessors
from likewise.cli.studies import (  # noqa: F401 - they add their commands
    benchmark,
    compare,
    demo,
    panels,
    simulate,
    sweep,
)
