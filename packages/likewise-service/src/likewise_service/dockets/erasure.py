"""Erasing a person, or what has been kept for its time; legal holds; publishing the seed."""

import math
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from likewise.hypotheses.base import HypothesisClass
from likewise.numerics.fixed_point import FloatArray
from likewise.people import Feature, People
from likewise.validation import choice, require, within
from likewise_service.clock import DAY, later, now
from likewise_service.dockets.docket import Docket, UnitOfWork, command
from likewise_service.errors import ServiceError
from likewise_service.ledger import kinds, notes, records
from likewise_service.ledger.store import Store


def erase(docket: Docket, round_id: str, person: str, *, reasons: bool = True) -> notes.Checkpoint:
    """Erase what is personal about somebody.

    That is their features, what they asked for and were told, fingerprints of requests and, unless
    ``reasons`` stay for a time of their own, reasons that name them (also withdrawn ones) and
    comments on their round, which may be about others whom a hold protects. :meth:`Store.scrub`
    then empties the database's own files of them. A coarse surrogate remains whom the class cannot
    tell from them, so every decision can still be recomputed. An attention, and members' models,
    that have learnt from their round begin anew.
    """
    with docket.unit_of_work() as work:
        round_ = work.projection.round(round_id)
        round_.check_person(person)
        about = round_.reasons_about(person) if reasons else []
        held = work.projection.governance.held
        hold = held(round_id, None if work.transaction.payloads(about) else person)
        if hold is not None:
            fault = f"{person!r} cannot be erased while the hold {hold!r} lasts."
            raise ServiceError("on-hold", 409, f"{fault} Lift it, if nobody needs it any more.")
        round_.check_no_appeal(person)
        digest = round_.people[person]
        if person not in round_.erased and digest is not None:
            content = work.transaction.payloads([digest])[digest].content
            features = surrogate(work.state.learner.hypotheses, records.features_of(content))
            forgets = work.projection.learnt_from(round_)
            surrogate_digest = work.keep(records.person_payload(features))
            work.add(kinds.Erased(round_id, person, surrogate_digest, forgets))
            work.transaction.erase(digest)
        # Erasing again removes reasons given since.
        work.transaction.forget_fingerprints(round_id)
        for words in (*about, *round_.words_for(person)):
            work.transaction.erase(words)
    docket.scrub()
    return docket.receipt()


@command
def reveal_seed(work: UnitOfWork) -> None:
    """Publish the seed, once nothing is to be decided any more."""
    if work.projection.revealed is None:
        work.add(kinds.SeedRevealed(str(work.docket.seed), work.docket.salt.hex()))


def surrogate(hypotheses: HypothesisClass, features: Sequence[float]) -> tuple[float, ...]:
    """Return a coarse person whom the class cannot tell from this one.

    Every feature becomes the plainest value that does not move the person's point: the lowest one,
    or the lowest end of the longest range. Decisions and costs stay what they were, and features
    that the class ignores are gone.

    >>> from likewise.simulate import Loans
    >>> world = Loans(1)
    >>> before = world.encounter(1).people.x[0].tolist()
    >>> after = surrogate(world.hypotheses(), before)
    >>> sum(a != b for a, b in zip(after, before)) >= 6
    True
    """
    schema = hypotheses.schema
    coarse = np.array(features, dtype=np.float64)
    point = _point(hypotheses, coarse)
    for column, name in enumerate(schema.names):
        for value in _plainer(schema[name], float(coarse[column])):
            changed = coarse.copy()
            changed[column] = value
            if _point(hypotheses, changed) == point:
                coarse = changed
                break
    return tuple(coarse.tolist())


def _plainer(feature: Feature, value: float) -> list[float]:
    """Return values to try, the plainest first: the lowest, ends of halves, quarters, …, itself."""
    low, high = feature.limits
    if math.isnan(value):
        return [value]
    if feature.kind in ("category", "flag"):
        return [low, value]
    if not math.isfinite(high - low):
        return [min(max(0.0, low), high), value]
    values = [low]
    for depth in range(1, 11):
        step = (high - low) / 2**depth
        end = low + math.floor((value - low) / step) * step
        values.append(max(low, float(math.floor(end))) if feature.kind == "integer" else end)
    return [*values, value]


def _point(hypotheses: HypothesisClass, x: FloatArray) -> bytes:
    points = hypotheses.locate(People(("someone",), x[None, :], hypotheses.schema))
    return np.ascontiguousarray(points).tobytes()


# The longest period, in days: a hundred years.
LONGEST = 36_525.0
# The most characters of a hold's reason.
LONGEST_WHY = 200
# Periods that laws ask for, at their longest in days.
PRESETS = {
    "colorado": 1096.0,  # three years: Colorado, SB 26-189
    "regulation-b": 762.0,  # 25 months: Regulation B, 12 CFR 1002.12(b)
    "regulation-b-business": 366.0,  # 12 months, business credit: 12 CFR 1002.12(b)
    "ai-act-logs": 184.0,  # six months: EU AI Act, Art. 19 and 26(6)
}


def preset_days(names: Iterable[str]) -> float:
    """Return the longest of some periods by name, which fulfils the others too.

    >>> preset_days(["ai-act-logs", "colorado"])
    1096.0
    """
    return max(PRESETS[choice("preset", name, PRESETS, "Or give days.")] for name in names)


@command
def set_retention(work: UnitOfWork, features: float | None, reasons: float | None) -> None:
    """Keep features and reasons some days after a round has closed; None keeps them always."""
    for name, days in (("features", features), ("reasons", reasons)):
        if days is not None:
            remedy = "It is in days; null, or `always` at the command line, keeps them."
            within(name, days, 0, LONGEST, remedy, ends="(]")
    governance = work.projection.governance
    if (governance.features_days, governance.reasons_days) != (features, reasons):
        work.add(kinds.RetentionSet(features, reasons))


def place_hold(
    docket: Docket, why: str, round_id: str | None = None, person: str | None = None
) -> tuple[str, notes.Checkpoint]:
    """Place a legal hold on all rounds, one round or one person; return its id and a receipt."""
    require(
        why.isprintable() and 0 < len(why.strip()) == len(why) <= LONGEST_WHY, "why",
        f"must be 1 to {LONGEST_WHY} characters in one line", why,
        "Name the complaint or the order; it stays in the ledger.",
    )  # fmt: skip
    hold = secrets.token_hex(6)
    with docket.unit_of_work() as work:
        if round_id is None and person is not None:
            raise ServiceError("no-round", 422, "A round must be given with a person. Name it.")
        if round_id is not None:
            round_ = work.projection.round(round_id)
            if person is not None:
                round_.check_person(person)
        work.add(kinds.HoldPlaced(hold, round_id, person, why))
    return hold, docket.receipt()


@command
def lift_hold(work: UnitOfWork, hold: str) -> None:
    if hold not in work.projection.governance.holds:
        raise ServiceError("no-hold", 404, f"There is no hold {hold!r}. It may be over.")
    work.add(kinds.HoldLifted(hold))


# The most rounds that are looked through in one turn.
ROUNDS = 500


@dataclass
class Expired:
    """How many people and rounds' reasons were erased, and how many a hold kept.

    ``last`` is the number of the round after which to go on; None if that was all.
    """

    people: int = 0
    reasons: int = 0
    held: int = 0
    last: int | None = None


def erase_expired(docket: Docket, after: int = 0, limit: int = 100) -> Expired:
    """Erase what has been kept for its time, unless held, in closed rounds above a number.

    At most ``limit`` people are erased and ``ROUNDS`` rounds looked through at once, so that others
    get the docket's turn.
    """
    expired, governance = Expired(), docket.refresh().governance
    by = _ended_by(docket.clock(), governance.features_days, governance.reasons_days)
    if any(hold.of_round is None for hold in governance.holds.values()):
        return expired  # however many rounds there are, all of them are kept
    with docket.looking() as view:
        due = view.expired_rounds(*by, after, ROUNDS)
    docket.archive.prepare(list(due), docket.projection.head.seq)
    for round_id, number in due.items():
        closed = docket.projection.round(round_id).closed or ""
        if closed <= by[1]:
            _erase_reasons(docket, round_id, expired)
        if closed <= by[0]:
            _erase_people(docket, round_id, by[0], expired, limit)
        if expired.people >= limit:  # there may be more in this round
            break
        after = number
    expired.last = after if due else None
    return expired


def _ended_by(at: str, features: float | None, reasons: float | None) -> tuple[str, str]:
    """Return by when rounds ended whose people and whose words are erased; "", for always kept."""
    people, words = ("" if d is None else later(at, -DAY * d) for d in (features, reasons))
    return people, words


def with_expired(store: Store) -> list[str]:
    """Return the dockets in which something has been kept for its time; none is opened."""
    names, at = list[str](), now()
    for name, days in store.periods().items():
        by = _ended_by(at, days["features"], days["reasons"])
        with store.view(name) as view:
            if view.expired_rounds(*by, 0, 1):
                names.append(name)
    return names


def _erase_people(docket: Docket, round_id: str, ended: str, expired: Expired, limit: int) -> None:
    """Erase the people of a round; after an appeal or a notice their time begins anew."""
    round_ = docket.projection.round(round_id)
    for person in round_.people:
        moments = [appeal.ended for appeal in round_.appeals_of(person)]
        moments += [notice.given for notice in round_.notices.get(person, ())]
        recent = any(moment is not None and moment > ended for moment in moments)
        if person in round_.erased or recent or expired.people >= limit:
            continue
        if None in moments or docket.projection.governance.held(round_id, person) is not None:
            expired.held += 1
        else:
            erase(docket, round_id, person, reasons=False)
            expired.people += 1
    with docket.unit_of_work() as work:
        if work.projection.round(round_id).erased.keys() == round_.people.keys():
            work.transaction.keeps(round_.number, "people", None)


def _erase_reasons(docket: Docket, round_id: str, expired: Expired) -> None:
    """Remove the words of a round's reasons; their digests stay on record."""
    with docket.unit_of_work() as work:
        round_ = work.projection.round(round_id)
        payloads = work.transaction.payloads(round_.reasons_about())
        waiting = any(appeal.ended is None for appeal in round_.appeals.values())
        if payloads and (waiting or work.projection.governance.held(round_id) is not None):
            expired.held += 1
            return
        work.transaction.keeps(round_.number, "words", None)
        if payloads:
            for digest in payloads:
                work.transaction.erase(digest)
            work.transaction.forget_fingerprints(round_id)
            work.add(kinds.ReasonsErased(round_id))
            expired.reasons += 1
    docket.scrub()
