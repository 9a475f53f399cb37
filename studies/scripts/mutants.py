"""Mutants: one wrong line at a time, and whether the tests that should notice do.

    python studies/scripts/mutants.py --json studies/results/mutants.json

Each mutant is a text of a module of ``likewise`` and what it is replaced by; a process of
its own imports that module so changed, and runs the tests named beside it until one fails. Rows
are stored as they come; a mutant that is stored is not run again.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import click
import numba  # noqa: F401 - imported once, before the processes are forked
import pytest
import scipy.optimize  # noqa: F401

ROOT = Path(__file__).parents[2]
LIKEWISE = ROOT / "packages/likewise/src/likewise"
BOUNDS = (
    "learner/test_bounds_by_hand.py", "learner/test_theorem_e_by_hand.py",
    "learner/test_bounds_in_parts.py", "learner/test_bounds.py",
)  # fmt: skip
CERTIFICATE = (
    "paper/test_certificate_by_hand.py", "paper/test_one_sided_certificate.py",
    "paper/test_certificate.py",
)  # fmt: skip
EVIDENCE = ("paper/test_evidence.py",)
ATTENTION = (
    "learner/test_attention_by_hand.py",
    "learner/test_attention.py",
    "paper/test_attention.py",
)
TURNS = ("panel/test_turns.py",)
CHARGING = (
    "learner/test_losses.py", "learner/test_fold.py", "learner/test_one_sided.py",
    "learner/test_attention_by_hand.py", "paper/test_multiplier_rules.py", "learner/test_kappa.py",
    "learner/test_reduction.py",
)  # fmt: skip


class Mutant(NamedTuple):
    """A text of a module, which is there once, what it becomes, and the tests that should fail:
    those of ``first`` are run before the others.
    """

    module: str
    text: str
    becomes: str
    first: str
    tests: Sequence[str]

    @property
    def path(self) -> Path:
        return LIKEWISE / f"{self.module.replace('.', '/')}.py"

    @property
    def source(self) -> str:
        source = self.path.read_text(encoding="utf-8")
        if source.count(self.text) != 1:
            raise click.ClickException(f"{self.module}: {self.text!r} is not there once.")
        return source.replace(self.text, self.becomes)

    @property
    def title(self) -> str:
        return f"{self.path.stem}: {self.text.strip()} → {self.becomes.strip()}"


def _mutants() -> Iterator[Mutant]:
    for tests, module, changes in (
        (BOUNDS, "learner.bounds", IN_BOUNDS),
        (CERTIFICATE + EVIDENCE + ATTENTION, "learner.certificate", IN_CERTIFICATE),
        (EVIDENCE, "learner.evidence", IN_EVIDENCE),
        (ATTENTION, "learner.attention", IN_ATTENTION),
        (ATTENTION, "learner.state", IN_STATE),
        (CHARGING + CERTIFICATE, "learner.fold", IN_FOLD),
        (CHARGING, "learner.costs", IN_COSTS),
        (ATTENTION, "numerics.logistic", IN_LOGISTIC),
        (TURNS, "panel.turns", IN_TURNS),
    ):
        for first, some in changes.items():
            for text, becomes in some.items():
                yield Mutant(module, text, becomes, first, tests)


IN_BOUNDS = {
    "learner/test_theorem_e_by_hand.py": {
        "8.0 * h * (line + 2.0 * h)": "8.0 * h * line",
        "1.5 * math.sqrt(side.audits)": "math.sqrt(side.audits)",
        "proved = m * q**-side.delay": "proved = m",
        "math.sqrt(theta * (2.0 + theta))": "math.sqrt(theta * 2.0)",
        "spread = side.largest_gain + side.labels + gamma * proved / theta": (
            "spread = side.largest_gain + side.labels"
        ),
        "m * m / (8.0 * constant * constant)": "m * m / (4.0 * constant * constant)",
        "line = 2.0 * side.burst + m * (2 * side.delay + 1) / 2.0": (
            "line = m * (2 * side.delay + 1) / 2.0"
        ),
        "if dual.gamma * (most_reports + 1.0) > LARGEST_LAM:": "if False:",
        "paid = most * (2.0 * c + c * c / m + 2.0 * side.burst)": (
            "paid = most * (2.0 * c + 2.0 * side.burst)"
        ),
        "side.labels + paid + most * c * c / m": "side.labels + paid",
        "a -= 2.0 * side.burst": "a -= 0.0",
    },
    "learner/test_bounds_by_hand.py": {
        "root = 1.0 if self.counted and self.steady else": "root = 1.0 if self.counted else",
        "return (1 + late * d) * math.sqrt(self.pieces) * root": "return (1 + late * d) * root",
        "math.sqrt((1 + d / 4) * (1 + d if": "math.sqrt((1 + d / 2) * (1 + d if",
        "else 1.5 + d))": "else 0.5 + d))",
        "grid *= self.late.slow(1)": "grid *= 1.0",
        "+ self.cut * math.sqrt(self.rounds)": "+ self.cut",
        "lost = self.learner.margins.beta * k * k / 2.0 * rounds": "lost = 0.0",
        "return self.rounds + float(self.learner.looking.misses)": "return float(self.rounds)",
        "return share * self.rounds + 1.0": "return share * self.rounds",
        "late = m / beta, 1.0 + 2.5 * side.delay": "late = m / beta, 1.0 + 1.5 * side.delay",
        "steady * root / share**2": "steady * root / share",
        "(side.largest_gain + w) / (beta * m))": "(side.largest_gain + w) / (beta * beta))",
        "if fits else ()": "if True else ()",
        "return learner.k * learner.pricing.unit * UNIT": "return learner.k * UNIT",
        "else min(margins.r, margins.kappa))": "else margins.r)",
        "return hypotheses.separators * 2.0**-31 + mixed": "return mixed",
        "mixed = UNIT + experts * 2.0**-40 if experts else 0.0": "mixed = 0.0",
        "4.0 * side.constant**2 / c +": "2.0 * side.constant**2 / c +",
        "late * c * beta * beta": "c * beta * beta",
        "+ 2.0 * side.burst * beta": "+ side.burst * beta",
        "+ 4.0 * beta * side.failing / share": "+ 0.0 * beta",
        "self._log(5) / self._draws": "self._log(1) / self._draws",
        "rounding = (2.0 * eta + self.learner.k) * UNIT * rounds": "rounding = 0.0",
        "math.sqrt(20.0 * rounds)": "math.sqrt(5.0 * rounds)",
        "bias = 2.0 * eta / math.e * inverse": "bias = 0.0",
        "squares = rounds + 2.4 * total + (2.0 * last - 1.0) ** 2": (
            "squares = rounds + 2.4 * total"
        ),
        "every = log + self.learner.hypotheses.log_size": "every = log",
        "spread += 4.0 / 3.0 * eta": "spread += eta",
        "if one_sided and delay and learner.primal.exact:": "if False:",
        "< 1 and not _late_attention(learner):": "< 1 and False:",
    },
    "learner/test_bounds.py": {
        "if a <= 0:": "if a <= -1e9:",
        "return 0.0 if plain else 2.0 * learner.k * UNIT * rounds": "return 0.0",
        "    if side.failing:": "    if False:",
    },
    "paper/test_lower_bound.py": {
        "- per_segment * regret": "- 0.0 * regret",
    },
}
IN_CERTIFICATE = {
    "paper/test_one_sided_certificate.py": {
        "if state.overridden:": "if False:",
        "    if state.missing:": "    if False:",
        "return k / eta * (2.0 * eta + k) * bounds.UNIT * rounds": "return 0.0",
    },
    "learner/test_attention_by_hand.py": {
        "min(high - 1, looks.in_part)": "high - 1",
    },
    "paper/test_evidence.py::test_the_state_alone_prices_wrong_reports_by_hand": {
        "prices = min(count * to_units(": "prices = max(count * to_units(",
        "each = 1.0 - learner.alpha + learner.eps": "each = 1.0 - learner.alpha",
        "from_lam = None if delay is None or wrong else": "from_lam = None if delay is None else",
    },
    "paper/test_attention.py::test_the_interval_holds_at_all_times_at_once": {
        "beta -= math.lgamma(b) - math.lgamma(b + 1)": "beta -= 0.0",
        "low, high = _first(lambda x: excess(x) <= 0, middle), 1": "low, high = middle, 1",
    },
    "paper/test_evidence.py::test_overlooked_reports_are_within_their_limit_at_all_times": {
        "others = [share + (1.0 - share) * 2.0**-j": "others = [share * 2.0**-j",
        "most = math.log(len(others) / (1.0 - confidence))": "most = -math.log(1.0 - confidence)",
    },
    "paper/test_evidence.py::test_a_limit_at_all_times_is_exceeded_seldom_and_that_of_one_time_often": {  # noqa: E501
        "total = variance + rho\n": "total = variance\n",
    },
    "paper/test_certificate_by_hand.py": {
        "variance += count * k * k / (4.0": "variance += count * k / (4.0",
        "return k * (bounds.UNIT + cut) * rounds + weighted": "return weighted",
        "covariance = 2.0 * rounds": "covariance = 0.0 * rounds",
        "lam = state.account.largest_lam / learner.audit_share": "lam = state.account.largest_lam",
    },
}
IN_EVIDENCE = {
    "paper/test_evidence.py::test_no_interval_has_more_regret_than_its_certificate": {
        "paid = (last.paid - first.paid - (least << BITS))": (
            "paid = (last.paid - (least << BITS))"
        ),
        "slack = late if self.learner.primal.exact else late + early": "slack = late",
    },
    "paper/test_evidence.py::test_the_price_of_a_wrong_report_by_hand": {
        "for charge in self._charges), reverse=True)": "for charge in self._charges))",
        "(1.0 - gap / ONE + beta)": "(1.0 - gap / ONE)",
    },
    "paper/test_evidence.py::test_estimates_are_a_supermartingale_for_every_hypothesis": {
        "_exp_less_one(2.0 * gamma) / chance": "_exp_less_one(2.2 * gamma) / chance",
        "chance = min(1.0, score + off)": "chance = score",
    },
    "paper/test_evidence.py::test_what_falls_short_of_its_mean_is_a_supermartingale": {
        "(-math.log1p(-z) - z) * variance": "0.5 * (-math.log1p(-z) - z) * variance",
    },
    "paper/test_evidence.py::test_the_one_sided_certificate_by_hand": {
        "/ (2.0 if learner.primal.exact else 4.0)": "/ 1.0",
        "log = math.log(learner.k * t * (t + 1) / failing)": "log = math.log(learner.k / failing)",
        "estimates = learner.hypotheses.log_size +": "estimates =",
        "(lost - self._lost / max(1, self.rounds)) ** 2": "(lost - self._lost) ** 2",
        "k / gamma * estimates for": "estimates / gamma for",
        "regret += score_deviation(learner, rounds, failing)[0]": "regret += 0.0",
        "_shortfall(self._squares, 2.0 * k, failing)": "_shortfall(self._squares, k, failing)",
        "paid += math.ceil(seen * ONE - rejection * decision.score)": (
            "paid += math.ceil((seen - rejection) * decision.score)"
        ),
    },
    "paper/test_evidence.py::test_a_registered_player_is_certified_if_its_own_class_claims_so": {
        'return {"full", "one-sided"} <= claims and': "return",
    },
}
IN_ATTENTION = {
    "learner/test_attention_by_hand.py": {
        "((self.gaps - self.least) / ONE)[:, None]": "(self.gaps / ONE)[:, None]",
        "excess = max(limit - least, 0) / ONE": "excess = limit / ONE",
        ".below(ONE) < chance": ".below(ONE) <= chance + 9999",
        "covariance=model.covariance * 2.0": "covariance=model.covariance * 1.0",
        "c = self.patience * (1.0 + surprises)": "c = self.patience",
        "edge = log(self.doubt) - log(1.0 - self.doubt)": "edge = log(self.doubt)",
        "(memory[5] if self.personal else 0.0)": "0.0",
        "doubted = share * share if sat else 0.0": "doubted = share if sat else 0.0",
        "STIR * doubted * np.eye": "STIR * np.eye",
        "max(followed, doubted), number, 0.0": "followed, number, 0.0",
        "return memory if memory[0] == number else (number,)": "return memory",
        "memory[4] + response.is_of(memory[3])": "memory[4]",
        "return self.panel is None or panel_number(self.panel) == number": "return True",
        "PACE * (MISSED - response.surprise)": "PACE * (MISSED + response.surprise)",
        "told = response.whole and not response.quiet": "told = not response.quiet",
        ".T[self.under]": ".T[self.over]",
        "np.isnan(values), 0.0, shares": "np.isnan(values), 1.0, shares",
        "(high - low or 1.0)": "(high - low or 1.0) + 1.0",
        "over, under = np.nonzero(gaps > least)": "over, under = np.nonzero(gaps >= least)",
        "if max(scores) - min(scores) <= least:": "if max(scores) - min(scores) < least + 2:",
    },
    "learner/test_attention.py::test_asking_about_all_is_asking_about_each": {
        "bisect_left(ordered, score - sensitivity)": (
            "bisect_left(ordered, score - sensitivity + 1)"
        ),
    },
    "learner/test_attention.py::test_dominance_knows_what_is_farther_apart_and_has_a_smaller_gap": {
        "return memory[:1] if response.surprise else memory": "return memory",
    },
    "learner/test_attention.py::test_a_report_is_followed_by_a_whole_round": {
        "followed = 1.0 / (1.0 + response.late)": "followed = 1.0",
    },
    "learner/test_attention.py": {
        "return bool((self.reported & ~self.asked).any())": "return bool(self.reported.any())",
        "return self.whole and not self.looked_at": "return not self.looked_at",
    },
}
IN_LOGISTIC = {
    "learner/test_attention_by_hand.py": {
        "self.mean + direction * ((target - chance) / gain)": (
            "self.mean + direction * (target - chance)"
        ),
        "variance = variance + rows[:, j] * spread[:, j]": "variance = variance + spread[:, j]",
    },
}
IN_TURNS = {
    "panel/test_turns.py": {
        "possible = rule.fires(votes | ~heard, members)": "possible = rule.fires(votes, members)",
        "asked > MOST_ASKED * mean + 1": "False",
    },
}
IN_STATE = {
    "paper/test_attention.py::test_unseen_reports_have_an_unbiased_estimate": {
        "unseen=self.unseen + (1.0 - p) / p": "unseen=self.unseen + 1.0 / p",
    },
    "learner/test_attention_by_hand.py": {
        "in_part=self.in_part + (shown < asking.possible)": "in_part=self.in_part + 1",
    },
}
IN_FOLD = {
    "paper/test_certificate.py::test_a_report_of_several_pairs_weighs_as_much_as_one": {
        "total = state.account.reported + amount * len(pairs)": (
            "total = state.account.reported + amount"
        ),
    },
    "learner/test_attention_by_hand.py": {
        "beta, mu = learner.margins.beta / learner.audit_share,": (
            "beta, mu = learner.margins.beta,"
        ),
    },
    "paper/test_certificate_by_hand.py": {
        "paid += amount * decision.score": "paid += abs(amount) * decision.score",
        "if lam > account.largest_lam:": "if lam < account.largest_lam:",
    },
    "paper/test_attention.py::test_reports_cost_lam_and_the_multiplier_steps_as_the_theorem_says": {
        "round_.number % period == 0": "round_.number % period == 1",
    },
    "learner/test_kappa.py": {
        "every = all(certain(*pair, limit)": "every = not all(certain(*pair, limit)",
    },
    "learner/test_fold.py": {
        "if high - low <= sensitivity:": "if high - low < sensitivity:",
    },
}
IN_COSTS = {
    "paper/test_multiplier_rules.py": {
        "min(self.largest, lam + self.largest * mu)": "lam + self.largest * mu",
        "- mu * lam))": "))",
    },
    "learner/test_losses.py": {
        "(ONE - label) - rejection * label)": "(ONE - label) - approval * label)",
        "seen = self.unit * sum(weights) * (ONE - label)": "seen = self.unit * ONE * (ONE - label)",
    },
    "learner/test_one_sided.py": {
        "if decision.approved else -(self.unit": "if decision.approved else (self.unit",
        "return self.unit * (2 * cap - 1)": "return self.unit * cap",
    },
    "learner/test_fold.py": {
        "return to_units(lam) // pairs": "return to_units(lam)",
    },
}


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from another source."""

    def __init__(self, mutant: Mutant) -> None:
        self.name, self.source = f"likewise.{mutant.module}", mutant.source
        self.path = str(mutant.path)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's spec, if it is the one."""
        del path, target
        if fullname != self.name:
            return None
        return importlib.util.spec_from_loader(fullname, self, origin=self.path)

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.source, self.path, "exec"), vars(module))


def killed(mutant: Mutant) -> str | None:
    """The first test that fails with the mutant, or None; a process of its own runs them."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        sys.meta_path.insert(0, Changed(mutant))
        first = FirstFailure()
        options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", "not long"]
        for names in ((mutant.first,), mutant.tests):
            tests = [str(ROOT / "tests" / name) for name in names]
            code = pytest.main([*options, *tests], plugins=[first])
            if code:
                break
        os.write(writer, (first.name or ("" if code == 0 else f"exit {int(code)}")).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    name = os.read(reader, 10_000).decode()
    os.close(reader)
    return name or None


class FirstFailure:
    """Keeps the name of the first test that fails."""

    name = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.name:
            self.name = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.name:
            self.name = f"{report.nodeid} cannot be imported"


def table(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """The stored rows: each mutant and who killed it.

    >>> print(table({"a → b": {"killed": "x.py::test_y"}, "c → d": {"killed": None}}))
    1 of 2 killed.
    killed  a → b  (x.py::test_y)
    ALIVE   c → d
    """
    dead = sum(row["killed"] is not None for row in rows.values())
    lines = [f"{dead} of {len(rows)} killed."]
    for title, row in rows.items():
        by = row["killed"]
        lines.append(f"ALIVE   {title}" if by is None else f"killed  {title}  ({by})")
    return "\n".join(lines)


@click.command()
@click.option("--json", "path", type=click.Path(path_type=Path), required=True)
@click.option("--again", is_flag=True, help="Run those again that were alive.")
def main(path: Path, again: bool) -> None:
    """Run the mutants that are not stored, and print the table of all."""
    rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    mutants = list(_mutants())
    for mutant in mutants:
        _ = mutant.source  # all are there before the first is run
    for mutant in mutants:
        row = rows.get(mutant.title)
        if row is not None and not (again and row["killed"] is None):
            continue
        began = time.monotonic()
        rows[mutant.title] = {"killed": killed(mutant)}
        click.echo(
            f"{time.monotonic() - began:6.1f} s  {mutant.title}: {rows[mutant.title]}", err=True
        )
        path.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    click.echo(table({m.title: rows[m.title] for m in mutants}))


if __name__ == "__main__":
    main()
