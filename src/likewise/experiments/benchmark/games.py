"""Whole games, as ``likewise simulate`` plays them."""

from __future__ import annotations

import time

from likewise.experiments.benchmark.items import Asked, Item
from likewise.experiments.games import Game


def games(quick: bool) -> list[Item]:
    """Context-FTPL at R(r) with its evaluation draws, and the exact player, on ``loans``."""
    rounds = 50 if quick else 10_000
    limits = {"self-tuned": Asked("seconds", 30.0), "exact": Asked("seconds", 8.0)}
    items = []
    for learner, limit in limits.items():
        Game("loans", learner, 2).prepare().play()
        game = Game("loans", learner, rounds).prepare()
        began = time.perf_counter()
        played = game.play()
        seconds = time.perf_counter() - began
        items.append(
            Item(
                f"simulate-{learner}", "a game of likewise simulate, without the comparator",
                f"loans, T = {rounds:,}", seconds, asked=limit,
                details={"draws_of_the_learner": int(played.calls[-1]),
                         "seconds_a_round": seconds / rounds},
            )
        )  # fmt: skip
    return items
