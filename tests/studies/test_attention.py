"""The studies of attention: what they found, a part played again, and the worlds they need."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.numerics.fixed_point import ONE
from likewise.panel.rule_language import as_rule
from studies.panels_that_change import CarelessLoans
from studies.scripts import attention as study
from studies.scripts import turns

STORED = study.STUDY.stored()


def test_the_interval_misses_in_no_more_games_than_it_may() -> None:
    """At 95 % at most 16 of 200: a correct one has 17 or more with a chance of 2 %."""
    assert STORED["intervals"]["games"] == 200
    assert STORED["intervals"]["missed"] <= 16
    assert STORED["intervals"]["unseen"] > 1, "there is something to miss"


@pytest.mark.long
def test_the_interval_holds_in_games_played_now() -> None:
    """Twelve of the 200. If each missed with a chance of 5 %, three would in 2 % of all tries."""
    assert study.intervals(12)["missed"] <= 2


def test_repeats_find_who_responds_at_random() -> None:
    noise = {name: row["noise"] for name, row in study.repeats(rounds=200).items()}
    assert noise.pop("neighbour") > 0.3
    assert set(noise.values()) == {0.0}


def test_a_careless_member_tosses_a_coin_for_every_pair() -> None:
    """Of 2,240 pairs a share within five standard deviations of a half."""
    encounters = [CarelessLoans(seed=3).encounter(t) for t in range(1, 81)]
    places = np.triu_indices(8, 1)
    last = np.stack([encounter.distances[-1] for encounter in encounters])
    assert set(last[:, places[0], places[1]].ravel().tolist()) == {0, ONE}
    assert abs((last[:, places[0], places[1]] == 0).mean() - 0.5) < 5 * 0.5 / np.sqrt(2240)
    assert (last == last.transpose(0, 2, 1)).all()
    without = CarelessLoans(seed=3, seated=0).encounter(1)
    assert "neighbour" not in without.panel.members
    assert (without.distances == encounters[0].distances[:-1]).all()


def test_few_members_were_measured_to_suffice_in_turn() -> None:
    for row in turns.STUDY.stored():
        assert row["fewest"] <= row["in turn"] < row["with all at once"] <= 3.5
        assert row["in turn"] < row["without features"]
        assert row["in turn, most"] <= 1.3


def test_nobody_can_ask_fewer_than_those_who_know_all_votes() -> None:
    """Majority of three: two suffice who agree; where a and b never do, c is asked every time.

    With c in every round and two members a round, c is asked 1.5 times the mean: at 1.3 times it
    some rounds have to ask all three. Let x be the share of them: 1 ≤ 1.3·(2 + x)/3.
    """
    members, rule, inputs = ("a", "b", "c"), as_rule("majority"), np.ones((1, 1))
    quiet = turns.Shown(rule, members, np.zeros((3, 1), dtype=np.bool_), inputs)
    torn = turns.Shown(rule, members, np.array([[True], [False], [False]]), inputs)
    other = turns.Shown(rule, members, np.array([[False], [True], [False]]), inputs)
    assert turns.fewest([quiet] * 3) == pytest.approx(2)
    assert turns.fewest([torn, other]) == pytest.approx(3 / 1.3)
    assert turns.fewest([torn, other], fair=1.5) == pytest.approx(2)
    for features in (False, True):
        asked = turns.in_turn([quiet] * 30, features=features)
        assert asked.total() == 60
        assert max(asked.values()) <= 1.3 * 20 + 1
