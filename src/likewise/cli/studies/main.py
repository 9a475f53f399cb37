"""The group of the studies' commands."""

from __future__ import annotations

import click

from likewise.cli.main import CONTEXT, Group


@click.group(cls=Group, context_settings=CONTEXT)
def main() -> None:
    """Studies of learners: many games side by side, their tables, and what everything costs."""
