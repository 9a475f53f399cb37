"""Places outside the database for the installation's private key: a file, or a PKCS#11 token.

A key in such a place is not in backups of the database, so nobody who reads these can sign.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

from likewise.errors import LikewiseError
from likewise_service.errors import StoreError
from likewise_service.ledger.signatures import PrivateKey, PublicKey


class KeyFile:
    """A file with one private key a line, for its owner alone."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __str__(self) -> str:
        return str(self.path)

    def read(self) -> list[PrivateKey]:
        """Read the keys; refuse a file that is missing, or that others may read."""
        try:
            if self.path.stat().st_mode & 0o077:
                raise StoreError(f"Others may read {self}. Make it yours alone: chmod 600 {self}")
            lines = self.path.read_text(encoding="ascii").split()
            return [PrivateKey(bytes.fromhex(line)) for line in lines]
        except FileNotFoundError as error:
            raise StoreError(
                f"{self} is not there, and it holds the installation's key. Put it back from where "
                f"you keep a copy. Only for a database that has no key yet, make one: likewise key "
                f"--create {self}"
            ) from error
        except (OSError, ValueError, LikewiseError) as error:
            raise StoreError(f"{self} holds no private keys ({error}).") from error

    def create(self) -> PrivateKey:
        """Add a key by writing a whole new file: one that is cut short would lose the others.

        Only the process that made the new file reads the old one: two would lose a key.
        """
        part = self.path.with_name(self.path.name + ".part")
        try:
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                key = self._written(descriptor)
            except BaseException:
                part.unlink()
                raise
            os.replace(part, self.path)
            _sync_folder(self.path.parent)
        except FileExistsError as error:
            raise StoreError(
                f"{part} is there: another process makes a key, or one was stopped while it did. "
                f"If none does, remove that file, whose key was never used, and try again."
            ) from error
        except OSError as error:
            raise StoreError(f"{self} cannot be written: {error}.") from error
        return key

    def _written(self, descriptor: int) -> PrivateKey:
        """Write the keys of the file and a new one to disk; return the new one."""
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            key, before = PrivateKey.fresh(), self.read() if self.path.exists() else []
            file.write("".join(f"{each.raw.hex()}\n" for each in (*before, key)))
            file.flush()
            os.fsync(file.fileno())
        return key


def _sync_folder(folder: Path) -> None:
    """Write a folder to disk: until then, a power cut may take a new file's name back."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# edwards25519, as PKCS#11 names it in DER.
EDWARDS25519 = bytes.fromhex("130c656477617264733235353139")


class TokenPlace:
    """A PKCS#11 token, such as a hardware security module, named by its address (RFC 7512)."""

    def __init__(self, address: str) -> None:
        path, _, query = address.removeprefix("pkcs11:").partition("?")
        parts = dict(part.partition("=")[::2] for part in path.split(";"))
        more = {name: values[-1] for name, values in parse_qs(query).items()}
        try:
            self.token, self.label = unquote(parts["token"]), unquote(parts["object"])
            self.module, self._pin_source = more["module-path"], more["pin-source"]
        except KeyError as error:
            raise StoreError(
                f"{address!r} does not name a key. Write pkcs11:token=LABEL;object=LABEL"
                f"?module-path=/usr/lib/…/MODULE.so&pin-source=file:/PATH (RFC 7512)."
            ) from error

    def __str__(self) -> str:
        return f"the token {self.token!r}"

    @cached_property
    def _pkcs11(self) -> Any:
        try:
            import pkcs11
        except ImportError as error:
            raise StoreError(
                "A key in a PKCS#11 token needs python-pkcs11. Install it with: pip install "
                "'likewise-service[pkcs11]'"
            ) from error
        return pkcs11

    @cached_property
    def _session(self) -> Any:
        pin = Path(self._pin_source.removeprefix("file:")).read_text(encoding="utf-8").strip()
        return _logged_in(self.module, self.token, pin)

    @contextmanager
    def _talking(self) -> Iterator[None]:
        """Talk to the token, one at a time; refuse one that does not respond."""
        try:
            with _TALKING:
                yield
        except (OSError, self._pkcs11.PKCS11Error, RuntimeError) as error:
            fault = str(error) or type(error).__name__
            raise StoreError(
                f"{self} of {self.module} cannot be used ({fault}). Is it there, and is the PIN "
                f"right?"
            ) from error

    def read(self) -> list[PrivateKey]:
        constants = self._pkcs11.constants
        attributes = {
            constants.Attribute.CLASS: constants.ObjectClass.PRIVATE_KEY,
            constants.Attribute.LABEL: self.label,
        }
        with self._talking():
            return [self._held(private) for private in list(self._session.get_objects(attributes))]

    def create(self) -> PrivateKey:
        attributes, kinds = self._pkcs11.constants.Attribute, self._pkcs11.mechanisms
        with self._talking():
            parameters = self._session.create_domain_parameters(
                kinds.KeyType.EC_EDWARDS, {attributes.EC_PARAMS: EDWARDS25519}, local=True
            )
            _, private = parameters.generate_keypair(
                mechanism=kinds.Mechanism.EC_EDWARDS_KEY_PAIR_GEN, store=True, label=self.label,
                id=os.urandom(16),
            )  # fmt: skip
            return self._held(private)

    def _held(self, private: Any) -> TokenKey:
        """Return a private key with its public half, which has the same id in the token."""
        constants = self._pkcs11.constants
        public = self._session.get_key(
            object_class=constants.ObjectClass.PUBLIC_KEY, label=self.label, id=private.id
        )
        # The point is an octet string of DER: two bytes before it say so.
        text = bytes(public[constants.Attribute.EC_POINT])[-32:].hex()
        return TokenKey(self, private, PublicKey(text))

    def sign(self, private: Any, content: bytes) -> bytes:
        with self._talking():
            return bytes(private.sign(content, mechanism=self._pkcs11.Mechanism.EDDSA))


# A session is one conversation, and a process has one with a token.
_TALKING = threading.Lock()


@cache
def _logged_in(module: str, token: str, pin: str) -> Any:
    """Return this process's session with a token, which lasts as long as the process."""
    import pkcs11

    return pkcs11.lib(module).get_token(token_label=token).open(user_pin=pin, rw=True)


class TokenKey(PrivateKey):
    """A private key that a token holds: it signs, and nobody reads it."""

    _place: TokenPlace
    _held: Any

    def __init__(self, place: TokenPlace, held: Any, public: PublicKey) -> None:
        vars(self).update(raw=b"", public=public, _place=place, _held=held)

    def sign_raw(self, content: bytes) -> bytes:
        return self._place.sign(self._held, content)


KeyPlace = KeyFile | TokenPlace


def key_place(text: str) -> KeyPlace | None:
    """Return the place of the installation's key that a setting names; None for the database."""
    if not text:
        return None
    return TokenPlace(text) if text.startswith("pkcs11:") else KeyFile(Path(text))
