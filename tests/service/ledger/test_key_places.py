"""The installation's key outside the database: in a file that backups leave out, or in a token."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner, Result

from likewise.cli.main import main
from likewise_service.app import create_app, running
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.rounds import open_docket, open_round
from likewise_service.errors import StoreError
from likewise_service.ledger.key_places import KeyFile, TokenPlace
from likewise_service.ledger.signatures import PrivateKey
from likewise_service.ledger.store import Store
from likewise_service.settings import Settings
from tests.service.live import replay_store, small_spec, some_people

SOFTHSM = Path("/usr/lib/softhsm/libsofthsm2.so")


def run(*words: object, key: object = "") -> Result:
    environment = {"LIKEWISE_INSTALLATION_KEY": str(key)} if key else {}
    return CliRunner().invoke(main, [str(word) for word in words], env=environment)


@pytest.fixture
def database(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'a.db'}"


def _begin(database: str, key: object = "") -> None:
    store = Store.open(database, key=str(key))
    open_docket(store, "loans", small_spec(), seed=5)
    open_round(Docket(store, "loans"), some_people())
    store.close()


def test_a_key_in_a_file_is_in_no_backup(tmp_path: Path, database: str) -> None:
    path = tmp_path / "installation.key"
    public = run("key", "--create", path).output.strip()
    assert path.stat().st_mode & 0o777 == 0o600
    _begin(database, path)
    assert public in run("key", "--database", database, key=path).output
    backup = run("backup", tmp_path / "backup", "--database", database, key=path)
    assert backup.exit_code == 0, backup.output
    private = bytes.fromhex(path.read_text(encoding="ascii").strip())
    for file in (tmp_path / "backup", *tmp_path.glob("a.db*")):
        assert private not in file.read_bytes()
    # Whoever verifies needs the public half alone.
    for name in ("backup", "a.db"):
        assert run("verify", "--database", tmp_path / name, "--key", public).exit_code == 0
    restored = run("restore", tmp_path / "backup", "--database", tmp_path / "b.db")
    assert restored.exit_code == 0, restored.output
    assert "Before a server can start: The installation's key" in restored.output
    assert "LIKEWISE_INSTALLATION_KEY" in restored.output


def test_a_server_without_its_key_does_not_start(tmp_path: Path, database: str) -> None:
    """Nor is one made in its place: receipts would be signed by a key that nobody knows."""
    path, aside = tmp_path / "installation.key", tmp_path / "aside"
    settings = Settings(database=database, installation_key=str(path))
    with pytest.raises(StoreError, match=r"not there.*likewise key --create"):
        create_app(settings)
    run("key", "--create", path)
    _begin(database, path)
    path.rename(aside)
    with pytest.raises(StoreError, match="Put it back"):
        create_app(settings)
    assert not path.exists()
    with pytest.raises(StoreError, match="LIKEWISE_INSTALLATION_KEY"):
        create_app(Settings(database=database))
    run("key", "--create", path)
    with pytest.raises(StoreError, match=r"signs with the key .* which is not in"):
        create_app(settings)
    aside.replace(path)
    path.chmod(0o640)
    with pytest.raises(StoreError, match="chmod 600"):
        create_app(settings)
    path.chmod(0o600)
    create_app(settings).state.context.store.close()


def test_a_key_moves_out_of_the_database_and_is_followed_by_others(
    tmp_path: Path, database: str
) -> None:
    path = tmp_path / "installation.key"
    _begin(database)
    run("key", "--create", path)
    with pytest.raises(StoreError, match="likewise key --rotate"):
        Store.open(database, key=str(path)).keys.current()
    running = None
    for _ in range(2):
        rotated = run("key", "--rotate", "--database", database, key=path)
        assert rotated.exit_code == 0, rotated.output
        running = running or Store.open(database, key=str(path))
        running.keys.forget()
        assert running.keys.public().id in rotated.output
    assert len(path.read_text(encoding="ascii").split()) == 2, "the first one was there already"
    assert running is not None
    with running.reading() as connection:
        assert {bytes(row.private) for row in connection.exec_driver_sql("select * from keys")} == {
            b""
        }
    assert replay_store(running, "loans").holds
    running.close()


def test_a_lost_key_is_followed_by_one_that_it_did_not_sign(tmp_path: Path, database: str) -> None:
    path = tmp_path / "installation.key"
    run("key", "--create", path)
    _begin(database, path)
    path.unlink()
    run("key", "--create", path)
    lost = run("key", "--rotate", "--database", database, key=path)
    assert lost.exit_code == 1
    assert "--rotate --compromised" in lost.output
    assert run("key", "--rotate", "--compromised", "--database", database, key=path).exit_code == 0
    store = Store.open(database, key=str(path))
    verdict = replay_store(store, "loans")
    assert verdict.holds
    assert any("had fallen into other hands" in sentence for sentence in verdict.unproved)
    store.close()


def test_a_server_whose_key_went_is_not_ready_and_says_what_fails(
    tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("likewise_service.ledger.store.REMEMBERED", 0.0)
    path = tmp_path / "installation.key"
    run("key", "--create", path)
    with running(Settings(database=database, installation_key=str(path))) as address:
        assert httpx.get(f"{address}/readyz").status_code == 200
        path.unlink()
        response = httpx.get(f"{address}/readyz")
        assert response.status_code == 500
        assert "cannot be read or signed" in response.json()["error"]["message"]
        assert httpx.get(f"{address}/healthz").status_code == 200


def test_keys_that_are_gone_are_not_followed_by_a_new_one(database: str) -> None:
    """Nobody would know it, and what it signs would not hold."""
    _begin(database)
    store = Store.open(database)
    with store.changing() as connection:
        connection.exec_driver_sql("DELETE FROM keys")
    with pytest.raises(StoreError, match=r"none of the keys .* Restore a backup"):
        store.keys.current()
    store.close()


def test_what_a_crash_left_of_a_key_is_told_from_a_file_that_cannot_be_written(
    tmp_path: Path,
) -> None:
    path = tmp_path / "installation.key"
    part = tmp_path / "installation.key.part"
    part.touch(0o600)
    refused = run("key", "--create", path)
    assert refused.exit_code == 1
    assert f"{part} is there: another process makes a key" in refused.output
    assert "remove that file" in refused.output
    part.unlink()
    assert run("key", "--create", path).exit_code == 0


def test_a_file_that_holds_no_keys_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad"
    path.touch(0o600)
    for text in ("xyz", "ab", "é"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(StoreError, match="holds no private keys"):
            KeyFile(path).read()
    with pytest.raises(StoreError, match="RFC 7512"):
        TokenPlace("pkcs11:token=a")


@pytest.fixture
def token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a token of SoftHSM."""
    pytest.importorskip("pkcs11")
    tool = shutil.which("softhsm2-util")
    if tool is None or not SOFTHSM.exists():
        pytest.skip("there is no SoftHSM; install Debian's softhsm2")
    (tmp_path / "tokens").mkdir()
    (tmp_path / "softhsm.conf").write_text(f"directories.tokendir = {tmp_path / 'tokens'}\n")
    monkeypatch.setenv("SOFTHSM2_CONF", str(tmp_path / "softhsm.conf"))
    pins = ["--pin", "1234", "--so-pin", "5678"]
    subprocess.run(
        [tool, "--init-token", "--free", "--label", "a token", *pins], check=True,
        capture_output=True, env=dict(os.environ),
    )  # fmt: skip
    (tmp_path / "pin").write_text("1234\n")
    query = f"module-path={SOFTHSM}&pin-source=file:{tmp_path / 'pin'}"
    return f"pkcs11:token=a%20token;object=receipts?{query}"


@pytest.mark.long
def test_a_key_in_a_token(database: str, token: str) -> None:
    """Receipts and rotation; and a refusal where the token is not there."""
    with pytest.raises(StoreError, match="There is no key in the token 'a token'"):
        create_app(Settings(database=database, installation_key=token))
    public = run("key", "--create", token).output.strip()
    _begin(database, token)
    rotated = run("key", "--rotate", "--database", database, key=token)
    assert rotated.exit_code == 0, rotated.output
    store = Store.open(database, key=token)
    assert replay_store(store, "loans").holds
    receipt = Docket(store, "loans").receipt()
    store.close()
    held = run("verify", receipt, "--database", database, "--key", rotated.output.split()[-1])
    assert held.exit_code == 0, held.output
    assert public in run("key", "--database", database, key=token).output
    other = token.replace("a%20token", "another")
    with pytest.raises(StoreError, match=r"'another' .* cannot be used"):
        create_app(Settings(database=database, installation_key=other))


def test_two_who_create_keys_at_once_lose_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second begins at any moment; it may be refused, but no key is lost."""
    place = KeyFile(tmp_path / "keys")
    made, read = [place.create()], KeyFile.read

    def meanwhile(here: KeyFile) -> list[PrivateKey]:
        keys = read(here)
        monkeypatch.setattr(KeyFile, "read", read)
        with suppress(StoreError):
            made.append(KeyFile(place.path).create())
        return keys

    monkeypatch.setattr(KeyFile, "read", meanwhile)
    made.append(place.create())
    assert {key.raw for key in place.read()} == {key.raw for key in made}


def test_a_key_is_on_disk_and_what_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced, sync = list[str](), os.fsync

    def fsync(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        sync(descriptor)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    place = KeyFile(tmp_path / "keys")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="No space left"):
        place.create()
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(os, "fsync", fsync)
    place.create()
    assert synced == [str(tmp_path / "keys.part"), str(tmp_path)]
