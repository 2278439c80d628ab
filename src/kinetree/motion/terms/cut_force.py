"""A cut joint of an open tree: two points held together by a force that is sought, too.

[Xiang2009], eq. 38.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from typing_extensions import override

from kinetree.algebra.arrays import vector
from kinetree.algebra.bspline import BSplineBasis
from kinetree.declare import Parameter, declare
from kinetree.errors import InputError
from kinetree.model.body import WORLD
from kinetree.model.mechanism import Mechanism
from kinetree.motion.problem.setting import Setting
from kinetree.motion.problem.unknowns import Curve
from kinetree.motion.terms.arguments import BodyName, OtherBody, PointOnBody, PointOnOther
from kinetree.motion.terms.contract import Acting, Bounded, Constraint, PointForce
from kinetree.motion.terms.force import Combined, UnknownForce
from kinetree.motion.terms.reach import AXES, ORIGIN, RelativePosition


@declare("cut_force", "two points held together by an unknown force")
class CutForce(Constraint):
    """Two points of bodies held together by an unknown force: a ball or a planar hinge of a closed loop.

    The other way to predict with closed loops: all joints of the open tree (`Mechanism.opened`) have splines,
    the positions are tied at as many instants as these have control points, and the force that body ``of``
    exerts on ``body`` is a block of unknowns, "force:NAME" (N, in world axes). ``axes`` are the directions
    that the joint holds, "xy" for a hinge about z. Between the instants the points are apart by what splines
    cannot follow; closed loops themselves (`Problem` of the closed mechanism) stay closed to rounding.

    >>> CutForce("left_rod", "right_rod", (0.4, 0, 0), (0.4, 0, 0), axes="xy").family
    'cut joint'
    """

    family = "cut joint"

    def __init__(
        self,
        body: BodyName,
        of: OtherBody,
        point: PointOnBody = ORIGIN,
        of_point: PointOnOther = ORIGIN,
        name: Annotated[str | None, Parameter("Name of the force", default_text="default the body's")] = None,
        axes: Annotated[
            str, Parameter('Directions that are held, such as "xy"', default_text="default all")
        ] = AXES,
        size: Annotated[float | None, Parameter("Scale of the force", "N", "positive")] = None,
    ) -> None:
        self.body, self.of, self.axes = body, of, axes
        self.point = vector(point, 3, f"point of '{body}'")
        self.of_point = vector(of_point, 3, f"point of '{of}'")
        if str(body) == str(of):
            raise InputError(f"{self.family}: it connects two bodies, got '{body}' twice")
        self._force = UnknownForce(body, self.point, name=name, axes=axes, size=size)
        self.name = self._force.name

    @override
    def unknowns(self, mechanism: Mechanism, basis: BSplineBasis) -> list[Curve]:
        """The components of the force over time."""
        return self._force.unknowns(mechanism, basis)

    @override
    def acting(self, setting: Setting) -> list[Acting]:
        """The force on one body and its opposite on the other."""
        found: list[Acting] = [*self._force.acting(setting)]
        if self.of != WORLD:
            directions = np.eye(3)[[AXES.index(letter) for letter in self.axes]]
            opposite = Combined(self._force.block, -directions.T)
            found.append(PointForce(setting, self.of, self.of_point, opposite))
        return found

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        zero, s = np.zeros(3), np.clip(setting.profiles.basis.greville, 0.0, 1.0)
        apart = RelativePosition(
            self.body, self.of, lower=zero, upper=zero, point=self.point, of_point=self.of_point,
            axes=self.axes, at=s,
        )  # fmt: skip
        apart.family = self.family
        return apart.bounded(setting)
