"""Loop closures: cut joints that tie two bodies of the tree together."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite

from kinetree.algebra.placement import Placement
from kinetree.errors import ModelError, expect, must_be
from kinetree.model.body import checked_name
from kinetree.model.joint import Joint


@dataclass(frozen=True)
class Loop:
    """A cut joint between bodies a and b.

    The closed joint has the given kind and axes; its frame is placed at ``placement_a`` in body a and, moved
    by the joint, at ``placement_b`` in body b. A revolute cut joint leaves one of six relative motions free.
    A spherical one with a ``length`` (m) is a massless rod with a ball at each end: it keeps the distance.
    In a graph (:func:`kinetree.model.from_graph`) it is any joint, and a free one lets a base float.

    >>> from dataclasses import replace
    >>> import kinetree as kt
    >>> tree = kt.zoo.two_link()
    >>> pin = kt.Joint.of_kind("pin", "revolute", axis="z")
    >>> end = kt.model.Loop(pin, "world", "link2", kt.Placement.at((0.5, 0, 0)), kt.Placement.at((0.4, 0, 0)))
    >>> kt.loops.structure(replace(tree, loops=(end,))).mobility
    0
    """

    joint: Joint
    body_a: str
    body_b: str
    placement_a: Placement = field(default_factory=Placement)
    placement_b: Placement = field(default_factory=Placement)
    length: float | None = None

    def __post_init__(self) -> None:
        expect(self.joint, Joint, "joint of a loop", "a Joint")
        for place in ("placement_a", "placement_b"):
            expect(getattr(self, place), Placement, f"loop '{self.name}': {place}", "a Placement")
        checked_name(self.body_a, f"loop '{self.name}': body a")
        checked_name(self.body_b, f"loop '{self.name}': body b")
        if self.body_a == self.body_b:
            raise ModelError(
                f"loop '{self.name}' connects body '{self.body_a}' to itself; it needs two bodies"
            )
        if self.length is not None and not self.joint.is_ball:
            raise ModelError(
                f"loop '{self.name}': only a spherical cut joint takes a length (a rod), "
                f"not a {self.joint.kind} one"
            )
        if self.length is not None and not (isfinite(self.length) and self.length > 0.0):
            raise ModelError(must_be(f"loop '{self.name}': length", "a positive number (m)", self.length, ""))

    @property
    def name(self) -> str:
        """The name of the cut joint."""
        return self.joint.name

    @property
    def n_constraints(self) -> int:
        """How many of the six relative motions the closed joint forbids."""
        return 6 - self.joint.n_dof if self.length is None else 1
