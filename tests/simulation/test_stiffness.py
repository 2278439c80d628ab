"""Stiff laws and grounds: which method is chosen, when it changes, and that the answer is the same."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.control import PD
from kinetree.simulation.course import PATIENCE
from kinetree.simulation.settings import Settings, read_options
from kinetree.simulation.setup import new_system, surroundings
from kinetree.simulation.stiffness import eigenvalues, fastest_decay, nothing_decays, slopes
from kinetree.simulation.system import System
from kinetree.simulation.torque import read_law

GRIPPER = kt.zoo.gripper()
POSE = np.array([-1.0, 0.4, 0.3, 0.2])
STIFF = PD(POSE, 5.0, 2.0)  # 7.6e4 per second, on the inertia of the fingers


def slider(**joint):
    build = kt.Builder("slider", gravity=(0, 0, 0))
    build.world.prismatic("rail", axis="x", **joint).body("cart", kt.Inertia.sphere(2.0, 0.1))
    return build.build()


def system_of(mechanism, torque=None, controller=None, ground=None):
    options = read_options(Settings(), 1.0)
    law = read_law(mechanism, torque, controller)
    return new_system(mechanism, law, surroundings(ground), options)


# ---- rates --------------------------------------------------------------------------------------------
def test_rates_of_an_oscillator():
    """s^2 + (c / m) s + k / m = 0."""
    k, c, m = 50.0, 40.0, 2.0
    system = system_of(slider(stiffness=k, viscous=c))
    values = eigenvalues(slopes(system, 0.0, np.zeros(system.size)))
    assert sorted(values.real) == pytest.approx(sorted(np.roots([1.0, c / m, k / m])))
    assert fastest_decay(system, 0.0, np.zeros(system.size)) == pytest.approx(-np.roots([m, c, k])[0])


def test_undamped_oscillations_do_not_count_as_stiff():
    system = system_of(slider(stiffness=1e8))
    assert fastest_decay(system, 0.0, np.zeros(system.size)) == 0.0


def test_slopes_of_functions_are_those_of_the_law():
    function = lambda t, q, qd: 5.0 * (POSE - q) - 2.0 * qd  # noqa: E731
    y = np.concatenate([POSE + 0.1, [0.3, -0.2, 0.1, 0.4], np.zeros(4)])
    exact = slopes(system_of(GRIPPER, controller=STIFF), 0.0, y)
    found = slopes(system_of(GRIPPER, controller=function), 0.0, y)
    for a, b in zip(exact, found, strict=True):
        assert b == pytest.approx(a, abs=1e-5 * np.abs(a).max())


# ---- what needs no looking at -------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "free"),
    [
        ({}, True),
        ({"torque": [0.1, 0.2, 0.3, 0.4]}, True),
        ({"controller": STIFF}, False),
        ({"torque": lambda t, q, qd: -qd}, False),
    ],
)
def test_free_motions_are_not_searched_for_decays(options, free):
    assert nothing_decays(system_of(GRIPPER, **options)) is free


def test_springs_and_friction_are_searched_for_decays():
    assert not nothing_decays(system_of(slider(stiffness=1e8)))
    assert nothing_decays(system_of(slider()))


def test_a_free_fall_compiles_no_jacobian(monkeypatch):
    def never(self):
        raise AssertionError("nothing here can be stiff")

    monkeypatch.setattr(System, "jacobian_address", never)
    assert kt.simulate(GRIPPER, POSE, duration=20.0, times=3).complete


# ---- choices ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "method"),
    [
        ({}, "dop853"),
        ({"controller": STIFF}, "radau"),
        ({"torque": lambda t, q, qd: 5.0 * (POSE - q) - 2.0 * qd}, "radau"),
        ({"controller": STIFF, "duration": 1e-3}, "dop853"),
        ({"controller": STIFF, "duration": 1e-3, "method": "dopri5"}, "dopri5"),
    ],
)
def test_chosen_method(options, method):
    run = kt.simulate(GRIPPER, POSE, times=3, **{"duration": 1.0, **options})
    assert run.settings["method"] == method


def test_ground_takes_the_lower_order():
    robot = kt.zoo.quadruped()
    q0 = np.zeros(robot.n_dof)
    run = kt.simulate(robot, q0, duration=0.01, ground=kt.Ground(origin=(0, 0, -5.0)), times=2)
    assert run.settings["method"] == "dopri5"


def test_stiff_laws_take_few_steps_and_reach_the_same_state():
    explicit = kt.simulate(GRIPPER, POSE, duration=0.2, controller=STIFF, times=5, method="dopri5")
    long = kt.simulate(GRIPPER, POSE, duration=2.0, controller=STIFF, times=11)
    assert long.settings["method"] == "radau"
    assert long.statistics["steps"] < 500 and explicit.statistics["steps"] > 4000
    assert long.q.values[1] == pytest.approx(explicit.q.values[-1], abs=1e-7)
    assert long.audit["energy_balance"].passed


# ---- a change on the way ------------------------------------------------------------------------------
def damper(t, q, qd):
    """A strong damper behind x = 0.5 m; in front of it nothing."""
    return -1e6 * qd * np.clip(1e4 * (q[0] - 0.5), 0.0, 1.0)


def braked(**more):
    return kt.simulate(slider(), [0.0], [1.0], duration=3.0, torque=damper, **more)


def test_method_changes_where_the_system_becomes_stiff():
    times = np.linspace(0.0, 3.0, 61)
    run = braked(times=times, rtol=1e-7)
    assert run.settings["method"] == "radau"
    assert len(run.messages) == 1 and "stiff" in run.messages[0] and "'dop853'" in run.messages[0]
    assert run.time.values == pytest.approx(times)
    alone = braked(times=times, rtol=1e-7, method="radau")
    assert run.q.values == pytest.approx(alone.q.values, abs=1e-6)
    free = times < 0.5
    assert run.q.values[free, 0] == pytest.approx(times[free], abs=1e-9)
    assert run.statistics["steps"] >= PATIENCE and run.statistics["jacobians"] > 0
    assert run.actuator_work.values[-1] == pytest.approx(-1.0, rel=1e-4)


def test_the_change_does_not_depend_on_the_speed_of_the_machine(monkeypatch):
    """Pieces of work follow the clock; looks at stiffness must not."""
    run = braked(times=7, rtol=1e-7)
    monkeypatch.setattr("kinetree.simulation.run.PIECE", 1e-5)
    slow = braked(times=7, rtol=1e-7)
    assert run.messages == slow.messages != ()
    assert np.array_equal(run.q.values, slow.q.values)


def test_events_and_samples_survive_the_change():
    """The torque that is held stays held when the method changes between two samples."""
    heavy = slider(viscous=1e5)
    far = kt.simulation.Trigger("half", lambda t, q, qd: q[0] - 0.5)

    run = kt.simulate(
        heavy, [0.0], duration=1.0, controller=PD([1.0], 2e5, period=0.25), events=[far], rtol=1e-7, times=5
    )
    explicit = kt.simulate(
        heavy,
        [0.0],
        duration=1.0,
        controller=PD([1.0], 2e5, period=0.25),
        events=[far],
        rtol=1e-7,
        times=5,
        method="dopri5",
    )
    assert run.settings["method"] == "radau"
    assert run.q.values == pytest.approx(explicit.q.values, abs=1e-6)
    assert run.tau.values == pytest.approx(explicit.tau.values, rel=1e-6)
    assert [e.time for e in run.events] == pytest.approx([e.time for e in explicit.events], abs=1e-6)


def test_simulator_remembers_what_is_stiff():
    fast = kt.simulation.Simulator(GRIPPER, duration=2.0, controller=STIFF, times=3)
    motion = fast.run(POSE)
    assert fast.method == "radau"
    run = kt.simulate(GRIPPER, POSE, duration=2.0, controller=STIFF, times=3)
    assert motion.q == pytest.approx(run.q.values, abs=1e-9)
    plain = kt.simulation.Simulator(GRIPPER, duration=0.1, times=3)
    plain.run(POSE)
    assert plain.method == "dop853"


def test_simulator_starts_again_where_it_becomes_stiff():
    fast = kt.simulation.Simulator(slider(), duration=3.0, torque=damper, times=7, rtol=1e-7)
    motion = fast.run([0.0], [1.0])
    assert fast.method == "radau"
    assert motion.q == pytest.approx(braked(times=7, rtol=1e-7, method="radau").q.values, abs=1e-6)
