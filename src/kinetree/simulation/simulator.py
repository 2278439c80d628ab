"""A prepared simulation that is run again and again from other states: as little overhead as possible."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, Unpack

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, SimulationError
from kinetree.integrate.integration import Integration, IntegrationStatus
from kinetree.model.mechanism import Mechanism
from kinetree.result.records import Check
from kinetree.simulation.divergence import diverged
from kinetree.simulation.gimbal import refuse_locks
from kinetree.simulation.given import ControllerGiven, TorqueGiven
from kinetree.simulation.ground import Ground
from kinetree.simulation.judge import Recorder
from kinetree.simulation.run import CUTS, Mark, moved_on, new_integration, refuse_runaway
from kinetree.simulation.scenario import Scenario
from kinetree.simulation.settings import (
    AUTO,
    Method,
    Settings,
    SettingsKeywords,
    read_settings,
    takes_settings,
)
from kinetree.simulation.step_check import check_step
from kinetree.simulation.step_record import StepRuns
from kinetree.simulation.stiffness import LIMITS, chosen_method, is_stiff
from kinetree.simulation.system import System
from kinetree.state import Coordinates, coordinates, hint_at_degrees
from kinetree.verdicts.finding import checks_of

LOOK = 1000  # steps before a look at stiffness


class Rollout(NamedTuple):
    """Times (k,), positions and velocities (k, n_dof).

    >>> import kinetree as kt
    >>> run = kt.simulation.Simulator(kt.zoo.two_link(), duration=0.1, times=3).run([0.1, 0.2])
    >>> run.time.tolist(), run.qd.shape
    ([0.0, 0.05, 0.1], (3, 2))
    """

    time: Array
    q: Array
    qd: Array


class Simulator:
    """A simulation prepared once, for any number of initial states; see :func:`kinetree.simulate`.

    ``settings`` (:class:`kinetree.simulation.Settings`), or any of its fields as an argument. ``run`` returns
    plain arrays: no audit, no labels. For inner loops: sampling, optimization, real time. ``audit`` checks
    the last run on request, with the ``verdicts`` of :func:`kinetree.simulate`. Euler sequences are not
    switched: a joint within a degree of gimbal lock is an error; on ground with rigid contact there is no
    lock, and runs take steps of ``max_step`` or 2 ms. With the method "auto" a run that turns out
    to be stiff restarts with radau, which all later runs use; ``method`` names the current one.

    >>> import kinetree as kt
    >>> fall = kt.simulation.Simulator(kt.zoo.gripper(), duration=0.1, times=3)
    >>> fall.run([-1.2, 0, 0, 0]).q.shape
    (3, 4)
    """

    @takes_settings
    def __init__(
        self,
        mechanism: Mechanism,
        duration: float = 1.0,
        *,
        torque: TorqueGiven = None,
        controller: ControllerGiven = None,
        ground: Ground | None = None,
        settings: Settings | None = None,
        **keywords: Unpack[SettingsKeywords],
    ) -> None:
        self._scenario = scenario = Scenario.read(
            Simulator.__init__,
            mechanism,
            duration,
            torque=torque,
            controller=controller,
            ground=ground,
            settings=settings,
            keywords=keywords,
        )
        self.mechanism, self.options, self.ground = mechanism, scenario.options, ground
        self._start: Array | None = None  # of the last run
        self._last: Array | None = None  # states of the last run
        self._steps: StepRuns | None = None
        if ground is not None and ground.contact == "rigid":
            given = read_settings(Simulator.__init__, settings, keywords)
            self._steps = StepRuns(mechanism, duration, (torque, controller), ground, given)
            self._law = scenario.law
            return
        self.system: System = scenario.system()
        self._is_checked, self._breaks, self._law = False, scenario.breaks, scenario.law
        self._integration: Integration | None = None
        if self.options.method != AUTO:
            self._prepare(self.options.method)

    def __repr__(self) -> str:
        method = "steps" if self._steps is not None else getattr(self, "method", AUTO)
        return (
            f"Simulator('{self.mechanism.name}': {self.options.duration:g} s, {len(self.options.times)} "
            f"samples, method {method}, law {self._law.name})"
        )

    def _prepare(self, method: Method) -> Integration:
        """The integration by a method, for all runs to come."""
        options = replace(self.options, method=method)
        self._integration = new_integration(self.system, options, self._breaks)
        self.method = method
        return self._integration

    def run(
        self, q0: Coordinates, qd0: Coordinates | None = None, torque: Coordinates | None = None
    ) -> Rollout:
        """The motion from one state (n_dof,), with constant ``torque`` (n_dof,) beside the controller.

        They replace constant torques of the Simulator in this run: actions of a policy, one step at a time.

        >>> import kinetree as kt
        >>> step = kt.simulation.Simulator(kt.zoo.two_link(), duration=0.02, times=2)
        >>> after = step.run([0.1, 0.2], [0.0, 0.0], torque=[1.0, -0.5])
        >>> after.q[-1].shape
        (2,)
        """
        n = self.mechanism.n_dof
        q = coordinates(self.mechanism, q0, "q0")
        qd = np.zeros(n) if qd0 is None else coordinates(self.mechanism, qd0, "qd0")
        tau = self._law.constant if torque is None else coordinates(self.mechanism, torque, "torque")
        for given, what in ((q, "q0"), (qd, "qd0"), (tau, "torque")):
            if given.ndim != 1:
                raise InputError(f"{what} must have shape ({n},), that of one state, got shape {given.shape}")
        self._scenario.check_start(q, qd)
        if self._steps is not None:
            return self._run_steps(self._steps, q, qd, None if torque is None else tau)
        self.system.set_constant(tau)
        start = self.system.start_state(q, qd)
        self.system.close_loops(start)
        if len(self.system.parts.locks):
            refuse_locks(self.system, start)
        if not self._is_checked:
            hint_at_degrees(self.mechanism, q, "q0")
            check_step(self.system, self.ground, self.options, start[0])
            self._is_checked = True
        integration, self._last, self._start = self._integration, None, start.copy()
        if integration is None:
            integration = self._prepare(chosen_method(self.system, self.options, start[0]))
        self.system.law.begin()
        integration.rewind(start)
        status = integration.advance(LOOK if self.options.method == AUTO else CUTS)
        if status is IntegrationStatus.RUNNING and self._has_become_stiff(integration):
            integration = self._prepare("radau")
            self.system.law.begin()
            integration.rewind(start)
        mark = Mark()
        while status is IntegrationStatus.RUNNING:
            mark = moved_on(integration, self.system, self.options, mark)
            refuse_runaway(integration, self.system, self.options, integration.statistics["steps"])
            status = integration.advance(CUTS)
        if status is IntegrationStatus.CALLBACK:
            self.system.raise_problem()
        if status is not IntegrationStatus.DONE:
            raise SimulationError(diverged(self.system, self.options, integration.t, integration.y))
        states = integration.out[:, 0].copy()
        self.system.close_loops(states)
        at, self._last = self.system.at, states
        return Rollout(self.options.times, states[:, at.q], states[:, at.qd])

    def _run_steps(self, steps: StepRuns, q: Array, qd: Array, torque: Array | None) -> Rollout:
        """The motion by steps, on ground with rigid contact."""
        hint_at_degrees(self.mechanism, q, "q0")
        self._stepped: tuple[Array, Array, Array | None] = (
            q.copy(),
            qd.copy(),
            steps.torque if torque is None else torque,
        )
        self._last = None
        places, rates = steps.states(*self._stepped)
        self._start, self._last = q.copy(), places
        return Rollout(np.asarray(steps.output * steps.stepper.dt, dtype=np.float64), places, rates)

    def audit(self) -> dict[str, Check]:
        """Verdicts on the last run: limits, falls, slip, bodies in the ground, following.

        The names and sentences are those in the audit of :func:`kinetree.simulate`; the energy balance is not
        included. The run is repeated from its start with a record of all its steps, so that runs that are not
        audited pay nothing. A run that diverges raises an error and cannot be audited.

        >>> import kinetree as kt
        >>> arm = kt.simulation.Simulator(kt.zoo.two_link(), duration=0.1, torque=[11.0, 0.0])
        >>> motion = arm.run([0.0, 0.0])
        >>> print(arm.audit()["effort_limits"].sentence)
        the effort of joint 'joint1' is 11 N m at t = 0 s, 1.1 times its limit 10 N m
        """
        if self._last is None or self._start is None:
            raise InputError("audit checks the last successful run of a Simulator, and there is none")
        if self._steps is not None:
            *start, torque = self._stepped
            return self._steps.record(start, torque, lambda t: None).checks(self._steps.stepper)
        recorder = Recorder(self._scenario.judge, self._breaks)
        if recorder.is_needed:
            self._record(recorder)
        states, at, times = self._last, self.system.at, self.options.times
        tau = self.system.observe(times, states[:, None]).tau[:, 0]
        return checks_of(recorder.findings(times, states[:, at.q], states[:, at.qd], tau))

    def _record(self, recorder: Recorder) -> None:
        """Repeat the last run, with a recorder of its steps."""
        assert self._start is not None
        options = replace(self.options, method=self.method)
        again = new_integration(
            self.system, options, self._breaks, trace=lambda steps: recorder.take(steps, self.system)
        )
        self.system.law.begin()
        again.rewind(self._start)
        while again.advance(CUTS) is IntegrationStatus.RUNNING:
            pass
        again.flush()

    def _has_become_stiff(self, integration: Integration) -> bool:
        """Whether many short steps were taken for stability's sake alone."""
        if self.options.method != AUTO or self.method not in LIMITS:
            return False
        t, y = integration.t, integration.y[0]
        return is_stiff(self.system, self.options, self.method, t, y, t / integration.statistics["steps"])
