"""Every act of the API, the command line and the console, by every role that may: it holds."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from click.testing import CliRunner

from likewise.cli.main import main
from likewise_client.client import Client
from likewise_service.auth.tokens import ROLES, MemberKey
from likewise_service.ledger import kinds
from likewise_service.ledger.store import Store
from tests.service.conftest import long_on_postgresql
from tests.service.live import LENDER, SCHEMA, Live, people, replay_store, small_spec, spec

# Records that no caller of the API asks for: they follow from others, or are made elsewhere.
ELSEWHERE = {"signed-in", "audited", "override-explained", "reasons-erased", "repeated"}
D = "loans"


class Scene:
    """A server on which one thing after another is done, each by somebody of a role."""

    def __init__(self, live: Live) -> None:
        self.live, self.number = live, 0
        self.keys: dict[str, MemberKey] = {}

    def client(self, role: str) -> Client:
        return self.live.client(role)

    def round(self, role: str, **more: Any) -> str:
        self.number += 1
        return self.client(role).open_round(D, people(self.number, 3), **more).id

    def person(self) -> str:
        return f"x{self.number}-0"

    def review(self, role: str) -> tuple[Client, str, tuple[str, str]]:
        self.round("client")
        auditor = self.client(role)
        review = auditor.review(D, auditor.reviews(D)[-1].id)
        return auditor, review.id, (review.pairs[0].over, review.pairs[0].under)


def _flag(scene: Scene, role: str) -> None:
    auditor, review, pair = scene.review(role)
    auditor.flag(D, review, pair, "alike")


def _withdraw(scene: Scene, role: str) -> None:
    auditor, review, pair = scene.review(role)
    auditor.flag(D, review, pair)
    auditor.withdraw(D, review, pair)


def _reopen(scene: Scene, role: str) -> None:
    auditor, review, _ = scene.review(role)
    auditor.finish(D, review)
    auditor.reopen(D, review)


def _finish(scene: Scene, role: str) -> None:
    auditor, review, _ = scene.review(role)
    auditor.finish(D, review)
    bob = scene.client("auditor-bob")
    bob.finish(D, bob.reviews(D)[-1].id)


def _token(scene: Scene, role: str) -> str:
    return scene.client(role).create_token("regulator", "state", None).identity.id


def _learner(scene: Scene, role: str) -> None:
    learner = {"k": 3, "alpha": 0.1, "eps": 0.02}
    ours = {"schema": SCHEMA.spec(), **learner}
    asked = {"title": "Ours", "learner": ours, "members": ["ann"], "audit_only": True}
    scene.client(role).create_docket("ours", asked)
    scene.client(role).give_learner("ours", {"hypotheses": LENDER.spec(), **learner})


def _close(scene: Scene, role: str) -> None:
    round_id = scene.round(role)
    if role == "client":
        for who in ("auditor", "auditor-bob"):
            member = scene.client(who)
            member.finish(D, member.reviews(D)[-1].id)
    scene.client(role).close_round(D, round_id, unaudited=role == "operator")


def _publish(scene: Scene, role: str) -> None:
    headers = {"Authorization": f"Bearer {scene.live.tokens[role]}"}
    address = f"/v1/dockets/{D}/seed"
    assert scene.live.http.post(address, json={"docket": D}, headers=headers).is_success


def _lift(scene: Scene, role: str) -> None:
    client = scene.client(role)
    client.lift_hold(D, client.place_hold(D, "a complaint"))


def _sign(scene: Scene, role: str) -> None:
    auditor, review, pair = scene.review(role)
    if role not in scene.keys:
        scene.keys[role] = MemberKey.fresh()
        auditor.sign_with(D, scene.keys[role])
    auditor.member_key = scene.keys[role]
    auditor.flag(D, review, pair, "alike")
    auditor.finish(D, review)


def _appeal(scene: Scene, role: str) -> str:
    round_id = scene.round(role)
    return scene.client(role).appeal(D, round_id, scene.person(), "look", {"score": 700}).id


def _decide(scene: Scene, role: str) -> None:
    client, appeal = scene.client(role), _appeal(scene, role)
    reviewer = "olga" if role == "operator" else "mia"
    client.assign_appeal(D, appeal, reviewer)
    client.decide_appeal(D, appeal, True, "seen", accepted=True, reviewer=reviewer)


def _agree(scene: Scene, role: str) -> None:
    auditor, before, key = scene.client(role), scene.keys[role], MemberKey.fresh()
    auditor.sign_with(D, key)
    auditor.agree_to_key(D, key.public.id, before)
    scene.keys[role] = key
    _sign(scene, role)


def _end_key(scene: Scene, role: str) -> None:
    auditor, key = scene.client(role), scene.keys.pop(role)
    for listed in auditor.member_keys(D):
        auditor.revoke_key(D, listed.id, key if listed.id == key.public.id else None)
    _sign(scene, role)


FEATURES = {"score": 700, "debt": 20, "purpose": "car", "secret": False}
GOLD = {
    "pair": [{"features": FEATURES, "chance": 0.8}, {"features": FEATURES, "chance": 0.2}],
    "response": "flag", "why": "Nothing tells them apart.",
}  # fmt: skip
# Kinds of record, and how somebody of a role adds one through the API.
ACTS: dict[str, Callable[[Scene, str], object]] = {
    "docket-opened": lambda s, r: s.client(r).create_docket("new", spec().to_json()),
    "learner-given": _learner,
    "arrived": lambda s, r: s.client(r).add_people(D, s.round(r, seal=False), people(99, 1)),
    "decided": lambda s, r: s.round(r),
    "sealed": lambda s, r: s.client(r).seal(D, s.round(r, seal=False)),
    "overridden": lambda s, r: s.client(r).override(D, s.round(r), s.person(), True, "seen"),
    "labelled": lambda s, r: s.client(r).label(D, [(s.round(r), s.person(), 1)]),
    "closed": _close,
    "packet-given": lambda s, r: s.client(r).packet(D, s.round("client"), s.person()),
    "flagged": _flag,
    "withdrawn": _withdraw,
    "commented": lambda s, r: s.client(r).comment(D, s.review(r)[1], "Look at the debts."),
    "reopened": _reopen,
    "finished": _finish,
    "member-joined": lambda s, r: s.client(r).add_member(D, "eve"),
    "member-left": lambda s, r: s.client(r).remove_member(D, "eve"),
    "rule-changed": lambda s, r: s.client(r).set_rule(D, "at_least(2)"),
    "practice-set": lambda s, r: s.client(r).set_practice(D, [GOLD]),
    "guidelines-set": lambda s, r: s.client(r).set_guidelines(D, "Look twice."),
    "erased": lambda s, r: s.client(r).erase(D, s.round("client"), s.person()),
    "retention-set": lambda s, r: s.client(r).set_retention(D, 761, 761),
    "hold-placed": lambda s, r: s.client(r).place_hold(D, "a complaint"),
    "hold-lifted": _lift,
    "token-issued": _token,
    "token-ended": lambda s, r: s.client(r).revoke_token(_token(s, r)),
    "signed": _sign,
    "appeal-opened": _appeal,
    "appeal-assigned": lambda s, r: s.client(r).assign_appeal(D, _appeal(s, r), "mia"),
    "appeal-decided": _decide,
    "appeal-withdrawn": lambda s, r: s.client(r).withdraw_appeal(D, _appeal(s, r)),
    "notices-set": lambda s, r: s.client(r).set_notices(D, "$title", "$reasons", 45),
    "notice-given": lambda s, r: s.client(r).give_notice(D, s.round(r), s.person(), "before"),
    "member-key-enrolled": _sign,
    "member-key-agreed": _agree,
    "member-key-revoked": _end_key,
    "seed-revealed": _publish,
}  # fmt: skip


@long_on_postgresql()
def test_every_act_of_the_api_by_every_role(live: Live) -> None:
    """The acts are those of the table from which routes and checks are made."""
    wanted = {k for k, roles in kinds.MAY.items() if roles & set(ROLES)}
    assert set(ACTS) | ELSEWHERE | {"key-published"} == wanted
    scene, store = Scene(live), Store.open(live.settings.database)
    for kind, act in ACTS.items():
        for role in sorted(kinds.MAY[kind] & set(ROLES)):
            act(scene, role)
    for docket in store.dockets():
        found = replay_store(store, docket)
        assert found.holds, found.text()
    done = {record.kind for docket in store.dockets() for record in store.records(docket)}
    assert done >= set(ACTS)
    store.close()


def test_every_command_at_the_machine(tmp_path: Path) -> None:
    database, file = f"sqlite:///{tmp_path / 'a.db'}", tmp_path / "spec.json"
    file.write_text(json.dumps(small_spec(("ann", "bob")).to_json()))
    (tmp_path / "words.txt").write_text("Look twice.")

    def run(*words: object) -> str:
        command, *rest = map(str, words)
        result = CliRunner().invoke(main, [command, "--database", database, *rest])
        assert result.exit_code == 0, result.output
        return result.output

    run("token", "create", "operator", "olga")
    run("docket", "create", "loans", "--spec", file)
    for role, name in (("auditor", "ann"), ("client", "bank"), ("regulator", "state")):
        run("token", "create", role, name, "--docket", "loans")
    run("docket", "change", "loans", "--join", "cyd", "--rule", "any",
        "--guidelines", tmp_path / "words.txt")  # fmt: skip
    run("docket", "change", "loans", "--leave", "cyd")
    hold = re.search(r"^[0-9a-f]{12}$", run("docket", "hold", "loans", "--why", "why"), re.M)
    run("docket", "hold", "loans", "--release", hold[0])  # type: ignore[index]
    run("docket", "retention", "loans", "--features", 761)
    run("key", "--rotate")
    listed = run("token", "list")
    run("token", "revoke", re.search(r"(\w+)  regulator", listed)[1])  # type: ignore[index]
    assert "THE LEDGER HOLDS" in run("replay", "loans")
    assert "THE LEDGER HOLDS" in run("verify")


@long_on_postgresql()
def test_the_console_from_signing_in_to_signing_out(live: Live) -> None:
    live.client("client").open_round(D, people(1, 3))
    for who, home in (("auditor", "/console/"), ("regulator", "/dashboard/"), ("client", "")):
        with httpx.Client(base_url=live.address, follow_redirects=True) as browser:
            form = browser.get("/console/sign-in").text
            csrf = re.search(r'name="csrf" value="([^"]+)"', form)[1]  # type: ignore[index]
            page = browser.post("/console/sign-in", data={"csrf": csrf, "token": live.tokens[who]})
            assert (page.url.path.startswith(home)) if home else page.status_code == 403
            if who == "auditor":
                review = live.client("auditor").reviews(D)[0].id
                csrf = re.search(r'name="csrf" value="([^"]+)"', page.text)[1]  # type: ignore[index]
                where = f"/console/rounds/{review}"
                assert browser.post(
                    f"{where}/flag", data={"csrf": csrf, "pair": "p1.p2"}
                ).is_success
                done = {"csrf": csrf, "meant": "1"}
                assert browser.post(f"{where}/finish", data=done).is_success
            if home:
                browser.post("/console/sign-out", data={"csrf": csrf})
    store = Store.open(live.settings.database)
    found = replay_store(store, D)
    assert found.holds, found.text()
    assert {"signed-in", "signed-out"} <= {r.kind for r in store.records(D)}
    store.close()
