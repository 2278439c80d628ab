"""A walking law for bipeds that needs only the speed: stepping plan, inverse dynamics, one ground force."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, number
from kinetree.analysis.kinematics import jacobian
from kinetree.control.controller import checked_model, plain
from kinetree.control.per_joint import PerJoint
from kinetree.control.sampled import ContactReading, RunningLaw, SampledLaw
from kinetree.control.structure import check_same_structure
from kinetree.control.walking.plan import Gait, Plan
from kinetree.control.walking.view import View
from kinetree.control.walking.walker import Walker, attitude_error, walker_of
from kinetree.errors import InputError
from kinetree.model.mechanism import Mechanism

DEFAULT_SPEED, POINT_FEET_SPEED = 0.1, 0.15  # in sqrt(g L)
FASTEST = 0.5  # sqrt(g L): beyond it a walk turns into a run
HEIGHT, TRUNK, FOOT = 5.0, 5.0, 8.0  # bandwidths of the tasks in sqrt(g / L)
WEIGHTS = {"height": 1.0, "trunk": 1.0, "foot": 2.0, "level": 0.2}
STILL = 10.0  # rate at which the stance foot is brought to rest, in w
ANKLE, SOLE = 2.0, 0.7  # gain of the center of pressure on the divergent component; share of the sole in use
STRONGEST = 0.8  # torque, in m g L
SMALL_ACCELERATION, SMALL_FORCE = 1e-4, 1e-6  # regularization of the least squares
SOFT = 1e-9  # of the equations, which may contradict each other near singular legs


@dataclass(frozen=True, eq=False, repr=False)
class Walking:
    """Walking on two legs: give it the speed, it places the feet and balances.

    Each tick plans the next foothold by the divergent component of motion at a fixed step time, and solves
    for accelerations and one ground force at a clamped center of pressure,

        min sum W |J qdd + dJ/dt qd - a|^2  subject to  M_b qdd + h_b = J_b^T F,  stance foot at rest,

    for the tasks height of the center of mass, attitude of the trunk, swing foot; tau = M qdd + h - J^T F.
    All parameters scale with leg length L, mass and gravity.

    ``speed`` (m/s), by default 0.1 sqrt(g L), or 0.15 sqrt(g L) on point feet; ``forward``, the direction of
    the walk; ``period`` (s) of the ticks; ``limits`` of the torques, by default 0.8 m g L; ``model``, what
    the law believes the robot to be; ``delay`` (s) and ``noise`` as for :class:`SampledLaw`. ``step_time``
    (in sqrt(height / g)), ``clearance``, ``width`` and ``height`` of the hips (in L) may be changed. The feet
    are the outermost bodies with contact points of two chains below the root. Slope and height of the ground
    need not be known. Start it from :meth:`start`.

    >>> import kinetree as kt
    >>> robot, law = kt.zoo.spatial_biped(), kt.control.Walking(speed=0.3)
    >>> walk = kt.simulate(robot, law.start(robot), duration=0.05, controller=law, rtol=1e-3, atol=1e-5,
    ...                    ground=kt.Ground(kt.Soil(stiffness=2e4)), method="radau")
    >>> bool(abs(walk.q.values[-1, 2] - walk.q.values[0, 2]) < 0.02)
    True
    """

    speed: float | None = None
    _: KW_ONLY
    forward: ArrayLike = (1.0, 0.0, 0.0)
    period: float = 0.004
    limits: PerJoint | str | None = None
    model: Mechanism | None = None
    delay: float = 0.0
    noise: tuple[float, float] = (0.0, 0.0)
    seed: int = 0
    step_time: float = 1.5
    clearance: float = 0.08
    width: float = 0.15
    height: float = 0.88

    def __post_init__(self) -> None:
        checked_model(self.model)
        if self.speed is not None:
            number(self.speed, "speed")
        for name, low, high in (
            ("step_time", 0.5, 4.0),
            ("clearance", 0.0, 0.3),
            ("width", 0.05, 0.6),
            ("height", 0.5, 0.97),
        ):
            x = number(getattr(self, name), name)
            if not low <= x <= high:
                raise InputError(f"{name} must be between {low:g} and {high:g}, got {x:g}")
        self._sampled_law(lambda t, q, qd, contact: None)  # period, limits, delay, noise

    @property
    def name(self) -> str:
        """What results call it."""
        return "Walking"

    def start(self, mechanism: Mechanism, guess: ArrayLike | None = None) -> Array:
        """Coordinates (n_dof,) of the robot standing with bent knees on level ground at height zero.

        ``guess`` (n_dof,) is a posture to look from, where the robot does not stand with its legs straight
        down at q = 0.
        """
        walker = walker_of(mechanism, self.forward)
        width = max(self.width * walker.leg, walker.hip_width)
        near = None if guess is None else np.array(guess, float)
        return walker.standing(self.height * walker.leg, width, near)

    def sampled(self, mechanism: Mechanism) -> RunningLaw:
        """The law in one simulation of a mechanism."""
        if self.model is not None:
            check_same_structure(mechanism, self.model)
        believed = walker_of(mechanism if self.model is None else self.model, self.forward)
        return self._sampled_law(Balance(believed, self._gait(believed), self.limits is None)).sampled(
            mechanism
        )

    def settings(self) -> dict[str, Any]:
        """All arguments in plain numbers and texts, as JSON takes them."""
        names = [x for x in self.__dataclass_fields__ if x != "_"]
        return {"controller": "Walking"} | {x: plain(getattr(self, x)) for x in names}

    def __repr__(self) -> str:
        return f"Walking(speed={self.speed})"

    def _sampled_law(self, law: Any) -> SampledLaw:
        return SampledLaw(
            law,
            period=self.period,
            limits=self.limits,
            delay=self.delay,
            noise=self.noise,
            seed=self.seed,
        )

    def _gait(self, walker: Walker) -> Gait:
        unit = math.sqrt(walker.gravity * walker.leg)
        usual = DEFAULT_SPEED if walker.has_soles else POINT_FEET_SPEED
        speed = usual if self.speed is None else float(self.speed) / unit
        if abs(speed) > FASTEST:
            raise InputError(
                f"speed of '{walker.mechanism.name}' with legs of {walker.leg:.3g} m must be within "
                f"{FASTEST * unit:.3g} m/s ({FASTEST:g} sqrt(g L)), got {self.speed:g} m/s"
            )
        return Gait(speed, self.step_time, self.clearance, self.width, self.height)


class Balance:
    """The law of :class:`Walking` with its memory: called once per tick."""

    def __init__(self, walker: Walker, gait: Gait, bounded: bool) -> None:
        self.walker, self.gait = walker, gait
        most = STRONGEST * walker.mechanism.mass * walker.gravity * walker.leg
        self.most = most if bounded else math.inf
        self.reset()

    def reset(self) -> None:
        """Begin a new walk."""
        self.plan = Plan(self.walker, self.gait)
        self._attitude: Array | None = None

    def __call__(self, t: float, q: Array, qd: Array, contact: ContactReading) -> Array:
        """Torques (n_dof,) from the measured state and the forces on the feet."""
        walker, view = self.walker, View.of(self.walker, q, qd)
        if self._attitude is None:
            self._attitude = view.trunk.rotation.copy()
            self._soles = [foot.rotation.copy() for foot in view.feet]
        self.plan.update(t, view, self._loads(contact))
        J_force = self._forces(view, q)
        A, b = self._tasks(view)
        C, d = self._equations(view, J_force)
        n, k = len(walker.moving), len(J_force)
        H = np.zeros((n + k, n + k))
        H[:n, :n] = A.T @ A + SMALL_ACCELERATION * np.eye(n)
        H[n:, n:] = SMALL_FORCE / (0.1 * walker.mechanism.mass) * np.eye(k)
        K = np.block([[H, C.T], [C, -SOFT * np.eye(len(d))]])
        x = np.linalg.solve(K, np.concatenate([A.T @ b, np.zeros(k), d]))
        tau = np.zeros(walker.mechanism.n_dof)
        moving, base = walker.moving, walker.n_base
        whole = view.M[np.ix_(moving, moving)] @ x[:n] + view.h[moving] - J_force.T @ x[n : n + k]
        tau[moving[base:]] = np.clip(whole[base:], -self.most, self.most)
        return tau

    # ---- helpers -----------------------------------------------------------------------------------------
    def _loads(self, contact: ContactReading) -> Array:
        """Normal forces on both feet (N)."""
        up, known = self.walker.axes[-1], dict(zip(contact.names, contact.force, strict=True))
        if not known:
            raise InputError("a walking law needs a ground: its feet must be felt")
        feet = self.walker.feet
        return np.array(
            [sum(float(up @ known[x]) for x in foot.contact_points if x in known) for foot in feet]
        )

    def _forces(self, view: View, q: Array) -> Array:
        """Jacobian (k, moving) of the ground force at the center of pressure, and of a moment about up."""
        walker, stance = self.walker, self.plan.stance
        foot, seen, E = walker.feet[stance], view.feet[stance], walker.axes
        point = foot.point
        if walker.has_soles:
            shift = seen.rotation.T @ (E[:-1].T @ (ANKLE * self.plan.error))
            low, high = foot.corners.min(axis=0) - foot.point, foot.corners.max(axis=0) - foot.point
            point = foot.point + np.clip(shift, SOLE * low, SOLE * high)
        J = E @ jacobian(walker.mechanism, q, foot.body, point)[:3][:, walker.moving]
        if walker.is_planar or not walker.has_soles:
            return J
        return np.vstack([J, E[-1] @ seen.J[3:][:, walker.moving]])

    def _tasks(self, view: View) -> tuple[Array, Array]:
        """Weighted rows A qdd = b."""
        walker, plan, moving, turns = self.walker, self.plan, self.walker.moving, self.walker.turns
        unit = math.sqrt(walker.gravity / walker.leg)
        swing, foot = plan.swing, view.feet[plan.moving]
        assert swing is not None and self._attitude is not None
        rows, wants = [], []

        def task(name: str, J: Array, a: Any) -> None:
            root = math.sqrt(WEIGHTS[name])
            rows.append(root * np.atleast_2d(J))
            wants.append(root * np.atleast_1d(a))

        k = (HEIGHT * unit) ** 2
        miss = plan.level + plan.height - view.center[-1]
        lift = k * miss - 2.0 * math.sqrt(k) * view.velocity[-1] - view.drift_center[-1]
        task("height", view.J_center[-1], lift)
        k = (TRUNK * unit) ** 2
        error = turns @ attitude_error(self._attitude, view.trunk.rotation)
        spin = turns @ view.trunk.spin
        upright = k * error - 2.0 * math.sqrt(k) * spin - turns @ view.trunk.drift[3:]
        task("trunk", turns @ view.trunk.J[3:][:, moving], upright)
        k = (FOOT * unit) ** 2
        E = walker.axes
        reach = swing.acceleration + k * (swing.position - foot.position)
        reach = reach + 2.0 * math.sqrt(k) * (swing.velocity - foot.velocity) - E @ foot.drift[:3]
        task("foot", E @ foot.J[:3][:, moving], reach)
        if walker.has_soles:
            error = turns @ attitude_error(self._soles[plan.moving], foot.rotation)
            level = k * error - 2.0 * math.sqrt(k) * (turns @ foot.spin) - turns @ foot.drift[3:]
            task("level", turns @ foot.J[3:][:, moving], level)
        return np.vstack(rows), np.concatenate(wants)

    def _equations(self, view: View, J_force: Array) -> tuple[Array, Array]:
        """Rows C (qdd, F) = d: motion of the base, and a stance foot that comes to rest."""
        walker, foot = self.walker, view.feet[self.plan.stance]
        moving, base, E, turns = walker.moving, walker.n_base, walker.axes, walker.turns
        k, still = len(J_force), STILL * self.plan.w
        rows = [np.hstack([view.M[np.ix_(moving[:base], moving)], -J_force.T[:base]])]
        wants = [-view.h[moving[:base]]]
        rows.append(np.hstack([E @ foot.J[:3][:, moving], np.zeros((len(E), k))]))
        wants.append(-(E @ foot.drift[:3]) - still * foot.velocity)
        if walker.has_soles:
            rows.append(np.hstack([turns @ foot.J[3:][:, moving], np.zeros((len(turns), k))]))
            wants.append(-(turns @ foot.drift[3:]) - still * (turns @ foot.spin))
        return np.vstack(rows), np.concatenate(wants)
