"""What a mechanism meets in a simulation, apart from the law that drives it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kinetree.simulation.ground import Ground
from kinetree.simulation.options import Stops
from kinetree.state import Wrench


class Surroundings(NamedTuple):
    """The ground under its contact points, constant wrenches, and stops at the limits of its joints."""

    ground: Ground | None = None
    loads: tuple[Wrench, ...] = ()
    stops: Stops | None = None


def surroundings(
    ground: Ground | None = None, loads: Wrench | Sequence[Wrench] = (), stops: Stops | None = None
) -> Surroundings:
    """The same from the arguments of a simulation, of which ``loads`` may be a single wrench."""
    return Surroundings(ground, (loads,) if isinstance(loads, Wrench) else tuple(loads), stops)
