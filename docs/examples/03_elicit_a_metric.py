"""
Elicit a metric from fifty judgements
=====================================

Few people can write down a weight for every feature; most can say of two applicants whether they
are alike. From fifty such judgements a metric is fitted, with intervals.
"""

import matplotlib.pyplot as plt
import numpy as np

from likewise import Feature, FeatureSchema
from likewise.audits import Judgement, elicit, questions

names = ("income", "debt", "shoe size")
schema = FeatureSchema(tuple(Feature(name, low=0, high=1) for name in names))
people = schema.people(np.random.default_rng(3).random((120, 3)).round(3))

# %%
# This member weighs income and debt, and responds with some noise. In earnest a page asks
# (``likewise elicit people.csv --page judge.html``).

rng = np.random.default_rng(4)
place = people.ids.index


def distance(person, other):
    return np.abs(people.x[place(person)] - people.x[place(other)]) @ [0.7, 0.4, 0.0]


def judge(person, other, third=""):
    if third:  # to which of the two is the first closer?
        closer = min((other, third), key=lambda name: distance(person, name))
        return Judgement("ann", person, other, closer, third)
    apart = distance(person, other) + rng.logistic(scale=0.03)
    limits = ((0.2, "alike"), (0.5, "a little different"), (np.inf, "very different"))
    return Judgement("ann", person, other, next(word for limit, word in limits if apart < limit))


fitted = elicit(people, [judge(*question) for question in questions(people, 50, seed=5)])

# %%
# The weights with intervals of 90 %; crosses are the member's own.

weights = fitted.fits["ann"].weights
figure, ax = plt.subplots(figsize=(6, 2.6))
for place, name in enumerate(names):
    interval = weights[name]
    ax.plot([interval.low, interval.high], [place, place], lw=4, alpha=0.4)
    ax.plot(interval.value, place, "o", color="black")
ax.plot([0.7, 0.4, 0.0], range(3), "x", color="red")
ax.set(yticks=range(3), yticklabels=names, xlabel="weight")
figure.tight_layout()
print(fitted)
