"""People: ids and rows of features that a schema has checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from likewise.errors import PeopleError, shown
from likewise.fixed_point import FloatArray, IntArray
from likewise.rows import checked_ids, is_numeric, refuse_repeated
from likewise.validation import as_array

if TYPE_CHECKING:
    from likewise.frames import Origin
    from likewise.schema.feature_schema import FeatureSchema

__all__ = ["People"]


@dataclass(frozen=True, eq=False)
class People:
    """Some people: an id and a row of encoded features each. Made by :meth:`FeatureSchema.people`.

    NaN in ``x`` stands for a value that is missing, where the schema allows that. ``origin`` is
    the kind of frame that they came from, if any: results go back as such a frame.
    """

    ids: tuple[str, ...]
    x: FloatArray
    schema: FeatureSchema
    origin: Origin | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        # Here, since a schema makes people and so needs them first.
        from likewise.schema.feature_schema import FeatureSchema

        if not isinstance(self.schema, FeatureSchema) or not is_numeric(self.x):
            raise PeopleError(
                f"People are made of ids, an array and a schema; got {type(self.x).__name__} and "
                f"{type(self.schema).__name__}. FeatureSchema.people makes them."
            )
        object.__setattr__(self, "ids", checked_ids(len(self.x), self.ids))
        refuse_repeated(self.ids)
        if self.x.shape != (len(self.ids), len(self.schema)):
            raise PeopleError(
                f"{len(self.ids)} people with {len(self.schema)} features need an array of that "
                f"shape; got {self.x.shape}. FeatureSchema.people makes it."
            )

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, places: Sequence[int] | IntArray, *, repeated: bool = False) -> People:
        """Some of the people, by their places; each at most once, unless they may be ``repeated``.

        >>> from likewise.schema import Feature, FeatureSchema
        >>> people = FeatureSchema((Feature("a"),)).people([[1], [2], [3]])
        >>> people.take([2, 0]).ids
        ('p3', 'p1')
        """
        chosen = as_array(places)
        known = chosen.ndim == 1 and (chosen.dtype.kind in "iu" or not chosen.size)
        if not known or (chosen.size and not 0 <= chosen.min() <= chosen.max() < len(self)):
            raise PeopleError(
                f"People are taken by their places, from 0 to {len(self) - 1}; got {shown(places)}."
            )
        chosen = chosen.astype(np.int64)
        if not repeated and len(np.unique(chosen)) != len(chosen):
            raise PeopleError(
                f"Everybody is taken once; got {shown(places)}. Say so if people are repeated."
            )
        origin = self.origin
        if origin is not None and origin.index is not None:
            origin = type(origin)(origin.backend, origin.index[chosen])
        ids = tuple([self.ids[place] for place in chosen.tolist()])
        return self._checked_already(ids, self.x[chosen], origin)

    def with_values(self, x: FloatArray) -> People:
        """The same people with other values, which need not be ones that the schema admits."""
        if not is_numeric(x) or x.shape != self.x.shape:
            raise PeopleError(f"The values must be an array of shape {self.x.shape}.")
        return self._checked_already(self.ids, x, self.origin)

    def _checked_already(
        self, ids: tuple[str, ...], x: FloatArray, origin: Origin | None
    ) -> People:
        """People made of parts of these, without looking at every id again."""
        made = object.__new__(People)
        for name, value in (("ids", ids), ("x", x), ("schema", self.schema), ("origin", origin)):
            object.__setattr__(made, name, value)
        return made

    def column(self, name: str) -> FloatArray:
        """One feature of everybody."""
        return self.x[:, self.schema.place(name)]

    def say(self, index: int) -> dict[str, str]:
        """One person's visible features in words."""
        return {
            f.title: f.say(float(v))
            for f, v in zip(self.schema.features, self.x[index], strict=True)
            if f.visible
        }
