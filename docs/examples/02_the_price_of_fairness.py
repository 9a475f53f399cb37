"""
The price of fairness
=====================

With labels an audit prices fairness: the error of the model, of the best policy without a panel,
and of the best one that would pass. The last two differ by what the panel costs.
"""

import matplotlib.pyplot as plt
import numpy as np

from likewise import Feature, FeatureSchema, MetricAuditor, Panel, audit
from likewise.panel import WeightedL1

rng = np.random.default_rng(1)
income = rng.uniform(0, 100, 400)
repaid = (rng.random(400) < 1 / (1 + np.exp(-(income - 50) / 8))).astype(int)
scores = 1 / (1 + np.exp(-(income - 50) / 4))  # surer of itself than it should be
people = FeatureSchema((Feature("income", low=0, high=100),)).people(income[:, None])

# %%
# The stricter the panel, the more it costs. A weight of 1 finds two people as far apart as their
# incomes are; a weight of 0.2 sees next to no difference.

weights = (0.2, 0.5, 1.0, 2.0)
prices = []
for weight in weights:
    panel = Panel([MetricAuditor("regulator", WeightedL1({"income": weight}))], "any")
    prices.append(audit(people, scores, panel, alpha=0.1, labels=repaid).price)

figure, ax = plt.subplots(figsize=(6, 3.4))
ax.plot(weights, [price.model for price in prices], "o:", label="the model, as chances")
ax.plot(weights, [price.best_fair for price in prices], "o-", label="the best that would pass")
ax.plot(weights, [price.best for price in prices], "o--", label="the best without a panel")
ax.set(xlabel="weight of income in the auditor's distance", ylabel="error", ylim=(0, None))
ax.legend(frameon=False)
figure.tight_layout()
