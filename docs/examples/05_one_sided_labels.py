"""
One-sided labels
================

Who is rejected never shows whether they would have repaid. With ``feedback="one-sided"`` the
learner makes up for labels that nobody sees.
"""

import matplotlib.pyplot as plt
import numpy as np

from likewise import Learner, State, deploy, learn
from likewise.errors import EventRefused
from likewise.simulate import Loans

world = Loans(seed=3)
learner = Learner(world.hypotheses(), k=8, alpha=0.3, eps=0.3, seed=4, feedback="one-sided")
state = State.start(learner)

wrong = []
for t in range(1, 401):
    met = world.encounter(t)
    state, round_ = deploy(state, met.people)
    labels = {
        person: int(label)
        for person, label, approved in zip(round_.ids, met.labels, round_.approved, strict=True)
        if approved  # of nobody else will it ever be known
    }
    report = met.panel.audit(met.people, round_.units, learner.sensitivity)
    state = learn(state, round_, labels=labels, report=report.pairs)
    wrong.append((round_.approved != met.labels).mean())

print(
    f"wrong decisions: {sum(wrong[:100]):.0f} % in the first 100 rounds, "
    f"{sum(wrong[-100:]):.0f} % in the last"
)
figure, ax = plt.subplots(figsize=(6, 3))
ax.plot(np.cumsum(wrong) / np.arange(1, 401))
ax.set(xlabel="round", ylabel="wrong decisions, share so far", ylim=(0, None))
figure.tight_layout()

# %%
# A label of somebody who was rejected is refused, since nobody can know it.

state, round_ = deploy(state, world.encounter(401).people)
rejected = next(p for p, yes in zip(round_.ids, round_.approved, strict=True) if not yes)
try:
    learn(state, round_, labels={rejected: 1}, report=None)
except EventRefused as error:
    print(error)
