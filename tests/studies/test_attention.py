"""The studies of attention: their tables, a part played again, and the worlds that they need."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from likewise.numerics.fixed_point import ONE
from studies.panels_that_change import CarelessLoans
from studies.scripts import attention as study

ROOT = Path(__file__).parents[2]
STORED = json.loads((ROOT / "studies/results/attention-studies.json").read_text("utf-8"))


def test_the_page_has_the_tables_that_were_measured() -> None:
    page = (ROOT / "docs/research/results.md").read_text("utf-8")
    assert study.as_tables(STORED) in page


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
