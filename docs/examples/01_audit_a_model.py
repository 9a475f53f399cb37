"""
Audit a model before a panel
============================

A model has scored 1,000 applicants for a loan. Two auditors say how far apart they find two
applicants. Which pairs would they report?
"""

import matplotlib.pyplot as plt
import numpy as np

from likewise import Feature, FeatureSchema, MetricAuditor, Panel, audit
from likewise.panel import WeightedL1

rng = np.random.default_rng(1)
income, debt = rng.uniform(10, 90, 1000).round(1), rng.uniform(0, 40, 1000).round(1)
scores = 1 / (1 + np.exp(-(income - debt - 30) / 5))  # of any model; this one is steep

# %%
# The schema says what the columns mean, the panel who objects to what.

schema = FeatureSchema((Feature("income", low=10, high=90), Feature("debt", low=0, high=40)))
people = schema.people(np.column_stack([income, debt]))
panel = Panel(
    [
        MetricAuditor("banker", WeightedL1({"income": 2.0, "debt": 1.0})),
        MetricAuditor("regulator", WeightedL1({"income": 1.0, "debt": 2.0})),
    ],
    "all",
)
result = audit(people, scores, panel, alpha=0.2)
print(result)

# %%
# Pairs reported at other alphas, and the worst in words:

figure, ax = plt.subplots(figsize=(6, 3.4))
result.plot(ax=ax)
figure.tight_layout()
print(result.worst[0].words)

# %%
# ``result.to_html("audit.html")`` writes a page to file.
