"""The command line. Heavy libraries are imported inside the commands, so that help is instant."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from likewise.evaluation.comparator import BestFair
    from likewise.experiments.demo import Demo
    from likewise.game import Transcript
    from likewise.learning import Learner
    from likewise.worlds import World

__all__ = ["main"]

LEARNER_NAMES = ("auto", "self-tuned", "exact", "paper", "accuracy-only", "constant")
WORLD_NAMES = ("loans", "admissions")
REPORT_POLICIES = ("largest-gap", "first", "random", "all")


class Group(click.Group):
    """Says what Likewise refuses as a sentence, not as a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        from likewise.errors import LikewiseError

        try:
            return super().invoke(ctx)
        except LikewiseError as error:
            raise click.ClickException(str(error)) from error


@click.group(
    cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name="likewise")
def main() -> None:
    """Decisions about people under the eyes of a panel: similar applicants, treated likewise.

    \b
    Begin with
      likewise demo                  learners side by side, and a report to read
      likewise simulate --help       one game, your way
      likewise list                  worlds, learners, classes and rules
    """


@contextmanager
def _progress(total: int, quiet: bool = False) -> Iterator[Callable[[str, int], None]]:
    """A bar on standard error; none where that is not a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda _what, _done: None
        return
    columns = (
        TextColumn("{task.description:<20}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
    )
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda what, done: bar.update(task, description=what, completed=done)


@main.command()
@click.option("--rounds", default=2000, show_default=True, help="Rounds to play with each learner.")
@click.option("--seed", default=1, show_default=True, help="Of everything random.")
@click.option("--alpha", default=0.3, show_default=True, help="Size of a violation.")
@click.option(
    "--eps", default=0.3, show_default=True, help="Compete with policies fair at alpha − eps."
)
@click.option(
    "--out",
    default="likewise-demo.html",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write the report, one self-contained file.",
)
def demo(rounds: int, seed: int, alpha: float, eps: float, out: Path) -> None:
    """Watch learners approve loans under the eyes of five auditors.

    Deaf to the panel, a learner is accurate and unfair in almost every round; a constant one is
    never unfair and learns nothing; ours learn, and violations become rare.
    """
    from likewise.experiments.demo import run_demo
    from likewise.experiments.report import write_report

    with _progress(rounds) as progress:
        result = run_demo(rounds, seed, alpha=alpha, eps=eps, progress=progress)
    _print_demo(result)
    write_report(result, out)
    click.echo(f"Report: {out}  ({result.seconds:.0f} s)")


def _print_demo(result: Demo) -> None:
    from rich.console import Console
    from rich.table import Table

    hypotheses = result.shown[-1].transcript.learner.hypotheses
    table = Table(
        title=f"{result.rounds} rounds of {result.world.k} loan applications, five auditors",
        caption=f"Best fair policy in hindsight: error {result.best_fair.error_rate:.3f}. "
        f"{hypotheses.size:.1e} hypotheses, alpha = {result.alpha:g}, eps = {result.eps:g}.\n"
        f"unfair: rounds in violation; late: the same, per 1,000 in the last quarter.",
    )
    table.add_column("learner", no_wrap=True)
    for title in ("error", "regret", "unfair", "late", "reports", "oracle calls"):
        table.add_column(title, justify="right", no_wrap=True)
    for shown in result.shown:
        s = shown.summary
        table.add_row(
            shown.name, f"{s.error_rate:.3f}", f"{s.regret:,.0f}", f"{s.violations:,}",
            f"{s.violations_per_1000_last_quarter:.0f}", f"{s.reports:,}", f"{s.oracle_calls:,}",
        )  # fmt: skip
    Console().print(table)


@main.command()
@click.option(
    "--world", "world_name", type=click.Choice(WORLD_NAMES), default="loans", show_default=True
)
@click.option(
    "--learner", "learner_name", type=click.Choice(LEARNER_NAMES), default="auto", show_default=True
)
@click.option("--rounds", default=1000, show_default=True, help="T, the number of rounds.")
@click.option("--seed", default=1, show_default=True, help="Of everything random.")
@click.option("--k", type=int, help="People a round.  [default: the world's]")
@click.option(
    "--hypotheses", help="The class, by name; see `likewise list`.  [default: the world's first]"
)
@click.option(
    "--rule", default="majority", show_default=True, help="When the panel reports a pair."
)
@click.option(
    "--report",
    "report_policy",
    type=click.Choice(REPORT_POLICIES),
    default="largest-gap",
    show_default=True,
    help="Which violating pair is reported; `all` are averaged.",
)
@click.option("--alpha", default=0.3, show_default=True, help="Size of a violation, in (0, 1].")
@click.option(
    "--eps", type=float, help="Compete with policies fair at alpha − eps.  [default: alpha]"
)
@click.option("--eta", type=float, help="Weight of the error: smaller means fewer violations.")
@click.option("--x", type=float, help="Noise (temperature) in units of sqrt(S).")
@click.option("--kappa", type=float, help="The panel is asked at alpha − kappa.  [default: eps/2]")
@click.option("--r", type=float, help="Accuracy of an estimated gap.  [default: 0.4·eps]")
@click.option(
    "--b", default=0.0, show_default=True, help="Learner `paper`: the frontier's parameter."
)
@click.option(
    "--noise-divisor",
    default=1.0,
    show_default=True,
    help="Learner `paper`: less noise than its own.",
)
@click.option(
    "--draws", type=click.Choice(["paper", "tight", "r"]), default="paper", show_default=True,
    help="Learner `paper`: how many draws estimate a score.",
)  # fmt: skip
@click.option(
    "--engine", type=click.Choice(["compiled", "reference"]), default="compiled", show_default=True,
    help="Who makes the draws; both make the same.",
)  # fmt: skip
@click.option("--no-comparator", is_flag=True, help="Leave out the best fair policy in hindsight.")
@click.option(
    "--json", "json_path", metavar="FILE", help="Write one JSON object; - for standard output."
)
@click.option(
    "--trace", type=click.Path(dir_okay=False, path_type=Path), help="Write every round as CSV."
)
@click.option(
    "--save-state", type=click.Path(dir_okay=False, path_type=Path), help="Write the final state."
)
def simulate(
    world_name: str,
    learner_name: str,
    rounds: int,
    seed: int,
    report_policy: str,
    no_comparator: bool,
    json_path: str | None,
    trace: Path | None,
    save_state: Path | None,
    **options: Any,
) -> None:
    """Play one game and count: error, regret, violations, reports, oracle calls.

    \b
    For example
      likewise simulate --learner exact --rounds 2000 --eta 0.0625
      likewise simulate --learner self-tuned --rule "veto(regulator) or at_least(80%)"
      likewise simulate --learner paper --noise-divisor 1e4 --json - | jq .violations
    """
    world, learner = _set_up(world_name, learner_name, rounds, seed, options)
    began = time.perf_counter()
    transcript = _play(world, learner, rounds, report_policy, seed, quiet=json_path == "-")
    best = None if no_comparator else _best_fair(world, options["hypotheses"], rounds, learner)
    seconds = time.perf_counter() - began
    if trace is not None:
        from likewise.evaluation.summary import trace_csv

        trace.write_text(trace_csv(transcript))
    if save_state is not None:
        from likewise.learning import save_state as save

        save(transcript.state, save_state)
    _print_game(learner_name, transcript, best, seconds, json_path)


def _set_up(
    world_name: str, learner_name: str, rounds: int, seed: int, options: dict[str, Any]
) -> tuple[World, Learner]:
    from likewise.experiments.roster import Settings, make_learner
    from likewise.worlds import WORLDS

    k = {} if options["k"] is None else {"k": options["k"]}
    world = WORLDS[world_name](seed, rule=options["rule"], **k)
    hypotheses = world.hypotheses(options["hypotheses"])
    names = ("alpha", "eta", "x", "kappa", "r", "b", "noise_divisor", "draws", "engine")
    settings = Settings(
        hypotheses,
        world.schema,
        world.k,
        seed,
        rounds,
        eps=options["alpha"] if options["eps"] is None else options["eps"],
        **{name: options[name] for name in names},
    )
    return world, make_learner(learner_name, settings)


def _play(
    world: World, learner: Learner, rounds: int, report_policy: str, seed: int, *, quiet: bool
) -> Transcript:
    from likewise.auditing import AllPairs, FirstPair, LargestGap, Policy, RandomPair
    from likewise.game import play

    policies: dict[str, Policy] = {
        "largest-gap": LargestGap(),
        "first": FirstPair(),
        "random": RandomPair(seed),
        "all": AllPairs(),
    }
    with _progress(rounds, quiet) as progress:
        return play(
            world, learner, rounds, policy=policies[report_policy],
            progress=lambda moment: progress("rounds", moment.t),
        )  # fmt: skip


def _best_fair(world: World, name: str | None, rounds: int, learner: Learner) -> BestFair:
    from likewise.evaluation.comparator import best_fair_policy
    from likewise.evaluation.faced import faced_rounds

    hypotheses = world.hypotheses(name)
    faced = faced_rounds(world, hypotheses, rounds)
    return best_fair_policy(hypotheses, faced, learner.alpha - learner.eps)


def _print_game(
    name: str, transcript: Transcript, best: BestFair | None, seconds: float, json_path: str | None
) -> None:
    from likewise.evaluation.summary import summarise, summary_json

    summary = summarise(transcript, None if best is None else best.error)
    data = {"learner": name, **summary_json(transcript, summary, seconds)}
    if json_path is not None:
        text = json.dumps(data, indent=2) + "\n"
        if json_path == "-":
            sys.stdout.write(text)
            return
        Path(json_path).write_text(text)
    shown = {key: value for key, value in data.items() if key not in ("bounds", "schedule")}
    width = max(map(len, shown))
    for key, value in shown.items():
        click.echo(
            f"{key:<{width}}  {value:.4f}"
            if isinstance(value, float)
            else f"{key:<{width}}  {value}"
        )
    for bound in data["bounds"]:
        says = [part for part, informative in bound["informative"].items() if not informative]
        note = f" (no news: the trivial bound on {' and '.join(says)} is smaller)" if says else ""
        click.echo(
            f"{'bound':<{width}}  {bound['source']}: regret ≤ {bound['regret']:.3g}, "
            f"violations ≤ {bound['violations']:.3g}{note}"
        )


@main.command("list")
def list_() -> None:
    """List the worlds, their classes, the learners and how rules are written."""
    from likewise.experiments.roster import LEARNERS
    from likewise.worlds import WORLDS

    click.echo("Worlds (--world), with their classes (--hypotheses)")
    for name, world in WORLDS.items():
        click.echo(f"  {name:<14} {world.summary}\n  {'':<14} classes: {', '.join(world.classes)}")
    click.echo("\nLearners (--learner)")
    for name, (summary, _) in LEARNERS.items():
        click.echo(f"  {name:<14} {summary}")
    click.echo("\nRules (--rule), joined by `and`, `or` and parentheses")
    for text, summary in RULES:
        click.echo(f"  {text:<34} {summary}")


RULES = (
    ("any", "one objection is enough"),
    ("all", "everybody must object"),
    ("majority", "more than half of the panel"),
    ("at_least(3)", "three objections"),
    ("at_least(80%)", "four fifths of the panel"),
    ("at_least(2 of banker, ethicist)", "two of these"),
    ("veto(regulator)", "this member alone suffices"),
    ("weighted(banker: 2, ethicist: 1; 2)", "votes that weigh at least 2"),
)


@main.command()
@click.option(
    "--folder",
    default="runs/study",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Where runs are kept; what is there is not run again.",
)
@click.option("--jobs", default=2, show_default=True, help="Processes side by side.")
@click.option("--seeds", default=5, show_default=True, help="How many seeds.")
@click.option("--longest", default=8000, show_default=True, help="The longest horizon.")
@click.option("--write", is_flag=True, help="Put the tables into README.md.")
def study(folder: Path, jobs: int, seeds: int, longest: int, write: bool) -> None:
    """Measure the README's tables: our learners beside the paper's, on `loans`."""
    from likewise.experiments.study import StudySpec, run_study
    from likewise.experiments.tables import points, study_markdown, write_between_marks

    spec = StudySpec(
        seeds=tuple(range(101, 101 + seeds)), horizons=(longest // 16, longest // 4, longest)
    )
    # The same, on a class too large for anything but an oracle or a factorisation.
    large = replace(
        spec, hypotheses="segments-large", eps=(0.3,), noise_divisors=(), seeds=spec.seeds[:2]
    )
    texts = []
    for part in (spec, large):
        with _progress(len(part.seeds) * len(part.eps)) as progress:
            results = run_study(part, folder, jobs=jobs, progress=progress)
        texts.append(study_markdown(part, points(part, results)))
    text = "\n".join(texts)
    click.echo(text)
    if write:
        write_between_marks(Path("README.md"), text)
