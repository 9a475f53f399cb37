"""The settings of a server; every one of them can be given as ``LIKEWISE_…`` in the environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields

from likewise.errors import ParameterError

__all__ = ["DEFAULT_DATABASE", "Settings", "database_url"]

DEFAULT_DATABASE = "sqlite:///likewise.db"
PREFIX = "LIKEWISE_"
KINDS: dict[str, Callable[[str], str | int | float]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": lambda text: {"True": True, "False": False}[text],
}


def database_url(text: str) -> str:
    """An address of a database; a plain path is a SQLite file.

    >>> database_url("loans.db"), database_url("postgresql://localhost/likewise")
    ('sqlite:///loans.db', 'postgresql://localhost/likewise')
    """
    return text if "://" in text else f"sqlite:///{text}"


@dataclass(frozen=True)
class Settings:
    """What a server allows, and where it keeps its ledgers.

    Rates are requests a second, bursts how many may come at once. They are counted by each
    process on its own. ``public_url`` is the address that people use where there is a proxy
    before the server: if it is an https one, cookies are only ever sent encrypted.
    """

    database: str = DEFAULT_DATABASE
    body_limit: int = 1_000_000
    people_limit: int = 200
    labels_limit: int = 5_000
    feature_limit: int = 200
    reason_limit: int = 2_000
    rate: float = 50.0
    burst: int = 100
    anonymous_rate: float = 5.0
    anonymous_burst: int = 30
    waiting_limit: int = 200
    tick_seconds: float = 1.0
    session_seconds: float = 12 * 3600.0
    public_url: str = ""
    demo: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "database", database_url(self.database))
        for name, value in asdict(self).items():
            if name not in ("database", "public_url", "demo") and not value > 0:
                raise ParameterError(name, "must be above 0", value, "Leave it out for a default.")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        """Read the settings that are there; the others have their defaults.

        >>> Settings.from_environment({"LIKEWISE_BURST": "7"}).burst
        7
        """
        given: dict[str, str | int | float] = {}
        for field in fields(cls):
            text = environment.get(PREFIX + field.name.upper())
            if text is None:
                continue
            kind = KINDS[str(field.type)]
            try:
                given[field.name] = kind(text)
            except (ValueError, KeyError) as error:
                raise ParameterError(
                    PREFIX + field.name.upper(), f"must be of the kind {field.type}", text,
                    "Correct the variable, or unset it.",
                ) from error  # fmt: skip
        return cls(**given)  # type: ignore[arg-type] # each of the kind of its default

    def to_environment(self) -> dict[str, str]:
        """The same settings for another process."""
        return {PREFIX + name.upper(): str(value) for name, value in asdict(self).items()}
