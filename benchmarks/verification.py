"""Replay and verification against an earlier tree, in one run, signatures included.

    python benchmarks/verification.py --base /path/to/earlier/tree --rounds 5000

The same rounds are played in each tree, in a process of its own. In this tree everybody acts with
a token, one member of two signs what they say, and heads are fixed in a file; in the earlier tree
there is nothing of that. The trees take turns. Times are CPU seconds of one process, the smallest
of some repetitions, since other work on the machine is not what is measured; the smallest wall time
is printed beside it. Two ledgers that are there already are measured again with ``--folder``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
SCORES = (790, 310, 510)


def _spec() -> Any:
    from likewise import Feature, FeatureSchema, Learner, Segments

    try:
        from likewise.service.dockets.spec import DocketSpec
    except ImportError:
        from likewise.service.docket import DocketSpec  # type: ignore[no-redef]
    schema = FeatureSchema((Feature("score", "integer", 300, 850), Feature("debt", high=100)))
    lender = Segments(schema, score="score", cuts=range(400, 800, 50))
    learner = Learner(lender, k=3, alpha=0.3, eps=0.3, seed=1)
    return DocketSpec.of("Loans", learner, ("ada", "bob"), rule="any", repeat_share=0.0)


def _people(applicant: Any, number: int) -> list[Any]:
    return [
        applicant(f"x{number}-{i}", {"score": score, "debt": 30.5 + i})
        for i, score in enumerate(SCORES)
    ]


def write_earlier(url: str, rounds: int) -> None:
    """The rounds in the tree of commit d29bfb5."""
    from likewise.service.desk import Desk
    from likewise.service.feedback import label
    from likewise.service.panels import object_to, review
    from likewise.service.people import Applicant, open_docket, open_round
    from likewise.service.store import Store

    store = Store.open(url)
    open_docket(store, "loans", _spec(), seed=5)
    desk = Desk(store, "loans")
    for number in range(rounds):
        round_, _ = open_round(desk, _people(Applicant, number))
        for member in ("ada", "bob"):
            ranked = sorted(round_.decisions.values(), key=lambda d: -d.score)
            over, under = ranked[0], ranked[-1]
            if over.score - under.score > 2**20 // 3:  # the most there is, where it can be reported
                pair = (over.person, under.person)
                object_to(desk, round_.id, member, pair, "much the same")
            review(desk, round_.id, member)
        label(desk, [(round_.id, d, 1) for d in round_.decisions])
    store.close()


def write_now(url: str, rounds: int, folder: Path) -> None:
    """The same, with tokens, signatures and anchors."""
    from likewise.service.anchoring.targets import FileTarget
    from likewise.service.anchoring.worker import anchor
    from likewise.service.auth.tokens import create_token
    from likewise.service.clock import now
    from likewise.service.dockets.commands.feedback import label
    from likewise.service.dockets.commands.reviews import finish, flag
    from likewise.service.dockets.commands.rounds import Applicant, open_docket, open_round
    from likewise.service.dockets.commands.signing import SignedAct, set_member_key
    from likewise.service.dockets.docket import Docket
    from likewise.service.dockets.reviews.lottery import ReviewKey
    from likewise.service.dockets.reviews.targets import Seat
    from likewise.service.ledger.actors import acting
    from likewise.service.ledger.payloads import Payload
    from likewise.service.ledger.signing.member_statements import MemberStatement, possession
    from likewise.service.ledger.signing.signatures import PrivateKey
    from likewise.service.ledger.store import Store

    store, target = Store.open(url), FileTarget(folder / "heads.jsonl")
    open_docket(store, "loans", _spec(), seed=5)
    docket = Docket(store, "loans")
    bank = create_token(store, "client", "bank", "loans")[1].actor
    who = {m: create_token(store, "auditor", m, "loans")[1].actor for m in ("ada", "bob")}
    private, names = PrivateKey.fresh(), ReviewKey(docket.seed, docket.salt)
    public = private.public
    with acting(who["ada"]):
        proof = private.sign("member-key", possession("loans", "ada", public))
        set_member_key(docket, "ada", public, proof, None)

    def signed(seat: Seat, act: Any, people: Any = (), pair: Any = ()) -> SignedAct | None:
        if seat.member != "ada":
            return None
        review, salt, at = names.review_id(seat), os.urandom(16), now()
        order = {p: f"p{n}" for n, p in enumerate(names.shuffled(review, people), start=1)}
        both = (order[pair[0]], order[pair[1]]) if pair else None
        digest = Payload(salt, {"text": "much the same"}).digest if pair else None
        said = MemberStatement("loans", "ada", review, act, both, digest, at)
        return SignedAct(review, act, at, public.id, said.sign(private), both, salt)

    for number in range(rounds):
        with acting(bank):
            round_, _ = open_round(docket, _people(Applicant, number))
        for member in ("ada", "bob"):
            seat = Seat(round_.id, member)
            with acting(who[member]):
                ranked = sorted(round_.decisions.values(), key=lambda d: -d.score)
                over, under = ranked[0].person, ranked[-1].person
                if ranked[0].score - ranked[-1].score > 2**20 // 3:
                    act = signed(seat, "flag", round_.decisions, (over, under))
                    flag(docket, seat, (over, under), "much the same", act)
                finish(docket, seat, signed(seat, "finish"))
        with acting(bank):
            label(docket, [(round_.id, d, 1) for d in round_.decisions])
        if number % 500 == 0:
            anchor(docket, target)
    store.close()


def measure(url: str, times: int) -> dict[str, float]:
    """CPU and wall seconds of a replay, and of a verification against the last head."""
    try:
        from likewise.service.ledger.records import Receipt
        from likewise.service.ledger.store import Store
        from likewise.service.verification.evidence import evidence_of
        from likewise.service.verification.keeping.witnesses import Witnesses
        from likewise.service.verification.receipts import verify
        from likewise.service.verification.replay import replay_evidence
    except ImportError:
        from likewise.service.evidence import evidence_of  # type: ignore[no-redef]
        from likewise.service.records import Receipt  # type: ignore[no-redef]
        from likewise.service.replay import replay_evidence  # type: ignore[no-redef]
        from likewise.service.store import Store  # type: ignore[no-redef]
        from likewise.service.verify import verify  # type: ignore[no-redef]

        Witnesses = None  # type: ignore[assignment,misc]

    store = Store.open(url)
    best: dict[str, float] = {}
    for what in ("replay", "verify") * times:
        began, at = time.process_time(), time.perf_counter()
        # A verification is of records alone; the earlier tree could not leave the rest out.
        alone = {"personal": False} if Witnesses is not None and what == "verify" else {}
        evidence = evidence_of(store, "loans", **alone)
        if what == "replay":
            holds = replay_evidence(evidence).holds
        else:
            holds = verify(evidence, Receipt("loans", evidence.records[-1].head)).holds
            if Witnesses is not None:
                witnesses = Witnesses(evidence)
                holds &= not [d for r in evidence.records for d in witnesses.take(r)]
        taken = {what: time.process_time() - began, f"{what} wall": time.perf_counter() - at}
        if not holds:
            raise SystemExit(f"The ledger does not hold ({what}).")
        best |= {name: min(best.get(name, value), value) for name, value in taken.items()}
    best["records"] = float(len(evidence.records))
    store.close()
    return best


def _run(tree: Path, task: str, url: str, rounds: int, folder: Path) -> dict[str, Any]:
    words = [sys.executable, __file__, "--task", task, "--url", url, "--rounds", str(rounds),
             "--folder", str(folder)]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(words, env=environment, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout or "{}"))


def compare(base: Path, folder: Path, rounds: int, repeat: int) -> None:
    """Write the ledgers that are not there, let the trees take turns, and print the ratios."""
    trees, best = {"earlier": base, "now": HERE}, dict[tuple[str, str], float]()
    urls = {task: f"sqlite:///{folder / task}-{rounds}.db" for task in trees}
    for task, tree in trees.items():
        if not (folder / f"{task}-{rounds}.db").exists():
            _run(tree, task, urls[task], rounds, folder)
    for _ in range(repeat):
        for task, tree in trees.items():
            for what, taken in _run(tree, "measure", urls[task], rounds, folder).items():
                best[task, what] = min(best.get((task, what), taken), taken)
    for what in ("replay", "verify", "replay wall", "verify wall"):
        before, after = best["earlier", what], best["now", what]
        print(f"{what}: {before:.2f} s before, {after:.2f} s now, ratio {after / before:.2f}")
    print(
        f"records: {best['earlier', 'records']:.0f} before, {best['now', 'records']:.0f} now, "
        f"of {rounds} rounds"
    )


def main() -> None:
    """Play, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path)
    parser.add_argument("--rounds", type=int, default=5000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--task", choices=("earlier", "now", "measure"))
    parser.add_argument("--url", default="")
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if given.task == "earlier":
        write_earlier(given.url, given.rounds)
    elif given.task == "now":
        write_now(given.url, given.rounds, given.folder)
    elif given.task == "measure":
        # The first time, libraries are loaded, which matters in a short run.
        print(json.dumps(measure(given.url, 2 if given.rounds < 5000 else 1)))
    elif given.folder is not None:
        compare(given.base, given.folder, given.rounds, given.repeat)
    else:
        with tempfile.TemporaryDirectory() as name:
            compare(given.base, Path(name), given.rounds, given.repeat)


if __name__ == "__main__":
    main()
