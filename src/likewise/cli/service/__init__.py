"""Commands of the live system, which its package brings by entry points."""

from likewise.cli.service import retention  # noqa: F401 - it adds commands of likewise docket
from likewise.cli.service.dockets import docket, token
from likewise.cli.service.keys import key
from likewise.cli.service.ledger import export, replay, verify
from likewise.cli.service.operate import backup, init, restore, upgrade
from likewise.cli.service.serve import serve

__all__ = [
    "backup", "docket", "export", "init", "key", "replay", "restore", "serve", "token",
    "upgrade", "verify",
]  # fmt: skip
