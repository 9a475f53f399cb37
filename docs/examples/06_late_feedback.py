"""
Late feedback
=============

A loan is repaid months later, and the panel meets on Fridays. Everything that comes late is an
event of a round that is still open; the learner sees by itself how much is outstanding.
"""

import matplotlib.pyplot as plt

from likewise import Learner, State, apply, deploy
from likewise.errors import EventRefused
from likewise.learner.events import Audited, Closed, Labelled
from likewise.simulate import Loans

world = Loans(seed=3)
state = State.start(Learner(world.hypotheses(), k=8, alpha=0.3, eps=0.3, seed=4))
for t in (1, 2, 3):
    state, round_ = deploy(state, world.encounter(t).people)
print("open:", list(state.open))

# %%
# On Friday the panel has looked at the second round; a label of the first comes; the third is
# closed without ever having been audited.

someone = world.encounter(1).people.ids[0]
for event in (
    Audited("r2", "quiet"),
    Labelled("r1", someone, 1),
    Audited("r3", "unaudited"),
    Closed("r3"),
):
    state = apply(state, event)
print("open:", list(state.open), "- labels that will never come:", state.missing)

known = {name: len(state.open[name].labels) for name in state.open}
figure, ax = plt.subplots(figsize=(6, 2.4))
ax.barh(list(known), list(known.values()), label="known")
ax.barh(list(known), [8 - n for n in known.values()], left=list(known.values()), label="to come")
ax.barh("r3", state.missing, label="never")
ax.set(xlabel="labels", xlim=(0, 11))
ax.legend(frameon=False)
ax.invert_yaxis()
figure.tight_layout()

# %%
# What comes twice changes nothing; what contradicts the record is refused.

print("the same state:", apply(state, Labelled("r1", someone, 1)) == state)
try:
    apply(state, Labelled("r1", someone, 0))
except EventRefused as error:
    print(error)
