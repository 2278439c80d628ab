"""Simulations by code made for one mechanism: rates of the general code, whatever acts on it."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.codegen import specialize
from kinetree.simulation.scenario import Scenario
from kinetree.simulation.system import RATES
from support.kernels import zoo

AGREEMENT = 1e-13  # of M qdd beside the largest torque or term of it


def rates(mechanism, lanes, state, **given):
    """The system, and its rates (lanes, size) in a state (2 n,) with all work and components at zero."""
    system, n = Scenario.read(kt.simulate, mechanism, 1.0, **given).system(lanes=lanes), mechanism.n_dof
    states = system.start_state(state[:n], state[n:])
    states[:, : 2 * n] *= np.linspace(1.0, 0.7, lanes)[:, None]
    out, run = np.zeros_like(states), RATES(system.address("rates"))
    assert run(0.3, *(x.ctypes.data for x in (states, out, system.context.memory))) == 0
    return system, states, out


def error(mechanism, rng, lanes=1, **given):
    """The largest difference of rates, accelerations as torques, relative to the largest number."""
    n = mechanism.n_dof
    state = rng.uniform(-1, 1, 2 * n)
    system, states, expected = rates(mechanism, lanes, state, **given)
    made, _, found = rates(kt.specialize(mechanism, "simulate"), lanes, state, **given)
    assert made.parts.is_made and not system.parts.is_made
    difference = found - expected
    M, qdd = kt.mass_matrix(mechanism, states[:, :n]), np.abs(expected[:, n : 2 * n]).max()
    torques = np.einsum("kij,kj->ki", M, difference[:, n : 2 * n])
    rest, numbers = (np.delete(x, np.arange(n, 2 * n), axis=1) for x in (difference, expected))
    return max(np.abs(torques).max() / (np.abs(M).max() * qdd), np.abs(rest).max() / np.abs(numbers).max())


def springy():
    """Springs between bodies, friction, springs and limits of joints, armatures."""
    build = kt.Builder("springy")
    first = build.world.revolute(
        "a", axis="y", viscous=0.3, coulomb=0.2, stiffness=4.0, lower=-0.1, upper=0.1
    )
    first = first.body("first", kt.Inertia.rod(1.0, end=(1, 0, 0)))
    second = first.revolute("b", axis=(1, 2, 0.5), at=(1, 0.1, 0), armature=0.1)
    second = second.body("second", kt.Inertia.rod(1.5, end=(1, 0.3, 0.2)))
    build.spring("s", "first", "second", (0.2, 0, 0.4), (0.5, 0.1, 0), stiffness=50.0, damping=2.0)
    return build.build()


def test_every_tree_of_the_zoo(rng):
    """One state and four in lanes."""
    wrong, checked = {}, 0
    for name, mechanism in zoo().items():
        if mechanism.n_dof > 12 or mechanism.tree.coupling is not None:
            continue
        lanes = 1 if checked % 4 else 4
        found, checked = error(mechanism, rng, lanes), checked + 1
        if not found < AGREEMENT:
            wrong[name] = found
    assert not wrong and checked > 5


@pytest.mark.parametrize("lanes", [1, 4])
def test_whatever_acts(rng, lanes):
    """Ground, loads, springs, friction, stops, controllers."""
    arm, quadruped = kt.zoo.kuka_kr5(), kt.zoo.quadruped()
    pd = kt.control.PD(np.zeros(6), kp=50.0, kd=4.0)
    load = kt.Wrench(arm.body_names[-1], (3.0, -2.0, 5.0), (0.3, 0.1, -0.2), (0.1, 0.2, 0.3))
    errors = {
        "stops": error(springy(), rng, lanes, keywords={"stops": kt.simulation.Stops(1e4, 10.0)}),
        "controller": error(arm, rng, lanes, controller=pd),
        "load": error(arm, rng, lanes, keywords={"loads": [load]}),
        "ground": error(quadruped, rng, lanes, ground=kt.Ground(origin=(0, 0, 0.1))),
    }
    assert all(x < AGREEMENT for x in errors.values()), errors


def test_simulations_of_a_specialized_arm():
    """Explicit and stiff methods, sampled and Python laws, prepared and many at once: the same motions."""
    arm = kt.zoo.gripper()
    fast = kt.specialize(arm, "simulate")
    start = np.array([-1.0, 0.2, 0.3, -0.4])

    def law(t, q, qd):
        return -0.2 * q - 1e-3 * qd

    runs = {
        "dop853": {"method": "dop853"},
        "radau": {
            "method": "radau",
            "controller": kt.control.PD(np.zeros(4), kp=[50, 0.2, 0.2, 0.2], kd=[5, 1e-3, 1e-3, 1e-3]),
        },
        "python": {"controller": law},
        "sampled": {"controller": kt.control.SampledLaw(law, period=0.01)},
    }
    for name, options in runs.items():
        first, second = (kt.simulate(x, start, duration=0.3, times=4, **options) for x in (arm, fast))
        assert second.passed, name
        np.testing.assert_allclose(second.q, first.q, rtol=0, atol=1e-9, err_msg=name)
        np.testing.assert_allclose(second.qdd, first.qdd, rtol=1e-6, atol=1e-6, err_msg=name)
    starts = start * np.linspace(0.5, 1.0, 6)[:, None]
    first, second = (kt.simulation.simulate_batch(x, starts, duration=0.3, times=3) for x in (arm, fast))
    np.testing.assert_allclose(second.q, first.q, rtol=0, atol=1e-9)


def test_batches_use_the_code_where_it_pays(monkeypatch):
    """Whatever the number of threads; masses that vary and short batches keep the general code."""
    from kinetree.simulation import batch

    made, make = [], specialize.with_code
    monkeypatch.setattr(specialize, "with_code", lambda *given: made.append(given[1]) or make(*given))
    monkeypatch.setattr(batch, "MANY", 8)
    arm, starts = kt.zoo.two_link(), np.linspace([0.1, 0.2], [1.0, -0.5], 12)
    masses = np.ones((12, 2)) * arm.tree.body_mass

    def ends(**options):
        run = kt.simulation.simulate_batch(arm, starts, duration=0.2, times=2, **options)
        return run.q.values[:, -1]

    general = ends()
    assert not made
    monkeypatch.setattr(batch, "WORTH", 100)
    assert np.array_equal(ends(threads=1), ends(threads=2)) and made == [["simulate"]] * 2
    np.testing.assert_allclose(ends(), general, rtol=0, atol=1e-9)
    del made[:]
    ends(masses=masses)
    assert not made


def test_masses_that_vary_in_lanes():
    """Code that leaves inertia open takes each motion's own; other code is not used."""
    arm = kt.zoo.gripper()
    starts = np.tile([-1.0, 0.2, 0.3, -0.4], (6, 1))
    masses = arm.tree.body_mass * np.linspace([0.5, 1, 1, 1.5], [2.0, 1, 1, 0.5], 6)
    expected = kt.simulation.simulate_batch(arm, starts, duration=0.3, times=3, masses=masses)
    assert np.ptp(expected.q.values[:, -1], axis=0).max() > 1e-3
    for parameters in ((), "inertia"):
        fast = kt.specialize(arm, "simulate", parameters=parameters)
        found = kt.simulation.simulate_batch(fast, starts, duration=0.3, times=3, masses=masses)
        np.testing.assert_allclose(found.q, expected.q, rtol=0, atol=1e-9)
