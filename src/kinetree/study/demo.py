"""The first thing to run: a gripper that is moved, then one that falls ([Shah2013], section 6.2.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.energy import kinetic_energy, potential_energy
from kinetree.analysis.forward import forward_dynamics
from kinetree.analysis.inverse import inverse_dynamics
from kinetree.codegen.specialize import specialize
from kinetree.engine.code import piece
from kinetree.engine.companion import compile_ahead
from kinetree.errors import SingularityError
from kinetree.model.mechanism import Mechanism
from kinetree.state import State
from kinetree.study.models import shipped
from kinetree.trajectories.cycloidal import cycloid

DURATION = 1.0  # s
SAMPLES = 201
START = np.radians([0.0, 0.0, 0.0, 90.0])  # [Shah2013], Table 6.5
END = np.radians([60.0, 80.0, 80.0, 120.0])
FALL_FROM = np.radians([-60.0, 0.0, 0.0, 0.0])
ACCURACY = 1e-9  # relative, of the integration
NEEDED = (("energy", "many"), ("kinematics", "single"))  # kernels of the energies and of pictures
Progress = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class Demo:
    """Two motions of one mechanism over the same time (k,): a driven one with its torques, and a fall.

    ``driven`` and ``falling`` have arrays (k, n_dof); ``torque`` (k, n_dof) in N m belongs to the driven
    motion; ``kinetic`` and ``potential`` energy (k,) in J to the fall.
    """

    mechanism: Mechanism
    time: Array
    driven: State
    torque: Array
    falling: State
    kinetic: Array
    potential: Array

    @property
    def total_energy(self) -> Array:
        """Kinetic and potential energy of the fall (k,) in J; constant but for the integration's error."""
        return self.kinetic + self.potential

    @property
    def energy_drift(self) -> float:
        """Largest change of the total energy in the fall (J)."""
        return float(np.abs(self.total_energy - self.total_energy[0]).max())

    @property
    def energy_exchanged(self) -> float:
        """Largest kinetic energy in the fall (J), beside which the drift is to be seen."""
        return float(self.kinetic.max())

    @property
    def peak_torque(self) -> Array:
        """Largest magnitude of each joint's torque (n_dof,) in N m."""
        peak: Array = np.abs(self.torque).max(axis=0)
        return peak

    @property
    def peak_time(self) -> Array:
        """When the torques are largest, (n_dof,) in s."""
        moment: Array = self.time[np.abs(self.torque).argmax(axis=0)]
        return moment


def run_demo(progress: Progress | None = None) -> Demo:
    """Inverse dynamics of the cycloidal motion, then free fall from rest; 1 s each.

    ``progress`` is called with the part of the fall that is done, from 0 to 1. Dynamics run by code made for
    the gripper: where nothing is compiled yet, it is there in a tenth of a second.
    """
    compile_ahead([piece(*kernel) for kernel in NEEDED[:1]], [piece(*kernel) for kernel in NEEDED])
    gripper = specialize(shipped("gripper"), ("inverse_dynamics", "forward_dynamics"))
    time = np.linspace(0.0, DURATION, SAMPLES)
    driven = cycloid(START, END, DURATION).at(time)
    torque = inverse_dynamics(gripper, driven.q, driven.qd, driven.qdd)
    falling = _free_fall(gripper, FALL_FROM, time, progress)
    return Demo(
        gripper,
        time,
        driven,
        torque,
        falling,
        kinetic_energy(gripper, falling.q, falling.qd),
        potential_energy(gripper, falling.q),
    )


def _free_fall(mechanism: Mechanism, q0: Array, time: Array, progress: Progress | None) -> State:
    """Motion from rest without torques, integrated by DOP853 and sampled at the times (k,)."""
    from scipy.integrate import solve_ivp

    n, end = mechanism.n_dof, float(time[-1])
    slack = np.zeros(n)

    def rates(t: float, x: Array) -> Array:
        if progress is not None:
            progress(t / end)
        return np.concatenate([x[n:], forward_dynamics(mechanism, x[:n], x[n:], slack)])

    start = np.concatenate([q0, slack])
    run = solve_ivp(rates, (0.0, end), start, "DOP853", time, rtol=ACCURACY, atol=ACCURACY)
    if not run.success:
        raise SingularityError(
            f"the fall of '{mechanism.name}' stopped at t = {run.t[-1]:g} s: {run.message}"
        )
    q, qd = (np.ascontiguousarray(x.T) for x in (run.y[:n], run.y[n:]))
    return State(q, qd, forward_dynamics(mechanism, q, qd, np.zeros_like(q)))
