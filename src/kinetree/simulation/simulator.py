"""A prepared simulation that is run again and again from other states: as little overhead as possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.errors import SimulationError
from kinetree.kernels.integrate.integration import Integration, Status
from kinetree.model.mechanism import Mechanism
from kinetree.simulation.gimbal import refuse_locks
from kinetree.simulation.ground import Ground
from kinetree.simulation.options import Options, Stops, read_options
from kinetree.simulation.prepare import new_system
from kinetree.simulation.run import diverged, new_integration
from kinetree.simulation.system import System
from kinetree.simulation.torque import read_law
from kinetree.state import Wrench, coordinates


class Motion(NamedTuple):
    """Times (k,), positions and velocities (k, n_dof)."""

    time: Array
    q: Array
    qd: Array


class Simulator:
    """Everything of a simulation but its initial state, prepared once; see :func:`kinetree.simulate`.

    ``run`` returns plain arrays: no audit, no labels. For inner loops: sampling, optimisation, real time.
    Euler sequences are not switched: a joint within a degree of gimbal lock is an error.

    >>> import kinetree as kt
    >>> fall = kt.Simulator(kt.zoo.gripper(), duration=0.1, times=3)
    >>> fall.run([-1.2, 0, 0, 0]).q.shape
    (3, 4)
    """

    def __init__(
        self,
        mechanism: Mechanism,
        duration: float = 1.0,
        *,
        torque: Any = None,
        controller: Any = None,
        ground: Ground | None = None,
        loads: Wrench | Sequence[Wrench] = (),
        times: ArrayLike | int | None = None,
        method: str = "dop853",
        rtol: float = 1e-8,
        atol: float | None = None,
        step: float | None = None,
        max_step: float | None = None,
        stops: Stops | None = None,
        friction_speed: float = 1e-3,
    ) -> None:
        self.mechanism = mechanism
        self.options: Options = read_options(
            duration, times, method, rtol, atol, step, max_step, friction_speed, "error", ()
        )
        law = read_law(mechanism, torque, controller)
        listed = (loads,) if isinstance(loads, Wrench) else tuple(loads)
        self.system: System = new_system(mechanism, law, ground, listed, stops, self.options)
        self._integration: Integration = new_integration(self.system, self.options, law.parts.breaks)

    def run(self, q0: ArrayLike, qd0: ArrayLike | None = None) -> Motion:
        """The motion from one state (n_dof,)."""
        n = self.mechanism.n_dof
        q = coordinates(self.mechanism, q0, "q0")
        qd = np.zeros(n) if qd0 is None else coordinates(self.mechanism, qd0, "qd0")
        integration = self._integration
        start = self.system.start_state(q, qd)
        refuse_locks(self.system, start)
        integration.rewind(start)
        status = Status.RUNNING
        while status is Status.RUNNING:
            status = integration.advance(1_000_000)
        if status is Status.CALLBACK:
            self.system.raise_problem()
        if status is not Status.DONE:
            raise SimulationError(diverged(self.system, integration))
        states = integration.out[:, 0].copy()
        return Motion(self.options.times, states[:, :n], states[:, n : 2 * n])
