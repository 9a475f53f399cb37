"""Every route against every role, against anonymous callers, and against tokens of another docket.

The table is compared with the routes of the app: a route without a line here fails.
"""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute
from starlette.routing import Match

from likewise_service.api.routes import ApiRoute, Routes
from likewise_service.app import create_app
from likewise_service.settings import Settings
from tests.service.live import Live

EVERYBODY = {"operator", "client", "auditor", "regulator"}
READERS = {"operator", "client", "regulator"}
SUPERVISORS = {"operator", "regulator"}
DECIDERS = {"operator", "client"}
OPERATOR, AUDITOR = {"operator"}, {"auditor"}

D = "/v1/dockets/{docket}"
REVIEW, ROUND = D + "/reviews/{review_id}", D + "/rounds/{round_id}"
APPEAL = D + "/appeals/{appeal}"
PERSON = {"id": "somebody", "features": {"score": 500, "debt": 1, "purpose": "car"}}

# (method, path): who may, what is sent. None: open to anybody, without a token.
TABLE: dict[tuple[str, str], tuple[set[str] | None, Any]] = {
    ("GET", "/healthz"): (None, None),
    ("GET", "/readyz"): (None, None),
    ("GET", "/.well-known/likewise-keys.json"): (None, None),
    ("GET", "/metrics"): (SUPERVISORS, None),
    ("GET", "/v1/me"): (EVERYBODY, None),
    ("GET", "/v1/tokens"): (OPERATOR, None),
    ("POST", "/v1/tokens"): (OPERATOR, {"role": "regulator", "name": "state"}),
    ("DELETE", "/v1/tokens/{token_id}"): (OPERATOR, None),
    ("GET", "/v1/dockets"): (EVERYBODY, None),
    ("POST", "/v1/dockets"): (
        OPERATOR,
        {"name": "bad", "title": "Bad", "learner": {}, "members": []},
    ),
    ("GET", D): (EVERYBODY, None),
    ("GET", D + "/members"): (SUPERVISORS, None),
    ("POST", D + "/members"): (OPERATOR, {"member": "ann"}),
    ("DELETE", D + "/members/{member}"): (OPERATOR, None),
    ("PUT", D + "/rule"): (OPERATOR, {"rule": "any"}),
    ("PUT", D + "/learner"): (OPERATOR, {"learner": {}}),
    ("GET", D + "/agreement.csv"): (SUPERVISORS, None),
    ("PUT", D + "/practice"): (OPERATOR, {"pairs": []}),
    ("PUT", D + "/guidelines"): (OPERATOR, {"text": "Look twice."}),
    ("POST", D + "/erasures"): (OPERATOR, {"round": "r1", "person": "nobody"}),
    ("POST", D + "/seed"): (OPERATOR, {"docket": "not-confirmed"}),
    ("GET", D + "/rounds"): (READERS, None),
    ("POST", D + "/rounds"): (DECIDERS, {"people": [PERSON]}),
    ("GET", ROUND): (READERS, None),
    ("POST", ROUND + "/people"): (DECIDERS, {"people": [PERSON]}),
    ("POST", ROUND + "/seal"): (DECIDERS, None),
    ("POST", ROUND + "/overrides"): (DECIDERS, {"person": "nobody", "approved": True}),
    ("POST", ROUND + "/close"): (DECIDERS, {}),
    ("POST", D + "/labels"): (
        DECIDERS,
        {"labels": [{"round": "none", "person": "nobody", "label": 1}]},
    ),
    ("GET", D + "/reviews"): (AUDITOR, None),
    ("GET", REVIEW): (AUDITOR, None),
    ("POST", REVIEW + "/objections"): (AUDITOR, {"pair": ["p1", "p2"]}),
    ("POST", REVIEW + "/withdrawals"): (AUDITOR, {"pair": ["p1", "p2"]}),
    ("POST", REVIEW + "/comments"): (AUDITOR, {"text": "Look twice."}),
    ("POST", REVIEW + "/finish"): (AUDITOR, None),
    ("POST", REVIEW + "/reopen"): (AUDITOR, None),
    ("GET", D + "/receipt"): (EVERYBODY, None),
    ("GET", D + "/checkpoint"): (EVERYBODY, None),
    ("GET", D + "/inclusion/{number}"): (EVERYBODY, None),
    ("GET", D + "/consistency/{number}"): (EVERYBODY, None),
    ("GET", D + "/tile/{level}/{path}"): (EVERYBODY, None),
    ("PUT", D + "/retention"): (OPERATOR, {"features": None, "reasons": None}),
    ("GET", D + "/holds"): (SUPERVISORS, None),
    ("POST", D + "/holds"): (OPERATOR, {"why": "none", "round": "none"}),
    ("DELETE", D + "/holds/{hold}"): (OPERATOR, None),
    ("POST", D + "/packets"): (READERS, {"round": "none", "person": "nobody"}),
    ("GET", D + "/appeals"): (READERS, None),
    ("POST", D + "/appeals"): (DECIDERS, {"round": "none", "person": "nobody", "text": "why?"}),
    ("PUT", APPEAL + "/reviewer"): (DECIDERS, {"reviewer": "mia"}),
    ("POST", APPEAL + "/outcome"): (
        DECIDERS,
        {"approved": True, "reason": "seen", "reviewer": "mia"},
    ),
    ("POST", APPEAL + "/withdrawal"): (DECIDERS, None),
    ("GET", D + "/notices"): (READERS, None),
    ("PUT", D + "/notices"): (OPERATOR, {"before": "b", "after": "no reasons", "days": 30}),
    ("POST", D + "/notices"): (
        DECIDERS,
        {"round": "none", "person": "nobody", "occasion": "after"},
    ),
    ("GET", D + "/assessment"): (SUPERVISORS, None),
    ("GET", D + "/assessment.md"): (SUPERVISORS, None),
    ("GET", D + "/member-keys"): (AUDITOR, None),
    ("PUT", D + "/member-keys"): (AUDITOR, {"key": "ab" * 32, "proof": "A" * 86}),
    ("DELETE", D + "/member-keys/{key_id}"): (AUDITOR, None),
    ("GET", D + "/metrics"): (READERS, None),
    ("GET", D + "/certificate"): (READERS, None),
    ("GET", D + "/ledger.jsonl"): (SUPERVISORS, None),
    ("GET", D + "/ledger.csv"): (SUPERVISORS, None),
}
PLACES = {
    "docket": "loans", "round_id": "none", "review_id": "0" * 32, "member": "nobody",
    "token_id": "none", "hold": "0" * 12, "appeal": "0" * 12, "key_id": "0" * 16,
    "number": "1", "level": "0", "path": "000",
}  # fmt: skip
TOKENS = {
    "operator": "operator",
    "client": "client",
    "auditor": "auditor",
    "regulator": "regulator",
    "regulator-loans": "regulator",
}


@pytest.fixture(scope="module")
def kind() -> str:
    """Who may what is not a question of the database; that tokens are kept is, elsewhere."""
    return "sqlite"


def ask(live: Live, route: tuple[str, str], token: str | None) -> httpx.Response:
    method, path = route
    headers = {} if token is None else {"Authorization": token}
    return live.http.request(method, path.format(**PLACES), json=TABLE[route][1], headers=headers)


def code(response: httpx.Response) -> str:
    assert response.is_error, f"{response.status_code}: it was not refused"
    return str(response.json()["error"]["code"])


def test_the_table_has_every_route(tmp_path: Any) -> None:
    app = create_app(Settings(database=f"sqlite:///{tmp_path / 'a.db'}"))
    schema = app.openapi()["paths"]
    app.state.context.store.close()
    listed = {(method.upper(), path) for path, methods in schema.items() for method in methods}
    routes = {
        (method, route.path.replace(":path}", "}"))
        for route in app.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    }
    assert (listed | routes) - set(TABLE) == set(), "add a line to TABLE: who may call it"
    assert set(TABLE) - (listed | routes) == set(), "these routes are gone: take them out of TABLE"


def test_every_address_leads_to_the_route_that_fastapi_would_choose(tmp_path: Any) -> None:
    """Or to none, and FastAPI is asked; also where an id is a word that stands elsewhere."""
    app = create_app(Settings(database=f"sqlite:///{tmp_path / 'likewise.db'}"))
    api = [route for route in app.routes if isinstance(route, ApiRoute)]
    routes, words = Routes(app.routes, app.router), ("x", "rounds", "{}", "labels", "finish")
    for route in api:
        for word in words:
            path = re.sub(r"\{.*?\}", word, route.path)
            for method in ("GET", "POST", "PUT", "DELETE", "PATCH"):
                scope = {"type": "http", "method": method, "path": path, "root_path": ""}
                matches = [(r, *r.matches(scope)) for r in api]
                first = next((m for m in matches if m[1] is Match.FULL), None)
                expected = None if first is None else (first[0], first[2]["path_params"])
                asks = ":" in route.path or word != "x" or method not in (route.methods or ())
                assert routes.find(method, path) in ((expected, None) if asks else (expected,))
    assert routes.find("GET", "/v1/dockets//rounds") is None
    assert routes.find("GET", "/v1/dockets/loans/rounds/") is None
    app.state.context.store.close()


@pytest.mark.parametrize("path", sorted({path for _, path in TABLE}))
def test_no_other_method(shared: Live, path: str) -> None:
    taken = {method for method, other in TABLE if other == path}
    headers = {"Authorization": f"Bearer {shared.tokens['operator']}"}
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} - taken:
        response = shared.http.request(method, path.format(**PLACES), headers=headers)
        assert (response.status_code, code(response)) == (405, "wrong-method"), method
        assert set(response.headers["allow"].split(", ")) <= taken


@pytest.mark.parametrize("route", TABLE, ids=lambda route: f"{route[0]} {route[1]}")
def test_every_route_against_everybody(shared: Live, route: tuple[str, str]) -> None:
    allowed = TABLE[route][0]
    if allowed is None:
        assert ask(shared, route, None).status_code == 200
        return
    for unknown in (None, "Bearer lw_operator_" + "A" * 43, "Bearer x", "Basic eDp5", "Bearer"):
        response = ask(shared, route, unknown)
        assert (response.status_code, code(response)) == (401, "unauthorised")
        assert response.headers["www-authenticate"] == "Bearer"
    for who, role in TOKENS.items():
        response = ask(shared, route, f"Bearer {shared.tokens[who]}")
        if role not in allowed:
            assert (response.status_code, code(response)) == (403, "wrong-role"), who
        elif route == ("GET", "/metrics") and who == "regulator-loans":
            assert code(response) == "other-docket"
        else:
            assert response.status_code not in (401, 403, 405), who
            assert response.status_code < 500, who


@pytest.mark.parametrize(
    "route", [r for r in TABLE if "{docket}" in r[1]], ids=lambda route: f"{route[0]} {route[1]}"
)
def test_no_token_of_another_docket(shared: Live, route: tuple[str, str]) -> None:
    for role in ("client", "auditor", "regulator"):
        response = ask(shared, route, f"Bearer {shared.tokens[f'{role}-other']}")
        wanted = "other-docket" if role in (TABLE[route][0] or ()) else "wrong-role"
        assert (response.status_code, code(response)) == (403, wanted)


@pytest.fixture(scope="module")
def revoked(shared: Live) -> list[str]:
    """A token of every role that opens nothing any more."""
    operator = shared.client("operator")
    made = [
        operator.create_token(role, "ann", "loans" if role in ("client", "auditor") else None)
        for role in sorted(EVERYBODY)
    ]
    for one in made:
        operator.revoke_token(one.identity.id)
    return [one.token for one in made]


@pytest.mark.parametrize("route", TABLE, ids=lambda route: f"{route[0]} {route[1]}")
def test_no_token_that_was_revoked(
    shared: Live, revoked: list[str], route: tuple[str, str]
) -> None:
    for token in revoked if TABLE[route][0] is not None else []:
        response = ask(shared, route, f"Bearer {token}")
        assert (response.status_code, code(response)) == (401, "unauthorised")


def test_lists_hold_only_what_concerns_the_caller(shared: Live) -> None:
    for who, names in {
        "operator": ["loans", "other"],
        "regulator": ["loans", "other"],
        "client": ["loans"],
        "auditor-other": ["other"],
        "regulator-loans": ["loans"],
    }.items():
        assert [d.name for d in shared.client(who).dockets()] == names


def test_auditors_are_not_told_of_hidden_features(shared: Live) -> None:
    assert "secret" in [f["name"] for f in shared.client("client").docket("loans").features]
    assert "secret" not in [f["name"] for f in shared.client("auditor").docket("loans").features]
