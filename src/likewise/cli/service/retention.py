"""``likewise docket retention`` and ``hold``: what is kept, for how long, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from likewise.cli.service.dockets import docket_command

if TYPE_CHECKING:
    from likewise.service.dockets.docket import Docket
    from likewise.service.dockets.governance import Governance

ALWAYS = "always"
Period = float | str


def _days(_: click.Context, param: click.Parameter, value: str | None) -> Period | None:
    """A number of days, which is checked where it is recorded, or ``always``."""
    if value is None or value == ALWAYS:
        return value
    try:
        return float(value)
    except ValueError as error:
        message = f"{value!r} is no number of days; give one, or {ALWAYS}."
        raise click.BadParameter(message, param=param) from error


@docket_command("retention", "How long features and reasons are kept.")
@click.option("--features", callback=_days, metavar="DAYS",
              help="Erase people's features so long after their round has closed.")  # fmt: skip
@click.option("--reasons", callback=_days, metavar="DAYS",
              help="Erase the words of reasons so long after the round has closed.")  # fmt: skip
def retention(opened: Docket, features: Period | None, reasons: Period | None) -> object:
    """Set how long docket NAME keeps features and reasons, in days or `always`.

    What is not named stays as it is; with neither, the periods and the holds are shown. Regulation
    B asks for 25 months, which are 761 days at least.
    """
    from likewise.service.dockets.commands.retention import set_retention

    governance = opened.refresh().governance
    if features is None and reasons is None:
        return "\n".join(_lines(governance))
    periods = _period(features, governance.features_days), _period(reasons, governance.reasons_days)
    return set_retention(opened, *periods)


def _period(period: Period | None, current: float | None) -> float | None:
    if period is None:
        return current
    return None if period == ALWAYS else float(period)


def _lines(governance: Governance) -> list[str]:
    periods = {"features": governance.features_days, "reasons": governance.reasons_days}
    lines = [
        f"{name}: kept " + (ALWAYS if days is None else f"{days:g} days after a round has closed")
        for name, days in periods.items()
    ]
    for name, hold in governance.holds.items():
        scope = "everything" if hold.of_round is None else f"round {hold.of_round}"
        person = "" if hold.person is None else f", {hold.person}"
        lines.append(f"hold {name}: {scope}{person}, for {hold.why}")
    return lines


@docket_command("hold", "A legal hold: nothing is erased until it is released.")
@click.option("--why", help="The reason, which stays in the ledger.")
@click.option("--round", "round_id", metavar="ROUND", help="Of one round only.")
@click.option("--person", help="Of one person in that round only.")
@click.option("--release", "hold_id", metavar="HOLD", help="End that hold instead.")
def place_or_release(
    opened: Docket, why: str | None, round_id: str | None, person: str | None, hold_id: str | None
) -> object:
    """Keep docket NAME, a round or a person in it from being erased, whatever the periods say.

    Prints the id of the hold and a receipt. Once it is released, what has been kept for its time is
    erased soon after.
    """
    from likewise.service.dockets.commands.retention import lift_hold, place_hold

    if (why is None) == (hold_id is None):
        raise click.UsageError("Give --why to place a hold, or --release to end one.")
    if hold_id is not None:
        return lift_hold(opened, hold_id)
    placed, receipt = place_hold(opened, str(why), round_id, person)
    click.echo(f"To end it: likewise docket hold {opened.name} --release {placed}", err=True)
    return f"{placed}\n{receipt}"
