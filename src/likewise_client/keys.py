"""A member's own key, from the file that ``likewise key --create`` wrote."""

from __future__ import annotations

from pathlib import Path

from likewise.errors import LikewiseError
from likewise.service.ledger.signing.signatures import PrivateKey

__all__ = ["PrivateKey", "read_key"]


def read_key(path: Path) -> PrivateKey:
    """Read a private key; one that others may read is refused, as is anything else."""
    try:
        if path.stat().st_mode & 0o077:
            raise LikewiseError(f"Others may read {path}. Make it yours alone: chmod 600 {path}")
        return PrivateKey(bytes.fromhex(path.read_text(encoding="ascii").strip()))
    except (OSError, ValueError) as error:
        raise LikewiseError(
            f"{path} holds no private key ({error}). Make one: likewise key --create {path}"
        ) from error
