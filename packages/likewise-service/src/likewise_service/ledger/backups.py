"""Backups: a whole store in one file, at one moment, and back into an empty database.

A backup is a SQLite file, whatever the database is, so that it can be read, verified and replayed
by itself, and restored into either.
"""

import json
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa

from likewise.errors import LikewiseError
from likewise_client.tree import Tree
from likewise_service.clock import now
from likewise_service.errors import StoreError
from likewise_service.ledger.database import events, meta, metadata
from likewise_service.ledger.store import Store

# The rows that are copied at once; no more are in memory.
ROWS = 500
MANIFEST = "backup"


@dataclass(frozen=True)
class Manifest:
    """The manifest of a backup: when it was made, and the sizes and roots of its ledgers' trees."""

    at: str
    trees: dict[str, tuple[int, str]]


def backup(source: Store, path: Path) -> Manifest:
    """Write a store to a new file, as it is at one moment, while servers go on."""
    if path.exists():
        raise LikewiseError(f"{path} is there already. Name a file that is not.")
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)
    try:
        with (
            closing(Store.open(f"sqlite:///{part}")) as target,
            source.reading() as reading,
            target.changing() as writing,
        ):
            _copy(reading, writing)
            manifest = Manifest(now(), _trees(writing))
            text = json.dumps(asdict(manifest))
            writing.execute(meta.insert().values(key=MANIFEST, value=text))
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return manifest


class Backup(NamedTuple):
    """A backup that is whole, open to be read."""

    manifest: Manifest
    reading: sa.Connection


@contextmanager
def opened_backup(path: Path) -> Iterator[Backup]:
    """Open a backup; refuse a file that is none, or was changed."""
    if not path.is_file():
        raise LikewiseError(f"{path} is not there. Name the file that `likewise backup` wrote.")
    with closing(Store.read_only(f"sqlite:///{path}")) as source, source.reading() as reading:
        manifest = _read_manifest(reading, path)
        if manifest.trees != _trees(reading):
            raise StoreError(f"{path} was changed since it was written. Use another backup.")
        yield Backup(manifest, reading)


def restore(backup: Backup, target: Store) -> None:
    """Read a backup into an empty database: all of it, or nothing."""
    with target.changing() as writing:
        if writing.execute(sa.select(events.c.seq).limit(1)).first() is not None:
            raise StoreError(
                f"{target.where} holds ledgers already. Restore into an empty database: nothing is "
                f"ever overwritten."
            )
        _copy(backup.reading, writing)
        if _trees(writing) != backup.manifest.trees:
            raise StoreError("The backup could not be copied as it is. Nothing was written.")


def _copy(reading: sa.Connection, writing: sa.Connection) -> None:
    for table in metadata.sorted_tables:
        # The rest of ``meta`` is about one database, and not about people.
        copied = meta.c.key.startswith("language:") if table is meta else sa.true()
        if table.name in ("keys", "tokens", "meta"):  # of a server that was started there
            writing.execute(table.delete().where(copied))
        query = sa.select(table).where(copied).order_by(*table.primary_key.columns)
        rows = reading.execution_options(yield_per=ROWS).execute(query)
        for partition in rows.mappings().partitions(ROWS):
            writing.execute(table.insert(), [dict(row) for row in partition])


def _trees(connection: sa.Connection) -> dict[str, tuple[int, str]]:
    trees = dict[str, Tree]()
    query = sa.select(events.c.docket, events.c.hash).order_by(events.c.docket, events.c.seq)
    rows = connection.execution_options(yield_per=ROWS).execute(query)
    for docket, hash_ in rows:
        trees[docket] = trees.get(docket, Tree()).plus(bytes.fromhex(hash_))
    return {docket: (tree.size, tree.root.hex()) for docket, tree in trees.items()}


def _read_manifest(connection: sa.Connection, path: Path) -> Manifest:
    text = connection.execute(sa.select(meta.c.value).where(meta.c.key == MANIFEST)).scalar()
    if text is None:
        raise StoreError(
            f"{path} is not a backup: `likewise backup` did not write it. A plain copy of a "
            f"database in use lacks what is in its log."
        )
    content = json.loads(text)
    return Manifest(content["at"], {name: tuple(tree) for name, tree in content["trees"].items()})
