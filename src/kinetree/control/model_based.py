"""Control with a model of the mechanism: computed torque, feedforward, gravity compensation.

[Shah2013], 9.1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from numpy.typing import ArrayLike

from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.control.controller import Controller, checked_model
from kinetree.control.desired_motion import Desired, desired_motion
from kinetree.control.fitted import Fitted, Recipe
from kinetree.control.per_joint import PerJoint, checked, critical, is_zero
from kinetree.control.structure import has_floating_base
from kinetree.control.torque_source import TableSource
from kinetree.control.torque_table import TorqueTable
from kinetree.errors import InputError, must_be
from kinetree.kernels.torque_law import COMPUTED, DESIRED, GRAVITY
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism

Torques = TorqueTable | PiecewisePolynomial | tuple[ArrayLike, ArrayLike]


@dataclass(frozen=True, eq=False, repr=False)
class ComputedTorque(Controller):
    """tau = M alpha + h, alpha = qdd_desired + kp e + kd ed + ki (integral of e) ([Shah2013], eqs. 9.3, 9.4).

    With a perfect model the errors follow e'' + kd e' + kp e = 0 (9.5). A floating base is detected: its
    acceleration follows from its equations of motion (9.8), and determines the torques of the joints (9.9).
    With closed loops, or joints without drives, alpha is that of the driven joints, and all others follow
    from loops and dynamics; the trajectory may have columns for the driven joints only. ``kd`` None: 2
    sqrt(kp), critically damped. ``model``: another mechanism of the same structure as the controller's model
    (see :func:`perturb`). ``knows_ground``: whether the controller knows ground forces and external loads.

    >>> import kinetree as kt
    >>> arm, rest = kt.zoo.gripper(), [0.0] * 4
    >>> law = ComputedTorque([0.1] * 4, kp=49.0)
    >>> kt.forward_dynamics(arm, rest, rest, law.torque(arm, 0.0, rest, rest)).round(9).tolist()
    [4.9, 4.9, 4.9, 4.9]
    """

    trajectory: Desired
    kp: PerJoint
    kd: PerJoint | None = None
    ki: PerJoint = 0.0
    model: Mechanism | None = None
    knows_ground: bool = True

    def _checked_recipe(self) -> Recipe:
        desired = desired_motion(self.trajectory)
        kp, ki = checked(self.kp, "kp"), checked(self.ki, "ki")
        kd = critical(kp) if self.kd is None else checked(self.kd, "kd")
        if not isinstance(self.knows_ground, bool):
            raise InputError(must_be("knows_ground", "True or False", self.knows_ground))
        self._set(trajectory=desired.source, kp=kp, kd=kd, ki=ki)
        return Recipe(desired, kp, kd, ki, None, COMPUTED, checked_model(self.model), self.knows_ground)


@dataclass(frozen=True, eq=False, repr=False)
class Feedforward(Controller):
    """tau = tau_ID(t) + kp e + kd ed, tau_ID the torques of the desired motion ([Shah2013], eqs. 9.12, 9.13).

    On a fixed base tau_ID comes from inverse dynamics, exactly at any time, of ``model`` or of the mechanism
    itself. A floating base needs ``torques`` that were computed before, because its ground forces are not
    known in advance: a :class:`TorqueTable`, a :class:`PiecewisePolynomial` or a pair (times (k,), torques
    (k, n)) with linear interpolation. ``kd`` None: 2 sqrt(kp).

    >>> import kinetree as kt
    >>> arm, rest = kt.zoo.gripper(), [0.0] * 4
    >>> law = Feedforward(rest, kp=49.0, kd=14.0)
    >>> bool((law.torque(arm, 0.0, rest, rest) == kt.gravity_torque(arm, rest)).all())
    True
    """

    trajectory: Desired
    kp: PerJoint
    kd: PerJoint | None = None
    torques: Torques | None = None
    model: Mechanism | None = None

    def _checked_recipe(self) -> Recipe:
        desired = desired_motion(self.trajectory)
        kp = checked(self.kp, "kp")
        kd = critical(kp) if self.kd is None else checked(self.kd, "kd")
        model = checked_model(self.model)
        self._set(trajectory=desired.source, kp=kp, kd=kd)
        if self.torques is None:
            return Recipe(desired, kp, kd, mode=DESIRED, model=model)
        if model is not None:
            raise InputError("a feedforward takes either torques or a model that computes them, not both")
        torques = _torques(self.torques)
        self._set(torques=torques)
        source = torques.source if isinstance(torques, TorqueTable) else TableSource(torques)
        return Recipe(desired, kp, kd, torques=source)

    def _fitted(self, mechanism: Mechanism) -> Fitted:
        expect_mechanism(mechanism)
        if self.torques is None and not mechanism.loops and has_floating_base(mechanism):
            raise InputError(
                f"'{mechanism.name}' has a floating base, so the torques of the desired motion depend on the "
                f"ground forces; compute them first and give them as torques=(times, tau)"
            )
        return super()._fitted(mechanism)


@dataclass(frozen=True, eq=False, repr=False)
class GravityCompensation(Controller):
    """tau = g(q) + kp e + kd ed: gravity in the current pose, plus feedback if gains are given.

    ``model`` is the controller's model, by default the mechanism. Without a trajectory ``kd`` damps all
    motion. Springs and friction of the joints are not compensated.

    >>> import kinetree as kt
    >>> arm, rest = kt.zoo.gripper(), [0.3] * 4
    >>> law = GravityCompensation()
    >>> bool((law.torque(arm, 0.0, rest, [0.0] * 4) == kt.gravity_torque(arm, rest)).all())
    True
    """

    trajectory: Desired | None = None
    kp: PerJoint = 0.0
    kd: PerJoint | None = 0.0
    model: Mechanism | None = None

    def _checked_recipe(self) -> Recipe:
        kp = checked(self.kp, "kp")
        kd = critical(kp) if self.kd is None else checked(self.kd, "kd")
        recipe = Recipe(None, kp, kd, mode=GRAVITY, model=checked_model(self.model))
        self._set(kp=kp, kd=kd)
        if self.trajectory is not None:
            recipe = replace(recipe, desired=desired_motion(self.trajectory))
            self._set(trajectory=recipe.desired.source)  # type: ignore[union-attr]
        elif not is_zero(kp):
            raise InputError(f"kp = {self.kp} needs a trajectory or a pose to return to, and there is none")
        return recipe


def _torques(given: object) -> TorqueTable | PiecewisePolynomial:
    """Torques over time, as a table unless they are polynomials."""
    if isinstance(given, TorqueTable | PiecewisePolynomial):
        return given
    if isinstance(given, tuple) and len(given) == 2:
        return TorqueTable(*given)
    raise InputError(
        must_be("torques", "a TorqueTable, a PiecewisePolynomial or a pair (times, torques)", given)
    )
