"""The figures of ``benchmarks/gpu.py`` as a table, with the limits of the machine beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from likewise.experiments.benchmark.page import amount

__all__ = ["gpu_markdown"]

# Bytes of a cost, and of a prediction.
COST, PREDICTION = 8, 1


def _draw_limit(row: Mapping[str, Any], limits: Mapping[str, Any]) -> float:
    """Seconds for the products of 8-bit integers alone: two digits a point, a product and a sum."""
    width = max(16, 1 << (row["separators"] - 1).bit_length())
    operations = 2.0 * row["draws"] * row["hypotheses"] * 2 * width
    return float(operations / (limits["int8_teraoperations_a_second"] * 1e12))


def _weights_limit(row: Mapping[str, Any], limits: Mapping[str, Any]) -> float:
    """Seconds to read costs and predictions twice and to write costs once."""
    bytes_ = row["hypotheses"] * (3 * COST + 2 * PREDICTION * row["people"])
    return float(bytes_ / (limits["copy_terabytes_a_second"] * 1e12))


def _times(seconds: float, limit: float) -> str:
    return f"{amount(limit)}, {seconds / limit:.3g} times that"


def _draws(name: str, row: Mapping[str, Any], limits: Mapping[str, Any]) -> tuple[str, ...]:
    seconds, torch = row["ms_recorded"] / 1e3, row["torch_ms_recorded"] / 1e3
    right = row["choices_wrong"] == row["sample_wrong"] == 0
    holds = right and row["times_torch_recorded"] >= row["asked_times"]
    shape = f"R = {row['draws']:,}, s = {row['separators']}, \\|H\\| = {row['hypotheses']:,}"
    return (
        f"draws from a {name}", shape, amount(seconds),
        f"{amount(torch)} (torch float32: `addmm`, `argmin`; without noise)",
        f"{row['times_torch_recorded']:.3g}", f"at least {row['asked_times']:g} times faster",
        "yes" if holds else "no", _times(seconds, _draw_limit(row, limits)),
    )  # fmt: skip


def gpu_markdown(report: Mapping[str, Any]) -> str:
    """The rows as a table; what was checked, and the machine, below it."""
    rows = {row["name"]: row for row in report["rows"]}
    limits, weights, game = rows["limits"], rows["exponential weights"], rows["game"]
    a_round = 1 / weights["rounds_a_second"]
    draw = {**game, "draws": game["draws_a_round"] + 1}
    weights_kept = weights["wrong"] == 0 and weights["rounds_a_second"] >= weights["asked"]
    game_kept = game["rounds_wrong"] == 0 and game["seconds"] <= game["asked_seconds"]
    lines = [
        ("what", "shape", "ours", "reference", "ratio", "asked", "kept", "limit"),
        ("---",) * 8,
        _draws("long list", rows["draws, long list"], limits),
        _draws("short list", rows["draws, short list"], limits),
        (
            "a round of exponential weights",
            f"\\|H\\| = {weights['hypotheses']:,}, k = {weights['people']}", amount(a_round), "–",
            f"{weights['rounds_a_second']:,.0f} a second",
            f"at least {weights['asked']:,} a second",
            "yes" if weights_kept else "no",
            _times(a_round, _weights_limit(weights, limits)),
        ),
        (
            "a whole game",
            f"\\|H\\| = {game['hypotheses']:,}, s = {game['separators']}, k = {game['people']}, "
            f"R = {game['draws_a_round']:,}, T = {game['rounds']:,}",
            amount(game["seconds"]), "–", "–", f"at most {game['asked_seconds']} s",
            "yes" if game_kept else "no",
            _times(game["seconds"] / game["rounds"], _draw_limit(draw, limits)) + " a round",
        ),
    ]  # fmt: skip
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    return f"{table}\n\n{_checked(rows)}\n\n{_where(report, limits)}"


def _checked(rows: Mapping[str, Mapping[str, Any]]) -> str:
    long, short, small = rows["draws, long list"], rows["draws, short list"], rows["small lists"]
    weights, game = rows["exponential weights"], rows["game"]
    return (
        f"Checked in the same run: all {long['choices_checked']:,} choices of the long list by "
        f"sums in float64 on the device ({long['choices_wrong']} differ) and {long['sample']} of "
        f"them by the reference engine ({long['sample_wrong']} differ); of the short list all "
        f"{short['choices_checked']:,} and {short['sample']:,} ({short['choices_wrong']} and "
        f"{short['sample_wrong']} differ); {small['draws_checked']:,} draws from small lists with "
        f"ties, copies and costs of any size ({small['wrong']} differ); the first "
        f"{weights['rounds_checked']} rounds of exponential weights ({weights['wrong']} differ); "
        f"the first {game['rounds_drawn_again']:,} rounds of the game, drawn again by the "
        f"reference engine ({game['rounds_wrong']} differ). Of {long['draws']:,} draws from the "
        f"long list {long['draws_with_several_tiles']:,} had more than one tile to look at again."
    )


def _where(report: Mapping[str, Any], limits: Mapping[str, Any]) -> str:
    m = report["machine"]
    return (
        f"Measured on: {m['gpu']}; torch {m['torch']}, triton {m['triton']}, numpy {m['numpy']}. "
        f"Its limits in the same run: {limits['copy_terabytes_a_second']:.3g} TB/s of memory "
        f"copied, {limits['int8_teraoperations_a_second']:.3g} tera-operations a second in "
        f"products of 8-bit integers."
    )
