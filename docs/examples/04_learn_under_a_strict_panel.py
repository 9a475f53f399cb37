"""
Learn under a strict panel
==========================

A lender meets eight applicants a round before five auditors, of whom one objection suffices. The
learner keeps violations rare and pays with wrong decisions; one that ignores it does neither.
"""

import matplotlib.pyplot as plt
import numpy as np

from likewise import Learner
from likewise.simulate import Loans, accuracy_only, play

world = Loans(seed=5, rule="any")
classes = world.hypotheses()
learner = Learner(classes, k=8, alpha=0.3, eps=0.3, seed=1)
games = {
    "with the panel": play(world, learner, rounds=600),
    "ignores the panel": play(world, accuracy_only(classes, 8, 0.3, 0.3, 1), rounds=600),
}

# %%
# Rounds so far in which some pair was treated too differently, and the share of wrong decisions.

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2))
for name, game in games.items():
    left.plot(np.cumsum(game.violation), label=name)
    right.plot(np.cumsum(game.error) / np.arange(8, 4801, 8), label=name)
left.set(xlabel="round", title="rounds in violation")
right.set(xlabel="round", title="wrong decisions, share so far", ylim=(0, None))
left.legend(frameon=False)
figure.tight_layout()
print(games["with the panel"].state.reports, "reports of 600 rounds")
