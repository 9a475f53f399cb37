"""Errors: whatever Likewise refuses raises one of these.

Every message names the parameter, the rule, the value, and why or what to do:
    AtLeast.votes must be at least 1; got 0. With 0 votes a pair that nobody objected to would be
    reported.
"""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_LONGEST_VALUE = 120
_LONGEST_INTEGER = 2048


def shown(value: object) -> str:
    """Return a value as an error shows it: its ``repr``, cut off where it is long."""
    if isinstance(value, int) and value.bit_length() > _LONGEST_INTEGER:
        # Python itself refuses to write integers of more than some thousand digits.
        return f"an integer of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + "…"


class LikewiseError(Exception):
    """Anything that Likewise refuses; the state is as it was before."""


class ParameterError(LikewiseError, ValueError):
    """A parameter is outside its range.

    >>> raise ParameterError("AtLeast.votes", "must be at least 1", 0, "Use 1 for any member.")
    Traceback (most recent call last):
    likewise.errors.ParameterError: AtLeast.votes must be at least 1; got 0. Use 1 for any member.
    """

    def __init__(self, name: str, rule: str, value: Any, remedy: str) -> None:
        super().__init__(f"{name} {rule}; got {shown(value)}. {remedy}".rstrip())

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the sentence alone; the value may be anything."""
        return _parameter_error, (type(self), str(self))


def _parameter_error(kind: type[ParameterError], text: str) -> ParameterError:
    return kind.__new__(kind, text)


class PeopleError(LikewiseError, ValueError):
    """People, their features or their labels are not as the schema says."""


class HypothesisError(LikewiseError, ValueError):
    """A hypothesis class cannot be used, such as one without a constant."""


class RuleError(LikewiseError, ValueError):
    """A rule is not monotone, always fires, or names somebody who is not on the panel."""


class AuditError(LikewiseError, ValueError):
    """Objections, distances or a panel are not as an audit needs them."""


class EventRefused(LikewiseError):  # noqa: N818 - the sentence reads better
    """An event does not fit the state; the state is unchanged."""


class StateFileError(LikewiseError):
    """A state file is of another version or learner, cut short, or not a state file at all."""


class ContractError(LikewiseError, AssertionError):
    """An extension does not do what its base class promises; see :mod:`likewise.testing`."""


@contextmanager
def foreign_code(refused: type[LikewiseError], what: str, rule: str) -> Iterator[None]:
    """Turn any error of foreign code into one of ours; our own pass unchanged.

    >>> with foreign_code(AuditError, "The function failed", "It gets two people."):
    ...     raise KeyError("income")
    Traceback (most recent call last):
    likewise.errors.AuditError: The function failed with KeyError: 'income'. It gets two people.
    """
    try:
        yield
    except LikewiseError:
        raise
    except Exception as error:
        raise refused(f"{what} with {type(error).__name__}: {error}. {rule}") from error


class LikewiseWarning(UserWarning):
    """Anything that users should know about what Likewise does."""


class MergedHypotheses(LikewiseWarning):
    """Members of a pool that agree on all reference data were merged into one."""


class SchemaAdvice(LikewiseWarning):
    """A column that was left out of a proposed schema, or that deserves a second look."""


class UnseenValues(LikewiseWarning):
    """Levels that the rows of ``fit`` did not have, or missing values where they had none."""


class SlowEngine(LikewiseWarning):
    """The reference engine makes the draws, since the library of a faster one is missing."""


_HOME = f"{Path(__file__).parent}{os.sep}"


def warn(message: str, kind: type[LikewiseWarning]) -> None:
    """Warn at the first line of the stack outside Likewise."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(_HOME):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, kind, stacklevel=level)


EXTRAS = {
    "fast": ("numba",),
    "gpu": ("torch", "triton"),
    "frames": ("narwhals",),
    "scan": ("narwhals", "pyarrow"),
    "models": ("narwhals", "scikit-learn"),
    "audit": ("jinja2", "matplotlib", "narwhals", "pandas", "scipy"),
    "study": ("jinja2", "matplotlib", "scipy"),
    "mlflow": ("mlflow-skinny", "narwhals"),
}
# Libraries that are imported under another name than they are installed by.
_MODULES = {"mlflow-skinny": "mlflow", "scikit-learn": "sklearn"}


class MissingLibraryError(LikewiseError, ImportError):
    """An optional library is not installed, or cannot be imported."""


class MissingGpuError(LikewiseError):
    """There is no GPU that the GPU engine could work on."""


def missing(
    what: str, library: str, extra: str, error: ImportError | None = None
) -> MissingLibraryError:
    """The error for a library that ``what`` needs and that is not there."""
    # A library that is there and does not load is another matter, and its own words help.
    broken = error is not None and find_spec(_MODULES.get(library, library)) is not None
    why = f", which cannot be imported ({error})" if broken else ""
    return MissingLibraryError(
        f"{what} needs {library}{why}. Install it with: pip install 'likewise[{extra}]'"
    )


def absent(extra: str) -> list[str]:
    """The libraries of an extra that are not installed."""
    return [name for name in EXTRAS[extra] if find_spec(_MODULES.get(name, name)) is None]
