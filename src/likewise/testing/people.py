"""People at random, and the one way in which a check fails."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from likewise.errors import ContractError, LikewiseError
from likewise.fixed_point import FloatArray
from likewise.schema import Feature, FeatureSchema, People
from likewise.validation import instance, integer

__all__ = ["called", "generator", "people_of", "require", "same_as_json", "trial"]

T = TypeVar("T")


def require(holds: object, what: object, sentence: str) -> None:
    """Raise a ContractError about ``what`` unless something holds."""
    if not holds:
        raise ContractError(f"{_name(what)}: {sentence}")


def called(what: object, doing: str, function: Callable[..., T], *given: Any, **named: Any) -> T:
    """Call a function of somebody else's; whatever it raises becomes a ContractError."""
    try:
        return function(*given, **named)
    except ContractError:
        raise
    except Exception as error:  # that is what is being checked
        raise ContractError(
            f"{_name(what)}: {doing} failed with {type(error).__name__}: {error}"
        ) from error


@contextmanager
def trial(what: object) -> Iterator[None]:
    """Turn whatever goes wrong inside into a ContractError about ``what``."""
    try:
        yield
    except ContractError:
        raise
    except Exception as error:  # that is what is being checked
        raise ContractError(f"{_name(what)}: {type(error).__name__}: {error}") from error


def _name(what: object) -> str:
    return what.__name__ if isinstance(what, type) else type(what).__name__


def generator(seed: int) -> np.random.Generator:
    """Random numbers for a check, from its seed."""
    return np.random.default_rng(integer("seed", seed, 0, None, "Any number of at least 0."))


def same_as_json(
    what: T,
    write: Callable[[T], Mapping[str, Any]],
    read: Callable[[Mapping[str, Any]], T],
) -> T:
    """Write a thing as JSON text and read it back; what comes back must write the same."""
    spec = dict(called(what, "spec()", write, what))
    try:
        text = json.dumps(spec)
    except (TypeError, ValueError) as error:
        raise ContractError(f"{_name(what)}: spec() is not JSON: {error}") from error
    again = called(what, "from_spec(spec())", read, json.loads(text))
    require(type(again) is type(what), what, f"from_spec made a {_name(again)} of it.")
    written = json.dumps(dict(called(again, "spec() of what was read back", write, again)))
    require(written == text, what, f"spec() reads {text}; read back and written again, {written}.")
    return again


def people_of(schema: FeatureSchema, count: int, seed: int = 0) -> People:
    """People at random whom a schema admits: also at the bounds, and lacking what may be missing.

    >>> schema = FeatureSchema((Feature("age", "integer", 18, 20), Feature("owner", "flag")))
    >>> people = people_of(schema, 50)
    >>> sorted(set(people.column("age").tolist())), len(people)
    ([18.0, 19.0, 20.0], 50)
    """
    instance("schema", schema, FeatureSchema, "Make one: FeatureSchema((Feature(…), …)).")
    count = integer("count", count, 0, 1 << 31, "It is a number of people.")
    rng = generator(seed)
    columns = [_column(feature, count, rng) for feature in schema.features]
    x = np.stack(columns, axis=1) if count else np.zeros((0, len(schema)))
    try:
        return schema.encoded(x)
    except LikewiseError as error:
        raise ContractError(f"People at random do not fit their own schema: {error}") from error


def _column(feature: Feature, count: int, rng: np.random.Generator) -> FloatArray:
    """Values of one feature: between its bounds, at them, and small integers, where cuts may be."""
    low, high = feature.limits
    below = low if np.isfinite(low) else min(high, 0.0) - 1000.0
    above = high if np.isfinite(high) else max(low, 0.0) + 1000.0
    if feature.kind != "number":
        below, above = np.ceil(below), np.floor(above)
    u = rng.random(count)
    spread = below * (1.0 - u) + above * u
    near = rng.integers(-3, 8, count).astype(np.float64)
    ways = [spread, np.rint(spread), near, np.full(count, below), np.full(count, above)]
    values = np.choose(rng.choice(5, count, p=[0.3, 0.2, 0.3, 0.1, 0.1]), ways)
    values = np.clip(values if feature.kind == "number" else np.rint(values), below, above)
    if feature.missing is not None:
        values = np.where(rng.random(count) < 0.2, np.nan, values)
    return np.asarray(values, dtype=np.float64)
