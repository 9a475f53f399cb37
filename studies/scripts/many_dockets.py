"""Every page and list of an installation with many dockets, and how long each takes.

    python -m studies.scripts.many_dockets                     # 10,000 dockets in SQLite
    python -m studies.scripts.many_dockets --database postgresql://…   # in a database of yours

Each docket has a panel of two and a token for one of them; one docket has rounds and many members.
A page is asked for several times; the figure is the median, after a first time that opens the
docket.
"""

from __future__ import annotations

import argparse
import re
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import httpx

from likewise import Feature, FeatureSchema, Learner, Segments
from likewise_client.client import Client
from likewise_service.app import running
from likewise_service.auth.tokens import create_token
from likewise_service.dockets.rounds import open_docket
from likewise_service.dockets.spec import DocketSpec
from likewise_service.ledger.store import Store
from likewise_service.settings import Settings

GENEROUS = {"rate": 1e6, "burst": 10**6, "anonymous_rate": 1e6, "anonymous_burst": 10**6}
BUSY = "docket-00000"


class Timed(NamedTuple):
    """How long a page or a list takes, in milliseconds: the median, and the longest."""

    path: str
    median: float
    longest: float


def furnish(url: str, dockets: int, members: int = 100) -> dict[str, str]:
    """Open the dockets, and return tokens of an operator, a client and a member."""
    schema = FeatureSchema((Feature("score", "integer", 300, 850), Feature("debt", "integer", 0, 100)))
    lender = Segments(schema, score="score", cuts=range(400, 800, 100))
    learner = Learner(lender, k=3, alpha=0.3, eps=0.3, seed=1, attention="everything")
    crowd = ("ada", "bob", *(f"member {number:03}" for number in range(members - 2)))
    store, tokens = Store.open(url), dict[str, str]()
    for number in range(dockets):
        name, panel = f"docket-{number:05}", ("ada", "bob") if number else crowd
        open_docket(store, name, DocketSpec.of(f"Loans of branch {number}", learner, panel))
        token, _ = create_token(store, "auditor", "ada", name)
        tokens.setdefault("auditor", token)
    tokens["client"], _ = create_token(store, "client", "bank", BUSY)
    # The ledgers need not have it yet: whoever acts in one is introduced there.
    tokens["operator"], _ = create_token(store, "regulator", "state", None)
    store.close()
    return tokens
