"""Loop closures: cut joints that tie two bodies of the tree together. A description without forces."""

from __future__ import annotations

from dataclasses import dataclass, field

from kinetree.algebra.placement import Placement
from kinetree.errors import ModelError, unknown_name
from kinetree.model.body import checked_name
from kinetree.model.joint import Joint
from kinetree.model.joint_kind import KINDS


@dataclass(frozen=True)
class Loop:
    """A cut joint between bodies a and b.

    The closed joint has the given kind and axes; its frame is placed at ``placement_a`` in body a and, moved
    by the joint, at ``placement_b`` in body b. A revolute cut joint leaves one of six relative motions free.
    """

    joint: Joint
    body_a: str
    body_b: str
    placement_a: Placement = field(default_factory=Placement)
    placement_b: Placement = field(default_factory=Placement)

    def __post_init__(self) -> None:
        checked_name(self.body_a, f"loop '{self.name}': body a")
        checked_name(self.body_b, f"loop '{self.name}': body b")
        if self.body_a == self.body_b:
            raise ModelError(f"loop '{self.name}' ties body '{self.body_a}' to itself; it needs two bodies")
        if self.joint.is_free:
            closing = [kind.name for kind in KINDS.values() if not kind.is_free]
            raise ModelError(f"loop '{self.name}': {unknown_name('cut joint', self.joint.kind, closing)}")

    @property
    def name(self) -> str:
        """The name of the cut joint."""
        return self.joint.name

    @property
    def n_constraints(self) -> int:
        """How many of the six relative motions the closed joint forbids."""
        return 6 - self.joint.n_dof
