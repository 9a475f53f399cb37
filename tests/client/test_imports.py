"""The client alone: it needs httpx, and nothing of Likewise or its server."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("likewise", "numpy", "pydantic", "cryptography", "click"):
            raise ModuleNotFoundError(f"{name} is not installed", name=name)

sys.meta_path.insert(0, Blocked())
before = set(sys.modules)
import httpx
with_httpx = set(sys.modules)
from likewise_client import Client
from likewise_client.errors import Unreachable

new = {name.partition(".")[0] for name in set(sys.modules) - with_httpx}
print(sorted(new - set(sys.stdlib_module_names)))
with Client("http://127.0.0.1:1", "lw_x", retries=0) as client:
    try:
        client.me()
    except Unreachable as error:
        print(error.code)
"""


def test_the_client_needs_httpx_alone() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("['likewise_client']\nunreachable\n", "")
