"""A village that lends: one part of each kind that Likewise knows by name."""

from .intervals import Intervals
from .lending import Village, YearsApart, cautious
from .two_temperatures import TwoTemperatures

__all__ = ["Intervals", "TwoTemperatures", "Village", "YearsApart", "cautious"]
