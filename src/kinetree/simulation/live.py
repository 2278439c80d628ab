"""A simulation without an end, piece by piece, whose bodies can be pulled meanwhile."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, positive, vector
from kinetree.analysis.inverse import mass_matrix
from kinetree.analysis.kinematics import forward_kinematics, jacobian
from kinetree.errors import InputError, SimulationError
from kinetree.integrate.integration import IntegrationStatus
from kinetree.kernels.external_load import LOAD
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import WORLD_AXIS
from kinetree.simulation.divergence import diverged, has_diverged
from kinetree.simulation.gimbal import Charts
from kinetree.simulation.given import ControllerGiven, TorqueGiven
from kinetree.simulation.ground import Ground
from kinetree.simulation.loads import Loads, load_row, place_on_axis
from kinetree.simulation.run import advance_through_locks, new_stretch
from kinetree.simulation.scenario import Scenario
from kinetree.simulation.settings import (
    AUTO,
    Method,
    Settings,
    Stops,
)
from kinetree.simulation.simulate import checked_start
from kinetree.simulation.step_check import check_step
from kinetree.simulation.step_record import STEP, driven
from kinetree.simulation.stepper import Stepper
from kinetree.simulation.stiffness import chosen_method
from kinetree.simulation.system import Observation
from kinetree.simulation.torque import check_beginning
from kinetree.state import Coordinates, Wrench

HOLD = 1.0 / 240.0  # s for which the force of a pull is held
RATE = 10.0  # rad/s: undamped frequency of the spring with what it pulls
LIKELY = 10.0  # s that a simulation goes on
DONE = 1e-12  # s
LONGEST = 1e6  # s of one advance


class Pull(NamedTuple):
    """A damped spring from a point (3,) of a body, in its frame, to a place (3,) in the world.

    The force is stiffness (N/m) times the distance minus damping (N s/m) times the velocity of the point.
    """

    body: str
    point: Array
    target: Array
    stiffness: float
    damping: float


class LiveSimulation:
    """A simulation that is advanced step by step and can be pulled at; see :func:`kinetree.simulate`.

    ``t`` (s), ``q`` and ``qd`` (n_dof,) are the present state. Time, controllers with a memory and Euler
    sequences go on from call to call. ``pull`` ties a damped spring to a point of a body, f = k (target -
    x) - c v, held for 1/240 s at a time; ``release`` takes it away. ``messages`` say whether a fixed step
    is too long. On ground with rigid contact it takes whole steps of 2 ms (:class:`kinetree.Stepper`), at
    joint limits of the mechanism's own; method, tolerances and stops do not count then. No audit: what is
    to be trusted is simulated by :func:`kinetree.simulate`.

    >>> import kinetree as kt
    >>> live = kt.simulation.LiveSimulation(kt.zoo.two_link(), [0.3, 0.2])
    >>> live.pull("link2", (0.5, 0, 0), (0.6, 0.6, 0))
    >>> live.advance(0.1)
    >>> round(live.t, 6), live.force.shape
    (0.1, (3,))
    >>> live.release()
    """

    def __init__(
        self,
        mechanism: Mechanism,
        q0: Coordinates,
        qd0: Coordinates | None = None,
        *,
        torque: TorqueGiven = None,
        controller: ControllerGiven = None,
        ground: Ground | None = None,
        stops: Stops | None = None,
        method: Method = "auto",
        rtol: float = 1e-6,
        atol: float | None = None,
        step: float | None = None,
    ) -> None:
        expect_mechanism(mechanism)
        self.mechanism = mechanism
        self._stepper: Stepper | None = None
        self._torque: Array | None = None
        if ground is not None and ground.contact == "rigid":
            self._torque, driver = driven(mechanism, (torque, controller))
            self._stepper = Stepper(mechanism, STEP, ground=ground, controller=driver)
        settings = Settings(
            method=method, rtol=rtol, atol=atol, step=step, stops=stops, loads=(self._none(),)
        )
        self._scenario = Scenario.read(
            LiveSimulation.__init__,
            mechanism,
            LIKELY,
            torque=torque,
            controller=controller,
            ground=ground,
            settings=settings,
            gimbal="switch",
        )
        self._start = checked_start(mechanism, q0, qd0)
        self.method: str = method  # the present one
        self.reset()

    @property
    def ground(self) -> Ground | None:
        """The ground that contact points touch, if there is one."""
        return self._scenario.around.ground

    def _none(self) -> Wrench:
        """A wrench that does nothing, on a body that can move."""
        moves = self.mechanism.tree.body_axis != WORLD_AXIS
        names = [name for name, free in zip(self.mechanism.body_names, moves, strict=True) if free]
        return Wrench(names[0] if names else self.mechanism.body_names[0])

    def reset(self, q0: Coordinates | None = None, qd0: Coordinates | None = None) -> None:
        """Begin again at t = 0, from the first state unless another one is given; nothing is pulled."""
        if q0 is not None:
            self._start = checked_start(self.mechanism, q0, qd0)
        law, options = self._scenario.law, self._scenario.options
        check_beginning(law, *self._start)
        self._scenario.check_start(*self._start)
        if self._stepper is not None:
            self._stepper.reset(*self._start)
            self.messages: tuple[str, ...] = ()
            self.method, self.t = "steps", 0.0
            self.release()
            self.q, self.qd = self._stepper.q.copy(), self._stepper.qd.copy()
            return
        self._charts = Charts(self._scenario)
        self._y = self._charts.begin(*self._start)
        self._charts.system.close_loops(self._y)
        self.messages = check_step(self._charts.system, self.ground, options, self._y[0])
        law.begin()
        method = options.method
        self.method = chosen_method(self._charts.system, options, self._y[0]) if method == AUTO else method
        self.t = 0.0
        self.release()
        self.q, self.qd = self._charts.go_on(self._y)

    # ---- pulling --------------------------------------------------------------------------------------

    def pull(
        self,
        body: str,
        point: ArrayLike,
        target: ArrayLike,
        stiffness: float | None = None,
        damping: float | None = None,
    ) -> None:
        """Tie a spring from a point (3,) of a body, in its frame, to a place (3,) in the world (m).

        ``stiffness`` (N/m): by default what lets the mass that is felt there swing at 10 rad/s; ``damping``
        (N s/m): critical by default. The spring before is replaced; called again with other targets it moves.
        """
        where = vector(point, 3, "point of a pull")
        place_on_axis(self.mechanism, body, where, f"the pull on '{body}'")
        place = vector(target, 3, "target of a pull")
        mass = self._felt_mass(body, where)
        k = mass * RATE**2 if stiffness is None else positive(stiffness, "stiffness of a pull", "N/m")
        c = 2.0 * float(np.sqrt(k * mass)) if damping is None else float(damping)
        self.pulled: Pull | None = Pull(body, where, place, k, c)

    def move_target(self, target: ArrayLike) -> None:
        """Take the far end of the spring to another place (3,); nothing happens if nothing is pulled."""
        if self.pulled is not None:
            self.pulled = self.pulled._replace(target=vector(target, 3, "target of a pull"))

    def release(self) -> None:
        """Take the spring away."""
        self.pulled = None

    @property
    def grip(self) -> Array | None:
        """Where in the world the point is that is pulled, (3,); None if none is."""
        if self.pulled is None:
            return None
        body, point = self.mechanism.body_index(self.pulled.body), self.pulled.point
        poses = forward_kinematics(self.mechanism, self.q)
        place: Array = poses.position[body] + poses.rotation[body] @ point
        return place

    @property
    def force(self) -> Array:
        """The force (3,) of the spring in the present state (N), in world axes."""
        pulled, grip = self.pulled, self.grip
        if pulled is None or grip is None:
            return np.zeros(3)
        velocity = jacobian(self.mechanism, self.q, pulled.body, pulled.point)[:3] @ self.qd
        force: Array = pulled.stiffness * (pulled.target - grip) - pulled.damping * velocity
        return force

    def _felt_mass(self, body: str, point: Array) -> float:
        """The mass (kg) that a force there meets, the harmonic mean over all directions."""
        opened = self.mechanism.opened()
        J = jacobian(opened, self.q, body, point)[:3]
        ease = float(np.trace(J @ np.linalg.lstsq(mass_matrix(opened, self.q), J.T, rcond=None)[0]))
        return 3.0 / ease if ease > 0.0 else self.mechanism.mass

    def _act(self) -> None:
        """Let the spring's present force act."""
        pulled, system = self.pulled, self._charts.system
        load = self._none() if pulled is None else Wrench(pulled.body, self.force, point=pulled.point)
        begin = system.context.start["loads"]
        system.context.memory[begin : begin + LOAD.width] = load_row(system.mechanism, load)[0]
        system.loads = self._charts.home.loads = Loads((load,))

    # ---- going on -------------------------------------------------------------------------------------

    def advance(self, duration: float) -> None:
        """Go on for a time (s); a motion that diverges raises :class:`kinetree.errors.SimulationError`."""
        end = self.t + positive(duration, "duration", "s")
        if duration > LONGEST:
            raise InputError(f"one advance goes on for at most {LONGEST:g} s, got {duration:g} s")
        while self._stepper is not None and self.t < end - DONE:
            self._take_steps(self._stepper, end)
        while self.t < end - DONE:
            self._act()
            self._go_on(end if self.pulled is None else min(end, self.t + HOLD))

    def _take_steps(self, stepper: Stepper, end: float) -> None:
        """Whole steps up to an end, or as long as the spring's present force is held."""
        count = max(1, int(np.ceil((end - self.t) / stepper.dt - DONE / stepper.dt)))
        torque = self._torque
        if self.pulled is not None:
            count = min(count, max(1, round(HOLD / stepper.dt)))
            J = jacobian(self.mechanism, self.q, self.pulled.body, self.pulled.point)[:3]
            torque = J.T @ self.force + (0.0 if torque is None else torque)
        stepper.step(torque, times=count)
        self.t, self.q, self.qd = float(stepper.time), stepper.q.copy(), stepper.qd.copy()
        failures = stepper.audit().failures
        if failures:
            raise SimulationError(f"the simulation stopped at t = {self.t:g} s: {failures[0]}")

    def _go_on(self, until: float) -> None:
        charts, options, breaks = self._charts, self._scenario.options, self._scenario.breaks
        course = new_stretch(charts.home, options, breaks, self.t, self._y, until, self.method)
        course.restart(context=charts.system.context.memory)
        status = advance_through_locks(course, charts, lambda t: None)
        for system in (charts.system, charts.home):
            if system.problem is not None:
                system.raise_problem()
        y = course.y
        if status is not IntegrationStatus.DONE or has_diverged(charts.system, y):
            raise SimulationError(diverged(charts.system, options, course.t, y))
        charts.system.close_loops(y)
        self._y, self.method, self.t = y, course.method, until
        self.q, self.qd = charts.go_on(y)

    def observe(self) -> Observation:
        """Torques, accelerations and contact in the present state, in the coordinates in use."""
        if self._stepper is not None:
            raise InputError("observe is for ground with contact='soil'; steps show contact_forces")
        return self._charts.system.observe(np.array([self.t]), self._y[None], present=True)

    @property
    def contact_forces(self) -> dict[str, Array]:
        """The ground's force (3,) on every contact point it can touch, in world axes (N).

        >>> import kinetree as kt
        >>> box = kt.zoo.quadruped()
        >>> live = kt.simulation.LiveSimulation(box, [0, 0, 0.6, *[0] * 15], ground=kt.Ground())
        >>> len(live.contact_forces)
        12
        """
        if self._stepper is not None:
            contact = self._stepper.contact
            return {name: force.copy() for name, force in zip(contact.names, contact.force, strict=True)}
        rows = self.observe().contact[0, 0]
        names = self._charts.home.contact_names
        return {name: row[:3].copy() for name, row in zip(names, rows, strict=True)}
