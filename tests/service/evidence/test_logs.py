"""The Merkle tree and its formats: against RFC 6962, a second implementation, and Go's packages."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.errors import LikewiseError
from likewise_client.tree import Tree, included_root, is_consistent
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.rounds import open_docket, open_round
from likewise_service.ledger.database import subtrees
from likewise_service.ledger.kinds import GuidelinesSet
from likewise_service.ledger.notes import Checkpoint, ConsistencyProof, InclusionProof, Verifier
from likewise_service.ledger.records import LedgerBroken
from likewise_service.ledger.signatures import PrivateKey, PublicKey
from likewise_service.ledger.store import Store
from likewise_service.ledger.tiles import Log
from likewise_service.verify.evidence import evidence_of
from likewise_service.verify.replay import replay_evidence
from tests.service.evidence import merkle
from tests.service.live import Live, small_spec, some_people

# The leaves and roots of the tests of Certificate Transparency (RFC 6962).
LEAVES = tuple(
    map(bytes.fromhex, ("", "00", "10", "2021", "3031", "40414243", "5051525354555657",
                        "606162636465666768696a6b6c6d6e6f"))
)  # fmt: skip
ROOTS = (
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)
NAMES = tuple(str(number).encode() for number in range(70_000))
GO = Path(__file__).parent / "go" / "main.go"
GOPATH = Path("/usr/share/gocode")


def grown(entries: tuple[bytes, ...]) -> Tree:
    tree = Tree()
    for entry in entries:
        tree = tree.plus(entry)
    return tree


def test_the_roots_are_those_of_certificate_transparency() -> None:
    for size, root in enumerate(ROOTS):
        assert grown(LEAVES[:size]).root.hex() == root
        assert Log.of(LEAVES).tree(size).root.hex() == root


def test_all_proofs_of_small_trees_are_those_of_the_definition() -> None:
    log = Log.of(NAMES[:40])
    for size in range(1, 41):
        leaves, root = NAMES[:size], log.tree(size).root
        assert log.tree(size) == grown(leaves)
        assert root == merkle.root(leaves)
        for place in range(size):
            path = log.inclusion(place, size)
            assert path == merkle.path(place, leaves)
            assert included_root(leaves[place], place, size, path) == root
            old = place + 1
            proof = log.consistency(old, size)
            assert proof == merkle.proof(old, leaves)
            assert is_consistent(old, merkle.root(leaves[:old]), size, root, proof)
            assert merkle.roots_by_proof(old, size, proof, merkle.root(leaves[:old]))[1] == root


@settings(max_examples=30)
@given(st.data())
def test_proofs_of_large_trees_read_tiles_and_fit_the_second_implementation(
    data: st.DataObject,
) -> None:
    size = data.draw(st.sampled_from([255, 256, 257, 511, 513, 65_535, 65_536, 65_537, 70_000]))
    place = data.draw(st.integers(0, size - 1))
    read = list[int]()

    def counted(level: int, first: int, stop: int) -> Sequence[bytes]:
        read.append(stop - first)
        return LARGE.read(level, first, stop)

    log = Log(size, counted)
    path, root = log.inclusion(place, size), log.tree().root
    assert merkle.root_by_proof(NAMES[place], place, size, path) == root
    old = place + 1
    proof, older = log.consistency(old, size), log.tree(old).root
    assert merkle.roots_by_proof(old, size, proof, older) == (older, root)
    assert len(read) <= 6
    assert max(read) <= 256


LARGE = Log.of(NAMES)


@given(st.data())
def test_a_proof_that_is_changed_proves_nothing(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 40))
    log, index = Log.of(NAMES[:size]), data.draw(st.integers(0, size - 1))
    root = log.tree().root
    old = data.draw(st.integers(1, size - 1))
    path, proof = log.inclusion(index, size), log.consistency(old, size)
    cut = data.draw(st.integers(0, len(path) - 1))
    for changed in (path[:cut] + path[cut + 1 :], [*path, root], [bytes(32), *path[1:]]):
        assert included_root(NAMES[index], index, size, changed) != root
    assert included_root(NAMES[size], index, size, path) != root
    for wrong in (-1, size, size + 1):
        assert included_root(NAMES[index], wrong, size, path) is None
    older = log.tree(old).root
    other = grown((*NAMES[: old - 1], b"other")).root
    assert not is_consistent(old, other, size, root, proof)
    assert not is_consistent(old, older, size, other, proof)
    assert not is_consistent(old, older, size, root, [*proof, root])
    assert not is_consistent(old, older, size, root, proof[:-1])
    assert not is_consistent(size, root, old, older, proof)


def test_the_examples_of_the_specifications() -> None:
    key = Verifier.parse("example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k")
    signature = b64decode(
        "Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM="
    )
    note = Checkpoint("This is an example message.\n", (("example.com/foo", signature),))
    assert note.signed_by(key)
    text = str(note)
    assert merkle.note_is_signed(text, key.name, bytes.fromhex(key.key.text))
    changed = Checkpoint("This is another message.\n", note.signatures)
    with pytest.raises(LikewiseError, match="changed"):
        changed.signed_by(key)


def test_a_checkpoint_is_read_as_it_is_specified_or_refused() -> None:
    key, witness = PrivateKey(bytes(range(32))), PrivateKey(bytes(32))
    checkpoint = Checkpoint.of("example.com/log", grown(NAMES[:3])).signed(key)
    cosigned = checkpoint.plus(checkpoint.cosigned("w.example/1", witness, 1_679_315_147))
    text = str(cosigned)
    assert str(Checkpoint.parse(text)) == text
    assert merkle.note_is_signed(text, "example.com/log", bytes.fromhex(key.public.text)) == 1
    public = bytes.fromhex(witness.public.text)
    assert merkle.note_is_signed(text, "w.example/1", public, 4) == 1_679_315_147
    assert cosigned.seen_at(Verifier("w.example/1", witness.public, 4)) == 1_679_315_147
    body = cosigned.body
    for wrong in (
        text[:-1], text.replace("\n3\n", "\n03\n"), text.replace("\n3\n", "\n-3\n"), body,
        text.replace("\n3\n", "\n3\t\n"), text.replace("—", "-"),
        text.replace("example.com/log", ""),
        text.replace("=\n\n", "\n\n"), text + "x", text.replace("\n\n", "\n\n\n"),
        text.replace("w.example/1", "w.ex+1"),
    ):  # fmt: skip
        with pytest.raises(LikewiseError, match="not a checkpoint"):
            Checkpoint.parse(wrong)
    extended = Checkpoint(f"{body}an extension\n").signed(key)
    assert Checkpoint.parse(str(extended)).signed_by(Verifier("example.com/log", key.public))
    # Sixteen signatures, of almost 5 kB as those against quantum computers are, have to be read.
    large = [(f"witness.example/{number}", bytes([number]) * 5000) for number in range(1, 16)]
    signed = Checkpoint.parse(str(checkpoint.plus(*large)))
    assert len(signed.signatures) == 16
    assert signed.signed_by(Verifier("example.com/log", key.public))


def test_the_database_has_the_tree_of_its_records(store: Store) -> None:
    """Also across full tiles, savepoints that fail, and several transactions."""
    open_docket(store, "loans", small_spec(), seed=5)
    docket = Docket(store, "loans")

    def fail() -> None:
        with docket.unit_of_work() as work:
            work.add(*(GuidelinesSet("refused") for _ in range(300)))
            raise KeyError("refused")

    for count in (100, 200, 250):
        with docket.unit_of_work() as work:
            work.add(*(GuidelinesSet("Look.") for _ in range(count)))
        with pytest.raises(KeyError):
            fail()
    entries = tuple(record.entry for record in store.records("loans"))
    with store.view("loans") as view:
        assert view.tree == docket.tree == grown(entries)
        assert sorted(view.subtrees()) == [(1, 0), (1, 1)]
        log = view.log()
        for index in (0, 255, 256, 511, 512, log.size - 1):
            assert log.inclusion(index, log.size) == merkle.path(index, entries)
            assert log.consistency(index + 1, log.size) == merkle.proof(index + 1, entries)
    assert Docket(store, "loans").tree == docket.tree
    assert replay_evidence(evidence_of(store, "loans")).holds
    with store.changing() as connection:
        connection.execute(subtrees.update().values(root=bytes(32)))
    found = replay_evidence(evidence_of(store, "loans"))
    assert [(d.seq, d.about) for d in found.differences] == [(256, "tree"), (512, "tree")]
    with store.changing() as connection:
        connection.execute(subtrees.delete())
    with store.view("loans") as view, pytest.raises(LedgerBroken, match="written together"):
        view.tree  # noqa: B018 - it is read


def test_erasing_a_person_leaves_every_proof_valid(store: Store, applicants: Any) -> None:
    from likewise_service.dockets.erasure import erase

    open_docket(store, "loans", small_spec(), seed=5)
    docket = Docket(store, "loans")
    _, receipt = open_round(docket, applicants("a"))
    with store.view("loans") as view:
        proofs = [view.log().inclusion(index, receipt.size) for index in range(receipt.size)]
    erase(docket, "r1", "a0")
    for index, record in enumerate(store.records("loans", 0, receipt.size)):
        proof = InclusionProof(index, tuple(proofs[index]), receipt)
        assert InclusionProof.parse(str(proof)).places(record.entry)


def _get(live: Live, who: str, path: str) -> Any:
    headers = {"Authorization": f"Bearer {live.tokens[who]}"}
    return live.http.get(f"/v1/dockets/loans/{path}", headers=headers)


def _served(live: Live) -> tuple[Store, Docket]:
    """A docket whose log has more than one tile."""
    store = Store.open(live.settings.database)
    docket = Docket(store, "loans")
    open_round(docket, some_people("x"))
    with docket.unit_of_work() as work:
        work.add(*(GuidelinesSet("Look.") for _ in range(300)))
    return store, docket


def test_tiles_are_served_as_specified_and_only_up_to_what_one_may_know(live: Live) -> None:
    store, docket = _served(live)
    response = _get(live, "operator", "checkpoint")
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    size = Checkpoint.parse(response.text).size
    assert size == docket.tree.size
    entries = tuple(record.entry for record in store.records("loans"))
    rest = size - 256
    for path, content in (
        ("tile/0/000", merkle.tile(0, 0, entries)),
        (f"tile/0/001.p/{rest}", merkle.tile(0, 1, entries)),
        ("tile/0/001.p/3", merkle.tile(0, 1, entries)[:96]),
        ("tile/1/000.p/1", merkle.tile(1, 0, entries)),
        (f"tile/entries/001.p/{rest}", b"".join(b"\0\x20" + entry for entry in entries[256:])),
    ):
        response = _get(live, "operator", path)
        assert response.content == content, path
        assert response.headers["content-type"] == "application/octet-stream"
        assert "immutable" in response.headers["cache-control"]
    for path in (
        f"tile/0/001.p/{rest + 1}", "tile/0/001", "tile/0/1", "tile/0/x000/001", "tile/1/000",
        "tile/2/000.p/1", "tile/0/000.p/0", "tile/0/000.p/01", "inclusion/9999", "consistency/9999",
        "tile/0/000.p/256", "tile/entries/000.p/256",
    ):  # fmt: skip
        assert _get(live, "operator", path).status_code == 404, path
    assert _get(live, "operator", "tile/64/000").status_code == 422
    assert live.http.get("/v1/dockets/loans/checkpoint").status_code == 401
    store.close()


@pytest.mark.long
def test_gos_own_packages_accept_all_of_it(live: Live, tmp_path: Path) -> None:
    if shutil.which("go") is None or not (GOPATH / "src/golang.org/x/mod").is_dir():
        pytest.skip("Go and its module golang.org/x/mod are not installed here.")
    old = _get(live, "operator", "checkpoint").text
    store, _ = _served(live)
    key, witness = store.keys.public(), PrivateKey.fresh()
    checkpoint = Checkpoint.parse(_get(live, "operator", "checkpoint").text)
    cosigned = checkpoint.plus(checkpoint.cosigned("w.example/1", witness, 1_679_315_147))
    given = {
        "Prefix": f"{live.address}/v1/dockets/loans", "Token": live.tokens["operator"],
        "Key": str(Verifier(checkpoint.origin, key)), "Checkpoint": str(checkpoint),
        "Witness": str(Verifier("w.example/1", witness.public, 4)), "Cosigned": str(cosigned),
        "Old": old, "Consistency": _get(live, "operator", "consistency/"
                                        f"{Checkpoint.parse(old).size}").text,
        "Inclusion": _get(live, "operator", "inclusion/100").text,
        "Entries": [b64encode(record.entry).decode() for record in store.records("loans")],
    }  # fmt: skip
    store.close()

    program = tmp_path / "check"
    where = {"GO111MODULE": "off", "GOPATH": str(GOPATH), "GOFLAGS": ""}
    where["GOCACHE"] = os.environ.get("GOCACHE", str(tmp_path / "cache"))
    built = subprocess.run(
        ["go", "build", "-o", str(program), str(GO)], capture_output=True, text=True, check=False,
        timeout=300, env={**os.environ, **where},
    )  # fmt: skip
    assert built.returncode == 0, built.stderr

    def check(**changes: object) -> subprocess.CompletedProcess[str]:
        text = json.dumps({**given, **changes})
        return subprocess.run(
            [program], input=text, text=True, capture_output=True, check=False, timeout=60
        )

    whole = check()
    assert whole.stdout == f"{checkpoint.size} entries hold\n", whole.stderr
    other = Verifier(checkpoint.origin, PublicKey(PrivateKey.fresh().public.text))
    for change in (
        {"Key": str(other)}, {"Entries": [given["Entries"][1], *given["Entries"][1:]]},
        {"Inclusion": given["Inclusion"].replace("index 99", "index 98")},
        {"Consistency": "old 1\n" + given["Consistency"].partition("\n")[2].partition("\n")[2]},
    ):  # fmt: skip
        assert check(**change).returncode == 1, change


@settings(max_examples=200)
@given(st.integers(0, 60), st.integers(0, 60), st.text(alphabet="\n +—=aA0", max_size=8))
def test_what_is_no_proof_is_refused_in_words(start: int, width: int, text: str) -> None:
    checkpoint = Checkpoint.of("x", grown(NAMES[:5])).signed(PrivateKey(bytes(32)))
    log = Log.of(NAMES[:5])
    for kind, made in (
        (InclusionProof, InclusionProof(2, tuple(log.inclusion(2, 5)), checkpoint)),
        (ConsistencyProof, ConsistencyProof(3, tuple(log.consistency(3, 5)), checkpoint)),
    ):
        written = str(made)
        changed = written[:start] + text + written[start + width :]
        try:
            read = kind.parse(changed)
        except LikewiseError:
            continue
        assert str(read) == changed or "extra " in changed
