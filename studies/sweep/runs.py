"""One run of a sweep: a game, counted at every horizon beside the best fixed policies."""

import csv
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, cast, get_type_hints

import numpy as np

from likewise import Learner
from likewise.errors import LikewiseError, ParameterError
from likewise.hypotheses import HypothesisClass
from likewise.numerics.fixed_point import FloatArray, IntArray
from likewise.simulate import hindsight, programs
from likewise.simulate.counts import Summary, summarise
from likewise.simulate.game import Game
from likewise.simulate.hindsight import Comparators, Faced, faced_rounds
from likewise.simulate.parallel import Processes, Progress, silent
from likewise.simulate.rounds import Algorithm, Transcript, play
from likewise.simulate.world import Recorded, Steady, World
from likewise.validation import within
from studies.pages import RESULTS
from studies.sweep.spec import Entry, Run, Sweep


@dataclass(frozen=True)
class Row:
    """The counts of one run by one horizon, and the error rates of the best fixed policies."""

    run: str
    scenario: str
    world: str
    world_settings: str
    hypotheses: str
    alpha: float
    eps: float
    feedback: str
    delay: str
    attention: str
    report: str
    learner: str
    settings: str
    configuration: str
    seed: int
    rounds: int
    people: int
    error_rate: float
    realised_error_rate: float
    violations: int
    reports: int = 0
    looks: int = 0
    pairs_shown: int | None = 0
    violations_per_1000_last_quarter: float = 0.0
    largest_gap_last_quarter: float = 0.0
    oracle_calls: int = 0
    regret: float | None = None
    at_alpha_less_eps: float | None = None
    at_alpha_less_kappa: float | None = None
    at_alpha: float | None = None


COLUMNS = tuple(field.name for field in fields(Row))
_TYPES = get_type_hints(Row)


def refuse_early(sweep: Sweep) -> None:
    """Make every world and every learner once, before anything takes time."""
    worlds: dict[str, World] = {}
    for entry in sweep.entries:
        if entry.scenario not in worlds:
            worlds[entry.scenario] = replace(entry.game, seed=sweep.seeds[0]).make_world()
        _check_entry(entry, worlds[entry.scenario])


def _check_entry(entry: Entry, world: World) -> None:
    if entry.price is not None:
        if not isinstance(world, Steady):
            raise ParameterError(
                "prices", "must be left out where the world reacts", entry.scenario,
                "What everybody faces there depends on the learner.",
            )  # fmt: skip
        return
    try:
        learner = entry.game.make_learner(entry.game.make_hypotheses(world), world.k)
    except LikewiseError as error:
        raise LikewiseError(
            f"{entry.title!r} cannot play in {entry.scenario!r}: {error}"
        ) from error
    if isinstance(learner, Algorithm) and entry.game.delay != "0":
        raise ParameterError(
            "delay", f"must be 0 for the learner {entry.learner}", entry.game.delay,
            "It is defined for feedback that comes at once only; restrict it with only.",
        )  # fmt: skip


def play_run(run: Run) -> list[Row]:
    """All rows of a run, a function of the run alone; what does not react is made once."""
    game = run.game
    settings = json.dumps(dict(game.world_settings), sort_keys=True)
    stage = _shared_stage(game.world, settings, game.hypotheses, game.seed, game.rounds)
    return list(_played(run, game, stage) if run.entry.price is None else _in_hindsight(run, stage))


class _Stage:
    """A world with its class; if it is steady, the rounds that everybody faces there."""

    def __init__(self, game: Game) -> None:
        self.world: World = game.make_world()
        self.hypotheses = game.make_hypotheses(self.world)
        self.steady = isinstance(self.world, Steady)
        self._rounds = range(1, game.rounds + 1)
        self._errors: dict[tuple[int, float], float] = {}
        if isinstance(self.world, Steady):
            self.world = Recorded(self.world, game.rounds)

    @cached_property
    def faced(self) -> list[Faced]:
        world = cast(Recorded, self.world)
        return faced_rounds(map(world.encounter, self._rounds), self.hypotheses)

    def best(self, rounds: int, slack: float) -> float:
        if (rounds, slack) not in self._errors:
            policy = hindsight.best_fair_policy(self.hypotheses, self.faced[:rounds], slack)
            self._errors[rounds, slack] = policy.error
        return self._errors[rounds, slack]


@lru_cache(maxsize=2)
def _shared_stage(
    world: str, settings: str, hypotheses: str | None, seed: int, rounds: int
) -> _Stage:
    """The stage of all games that differ in nothing but the learner and the rules."""
    chosen = json.loads(settings)
    return _Stage(Game(world, "auto", rounds, seed, hypotheses=hypotheses, world_settings=chosen))


def _played(run: Run, game: Game, stage: _Stage) -> Iterator[Row]:
    """The rows of a game; a learner that knows its horizon plays a game for each of them."""
    longest = game.make_learner(stage.hypotheses, stage.world.k)
    long_game: Transcript | None = None
    for rounds in run.horizons:
        learner = game.make_learner(stage.hypotheses, stage.world.k, rounds)
        # To a learner that does not know the horizon, the first rounds of a long game are a short
        # game.
        if learner.settings() != longest.settings():
            played = _play(run, game, stage, learner, rounds)
        else:
            long_game = long_game or _play(run, game, stage, longest, game.rounds)
            played = first_rounds(long_game, rounds)
        yield _row(run, summarise(played, _comparators(run, stage, learner, played)))


def first_rounds(played: Transcript, rounds: int) -> Transcript:
    """The first rounds of a game whose learner does not know the horizon.

    The state at its end is not theirs: without it nobody certifies the whole game by mistake.
    """
    if rounds == played.rounds:
        return played
    columns = {name: getattr(played, name)[:rounds] for name in played.COLUMNS}
    moments = tuple(moment for moment in played.moments if moment.t <= rounds)
    return replace(
        played, moments=moments, encounters=played.encounters[:rounds], last_state=None,
        evidence=None, **columns,
    )  # fmt: skip


def _play(
    run: Run, game: Game, stage: _Stage, learner: Learner | Algorithm, rounds: int
) -> Transcript:
    return play(
        stage.world, learner, rounds, delay=game.delays, selection=game.make_selection(),
        record=run.comparators and not stage.steady, evaluation_draws=run.evaluation_draws,
    )  # fmt: skip


def _comparators(
    run: Run, stage: _Stage, learner: Learner | Algorithm, played: Transcript
) -> Comparators | None:
    """The best fixed policies for the rounds that were faced; in a world that reacts, its own."""
    if not run.comparators:
        return None
    if stage.steady:
        return Comparators(
            *(stage.best(played.rounds, slack) for slack in hindsight.slacks_of(learner))
        )
    faced = faced_rounds(played.encounters, stage.hypotheses)
    return hindsight.compare_with_fixed(learner, stage.hypotheses, faced)


def _row(run: Run, summary: Summary) -> Row:
    counted = COLUMNS[COLUMNS.index("rounds") : COLUMNS.index("regret")]
    counts = {name: getattr(summary, name) for name in counted}
    regret = None if summary.regret is None else round(summary.regret, 3)
    fixed = summary.comparators
    names = ("at_alpha_less_eps", "at_alpha_less_kappa", "at_alpha")
    best = {} if fixed is None else {name: round(getattr(fixed, name), 6) for name in names}
    return Row(**_about(run), **counts, regret=regret, **best)


def _about(run: Run) -> dict[str, Any]:
    entry, game = run.entry, run.entry.game
    return {
        "run": run.digest, "scenario": entry.scenario, "world": game.world,
        "world_settings": json.dumps(dict(game.world_settings)),
        "hypotheses": game.hypotheses or "", "alpha": game.alpha, "eps": game.eps_or_alpha,
        "feedback": game.feedback, "delay": game.delay, "attention": game.attention,
        "report": game.selection or "largest-gap", "learner": entry.learner,
        "settings": json.dumps(dict(entry.settings)), "configuration": entry.title,
        "seed": run.seed,
    }  # fmt: skip


def _in_hindsight(run: Run, stage: _Stage) -> Iterator[Row]:
    """Fixed policies that pay for their violations; nobody audits them, so reports are 0."""
    for rounds in run.horizons:
        faced, price = stage.faced[:rounds], run.entry.price or 0.0
        policy = priced_policy(stage.hypotheses, faced, run.entry.game.alpha, price)
        people = sum(len(round_.labels) for round_ in faced)
        rate = round(policy.error / people, 6)
        yield Row(**_about(run), rounds=rounds, people=people, error_rate=rate,
                  realised_error_rate=rate, violations=policy.violations)  # fmt: skip


def read_rows(path: Path) -> list[Row]:
    """The rows of a file of results: all that its tables and figures need."""
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    if tuple(header) != COLUMNS:
        raise LikewiseError(
            f"{path} has results of another version: the columns are {', '.join(header)}. Run the "
            f"sweep again in another folder."
        )
    return [Row(*map(_value, COLUMNS, cells)) for cells in rows]


def stored_rows(name: str) -> list[Row]:
    """The rows behind the tables that a sweep has in the documentation."""
    return read_rows(RESULTS / f"{name}.csv")


def _value(name: str, cell: str) -> Any:
    if _TYPES[name] in (str, int):
        return _TYPES[name](cell)
    kind = int if _TYPES[name] == int | None else float
    return kind(cell) if cell else None


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Replace a file in one step: after an interruption the old one is still there."""
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(astuple(row) for row in rows)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def run_sweep(
    sweep: Sweep, folder: Path, workers: Processes, *, progress: Progress = silent
) -> list[Row]:
    """Play every run that has not finished, and return the rows of all, in the sweep's order.

    Every run has a file of its own in the folder, named after all that it depends on.
    """
    refuse_early(sweep)
    folder.mkdir(parents=True, exist_ok=True)
    files = [(run, folder / f"{run.digest}.csv") for run in sweep.runs()]
    unfinished = [run for run, file in files if not file.exists()]
    if unfinished:
        count = len(files) - len(unfinished)
        progress(sweep.title, count)
        for rows in workers.map(play_run, [(run,) for run in unfinished]):
            write_rows(folder / f"{rows[0].run}.csv", rows)
            count += 1
            progress(f"{rows[0].scenario}; {rows[0].configuration}", count)
    # Titles are this sweep's: the same run may have others elsewhere.
    rows = [
        replace(row, scenario=run.entry.scenario, configuration=run.entry.title)
        for run, file in files
        for row in read_rows(file)
    ]
    write_rows(folder / "results.csv", rows)
    return rows


COUNTED = 1e-7
"""An excess above this is a violation; the solver's own tolerance is far below."""


class PricedPolicy(NamedTuple):
    """A fixed policy that is best at a price: its errors, rounds in violation, and their excess."""

    error: float
    violations: int
    excess: float


def priced_policy(
    hypotheses: HypothesisClass, rounds: Sequence[Faced], alpha: float, price: float
) -> PricedPolicy:
    """Find the best fixed policy at a price of violations.

    A learner has some violations; here a fixed policy pays for the largest excess of every round,

        min_π  Σ_t Error^t(π) + price·Σ_t e_t,
        e_t ≥ 0,   e_t ≥ π(x_l) − π(x_r) − d_pivot(l, r) − alpha for all pairs of round t,

    over ΔH. Over the prices, its error and its rounds in violation draw a frontier.
    """
    alpha = within("alpha", alpha, 0, 1, "It is the size of a violation.")
    price = within("price", price, 0, 1e9, "0 charges nothing.", ends="[)")
    form, place = hindsight.form_of(hypotheses, [faced.points for faced in rounds])
    ends = np.cumsum([len(faced.labels) for faced in rounds])[:-1]
    pairs = [
        hindsight.all_pairs(form.points, people, [faced], alpha)
        for people, faced in zip(np.split(place, ends), rounds, strict=True)
    ]
    error, excess = hindsight.replayed(_best_policy(form, pairs, price), rounds, alpha)
    return PricedPolicy(error, int((excess > COUNTED).sum()), float(sum(excess)))


def _best_policy(
    form: programs.Form, rounds: Sequence[programs.Constraints], price: float
) -> FloatArray:
    """Solve the program by cutting planes: the most violated pair of every round is added."""
    from scipy import sparse

    left, right, bounds = (
        np.concatenate([getattr(pairs, name) for pairs in rounds])
        for name in ("left", "right", "bounds")
    )
    round_ = np.repeat(np.arange(len(rounds)), [len(pairs.bounds) for pairs in rounds])
    width = int(round_.max(initial=-1)) + 1  # an e for every round up to the last with a pair
    costs = np.concatenate(
        [form.objective(np.sum([p.costs for p in rounds], axis=0)), np.full(width, price)]
    )
    order, total = form.order(), form.total()
    no_round = np.empty(0, dtype=np.int64)
    rows = _with_excess(order, no_round, width)
    limits = np.zeros(order.shape[0])
    added = np.zeros((2, len(bounds)), dtype=np.bool_)
    if total is not None:
        total = _with_excess(total, no_round, width)
    while True:
        solution = np.asarray(programs.solve_program(costs, rows, limits, total, form.upper).x)
        policy = form.settle(solution[: form.variables])
        scores = form.scores(policy)
        gaps = scores[left] - scores[right]
        sides = (gaps < 0).astype(np.int64)
        beyond = np.abs(gaps) - bounds - solution[form.variables :][round_]
        new = ~added[sides, np.arange(len(gaps))]
        pairs = np.flatnonzero((beyond > programs.VIOLATED_BY) & new)
        if not len(pairs):
            return policy
        worst = pairs[np.lexsort((-beyond[pairs], round_[pairs]))]
        pairs = worst[np.unique(round_[worst], return_index=True)[1]]
        added[sides[pairs], pairs] = True
        upper = np.where(sides[pairs] == 0, left[pairs], right[pairs])
        lower = np.where(sides[pairs] == 0, right[pairs], left[pairs])
        differences = _with_excess(form.differences(upper, lower), round_[pairs], width)
        rows = sparse.vstack([rows, differences], format="csr")
        limits = np.concatenate([limits, bounds[pairs]])


def _with_excess(rows: programs.Rows, round_: IntArray, width: int) -> programs.Rows:
    """The rows with columns for e: −1 in the round of each row, where rows have one."""
    from scipy import sparse

    entries = (np.full(len(round_), -1.0), (np.arange(len(round_)), round_))
    excess = sparse.csr_array(entries, shape=(rows.shape[0], width))
    return sparse.hstack([rows, excess], format="csr")
