"""
Replay and verify as a regulator
================================

A ledger is exported and replayed: every decision is taken again from the committed seed. Then one
record is changed, and the replay names it.
"""

import pathlib
import re
import tempfile

from click.testing import CliRunner

from likewise import Feature, FeatureSchema, Learner, Segments
from likewise.cli import main
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.rounds import Applicant, open_docket, open_round
from likewise_service.dockets.spec import DocketSpec
from likewise_service.ledger.store import Store

folder = pathlib.Path(tempfile.mkdtemp())
schema = FeatureSchema((Feature("score", "integer", 300, 850), Feature("debt", high=100)))
lender = Segments(schema, score="score", cuts=range(400, 800, 100))
learner = Learner(lender, k=2, alpha=0.3, eps=0.3, seed=1)
store = Store.open(f"sqlite:///{folder / 'loans.db'}")
open_docket(store, "loans", DocketSpec.of("Small loans", learner, ("ada", "bob")), seed=7)
docket = Docket(store, "loans")
for day in range(3):
    open_round(
        docket,
        [
            Applicant(f"ann {day}", {"score": 790, "debt": 30}),
            Applicant(f"bo {day}", {"score": 310, "debt": 31}),
        ],
    )
store.close()


def likewise(*arguments):
    """Run the command as a regulator would, and print its first lines."""
    done = CliRunner().invoke(main, [argument.replace("$", str(folder)) for argument in arguments])
    print(
        *done.output.replace(str(folder), "").splitlines()[:6],
        f"exit status {done.exit_code}",
        sep="\n",
    )


likewise(
    "export",
    "loans",
    "--database",
    "sqlite:///$/loans.db",
    "--to",
    "$/export",
    "--personal",
    "--seed",
)

# %%

likewise("replay", "--export", "$/export")

# %%
# Somebody turns the first decision round:

ledger = folder / "export" / "ledger.jsonl"
swap = {"true": "false", "false": "true"}
ledger.write_text(
    re.sub(r'(approved":)(true|false)', lambda m: m[1] + swap[m[2]], ledger.read_text(), count=1)
)
likewise("replay", "--export", "$/export")

# sphinx_gallery_thumbnail_path = "_pictures/dashboard.png"
