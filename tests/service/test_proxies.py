"""Behind the real proxies, with the configuration that ``likewise init`` writes, and TLS."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.service.conftest import Start
from tests.service.live import free_port, people

KIT = Path(__file__).parents[2] / "packages/likewise-service/src/likewise_service/kit"
NGINX = shutil.which("nginx") or "/usr/sbin/nginx"
CADDY = shutil.which("caddy") or "/usr/bin/caddy"
Proxy = Callable[[Path, str], AbstractContextManager[str]]


def make_certificate(folder: Path) -> None:
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj",
         "/CN=likewise.example", "-addext", "subjectAltName=DNS:likewise.example,IP:127.0.0.1",
         "-keyout", str(folder / "tls.key"), "-out", str(folder / "tls.crt")],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip


@contextmanager
def running(command: list[str], folder: Path, port: int) -> Iterator[str]:
    """A proxy at work; what it says is in a file."""
    home = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    said = folder / "said"
    with (
        said.open("wb") as log,
        subprocess.Popen(command, stderr=log, env={**os.environ, **home}) as process,
    ):
        try:
            ends = time.monotonic() + 30
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    assert time.monotonic() < ends, said.read_text()
                    time.sleep(0.05)
            yield f"https://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)


@contextmanager
def nginx(folder: Path, upstream: str) -> Iterator[str]:
    """The real nginx with our configuration, on a port of its own."""
    port = free_port()
    ours = (KIT / "nginx.conf").read_text()
    ours = ours.replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl")
    ours = ours.replace("http://127.0.0.1:8000", upstream).replace("/etc/likewise/", f"{folder}/")
    temporary = "".join(
        f"{name}_temp_path {folder}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    whole = (
        f"daemon off; pid {folder}/pid; error_log {folder}/error.log;\nevents {{}}\n"
        f"http {{ access_log off;\n{temporary}{ours} }}\n"
    )
    (folder / "nginx.conf").write_text(whole)
    command = [NGINX, "-c", str(folder / "nginx.conf"), "-p", str(folder)]
    with running(command, folder, port) as address:
        yield address


@contextmanager
def caddy(folder: Path, upstream: str) -> Iterator[str]:
    """The real Caddy with our configuration, and a certificate that it need not ask for."""
    port = free_port()
    names = f"https://likewise.example:{port}, https://127.0.0.1:{port}"
    ours = (KIT / "Caddyfile").read_text()
    ours = ours.replace(
        "likewise.example {", f"{names} {{\n\ttls {folder}/tls.crt {folder}/tls.key", 1
    )
    ours = ours.replace("127.0.0.1:8000", upstream.removeprefix("http://"))
    (folder / "Caddyfile").write_text(
        f"{{\n\tadmin off\n\tauto_https disable_redirects\n}}\n{ours}"
    )
    command = [CADDY, "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
    with running(command, folder, port) as address:
        yield address


@pytest.mark.parametrize(("proxy", "program"), [(nginx, NGINX), (caddy, CADDY)])
def test_behind_the_real_proxy_with_tls(
    start: Start, tmp_path: Path, proxy: Proxy, program: str
) -> None:
    if not Path(program).exists():
        pytest.skip(f"there is no {Path(program).name} here")
    live = start(
        public_url="https://likewise.example", trusted_proxies="127.0.0.1",
        anonymous_rate=0.001, anonymous_burst=3,
    )  # fmt: skip
    folder = tmp_path / "proxy"
    folder.mkdir()
    folder.chmod(0o755)
    make_certificate(folder)
    with proxy(folder, live.address) as address:
        trust = ssl.create_default_context(cafile=str(folder / "tls.crt"))
        with httpx.Client(base_url=address, verify=trust, timeout=60) as browser:
            page = browser.get("/console/sign-in", headers={"Host": "likewise.example"})
            assert page.status_code == 200
            assert "Secure" in page.headers["set-cookie"]
            assert "max-age" in page.headers["strict-transport-security"]
            bank = {"Authorization": f"Bearer {live.tokens['client']}"}
            listed = [{"id": key, "features": one} for key, one in people().items()]
            sent = browser.post("/v1/dockets/loans/rounds", json={"people": listed}, headers=bank)
            assert sent.status_code == 201
            spoofed = [
                browser.get("/v1/me", headers={"X-Forwarded-For": f"10.0.0.{n}"}).status_code
                for n in range(8)
            ]
            assert 429 in spoofed, "the proxy says where a request comes from, not the request"


@pytest.mark.skipif(not Path(CADDY).exists(), reason="there is no caddy here")
def test_the_caddyfile_is_one_that_caddy_understands(tmp_path: Path) -> None:
    command = [CADDY, "validate", "--config", str(KIT / "Caddyfile"), "--adapter", "caddyfile"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Valid configuration" in done.stdout + done.stderr
