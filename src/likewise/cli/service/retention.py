"""``likewise docket retention``, ``hold`` and ``release``: what is kept, for how long, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from likewise.cli.service.dockets import docket_command

if TYPE_CHECKING:
    from likewise.service.dockets.docket import Docket
    from likewise.service.dockets.governance import Governance

__all__ = ["hold", "release", "retention"]

ALWAYS = "always"
Period = float | str


def _days(_: click.Context, param: click.Parameter, value: str | None) -> Period | None:
    """A number of days, which is checked where it is recorded, or ``always``."""
    if value is None or value == ALWAYS:
        return value
    try:
        return float(value)
    except ValueError as error:
        words = f"{value!r} is no number of days; give one, or {ALWAYS}."
        raise click.BadParameter(words, param=param) from error


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

    known = opened.refresh().governance
    if features is None and reasons is None:
        return "\n".join(_shown(known))
    periods = _period(features, known.features_days), _period(reasons, known.reasons_days)
    return set_retention(opened, *periods)


def _period(given: Period | None, known: float | None) -> float | None:
    if given is None:
        return known
    return None if given == ALWAYS else float(given)


def _shown(known: Governance) -> list[str]:
    lines = [
        f"{what}: kept " + (ALWAYS if days is None else f"{days:g} days after a round has closed")
        for what, days in (("features", known.features_days), ("reasons", known.reasons_days))
    ]
    for name, hold in known.holds.items():
        scope = "everything" if hold.of_round is None else f"round {hold.of_round}"
        person = "" if hold.person is None else f", {hold.person}"
        lines.append(f"hold {name}: {scope}{person}, for {hold.why}")
    return lines


@docket_command("hold", "Nothing is erased until the hold is released.")
@click.option("--why", required=True, help="The reason, which stays in the ledger.")
@click.option("--round", "round_id", metavar="ROUND", help="Of one round only.")
@click.option("--person", help="Of one person in that round only.")
def hold(opened: Docket, why: str, round_id: str | None, person: str | None) -> str:
    """Keep docket NAME, a round or a person in it from being erased, whatever the periods say.

    Prints the id of the hold and a receipt.
    """
    from likewise.service.dockets.commands.retention import place_hold

    made, receipt = place_hold(opened, why, round_id, person)
    click.echo(f"To end it: likewise docket release {opened.name} {made}", err=True)
    return f"{made}\n{receipt}"


@docket_command("release", "A hold is over.")
@click.argument("hold_id", metavar="HOLD")
def release(opened: Docket, hold_id: str) -> object:
    """End HOLD of docket NAME; what has been kept for its time is erased soon after."""
    from likewise.service.dockets.commands.retention import lift_hold

    return lift_hold(opened, hold_id)
