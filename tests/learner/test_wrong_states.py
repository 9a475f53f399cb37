"""A file whose hash is right and whose content is wrong is refused, with the field named."""

from __future__ import annotations

import copy
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.errors import ParameterError, StateFileError
from likewise.hypotheses import Segments
from likewise.learner import (
    Learner,
    SelfTuned,
    State,
    apply,
    decide,
    dump_state,
    load_state,
    parse_state,
    save_state,
)
from likewise.learner.events import Arrived, Audited, Labelled, Overridden, Person, Sealed
from likewise.learner.state_files import VERSION
from likewise.people import Feature, FeatureSchema

SCHEMA = FeatureSchema(
    (
        Feature("score", low=0, high=100),
        Feature("job", "category", levels=("none", "part", "full")),
        Feature("note", low=0, high=1, missing="not stated"),
    )
)
PEOPLE = (
    Person("ann", (90.0, 1.0, 0.5)), Person("bo", (10.0, 1.0, math.nan)),
    Person("cy", (50.0, 2.0, 1.0)),
)  # fmt: skip


def make(**settings: Any) -> Learner:
    lender = Segments(SCHEMA, score="score", cuts=[25, 50, 75], by=["job"])
    options = {"k": 4, "alpha": 0.3, "eps": 0.3, "seed": 5, **settings}
    return Learner(lender, schedule=SelfTuned(eta=0.5), **options)


def some_state(learner: Learner) -> State:
    """Rounds in every stage: arrived, decided, sealed, reported; and one that is closed."""
    state = State.start(learner)
    for name in ("new", "decided", "sealed", "audited"):
        state = apply(state, Arrived(name, PEOPLE[:2]))
        if name == "new":
            continue
        state = apply(state, decide(state, name))
        if name == "decided":
            state = apply(state, Arrived(name, PEOPLE[2:]))
            continue
        state = apply(state, Sealed(name, "five members"))
        for person, decision in list(state.open[name].decisions.items()):
            if decision.approved or not learner.pricing.one_sided:
                state = apply(state, Labelled(name, person, 1))
                break
    rejected = [d for d in state.open["sealed"].decisions.values() if not d.approved]
    for decision in rejected[:1]:
        state = apply(state, Overridden("sealed", decision.person, True))
    return apply(state, Audited("audited", "quiet"))


@pytest.fixture(scope="module", params=["full", "one-sided"])
def state(request: pytest.FixtureRequest) -> State:
    return some_state(make(feedback=request.param))


def body_of(state: State) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(dump_state(state).partition(b"\n")[2])
    return body


def file_of(body: Any) -> bytes:
    """A file with this content and the right hash."""
    content = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
    return f"{VERSION} {len(content)} {hashlib.sha256(content).hexdigest()}\n".encode() + content


def changed(body: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The same content with one value replaced; ``...`` takes it away."""
    body = copy.deepcopy(body)
    place = body
    for step in path[:-1]:
        place = place[step]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return body


def test_the_file_as_it_was_written_is_read(state: State) -> None:
    assert parse_state(file_of(body_of(state))) == state


ASKING = {
    "pairs": None, "possible": 99, "whole": True, "chance": 1, "looked_at": True, "memory": "",
    "everything": False, "sensitivity": 250_000,
}  # fmt: skip


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        (("lam",), math.nan, "lam must be at least 0"),
        (("lam",), math.inf, "lam must be finite"),
        (("lam",), "0.5", "lam must be a number"),
        (("lam",), -0.5, "lam must be at least 0"),
        (("lam",), ..., "lam is missing"),
        (("kappa",), -0.1, r"kappa must be in \[0, 0.0975\]"),
        (("kappa",), 0.1, r"kappa must be in \[0, 0.0975\]"),
        (("opened",), 2.0, "opened must be an integer"),
        (("opened",), True, "opened must be an integer"),
        (("opened",), 3, "opened must be at least 4"),
        (("opened",), 1 << 40, "opened must be at most"),
        (("audits",), 5, "audits must be at most 4"),
        (("reports",), 2, "reports must be at most"),
        (("reports",), -1, "reports must be at least 0"),
        (("missing",), 17, "missing must be at most 16"),
        (("overridden",), 1000, "overridden must be at most 16"),
        (("calls",), None, "calls must be an integer"),
        (("closed",), ["x"], "closed must be at most 0"),
        (("closed",), [3], "closed must be text"),
        (("tuning",), [0.0, 0], "tuning must have squares"),
        (("tuning", "squares"), 0.5, "tuning.squares must be a list"),
        (("tuning", "squares"), [0.5, 0.5], "tuning.squares must be 1 numbers"),
        (("tuning", "pending"), 0.5, "tuning.pending must be an integer"),
        (("tuning", "peak", 0), math.inf, "tuning.peak must be finite"),
        (("tuning", "peak", 0), -1.0, "tuning.peak must be 1 numbers of at least 0"),
        (("tuning", "outstanding"), 5, "tuning.outstanding must be"),
        (("tuning", "waiting"), 9, "tuning.waiting must be"),
        (("account",), [0, 0], "account must have paid"),
        (("account", "paid"), 0.5, "account.paid must be an integer"),
        (("account", "paid"), 10**400, "account.paid must be an integer in"),
        (("account", "reported"), -1, "account.reported must be at least 0"),
        (("account", "largest_lam"), -1.0, "account.largest_lam must be at least lam"),
        (("incurred",), [1], "incurred must be 0 values"),
        (("costs",), 9, "costs must be an integer in"),
        (("arrays", 0, 1), "AAAA", "arrays must be 12 integers"),
        (("arrays", 0, 0), [3], "arrays must be 3 integers"),
        (("arrays", 0, 1), "?", "arrays must be in base64"),
        (("arrays", 0, 1), None, "arrays must be in base64"),
        (("more",), 1, "more is unknown"),
        (("open",), {}, "open must be a list"),
        (("open", 0, "people"), [], r"open\['new'\].*people must be between 1 and k = 4"),
        (("open", 0, "people", 0, "id"), "bo", r"open\['new'\].*called 'bo'"),
        (("open", 0, "people", 0, "features", 0), 101, "'score' must be a finite number"),
        (("open", 0, "people", 0, "features", 0), "90", "people.features must be a number"),
        (("open", 0, "people", 0, "features"), [1.0], "a row must have 3 values"),
        (("open", 0, "number"), 2, "every number once"),
        (("open", 0, "number"), 0, r"open\['new'\].*number must be at least 1"),
        (("open", 0, "id"), "sealed", "open must have every id once"),
        (("open", 0, "batches"), 3, r"open\['new'\].*batches"),
        (("open", 0, "frozen"), None, r"open\['new'\].*frozen must be kept"),
        (("open", 0, "frozen", "seed"), 4, r"open\['new'\].*frozen must be the policy of"),
        (("open", 0, "frozen", "scales"), 1.0, "frozen.scales must be a list"),
        (("open", 0, "frozen", "scales", 0), math.nan, "frozen.scales must be 1 numbers"),
        (("open", 0, "frozen", "incurred"), [1], "frozen.incurred must be 0 values"),
        (("open", 0, "draws"), 3, r"open\['new'\].*draws must be 0 in round 1"),
        (("open", 0, "asking"), ASKING, r"asking must be what the panel of a sealed"),
        (("open", 2, "asking"), None, r"open\['sealed'\].*asking must be what the panel of"),
        (("open", 2, "asking", "sensitivity"), 99, "asking.sensitivity must be in"),
        (("open", 2, "asking", "sensitivity"), 314_574, "asking.sensitivity must be in"),
        (("open", 2, "asking"), ASKING, r"open\['sealed'\].*asking must be of the \d+ possible"),
        (("looks", "log_chances"), 1.0, "looks must have chances of at most 1"),
        (("looks", "rounds"), 99, "looks must count at most"),
        (("memory",), [1.0], "memory must be what 'possible' learns"),
        (("open", 0, "outcome"), "quiet", r"open\['new'\].*outcome must be none before"),
        (("open", 0, "panel"), "x", r"open\['new'\].*frozen must be kept"),
        (("open", 0, "labels"), {"ann": 1}, r"open\['new'\].*sealed before labels"),
        (("open", 0, "colour"), 1, "colour is unknown"),
        (("open", 2, "panel"), "", "panel must be text that is not empty"),
        (("open", 2, "decisions", "ann", "score"), -1, "a score must be an integer"),
        (("open", 2, "decisions", "ann", "approved"), "yes", "must be True or False"),
        (("open", 2, "decisions", "ann", "experts"), [1], "experts must be none"),
        (("open", 2, "decisions", "ann", "person"), "zoe", "must be on the people"),
        (("open", 2, "decisions", "ann"), ..., "decisions must be on the people"),
        (("open", 2, "labels"), {"zoe": 1}, "no person 'zoe' to label"),
        (("open", 2, "labels"), {"ann": 2}, "a label must be 0 or 1"),
        (("open", 2, "overrides"), {"zoe": True}, "overrides must change"),
        (("open", 2, "overrides"), {"ann": "no"}, "must be True or False"),
        (("open", 3, "outcome"), "report", "must be given for a report"),
        (("open", 3, "outcome"), "loud", "must be one of report, quiet, unaudited"),
        (("open", 3, "pairs"), [["ann", "bo"]], "only for one"),
        (("open", 3, "pairs"), [["ann"]], "pairs must be 2 values"),
        (("learner", "k"), "4", "k must be an integer"),
        (("learner", "ignores_reports"), "no", "ignores_reports must be True or False"),
        (("learner", "shoe"), 42, "shoe is unknown"),
        (("learner", "alpha"), ..., "alpha is missing"),
        (("learner", "hypotheses", "class"), "puddle", "must be one of pool"),
        (("learner", "hypotheses", "cuts"), 0.5, "cuts must be a list"),
        (("learner", "hypotheses", "colour"), 1, "colour is unknown"),
        (("learner", "schedule", "eta"), "much", "eta must be a number"),
        (("learner", "schedule", "colour"), 1, "colour is unknown"),
        (("learner", "player"), "nobody", "player must be one of"),
        (("learner", "prior"), "sharp", "prior must be one of coarse-to-fine, flat"),
        (("learner", "prior"), [0.5, 0.5], "prior must be one of coarse-to-fine, flat"),
        (("learner", "dual"), {"dual": "cubic"}, "dual must be one of gradient"),
        (("learner", "dual", "gamma"), 1.0, "gamma is unknown"),
        (("learner", "scales"), "many", "scales must be one of shared, per-part"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named(
    state: State, path: tuple[Any, ...], value: Any, field: str
) -> None:
    with pytest.raises(StateFileError, match=rf"^(?s:.*){field}"):
        parse_state(file_of(changed(body_of(state), path, value)))


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all values; in a list of plain ones, of the first two."""
    yield path
    if isinstance(value, dict | list):
        steps: Iterable[Any] = value if isinstance(value, dict) else range(len(value))
        if isinstance(value, list) and not any(isinstance(v, dict | list) for v in value):
            steps = range(min(2, len(value)))
        for step in steps:
            yield from leaves(value[step], (*path, step))


JUNK: tuple[Any, ...] = (
    None, True, "", "3", math.nan, math.inf, 2.5, -1, 10**400, [], {}, [[]], {"a": 1}, "\ud800",
)  # fmt: skip


MIXTURE = {"player": "nested-ftpl", "dual": "geometric"}


@pytest.mark.parametrize(
    ("settings", "step"),
    [
        pytest.param({}, 1, id="full", marks=pytest.mark.long),
        pytest.param({**MIXTURE, "feedback": "one-sided"}, 3, id="a mixture of one-sided players"),
    ],
)
def test_no_junk_anywhere_ends_in_anything_but_a_refusal(
    settings: dict[str, Any], step: int
) -> None:
    """Every value of the file replaced by junk: refused, or another state that can be saved.

    By all kinds of junk, or by a third of them, another third at the next place.
    """
    body = body_of(some_state(make(**settings)))
    tried = 0
    for place, path in enumerate(leaves(body)):
        if not path:
            continue
        for junk in JUNK[place % step :: step]:
            tried += 1
            try:
                read = parse_state(file_of(changed(body, path, junk)))
            except StateFileError:
                continue
            assert parse_state(dump_state(read)) == read, (path, junk)
    assert tried > 1000


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        (("incurred",), [0], "incurred must be 3 values"),
        (("incurred", 0), 0.5, "incurred must be an integer"),
        (("open", 0, "frozen", "incurred"), [], "frozen.incurred must be 3 values"),
        (("open", 2, "decisions", "ann", "experts"), None, "must be 3 integers"),
        (("open", 2, "decisions", "ann", "experts"), [1, 2], "must be 3 integers"),
        (("open", 2, "decisions", "ann", "experts", 1), 1 << 21, "must be 3 integers"),
        (("open", 2, "decisions", "ann", "experts", 1), True, "must be an integer"),
        (("learner", "dual", "theta"), -1.0, "dual theta must be a positive number"),
        (("learner", "dual", "gamma"), "much", "dual gamma must be a number"),
        (("learner", "dual", "colour"), 1, "colour is unknown"),
        (("account", "largest_lam"), 0.001, "largest_lam must be at least lam"),
    ],
)
def test_a_wrong_field_of_a_mixture_is_named(path: tuple[Any, ...], value: Any, field: str) -> None:
    body = body_of(some_state(make(**MIXTURE)))
    with pytest.raises(StateFileError, match=rf"^(?s:.*){field}"):
        parse_state(file_of(changed(body, path, value)))


def test_content_that_is_no_state_at_all_is_refused() -> None:
    contents: tuple[Any, ...] = (None, 3, "", [], {}, [1], "x" * 9)
    for content in contents:
        with pytest.raises(StateFileError, match="not a likewise-state/1 state"):
            parse_state(file_of(content))
    deep = b"[" * 100_000 + b"]" * 100_000
    twice = b'{"lam": 1, "lam": 2}'
    for raw in (deep, twice, b"\xff\xfe", b"{"):
        header = f"{VERSION} {len(raw)} {hashlib.sha256(raw).hexdigest()}\n".encode()
        with pytest.raises(StateFileError, match="not a likewise-state/1 state"):
            parse_state(header + raw)


def test_what_is_no_file_is_refused(tmp_path: Path, state: State) -> None:
    reading: list[Callable[[], Any]] = [
        lambda: load_state(tmp_path / "none"),
        lambda: load_state(tmp_path),
        lambda: load_state(None),  # type: ignore[arg-type]
        lambda: load_state("a\0b"),
        lambda: parse_state("text"),  # type: ignore[arg-type]
        lambda: save_state(state, tmp_path / "no folder" / "s"),
    ]
    for act in reading:
        with pytest.raises(StateFileError):
            act()


def test_a_file_of_another_learner_is_refused_where_one_is_expected(tmp_path: Path) -> None:
    learner = make()
    save_state(some_state(learner), tmp_path / "s")
    for same in (learner, make(), replace(learner, engine="reference")):
        assert load_state(tmp_path / "s", learner=same).opened == 4
    for second, message in (
        (make(seed=6), "seed is 5, not 6"),
        (make(k=8, alpha=0.4), "k is 4, not 8, alpha is 0.3, not 0.4"),
        (make(feedback="one-sided"), "feedback is 'full', not 'one-sided'"),
    ):
        with pytest.raises(StateFileError, match=message):
            load_state(tmp_path / "s", learner=second)
    with pytest.raises(ParameterError, match="learner must be of the class Learner"):
        load_state(tmp_path / "s", learner="mine")  # type: ignore[arg-type]


def test_costs_are_read_only_in_every_state(state: State) -> None:
    arrays = [state.costs, *(r.frozen.costs for r in state.open.values() if r.frozen)]
    arrays.append(parse_state(dump_state(state)).costs)
    arrays.append(State.start(state.learner).costs)
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    costs = state.learner.hypotheses.no_costs()
    State(state.learner, costs, state.kappa)
    costs[0] = 1  # the caller's own array stays the caller's


@pytest.mark.parametrize("value", ["no", "", 0, 1, None, np.array([True])])
def test_whether_reports_are_ignored_is_said_with_a_truth_value(value: Any) -> None:
    with pytest.raises(ParameterError, match="ignores_reports must be True or False"):
        make(ignores_reports=value)
    assert make(ignores_reports=np.True_).ignores_reports is True
