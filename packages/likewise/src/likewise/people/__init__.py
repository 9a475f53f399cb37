"""The schema of a person: features with names, kinds, bounds and words for people.

A :class:`FeatureSchema` turns rows, mappings, an array or a data frame into :class:`People`, and
refuses what does not fit, naming the person, the feature, the rule and the value. Its hash is part
of every state, so that a state is never continued with features that mean something else.
"""

from likewise.people.features import Feature, Kind, Value
from likewise.people.schema import FeatureSchema, People

__all__ = ["Feature", "FeatureSchema", "Kind", "People", "Value"]
