"""Revisions of a store's tables, kept by alembic: which one a database has, and how to upgrade."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from likewise.service.errors import StoreError
from likewise.service.ledger.schema import REVISION, metadata

if TYPE_CHECKING:
    from alembic.script import ScriptDirectory

FOLDER = Path(__file__).parent.parent / "migrations"


def stored_revision(connection: sa.Connection, where: str) -> int:
    """Return the revision of a database's tables; 0 if it has none yet."""
    tables = set(sa.inspect(connection).get_table_names())
    if not tables & set(metadata.tables):
        return 0
    if "alembic_version" not in tables:
        raise StoreError(
            f"{where} has no version of its tables; it is not a store of Likewise. Name another."
        )
    stored = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalars().all()
    if len(stored) != 1 or not stored[0].isdecimal():
        raise StoreError(
            f"{where} has tables of the unknown version {stored}; this Likewise reads revision "
            f"{REVISION}. Open it with the Likewise that wrote it."
        )
    return int(stored[0])


def check_revision(stored: int, where: str) -> None:
    """Refuse a store whose tables are older or newer than this code."""
    if not stored:
        raise StoreError(f"{where} holds no store of Likewise. Correct the address.")
    if stored < REVISION:
        raise StoreError(
            f"{where} has tables of revision {stored}; this Likewise needs revision {REVISION}. "
            f"Copy it to be safe, then run: likewise upgrade --database {where}"
        )
    if stored > REVISION:
        raise StoreError(
            f"{where} has tables of revision {stored}; this Likewise reads revision {REVISION}. "
            f"Open it with a newer Likewise."
        )


def migrate(connection: sa.Connection, stored: int) -> None:
    """Bring the tables from a revision to the newest, within the caller's transaction."""
    from alembic.operations import Operations
    from alembic.runtime.migration import MigrationContext

    context, scripts = MigrationContext.configure(connection), _scripts()
    with Operations.context(context):
        for step in reversed(list(scripts.iterate_revisions("head", str(stored or "base")))):
            step.module.upgrade()
            context.stamp(scripts, step.revision)


@cache
def _scripts() -> ScriptDirectory:
    from alembic.script import ScriptDirectory

    return ScriptDirectory(str(FOLDER))
