"""A method as it is for a pilot whose classes, or whose queries, are of a special kind."""

from __future__ import annotations

from headcount.estimators.base import Extrapolator
from headcount.estimators.ranked import Ranked
from headcount.estimators.whole_groups import WholeGroups
from headcount.pilot.pilot import Pilot


def suited(method: Extrapolator, pilot: Pilot) -> Extrapolator:
    """Return a method as it is for a pilot.

    `Ranked` where queries have several graded documents, `WholeGroups` where classes came in whole
    groups, and else the method itself.
    """
    if pilot.ranking is not None:
        return Ranked(method=method)
    return WholeGroups(method=method) if pilot.whole_groups else method
