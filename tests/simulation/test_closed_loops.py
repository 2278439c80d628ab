"""Motion of mechanisms with closed loops: independent solutions, closed forms, conservation, closure."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.analysis.loops.system import constraints
from support.reference import closed, read

FILES = (
    *("slider_crank", "prismatic_cut", "spatial_fourbar", "five_bar", "jansen_leg", "six_bar"),
    *("other_cuts", "floating_fourbar_legs"),
)
CASES = {
    f"{file}-{v['name']}": v for file in FILES for v in read(f"{file}.json")["variants"] if "simulation" in v
}


def four_bars(n, theta, speed):
    """n four-bars with their cranks at an angle from the upright, and their motion."""
    mechanism = kt.zoo.n_four_bar(n)
    sign = np.array([-1.0 if "crank" in name else 1.0 for name in mechanism.joint_names])
    return mechanism, sign * theta, sign * speed


@pytest.mark.parametrize("variant", CASES.values(), ids=CASES)
def test_free_motions_are_those_of_other_formulations(variant):
    """Tree coordinates and maximal coordinates, made without Kinetree."""
    mechanism, expected = closed(variant), variant["simulation"]
    found = kt.simulate(
        mechanism,
        expected["q"][0],
        expected["qd"][0],
        duration=expected["t"][-1],
        times=expected["t"],
        rtol=1e-10,
        atol=1e-12,
    )
    allowed = max(10 * expected["accuracy"]["pose_two_formulations"], 1e-10)
    assert np.abs(found.q.values - expected["q"]).max() < allowed
    assert np.abs(constraints(mechanism, found.q.values).gap).max() < 1e-12
    energy = found.kinetic_energy.values + found.potential_energy.values
    assert np.ptp(energy) < 1e-9 * max(1.0, np.abs(energy).max())
    size = max(1.0, np.abs(expected["qdd"]).max())
    assert np.abs(found.qdd.values - expected["qdd"]).max() < 1e-7 * size


@pytest.mark.parametrize("method", ["dop853", "dopri5", "radau", "rk4"])
def test_four_bars_swing_as_one_pendulum(method):
    """Between its singular positions the ladder is the pendulum of its formula, by every method."""
    mechanism, q0, qd0 = four_bars(3, 2.2, 0.0)
    step = {"step": 1e-3} if method == "rk4" else {"rtol": 1e-8, "atol": 1e-9}
    found = kt.simulate(mechanism, q0, qd0, duration=0.25, times=6, method=method, **step)
    rate = (4 / 2 + 3) * 9.81 / (4 / 3 + 3)
    pendulum = kt.Builder("pendulum", gravity=(0, -rate, 0))
    pendulum.world.revolute("pin").body("bob", kt.Inertia.point(1.0, at=(0, 1.0, 0)))
    exact = kt.simulate(pendulum.build(), [-2.2], duration=0.25, times=6, rtol=1e-11)
    assert np.abs(found.q.values[:, 0] - exact.q.values[:, 0]).max() < 1e-7
    assert np.abs(constraints(mechanism, found.q.values).gap).max() < 1e-13
    assert np.abs(constraints(mechanism, found.q.values).J @ found.qd.values[..., None]).max() < 1e-12


def test_a_simulator_gives_the_same_motion():
    mechanism, q0, qd0 = four_bars(2, 0.4, 1.0)
    whole = kt.simulate(mechanism, q0, qd0, duration=0.3, times=4, rtol=1e-9)
    quick = kt.Simulator(mechanism, 0.3, times=4, rtol=1e-9).run(q0, qd0)
    assert np.abs(whole.q.values - quick.q).max() < 1e-12


def test_drives_hold_a_platform():
    """Holding torques of inverse dynamics leave a Stewart platform at rest."""
    mechanism = kt.zoo.stewart()
    zero = np.zeros(mechanism.n_dof)
    hold, _ = kt.loops.inverse_dynamics(mechanism, zero, zero, zero)
    found = kt.simulate(mechanism, zero, duration=0.2, times=3, torque=hold)
    assert np.abs(found.q.values).max() < 1e-10


def test_a_python_law_drives_a_linkage():
    """Torques of a function act as constant ones do."""
    mechanism = kt.zoo.slider_crank()
    tau = np.array([0.7, 0.0, 0.0])
    given = kt.simulate(mechanism, np.zeros(3), duration=0.1, times=3, torque=tau)
    called = kt.simulate(mechanism, np.zeros(3), duration=0.1, times=3, torque=lambda t, q, qd: tau)
    assert np.abs(given.q.values - called.q.values).max() < 1e-12


def test_friction_in_a_passive_joint_takes_the_energy_that_is_missing():
    mechanism = kt.zoo.five_bar()
    from dataclasses import replace

    links = list(mechanism.links)
    links[1] = replace(links[1], joint=replace(links[1].joint, viscous=np.array([0.2])))
    found = kt.simulate(replace(mechanism, links=tuple(links)), np.zeros(4), duration=0.4, times=9)
    assert found.joint_work.values[-1] < -1e-3
    assert found.audit["energy_balance"].passed


def test_an_open_start_is_refused():
    with pytest.raises(kt.InputError, match=r"loop 'crank_pin' is open by"):
        kt.simulate(kt.zoo.four_bar(), [0.0, 1.0, 4.3], duration=0.1)
    with pytest.raises(kt.InputError, match=r"loop 'crank_pin' is open by"):
        kt.Simulator(kt.zoo.four_bar(), 0.1).run([0.0, 1.0, 4.3])


def test_reactions_of_loops_are_refused_before_any_work():
    mechanism, q0, _ = four_bars(1, 0.4, 0.0)
    with pytest.raises(kt.InputError, match=r"has closed loops .*joint reactions"):
        kt.simulate(mechanism, q0, duration=0.1, reactions=True)


@pytest.mark.parametrize("rtol", [1e-6, 1e-8, 1e-10, 1e-12])
def test_singular_positions_are_passed(rtol):
    """Four-bars that lie flat have more freedoms; they swing through, as the pendulum of their formula."""
    mechanism, q0, qd0 = four_bars(2, 0.0, 1.0)
    found = kt.simulate(
        mechanism,
        q0,
        qd0,
        duration=3.0,
        times=4,
        method="dop853",
        rtol=rtol,
        atol=0.1 * rtol,
        energy_tolerance=1e-3,
    )
    rate = (3 / 2 + 2) * 9.81 / (3 / 3 + 2)
    pendulum = kt.Builder("pendulum", gravity=(0, -rate, 0))
    pendulum.world.revolute("pin").body("bob", kt.Inertia.point(1.0, at=(0, 1.0, 0)))
    exact = kt.simulate(pendulum.build(), [0.0], [-1.0], duration=3.0, times=4, rtol=1e-12)
    assert np.abs(found.q.values[:, 0] - exact.q.values[:, 0]).max() < max(100 * rtol, 1e-6)
    assert np.abs(constraints(mechanism, found.q.values).gap).max() < 1e-12


def test_batches_of_loops_are_refused():
    mechanism, q0, _ = four_bars(1, 0.4, 0.0)
    with pytest.raises(kt.InputError, match="has closed loops"):
        kt.simulate_batch(mechanism, np.tile(q0, (4, 1)), duration=0.1)
