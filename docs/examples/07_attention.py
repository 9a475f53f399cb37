"""
Ask a panel only what is not known
==================================

A panel that reports seldom need not look at everything. A model of the panel learns from its
reports which pairs it would pass; chance shows some rounds whole, so that what nobody saw has an
estimate with an interval.
"""

import matplotlib.pyplot as plt

from likewise import Learner
from likewise.learner.certificate import unseen_reports
from likewise.simulate import Loans, play

world = Loans(seed=3)
shown = {}
for attention in ("everything", "possible", "model"):
    learner = Learner(world.hypotheses(), k=8, alpha=0.3, eps=0.3, seed=3, attention=attention)
    shown[attention] = play(world, learner, 500).state

# %%
# Pairs that were put before the panel in 500 rounds:

figure, ax = plt.subplots(figsize=(6, 2.4))
ax.barh(list(shown), [state.looks.pairs for state in shown.values()])
ax.set(xlabel="pairs shown")
figure.tight_layout()
for name, state in shown.items():
    print(f"{name:12}{state.looks.rounds:6,} rounds looked at, {state.reports} reports")

# %%
# What the panel would have reported, had it been asked:

unseen = unseen_reports(shown["model"])
print(f"about {unseen.estimate:.0f}, between {unseen.low} and {unseen.high}")
