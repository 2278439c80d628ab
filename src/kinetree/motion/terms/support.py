"""What a mechanism stands on: rows of generalized forces, the center of pressure, springs in joints.

A tree that is rooted at what it stands on has the ground's reaction as the generalized forces of its root:
force by the sliding coordinates, moment by the rotating ones. So the zero-moment point within a support,
friction and pushing are linear in them, and nothing is divided by the vertical force.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import override

from kinetree.algebra.arrays import Array, number
from kinetree.algebra.bspline import Integers
from kinetree.declare import Parameter, declare
from kinetree.dynamics.axis_motion import axis_motion
from kinetree.dynamics.coupling import all_axes, all_rates
from kinetree.errors import InputError, expect, must_be
from kinetree.motion.problem.setting import Setting
from kinetree.motion.terms.arguments import Instants
from kinetree.motion.terms.contract import Bounded, Constraint, Rows, row, two_bounds
from kinetree.motion.terms.force import CONE, FrictionShape, checked_shape, sides_of
from kinetree.motion.terms.functions import TorqueCone, TorqueSum

CONE_ROUNDING = 1e-3  # weights: of the tip of a friction cone
LENGTH = 0.1  # m: what counts as 1 of a center of pressure
UPRIGHT = 1e-6  # by how much axes of a root may be off the axes of the world


@declare("torque_combination", "a weighted sum of torques stays between bounds")
class TorqueCombination(Constraint):
    """A weighted sum of torques stays within bounds: lower <= sum_j c_j tau_j <= upper.

    ``coefficients`` map joints to numbers, or to one number for each of the instants ``at``. ``size`` is the
    scale for tolerances.

    >>> TorqueCombination({"root_z": 0.6, "root_x": -1.0}, lower=0.0).family
    'combination of torques'
    """

    family = "combination of torques"

    def __init__(
        self,
        coefficients: Annotated[
            Mapping[str, ArrayLike],
            Parameter("Numbers by joint, or lists by instant (no unit)", kind="coefficients"),
        ],
        lower: Annotated[
            float | None, Parameter("Lower bound", "N m, N", default_text="default none")
        ] = None,
        upper: Annotated[
            float | None, Parameter("Upper bound", "N m, N", default_text="default none")
        ] = None,
        size: Annotated[float, Parameter("Scale", "N m, N", "positive")] = 1.0,
        at: Instants = "samples",
    ) -> None:
        expect(coefficients, Mapping, f"coefficients of {self.family}", "numbers by names of joints")
        self.coefficients, self.at = dict(coefficients), at
        self.lower, self.upper = two_bounds(lower, upper, self.family)
        self.size = number(size, f"size of {self.family}")
        if not self.coefficients:
            raise InputError(f"{self.family}: give at least one joint with its coefficient")
        if self.size <= 0.0:
            raise InputError(must_be(f"size of {self.family}", "positive", size, ""))

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        s = setting.where(self.at, self.family)
        joints = setting.joints(list(self.coefficients), self.family)
        matrix = np.empty((len(s), 1, len(joints)))
        for k, (name, given) in enumerate(self.coefficients.items()):
            value = row(given, f"coefficient of '{name}'")
            if value.shape not in ((), (len(s),)):
                raise InputError(
                    f"{self.family}: the coefficient of '{name}' must be one number or {len(s)}, one for "
                    f"each instant, got shape {value.shape}"
                )
            matrix[:, 0, k] = value
        function = _varying(setting.own[joints], matrix, s)
        label = [" and ".join(self.coefficients)]
        return [Rows(function, s, [self.lower], [self.upper], self.family, label, "", self.size, "torque")]


def _varying(rows: Integers, matrix: Array, s: Array) -> TorqueSum:
    """Combinations with matrices (m, k, rows); those that do not vary are one."""
    if len(s) == 1 or (matrix == matrix[:1]).all():
        return TorqueSum(rows, matrix[0])
    return TorqueSum(rows, matrix, s)


@declare("support", "center of pressure within a rectangle, and friction")
class Support(Constraint):
    """The ground only pushes, holds by friction, and its pressure has its center within a rectangle.

    For a tree that is rooted at what it stands on. ``force`` names its coordinates that slide along x, y and
    z, ``moment`` those that rotate about x and y of what stands there, in the root's origin. The center of
    pressure (m, from that origin, in these axes) keeps between ``lower`` and ``upper`` (2,), or (m, 2) for as
    many instants in ``at``; forces keep within ``friction`` of a ``shape``, by default the box |f_x|, |f_y|
    <= mu f_z (see :class:`Friction`), and 0 <= f_z <= ``largest`` times the weight. Multiplied by f_z, all of
    it but a cone is linear in the generalized forces: -moment_y / f_z is x
    of the zero-moment point (Vukobratovic and Borovac 2004), moment_x / f_z its y.

    >>> Support(("x", "y", "z"), ("roll", "pitch"), lower=(-0.01, -0.035), upper=(0.2, 0.035)).family
    'support'
    """

    family = "support"

    def __init__(
        self,
        force: Annotated[
            Sequence[str], Parameter("Joints of the root that translate along x, y and z", kind="names")
        ],
        moment: Annotated[
            Sequence[str], Parameter("Joints of the root that rotate about x and y", kind="names")
        ],
        lower: Annotated[ArrayLike, Parameter("Lower x and y; or a row for each instant", "m", "corners")],
        upper: Annotated[ArrayLike, Parameter("Upper x and y; or a row for each instant", "m", "corners")],
        friction: Annotated[float, Parameter("Coefficient of friction (no unit)")] = 0.6,
        largest: Annotated[
            float, Parameter("Largest force, in body weights (no unit)", kind="positive")
        ] = 3.0,
        at: Instants = "samples",
        shape: FrictionShape = "box",
    ) -> None:
        for given, what in ((force, "force"), (moment, "moment")):
            expect(given, Iterable, f"{what} of {self.family}", "a list of terms")
        self.force, self.moment, self.at = list(force), list(moment), at
        self.shape = checked_shape(shape, self.family)
        self.lower, self.upper = (
            row(lower, f"lower corner of {self.family}"),
            row(upper, f"upper corner of {self.family}"),
        )
        self.friction, self.largest = number(friction, f"friction of {self.family}"), float(largest)
        if len(self.force) != 3 or len(self.moment) != 2:
            raise InputError(
                f"{self.family}: force names three joints, along x, y and z, and moment two, about x and y; "
                f"got {self.force} and {self.moment}"
            )
        for corner in (self.lower, self.upper):
            if corner.ndim not in (1, 2) or corner.shape[-1] != 2:
                raise InputError(f"{self.family}: corners have shape (2,) or (m, 2), got {corner.shape}")
        if (self.lower > self.upper).any():
            raise InputError(f"{self.family}: a lower corner is above the upper one")
        if self.friction < 0.0 or not self.largest > 0.0:
            raise InputError(
                f"{self.family}: friction must be 0 or more, largest positive, got {friction} and {largest}"
            )

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        s, mu = setting.where(self.at, self.family), self.friction
        for corner in (self.lower, self.upper):
            if corner.ndim == 2 and len(corner) != len(s):
                raise InputError(f"{self.family}: {len(s)} instants need as many corners, got {len(corner)}")
        weight = setting.mechanism.mass * float(np.linalg.norm(setting.mechanism.gravity))
        if weight <= 0.0:
            raise InputError(f"{self.family}: it needs gravity")
        joints = setting.joints([*self.force, *self.moment], self.family)
        lx, ly = np.broadcast_to(self.lower, (len(s), 2)).T
        ux, uy = np.broadcast_to(self.upper, (len(s), 2)).T
        zero, one = np.zeros(len(s)), np.ones(len(s))
        edges = [  # by f_x, f_y, f_z, moment about x, moment about y
            (zero, zero, -lx, zero, -one),
            (zero, zero, ux, zero, one),
            (zero, zero, -ly, one, zero),
            (zero, zero, uy, -one, zero),
        ]
        rows: list[tuple[Array, ...]] = [tuple(x / LENGTH for x in y) for y in edges]
        around, held = sides_of(self.shape, mu)
        rows += [(-a * one, -b * one, held * one, zero, zero) for a, b in around]
        rows += [(zero, zero, one, zero, zero)]
        matrix = np.moveaxis(np.array(rows), 2, 0) * self._signs(setting, joints) / weight
        labels = ["rear edge", "front edge", "right edge", "left edge"]
        labels += [f"friction towards {np.degrees(np.arctan2(b, a)):.0f} degrees" for a, b in around]
        labels += ["vertical force"]
        high = np.full(len(labels), np.inf)
        high[-1] = self.largest
        function = _varying(setting.own[joints], matrix, s)
        found: list[Bounded] = [
            Rows(function, s, np.zeros(len(labels)), high, self.family, labels, "", 1.0, "support")
        ]
        if self.shape == CONE:
            across = np.eye(2, 3) / weight
            push = np.array([0.0, 0.0, mu * self._signs(setting, joints)[2] / weight])
            level = TorqueCone(setting.own[joints[:3]], across, push, CONE_ROUNDING)
            found.append(Rows(level, s, [0.0], [np.inf], self.family, ["friction cone"], "", 1.0, "friction"))
        return found

    def _signs(self, setting: Setting, joints: list[int]) -> Array:
        """1 or -1: whether the joints point along the axes x, y, z, x, y of the world at rest."""
        mechanism = setting.mechanism
        tree, rest = mechanism.tree, np.zeros((1, mechanism.n_dof))
        axes = axis_motion(tree, all_axes(tree, rest), all_rates(tree, 0.0 * rest), np.zeros(tree.n))
        signs: list[float] = []
        for j, along in zip(joints, (0, 1, 2, 0, 1), strict=True):
            k = tree.axis_names.index(mechanism.joint_names[j])
            z = axes.rotation[0, k, :, 2]
            slides = len(signs) < 3
            if bool(tree.turns[k]) == slides or abs(abs(z[along]) - 1.0) > UPRIGHT:
                raise InputError(
                    f"{self.family}: joint '{mechanism.joint_names[j]}' must "
                    f"{'slide along' if slides else 'rotate about'} {'xyz'[along]} in its zero position"
                )
            signs.append(float(np.sign(z[along])))
        return np.array(signs)
