"""State files: exact, without pickle, and refused when they are not whole."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import StateFileError
from likewise.learner import Learner, State, dump_state, load_state, parse_state, save_state
from likewise.learner.state_files import VERSION
from likewise.simulate import Loans
from likewise.simulate.rounds import play


@pytest.fixture(scope="module")
def state() -> State:
    world = Loans(1)
    return play(world, Learner(world.hypotheses(), 8, 0.3, 0.3, 1), 5).state


@pytest.fixture(scope="module")
def content(state: State) -> bytes:
    return dump_state(state)


def test_a_saved_state_is_the_same_state(state: State, tmp_path: Path) -> None:
    save_state(state, tmp_path / "s")
    assert dump_state(load_state(tmp_path / "s")) == dump_state(state)


def test_saving_leaves_no_other_file(state: State, tmp_path: Path) -> None:
    save_state(state, tmp_path / "s")
    save_state(state, tmp_path / "s")
    assert os.listdir(tmp_path) == ["s"]


@given(cut=st.floats(0, 1, exclude_max=True))
def test_a_file_that_was_cut_short_is_refused(content: bytes, cut: float) -> None:
    with pytest.raises(StateFileError, match=r"cut short|must begin"):
        parse_state(content[: int(len(content) * cut)])


@given(place=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_a_changed_byte_is_noticed(content: bytes, place: float, flip: int) -> None:
    at = int(len(content) * place)
    changed = content[:at] + bytes([content[at] ^ flip]) + content[at + 1 :]
    with pytest.raises(StateFileError):
        parse_state(changed)


def test_another_version_is_refused_by_name(content: bytes) -> None:
    with pytest.raises(StateFileError, match=r"likewise-state/3.*reads likewise-state/1"):
        parse_state(content.replace(VERSION.encode(), b"likewise-state/3", 1))


def test_a_rehashed_file_that_makes_no_sense_is_refused() -> None:
    body = b'{"learner": {}}'
    header = f"{VERSION} {len(body)} {hashlib.sha256(body).hexdigest()}\n".encode()
    with pytest.raises(StateFileError, match="not a likewise-state/1 state"):
        parse_state(header + body)


def test_another_schema_than_the_recorded_one_is_refused(content: bytes) -> None:
    _, _, body = content.partition(b"\n")
    body = body.replace(b'"Bureau score"', b'"Shoe size"')
    header = f"{VERSION} {len(body)} {hashlib.sha256(body).hexdigest()}\n".encode()
    with pytest.raises(StateFileError, match="the features have been changed"):
        parse_state(header + body)
