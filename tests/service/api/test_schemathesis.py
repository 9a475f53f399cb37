"""The whole API against made-up requests: no 5xx, and no response that is undocumented."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.service.live import Live, people

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
]
ROLES = ("operator", "client", "auditor", "regulator", "anonymous")
SOMEBODY = next(iter(people()))


Known = dict[str, str]


def attack(live: Live, known: Known, examples: int) -> None:
    """Send so many made-up requests to every route, each of them with the token of every role.

    To make a request up takes several times as long as to send it.
    """
    schema: Any = schemathesis.openapi.from_url(f"{live.address}/v1/openapi.json")
    tokens = [live.tokens.get(role, "nobody") for role in ROLES]
    operations = [result.ok() for result in schema.get_all_operations()]
    assert len(operations) > 30
    for operation in operations:
        there = {name: value for name, value in known.items() if f"{{{name}}}" in operation.path}
        _send(operation, GenerationMode.POSITIVE, tokens, examples, there)
        if list(operation.iter_parameters()) or operation.body:
            _send(operation, GenerationMode.NEGATIVE, tokens, examples, there)


def _send(
    operation: Any, mode: GenerationMode, tokens: list[str], examples: int, there: Known
) -> None:
    number = 0

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def send(case: Any) -> None:
        # Two of three go to what there is, the others to any address at all.
        nonlocal number
        number += 1
        if number % 3:
            case.path_parameters = {**(case.path_parameters or {}), **there}
        if number % 3 == 1 and mode is GenerationMode.POSITIVE:
            _make_sense(case.body)
        for token in tokens:
            case.call_and_validate(headers={"Authorization": f"Bearer {token}"}, checks=CHECKS)

    send()


def _make_sense(body: Any) -> None:
    """Give made-up people the features of the docket, so that some of them are decided on.

    Packets, holds and erasures are of somebody who is there.
    """
    if isinstance(body, dict):
        for person in body.get("people", []):
            person["features"] = {"score": 500, "debt": 1, "purpose": "car"}
        if "person" in body and "round" in body:
            body.update(round="r1", person=SOMEBODY)


def furnish(live: Live) -> Known:
    """A round that is open, one before the panel, and a hold; their names."""
    operator, auditor = live.client("operator"), live.client("auditor")
    operator.open_round("loans", people(), round_id="r1", seal=False)
    operator.open_round("loans", people(7, 3), round_id="r2")
    hold = operator.place_hold("loans", "a complaint", "r1")
    review = auditor.reviews("loans")[0].id
    return {"docket": "loans", "round_id": "r1", "hold": hold, "review_id": review}


@pytest.fixture(scope="module")
def kind() -> str:
    return "sqlite"


@pytest.fixture(scope="module")
def busy(shared: Live) -> tuple[Live, Known]:
    return shared, furnish(shared)


def test_no_response_is_a_surprise(busy: tuple[Live, Known]) -> None:
    attack(*busy, examples=2)


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_no_response_is_a_surprise_for_long(live: Live) -> None:
    attack(live, furnish(live), examples=10)
