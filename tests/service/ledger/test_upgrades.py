"""Revisions of the tables: the newest is made, an older one upgraded, all others refused."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.script import ScriptDirectory
from click.testing import CliRunner, Result

from likewise.cli.main import main
from likewise_service.dockets.rounds import open_docket
from likewise_service.errors import StoreError
from likewise_service.ledger import database as upgrades
from likewise_service.ledger.database import OLDEST, REVISION, metadata
from likewise_service.ledger.store import Store
from tests.service.live import replay_store, small_spec

Run = Callable[..., Result]


def upgrade(database: str) -> Result:
    return CliRunner().invoke(main, ["upgrade", "--database", database])


def execute(database: str, *statements: str) -> None:
    store = Store(database)
    with store.changing() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    store.close()


NEXT = f"""
from alembic import op

revision = "{REVISION + 1}"
down_revision = "{REVISION}"


def upgrade() -> None:
    op.get_bind().exec_driver_sql("CREATE TABLE more (a TEXT)")
"""


@pytest.fixture
def later(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """A database at the newest revision, before a Likewise that has one more: its number."""
    Store.open(database).close()
    folder = tmp_path / "migrations"
    shutil.copytree(upgrades.FOLDER, folder)
    (folder / "next.py").write_text(NEXT)
    scripts = ScriptDirectory(str(folder), version_locations=[str(folder)])
    monkeypatch.setattr(upgrades, "_scripts", lambda: scripts)
    monkeypatch.setattr(upgrades, "REVISION", REVISION + 1)
    return REVISION + 1


def test_the_newest_revision_is_the_one_that_the_code_knows() -> None:
    assert upgrades._scripts().get_heads() == [str(REVISION)]


def test_the_migrations_make_the_tables_of_the_schema(store: Store) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.runtime.migration import MigrationContext

    with store.reading() as connection, warnings.catch_warnings():
        # Indexes on expressions are beyond what can be compared; others use them or are slow.
        warnings.simplefilter("ignore", sa.exc.SAWarning)
        differences = compare_metadata(MigrationContext.configure(connection), metadata)
        on_expressions = ("events_round", "rounds_id", "requests_round")
        assert [d for d in differences if getattr(d[1], "name", "") not in on_expressions] == []
        assert upgrades.stored_revision(connection, "") == REVISION


def test_an_older_database_is_refused_and_upgraded(database: str, later: int) -> None:
    for create in (True, False):
        with pytest.raises(
            StoreError,
            match=rf"revision {REVISION}; .*revision {later}\..*likewise upgrade --database",
        ):
            Store.open(database, create=create)
    upgraded = upgrade(database)
    assert (upgraded.exit_code, upgraded.output) == (
        0,
        f"The database was brought from revision {REVISION} to revision {later}.\n",
    )
    again = upgrade(database)
    assert again.exit_code == 0
    assert "nothing was changed" in again.output
    store = Store.open(database)
    open_docket(store, "loans", small_spec(), seed=5)
    assert replay_store(store, "loans").holds
    store.close()


def test_an_upgrade_that_fails_leaves_the_database_as_it_was(
    database: str, later: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        from alembic import op

        op.get_bind().exec_driver_sql("CREATE TABLE half (a TEXT)")
        raise StoreError("no space left")

    with monkeypatch.context() as patched:
        step = upgrades._scripts().get_revision(str(later))
        assert step is not None
        patched.setattr(step.module, "upgrade", fail)
        assert "no space left" in upgrade(database).output
    store = Store(database)
    with store.reading() as connection:
        assert "half" not in sa.inspect(connection).get_table_names()
        assert upgrades.stored_revision(connection, "") == REVISION
    store.close()
    assert upgrade(database).exit_code == 0


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        ([f"UPDATE alembic_version SET version_num = '{REVISION + 1}'"], "a newer Likewise"),
        ([f"UPDATE alembic_version SET version_num = '{OLDEST - 1}'"], "begin a new one"),
        (["UPDATE alembic_version SET version_num = 'x'"], "unknown version"),
        (["DELETE FROM alembic_version"], "unknown version"),
        (["DROP TABLE alembic_version"], "not a store of Likewise"),
    ],
)
def test_what_is_newer_too_old_or_unknown_is_refused_by_both(
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


def plan_of(store: Store, look: Callable[[], object]) -> str:
    """How the database finds the rows that are looked for last."""
    asked = list[tuple[Any, ...]]()

    def note(*said: Any) -> None:
        asked.append(said[2:4])

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    look()
    sa.event.remove(sa.Engine, "before_cursor_execute", note)
    (text, values), explain = asked[-1], "EXPLAIN QUERY PLAN "
    with store.reading() as connection:
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
            explain = "EXPLAIN "
        return " ".join(str(row) for row in connection.exec_driver_sql(explain + text, values))


@pytest.mark.parametrize("count", [1, 2, 200])
def test_the_records_of_rounds_are_found_by_the_index(store: Store, count: int) -> None:
    """On both databases the question of a view is the expression that the index has."""
    names = [f"r{number}" for number in range(count)]
    with store.view("loans") as view:
        plan = plan_of(store, lambda: view.records_of(names, 9))
    assert "events_round" in plan, plan


def test_appeals_and_periods_are_found_by_the_index(store: Store) -> None:
    with store.view("loans") as view:
        appeals = plan_of(store, lambda: view.records(kind="appeal-opened"))
    for plan in (appeals, plan_of(store, store.periods)):
        assert "events_sought" in plan, plan


def test_the_requests_of_a_round_are_found_by_the_index(store: Store) -> None:
    """For each person who is erased; there are more of them than rounds."""
    with store.transaction("loans") as transaction:
        plan = plan_of(store, lambda: transaction.forget_fingerprints("r1"))
    assert "requests_round" in plan, plan


def test_rounds_whose_time_has_ended_are_found_by_indexes(sqlite_url: str) -> None:
    store = Store.open(sqlite_url)
    with store.view("loans") as view:
        plan = plan_of(store, lambda: view.expired_rounds("", "", 0, 100))
    assert "rounds_people" in plan, plan
    assert "rounds_words" in plan, plan
