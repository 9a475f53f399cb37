from __future__ import annotations

import pytest

from likewise.errors import AuditError
from likewise.panel import MemberObjections, Objections, Pair

PEOPLE = ("ann", "bo", "cy")


def test_a_pair_has_no_order() -> None:
    assert len({Pair("ann", "bo"), Pair("bo", "ann"), Pair.of({"ann", "bo"})}) == 1


def test_nobody_is_a_pair_with_themselves() -> None:
    with pytest.raises(AuditError, match="'ann' twice"):
        Pair("ann", "ann")


@pytest.mark.parametrize("odd", [("ann",), ("ann", "bo", "cy"), "ab", (1, 2)])
def test_a_pair_is_two_ids(odd: tuple[str, ...]) -> None:
    with pytest.raises(AuditError, match="ids of two people"):
        Pair.of(odd)


def test_a_pair_said_twice_counts_once() -> None:
    said = MemberObjections(pairs=[("bo", "ann"), ("ann", "bo")])
    assert said.pairs == (Pair("ann", "bo"),)


def test_an_absent_member_cannot_object() -> None:
    with pytest.raises(AuditError, match="absent member must have no objections"):
        MemberObjections(present=False, pairs=[("ann", "bo")])


def test_a_reason_needs_its_pair() -> None:
    with pytest.raises(AuditError, match="'why not'"):
        MemberObjections(reasons={("ann", "bo"): "why not"})


def test_strangers_are_named_with_the_member_who_named_them() -> None:
    with pytest.raises(AuditError, match=r"Member 'j1' objects to.*'dee' is not among"):
        Objections(PEOPLE, {"j1": MemberObjections(pairs=[("ann", "dee")])})


def test_a_bare_list_of_pairs_is_refused() -> None:
    with pytest.raises(AuditError, match="must be MemberObjections"):
        Objections(PEOPLE, {"j1": [("ann", "bo")]})  # type: ignore[dict-item]


def test_ids_must_differ() -> None:
    with pytest.raises(AuditError, match="different ids"):
        Objections(("ann", "ann"), {"j1": MemberObjections()})


def test_an_empty_panel_is_refused() -> None:
    with pytest.raises(AuditError, match="must not be empty"):
        Objections(PEOPLE, {})


def test_votes_are_symmetric_and_in_the_order_asked_for() -> None:
    said = Objections(
        PEOPLE,
        {"j1": MemberObjections(pairs=[("ann", "cy")]), "j2": MemberObjections(present=False)},
    )
    votes = said.votes(["j2", "j1"])
    assert not votes[0].any()
    assert votes[1].astype(int).tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]


def test_a_member_who_said_nothing_at_all_must_be_marked_absent() -> None:
    said = Objections(PEOPLE, {"j1": MemberObjections()})
    with pytest.raises(AuditError, match="'j2' is on the panel but not among the objections"):
        said.votes(["j1", "j2"])


def test_equal_objections_have_equal_hashes() -> None:
    one, two = MemberObjections(), MemberObjections(pairs=[("ann", "bo")])
    a = Objections(PEOPLE, {"j1": one, "j2": two})
    b = Objections(PEOPLE, {"j2": two, "j1": one})
    assert a == b
    assert hash(a) == hash(b)
