"""
A GPU
=====

An audit of all pairs and the draws of a learner can run on a GPU of NVIDIA. The results are the
same integers; where there is no GPU, a warning says so and the CPU computes them.
"""

import time
import warnings

import matplotlib.pyplot as plt
import numpy as np

from likewise import (
    Feature,
    FeatureSchema,
    Learner,
    MetricAuditor,
    Panel,
    Pool,
    State,
    audit,
    deploy,
)
from likewise.panel import WeightedL1

schema = FeatureSchema((Feature("income", low=0, high=100),))
pool = Pool.from_scores(schema, ["income"], np.linspace(1, 99, 50), np.arange(0.0, 101)[:, None])
incomes = np.linspace(0, 100, 11)
people = schema.people(incomes[:, None])


def scores_with(engine):
    learner = Learner(pool, k=11, alpha=0.3, eps=0.3, seed=1, player="context-ftpl", engine=engine)
    return deploy(State.start(learner), people)[1].scores


with warnings.catch_warnings(record=True) as messages:
    warnings.simplefilter("always")
    on_gpu = scores_with("gpu")
print(str(messages[0].message) if messages else "This page was built on a machine with a GPU.")
on_cpu = scores_with("reference")
print("the same scores:", (on_gpu == on_cpu).all())

figure, ax = plt.subplots(figsize=(6, 3))
ax.plot(incomes, on_cpu, label="reference")
ax.plot(incomes, on_gpu, "x", label="gpu")
ax.set(xlabel="income", ylabel="score")
ax.legend(frameon=False)
figure.tight_layout()

# %%
# An audit uses a GPU by itself where it pays. On the machine that built this page:

rng = np.random.default_rng(0)
many = schema.people(rng.uniform(0, 100, (5000, 1)))
panel = Panel([MetricAuditor("banker", WeightedL1({"income": 1.0}))], "any")
began = time.perf_counter()
result = audit(many, rng.random(5000), panel, alpha=0.2)
print(f"{result.pairs:,} pairs in {time.perf_counter() - began:.1f} s, {result.reported} reported")
