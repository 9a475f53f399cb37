"""Junk in place of any argument of anything public: refused with a LikewiseError, or taken.

Nothing else may come out, warnings included. What is missing altogether is a TypeError of Python's.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import likewise
from likewise import (
    hypotheses,
    testing,
)
from likewise import (
    learner as learning,
)
from likewise import (
    panel as auditing,
)
from likewise import (
    simulate as evaluation,
)
from likewise import (
    simulate as game,
)
from likewise.errors import LikewiseError, MergedHypotheses, SchemaAdvice
from likewise.hypotheses import Cut, Pool, Segments
from likewise.learner import (
    Learner,
    Margins,
    Paper,
    PaperOneSided,
    SelfTuned,
    State,
    apply,
    decide,
    dump_state,
    events,
    learn,
)
from likewise.learner.attention import Share
from likewise.learner.bounds import bounds, theorem_e_geometric
from likewise.learner.certificate import certificate
from likewise.learner.costs import Additive, Geometric, dual_from_spec
from likewise.learner.events import (
    Arrived,
    Audited,
    Closed,
    Decided,
    Decision,
    Labelled,
    Overridden,
    Person,
    Sealed,
)
from likewise.learner.oracle import ENGINES, Oracle, load_engine
from likewise.learner.players import ContextFTPL, ExponentialWeights, NestedFTPL
from likewise.learner.rounds import deploy
from likewise.numerics.fixed_point import ONE, from_units, to_units
from likewise.numerics.randomness import Noise, Purpose, Stream
from likewise.panel import (
    AllPairs,
    MemberObjections,
    MetricAuditor,
    Objections,
    Pair,
    Panel,
    Ratings,
    Turns,
    WeightedL1,
    ask_in_turn,
    majority,
    parse_rule,
)
from likewise.people import Feature, FeatureSchema, People
from likewise.registry import HYPOTHESES, METRICS, PLAYERS, SELECTIONS, Registry
from likewise.simulate import Constraints, Delay, Faced, Loans
from likewise.simulate.rounds import play


def forever() -> Iterator[int]:
    yield 1


JUNK: tuple[Callable[[], Any], ...] = (
    lambda: None, lambda: "", lambda: "3", lambda: "\ud800", lambda: b"x", lambda: math.nan,
    lambda: math.inf, lambda: 2.5, lambda: -1, lambda: 0, lambda: True, lambda: 10**400,
    lambda: 1j, list, lambda: [None], lambda: [[1], [1, 2]], dict, lambda: {"a": 1},
    lambda: (), set, object, forever, lambda: np.float32("nan"), lambda: np.int64(-3),
    lambda: np.array([0.1, 0.2]), lambda: np.array("x"), lambda: np.array([], dtype=object),
    lambda: np.datetime64("2026-01-01"), lambda: Decimal("sNaN"), lambda: len, lambda: int,
)  # fmt: skip

SCHEMA = FeatureSchema(
    (
        Feature("income", low=0, high=100),
        Feature("age", "integer", 18, 99),
        Feature("purpose", "category", levels=("car", "home")),
        Feature("owner", "flag"),
        Feature("debtor", "flag"),
    )
)
FRAME = pd.DataFrame({
    "person": ["ann", "bo"], "income": [20.0, 70.0], "age": [30, 60], "purpose": ["car", "home"],
    "owner": [True, False], "debtor": [False, True],
})  # fmt: skip
ROWS = [[20.0, 30, "car", 1, 0], [70.0, 60, "home", 0, 1]]
PEOPLE = SCHEMA.people(ROWS, ids=["ann", "bo"])
REFERENCE = np.array([[10.0, 20, 0, 0, 0], [50.0, 40, 1, 1, 0], [90.0, 80, 1, 0, 1]])
POOL = Pool.from_scores(SCHEMA, ["income"], [30.0, 60.0], REFERENCE)
LENDER = Segments(SCHEMA, score="income", cuts=[50], by=["purpose"])
LEARNER = Learner(POOL, 3, 0.3, 0.3, 1)
PANEL = Panel([MetricAuditor("j1", WeightedL1({"income": 0.5}))], "any")
SAID = Objections(("ann", "bo"), {"j1": MemberObjections(pairs=[("ann", "bo")])})
SCORES = np.array([ONE, 0])
START = State.start(LEARNER)
ARRIVED = apply(START, Arrived("r", tuple(map(Person, PEOPLE.ids, map(tuple, PEOPLE.x.tolist())))))
DECIDED = apply(ARRIVED, decide(ARRIVED, "r"))
SEALED = apply(DECIDED, Sealed("r", "five"))
AUDITED = apply(SEALED, Audited("r", "unaudited"))
DEPLOYED, DEPLOYMENT = deploy(START, PEOPLE)
STREAM = Stream(1, Purpose.WORLD, 1)
FACED = Faced(np.array([[0, 1], [1, 1]]), np.array([0, 1]), np.array([[0, ONE], [ONE, 0]]))
PAIR = Pool.from_table([[0, 1], [1, 1]])
DECISION = Decision("bo", True, 5)
PAIR_CONSTRAINT = Constraints(
    np.array([1.0, -1.0]), 1, np.array([0]), np.array([1]), np.array([0.25])
)


@dataclass(frozen=True)
class Call:
    """Something public with arguments that fit."""

    function: Callable[..., Any]
    given: Mapping[str, Any]


def call(function: Callable[..., Any], /, **given: Any) -> Call:
    return Call(function, given)


EXAMPLES: dict[str, Call] = {
    # schema
    "Feature": call(
        Feature, name="a", kind="category", low=0, high=1, levels=("x", "y"), label="", unit="",
        visible=True, missing=None,
    ),
    "Feature.encode": call(SCHEMA["purpose"].encode, value="car", person="ann"),
    "Feature.checked": call(SCHEMA["age"].checked, value=20, person="ann"),
    "Feature.say": call(SCHEMA["purpose"].say, number=1.0),
    "Feature.from_spec": call(Feature.from_spec, spec={"name": "a"}),
    "FeatureSchema": call(FeatureSchema, features=SCHEMA.features),
    "FeatureSchema.people": call(SCHEMA.people, rows=ROWS, ids=["ann", "bo"]),
    "FeatureSchema.people of a frame": call(
        SCHEMA.people, rows=FRAME, ids="person", others="refuse"
    ),
    "FeatureSchema.from_frame": call(
        FeatureSchema.from_frame, frame=FRAME, ids="person", leave_out=("age",)
    ),
    "FeatureSchema.scan": call(SCHEMA.scan, source=FRAME, ids="person"),
    "FeatureSchema.encoded": call(SCHEMA.encoded, rows=REFERENCE, ids=["ann", "bo", "cy"]),
    "FeatureSchema.place": call(SCHEMA.place, name="age"),
    "FeatureSchema.from_spec": call(FeatureSchema.from_spec, spec=SCHEMA.spec()),
    "People": call(People, ids=("ann", "bo"), x=PEOPLE.x, schema=SCHEMA),
    "People.column": call(PEOPLE.column, name="age"),
    "People.take": call(PEOPLE.take, places=[1, 0]),
    # hypotheses
    "Cut": call(Cut, column="income", at=3.0),
    "Pool": call(Pool, schema=SCHEMA, cuts=POOL.cuts, reference=REFERENCE),
    "Pool.from_table": call(Pool.from_table, table=[[0, 1], [1, 1]]),
    "Pool.from_scores": call(
        Pool.from_scores, schema=SCHEMA, columns=["income"], cuts=[30.0, 60.0], reference=REFERENCE
    ),
    "Pool.from_frame": call(
        Pool.from_frame, frame=FRAME, columns=["income"], cuts=[30.0], schema=SCHEMA, ids="person"
    ),
    "Pool.from_models": call(
        Pool.from_models, models={"m": lambda frame: frame["income"] / 100}, frame=FRAME, cuts=2,
        schema=SCHEMA, ids="person",
    ),
    "Pool.from_spec": call(Pool.from_spec, spec=POOL.spec()),
    "Segments": call(Segments, schema=SCHEMA, score="income", cuts=[50.0], by=["purpose"]),
    "Staircases": call(
        hypotheses.Staircases, schema=SCHEMA, first="income", first_cuts=[50.0], second="age",
        second_cuts=[40.0], by=["owner"],
    ),
    "Conjunctions": call(hypotheses.Conjunctions, schema=SCHEMA, columns=["owner"]),
    "Disjunctions": call(hypotheses.Disjunctions, schema=SCHEMA, columns=["owner"]),
    "Parities": call(hypotheses.Parities, schema=SCHEMA, columns=["owner"], complements=True),
    "DecisionLists": call(
        hypotheses.DecisionLists, schema=SCHEMA, columns=["owner", "debtor"], length=2
    ),
    "Stumps": call(hypotheses.Stumps, schema=SCHEMA, cuts={"income": [50.0]}),
    "Trees": call(hypotheses.Trees, schema=SCHEMA, cuts={"income": [50.0]}, reference=REFERENCE),
    "LinearByIntercepts": call(
        hypotheses.LinearByIntercepts, schema=SCHEMA, columns=["income"], intercepts=[50.0],
        flips=True,
    ),
    "class_from_spec": call(hypotheses.class_from_spec, spec=LENDER.spec()),
    "greedy_separating_set": call(
        hypotheses.greedy_separating_set, bits=np.array([[0, 1], [1, 1]], dtype=np.uint8)
    ),
    "verify_separating_set": call(hypotheses.verify_separating_set, hypotheses=POOL),
    # oracles
    "Oracle": call(Oracle, hypotheses=POOL, engine="reference"),
    "Oracle.approvals": call(
        Oracle(POOL, "reference").approvals, costs=POOL.no_costs(), noise=Noise(STREAM, 1.0),
        points=POOL.locate(PEOPLE), draws=3, first_draw=0,
    ),
    "load_engine": call(load_engine, name="reference"),
    # auditing
    "WeightedL1": call(WeightedL1, weights={"income": 0.5}, scales={"income": 100.0}),
    "Mahalanobis": call(auditing.Mahalanobis, features=["income"], matrix=[[1.0]], scale=100.0),
    "Masked": call(auditing.Masked, base=WeightedL1({"income": 0.5}), features=["income"]),
    "Ratings": call(Ratings, ratings={"ann": 0.5, "bo": 0.25}, low=0.0, high=1.0),
    "FromFunction": call(auditing.FromFunction, function=lambda a, b: float(a == b)),
    "FromColumns": call(auditing.FromColumns, function=lambda a, b: 0 * a["income"] * b["income"]),
    "Sides": call(auditing.Sides, left=PEOPLE, right=PEOPLE, paired=True),
    "MetricAuditor.between": call(
        MetricAuditor("j", Ratings("owner")).between, sides=auditing.Sides(PEOPLE, PEOPLE)
    ),
    "METRICS.read": call(METRICS.read, spec=WeightedL1({"income": 1}).spec()),
    "MetricAuditor": call(MetricAuditor, name="j1", distance=Ratings("income", 0, 100)),
    "MetricAuditor.distances": call(MetricAuditor("j", Ratings("owner")).distances, people=PEOPLE),
    "MetricAuditor.from_spec": call(
        MetricAuditor.from_spec, spec={"name": "j1", "distance": Ratings("owner").spec()}
    ),
    "Panel": call(Panel, auditors=PANEL.auditors, rule="any"),
    "Panel.from_spec": call(Panel.from_spec, spec=PANEL.spec()),
    "Panel.distances": call(PANEL.distances, people=PEOPLE),
    "Panel.pivots": call(PANEL.pivots, people=PEOPLE),
    "Panel.objections": call(PANEL.objections, people=PEOPLE, scores=SCORES, sensitivity=0),
    "Panel.violations": call(PANEL.violations, people=PEOPLE, scores=SCORES, sensitivity=0),
    "Panel.audit": call(
        PANEL.audit, people=PEOPLE, scores=SCORES, sensitivity=0, selection=AllPairs(), round=1
    ),
    "Pair": call(Pair, first="ann", second="bo"),
    "Pair.of": call(Pair.of, two=("ann", "bo")),
    "MemberObjections": call(
        MemberObjections, present=True, pairs=[("ann", "bo")], reasons={("ann", "bo"): "why"}
    ),
    "Objections": call(Objections, people=("ann", "bo"), members={"j1": MemberObjections()}),
    "Objections.votes": call(SAID.votes, members=["j1"]),
    "report": call(
        auditing.report, rule="any", objections=SAID, scores=SCORES, selection=None, round=1
    ),
    "Report": call(auditing.Report, pairs=(("ann", "bo"),)),
    "decisive": call(auditing.decisive, rule="any", objections=SAID, pair=("ann", "bo")),
    "Agreement.of": call(
        auditing.Agreement.of, objections=SAID, shown_pairs=[("ann", "bo")]
    ),
    "consistency": call(
        auditing.consistency, first=MemberObjections(), second=MemberObjections(),
        shown_pairs=[("ann", "bo")],
    ),
    "krippendorff_alpha": call(auditing.krippendorff_alpha, ratings=[("a", "a"), ("a", "b")]),
    "panel_name": call(auditing.panel_name, members=["j1"], rule="any"),
    "exceeding_pairs": call(
        auditing.exceeding_pairs, scores=SCORES, distances=np.zeros((2, 2), dtype=np.int64),
        sensitivity=0,
    ),
    "exceeds": call(auditing.exceeds, gap=5, distance=3, sensitivity=1),
    "parse_rule": call(parse_rule, text="any"),
    "as_rule": call(auditing.as_rule, rule="any"),
    "Rule.fires": call(majority().fires, votes=[True], members=["j1"]),
    "Rule.decisive": call(majority().decisive, votes=[True], members=["j1"]),
    "Rule.pivot": call(majority().pivot, distances=np.array([0.5]), members=["j1"]),
    "Rule.check": call(majority().check, members=["j1"]),
    "Rule.can_fire": call(majority().can_fire, members=["j1"]),
    "AtLeast": call(auditing.AtLeast, votes=2, of=("j1", "j2")),
    "AtLeast.needed": call(auditing.at_least("80%").needed, n=5),
    "Share": call(auditing.Share, fraction=Fraction(1, 2), strict=False),
    "Weighted": call(auditing.Weighted, weights={"j1": 1}, threshold=1),
    "Objects": call(auditing.Objects, member="j1"),
    "And": call(auditing.And, parts=(parse_rule("any"), parse_rule("all"))),
    "Or": call(auditing.Or, parts=(parse_rule("any"), parse_rule("all"))),
    "objects": call(auditing.objects, member="j1"),
    "veto": call(auditing.veto, member="j1"),
    "at_least": call(auditing.at_least, votes=1, of=["j1"]),
    "more_than": call(auditing.more_than, share="1/2", of=["j1"]),
    "majority": call(lambda one: majority("j2", one), one="j1"),
    "any_of": call(lambda one: auditing.any_of("j2", one), one="j1"),
    "all_of": call(lambda one: auditing.all_of("j2", one), one="j1"),
    "from_function": call(auditing.from_function, f=lambda v: v[0], members=["j1"]),
    "RandomPair": call(auditing.RandomPair, seed=3),
    "SELECTIONS.read": call(SELECTIONS.read, spec={"selection": "first"}),
    # learning
    "Learner": call(
        Learner, hypotheses=POOL, k=3, alpha=0.3, eps=0.3, seed=1, schedule=SelfTuned(),
        player="auto", engine="reference", ignores_reports=False, feedback="full",
        attention=Share(1.0), open_limit=10, scales="shared", dual="gradient",
    ),
    "Learner.from_spec": call(Learner.from_spec, spec=LEARNER.spec()),
    "Margins": call(Margins, alpha=0.3, eps=0.3, kappa=0.1, r=0.1),
    "SelfTuned": call(
        SelfTuned, eta=0.25, x=1.0, kappa=0.1, r=0.1, delta=0.05, outstanding=1.0,
        waiting=0.25,
    ),
    "Paper": call(
        Paper, horizon=100, b=0.0, draws_rule="paper", delta=0.05, noise_divisor=1.0,
    ),
    "PaperOneSided": call(PaperOneSided, horizon=100, omega_constant=512),
    "ContextFTPL": call(ContextFTPL, engine="reference", per_part=False),
    "NestedFTPL": call(NestedFTPL, engine="reference"),
    "ExponentialWeights": call(ExponentialWeights, per_part=False),
    "Additive": call(Additive, gamma=0.1),
    "Geometric": call(Geometric, gamma=0.1, theta=0.1),
    "dual_from_spec": call(dual_from_spec, spec={"dual": "additive", "gamma": 0.1}),
    "ExactWeights.with_prior": call(PAIR.with_prior, prior=[0.5, 0.5]),
    "Segments.with_prior": call(LENDER.with_prior, prior="flat"),
    "State": call(State, learner=LEARNER, costs=POOL.no_costs(), kappa=0.05),
    "State.start": call(State.start, learner=LEARNER),
    "apply": call(apply, state=SEALED, event=Audited("r", "quiet")),
    "decide": call(decide, state=ARRIVED, round_id="r"),
    "asking": call(learning.asking, state=DECIDED, round_id="r"),
    "deploy": call(deploy, state=START, people=PEOPLE, round_id="x", panel="p"),
    "learn": call(
        learn, state=DEPLOYED, deployment=DEPLOYMENT, labels={"ann": 1}, report=()
    ),
    "dump_state": call(dump_state, state=START),
    "parse_state": call(
        learning.parse_state, content=dump_state(START), source="x", learner=LEARNER
    ),
    "load_state": call(learning.load_state, path="nowhere", learner=None),
    "save_state": call(learning.save_state, state=START, path="/nowhere/at/all"),
    "bounds": call(bounds, learner=LEARNER, rounds=10, delay=0, pieces=1),
    "theorem_e_geometric": call(theorem_e_geometric, learner=LEARNER, rounds=10, delay=0),
    "certificate": call(certificate, state=DEPLOYED, delay=0, confidence=0.9),
    # events: made of junk, and applied
    "Person": call(Person, id="ann", features=(1.0,)),
    "Arrived": call(Arrived, round="r", people=(Person("ann", (1.0,)),)),
    "Decided": call(Decided, round="r", decisions=(DECISION,)),
    "Decision": call(
        Decision, person="ann", approved=True, score=3, inverse_chance=None, experts=None
    ),
    "Overridden": call(Overridden, round="r", person="ann", approved=True),
    "Sealed": call(Sealed, round="r", panel="p"),
    "Audited": call(Audited, round="r", outcome="report", pairs=(("ann", "bo"),)),
    "Labelled": call(Labelled, round="r", person="ann", label=1),
    "Closed": call(Closed, round="r"),
    "event_to_json": call(events.event_to_json, event=Closed("r")),
    "event_from_json": call(events.event_from_json, data={"event": "closed", "round": "r"}),
    "apply Arrived": call(
        lambda round, id, features: apply(START, Arrived(round, (Person(id, features),))),
        round="r", id="ann", features=tuple(PEOPLE.x[0].tolist()),
    ),
    "apply Arrived, one feature": call(
        lambda value: apply(START, Arrived("r", (Person("ann", (value, 30, 1, 1, 0)),))), value=20.0
    ),
    "apply Arrived again": call(
        lambda value: apply(ARRIVED, Arrived("r", (Person("ann", (value, 30, 0, 1, 0)),))),
        value=20.0,
    ),
    "apply Decided": call(
        lambda person, approved, score, inverse: apply(
            ARRIVED, Decided("r", (Decision(person, approved, score, inverse), DECISION))
        ),
        person="ann", approved=True, score=5, inverse=None,
    ),
    "apply Overridden": call(
        lambda round, person, approved: apply(DECIDED, Overridden(round, person, approved)),
        round="r", person="ann", approved=True,
    ),
    "apply Sealed": call(lambda round, panel: apply(DECIDED, Sealed(round, panel)),
                         round="r", panel="p"),
    "apply Audited": call(
        lambda round, outcome, pairs: apply(SEALED, Audited(round, outcome, pairs)),
        round="r", outcome="report", pairs=(("bo", "ann"),),
    ),
    "apply Audited, one pair": call(
        lambda over, under: apply(SEALED, Audited("r", "report", ((over, under),))),
        over="bo", under="ann",
    ),
    "apply Labelled": call(
        lambda round, person, label: apply(SEALED, Labelled(round, person, label)),
        round="r", person="ann", label=1,
    ),
    "apply Closed": call(lambda round: apply(AUDITED, Closed(round)), round="r"),
    # audits
    "audit": call(
        likewise.audit, people=PEOPLE, scores=[1.0, 0.25], panel=PANEL, alpha=0.1, labels=[0, 1],
        groups=("owner",), hypotheses=None, rules=("any",), alphas=(0.0, 0.5), worst=3,
        all_pairs_up_to=10, sample_pairs=1000, seed=1, jobs=1, progress=False,
    ),
    "Survey": call(likewise.Survey, judgements={}, rule=parse_rule("any"), reasons={}),
    "Survey.from_rows": call(
        likewise.Survey.from_rows, rows=[("ann", "bo", "j1", 1)], rule="any"
    ),
    "Survey.read_csv": call(
        likewise.Survey.read_csv, path="nowhere", rule="any", person="a", other="b", member="c",
        objects="d", reason="e",
    ),
    # game and evaluation
    "play": call(
        play, world=Loans(1, k=3), learner=Learner(Loans(1).hypotheses(), 3, 0.3, 0.3, 1),
        rounds=1, selection=AllPairs(), delay=Delay(), evaluation_draws=5, record=False,
        keep=bool, progress=print,
    ),
    "play with draws": call(
        lambda draws: play(
            Loans(1, k=3),
            Learner(Loans(1).hypotheses(), 3, 0.4, 0.4, 1, player="context-ftpl"),
            1, evaluation_draws=draws,
        ),
        draws=5,
    ),
    "Delay": call(Delay, rounds=3, chance=0.5),
    "parse_delay": call(game.parse_delay, text="3"),
    "Faced": call(Faced, points=FACED.points, labels=FACED.labels, pivots=FACED.pivots),
    "best_fair_policy": call(
        evaluation.best_fair_policy, hypotheses=PAIR, rounds=[FACED], slack=0.0
    ),
    "best_passing_policy": call(
        evaluation.best_passing_policy, hypotheses=POOL, people=PEOPLE, labels=np.array([0, 1]),
        panel=PANEL, alpha=0.1,
    ),
    "best_fair_by_columns": call(
        evaluation.best_fair_by_columns, constraints=PAIR_CONSTRAINT,
        search=lambda costs: costs < 0, exact=True,
    ),
    "Comparators": call(
        evaluation.Comparators, at_alpha_less_eps=3.0, at_alpha_less_kappa=2.0, at_alpha=1.0
    ),
    "slacks_of": call(evaluation.slacks_of, learner=LEARNER),
    "compare_with_fixed": call(
        evaluation.compare_with_fixed, learner=LEARNER, hypotheses=PAIR, rounds=[FACED]
    ),
    "Delays": call(game.Delays, audits=Delay(1), labels=Delay(2)),
    "faced_rounds": call(
        evaluation.faced_rounds, encounters=[Loans(1).encounter(1)],
        hypotheses=Loans(1).hypotheses(),
    ),
    # numbers, streams, registries
    "to_units": call(to_units, value=0.5),
    "from_units": call(from_units, units=3),
    "Stream": call(Stream, seed=1, purpose=Purpose.WORLD, round=1),
    "Stream.below": call(STREAM.below, n=5),
    "Noise": call(Noise, stream=STREAM, scale=1.0, copies=1),
    "Registry": call(PLAYERS.__getitem__, name="context-ftpl"),
    "Registry.__contains__": call(PLAYERS.__contains__, name="context-ftpl"),
    "Registry.check_name": call(
        PLAYERS.check_name, name="exponential-weights", part=ExponentialWeights
    ),
    "Registry.add": call(
        lambda name, thing: Registry("nothing", "nothing", "panel", {}).add(name, thing),
        name="a", thing=3,
    ),
    # testing
    "people_of": call(testing.people_of, schema=SCHEMA, count=3, seed=1),
    "check_hypotheses": call(testing.check_hypotheses, hypotheses=PAIR, people=None, seed=1),
    "check_player": call(testing.check_player, player=None, hypotheses=PAIR, seed=1),
    "check_schedule": call(testing.check_schedule, schedule=None),
    "check_metric": call(testing.check_metric, metric=Ratings("owner"), people=PEOPLE),
    "check_selection": call(testing.check_selection, selection=AllPairs(), seed=1),
    "check_world": call(testing.check_world, world=None, rounds=2, seed=1),
    "check_attention": call(testing.check_attention, attention="possible", seed=1),
    "Turns": call(Turns, asked={"ann": 1}, views={}),
    "ask_in_turn": call(
        ask_in_turn, rule=majority(), members=["ann", "bo"], votes=np.array([[True], [False]]),
        turns=Turns(), inputs=np.ones((1, 2)),
    ),
    "check_baseline": call(testing.check_baseline, baseline=None, hypotheses=PAIR),
}  # fmt: skip

MODULES = (
    "likewise", "likewise.hypotheses", "likewise.learner", "likewise.learner.events",
    "likewise.panel", "likewise.people", "likewise.simulate", "likewise.testing",
)  # fmt: skip
NOT_CALLED = {
    "LikewiseClassifier": "an estimator refuses when it is fitted: see test_estimator",
    "ColumnPolicy": "a result", "exact_search": "a function of a class and its points",
    "Agreement": "a result", "MemberAgreement": "a result", "Consistency": "a result",
    "Pivots": "a result", "BestFair": "a result", "Constraints": "checked by who solves them",
    "Audit": "a result", "Origin": "made of a frame",
    "Deployment": "a result", "Moment": "a result", "Transcript": "a result",
    "Baseline": "a type",
    "baseline": "a decorator", "accuracy_only": "see check_baseline",
    "constant": "see check_baseline", "untaught": "see check_baseline",
    "ComparatorError": "an error", "ContractError": "an error",
    "Never": "no argument", "never": "no argument", "AllPairs": "no argument",
    "FirstPair": "no argument", "LargestGap": "no argument",
    "HypothesisClass": "abstract", "ExactWeights": "abstract", "Listed": "see test_listed",
    "GibbsPolicy": "abstract", "Nested": "made by a class", "Certificate": "a result",
    "Metric": "abstract", "Selection": "abstract", "Player": "abstract", "Schedule": "abstract",
    "Rule": "abstract", "Distance": "a type", "Bits": "a type", "Points": "a type",
    **dict.fromkeys(
        ("Adaptive", "Adversarial", "Course", "Drift", "Encounter", "Loans",
         "Memoryless", "Recorded", "Resampled", "Setting", "Steady", "Strategic", "Turnover",
         "View", "World", "setting", "settings_of"),
        "see test_worlds and test_settings",
    ),
    "MissingDataError": "an error", "Event": "a type", "Outcome": "a type", "Kind": "a type",
    "Value": "a type", "decision_from_json": "part of event_from_json", "listed": "part of events",
}  # fmt: skip


def _public_names(module: Any) -> list[str]:
    """Those of ``__all__``, or all that the module itself defines."""
    defined = [
        name for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]  # fmt: skip
    return list(getattr(module, "__all__", defined))


def test_everything_public_is_tried() -> None:
    for module in MODULES:
        names = _public_names(import_module(module))
        public = {name for name in names if callable(getattr(import_module(module), name))}
        missing = public - set(EXAMPLES) - set(NOT_CALLED)
        assert not missing, f"{module}: add a call to EXAMPLES, or a reason to NOT_CALLED"


def test_a_public_name_means_one_thing() -> None:
    """Or else one of two parts would be tried, and the other would pass by its name."""
    meanings: dict[str, object] = {}
    for module in map(import_module, MODULES):
        for name in _public_names(module):
            value = getattr(module, name)
            assert meanings.setdefault(name, value) is value, f"{name}: also elsewhere"


@pytest.mark.parametrize("label", EXAMPLES)
def test_nothing_but_a_refusal_comes_out(
    label: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    example = EXAMPLES[label]
    escaped = []
    for name in example.given:
        for make in JUNK:
            junk = make()
            if callable(junk) and name in ("keep", "progress"):
                continue  # what the caller's own function raises is the caller's
            try:
                example.function(**{**example.given, name: junk})
            except (MergedHypotheses, SchemaAdvice):
                continue  # warnings of ours, which the tests turn into errors
            except LikewiseError as error:
                if not str(error):
                    escaped.append(f"{name}={junk!r}: a refusal without a word")
            except BaseException as error:  # noqa: BLE001 - that is what is looked for
                escaped.append(f"{name}={str(junk)[:30]!r}: {type(error).__name__}: {error}")
    assert not escaped, "\n".join([label, *escaped])


@pytest.mark.parametrize("label", EXAMPLES)
def test_the_arguments_that_fit_are_taken(label: str) -> None:
    """Or else the test above would try nothing. These need a file, or take too long each time."""
    refused = (
        "load_state", "save_state", "Survey.read_csv", "check_player", "check_schedule",
        "check_world", "check_baseline", "check_attention",
    )  # fmt: skip
    example = EXAMPLES[label]
    if label in refused:
        with pytest.raises(LikewiseError):
            example.function(**example.given)
    else:
        example.function(**example.given)


@pytest.mark.parametrize("label", EXAMPLES)
def test_a_missing_argument_is_pythons_own_error(label: str) -> None:
    example = EXAMPLES[label]
    needed = [
        p.name
        for p in inspect.signature(example.function).parameters.values()
        if p.default is p.empty and p.kind is not p.VAR_POSITIONAL
    ]
    if needed:
        with pytest.raises(TypeError):
            example.function()


def test_the_names_that_are_looked_up_late_are_there() -> None:
    for name in likewise.__all__:
        assert getattr(likewise, name) is not None
    assert set(dir(likewise)) >= set(likewise.__all__)
    assert len(HYPOTHESES) >= 9
    assert ENGINES
