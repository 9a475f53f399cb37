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


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        (("lam",), math.nan, "NaN is no number of a state"),
        (("lam",), "0.5", "state.lam must be float"),
        (("lam",), -0.5, "lam must be that of the learner"),
        (("lam",), ..., "state must have its fields and no others.*'lam'"),
        (("kappa",), 0.1, "kappa must be that of the learner"),
        (("opened",), True, "opened must be int"),
        (("opened",), 3, "opened must count the rounds"),
        (("opened",), 1 << 32, "opened must count the rounds.*below 4294967296"),
        (("closed",), ["x"], "closed must be that of"),
        (("tuning",), [0.0, 0], "tuning must be an object"),
        (("tuning", "squares"), [0.5, 0.5], "tuning must be that of"),
        (("tuning", "outstanding"), 5, "tuning.outstanding must be"),
        (("tuning", "waiting"), 9, "tuning.waiting must be"),
        (("account", "largest_lam"), -1.0, "lam must be that of"),
        (("incurred",), [1], "incurred must be that of"),
        (("costs",), 9, "list index out of range"),
        (("arrays", 0, 0), [3], "cannot reshape"),
        (("arrays", 0, 1), "?", "base64"),
        (("more",), 1, "more"),
        (("memory",), [1.0], "memory must be that of"),
        (("open", "new", "people", 0, "id"), "bo", "called 'bo'"),
        (("open", "new", "people", 0, "features", 0), 101.0, "'score' must be a finite number"),
        (("open", "new", "number"), 2, "opened must count the rounds"),
        (("open", "new", "number"), 10**30, "opened must count the rounds"),
        (("open", "new", "id"), "other", "another way"),
        (("open", "new", "frozen"), None, "frozen must be that of"),
        (("open", "sealed", "decisions", "ann", "score"), -1, "a score must be an integer"),
        (("open", "sealed", "decisions", "ann", "approved"), "yes", "approved must be bool"),
        (("open", "sealed", "decisions", "zoe"), 3, "must be an object"),
        (("open", "audited", "outcome"), "loud", "must be one of report, quiet, unaudited"),
        (("open", "audited", "pairs"), [["ann"]], "shorter"),
        (("learner", "k"), "4", "k must be an integer"),
        (("learner", "alpha"), ..., "alpha is missing"),
        (("learner", "hypotheses", "class"), "puddle", "must be one of pool"),
        (("learner", "prior"), "sharp", "prior must be one of coarse-to-fine, flat"),
        (("learner", "dual", "gamma"), 1.0, "gamma is unknown"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_refused(path: tuple[Any, ...], value: Any, field: str) -> None:
    body = body_of(some_state(make()))
    with pytest.raises(StateFileError, match=rf"^(?s:.*)({field})"):
        parse_state(file_of(changed(body, path, value)))


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


def test_no_junk_anywhere_ends_in_anything_but_a_refusal() -> None:
    """Every value of the file replaced by junk: refused, or another state that can be saved.

    By a third of all kinds of junk, another third at the next place.
    """
    body = body_of(some_state(make(**MIXTURE, feedback="one-sided")))
    tried = 0
    for place, path in enumerate(leaves(body)):
        if not path:
            continue
        for junk in JUNK[place % 3 :: 3]:
            tried += 1
            try:
                read = parse_state(file_of(changed(body, path, junk)))
            except StateFileError:
                continue
            assert parse_state(dump_state(read)) == read, (path, junk)
    assert tried > 1000


def test_a_state_has_no_number_that_differs_from_itself() -> None:
    """Wherever a number may stand; Python's own reader takes NaN and Infinity."""
    body = body_of(some_state(make(**MIXTURE, feedback="one-sided")))
    for path in leaves(body):
        for junk in (math.nan, math.inf, -math.inf) if path else ():
            with pytest.raises(StateFileError):
                parse_state(file_of(changed(body, path, junk)))


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
