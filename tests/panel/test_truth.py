from __future__ import annotations

from itertools import product

import pytest

from likewise.errors import ParameterError, RuleError
from likewise.panel import all_of, from_function, never, objects, veto


def test_the_result_is_the_or_of_the_minimal_winning_coalitions() -> None:
    rule = from_function(lambda v: sum(v) >= 2 or v[2], ["a", "b", "c"])
    assert rule == objects("c") | all_of("a", "b")


def test_a_table_of_numbers_is_as_good_as_one_of_truths() -> None:
    table = {profile: int(profile[0] and profile[1]) for profile in product((0, 1), repeat=2)}
    assert from_function(table.__getitem__, ["a", "b"]) == all_of("a", "b")


def test_a_single_winner_is_a_veto() -> None:
    assert from_function(lambda v: v[1], ["a", "b"]) == veto("b")


def test_a_function_that_never_fires_is_never() -> None:
    assert from_function(lambda _: False, ["a", "b"]) == never()


def test_a_missing_profile_is_named() -> None:
    table: dict[tuple[int, ...], int] = {(0, 0): 0, (0, 1): 0, (1, 1): 1}
    with pytest.raises(RuleError, match=r"failed on the profile \(1, 0\) with KeyError"):
        from_function(table.__getitem__, ["a", "b"])


def test_an_answer_that_is_no_truth_is_refused() -> None:
    with pytest.raises(RuleError, match=r"got 0\.5 for \(0,\)"):
        from_function(lambda _: 0.5, ["a"])  # type: ignore[arg-type, return-value]


def test_a_function_that_always_fires_is_refused() -> None:
    with pytest.raises(RuleError, match="always fires: it reports when nobody objects"):
        from_function(lambda _: True, ["a", "b"])


def test_more_members_than_can_be_enumerated_are_refused_with_the_reason() -> None:
    with pytest.raises(ParameterError, match=r"at most 16.*got 17.*2\^m profiles"):
        from_function(lambda v: v[0], [f"j{i}" for i in range(17)])


def test_an_empty_panel_is_refused() -> None:
    with pytest.raises(ParameterError, match="one or more different names"):
        from_function(lambda _: False, [])


def test_twelve_members_are_read_in_full() -> None:
    names = [f"j{i}" for i in range(12)]
    rule = from_function(lambda v: sum(v) >= 11, names)
    assert str(rule).count("all(") == 12
