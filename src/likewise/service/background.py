"""A server in a thread of its own: for notebooks, tests and the documentation."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from likewise.service.app import create_app
from likewise.service.errors import StoreError
from likewise.service.server import configured, guarded, listening
from likewise.service.settings import Settings

TIMEOUT = 60.0


@contextmanager
def running(settings: Settings) -> Iterator[str]:
    """Run a server on loopback until the end of the block; return its address."""
    with listening("127.0.0.1", 0) as listener:
        config = uvicorn.Config(
            create_app(settings), lifespan="on", timeout_graceful_shutdown=5,
            http=guarded(settings), **configured(settings),  # type: ignore[arg-type] # by name
        )  # fmt: skip
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        ends = time.monotonic() + TIMEOUT
        while not server.started:
            if time.monotonic() > ends or not thread.is_alive():
                raise StoreError("The server does not start; its log says why.")
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(TIMEOUT)
