"""The client alone: importing it needs httpx, and neither numpy nor anything of the server."""

from __future__ import annotations

import subprocess
import sys

import pytest

BLOCKED = (
    "numpy", "scipy", "numba", "pydantic", "pydantic_settings", "fastapi", "starlette",
    "sqlalchemy", "alembic", "jinja2", "uvicorn", "prometheus_client", "click", "rich",
)  # fmt: skip
SCRIPT = f"""
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {BLOCKED!r}:
            raise ModuleNotFoundError(f"{{name}} is not installed", name=name)

sys.meta_path.insert(0, Blocked())
from likewise_client import Client
from likewise_client.errors import ApiError, Unreachable
from likewise.service.ledger.records import Receipt

assert Receipt.parse("likewise-receipt/1:loans:1:" + "0" * 64).docket == "loans"
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
    assert (done.stdout, done.stderr) == ("unreachable\n", "")


@pytest.mark.parametrize(
    "module",
    [
        "likewise.service.api.responses",
        "likewise.service.api.review_responses",
        "likewise.service.ledger.records",
    ],
)
def test_what_it_shares_with_the_server_is_plain(module: str) -> None:
    """Of Likewise these import its errors and each other, and of others nothing at all."""
    script = (
        f"import sys; before = set(sys.modules); import {module}; "
        "new = {n for n in set(sys.modules) - before}; "
        "print(*sorted(n for n in new if n.partition('.')[0] not in sys.stdlib_module_names))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    allowed = {
        "likewise", "likewise.errors", "likewise.service", "likewise.service.api",
        "likewise.service.ledger", "likewise.service.api.responses",
        "likewise.service.api.review_responses", "likewise.service.ledger.records",
        "likewise.service.ledger.canonical_json",
    }  # fmt: skip
    assert set(done.stdout.split()) <= allowed
