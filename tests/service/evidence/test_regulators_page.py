"""The page for regulators: every command on it is run, in the order of the page."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from string import Template

import pytest
from click.testing import CliRunner

from likewise.cli.main import main
from likewise_service.anchors import AnchorTarget, targets_from
from likewise_service.auth.tokens import create_token
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.panel import finish, flag
from likewise_service.dockets.rounds import open_docket, open_round
from likewise_service.dockets.seating import Seat
from likewise_service.dockets.signing import enrol_key
from likewise_service.ledger.kinds import acting
from likewise_service.ledger.signatures import PrivateKey, possession
from likewise_service.ledger.store import Store
from tests.service.evidence.authority import Authority, anchor, make_authority, serving
from tests.service.evidence.test_witness import served, witness_of
from tests.service.live import small_spec, some_people

PAGE = Path(__file__).parents[3] / "docs/reference/regulators.md"


def commands() -> list[str]:
    blocks = re.findall(r"```bash\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    return [line for block in blocks for line in block.replace("\\\n", "").splitlines() if line]


def test_every_command_of_the_page_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = Store.open(f"sqlite:///{tmp_path / 'a.db'}")
    open_docket(store, "loans", small_spec(("ada", "bob"), rule="any"), seed=5)
    docket, key = Docket(store, "loans"), PrivateKey.fresh()
    ada = create_token(store, "auditor", "ada", "loans")[1]
    with acting(ada.actor):
        proof = key.sign("member-key", possession("loans", "ada", key.public))
        enrol_key(docket, "ada", key.public, proof=proof)
    round_, ann = open_round(docket, some_people("x"))
    bob = create_token(store, "auditor", "bob", "loans")[1]
    with acting(bob.actor):
        flag(docket, Seat(round_.id, "bob"), round_.reportable[0][:2], "so alike")
        finish(docket, Seat(round_.id, "bob"))
    make_authority(tmp_path / "authority")
    with serving(Authority(tmp_path / "authority")) as address:
        anchor(docket, AnchorTarget("rfc3161", address))
    anchor(docket, AnchorTarget("file", str(tmp_path / "heads.jsonl")))
    (tmp_path / "authority" / "root.pem").rename(tmp_path / "authority.pem")
    witness = witness_of(docket, tmp_path / "witness.db")
    with served(witness) as address:
        anchor(docket, targets_from(f"witness:{address}#{witness.verifier}")[0])
    (tmp_path / "ann.txt").write_text(str(ann))
    (tmp_path / "bob.txt").write_text(str(docket.receipt()))
    (tmp_path / "docs").symlink_to(PAGE.parents[1])
    values = {
        "DATABASE": store.where, "KEY": store.keys.public().text, "WITNESS": str(witness.verifier),
        "ADA": key.public.text, "ROUND": round_.id, "PERSON": "x1",
    }  # fmt: skip
    store.close()
    listed = commands()
    assert len(listed) == 10
    for line in listed:
        words = shlex.split(Template(line).substitute(values))
        if words[0] == "python":
            subprocess.run([sys.executable, *words[1:]], check=True, timeout=60)
            continue
        assert words[0] == "likewise"
        result = CliRunner().invoke(main, words[1:])
        assert result.exit_code == 0, f"{line}\n{result.output}"
