"""Named frames of bodies: tool points, sensors, sites. They have no mass and no joint."""

from __future__ import annotations

from dataclasses import dataclass, field

from kinetree.algebra.placement import Placement
from kinetree.errors import ModelError, must_be
from kinetree.model.body import checked_name


@dataclass(frozen=True)
class Frame:
    """A named frame fixed in a body, or in the world, at ``placement`` in the frame of the ``body``.

    Functions of poses and velocities accept the name of a frame instead of that of a body.

    >>> import kinetree as kt
    >>> kt.model.Frame("tool", "link4", kt.Placement.at((0.1, 0, 0))).body
    'link4'
    """

    name: str
    body: str
    placement: Placement = field(default_factory=Placement)

    def __post_init__(self) -> None:
        checked_name(self.name, "a frame")
        checked_name(self.body, f"frame '{self.name}': body")
        if not isinstance(self.placement, Placement):
            raise ModelError(must_be(f"frame '{self.name}': placement", "a Placement", self.placement))
