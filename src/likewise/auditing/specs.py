"""Metrics and selections as JSON: the name that they are registered under, and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter, signature
from typing import Any, ClassVar, Self

from likewise.validation import members


class Specified:
    """A part that its name and its parameters describe; attributes have the parameters' names."""

    kind: ClassVar[str]
    name: ClassVar[str]

    def spec(self) -> dict[str, Any]:
        """The part as JSON: ``{kind: its name, …}`` and its parameters, in their order."""
        parameters = signature(type(self)).parameters
        return {self.kind: self.name, **{p: _listed(getattr(self, p)) for p in parameters}}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Self:
        """Read the part from its JSON; parameters with a default may be left out."""
        parameters = signature(cls).parameters.values()
        required = [p.name for p in parameters if p.default is Parameter.empty]
        optional = [p.name for p in parameters if p.default is not Parameter.empty]
        fields = members(cls.name, spec, (cls.kind, *required), optional)
        return cls(**{name: value for name, value in fields.items() if name != cls.kind})


def _listed(value: Any) -> Any:
    """The value with lists in place of tuples, as JSON has them."""
    return [_listed(item) for item in value] if isinstance(value, tuple) else value
