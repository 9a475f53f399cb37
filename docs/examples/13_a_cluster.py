"""
A cluster
=========

``jobs=client`` counts the pairs of an audit on the workers of a Dask client: here two threads of
this machine, elsewhere any number of machines. The counts are the same.
"""

import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

from likewise import Feature, FeatureSchema, MetricAuditor, Panel, audit
from likewise.panel import WeightedL1

rng = np.random.default_rng(0)
schema = FeatureSchema((Feature("income", low=0, high=100),))
people = schema.people(rng.uniform(0, 100, (3000, 1)))
scores = rng.random(3000)
panel = Panel([MetricAuditor("banker", WeightedL1({"income": 1.0}))], "any")

# %%
# All pairs are counted twice: in this process, and by the workers.

here = audit(people, scores, panel, alpha=0.2)
with (
    LocalCluster(n_workers=2, processes=False, dashboard_address=None) as cluster,
    Client(cluster) as client,
):
    there = audit(people, scores, panel, alpha=0.2, jobs=client)
figure, ax = plt.subplots(figsize=(6, 2))
ax.barh(["this process", "two workers"], [here.reported.value, there.reported.value])
ax.set(xlabel="pairs reported")
figure.tight_layout()
print(f"{here.reported} of {here.pairs:,} pairs here, {there.reported} there")
