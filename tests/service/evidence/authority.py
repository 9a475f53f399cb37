"""A time-stamp authority on loopback: ``openssl ts`` behind a small server."""

from __future__ import annotations

import contextlib
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from likewise_service.anchors import AnchorTarget, prover, record_anchor
from likewise_service.dockets.docket import Docket
from likewise_service.ledger.kinds import AnchorState

CONFIG = """
[ tsa ]
default_tsa = tsa_config
[ tsa_config ]
serial = {folder}/serial
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha512
accuracy = secs:1
ordering = yes
tsa_name = yes
ess_cert_id_chain = no
[ ca ]
default_ca = root
[ root ]
database = {folder}/index.txt
new_certs_dir = {folder}
rand_serial = yes
default_md = sha256
policy = anybody
[ anybody ]
commonName = supplied
"""
EXTENSIONS = (
    "basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\n"
    "extendedKeyUsage=critical,timeStamping\nsubjectKeyIdentifier=hash\n"
)


def anchor(docket: Docket, target: AnchorTarget) -> None:
    """Anchor a docket's head at a target now, and record it."""
    receipt = docket.receipt()
    last = docket.projection.governance.anchors.get(target.name, AnchorState()).seq
    fixed = target.fix(receipt, last, prover(docket.store, receipt))
    record_anchor(docket, target, receipt, fixed)


def openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True, timeout=60)


def make_authority(folder: Path, name: str = "Time", *, ended: bool = False) -> Path:
    """A root, and a key that signs time-stamps; the root's certificate.

    The certificate of one that has ``ended`` is one of 2020. ``openssl ca`` signs it: ``openssl
    x509`` of 3.6 refuses an end before today, and the one of 3.0 knows no other start.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tsa.cnf").write_text(CONFIG.format(folder=folder))
    (folder / "ext.cnf").write_text(EXTENSIONS)
    (folder / "serial").write_text("01\n")
    (folder / "index.txt").touch()
    past = ("-startdate", "20200101000000Z", "-enddate", "20200102000000Z")
    new = ("req", "-newkey", "rsa:2048", "-nodes", "-sha256")
    openssl(folder, *new, "-x509", "-days", "2", "-subj", f"/CN={name} root",
            "-keyout", "root.key", "-out", "root.pem",
            "-addext", "basicConstraints=critical,CA:TRUE")  # fmt: skip
    openssl(folder, *new, "-subj", f"/CN={name}", "-keyout", "tsa.key", "-out", "tsa.csr")
    openssl(folder, "ca", "-batch", "-config", "tsa.cnf", "-in", "tsa.csr", "-cert", "root.pem",
            "-keyfile", "root.key", *(past if ended else ("-days", "2")), "-extfile", "ext.cnf",
            "-notext", "-out", "tsa.pem")  # fmt: skip
    return folder / "root.pem"


class Authority:
    """An authority at work; ``mood`` is how it responds."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.mood, self.asked = folder, "honest", 0
        self.kept: list[bytes] = []
        self.last = b""

    def respond(self, query: bytes) -> tuple[int, bytes]:
        self.asked += 1
        self.kept.append(query)
        if self.mood == "down":
            return 503, b""
        if self.mood == "junk":
            return 200, b"\x30\x03nonsense"
        if self.mood == "large":
            return 200, b"\x00" * 300_000
        if self.mood == "silent":
            time.sleep(1.0)
        if self.mood in ("silent", "dripping"):
            return 200, b"\x30" * 40
        if self.mood == "another" and self.last:
            return 200, self.last
        if self.mood == "webhook":
            return 204, b""
        (self.folder / "query").write_bytes(query)
        openssl(self.folder, "ts", "-reply", "-config", "tsa.cnf", "-section", "tsa_config",
                "-queryfile", "query", "-signer", "tsa.pem", "-inkey", "tsa.key",
                "-out", "reply")  # fmt: skip
        self.last = (self.folder / "reply").read_bytes()
        return 200, self.last


@contextmanager
def serving(authority: Authority) -> Iterator[str]:
    """The address of the authority, until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            status, body = authority.respond(self.rfile.read(length))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            slow = authority.mood == "dripping"
            # Whoever asks has no patience, as it should be.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                for byte in body if slow else ():
                    self.wfile.write(bytes([byte]))
                    time.sleep(0.1)
                self.wfile.write(b"" if slow else body)

        def log_message(self, format: str, *args: object) -> None:
            """Nobody wants to know."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
