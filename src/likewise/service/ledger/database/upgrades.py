"""Revisions of a store's tables: which one it has, and how it gets the newest."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from likewise.service.errors import StoreError
from likewise.service.ledger.schema import REVISION, metadata

if TYPE_CHECKING:
    from alembic.script import ScriptDirectory

__all__ = ["check_revision", "found_revision", "migrate"]

FOLDER = Path(__file__).parent.parent / "migrations"
# The word in ``meta`` of stores that were made before alembic kept the revision.
FIRST = "likewise-store/1"


def found_revision(connection: sa.Connection, where: str) -> int:
    """The revision of a store's tables; 0 where there are none yet."""
    names = set(sa.inspect(connection).get_table_names())
    if not names & set(metadata.tables):
        return 0
    if "alembic_version" in names:
        asked, stored = "SELECT version_num FROM alembic_version", ""
    elif "meta" in names:
        asked, stored = "SELECT value FROM meta WHERE key = 'schema'", FIRST
    else:
        raise StoreError(
            f"{where} has no version of its tables; it is not a store of Likewise. Name another."
        )
    found = connection.exec_driver_sql(asked).scalars().all()
    if stored and found == [stored]:
        return 1
    if stored or len(found) != 1 or not found[0].isdecimal():
        raise StoreError(
            f"{where} has tables of the unknown version {found}; this Likewise reads revision "
            f"{REVISION}. Open it with the Likewise that wrote it."
        )
    return int(found[0])


def check_revision(found: int, where: str) -> None:
    """Refuse a store whose tables are older or newer than this code."""
    if not found:
        raise StoreError(f"{where} holds no store of Likewise. Correct the address.")
    if found < REVISION:
        raise StoreError(
            f"{where} has tables of revision {found}; this Likewise needs revision {REVISION}. "
            f"Copy it to be safe, then run: likewise upgrade --database {where}"
        )
    if found > REVISION:
        raise StoreError(
            f"{where} has tables of revision {found}; this Likewise reads revision {REVISION}. "
            f"Open it with a newer Likewise."
        )


def migrate(connection: sa.Connection, found: int) -> None:
    """Bring the tables from a revision to the newest, within the caller's transaction."""
    from alembic.operations import Operations
    from alembic.runtime.migration import MigrationContext

    context, scripts = MigrationContext.configure(connection), _scripts()
    start = str(found) if found else "base"
    with Operations.context(context):
        for step in reversed(list(scripts.iterate_revisions("head", start))):
            step.module.upgrade()
            context.stamp(scripts, step.revision)


@cache
def _scripts() -> ScriptDirectory:
    from alembic.script import ScriptDirectory

    return ScriptDirectory(str(FOLDER))
