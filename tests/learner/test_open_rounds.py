"""Open rounds are a mapping like any other, of which earlier versions stay as they were.

Mutants that die here, each tried by hand: a count that is not corrected where a round takes the
place of its earlier self; ``having`` writing into the bucket that is there; a copy that shares the
list of buckets; rounds listed by id in place of the order in which they opened.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.learner.state import OpenRound, OpenRounds

# Far more names than buckets, some of them strange.
NAMES = st.one_of(
    st.integers(0, 200).map(lambda n: f"r{n}"), st.sampled_from(["", "ä", "\ud800", "a b", "0"])
)
CHANGES = st.lists(st.tuples(st.sampled_from(["having", "having", "without"]), NAMES), max_size=60)


def round_(name: str, number: int, lam: float = 0.0) -> OpenRound:
    return OpenRound(name, number, None, lam, 0)


def same(rounds: OpenRounds, model: dict[str, OpenRound]) -> None:
    assert len(rounds) == len(model)
    assert list(rounds) == list(model)
    assert dict(rounds) == model
    assert rounds == OpenRounds(model)
    assert all(rounds[name] is version for name, version in model.items())


@given(changes=CHANGES)
def test_open_rounds_are_a_dict_of_which_every_version_stays(
    changes: list[tuple[str, str]],
) -> None:
    rounds, model = OpenRounds(), dict[str, OpenRound]()
    versions = [(rounds, dict(model))]
    for number, (change, name) in enumerate(changes, start=1):
        if change == "without":
            rounds = rounds.without(name)
            model.pop(name, None)
            assert name not in rounds
            with pytest.raises(KeyError):
                rounds[name]
        else:
            # A round keeps its number, and so its place, for as long as it is open.
            new = replace(model[name], lam=number) if name in model else round_(name, number)
            rounds = rounds.having(new)
            model[name] = new
        versions.append((rounds, dict(model)))
    for version, later in versions:
        same(version, later)
    assert copy(rounds) == rounds


def test_rounds_are_listed_in_the_order_in_which_they_opened_however_they_were_put_in() -> None:
    """As when a state is read from a file."""
    backwards = {f"r{n}": round_(f"r{n}", n) for n in range(150, 0, -1)}
    assert list(OpenRounds(backwards)) == [f"r{n}" for n in range(1, 151)]


def test_other_rounds_and_other_things_are_not_equal() -> None:
    first = OpenRounds({"a": round_("a", 1)})
    assert first != OpenRounds()
    assert first != first.having(round_("a", 1, lam=0.5))
    assert first == first.having(round_("b", 2)).without("b")
    assert first != {"a": round_("a", 1)}
    assert not first.__contains__(1)
