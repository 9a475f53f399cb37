"""Worlds: streams of people, labels and panels."""

from likewise.worlds.admissions import Admissions
from likewise.worlds.base import Encounter, Recorded, World
from likewise.worlds.loans import Loans

__all__ = ["WORLDS", "Admissions", "Encounter", "Loans", "Recorded", "World"]

WORLDS: dict[str, type[Loans] | type[Admissions]] = {"loans": Loans, "admissions": Admissions}
