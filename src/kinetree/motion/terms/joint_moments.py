"""Moments in joints that depend on the motion: springs, dampers, relaxed muscles.

They act between the two bodies of a joint, beside its drive: tau = ID(q, qd, qdd) - M(q, qd) is what is left
for the drive, and what limits, efforts and torque rates read.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, Protocol

import numpy as np
from typing_extensions import override

from kinetree.algebra.arrays import Array
from kinetree.declare import Parameter, declare
from kinetree.errors import InputError, must_be
from kinetree.model.human.passive import passive_moments
from kinetree.model.human.segments import SIDES
from kinetree.motion.problem.profile import PAIRS
from kinetree.motion.problem.setting import Setting
from kinetree.motion.problem.unknowns import MOTION
from kinetree.motion.program.evaluation import At
from kinetree.motion.terms.arguments import BodyMass, JointNames, Names, Stature, Values
from kinetree.motion.terms.contract import Acting, Bounded, Constraint, per_joint

CURVED = tuple(PAIRS.index(pair) for pair in ((0, 0), (0, 1), (1, 1)))  # by q twice, by q and qd, by qd twice


class MomentLaw(Protocol):
    """What :class:`JointMoments` reads: moments M(q, qd) in k joints with two derivatives.

    :class:`kinetree.human.PassiveMoments` is one.
    """

    @property
    def names(self) -> Sequence[str]:
        """The joints, in order, of positions and moments alike."""

    def moments(self, q: Array, qd: Array) -> Array:
        """Moments (m, k) in N m, or N; positive in the direction in which the joint's coordinate grows."""

    def slopes(self, q: Array, qd: Array) -> Array:
        """Their derivatives, (m, 1, k, k) by q, or (m, 2, k, k) by q and by qd; rows are moments."""

    def bends(self, q: Array, qd: Array, weight: Array) -> Array:
        """Second derivatives of weight . moments: (m, 1, k, k) by q; or (m, 3, k, k), q q, q qd, qd qd."""


class JointMoments(Constraint):
    """Moments in joints that depend on the motion: tau = ID(q, qd, qdd) - M(q, qd) is what drives give.

    A subclass returns a law from :meth:`law`: an object with ``names`` of joints, ``moments(q, qd)``,
    ``slopes(q, qd)`` and ``bends(q, qd, weight)`` like those of :class:`kinetree.human.PassiveMoments`; with
    two slopes, by q and qd, and three bends, by q q, q qd and qd qd, where velocities have a part in it.
    Results show the moments as ``tau_passive``.

    >>> import kinetree as kt
    >>> issubclass(kt.terms.HumanPassive, JointMoments)
    True
    """

    family = "moments in joints"

    @abstractmethod
    def law(self, setting: Setting) -> MomentLaw:
        """The moments, for the mechanism of a problem."""

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """Nothing."""
        return []

    @override
    def acting(self, setting: Setting) -> list[Acting]:
        """The moments as loads."""
        return [JointLoad(setting, self.law(setting), self.family)]


@declare("human_passive", "passive moments of a human: hips, knees and ankles")
class HumanPassive(JointMoments):
    """Passive moments of a human's hips, knees and ankles, so that only the rest takes effort.

    Riener and Edrich (1999); see :func:`kinetree.human.passive_moments`, whose arguments these are.

    >>> HumanPassive(height=1.63, mass=60.0).family
    'passive moments'
    """

    family = "passive moments"

    def __init__(
        self,
        height: Stature = 1.75,
        mass: BodyMass = 75.0,
        sides: Annotated[Names, Parameter("Legs", kind="names", default_text="default both")] = SIDES,
        factor: Annotated[float, Parameter("Factor on all moments (no unit)")] = 1.0,
    ) -> None:
        self.given = passive_moments(height, mass, SIDES if sides is None else sides, factor)

    @override
    def law(self, setting: Setting) -> MomentLaw:
        """The moments, for the mechanism of a problem."""
        return self.given


@declare("joint_springs", "additional springs carry a share of the torques")
class JointSprings(JointMoments):
    """Springs in addition to those of the mechanism: tau = ID(q, qd, qdd) + k (q - rest).

    ``stiffness`` (N m/rad, N/m) and ``rest`` (rad, m): one number for all of the joints, one for each, or a
    mapping.

    >>> JointSprings(20.0, joints="toe").family
    'joint springs'
    """

    family = "joint springs"

    def __init__(
        self,
        stiffness: Annotated[Values, Parameter("Their stiffness", "N m/rad, N/m", "gains")],
        rest: Annotated[Values, Parameter("Where they rest", "rad, m", "positions")] = 0.0,
        joints: JointNames = None,
    ) -> None:
        self.stiffness, self.rest, self.joints = stiffness, rest, joints

    @override
    def law(self, setting: Setting) -> MomentLaw:
        """The springs, for the mechanism of a problem."""
        chosen = setting.joints(self.joints, self.family)
        stiffness, rest = (
            per_joint(given, setting, chosen, f"{key} of {self.family}", 0.0)
            for key, given in (("stiffness", self.stiffness), ("rest", self.rest))
        )
        if not (np.isfinite(stiffness) & (stiffness >= 0.0) & np.isfinite(rest)).all():
            raise InputError(
                must_be(f"{self.family}: stiffness", "finite and not negative", stiffness.tolist())
            )
        return _Springs([setting.mechanism.joint_names[j] for j in chosen], stiffness, rest)


class _Springs:
    """k (rest - q)."""

    def __init__(self, names: list[str], stiffness: Array, rest: Array) -> None:
        self.names, self.stiffness, self.rest = names, stiffness, rest

    def moments(self, q: Array, qd: Array) -> Array:
        return self.stiffness * (self.rest - q)

    def slopes(self, q: Array, qd: Array) -> Array:
        return np.broadcast_to(np.diag(-self.stiffness), (len(q), 1, len(self.names), len(self.names)))

    def bends(self, q: Array, qd: Array, weight: Array) -> Array:
        return np.zeros((len(q), 0, len(self.names), len(self.names)))


class JointLoad(Acting):
    """tau -= M(q, qd) of some joints."""

    reads, in_joints = (MOTION,), True

    def __init__(self, setting: Setting, law: MomentLaw, family: str) -> None:
        joints = setting.joints(list(law.names), family)
        self.law, self.rows = law, setting.own[joints]
        self.moving = np.array([k for k, j in enumerate(joints) if j in setting.column], dtype=np.int64)
        self.columns = np.array([setting.column[joints[k]] for k in self.moving], dtype=np.int64)

    def _state(self, at: At) -> tuple[Array, Array]:
        motion = at.motion
        return motion.q[:, self.rows], motion.qd[:, self.rows]

    @override
    def add_torques(self, at: At, tau: Array) -> None:
        """What drives need not give."""
        tau[:, self.rows] -= self.law.moments(*self._state(at))

    @override
    def add_slopes(self, at: At, slopes: Array) -> None:
        """Its part of the derivatives by all coordinates."""
        found = self.law.slopes(*self._state(at))
        for rate in range(found.shape[1]):
            slopes[rate][:, self.rows[:, None], self.rows] -= found[:, rate]

    @override
    def bend_torques(self, at: At, weight: Array) -> None:
        """Second derivatives of weight . tau."""
        bent = self.law.bends(*self._state(at), weight[:, self.rows])
        some = self.moving[:, None], self.moving
        for block, twice in zip(CURVED, range(bent.shape[1]), strict=False):
            factor = 1.0 if block == CURVED[1] else 0.5
            at.add_entries(block, self.columns, -factor * bent[:, twice][:, *some])
