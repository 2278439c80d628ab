"""How smoothly, and how near to a given motion: jerk and tracking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from typing_extensions import override

from kinetree.algebra.arrays import Array
from kinetree.declare import Parameter, declare
from kinetree.errors import InputError, listed
from kinetree.motion.problem.profile import RATES
from kinetree.motion.problem.setting import Setting
from kinetree.motion.program.evaluation import At
from kinetree.motion.terms.arguments import JointNames, JointWeights, RowInstants
from kinetree.motion.terms.contract import Chained, Function, Objective, Quantity, per_joint, row
from kinetree.motion.terms.reference import followed


@declare("jerk", "squared third derivatives of the joints")
class Jerk(Objective):
    """Integral of sum_j w_j jerk_j^2 dt, the third time derivative of the joints; for degree 3 and more.

    In closed loops it is that of the independent joints.

    >>> from kinetree import terms
    >>> (0.5 * terms.Jerk()).weight
    0.5
    """

    family = "jerk"

    def __init__(self, joints: JointNames = None, weights: JointWeights = 1.0) -> None:
        self.joints, self.weights = joints, weights

    @override
    def integrand(self, setting: Setting) -> Quantity:
        """What is integrated over the motion."""
        if setting.profiles.basis.degree < 3:
            raise InputError(f"{self.family} needs splines of degree 3 or more")
        chosen = setting.spline_joints(self.joints, self.family)
        weights = np.zeros(setting.profiles.n)
        columns = [setting.column[j] for j in chosen]
        weights[columns] = per_joint(self.weights, setting, chosen, f"weights of {self.family}", 1.0)
        return _SquaredJerk(weights)

    @override
    def smooths(self, setting: Setting) -> Sequence[int]:
        """Joints whose profile it determines."""
        return setting.spline_joints(self.joints, self.family)


class _SquaredJerk(Chained):
    size, of_squares = 1, True

    def __init__(self, weights: Array) -> None:
        self.weights = weights

    @override
    def values(self, at: At) -> Array:
        return (at.evaluation.jerk[at.part] ** 2 @ self.weights)[:, None]

    @override
    def pull(self, at: At) -> tuple[Array, Array]:
        jerk, third = at.evaluation.jerk[at.part], at.evaluation.grid.third[at.part]
        by_point = (2.0 / at.duration**3) * third[:, :, None] * (self.weights * jerk)[:, None]
        return by_point[:, :, None], (-6.0 / at.duration) * self.values(at)

    @override
    def bend(self, at: At, weight: Array) -> None:
        at.weigh_jerk(weight * self.weights)


@declare("tracking", "squared distance from a given motion")
class Tracking(Objective):
    """Integral of sum_j w_j (q_j - reference_j)^2 dt for a given motion, stretched to the duration.

    ``reference``: positions (m, n_dof) at ``s`` (m,) from 0 to 1, linearly interpolated, by default evenly
    spaced; or a pair (times, positions); or a :class:`~kinetree.trajectories.Trajectory`, a
    :class:`~kinetree.Result` or a prediction; or the name of a file, a result (.nc) or a table (.csv) with a
    header "time, joint1, ...". Named columns are matched with the names of the joints; missing joints are
    left out unless they are requested.

    >>> import kinetree as kt
    >>> Tracking(kt.trajectories.cycloid([0, 0], [1, 1], 2.0)).s[[0, -1]].tolist()
    [0.0, 1.0]
    """

    family = "tracking"

    def __init__(
        self,
        reference: Annotated[
            Any,
            Parameter(
                "Positions of all joints, a row for each instant; or the name of a file next to the study, "
                "scaled to the duration: a result (.nc) or a CSV table with a header 'time, joint1, ...'",
                "rad, m",
                "rows_or_file",
            ),
        ],
        s: RowInstants = None,
        joints: JointNames = None,
        weights: JointWeights = 1.0,
    ) -> None:
        self.joints, self.weights = joints, weights
        given = followed(reference)
        if given is not None and s is not None:
            raise InputError("a reference that is a motion or a file has its own times; leave out s")
        self.names = None if given is None else given.names
        self.reference = row(reference, "reference") if given is None else given.q
        if self.reference.ndim != 2 or len(self.reference) < 2:
            raise InputError(f"a reference to track must have shape (m, n_dof), got {self.reference.shape}")
        if given is not None:
            self.s = given.s
        elif s is None:
            self.s = np.linspace(0.0, 1.0, len(self.reference))
        else:
            self.s = row(s, "s of the reference")
        if self.s.shape != (len(self.reference),) or (np.diff(self.s) <= 0.0).any():
            raise InputError("s of the reference must ascend, one number for each row")

    @override
    def integrand(self, setting: Setting) -> Function:
        """What is integrated over the motion."""
        chosen, own = self.smooths(setting), setting.mechanism.joint_names
        if self.names is None:
            if self.reference.shape[1] != len(own):
                raise InputError(
                    f"a reference to track needs {len(own)} columns, got {self.reference.shape[1]}"
                )
            columns = chosen
        else:
            missing = [own[j] for j in chosen if own[j] not in self.names]
            if missing or not chosen:
                raise InputError(
                    f"a reference to track has no joint {listed(missing or own)}; it has {listed(self.names)}"
                )
            columns = [self.names.index(own[j]) for j in chosen]
        weights = per_joint(self.weights, setting, chosen, f"weights of {self.family}", 1.0)
        places = [setting.column[j] for j in chosen]
        return _Distance(places, weights, self.s, self.reference[:, columns])

    @override
    def smooths(self, setting: Setting) -> list[int]:
        """Joints that follow the reference."""
        chosen, own = setting.moving_joints(self.joints, self.family), setting.mechanism.joint_names
        if self.names is not None and self.joints is None:
            return [j for j in chosen if own[j] in self.names]
        return list(chosen)


class _Distance(Function):
    size, of_squares = 1, True

    def __init__(self, columns: list[int], weights: Array, s: Array, reference: Array) -> None:
        self.columns, self.weights, self.s, self.reference = columns, weights, s, reference

    def _error(self, at: At) -> Array:
        wanted = [np.interp(at.s, self.s, self.reference[:, k]) for k in range(len(self.columns))]
        return at.moving[:, 0, self.columns] - np.stack(wanted, axis=1)

    @override
    def values(self, at: At) -> Array:
        return (self._error(at) ** 2 @ self.weights)[:, None]

    @override
    def slopes(self, at: At) -> Array:
        found = np.zeros((len(at.moving), RATES, 1, at.moving.shape[2]))
        found[:, 0, 0, self.columns] = 2.0 * self.weights * self._error(at)
        return found

    @override
    def bend(self, at: At, weight: Array) -> None:
        n = at.moving.shape[2]
        block = np.zeros((len(weight), n, n))
        block[:, self.columns, self.columns] = weight * self.weights
        at.add_block(0, block)
