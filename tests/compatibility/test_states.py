"""Nothing written is ever stranded: states of earlier commits load, and go on as they did then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from likewise.events import Decided, event_from_json
from likewise.learning import apply, decide, dump_state, load_state, parse_state

STATES = sorted(
    path
    for path in (Path(__file__).parent / "d29bfb5" / "states").glob("*.state")
    if not path.name.endswith(".after.state")
)


def test_there_are_states_of_every_kind() -> None:
    assert len(STATES) == 32


@pytest.mark.parametrize("path", STATES, ids=lambda path: path.stem)
def test_a_state_of_then_goes_on_to_the_same_decisions(path: Path) -> None:
    """Every decision after the file is taken again, and the state at the end is that of then."""
    state = load_state(path)
    lines = path.with_suffix(".events.jsonl").read_text().splitlines()
    for line in lines:
        event = event_from_json(json.loads(line))
        if isinstance(event, Decided):
            assert decide(state, event.round) == event
        state = apply(state, event)
    assert state == load_state(path.with_suffix(".after.state"))


@pytest.mark.parametrize("path", STATES, ids=lambda path: path.stem)
def test_a_state_of_then_can_be_written_again(path: Path) -> None:
    state = load_state(path)
    assert parse_state(dump_state(state)) == state
