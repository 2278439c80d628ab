"""A user's program that a strict type checker accepts; every line also runs (tests/test_typed_user.py)."""

import numpy as np
from numpy.typing import NDArray

import kinetree as kt
from kinetree import terms


def spring(t: float, q: NDArray[np.float64], qd: NDArray[np.float64]) -> NDArray[np.float64]:
    """A torque law of the user's own."""
    return -2.0 * q - 0.1 * qd


def brake(t: float, q: NDArray[np.float64], qd: NDArray[np.float64]) -> float:
    """The torque of one joint."""
    return -0.1 * float(qd[1])


def ask(arm: kt.Mechanism) -> float:
    """Questions about states."""
    state = kt.random_state(arm, np.random.default_rng(1))
    tau: NDArray[np.float64] = kt.inverse_dynamics(arm, state.q, state.qd, state.qdd)
    slopes: kt.analysis.InverseDynamicsDerivatives = kt.inverse_dynamics_derivatives(
        arm, state.q, state.qd, state.qdd
    )
    poses: kt.analysis.Poses = kt.forward_kinematics(arm, state.q)
    found: kt.analysis.InverseKinematics = kt.inverse_kinematics(
        arm, kt.analysis.Target(arm.body_names[-1], poses.position[-1]), q0=[0.1, 0.1]
    )
    return float(tau @ slopes.dtau_dq @ found.q)


def move(arm: kt.Mechanism) -> kt.Result:
    """Simulations in all their forms."""
    settings = kt.simulation.Settings(method="dopri5", rtol=1e-6, times=5)
    law: kt.simulation.TorqueLaw = spring
    for torque in (None, [0.1, 0.0], ([0.0, 1.0], [[0.0, 0.0], [1.0, 0.0]]), law):
        kt.simulate(arm, [0.1, 0.2], duration=0.02, torque=torque, settings=settings)
    kt.simulate(arm, [0.1, 0.2], duration=0.02, torque={"joint1": 0.1, "joint2": brake})
    held = kt.control.PD([0.1, 0.2], kp=10.0, kd=1.0)
    batch = kt.simulation.simulate_batch(
        arm, np.zeros((2, 2)), duration=0.02, controller=held, settings=settings, threads=1
    )
    run = kt.simulation.Simulator(arm, 0.02, controller=kt.control.FirstOrderActuator(held, 0.01), times=3)
    rollout: kt.simulation.Rollout = run.run([0.1, 0.2])
    assert batch.q.shape == (2, 5, 2) and rollout.q.shape == (3, 2)
    return kt.simulate(arm, [0.1, 0.2], duration=0.02, controller=held, loads=kt.Wrench("link2", (1, 0, 0)))


def plan(arm: kt.Mechanism) -> kt.motion.Prediction:
    """The fastest motion between two poses."""
    ends = [
        terms.Boundary("start", position=[0.0, -2.0], velocity=0.0),
        terms.Boundary("end", position=[1.0, -1.0], velocity=0.0),
    ]
    problem = kt.Problem(
        arm,
        objective=terms.Time(),
        constraints=[*ends, terms.TorqueLimits()],
    )
    return kt.predict(problem)


def main() -> None:
    """All of it."""
    arm = kt.zoo.two_link()
    try:
        print(ask(arm), float(move(arm).time[-1]), plan(arm).duration)
    except kt.KinetreeError as error:
        print(error)


if __name__ == "__main__":
    main()
