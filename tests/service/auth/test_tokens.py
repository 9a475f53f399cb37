"""Tokens and sessions: only hashes are kept, and what was revoked opens nothing."""

from __future__ import annotations

import asyncio
import re
import threading
from typing import Any

import pytest
import sqlalchemy as sa

from likewise.errors import ParameterError
from likewise_service.auth.sign_ins import add_seat, begin_session, end_session, find_session
from likewise_service.auth.tokens import (
    ROLES,
    Role,
    TokenCache,
    create_token,
    first_operator,
    list_tokens,
    recognise,
    revoke_token,
)
from likewise_service.errors import ServiceError
from likewise_service.ledger.database import seats, sessions, tokens
from likewise_service.ledger.store import Store


@pytest.mark.parametrize("role", ROLES)
def test_a_token_is_known_until_it_is_revoked(store: Store, role: Role) -> None:
    first_operator(store)
    docket = None if role in ("operator", "regulator") else "loans"
    token, identity = create_token(store, role, "ann", docket)
    assert re.fullmatch(rf"lw_{role}_[A-Za-z0-9_-]{{43}}", token)
    assert recognise(store, token) == identity
    assert identity in list_tokens(store)
    for wrong in (token[:-1], token + "x", token.swapcase(), "", "é", "\ud800"):
        assert recognise(store, wrong) is None
    gone = revoke_token(store, identity.id)
    assert gone.revoked
    assert revoke_token(store, identity.id) == gone
    assert recognise(store, token) is None


def test_the_store_holds_no_token(store: Store) -> None:
    token, _ = create_token(store, "regulator", "state", None)
    cookie, session = begin_session(store, token, 60)
    with store.reading() as connection:
        rows: list[Any] = [*connection.execute(sa.select(tokens))]
        rows += connection.execute(sa.select(sessions))
    kept = " ".join(str(value) for row in rows for value in row)
    assert token not in kept
    assert token.split("_", 2)[2] not in kept
    assert cookie not in kept
    assert session.csrf in kept


def test_the_first_operator_is_made_once(store: Store) -> None:
    token = first_operator(store)
    assert token is not None
    found = recognise(store, token)
    assert found is not None
    assert (found.role, found.docket) == ("operator", None)
    assert first_operator(store) is None


def test_the_last_operator_stays(store: Store) -> None:
    first_operator(store)
    [one] = list_tokens(store)
    with pytest.raises(ServiceError, match="Create another one first") as refused:
        revoke_token(store, one.id)
    assert refused.value.code == "last-operator"
    create_token(store, "operator", "second", None)
    assert revoke_token(store, one.id).revoked
    with pytest.raises(ServiceError):
        revoke_token(store, "nothing")


@pytest.mark.parametrize(
    ("role", "name", "docket"),
    [
        ("king", "ann", None),
        ("operator", "ann", "loans"),
        ("client", "ann", None),
        ("auditor", "ann", None),
        ("client", "", "loans"),
        ("client", "a\x00b", "loans"),
        ("client", "a" * 201, "loans"),
        ("client", "ann", "No docket"),
    ],
)
def test_what_is_no_identity(store: Store, role: Any, name: str, docket: str | None) -> None:
    with pytest.raises(ParameterError):
        create_token(store, role, name, docket)


def test_sessions(store: Store) -> None:
    token, identity = create_token(store, "auditor", "ann", "loans")
    cookie, session = begin_session(store, token, 60)
    assert find_session(store, cookie) == session
    assert session.identity == identity
    assert find_session(store, cookie + "x") is None
    end_session(store, cookie)
    assert find_session(store, cookie) is None
    with pytest.raises(ServiceError, match="not known"):
        begin_session(store, "lw_auditor_" + "x" * 43, 60)


def test_sessions_end_with_time_and_with_their_token(store: Store) -> None:
    token, identity = create_token(store, "auditor", "ann", "loans")
    cookie, _ = begin_session(store, token, -1)
    add_seat(store, cookie, create_token(store, "auditor", "bob", "loans")[0])
    assert find_session(store, cookie) is None
    cookie, _ = begin_session(store, token, 60)
    with store.reading() as connection:
        rows = [connection.execute(sa.select(table)).all() for table in (sessions, seats)]
    assert list(map(len, rows)) == [1, 0], "what has expired is gone, with its seats"
    revoke_token(store, identity.id)
    assert find_session(store, cookie) is None


def test_requests_at_once_look_a_token_up_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    first_operator(store)
    token, identity = create_token(store, "client", "bank", "loans")
    cache, looked_up, go_on = TokenCache(store), list[str](), threading.Event()

    def slowly(store: Store, asked: str) -> Any:
        found = recognise(store, asked)
        looked_up.append(asked)  # afterwards: what is done next must not be in what was read
        go_on.wait(60)
        return found

    monkeypatch.setattr("likewise_service.auth.tokens.recognise", slowly)

    async def requests() -> None:
        async def begun(count: int) -> None:
            while len(looked_up) < count:
                await asyncio.sleep(0.001)

        early = asyncio.gather(*(cache.find(token) for _ in range(8)))
        await begun(1)
        # What was read before a token was revoked here is for those who asked before.
        revoke_token(store, identity.id)
        cache.forget()
        late = asyncio.create_task(cache.find(token))
        await begun(2)
        go_on.set()
        assert await early == [identity] * 8
        assert await late is None
        assert await cache.find(token) is None

    asyncio.run(requests())
    assert len(looked_up) == 3
