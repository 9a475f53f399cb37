"""A member's own key, from the file of ``likewise key --create``; the client signs with it."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path

from likewise.errors import LikewiseError
from likewise.service.clock import now
from likewise.service.ledger.payloads import Payload
from likewise.service.ledger.signing.member_statements import Act, MemberStatement, possession
from likewise.service.ledger.signing.signatures import PrivateKey


class MemberKey(PrivateKey):
    """A private key that signs what a member says."""

    def sign_act(
        self, docket: str, member: str, review: str, act: Act, pair: Sequence[str] = (),
        reason: str | None = None,
    ) -> dict[str, str]:  # fmt: skip
        """Sign one act; the reason enters by its salted digest, so that it can be erased."""
        salt, moment = secrets.token_bytes(16), now()
        digest = Payload(salt, {"text": reason}).digest if reason else None
        aliases = (pair[0], pair[1]) if pair else None
        statement = MemberStatement(docket, member, review, act, aliases, digest, moment)
        signature = statement.sign(self)
        return {"key": self.public.id, "at": moment, "salt": salt.hex(), "signature": signature}

    def possession(
        self, docket: str, member: str, before: PrivateKey | None
    ) -> dict[str, str | None]:
        """Prove possession of the key, with the consent of the key ``before`` it."""
        content = possession(docket, member, self.public)
        return {
            "key": self.public.text,
            "proof": self.sign("member-key", content),
            "consent": None if before is None else before.sign("member-key", content),
        }


def read_key(path: Path) -> MemberKey:
    """Read a private key from a file; refuse one that others may read."""
    try:
        if path.stat().st_mode & 0o077:
            raise LikewiseError(f"Others may read {path}. Make it yours alone: chmod 600 {path}")
        return MemberKey(bytes.fromhex(path.read_text(encoding="ascii").strip()))
    except (OSError, ValueError) as error:
        raise LikewiseError(
            f"{path} holds no private key ({error}). Make one: likewise key --create {path}"
        ) from error
