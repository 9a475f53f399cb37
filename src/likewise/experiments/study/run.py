"""Running a study: our learners beside the paper's, on frontiers, in one world.

Every run is kept in a folder as JSON, so that a study that was stopped goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from likewise.evaluation import best_fair_policy, faced_rounds
from likewise.evaluation.counts import summarise
from likewise.experiments.configurations import Configuration
from likewise.experiments.environments import environment, hypotheses_of
from likewise.experiments.learners import Task, make_learner
from likewise.experiments.parallel import Progress, in_processes, silent
from likewise.experiments.simulation import checked_delay
from likewise.experiments.study.spec import ALPHA, Result, StudySpec
from likewise.game import Transcript, play
from likewise.learning import Learner
from likewise.learning.learner import ALGORITHM
from likewise.worlds import Encounter, Recorded, Steady

__all__ = ["run_study"]


@dataclass(frozen=True)
class _Job:
    spec: StudySpec
    eps: float
    seed: int
    folder: Path = field(compare=False)

    def file(self, configuration: Configuration) -> Path:
        """Where the result is kept; another version of the algorithm has files of its own."""
        spec = self.spec
        key = [ALGORITHM, configuration.key, self.eps, self.seed]
        key += [spec.world, spec.hypotheses, spec.horizons]
        name = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:12]
        return self.folder / f"{configuration.learner}-{self.eps}-{self.seed}-{name}.json"


def run_study(
    spec: StudySpec, folder: Path, *, jobs: int = 2, progress: Progress = silent
) -> list[Result]:
    """Run what is not in the folder yet, and read all of it."""
    _refuse_early(spec)
    folder.mkdir(parents=True, exist_ok=True)
    work = [_Job(spec, eps, seed, folder) for eps in spec.eps for seed in spec.seeds]
    for done, job in enumerate(in_processes(_run, ((job,) for job in work), jobs), start=1):
        progress(f"eps {job.eps:g}, seed {job.seed}", done)
    return list(_read(work))


def _refuse_early(spec: StudySpec) -> None:
    """Make every world and every learner once, before anything takes time."""
    for eps in spec.eps:
        job = _Job(spec, eps, spec.seeds[0], Path())
        table = _Table(job)
        for configuration in spec.configurations():
            checked_delay(configuration.delay, max(spec.horizons))
            table.learner(configuration, max(spec.horizons))


def _read(work: Iterable[_Job]) -> Iterable[Result]:
    for job in work:
        for configuration in job.spec.configurations():
            for row in json.loads(job.file(configuration).read_text()):
                yield Result(**row)


def _run(job: _Job) -> _Job:
    """All configurations in one world; what does not react to them is made once."""
    wanting = [c for c in job.spec.configurations() if not job.file(c).exists()]
    if not wanting:
        return job
    table = _Table(job)
    table.prepare()
    for configuration in wanting:
        rows = [asdict(row) for row in table.play(configuration)]
        part = job.file(configuration).with_suffix(".part")
        part.write_text(json.dumps(rows))
        part.rename(job.file(configuration))
    return job


class _Table:
    """A world with the best fair policy for each horizon: known beforehand where it is steady."""

    def __init__(self, job: _Job) -> None:
        self._job, self._longest = job, max(job.spec.horizons)
        self._world = environment(job.spec.world).make(job.seed)
        self._hypotheses = hypotheses_of(self._world, job.spec.hypotheses)
        self._best: dict[int, float] = {}

    def prepare(self) -> None:
        """Make the rounds of a steady world, and find the best fair policies."""
        if isinstance(self._world, Steady):
            recorded = Recorded(self._world, self._longest)
            rounds = range(1, self._longest + 1)
            self._best = self._best_fair([recorded.encounter(t) for t in rounds])
            self._world = recorded

    def _best_fair(self, encounters: Sequence[Encounter]) -> dict[int, float]:
        """Its error by each horizon that these rounds reach."""
        faced = faced_rounds(encounters, self._hypotheses)
        slack = ALPHA - self._job.eps
        reached = [n for n in self._job.spec.horizons if n <= len(faced)]
        return {n: best_fair_policy(self._hypotheses, faced[:n], slack).error for n in reached}

    def learner(self, configuration: Configuration, rounds: int) -> Learner:
        """The learner of a configuration, for a game of so many rounds, at alpha = 0.3."""
        job = self._job
        # The paper's own would be five times the draws, with k Laplace variables a point each. The
        # grid of scales makes up for the second; the first only makes its scores more exact.
        settings = replace(configuration.settings(ALPHA, job.eps), draws="r", noise="per-point")
        task = Task(self._hypotheses, self._world.k, job.seed, rounds)
        return make_learner(configuration.learner, task, settings)

    def play(self, configuration: Configuration) -> Iterable[Result]:
        """The results of one configuration here, by every horizon."""
        longest = self.learner(configuration, self._longest)
        played: tuple[Transcript, dict[int, float]] | None = None
        for rounds in self._job.spec.horizons:
            learner = self.learner(configuration, rounds)
            # To a learner that does not know the horizon, the first rounds of a long game are a
            # short game.
            if learner.spec() != longest.spec():
                short, best = self._play(configuration, learner, rounds)
            else:
                played = played or self._play(configuration, longest, self._longest)
                short, best = played[0].first(rounds), played[1]
            yield self._result(configuration, short, best[rounds])

    def _play(
        self, configuration: Configuration, learner: Learner, rounds: int
    ) -> tuple[Transcript, dict[int, float]]:
        reacts = not self._best
        delay = checked_delay(configuration.delay, rounds)
        whole = play(self._world, learner, rounds, record=reacts, delay=delay)
        return whole, self._best_fair(whole.encounters) if reacts else self._best

    def _result(self, configuration: Configuration, game: Transcript, best: float) -> Result:
        summary = summarise(game, best)
        return Result(
            configuration.learner, configuration.eta, configuration.noise_divisor, self._job.eps,
            self._job.seed, game.rounds,
            summary.error_rate, summary.violations, summary.reports,
            summary.violations_per_1000_last_quarter, summary.oracle_calls,
            best / summary.people,
            configuration.feedback, configuration.delay, configuration.audit_share,
        )  # fmt: skip
