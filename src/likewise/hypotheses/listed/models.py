"""Fitted models as columns of scores: whatever has ``predict_proba``, or is a function of a frame.

Models stay with their owner. A class and its states store the names of the columns and the cuts,
never a model; the client that deploys passes the scores, which :class:`ScoredFrames` computes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.errors import HypothesisError, ParameterError, shown
from likewise.fixed_point import FloatArray
from likewise.schema import Feature, FeatureSchema, People
from likewise.validation import as_array


def named_models(models: Any) -> dict[str, Any]:
    """Models by name: a mapping, or a list, whose models are called after their classes.

    >>> list(named_models([len, len]))
    ['builtin_function_or_method', 'builtin_function_or_method_2']
    """
    remedy = "Write {'forest': forest, 'logistic': logistic}."
    if isinstance(models, Mapping):
        named = dict(models)
    elif isinstance(models, Sequence) and not isinstance(models, str | bytes):
        named = {}
        for model in models:
            name = base = type(model).__name__.lower()
            number = 1
            while name in named:
                number += 1
                name = f"{base}_{number}"
            named[name] = model
    else:
        raise ParameterError("models", "must be models by name, or a list of them", models, remedy)
    if not named or not all(isinstance(name, str) and name for name in named):
        raise ParameterError("models", "must be models by name, at least one", models, remedy)
    for name, model in named.items():
        if not callable(model) and not hasattr(model, "predict_proba"):
            raise ParameterError(
                f"models[{name!r}]", "must have predict_proba, or be a function of a frame", model,
                "A model without chances can be wrapped: lambda frame: model.predict(frame).",
            )  # fmt: skip
    return named


def scores_of(name: str, model: Any, frame: Any) -> FloatArray:
    """A model's chances of the favourable label for the rows of a frame, checked.

    A model that was fitted on named columns gets these; of two classes the second counts.
    """
    try:
        if hasattr(model, "predict_proba"):
            names = getattr(model, "feature_names_in_", None)
            columns = frame if names is None else _columns(frame, [str(n) for n in names])
            chances = as_array(model.predict_proba(columns))
            if chances.ndim == 2 and chances.shape[1] == 2:
                chances = chances[:, 1]
        else:
            chances = as_array(model(frame))
    except Exception as error:  # a user's model may raise anything
        raise HypothesisError(
            f"The model {name!r} failed with {type(error).__name__}: {error}. It is given the "
            f"frame's rows, with the columns that it was fitted on."
        ) from error
    if chances.dtype.kind not in "biuf" or chances.shape != (len(frame),):
        raise HypothesisError(
            f"The model {name!r} must have one score for each of the {len(frame)} rows; got "
            f"{chances.dtype} of shape {chances.shape}. It must decide between two labels."
        )
    scores = chances.astype(np.float64)
    outside = ~((scores >= 0) & (scores <= 1))
    if outside.any():
        raise HypothesisError(
            f"The model {name!r} must give scores within [0, 1]; got {shown(scores[outside][0])}."
        )
    return scores


def _columns(frame: Any, names: list[str]) -> Any:
    from likewise.frames.library import nw

    return nw.from_native(frame, eager_only=True)[names].to_native()


@dataclass(frozen=True, eq=False)
class ScoredFrames:
    """Models beside the features that a panel sees: a frame becomes people with scores.

    ``schema`` has the features of ``features`` and a hidden column for each model.
    """

    models: Mapping[str, Any]
    features: FeatureSchema
    schema: FeatureSchema

    @classmethod
    def of(cls, models: Any, features: FeatureSchema) -> ScoredFrames:
        """From models by name, and the schema of the features."""
        named = named_models(models)
        if clashes := [name for name in named if name in features.names]:
            raise ParameterError(
                "models", "must not be called as a feature is", clashes[0], "Rename the model."
            )
        added = tuple(Feature(name, low=0, high=1, visible=False) for name in named)
        return cls(named, features, FeatureSchema((*features.features, *added)))

    def people(self, frame: Any, ids: Any = None) -> People:
        """People from a frame, with the models' scores; other columns are for the models."""
        people = self.features.people(frame, ids=ids, others="ignore")
        scores = [scores_of(name, model, frame) for name, model in self.models.items()]
        return People(people.ids, np.column_stack([people.x, *scores]), self.schema, people.origin)
