"""The JSON of a class: its name, its schema, and what else it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from likewise.schema import FeatureSchema
from likewise.validation import members

__all__ = ["read_class", "written_class"]


def written_class(name: str, schema: FeatureSchema, **own: Any) -> dict[str, Any]:
    """Write a class: the name that it is registered under, the schema, and its own parameters.

    >>> from likewise.schema import Feature
    >>> written = written_class("pool", FeatureSchema((Feature("age"),)), cuts=(1, 2))
    >>> written["class"], written["cuts"]
    ('pool', [1, 2])
    """
    plain = {key: list(value) if isinstance(value, tuple) else value for key, value in own.items()}
    return {"class": name, "schema": schema.spec(), **plain}


def read_class(
    name: str, spec: Mapping[str, Any], *own: str
) -> tuple[FeatureSchema, dict[str, Any]]:
    """Read the schema and its own parameters back, all of them and nothing else."""
    given = members(name, spec, ("class", "schema", *own))
    return FeatureSchema.from_spec(given["schema"]), {key: given[key] for key in own}
