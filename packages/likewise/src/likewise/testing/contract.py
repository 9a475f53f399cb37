"""The parts that all checks share: how they fail, people at random, and JSON read back."""

import inspect
import json
import traceback
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

from likewise.errors import ContractError, LikewiseError
from likewise.numerics.fixed_point import FloatArray
from likewise.people import Feature, FeatureSchema, People
from likewise.validation import instance, integer

T = TypeVar("T")
P = ParamSpec("P")
_FOLDER = Path(__file__).parent


def require(holds: object, part: object, sentence: str) -> None:
    if not holds:
        raise ContractError(f"{_name(part)}: {sentence}")


def contract(check: Callable[P, None]) -> Callable[P, None]:
    """Turn whatever goes wrong in a check into a ContractError about its first argument."""

    @wraps(check)
    def checked(*args: P.args, **kwargs: P.kwargs) -> None:
        part = next(iter(inspect.signature(check).bind(*args, **kwargs).arguments.values()))
        try:
            check(*args, **kwargs)
        except ContractError:
            raise
        except Exception as error:  # the part under check may raise anything
            raise ContractError(
                f"{_name(part)}: {_failing(error)} failed with {type(error).__name__}: {error}"
            ) from error

    return checked


def _failing(error: Exception) -> str:
    """Return the name of the function that the checks called and that failed."""
    frames = traceback.extract_tb(error.__traceback__)
    last = max(i for i, frame in enumerate(frames) if Path(frame.filename).parent == _FOLDER)
    return frames[min(last + 1, len(frames) - 1)].name


def _name(part: object) -> str:
    return part.__name__ if isinstance(part, type) else type(part).__name__


def require_text(part: object, *names: str) -> None:
    """Require attributes that are text, such as a name and a summary."""
    for name in names:
        text = getattr(part, name, None)
        require(isinstance(text, str) and text, part, f"it must have a {name}, a text.")


def generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(integer("seed", seed, 0, None, "Any number of at least 0."))


def same_as_json(
    part: T, write: Callable[[T], Mapping[str, Any]], read: Callable[[Mapping[str, Any]], T]
) -> T:
    """Write a part as JSON text and read it back; the copy must write the same."""
    spec = dict(write(part))
    try:
        text = json.dumps(spec)
    except (TypeError, ValueError) as error:
        raise ContractError(f"{_name(part)}: spec() is not JSON: {error}") from error
    copy = read(json.loads(text))
    require(type(copy) is type(part), part, f"from_spec made a {_name(copy)} of it.")
    again = json.dumps(dict(write(copy)))
    require(again == text, part, f"spec() reads {text}; read back and written again, {again}.")
    return copy


def people_of(schema: FeatureSchema, count: int, seed: int = 0) -> People:
    """Make up people whom a schema admits: also at the bounds, and with missing values.

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
    """Draw values of a feature: between its bounds, at them, and small integers, as cuts are."""
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
