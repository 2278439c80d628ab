"""Forces and moments inside the joints, and the balance of the whole mechanism on the ground."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import override

from kinetree.algebra.arrays import Array, number
from kinetree.algebra.bspline import Integers
from kinetree.declare import Parameter, declare
from kinetree.errors import InputError, shown, unknown_name
from kinetree.motion.problem.reaction_axes import reaction_body
from kinetree.motion.problem.setting import Setting
from kinetree.motion.program.evaluation import At, Curves
from kinetree.motion.terms.arguments import BodyOrJoint, Instants
from kinetree.motion.terms.contract import TORQUE, Bounded, Constraint, Function, Objective, Rows, row
from kinetree.motion.terms.functions import Torque, TorqueForm, TorqueSum
from kinetree.state import COMPONENTS

PARTS = {"force": (slice(0, 3), "N"), "moment": (slice(3, 6), "N m")}
ROUNDING = 1e-4  # of a norm near zero, as a fraction of its limit
ReactionPart = Annotated[
    str,
    Parameter(
        'Norm of the "force" or "moment", or one component "fx" to "mz" in body axes',
        choices=(*PARTS, *COMPONENTS),
    ),
]


@declare("reaction_limit", "a limit of the force or moment inside a joint")
class ReactionLimit(Constraint):
    """Norm of the force, or of the moment, that a body's joint transmits; or one component of them.

    ``body`` is the body that the joint carries, or the joint: a person whose root is a foot has the knee
    between shank and thigh, whichever of them it carries, so name the joint there. It may also name a loop:
    what its body a exerts on body b, in a's frame of the cut joint.

    ``part`` "force" (N) or "moment" (N m) bounds the norm by ``upper``; a component "fx" .. "mz" in body axes
    has ``lower`` (default -upper) and ``upper``, and needs the name of that body.

    >>> ReactionLimit("link1", 25.0).family
    'joint reaction limit'
    """

    family = "joint reaction limit"

    def __init__(
        self,
        body: BodyOrJoint,
        upper: Annotated[float, Parameter("Largest norm, or upper bound of a component", "N, N m")],
        part: ReactionPart = "force",
        lower: Annotated[
            float | None, Parameter("Lower bound of a component", "N, N m", default_text="default -upper")
        ] = None,
        at: Instants = "samples",
    ) -> None:
        self.body, self.part, self.at = body, part, at
        self.upper = number(upper, f"{self.family} of '{body}'")
        if part not in (*PARTS, *COMPONENTS):
            raise InputError(
                unknown_name("part", part, (*PARTS, *COMPONENTS)).after(f"{self.family} of '{body}': ")
            )
        if part in PARTS:
            if self.upper <= 0.0 or lower is not None:
                raise InputError(
                    f"{self.family} of '{body}': a norm needs one positive bound, got {upper} and {lower}"
                )
            self.lower = -np.inf
        else:
            self.lower = -self.upper if lower is None else number(lower, f"lower {self.family}")
            if self.lower > self.upper:
                raise InputError(
                    f"{self.family} of '{body}', {part}: lower bound {self.lower:g} is above "
                    f"upper bound {self.upper:g}"
                )

    @override
    def reactions(self) -> tuple[str, ...]:
        """The joints whose reaction is needed."""
        return (self.body,)

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        s = setting.where(self.at, self.family)
        own = self.body in (*setting.mechanism.body_names, *(x.name for x in setting.mechanism.loops))
        label = [f"{self.part} {'on' if own else 'in'} {self.body}"]
        if self.part in PARTS:
            part, unit = PARTS[self.part]
            function: Function = TorqueNorm(setting.reaction(self.body, part), ROUNDING * self.upper)
        else:
            if not own:
                raise InputError(
                    f"{self.family} of joint '{self.body}': a component such as '{self.part}' is in the axes "
                    f"of a body: name the body that the joint carries, "
                    f"'{reaction_body(setting.mechanism, self.body)}'"
                )
            k = COMPONENTS.index(self.part)
            function, unit = Torque(setting.reaction(self.body, [k])), "N" if k < 3 else "N m"
        scale = max(abs(self.upper), abs(self.lower) if np.isfinite(self.lower) else 0.0, 1e-9)
        lower, upper = [self.lower], [self.upper]
        return [Rows(function, s, lower, upper, self.family, label, unit, [scale], "reaction")]


@declare("squared_reaction", "squared force or moment inside a joint")
class SquaredReaction(Objective):
    """Integral of the squared force or moment that a body's joint transmits, or of one component squared.

    ``body`` is the body that the joint carries, or the joint.

    >>> from kinetree import terms
    >>> (0.5 * terms.SquaredReaction("fore")).weight
    0.5
    """

    family = "squared joint reaction"

    def __init__(
        self,
        body: BodyOrJoint,
        part: ReactionPart = "force",
    ) -> None:
        self.body, self.part = body, part
        if part not in (*PARTS, *COMPONENTS):
            raise InputError(unknown_name("part", part, (*PARTS, *COMPONENTS)).after(f"{self.family}: "))

    @override
    def reactions(self) -> tuple[str, ...]:
        """The joints whose reaction is needed."""
        return (self.body,)

    @override
    def integrand(self, setting: Setting) -> Function:
        """What is integrated over the motion."""
        chosen = PARTS[self.part][0] if self.part in PARTS else [COMPONENTS.index(self.part)]
        rows = setting.reaction(self.body, chosen)
        return TorqueForm(rows, np.ones(len(rows)))


class TorqueNorm(Function):
    """sqrt(f . f + rounding^2) of generalized forces f."""

    size, reads = 1, (TORQUE,)

    def __init__(self, rows: Integers, rounding: float) -> None:
        self.rows, self.rounding = rows, rounding

    @override
    def values(self, at: At) -> Array:
        """The values at all samples."""
        f = at.tau[:, self.rows]
        norm: Array = np.sqrt((f * f).sum(axis=1, keepdims=True) + self.rounding**2)
        return norm

    @override
    def slopes(self, at: At) -> Array:
        """Their first derivatives."""
        direction = at.tau[:, self.rows] / self.values(at)
        return direction[:, None, None, :] @ at.torque_slopes[:, :, self.rows]

    @override
    def curve_slopes(self, at: At) -> Curves:
        """Their first derivatives by further blocks."""
        direction = (at.tau[:, self.rows] / self.values(at))[:, None]
        return {name: direction @ slopes[:, self.rows] for name, slopes in at.torque_curves.items()}

    @override
    def bend(self, at: At, weight: Array) -> None:
        """Second derivatives of their weighted sum."""
        size = self.values(at)
        at.weigh_torques(self.rows, weight * at.tau[:, self.rows] / size)
        each = np.broadcast_to(weight / size, (len(weight), len(self.rows)))
        curves = {name: slopes[:, self.rows] for name, slopes in at.torque_curves.items()}
        at.add_outer(each, at.torque_slopes[:, :, self.rows], curves=curves)
        at.add_outer(-weight / size, self.slopes(at), curves=self.curve_slopes(at))


@declare("zero_moment_point", "the zero-moment point stays in a polygon on the ground")
class ZeroMomentPoint(Constraint):
    """The zero-moment point stays in the support polygon on the ground z = height. [Shah2013], appendix B.

    ``polygon`` (k, 2): corners x, y (m) of a convex polygon. What the mechanism asks of the ground must push:
    the vertical force stays positive.

    >>> from kinetree import terms
    >>> terms.ZeroMomentPoint([(0, 0), (0.2, 0), (0.2, 0.1), (0, 0.1)]).family
    'zero-moment point'
    """

    family = "zero-moment point"

    def __init__(
        self,
        polygon: Annotated[ArrayLike, Parameter("Corners x, y of a convex polygon", "m", "rows")],
        height: Annotated[float, Parameter("Height of the ground", "m")] = 0.0,
        at: Instants = "samples",
    ) -> None:
        corners = row(polygon, "support polygon")
        if corners.ndim != 2 or corners.shape[1] != 2 or len(corners) < 3:
            raise InputError(f"a support polygon needs at least 3 corners (k, 2), got shape {corners.shape}")
        edges = np.roll(corners, -1, axis=0) - corners
        turns = (
            edges[:, 0] * np.roll(edges, -1, axis=0)[:, 1] - edges[:, 1] * np.roll(edges, -1, axis=0)[:, 0]
        )
        if not ((turns > 0).all() or (turns < 0).all()):
            raise InputError(
                f"the corners of the support polygon must go round a convex area, got {shown(polygon)}"
            )
        self.normals = np.stack([edges[:, 1], -edges[:, 0]], axis=1) * np.sign(turns[0])
        self.normals /= np.linalg.norm(self.normals, axis=1)[:, None]
        self.distances = (self.normals * corners).sum(axis=1)
        self.height, self.at = number(height, "height of the ground"), at

    @override
    def reactions(self) -> tuple[str, ...]:
        """The joints whose reaction is needed."""
        return ("world",)

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        g = setting.mechanism.gravity
        if g[2] >= 0.0 or g[0] != 0.0 or g[1] != 0.0:
            raise InputError(f"{self.family}: gravity must point along -z, got {g.tolist()}")
        h, nx, ny = self.height, self.normals[:, 0], self.normals[:, 1]
        zero = np.zeros(len(nx))
        # n . p <= d with p = (-My, Mx) / fz about the ground, times fz
        edges = np.stack([h * nx, h * ny, -self.distances, ny, -nx, zero], axis=1)
        matrix = np.vstack([edges, [0.0, 0.0, -1.0, 0.0, 0.0, 0.0]])
        weight = setting.mechanism.mass * -float(g[2])
        labels: Sequence[str] = [f"edge {k + 1}" for k in range(len(nx))] + ["vertical force"]
        upper, lower = np.zeros(len(matrix)), np.full(len(matrix), -np.inf)
        scale, s = np.full(len(matrix), weight), setting.where(self.at, self.family)
        function = TorqueSum(setting.reaction("world"), matrix)
        return [Rows(function, s, lower, upper, self.family, labels, "N m", scale, "support")]
