"""The service under OpenTelemetry's own command: traces of requests, without code of ours."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

pytestmark = pytest.mark.long


def test_requests_are_traced_without_code(tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.distro", reason="opentelemetry-distro is not installed")
    pytest.importorskip(
        "opentelemetry.instrumentation.fastapi",
        reason="opentelemetry-instrumentation-fastapi is not installed",
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ, "OTEL_TRACES_EXPORTER": "console", "OTEL_METRICS_EXPORTER": "none",
        "OTEL_LOGS_EXPORTER": "none", "OTEL_BSP_SCHEDULE_DELAY": "100",
        "LIKEWISE_DATABASE": f"sqlite:///{tmp_path / 'likewise.db'}",
    }  # fmt: skip
    command = [str(Path(sys.executable).with_name("opentelemetry-instrument")),
               sys.executable, "-m", "likewise", "serve", "--port", str(port)]  # fmt: skip
    log = tmp_path / "log"
    with log.open("wb") as output:
        server = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
        try:
            wait_for(lambda: _ready(port), server, log)
            wait_for(lambda: '"trace_id": "0x' in log.read_text(), server, log)
            text = log.read_text()
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(60)
    assert '"name": "GET /readyz' in text


def _ready(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=10).is_success
    except httpx.TransportError:
        return False


def wait_for(fact: object, server: subprocess.Popen[bytes], log: Path) -> None:
    """Wait for a fact, as long as the server runs."""
    assert callable(fact)
    began = time.monotonic()
    while not fact():
        assert server.poll() is None, log.read_text()
        assert time.monotonic() - began < 200, log.read_text()
        time.sleep(0.2)
