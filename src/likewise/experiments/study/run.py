"""The studies behind the tables: our learners beside the paper's, on frontiers, in one world.

Every run is kept in a folder as JSON, so that a study that was stopped goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from likewise.evaluation.comparator import best_fair_policy, faced_rounds
from likewise.evaluation.counts import summarise
from likewise.experiments.environments import ENVIRONMENTS
from likewise.experiments.study.configurations import ALPHA, Configuration
from likewise.game import Transcript, parse_delay, play
from likewise.learning.learner import ALGORITHM
from likewise.worlds import Encounter, Recorded, Steady, World

__all__ = ["Result", "StudySpec", "run_study"]


@dataclass(frozen=True)
class StudySpec:
    """What is run: a world, seeds, horizons, both values of eps, and the grids of knobs.

    ``heard`` lists (feedback, delay, audit share) for our learners.
    """

    world: str = "loans"
    hypotheses: str | None = None
    seeds: tuple[int, ...] = (101, 102, 103, 104, 105)
    horizons: tuple[int, ...] = (500, 2000, 8000)
    eps: tuple[float, ...] = (0.3, 0.1)
    etas: tuple[float, ...] = (1.0, 0.25, 0.0625)
    noise_divisors: tuple[float, ...] = (1.0, 1e4, 1e5, 1e6)
    heard: tuple[tuple[str, str, float], ...] = (("full", "0", 1.0),)

    def configurations(self) -> tuple[Configuration, ...]:
        """All points, ours first."""
        ours = [
            Configuration(name, eta, None, *heard)
            for name in ("self-tuned", "exact")
            for heard in self.heard
            for eta in self.etas
        ]
        paper = [Configuration("paper", noise_divisor=d) for d in self.noise_divisors]
        return (*ours, Configuration("untaught"), *paper)


@dataclass(frozen=True)
class Result:
    """What one configuration did with one seed by one horizon."""

    learner: str
    eta: float | None
    noise_divisor: float | None
    eps: float
    seed: int
    rounds: int
    error_rate: float
    violations: int
    reports: int
    last_quarter: float
    oracle_calls: int
    comparator_error_rate: float
    feedback: str = "full"
    delay: str = "0"
    audit_share: float = 1.0

    @property
    def configuration(self) -> Configuration:
        """Whose it is."""
        return Configuration(**{f.name: getattr(self, f.name) for f in fields(Configuration)})


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
    spec: StudySpec,
    folder: Path,
    *,
    jobs: int = 2,
    progress: Callable[[str, int], None] = lambda what, done: None,  # noqa: ARG005
) -> list[Result]:
    """Run what is not in the folder yet, and read all of it."""
    from joblib import Parallel, delayed

    folder.mkdir(parents=True, exist_ok=True)
    work = [_Job(spec, eps, seed, folder) for eps in spec.eps for seed in spec.seeds]
    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered")
    for done, job in enumerate(parallel(delayed(_run)(job) for job in work), start=1):
        progress(f"eps {job.eps:g}, seed {job.seed}", done)
    return list(_read(job for job in work))


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
    world = ENVIRONMENTS[job.spec.world](job.seed)
    environment = _Environment(job, world)
    for configuration in wanting:
        rows = [asdict(row) for row in environment.play(configuration)]
        part = job.file(configuration).with_suffix(".part")
        part.write_text(json.dumps(rows))
        part.rename(job.file(configuration))
    return job


class _Environment:
    """A world with the best fair policy for each horizon: known beforehand where it is steady."""

    def __init__(self, job: _Job, world: World) -> None:
        self._job, self._longest = job, max(job.spec.horizons)
        self._world = Recorded(world, self._longest) if isinstance(world, Steady) else world
        self._hypotheses = world.hypotheses(job.spec.hypotheses)
        self._best: dict[int, float] = {}
        if isinstance(self._world, Steady):
            rounds = range(1, self._longest + 1)
            self._best = self._best_fair([self._world.encounter(t) for t in rounds])

    def _best_fair(self, encounters: Sequence[Encounter]) -> dict[int, float]:
        """Its error by each horizon that these rounds reach."""
        faced = faced_rounds(encounters, self._hypotheses)
        slack = ALPHA - self._job.eps
        reached = [n for n in self._job.spec.horizons if n <= len(faced)]
        return {n: best_fair_policy(self._hypotheses, faced[:n], slack).error for n in reached}

    def play(self, configuration: Configuration) -> Iterable[Result]:
        """What one configuration does here, by every horizon."""
        # Only the paper's schedule knows the horizon: to the others, the first rounds of a long
        # game are a short game.
        if configuration.learner == "paper":
            for rounds in self._job.spec.horizons:
                whole, best = self._play(configuration, rounds)
                yield self._result(configuration, whole, best[rounds])
        else:
            whole, best = self._play(configuration, self._longest)
            for rounds in self._job.spec.horizons:
                yield self._result(configuration, whole.first(rounds), best[rounds])

    def _play(
        self, configuration: Configuration, rounds: int
    ) -> tuple[Transcript, dict[int, float]]:
        job, reacts = self._job, not self._best
        learner = configuration.make(self._hypotheses, self._world.k, job.eps, job.seed, rounds)
        delay = parse_delay(configuration.delay)
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
