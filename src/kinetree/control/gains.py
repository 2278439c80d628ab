"""Design of gains: by bandwidth and damping, and optimal ones about a motion."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, frozen, numbers
from kinetree.analysis.inverse import inverse_dynamics, mass_matrix
from kinetree.analysis.sensitivity import forward_dynamics_derivatives
from kinetree.control.desired_motion import Desired, DesiredMotion, desired_motion
from kinetree.control.per_joint import Checked, PerJoint, checked, spread
from kinetree.control.structure import effort_limits
from kinetree.errors import InputError, listed, must_be
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.state import coordinates

UNEXPLAINED = 0.05  # share of the torques that joints without drives may need along a motion
LIMITS_OF_MODEL = "model"


class Gains(NamedTuple):
    """Gains of position and velocity errors, as controllers take them.

    >>> import kinetree as kt
    >>> found = kt.control.gains(bandwidth=7.0)
    >>> found.kp, found.kd
    (49.0, 14.0)
    """

    kp: Any
    kd: Any


def gains(
    bandwidth: PerJoint,
    damping: PerJoint = 1.0,
    mechanism: Mechanism | None = None,
    q: ArrayLike | None = None,
) -> Gains:
    """Gains with which errors obey e'' + 2 damping bandwidth e' + bandwidth^2 e = 0 ([Shah2013], 9.1).

    ``bandwidth`` (rad/s) and ``damping`` (1: critical, no unit) are numbers, arrays or dictionaries by joint.
    Alone, for :class:`ComputedTorque`: kp = bandwidth^2 (1/s^2), kd = 2 damping bandwidth (1/s). With a
    ``mechanism``, for laws that give torques (:class:`PD`, :class:`Feedforward`): the same times the inertia
    that each joint moves, its diagonal entry of the mass matrix, the largest over poses ``q`` (..., n_dof),
    zero unless given. In other poses joints are slower then, and damped more.

    >>> gains(7.0)
    Gains(kp=49.0, kd=14.0)
    >>> import kinetree as kt
    >>> gains(10.0, 0.7, kt.zoo.two_link_point_masses()).kp.round(9).tolist()
    [500.0, 100.0]
    """
    if mechanism is not None:
        expect_mechanism(mechanism)
    w, z = _positive(bandwidth, "bandwidth", "rad/s"), _positive(damping, "damping", "(no unit)")
    if mechanism is None:
        if q is not None:
            raise InputError("poses q need a mechanism, which gives the inertia")
        return Gains(_combined(w, w, 1.0), _combined(z, w, 2.0))
    pose = np.zeros(mechanism.n_dof) if q is None else coordinates(mechanism, q, "q")
    M = np.diagonal(mass_matrix(mechanism, pose), axis1=-2, axis2=-1)
    inertia = M.reshape(-1, mechanism.n_dof).max(axis=0)
    w, z = (
        spread(x, mechanism, what, unnamed=None, free=0.0) for x, what in ((w, "bandwidth"), (z, "damping"))
    )
    return Gains(frozen(inertia * w**2), frozen(2.0 * z * w * inertia))


def _positive(value: PerJoint, what: str, unit: str) -> Checked:
    found = checked(value, what)
    if isinstance(found, np.ndarray) and not found.size:
        raise InputError(f"{what} must be > 0 {unit}, got no number")
    least = min(found.values(), default=1.0) if isinstance(found, dict) else float(np.min(found))
    if least <= 0.0:
        raise InputError(must_be(what, f"> 0 {unit}", least, "g"))
    return found


def _combined(a: Checked, b: Checked, factor: float) -> Any:
    """Factor a b, joint by joint."""
    if isinstance(a, dict) or isinstance(b, dict):
        names = dict.fromkeys((*(a if isinstance(a, dict) else ()), *(b if isinstance(b, dict) else ())))
        for x in (a, b):
            if isinstance(x, dict) and set(x) != set(names):
                missing = [name for name in names if name not in x]
                raise InputError(
                    f"bandwidth and damping must name the same joints; missing: {listed(missing)}"
                )
            if isinstance(x, np.ndarray):
                raise InputError("bandwidth and damping are both arrays, or both dictionaries, or numbers")
        each = [{name: x[name] if isinstance(x, dict) else x for name in names} for x in (a, b)]
        return {name: factor * float(each[0][name]) * float(each[1][name]) for name in names}
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.shape != b.shape:
        raise InputError(f"bandwidth and damping have {b.size} and {a.size} values")
    product = factor * a * b
    return frozen(product) if isinstance(product, np.ndarray) else float(product)


@dataclass(frozen=True, eq=False, repr=False)
class LQR:
    """Torques of a motion and optimal feedback about it: tau = tau_d + K(t) (x_d - x), x = (q, qd).

    K minimizes the integral of e^T Q e + u^T R u, e = x - x_d, for the equations of motion linearized along
    the motion: A = [[0, 1], [dqdd/dq, dqdd/dqd]], B = [0; dqdd/dtau] of the driven joints. Its Riccati
    equation -dS/dt = A^T S + S A - S B R^-1 B^T S + Q is followed backward from the end of the motion, from
    the solution that stands still there (Anderson and Moore 1990); about a pose to keep K is constant.
    ``q_cost`` (1/rad^2 or 1/m^2), ``qd_cost`` and ``tau_cost`` are the diagonals of Q and R, numbers or one
    for each joint (of R: for each driven joint). ``limits`` bound the torques, "model" for the mechanism's.
    Joints without drives get none, and the motion must need none there: a predicted one, say. A function of
    (t, q, qd), to be given as ``controller``.

    >>> import kinetree as kt
    >>> build = kt.Builder("rail")
    >>> _ = build.world.prismatic("slide", axis="x").body("block", kt.Inertia.box(2.0, (0.1, 0.1, 0.1)))
    >>> LQR(build.build(), [0.0], q_cost=9.0, qd_cost=0.0).gain(0.0).round(6).tolist()
    [[3.0, 3.464102]]
    """

    mechanism: Mechanism
    motion: Desired
    q_cost: ArrayLike = 1.0
    qd_cost: ArrayLike = 1.0
    tau_cost: ArrayLike = 1.0
    limits: PerJoint | str | None = None
    nodes: int = 201
    _tables: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        mechanism = self.mechanism
        expect_mechanism(mechanism)
        if mechanism.loops:
            raise InputError(f"'{mechanism.name}' has closed loops, which LQR cannot linearize")
        if type(self.nodes) is not int or self.nodes < 2:
            raise InputError(must_be("nodes", "an integer of at least 2", self.nodes))
        desired = desired_motion(self.motion)
        if desired.n != mechanism.n_dof:
            raise InputError(
                f"LQR of '{mechanism.name}' needs a motion of {mechanism.n_dof} coordinates, got {desired.n}"
            )
        driven = np.flatnonzero(mechanism.actuated)
        if not len(driven):
            raise InputError(f"'{mechanism.name}' has no joint that is driven")
        n = mechanism.n_dof
        Q = np.concatenate([_cost(self.q_cost, n, "q_cost", 0.0), _cost(self.qd_cost, n, "qd_cost", 0.0)])
        R = _cost(self.tau_cost, len(driven), "tau_cost", np.nextafter(0.0, 1.0))
        times = self._times(desired)
        state = desired.at(times)
        tau = inverse_dynamics(mechanism, state.q, state.qd, state.qdd)
        _check_driven(mechanism, tau)
        tau[..., ~mechanism.actuated] = 0.0
        K = _riccati(mechanism, times, *_linear(mechanism, state.q, state.qd, tau, driven), Q, R)
        self._tables.update(times=times, K=K, driven=driven, desired=desired, most=self._limit())

    def _times(self, desired: DesiredMotion) -> Array:
        """Nodes of the gains: one for a pose to keep."""
        end = 0.0 if isinstance(desired.source, np.ndarray) else float(desired.breaks[-1])
        return np.linspace(0.0, end, self.nodes) if end > 0.0 else np.zeros(1)

    def _limit(self) -> Array:
        if self.limits is None:
            return np.full(self.mechanism.n_dof, np.inf)
        if isinstance(self.limits, str):
            if self.limits != LIMITS_OF_MODEL:
                raise InputError(f"limits must be numbers or '{LIMITS_OF_MODEL}', got '{self.limits}'")
            return effort_limits(self.mechanism)
        given = checked(self.limits, "limits", unlimited=True)
        return spread(given, self.mechanism, "limits", unnamed=np.inf, free=np.inf)

    def gain(self, t: float) -> Array:
        """K (driven joints, 2 n_dof) at time t (s)."""
        times, K = self._tables["times"], self._tables["K"]
        if len(times) == 1:
            found: Array = K[0]
            return found
        place = float(np.clip(t, times[0], times[-1])) / (times[-1] - times[0]) * (len(times) - 1)
        k = min(int(place), len(times) - 2)
        between: Array = K[k] + (place - k) * (K[k + 1] - K[k])
        return between

    def __call__(self, t: float, q: Array, qd: Array) -> Array:
        """Torques (n_dof,) at time t (s) in a state."""
        tables = self._tables
        want = tables["desired"].at(t)
        tau = inverse_dynamics(self.mechanism, want.q, want.qd, want.qdd)
        torque = np.zeros(self.mechanism.n_dof)
        error = np.concatenate([want.q - q, want.qd - qd])
        torque[tables["driven"]] = tau[tables["driven"]] + self.gain(t) @ error
        return np.clip(torque, -tables["most"], tables["most"])

    def __repr__(self) -> str:
        return f"LQR('{self.mechanism.name}', {self._tables['desired'].in_words()})"


def _cost(value: ArrayLike, count: int, what: str, least: float) -> Array:
    """A diagonal (count,) of numbers that are not below the least."""
    array = finite(numbers(value, what), what)
    if array.shape not in ((), (count,)):
        raise InputError(f"{what} must be a number or {count} of them, got shape {array.shape}")
    if (array < least).any():
        raise InputError(must_be(what, f"{'> 0' if least > 0.0 else '0 or more'}", array.min(), "g"))
    return np.array(np.broadcast_to(array, (count,)))


def _check_driven(mechanism: Mechanism, tau: Array) -> None:
    """Joints without drives need no torque along the motion, up to what a prediction leaves."""
    most = np.abs(np.atleast_2d(tau)).max(axis=0)
    idle = np.flatnonzero(~mechanism.actuated)
    if (
        len(idle)
        and most[idle].max() > UNEXPLAINED * max(float(most.max()), 1e-9)
        and most[idle].max() > 1e-9
    ):
        joint = mechanism.joint_names[idle[int(np.argmax(most[idle]))]]
        raise InputError(
            f"joint '{joint}' has no drive, but the motion needs {most[idle].max():.3g} N m or N there; "
            f"predict a motion that needs none, or use an equilibrium pose"
        )


def _linear(mechanism: Mechanism, q: Array, qd: Array, tau: Array, driven: Any) -> tuple[Array, Array]:
    """A (m, 2 n, 2 n) and B (m, 2 n, k) along a motion."""
    d = forward_dynamics_derivatives(mechanism, q, qd, tau)
    n, m = mechanism.n_dof, len(q)
    A, B = np.zeros((m, 2 * n, 2 * n)), np.zeros((m, 2 * n, len(driven)))
    A[:, :n, n:], A[:, n:, :n], A[:, n:, n:] = np.eye(n), d.dqdd_dq, d.dqdd_dqd
    B[:, n:] = d.dqdd_dtau[..., driven]
    return A, B


def _riccati(mechanism: Mechanism, times: Array, A: Array, B: Array, Q: Array, R: Array) -> Array:
    """K (m, k, 2 n), backward from the steady solution at the end, by exponentials of the Hamiltonian."""
    from scipy.linalg import LinAlgError, expm, solve_continuous_are

    try:
        S = np.asarray(solve_continuous_are(A[-1], B[-1], np.diag(Q), np.diag(R)))
    except (LinAlgError, ValueError) as error:
        raise InputError(
            f"LQR of '{mechanism.name}': no gains stabilize it at the end of the motion ({error}); give "
            f"every position a weight (q_cost > 0), and end where the drives can hold it"
        ) from None
    K = np.zeros((len(times), B.shape[2], A.shape[1]))
    for k in range(len(times) - 1, -1, -1):
        if k < len(times) - 1:
            middle, input_ = (A[k] + A[k + 1]) / 2.0, (B[k] + B[k + 1]) / 2.0
            H = np.block([[middle, -(input_ / R) @ input_.T], [-np.diag(Q), -middle.T]])
            both = expm(-H * (times[k + 1] - times[k])) @ np.vstack([np.eye(len(S)), S])
            S = np.linalg.solve(both[: len(S)].T, both[len(S) :].T).T
            S = (S + S.T) / 2.0
        K[k] = (B[k].T @ S) / R[:, None]
    return K
