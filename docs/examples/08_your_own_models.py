"""
A pool of your own models
=========================

Fitted models become columns, and a pool chooses among their cuts from round to round. No model is
ever saved.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from likewise import Learner, MetricAuditor, Panel, Pool, State, deploy, learn
from likewise.panel import WeightedL1

rng = np.random.default_rng(2)
frame = pd.DataFrame({"income": rng.uniform(0, 100, 900), "debt": rng.uniform(0, 50, 900)}).round(1)
repaid = (rng.random(900) < 1 / (1 + np.exp(-(frame["income"] - frame["debt"] - 30) / 10))).astype(
    int
)
past, today = slice(0, 300), range(300, 900, 8)
models = {
    "line": LogisticRegression().fit(frame[past], repaid[past]),
    "tree": DecisionTreeClassifier(max_depth=3, random_state=0).fit(frame[past], repaid[past]),
}
pool = Pool.from_models(models, frame[past], cuts=12)
print(pool.size, "hypotheses")

# %%
# Round after round: decide, ask the panel, learn.

panel = Panel([MetricAuditor("regulator", WeightedL1({"income": 0.6, "debt": 0.3}))], "any")
state = State.start(Learner(pool, k=8, alpha=0.2, eps=0.2, seed=1))
scores = []
for start in today:
    rows = frame[start : start + 8]
    people = pool.people(rows)
    state, round_ = deploy(state, people)
    scores += round_.scores.tolist()
    report = panel.audit(people, round_.units, state.learner.sensitivity)
    state = learn(state, round_, labels=repaid[start : start + 8].tolist(), report=report.pairs)
figure, ax = plt.subplots(figsize=(6, 3.4))
dots = ax.scatter(frame["income"][300:], frame["debt"][300:], c=scores, s=12)
ax.set(xlabel="income", ylabel="debt")
figure.colorbar(dots, label="chance of approval")
figure.tight_layout()
print(state.opened, "rounds,", state.reports, "reports")
print(round_.to_frame().head())
