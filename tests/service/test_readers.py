"""A server that only reads: all that is written elsewhere is seen there, and nothing is written."""

from __future__ import annotations

import os
import pwd
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import psycopg
import pytest
import sqlalchemy as sa

from likewise_client.errors import ApiError
from likewise_service.app import running
from likewise_service.ledger import database as db
from likewise_service.ledger.store import Store
from likewise_service.settings import Settings
from tests.cli.test_serve import Served
from tests.service.api.test_roles import PLACES, TABLE
from tests.service.ledger.crashes import own_postgres
from tests.service.live import GENEROUS, Live, fresh_database, furnished, people, until
from tests.service.web.test_server import FORMS, PAGES, browse

# What says the time, or counts requests.
OF_THE_MOMENT = ("/metrics", "/readyz", "/certificate", "/certificate.json")


# A file is read in the same way: left to the long tests.
ON_EITHER = pytest.mark.parametrize(
    "database", ["postgresql", pytest.param("sqlite", marks=pytest.mark.long)], indirect=True
)


@contextmanager
def reading_role(database: str) -> Iterator[str]:
    """The address for a role that may read, and nothing else; a file is opened to be read."""
    if database.startswith("sqlite"):
        yield database
        return
    role = f"reader_{secrets.token_hex(4)}"
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(
            f"CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA public TO {role}; "
            f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}"
        )
        yield sa.make_url(database).set(username=role).render_as_string(hide_password=False)
        owner.execute(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{role}'; "
            f"DROP OWNED BY {role}; DROP ROLE {role}"
        )


@contextmanager
def reading(live: Live, database: str) -> Iterator[Live]:
    """A server that only reads, beside one that writes."""
    settings = Settings(database=database, writer=live.address, **GENEROUS)
    with running(settings) as address:
        reader = Live(address, settings, live.tokens)
        yield reader
        reader.close()


@pytest.fixture
def reader(live: Live) -> Iterator[Live]:
    with reading_role(live.settings.database) as database, reading(live, database) as made:
        yield made


def live_a_round(live: Live, number: int) -> str:
    """A round that a member has objected to, with an appeal of somebody in it."""
    bank, ann = live.client("client"), live.client("auditor")
    round_id = bank.open_round("loans", people(number, 3)).id
    review = ann.reviews("loans")[-1]
    pair = ann.review("loans", review.id).pairs[0]
    ann.flag("loans", review.id, (pair.over, pair.under), "alike")
    bank.appeal("loans", round_id, f"x{number}-0", "why?")
    return round_id


def content(url: str) -> dict[str, list[Any]]:
    """All rows of all tables."""
    store = Store.read_only(url)
    with store.reading() as connection:
        rows = {
            table.name: sorted(map(repr, connection.execute(sa.select(table))))
            for table in db.metadata.sorted_tables
        }
    store.close()
    return rows


def same(first: httpx.Response, second: httpx.Response) -> bool:
    path = first.request.url.path
    if first.status_code != second.status_code:
        return False
    return path.endswith(OF_THE_MOMENT) or first.content == second.content


@ON_EITHER
def test_a_reader_shows_what_is_written_elsewhere(live: Live, reader: Live) -> None:
    for number in (1, 2):
        round_id = live_a_round(live, number)
        review = live.client("auditor").reviews("loans", status="asked")[-1].id
        places = {**PLACES, "round_id": round_id, "review_id": review, "member": "ann"}
        paths = [path.format(**places) for method, path in TABLE if method == "GET"]
        for who in ("operator", "client", "auditor", "regulator"):
            headers = {"Authorization": f"Bearer {live.tokens[who]}"}
            for path in paths:
                here, there = (s.http.get(path, headers=headers) for s in (reader, live))
                hint = "if it tells the time, add it to OF_THE_MOMENT"
                assert same(here, there), (path, hint, here.text, there.text)
    for who in ("operator", "auditor"):
        with browse(live, who) as writing, browse(reader) as seeing:
            seeing.cookies.update(writing.cookies)  # whoever has signed in there is signed in here
            for path in PAGES:
                assert seeing.get(path).status_code == writing.get(path).status_code, path
    assert reader.http.get("/readyz").json().keys() == {"status", "as_of"}
    headers = {"Authorization": f"Bearer {live.tokens['operator']}"}
    assert "likewise_as_of_time_seconds" in reader.http.get("/metrics", headers=headers).text


@ON_EITHER
def test_nothing_is_written_where_one_only_reads(live: Live, reader: Live) -> None:
    round_id = live_a_round(live, 1)
    review = live.client("auditor").reviews("loans")[-1].id
    before = content(live.settings.database)
    places = {**PLACES, "round_id": round_id, "review_id": review, "member": "ann"}
    for (method, path), (_, body) in TABLE.items():
        for who in ("operator", "client", "auditor"):
            headers = {"Authorization": f"Bearer {live.tokens[who]}"}
            response = reader.http.request(
                method, path.format(**places), json=body, headers=headers
            )
            assert response.status_code < 500, (method, path, response.text)
    for who in ("operator", "auditor"):
        with browse(live, who) as there, browse(reader) as here:
            here.cookies.update(there.cookies)
            before = content(live.settings.database)  # with the sign-in
            for path in FORMS:
                assert here.post(path).status_code < 500, path
    assert content(live.settings.database) == before
    for write in (
        lambda: reader.client("client").open_round("loans", people(2, 3)),
        lambda: reader.client("auditor").finish("loans", review),
        lambda: reader.client("operator").create_token("regulator", "state"),
        lambda: reader.client("client").packet("loans", round_id, "x1-1"),  # it is on record
    ):
        with pytest.raises(ApiError) as refused:
            write()
        assert (refused.value.status, refused.value.code) == (405, "read-only")
        assert live.address in str(refused.value)
    with pytest.raises(AssertionError), browse(reader, "operator"):
        pass  # signing in writes
    assert content(live.settings.database) == before


@pytest.mark.long
def test_a_reader_is_begun_at_the_command_line(
    live: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIKEWISE_WRITER", live.address)
    with (
        reading_role(live.settings.database) as database,
        Served(tmp_path, "--database", database) as served,
    ):
        assert served.token is None
        assert f"Nothing is written here, but at {live.address}" in served.out.read_text()


@contextmanager
def replica(server: Any) -> Iterator[str]:
    """The address of a hot standby of a server, which follows it by streaming."""
    with TemporaryDirectory(prefix="likewise-postgres-") as folder:
        user = server.system_user
        if user is not None:
            os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
        data, tools = f"{folder}/replica", Path(str(server.bin_path))

        def run(tool: str, *more: str) -> None:
            subprocess.run([tools / tool, "-D", data, *more], check=True, user=user, cwd=folder)

        run("pg_basebackup", "-R", "-X", "stream", "-c", "fast", "-d", str(server.get_uri()))
        # Not at any port: beside the other, in a folder.
        options = f"-c hot_standby=on -c listen_addresses= -c unix_socket_directories={folder}"
        run("pg_ctl", "-w", "-l", f"{folder}/log", "-o", options, "start")
        try:
            yield folder
        finally:
            run("pg_ctl", "-w", "-m", "immediate", "stop")


@pytest.mark.long
def test_a_reader_follows_a_replica() -> None:
    with own_postgres() as server:
        database = fresh_database(str(server.get_uri()))
        tokens = furnished(database)
        settings = Settings(database=database, **GENEROUS)
        with running(settings) as address, running(settings) as second, replica(server) as folder:
            live, other = Live(address, settings, tokens), Live(second, settings, tokens)
            url = sa.make_url(database).update_query_dict({"host": folder})
            with reading(live, url.render_as_string(hide_password=False)) as reader:
                for number, writer in enumerate((live, other, live, other)):
                    round_id = live_a_round(writer, number)
                    size = writer.client("operator").receipt("loans").seq
                    regulator = reader.client("operator")
                    until(partial(lambda r, size: r.receipt("loans").seq >= size, regulator, size))
                    shown = reader.client("client").round("loans", round_id)
                    assert shown == writer.client("client").round("loans", round_id)
                as_of = reader.http.get("/readyz").json()["as_of"]
                live_a_round(other, 9)
                until(lambda: reader.http.get("/readyz").json()["as_of"] > as_of)
                receipt = reader.client("operator").receipt("loans").text
                assert live.client("operator").check_receipt("loans", receipt).holds
            live.close()
            other.close()
