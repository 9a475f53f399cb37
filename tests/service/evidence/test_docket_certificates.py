"""The certificate of a docket: that of its rounds, signed, recomputed; a changed one is found."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from likewise import Learner
from likewise.cli.main import main
from likewise.learner import State
from likewise.learner.bounds import IN_EXPECTATION, UNSEEN
from likewise.learner.certificate import LATE, _not_unbiased, certificate
from likewise.learner.costs import Loss
from likewise.learner.evidence import LATER
from likewise.learner.evidence import Evidence as Rounds
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.erasure import erase, reveal_seed
from likewise_service.dockets.panel import finish, flag
from likewise_service.dockets.recomputation import Recomputation
from likewise_service.dockets.rounds import close, label, open_docket, open_round, override
from likewise_service.dockets.seating import Seat
from likewise_service.dockets.spec import DocketSpec
from likewise_service.dockets.worker import Worker, Workers
from likewise_service.errors import ServiceError
from likewise_service.language import speaking
from likewise_service.ledger.store import Store
from likewise_service.settings import Settings
from likewise_service.verify import certificates
from likewise_service.verify.certificates import (
    add_certificate,
    certificate_content,
    certificate_words,
    check_certificate,
    give_certificate,
    holds_words,
)
from likewise_service.verify.evidence import evidence_of
from likewise_service.verify.receipts import KnownKeys, sign_document
from likewise_service.verify.replay import replay_evidence
from tests.service.live import LENDER, SCHEMA, Live, people, small_spec, some_people

Choices = dict[str, Any]
EVERY: dict[str, Choices] = {
    "full": {}, "one-sided": {"feedback": "one-sided"}, "attention": {"attention": "model:0.2"},
}  # fmt: skip


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def played(docket: Docket, number: int) -> None:
    round_, _ = open_round(docket, some_people(f"n{number}-"))
    one_sided = docket.state.learner.pricing.one_sided
    for member in round_.seats:
        for pair in round_.reportable[:1]:
            flag(docket, Seat(round_.id, member), pair[:2])
        finish(docket, Seat(round_.id, member))
    labels = [
        (round_.id, person, int(person.endswith("0"))) for person, d in round_.decisions.items()
        if d.approved or not one_sided
    ]  # fmt: skip
    label(docket, labels)


@pytest.fixture
def begin(tmp_path: Path) -> Callable[..., Docket]:
    def begin(rounds: int = 6, **more: Any) -> Docket:
        store = Store.open(f"sqlite:///{tmp_path / 'a.db'}")
        open_docket(store, "loans", small_spec(**{"rule": "any", **more}), seed=5)
        docket = Docket(store, "loans")
        for number in range(rounds):
            played(docket, number)
        return docket

    return begin


@pytest.mark.parametrize(
    ("settings", "wrong"), list(zip(EVERY.values(), (3, 0, 1), strict=True)), ids=EVERY
)
def test_a_shown_certificate_is_what_the_ledger_says_later_too(
    begin: Callable[..., Docket], settings: Choices, wrong: int
) -> None:
    """Computed again from the records up to its receipt, though people were erased since."""
    docket = begin(**settings)
    shown = give_certificate(docket, wrong_reports=wrong, confidence=0.9)
    assert shown["regret"] == certificate(docket.state, confidence=0.9, wrong_reports=wrong).regret
    assert shown["reports"] > 0
    played(docket, 6)
    erase(docket, "r2", "n1-1")
    ledger = evidence_of(docket.store, "loans")
    keys = KnownKeys.named([docket.store.keys.public().text])
    assert check_certificate(shown, keys, ledger) == []
    later = give_certificate(docket, wrong_reports=wrong, confidence=0.9)
    assert later["rounds"] == shown["rounds"] + 1
    assert check_certificate(later, keys, ledger) == []


def test_a_certificate_that_was_changed_or_made_up_is_found(begin: Callable[..., Docket]) -> None:
    docket = begin()
    ledger, shown = evidence_of(docket.store, "loans"), give_certificate(docket)
    changed = {**shown, "regret": shown["regret"] - 1}
    assert check_certificate(changed, None, ledger) == [
        "It was changed: its signature does not fit."
    ]
    for name, value in (
        ("regret", shown["regret"] * (1 - 1e-6)), ("holds", "always"), ("reports", 0),
        ("rounds", 7), ("informative", not shown["informative"]), ("wrong_reports", 1),
        ("unseen_reports", {**shown["unseen_reports"], "high": 9}), ("confidence", 0.5),
        ("trivial_regret", 0), ("people_a_round", 1),
    ):  # fmt: skip
        content = {n: v for n, v in shown.items() if n not in ("key", "signature")}
        forged = sign_document("certificate", content | {name: value}, docket.store.keys.current())
        assert check_certificate(forged) == [], "the installation has signed it"
        assert check_certificate(forged, None, ledger), name


def test_the_command_line_recomputes_it_and_finds_a_false_one(
    begin: Callable[..., Docket], tmp_path: Path
) -> None:
    docket = begin()
    database, file = tmp_path / "a.db", tmp_path / "certificate.json"
    shown = give_certificate(docket)
    file.write_text(json.dumps(shown))
    verified = run("verify", file, "--database", database)
    assert verified.exit_code == 0, verified.output
    assert "THE CERTIFICATE HOLDS" in verified.output
    content = {n: v for n, v in shown.items() if n not in ("key", "signature")} | {"regret": 0.25}
    file.write_text(json.dumps(sign_document("certificate", content, docket.store.keys.current())))
    verified = run("verify", file, "--database", database)
    assert verified.exit_code == 1
    assert "DOES NOT HOLD. It says regret = 0.25; by the ledger it is" in verified.output
    replayed = run("replay", "loans", "--database", database)
    assert certificate_words(shown) in replayed.output
    as_json = json.loads(run("replay", "loans", "--database", database, "--json").output)
    assert as_json["certificate"]["regret"] == pytest.approx(shown["regret"])


def recomputed(docket: Docket) -> dict[str, Any]:
    """What the service computes in the background, as far as it has come."""
    again = Recomputation(docket.store, docket.name)
    while again.advance(50):
        pass
    assert again.one_sided is not None
    assert not again.differences
    return again.one_sided.to_json()


def test_what_holds_with_high_probability_is_given_replayed_and_verified(
    begin: Callable[..., Docket],
) -> None:
    """With one-sided labels: of the first rounds that are complete, however many came since."""
    docket = begin(3, feedback="one-sided")
    part = recomputed(docket)
    assert part["rounds"] == 3
    assert part["holds"].startswith("with probability 0.95 at all times at once")
    open_round(docket, some_people("late-"))  # of which labels are outstanding
    played(docket, 5)
    assert recomputed(docket) == part, "the fifth waits for the fourth"
    shown = give_certificate(docket, one_sided=part)
    assert "in expectation" in shown["holds"] or "as an estimate" in shown["holds"]
    assert "Others are added when the labels of all rounds before" in certificate_words(shown)
    findings = replay_evidence(evidence_of(docket.store, "loans"))
    add_certificate(findings)
    assert findings.certificate is not None
    assert findings.certificate["one_sided"] == part
    by_hand = Rounds.of(docket.state.learner, findings.closed[:3]).one_sided()
    assert by_hand is not None
    assert part["regret"] == by_hand.regret
    played(docket, 6)
    erase(docket, "r2", "n1-1")
    ledger = evidence_of(docket.store, "loans")
    assert check_certificate(shown, None, ledger) == []
    for name, value in (("regret", 0.5), ("rounds", 5), ("rounds", 2), ("reports", 99)):
        forged = give_certificate(docket, one_sided={**part, name: value})
        assert check_certificate(forged, None, ledger), name


def test_a_decision_of_somebody_else_ends_what_holds_with_high_probability(
    begin: Callable[..., Docket],
) -> None:
    docket = begin(2, feedback="one-sided")
    round_, _ = open_round(docket, some_people("other-"))
    person, decision = next(iter(round_.decisions.items()))
    override(docket, round_.id, person, not decision.approved, "seen in person")
    close(docket, round_.id, unaudited=True)
    played(docket, 4)
    part = recomputed(docket)
    assert (part["rounds"], part["incomplete"]) == (2, 3)
    shown = give_certificate(docket, one_sided=part)
    assert "Rounds from number 3 on are not covered" in certificate_words(shown)
    assert check_certificate(shown, None, evidence_of(docket.store, "loans")) == []


@pytest.mark.parametrize("settings", EVERY.values(), ids=EVERY)
def test_a_certificate_is_read_in_any_language(
    begin: Callable[..., Docket], settings: Choices
) -> None:
    docket = begin(4, **settings)
    part = recomputed(docket) if "feedback" in settings else None
    shown = give_certificate(docket, wrong_reports=1, one_sided=part)
    english = certificate_words(shown).split(". ")
    for tongue in ("de", "fr"):
        with speaking(tongue):
            words = certificate_words(shown).split(". ")
        assert not set(words) & set(english)


def test_a_worker_has_what_holds_with_high_probability_once_it_is_recomputed(
    begin: Callable[..., Docket],
) -> None:
    docket, settings = begin(2, feedback="one-sided"), Settings(database="sqlite://")
    worker, following = Worker(docket.store, "loans", settings), dict[str, Recomputation]()
    assert worker.docket.projection.head.seq > 0
    while Workers(docket.store, settings)._recompute(following, worker, lambda *_: None):
        pass
    assert worker.one_sided == recomputed(docket)
    before = worker.one_sided
    worker.take_certificate(following["loans"].one_sided)
    assert worker.one_sided is before, "nothing is computed twice"


def test_all_that_a_certificate_says_of_when_it_holds_is_in_the_catalogues() -> None:
    """The library's own sentences, as they stand in its code."""
    for text in certificates.HOLDS:
        plain = text.replace("%(chance)s", "0.95")
        assert holds_words(plain) == plain
        assert holds_words(f"{plain}, if at most 1,200 reports are wrong").startswith(plain)
    reasons = re.findall(r'return "((?:some|labels) [^"]+)"', inspect.getsource(_not_unbiased))
    assert len(reasons) == 4
    for reason in reasons:
        assert f"as an estimate only: {reason}" in certificates.HOLDS
    for condition in (UNSEEN, LATE, f"{UNSEEN}{LATER}"):
        assert sum(text.endswith(condition) for text in certificates.HOLDS) == 1
    assert IN_EXPECTATION in certificates.HOLDS


def test_without_the_seed_nobody_can_tell(begin: Callable[..., Docket], tmp_path: Path) -> None:
    docket, file = begin(2), tmp_path / "certificate.json"
    file.write_text(json.dumps(give_certificate(docket)))
    for seed in (False, True):
        folder = tmp_path / f"export-{seed}"
        given = ("--personal", "--seed") if seed else ("--personal",)
        run("export", "loans", "--database", tmp_path / "a.db", "--to", folder, *given)
        verified = run("verify", file, "--export", folder)
        assert verified.exit_code == (0 if seed else 2), verified.output
        assert seed or "needs the seed" in verified.output
    reveal_seed(docket)
    assert (
        check_certificate(give_certificate(docket), None, evidence_of(docket.store, "loans")) == []
    )


def test_the_state_says_at_least_what_the_rounds_say_of_wrong_reports(
    begin: Callable[..., Docket],
) -> None:
    """Its price of a wrong report is at the largest lam and the smallest gap: never less."""
    closed = []
    docket = begin(12)
    ledger = evidence_of(docket.store, "loans")
    for record in ledger.records:
        if record.kind == "closed":
            before = replay_evidence(ledger, keep=record.seq - 1).kept_state
            assert before is not None
            closed.append(before.open[record.body["round"]])
    state = docket.state
    rounds = Rounds.of(state.learner, closed)
    plain, total = certificate(state).regret, rounds.wrong_reports(state.reports)
    assert total > 0
    for count in range(state.reports + 2):
        robust = certificate(state, wrong_reports=count).regret - plain
        assert robust >= rounds.wrong_reports(count) - 1e-9
    assert robust <= 3 * total, "nor is it far above"


def test_nothing_is_certified_where_the_institution_decides(tmp_path: Path) -> None:
    learner = {"schema": SCHEMA.spec(), "k": 3, "alpha": 0.3}
    plain = {"title": "Ours", "learner": learner, "members": ["ada", "bob"], "audit_only": True}
    store = Store.open(f"sqlite:///{tmp_path / 'a.db'}")
    open_docket(store, "ours", DocketSpec.from_hand(plain), seed=5)
    with pytest.raises(ServiceError, match="the institution decides"):
        give_certificate(Docket(store, "ours"))
    findings = replay_evidence(evidence_of(store, "ours"))
    add_certificate(findings)
    assert findings.certificate is None


def test_the_words_say_when_it_holds(begin: Callable[..., Docket]) -> None:
    content = certificate_content(begin(**EVERY["attention"]).state, wrong_reports=2)
    words = certificate_words(
        content | {"unseen_reports": {"low": 1, "high": 9, "confidence": 0.95}}
    )
    assert "if at most 2 reports are wrong" in words
    assert "between 1 and 9 reports were not seen" in words
    assert "every report" not in words
    believed = certificate_words(content | {"wrong_reports": 0})
    assert believed.endswith("It takes every report to be right.")
    assert "at least 5 errors fewer than" in certificate_words(content | {"regret": -5.6})
    assert "at most 6 errors more than" in certificate_words(content | {"regret": 5.2})
    learner = Learner(LENDER, 3, 0.3, 0.3, 1, loss=Loss(rejection=0.25))
    weighted = certificate_content(State.start(learner))
    assert (weighted["loss"], "loss" in content) == ("expected cost", False)
    cost = certificate_words(weighted | {"regret": 5.2})
    assert "the learner's decisions have cost at most 6 more than those of the best" in cost
    assert "rror" not in cost
    assert "says nothing yet" in certificate_words(content | {"informative": False})
    assert "Of a single run" not in words
    estimated = certificate_words(content | {"holds": IN_EXPECTATION})
    assert "Of a single run it says little." in estimated


def test_the_api_and_the_dashboard_show_the_same(live: Live) -> None:
    bank = live.client("client")
    for number in range(3):
        bank.open_round("loans", people(number, 3))
    for who in ("client", "regulator"):
        given = live.client(who).certificate("loans", wrong_reports=1)
        assert "if at most 1 reports are wrong" in given.words
        store = Store.open(live.settings.database)
        assert check_certificate(given.certificate, None, evidence_of(store, "loans")) == []
        store.close()
    with pytest.raises(Exception, match="confidence"):
        bank.certificate("loans", confidence=1.0)
