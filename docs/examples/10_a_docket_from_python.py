"""
A docket from Python
====================

The live system without a browser: a docket is opened, a bank sends people, two members flag a
pair, labels come.
"""

import pathlib
import tempfile

from likewise import Feature, FeatureSchema, Learner, Segments
from likewise_client.client import Client
from likewise_service.app import running
from likewise_service.auth.tokens import create_token
from likewise_service.dockets.rounds import open_docket
from likewise_service.dockets.spec import DocketSpec
from likewise_service.ledger.store import Store
from likewise_service.settings import Settings

schema = FeatureSchema((Feature("score", "integer", 300, 850), Feature("debt", high=100)))
lender = Segments(schema, score="score", cuts=range(350, 800, 50))
learner = Learner(lender, k=8, alpha=0.3, eps=0.3, seed=0)
database = f"sqlite:///{pathlib.Path(tempfile.mkdtemp()) / 'likewise.db'}"
store = Store.open(database)
open_docket(
    store, "loans", DocketSpec.of("Small loans", learner, ("ada", "bob"), rule="any"), seed=7
)
bank, *members = (
    create_token(store, role, name, "loans")[0]
    for role, name in (("client", "bank"), ("auditor", "ada"), ("auditor", "bob"))
)

# %%
# The server runs in this process; ``likewise serve`` runs it for others.

with running(Settings(database=database)) as address, Client(address, bank) as client:
    opened = client.open_round(
        "loans", {"ann": {"score": 800, "debt": 10}, "bo": {"score": 320, "debt": 12}}
    )
    for token in members:
        with Client(address, token) as member:
            review = member.review("loans", member.reviews("loans")[0].id)
            for pair in review.pairs:
                member.flag("loans", review.id, (pair.over, pair.under), "much alike")
            member.finish("loans", review.id)
    client.label("loans", [(opened.id, person, 1) for person in ("ann", "bo")])
    after = client.round("loans", opened.id)
store.close()
print(after.outcome, [(pair.over, pair.under) for pair in after.reported], after.status)

# sphinx_gallery_thumbnail_path = "_pictures/console.png"
