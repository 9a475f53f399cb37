"""Checkpoints, cosignatures and proofs, in the formats of transparency logs (C2SP).

A receipt is a checkpoint: a note that says how many records a ledger has, and the root of their
tree, signed by the installation's key. A docket's log is named after the key under which it began.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from likewise.errors import LikewiseError
from likewise_client.tree import Tree, included_root, is_consistent
from likewise_service.ledger.signatures import PrivateKey, PublicKey

# The types of signatures (signed-note): over a note's text, and a witness's over text and time.
ED25519, COSIGNATURE = 1, 4
# The most bytes of a note, and hashes of a proof, that are read. Sixteen signatures of 5 kB fit.
LARGEST, LONGEST = 150_000, 63
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")
_NAME = re.compile(r"[^\s+]+")


def origin_of(docket: str, key: PublicKey) -> str:
    """Return the name of a docket's log; ``key`` is the one in its first record.

    >>> origin_of("loans", PublicKey("00" * 32))
    'likewise/66687aadf862bd77/loans'
    """
    return f"likewise/{key.id}/{docket}"


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def decoded(text: str, size: int = 32) -> bytes:
    """Return the bytes of canonical base64; refuse fewer than ``size``."""
    try:
        content = base64.b64decode(text, validate=True)
    except ValueError:
        content = b""
    if len(content) < size or encoded(content) != text:
        raise LikewiseError(f"{text[:80]!r} is not base64 of {size} bytes.")
    return content


def decoded_hashes(lines: Sequence[str]) -> tuple[bytes, ...]:
    hashes = tuple(map(decoded, lines))
    if len(hashes) > LONGEST or any(len(hash_) != 32 for hash_ in hashes):
        raise LikewiseError(f"A proof is at most {LONGEST} hashes of 32 bytes, one a line.")
    return hashes


def decoded_number(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise LikewiseError(f"{text[:80]!r} is not a number without leading zeros.")
    return int(text)


def _key_material(key: PublicKey, kind: int) -> bytes:
    return bytes([kind]) + bytes.fromhex(key.text)


@lru_cache(maxsize=1024)
def _key_id(name: str, key: PublicKey, kind: int) -> bytes:
    """Return the id of a key under a name, with which every signature begins."""
    return hashlib.sha256(name.encode() + b"\n" + _key_material(key, kind)).digest()[:4]


@dataclass(frozen=True)
class Verifier:
    """A key with the name under which it signs notes; as text, a verifier key.

    >>> text = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
    >>> str(Verifier.parse(text)) == text
    True
    """

    name: str
    key: PublicKey
    kind: int = ED25519

    @property
    def id(self) -> bytes:
        return _key_id(self.name, self.key, self.kind)

    def __str__(self) -> str:
        return f"{self.name}+{self.id.hex()}+{encoded(_key_material(self.key, self.kind))}"

    @classmethod
    def parse(cls, text: str) -> Verifier:
        name, _, rest = text.strip().partition("+")
        number, _, material = rest.partition("+")
        raw = decoded(material, 33)
        if _NAME.fullmatch(name) and len(raw) == 33 and raw[0] in (ED25519, COSIGNATURE):
            verifier = cls(name, PublicKey(raw[1:].hex()), raw[0])
            if verifier.id.hex() == number:
                return verifier
        raise LikewiseError(
            f"{text[:200]!r} is not a verifier key of Ed25519: NAME+ID+KEY. Copy the whole line."
        )

    @classmethod
    def of_witness(cls, text: str) -> Verifier:
        """Read the key of a witness; refuse that of a log, whose signatures have no time."""
        verifier = cls.parse(text)
        if verifier.kind != COSIGNATURE:
            raise LikewiseError(
                f"{verifier} is the key of a log, not of a witness. Name the key that the witness "
                f"publishes."
            )
        return verifier


@dataclass(frozen=True)
class Checkpoint:
    """The size and the root of a log, with signatures by name, which do not count in ``==``."""

    body: str
    signatures: tuple[tuple[str, bytes], ...] = field(default=(), compare=False)

    @classmethod
    def of(cls, origin: str, tree: Tree) -> Checkpoint:
        return cls(f"{origin}\n{tree.size}\n{encoded(tree.root)}\n")

    @cached_property
    def origin(self) -> str:
        return self.body.split("\n", 1)[0]

    @cached_property
    def size(self) -> int:
        return int(self.body.split("\n", 2)[1])

    @cached_property
    def root(self) -> bytes:
        return base64.b64decode(self.body.split("\n", 3)[2])

    @property
    def docket(self) -> str:
        return self.origin.rpartition("/")[2]

    def __str__(self) -> str:
        return f"{self.body}\n{''.join(map(signature_line, self.signatures))}"

    @classmethod
    def parse(cls, text: str) -> Checkpoint:
        """Read a checkpoint exactly as specified; refuse everything else."""
        body, _, lines = text.rpartition("\n\n")
        try:
            origin, size, root, *extensions = body.split("\n")
            decoded_number(size)
            controls = any(ord(character) < 32 and character != "\n" for character in text)
            if len(decoded(root)) != 32 or controls or not (origin and all(extensions)):
                raise LikewiseError("its lines are not those of a checkpoint.")
            if len(text) > LARGEST or not lines.endswith("\n"):
                raise LikewiseError("it has no signature, or does not end with one.")
            return cls(f"{body}\n", tuple(map(_signature, lines[:-1].split("\n"))))
        except (LikewiseError, ValueError) as error:
            raise LikewiseError(
                f"{text[:80]!r} is not a checkpoint ({error}). Copy all of its lines, from the "
                f"ledger's name to the end of the signature, or name the file that holds them."
            ) from error

    def signed(self, key: PrivateKey) -> Checkpoint:
        """Return the same with the log's own signature."""
        signature = _key_id(self.origin, key.public, ED25519) + key.sign_raw(self.body.encode())
        return self.plus((self.origin, signature))

    def plus(self, *signatures: tuple[str, bytes]) -> Checkpoint:
        return Checkpoint(self.body, (*self.signatures, *signatures))

    def cosigned(self, name: str, key: PrivateKey, moment: int) -> tuple[str, bytes]:
        """Return the signature of a witness that saw it at a moment, in seconds since 1970."""
        verifier = Verifier(name, key.public, COSIGNATURE)
        signature = key.sign_raw(_cosigned_message(self.body, moment))
        return name, verifier.id + moment.to_bytes(8, "big") + signature

    def signed_by(self, verifier: Verifier) -> bool:
        """Tell if a key signed it; refuse a signature in its name that is not its own."""
        return bool(self._verified(verifier))

    def seen_at(self, verifier: Verifier) -> int:
        """Return when a witness last signed it, in seconds since 1970, or 0 if it never did."""
        moments = [int.from_bytes(raw[:8], "big") for raw in self._verified(verifier)]
        return max(moments, default=0)

    def _verified(self, verifier: Verifier) -> list[bytes]:
        """Return the signatures of a key, without its id, once all of them are verified."""
        listed = [raw for name, raw in self.signatures if name == verifier.name]
        signatures = [raw[4:] for raw in listed if raw[:4] == verifier.id]
        for raw in signatures:
            message, signature = self.body.encode(), raw
            if verifier.kind == COSIGNATURE:
                message = _cosigned_message(self.body, int.from_bytes(raw[:8], "big"))
                signature = raw[8:]
            if not verifier.key.verifies_raw(message, signature):
                raise LikewiseError(f"A signature is not that of {verifier.name}: it was changed.")
        return signatures


def _cosigned_message(body: str, moment: int) -> bytes:
    return f"cosignature/v1\ntime {moment}\n{body}".encode()


def signature_line(signature: tuple[str, bytes]) -> str:
    return f"— {signature[0]} {encoded(signature[1])}\n"


def _signature(line: str) -> tuple[str, bytes]:
    dash, _, rest = line.partition(" ")
    name, _, text = rest.partition(" ")
    if dash != "—" or not _NAME.fullmatch(name):
        raise LikewiseError(f"{line[:80]!r} is not a signature of a note.")
    return name, decoded(text, 5)


def signatures_in(lines: str) -> tuple[tuple[str, bytes], ...]:
    return tuple(map(_signature, lines.removesuffix("\n").split("\n")))


PROOF = "c2sp.org/tlog-proof@v1"


@dataclass(frozen=True)
class InclusionProof:
    """The proof that an entry is in a checkpoint's log (tlog-proof)."""

    index: int
    hashes: tuple[bytes, ...]
    checkpoint: Checkpoint

    def __str__(self) -> str:
        lines = (PROOF, f"index {self.index}", *map(encoded, self.hashes), "")
        return "\n".join(lines) + f"\n{self.checkpoint}"

    @classmethod
    def parse(cls, text: str) -> InclusionProof:
        head, _, checkpoint = text.partition("\n\n")
        first, *lines = head.split("\n")
        if lines and lines[0].startswith("extra "):
            del lines[0]
        if first != PROOF or not lines or not lines[0].startswith("index "):
            raise LikewiseError(f"This is not a proof: it does not say that it is {PROOF}.")
        index = decoded_number(lines[0].removeprefix("index "))
        return cls(index, decoded_hashes(lines[1:]), Checkpoint.parse(checkpoint))

    def places(self, entry: bytes) -> bool:
        """Tell if it places the entry at its index in the checkpoint's tree."""
        size = self.checkpoint.size
        return included_root(entry, self.index, size, self.hashes) == self.checkpoint.root


@dataclass(frozen=True)
class ConsistencyProof:
    """The proof that a log, up to a checkpoint, only grew since it had ``old`` entries.

    Its text is the request to a witness (tlog-witness).
    """

    old: int
    hashes: tuple[bytes, ...]
    checkpoint: Checkpoint

    def __str__(self) -> str:
        lines = (f"old {self.old}", *map(encoded, self.hashes), "")
        return "\n".join(lines) + f"\n{self.checkpoint}"

    @classmethod
    def parse(cls, text: str) -> ConsistencyProof:
        head, _, checkpoint = text.partition("\n\n")
        first, *lines = head.split("\n")
        if not first.startswith("old "):
            raise LikewiseError("This is not a proof of consistency: it does not begin with: old")
        old = decoded_number(first.removeprefix("old "))
        return cls(old, decoded_hashes(lines), Checkpoint.parse(checkpoint))

    def extends(self, earlier: Checkpoint) -> bool:
        """Tell if it shows that the log begins with all entries of an earlier checkpoint."""
        later = self.checkpoint
        return (later.origin, self.old) == (earlier.origin, earlier.size) and is_consistent(
            self.old, earlier.root, later.size, later.root, self.hashes
        )
