"""``likewise simulate``: one game, counted."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import likewise
from likewise.cli import options as shared
from likewise.cli.main import AT_LEAST_ONE, is_pipe, main, note, progress_bar, write_text
from likewise.cli.options import FILE, OutputFile, game_options, out_option
from likewise.errors import HypothesisError, LikewiseError, MissingLibraryError, absent, missing
from likewise.registry import ATTENTIONS, HYPOTHESES, METRICS, SELECTIONS, WORLDS, Registry
from likewise.simulate.game import Game, PreparedGame, class_from_file

if TYPE_CHECKING:
    from likewise.simulate import Comparators, Moment, Resampled, Transcript
    from likewise.simulate.counts import MemberLooks, Summary
    from likewise.simulate.demo import Demo
    from likewise.simulate.propose import Proposal


@main.command(short_help="One game, your way, counted.")
@game_options("world")
@shared.WORLD_SETTINGS
@game_options("learner")
@shared.LEARNER_SETTINGS
@game_options(
    "rounds", "seed", "alpha", "eps", "hypotheses", "feedback", "delay", "attention", "selection"
)
@click.option(
    "--no-comparator", is_flag=True, help="Leave out the best fixed policies in hindsight."
)
@out_option(
    "Write a file by its ending: counts (.json), every round (.csv), the final state (.state); - "
    "prints the JSON. May be repeated.", "-", ".json", ".csv", ".state",
)  # fmt: skip
def simulate(no_comparator: bool, outs: tuple[Path, ...], **options: Any) -> None:
    """Play one game and count: error, regret, violations, reports, oracle calls.

    \b
    For example
      likewise simulate --learner exact --rounds 2000 --with eta=0.0625
      likewise simulate --world drift --set spell=200 --set depth=0.2
      likewise simulate --learner self-tuned --set "rule=veto(regulator) or at_least(80%)"
      likewise simulate --learner paper --with noise_divisor=1e4 --out - | jq .violations
      likewise simulate --feedback one-sided --delay 50 --attention share:0.5 --out rounds.csv
      likewise simulate --rounds 4000 --attention model
    """
    from likewise.simulate import counts

    game = shared.game_of(**options).prepare()
    states = [path for path in outs if path.suffix.lower() == ".state"]
    if states and not isinstance(game.learner, likewise.Learner):
        raise click.UsageError(f"{states[0]} needs a learner that is a fold: {game.game.learner}.")
    for caveat in game.caveats():
        note(caveat)
    began = time.perf_counter()
    members = counts.MemberLooks()
    played, best = _played(game, members, compare=not no_comparator)
    seconds = time.perf_counter() - began
    _write(game, played, counts.summarise(played, best, members), seconds, outs)


def _played(
    game: PreparedGame, members: MemberLooks, *, compare: bool
) -> tuple[Transcript, Comparators | None]:
    """The game played, with a bar on the way, and the best fixed policies in hindsight."""

    def see(moment: Moment) -> None:
        members.see(moment)
        progress("rounds", moment.t)

    if compare:
        try:
            from likewise.simulate.programs import ComparatorError
        except MissingLibraryError as error:
            note(f"the best fixed policies and the regret are left out. {error}")
            compare = False
    rounds = game.game.rounds
    with progress_bar(rounds) as progress:
        played = game.play(record=compare, progress=see)
    if not compare:
        return played, None
    with progress_bar(rounds) as progress:
        try:
            return played, game.compare(played, lambda t: progress("best fixed policies", t))
        except (HypothesisError, ComparatorError) as error:
            note(f"there is no best fixed policy to compare with, and no regret. {error}")
            return played, None


def _write(
    game: PreparedGame, played: Transcript, summary: Summary, seconds: float,
    outs: tuple[Path, ...],
) -> None:  # fmt: skip
    """The counts, rounds and state as files, and the counts for people unless the JSON is piped."""
    from likewise.simulate import counts

    warning = counts.near_constant(game.learner, summary)
    data = {"learner": game.game.learner, **counts.summary_json(played, summary, seconds),
            "near_constant": warning}  # fmt: skip
    for path in outs:
        if path.suffix.lower() == ".state":
            likewise.save_state(played.state, path)
        elif path.suffix.lower() == ".csv":
            write_text(path, counts.trace_csv(played))
        else:
            write_text(path, json.dumps(data, indent=2) + "\n")
    if not any(map(is_pipe, outs)):
        _echo(_lines(data))
    if warning is not None:
        note(warning)


def _lines(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The counts of a game for people, by name; then what holds of its regret and violations."""
    apart = ("bounds", "schedule", "settings", "comparators", "certificate", "near_constant",
             "attention", "unseen_reports", "certificates")  # fmt: skip
    for key, value in data.items():
        if key not in apart:
            yield key, f"{value:.4f}" if isinstance(value, float) else str(value)
    if (fixed := data.get("comparators")) is not None:
        rates = (f"{name.replace('_', ' ')} {rate:.4f}" for name, rate in fixed.items())
        yield "best fixed", "; ".join(rates)
    if (certificate := data.get("certificate")) is not None:
        text = f"{certificate['holds']}: regret ≤ {certificate['regret']:,.0f} (any learner: "
        text += f"{certificate['trivial_regret']:,})"
        if (from_lam := certificate["from_largest_lam"]) is not None:
            text += f"; from the largest price of a report (lam), {from_lam:,.0f}"
        yield "certificate", text
        if data["certificates"] is not None:
            yield from _more_certificates(data["certificates"], certificate)
    if (unseen := data.get("unseen_reports")) is not None and unseen["high"]:
        text = f"about {unseen['estimate']:,.0f} that nobody was asked about; between "
        text += f"{unseen['low']:,} and {unseen['high']:,} with probability "
        yield "unseen reports", f"{text}{unseen['confidence']:g}, at all times at once"
    for bound in data["bounds"]:
        text = f"{bound['source']}, {bound['holds']}: regret ≤ {bound['regret']:.3g}, violations ≤ "
        text += f"{bound['violations']:.3g}"
        trivial = [part for part, informative in bound["informative"].items() if not informative]
        if trivial:
            text += f" (no news: the trivial bound on {' and '.join(trivial)} is smaller)"
        yield "bound", text


def _more_certificates(data: dict[str, Any], run: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Certificates that rest on the rounds: against change, one-sided, with panels that err."""
    for part in data["changing"]:
        *changes, _ = part["ends"]
        times = "once" if len(changes) == 1 else f"{len(changes)} times"
        text = f"{part['holds']}: regret ≤ {part['regret']:,.0f} to policies that change {times}; "
        text += "it is largest for changes after rounds "
        if part["parts"] in (2, 4, 8):
            yield "against change", text + ", ".join(f"{change:,}" for change in changes)
    if (one_sided := data["one_sided"]) is not None:
        trivial = f"(any learner: {one_sided['trivial_regret']:,})"
        yield "certificate", f"{one_sided['holds']}: regret ≤ {one_sided['regret']:,.0f} {trivial}"
    if run["reports"]:
        wrong, missed = data["wrong"], data["overlooked"]
        text = f"{run['holds']}, with {wrong['reports']:,} of {run['reports']:,} reports wrong: "
        text += f"regret ≤ {wrong['regret']:,.0f}; if each report is overlooked with probability "
        text += f"{missed['share']:g} at most, up to {missed['high']:,} were, with probability "
        yield "if auditors err", f"{text}{missed['confidence']:g} at all times at once"


@main.command(short_help="Learners side by side, and a report to read.")
@click.option(
    "--rounds", type=click.IntRange(min=8),
    help="Rounds to play with each learner.  [default: 2000; without numba 300]",
)  # fmt: skip
@click.option(
    "--out", default="likewise-demo.html", show_default=True, type=OutputFile(),
    help="Where to write the report, one self-contained file.",
)  # fmt: skip
def demo(rounds: int | None, out: Path) -> None:
    """Watch learners approve loans under the eyes of five auditors.

    A learner that ignores the panel is accurate, and unfair in almost every round; a constant one
    is never unfair and learns nothing; ours learn, and violations become rare. The report and the
    comparison with the best fixed policies need the extra `study`, and with the extra `fast` it
    takes two minutes: pip install 'likewise[fast,study]'.
    """
    from likewise.simulate.demo import games, run_demo

    lacking = absent("study")
    if lacking:
        note(f"it goes without the report. {missing('It', ', '.join(lacking), 'fast,study')}")
    # numpy's draws take several times as long: a first look should not.
    rounds = rounds or (300 if absent("fast") else 2000)
    played = games(Game(rounds=rounds))
    click.echo(
        f"{len(played)} games of {rounds:,} rounds: learners approve loans, five auditors look on."
    )
    with progress_bar(len(played)) as progress:
        result = run_demo(rounds, jobs=2, compare="scipy" not in lacking, progress=progress)
    _print_demo(result)
    if lacking:
        click.echo(f"Done ({result.seconds:.0f} s)")
        return
    from likewise.simulate.report import write_report

    write_report(result, out)
    click.echo(f"{result.seconds:.0f} s. The report, to be opened in a browser:")
    click.echo(out.resolve().as_uri())


def _print_demo(result: Demo) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(
        title=f"{result.game.rounds} rounds of {result.world.k} loan applications, five auditors",
        caption="\n".join(_notes(result)),
        caption_justify="left",
    )
    table.add_column("learner", no_wrap=True)
    for title in ("error", "regret", "unfair", "late", "reports", "looks", "oracle\ncalls"):
        table.add_column(title, justify="right", no_wrap=True)
    for shown in result.shown:
        s = shown.summary
        regret = "–" if s.regret is None else f"{round(s.regret):,}"
        table.add_row(
            shown.name, f"{s.error_rate:.3f}", regret, f"{s.violations:,}",
            f"{s.violations_per_1000_last_quarter:.0f}", f"{s.reports:,}", f"{s.looks:,}",
            f"{s.oracle_calls:,}",
        )  # fmt: skip
    Console().print(table)
    for shown in result.shown:
        if shown.near_constant is not None:
            note(f"{shown.name}: {shown.near_constant}")


def _notes(result: Demo) -> list[str]:
    hypotheses, fixed = result.shown[-1].learner.hypotheses, result.comparators
    alpha, eps = result.game.alpha, result.game.eps_or_alpha
    errors = {shown.name: shown.summary.error_rate for shown in result.shown}
    learnt = [name for name, error in errors.items() if error < errors["untaught"]]
    compared = [] if fixed is None else [
        "Best fixed policies in hindsight, at alpha − eps; alpha − kappa; alpha:",
        f"error {fixed.at_alpha_less_eps:.3f}; {fixed.at_alpha_less_kappa:.3f}; "
        f"{fixed.at_alpha:.3f}.",
    ]  # fmt: skip
    return [
        *compared,
        f"{hypotheses.size:.1e} hypotheses, alpha = {alpha:g}, eps = {eps:g}.",
        "unfair: rounds in violation.",
        "late: the same, per 1,000 rounds, in the last quarter.",
        "looks: rounds put before the panel.",
        f"Less error than untaught, which never learns: {', '.join(learnt) or 'nobody'}.",
        f"paper: its own noise drowns the data ({result.paper_draws:,} draws a round, for time):",
        "it learns nothing, and is seldom unfair since it treats most people alike.",
    ]


SEEDS = (1, 2)


@main.command(short_help="Propose eta and kappa for a budget of looks, on your own people.")
@click.option("--people", required=True, type=FILE, help="A CSV file with a row for each person.")
@click.option("--label", required=True, help="The column that is 1 for whom to approve, else 0.")
@click.option("--hypotheses", required=True, type=FILE, help="The class, as its spec() in JSON.")
@click.option(
    "--panel", required=True, type=FILE,
    help="The panel as TOML or JSON: auditors with their distances, and a rule.",
)  # fmt: skip
@click.option(
    "--budget", required=True, type=float,
    help="The most rounds that the panel can look at, in a thousand.",
)  # fmt: skip
@click.option(
    "--limit", default=10.0, show_default=True,
    help="The most rounds in violation that are bearable, in a thousand.",
)  # fmt: skip
@click.option("--k", type=AT_LEAST_ONE, default=8, show_default=True, help="People a round.")
@game_options("rounds", "alpha", "eps", "feedback", "delay", "attention")
@shared.JOBS
def propose(
    people: Path, label: str, hypotheses: Path, panel: Path, budget: float, limit: float, k: int,
    jobs: int | None, **options: Any,
) -> None:  # fmt: skip
    """Simulate on your own people, class and panel, and propose eta and kappa.

    eta is the weight of errors against reports; kappa, how far below alpha the panel is asked.
    People are drawn from the file again and again. Of a grid of the two, the most accurate
    setting is proposed whose looks keep to the budget and whose violations keep to the limit.

    \b
    For example
      likewise propose --people loans.csv --label repaid --hypotheses class.json \\
        --panel panel.toml --budget 250 --attention model
    """
    from likewise.simulate import propose as proposing
    from likewise.simulate.parallel import Processes

    worlds = [_world(people, label, hypotheses, panel, k, seed) for seed in SEEDS]
    games = len(proposing.ETAS) * len(proposing.KAPPA_SHARES) * len(SEEDS)
    with progress_bar(games) as progress:
        proposal = proposing.propose(
            worlds, budget, Game(**options), limit=limit, workers=Processes(jobs),
            progress=progress,
        )  # fmt: skip
    _print(proposal)


def _world(people: Path, label: str, hypotheses: Path, panel: Path, k: int, seed: int) -> Resampled:
    from likewise.people import tables
    from likewise.simulate import Resampled

    class_ = class_from_file(str(hypotheses))
    rows = tables.read_table(people, [*class_.schema.names, label])
    labels = tables.parse_labels(people, rows, label)
    everybody = tables.parse_people(people, rows, class_.schema)
    return Resampled(seed, k, everybody, labels, likewise.Panel.from_file(panel), class_)


def _print(proposal: Proposal) -> None:
    chosen = proposal.chosen
    click.echo(
        f"eta = {chosen.eta:g}, kappa = {chosen.kappa:g}: error {chosen.error_rate:.3f}, "
        f"{chosen.violations:.0f} violations, {chosen.reports:.0f} reports and {chosen.looks:.0f} "
        f"rounds looked at in a thousand"
    )
    if not proposal.within:
        note(
            f"no setting within {proposal.budget:g} looks keeps to {proposal.limit:g} violations "
            f"a thousand rounds; this one has the fewest."
        )
    click.echo("\nSettings that no other beats on all three:\n")
    click.echo("| eta | kappa | error | violations | reports | looks |\n|---|---|---|---|---|---|")
    for trial in sorted(proposal.best, key=lambda trial: trial.counts):
        click.echo(
            f"| {trial.eta:g} | {trial.kappa:g} | {trial.error_rate:.3f} | "
            f"{trial.violations:.0f} | {trial.reports:.0f} | {trial.looks:.0f} |"
        )


RULES = (
    ("any", "one objection is enough"),
    ("all", "everybody must object"),
    ("majority", "more than half of the panel"),
    ("at_least(3)", "three objections or more"),
    ("at_least(80%)", "four fifths of the panel or more"),
    ("more_than(2/3)", "more than two thirds of the panel"),
    ("at_least(2 of banker, ethicist)", "two of these"),
    ("veto(regulator)", "this member alone suffices"),
    ("objects(banker) and objects(ethicist)", "these two together"),
    ("weighted(banker: 2, ethicist: 1; 2)", "votes that weigh at least 2"),
    ("never", "nothing is ever reported"),
)


@main.command("list", short_help="Worlds, learners, classes, rules, metrics and selections.")
def list_() -> None:
    """List worlds with their settings and classes, learners, rules, and what packages add."""
    from likewise.simulate import learners

    def parts(registry: Registry[Any]) -> Iterator[tuple[str, str]]:
        return _summaries(registry, lambda name: learners.summary_of(registry[name]))

    worlds: list[tuple[str, str]] = []
    explained: dict[tuple[str, str], str] = {}
    for name in WORLDS:
        lines = _world_lines(name, explained)
        worlds += [(name if n == 0 else "", line) for n, line in enumerate(lines)]
    # The settings of ``auto``, which our other names share, and those of the paper's learner.
    settings = {**learners.learner_settings("auto"), **learners.learner_settings("paper")}
    _section("Worlds (--world), with their classes (--hypotheses) and settings (--set)", worlds)
    _section("Learners (--learner)", _summaries(learners.learner_names(), learners.learner_summary))
    _section("Settings of learners (--with)", [(s.text, s.about) for s in settings.values()])
    _section("Rules (--set rule=…); join them with `and`, `or` and parentheses", RULES)
    _section("Selections (--selection): which violating pair is reported", parts(SELECTIONS))
    _section("Attention (--attention): what the panel is asked about", parts(ATTENTIONS))
    _section("Hypothesis classes, for --hypotheses FILE.json", parts(HYPOTHESES))
    _section("Metrics, for panel.toml and Python", parts(METRICS))


def _world_lines(name: str, explained: dict[tuple[str, str], str]) -> Iterator[str]:
    """A world in a few lines: its summary, its classes, and its settings.

    A setting that an earlier world ``explained`` is named, and not explained again.
    """
    from likewise.simulate import MissingDataError, settings_of

    try:
        world = WORLDS[name]
    except LikewiseError as error:
        yield str(error)
        return
    yield world.summary
    try:
        world.make(1)
    except MissingDataError as error:
        yield f"not here: {error}"
    yield f"classes: {', '.join(world.classes)}"
    settings = [(setting.text, setting.about) for setting in settings_of(world).values()]
    new = [setting for setting in settings if setting not in explained]
    width = max((len(text) for text, _ in new), default=0)
    for text, about in new:
        yield f"  {text:<{width}}  {about}"
    for earlier in dict.fromkeys(explained[pair] for pair in settings if pair in explained):
        same = [pair[0] for pair in settings if explained.get(pair) == earlier]
        yield f"  and, as {earlier} has them: {', '.join(same)}"
    explained.update((pair, name) for pair in new)


def _summaries(names: Iterable[str], about: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """A line about each part, or that its package cannot be loaded; the list goes on."""
    for name in names:
        try:
            yield name, about(name)
        except LikewiseError as error:
            yield name, str(error)


def _section(title: str, rows: Iterable[tuple[str, str]]) -> None:
    """A heading, and names with what they mean in one column."""
    click.echo(title)
    _echo(rows, "  ")
    click.echo()


def _echo(rows: Iterable[tuple[str, str]], margin: str = "") -> None:
    """Names and texts in two columns."""
    listed = list(rows)
    width = max(len(name) for name, _ in listed)
    for name, text in listed:
        click.echo(f"{margin}{name:<{width}}  {text}".rstrip())
