"""Revisions of the tables: the newest is made, an older one upgraded, all others refused."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result
from tests.service.live import small_spec

from likewise.cli import main
from likewise.service.dockets.commands.rounds import open_docket
from likewise.service.errors import StoreError
from likewise.service.ledger.database import upgrades
from likewise.service.ledger.schema import REVISION, metadata
from likewise.service.ledger.store import Store
from likewise.service.verification.replay import replay_store

Run = Callable[..., Result]


def upgrade(database: str) -> Result:
    return CliRunner().invoke(main, ["upgrade", "--database", database])


def execute(database: str, *statements: str) -> None:
    store = Store(database)
    with store.changing() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    store.close()


def first_revision(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store as it was before the migrations."""
    store = Store(database)
    with store.changing() as connection, monkeypatch.context() as patched:
        scripts = upgrades._scripts()
        first = scripts.get_revision("1")
        patched.setattr(scripts, "iterate_revisions", lambda *_: [first])
        upgrades.migrate(connection, 0)
        connection.exec_driver_sql("DROP TABLE alembic_version")
    store.close()


def test_the_newest_revision_is_the_one_that_the_code_knows() -> None:
    assert upgrades._scripts().get_heads() == [str(REVISION)]


def test_the_migrations_make_the_tables_of_the_schema(store: Store) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.runtime.migration import MigrationContext

    with store.reading() as connection, warnings.catch_warnings():
        # Indexes on expressions are beyond what can be compared; others use them or are slow.
        warnings.simplefilter("ignore", sa.exc.SAWarning)
        found = compare_metadata(MigrationContext.configure(connection), metadata)
        ours = ("events_round", "rounds_id")
        assert [one for one in found if getattr(one[1], "name", "") not in ours] == []
        assert upgrades.found_revision(connection, "") == REVISION


def test_an_older_database_is_refused_and_upgraded(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first_revision(database, monkeypatch)
    for create in (True, False):
        with pytest.raises(
            StoreError, match=rf"revision 1; .*revision {REVISION}\..*likewise upgrade --database"
        ):
            Store.open(database, create=create)
    done = upgrade(database)
    assert (done.exit_code, done.output) == (
        0,
        f"The database was brought from revision 1 to revision {REVISION}.\n",
    )
    again = upgrade(database)
    assert again.exit_code == 0
    assert "nothing was changed" in again.output
    store = Store.open(database)
    open_docket(store, "loans", small_spec(), seed=5)
    assert replay_store(store, "loans").holds
    store.close()


def test_the_likewise_of_before_refuses_an_upgraded_database(store: Store) -> None:
    """It looks for this word, and opens nothing that has another."""
    with store.reading() as connection:
        asked = "SELECT value FROM meta WHERE key = 'schema'"
        assert connection.exec_driver_sql(asked).scalar() != "likewise-store/1"


def test_an_upgrade_that_fails_leaves_the_database_as_it_was(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first_revision(database, monkeypatch)
    second = upgrades._scripts().get_revision("2")
    assert second is not None

    def fail() -> None:
        from alembic import op

        op.get_bind().exec_driver_sql("UPDATE meta SET value = 'half'")
        op.get_bind().exec_driver_sql("CREATE TABLE half (a TEXT)")
        raise StoreError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(second.module, "upgrade", fail)
        assert "no space left" in upgrade(database).output
    store = Store(database)
    with store.reading() as connection:
        names = sa.inspect(connection).get_table_names()
        assert not {"half", "alembic_version"} & set(names)
        assert upgrades.found_revision(connection, "") == 1
    store.close()
    assert upgrade(database).exit_code == 0


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        ([f"UPDATE alembic_version SET version_num = '{REVISION + 1}'"], "a newer Likewise"),
        (["UPDATE alembic_version SET version_num = 'x'"], "unknown version"),
        (["DELETE FROM alembic_version"], "unknown version"),
        (["DROP TABLE alembic_version"], "unknown version"),
        (["DROP TABLE alembic_version", "DROP TABLE meta"], "not a store of Likewise"),
    ],
)
def test_what_is_newer_or_unknown_is_refused_by_both(
    database: str, statements: list[str], said: str
) -> None:
    Store.open(database).close()
    execute(database, *statements)
    with pytest.raises(StoreError, match=said) as refused:
        Store.open(database)
    assert str(REVISION) in str(refused.value) or "not a store" in said
    result = upgrade(database)
    assert result.exit_code == 1
    assert said in result.output


def test_what_is_no_store_is_not_upgraded(sqlite_url: str, tmp_path: Path) -> None:
    result = upgrade(sqlite_url)
    assert result.exit_code == 1
    assert "is not there" in result.output
    assert not list(tmp_path.iterdir())
    (tmp_path / "ledger.db").touch()
    assert "holds no store" in upgrade(sqlite_url).output


def test_a_rounds_records_are_found_by_the_index(store: Store) -> None:
    """On both databases the question of a view is the expression that the index has."""
    from likewise.service.ledger.view import LedgerView

    with store.reading() as connection:
        dialect = connection.dialect.name
        if dialect == "postgresql":
            connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        query = LedgerView(connection, "loans").round_query(["r1"], 9)
        text = str(query.compile(connection, compile_kwargs={"literal_binds": True}))
        asked = "EXPLAIN QUERY PLAN " if dialect == "sqlite" else "EXPLAIN "
        plan = " ".join(str(row) for row in connection.exec_driver_sql(asked + text))
    assert "events_round" in plan, plan
