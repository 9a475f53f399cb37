"""Commands of the live system: servers, dockets, ledgers, and what can be shown of them."""

from likewise.cli.service import (  # noqa: F401 - they add their commands
    dockets,
    keys,
    ledger,
    operate,
    retention,
    serve,
)
