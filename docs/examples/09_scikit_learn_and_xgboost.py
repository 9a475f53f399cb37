"""
scikit-learn and XGBoost
========================

``LikewiseClassifier`` is an estimator with a panel; XGBoost, like whatever has ``predict_proba``,
can be audited as it is.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import cross_val_score, train_test_split
from xgboost import XGBClassifier

from likewise import FeatureSchema, LikewiseClassifier, MetricAuditor, Panel, audit
from likewise.panel import WeightedL1

rng = np.random.default_rng(1)
frame = pd.DataFrame({"income": rng.uniform(0, 100, 800), "debt": rng.uniform(0, 50, 800)}).round(1)
repaid = (rng.random(800) < 1 / (1 + np.exp(-(frame["income"] - frame["debt"] - 30) / 8))).astype(
    int
)
scales = {"income": 100.0, "debt": 50.0}
panel = Panel(
    [MetricAuditor("regulator", WeightedL1({"income": 0.7, "debt": 0.3}, scales=scales))], "any"
)

# %%
# Both on rows that they have not seen: the area under the curve, and what the panel would report.

models = {
    "XGBoost": XGBClassifier(n_estimators=60, max_depth=4, n_jobs=1),
    "with a panel": LikewiseClassifier(panel=panel, k=8, alpha=0.2, eps=0.2),
}
train, test, known, outcome = train_test_split(frame, repaid, random_state=0)
people = FeatureSchema.from_frame(test).people(test)
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 2.2), sharey=True)
for name, model in models.items():
    area = cross_val_score(model, frame, repaid, scoring="roc_auc", cv=3).mean()
    scores = model.fit(train, known).predict_proba(test)[:, 1]
    reported = audit(people, scores, panel, alpha=0.2).share
    print(f"{name:14}area {area:.2f}, pairs reported {reported.value:.1%}")
    left.barh(name, area)
    right.barh(name, 100 * reported.value)
left.set(xlabel="area under the curve", xlim=(0.5, 1))
right.set(xlabel="pairs reported, %")
figure.tight_layout()
