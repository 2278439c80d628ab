"""Mimic joints, and laws in Python: components of the compiled right-hand side."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.control import PD, PID, ComputedTorque
from kinetree.dynamics.coupling import all_axes, all_rates
from kinetree.model.variants import without_parameters
from kinetree.simulation.settings import Settings, read_options
from kinetree.simulation.setup import new_system, surroundings
from kinetree.simulation.torque import read_law


def hand(mimic=True, **joint):
    """An arm with two fingers; the second does what the first does, mirrored and a little more."""
    build = kt.Builder("hand")
    arm = build.world.revolute("arm", axis="y", **joint).body("arm", kt.Inertia.box(2.0, (0.5, 0.1, 0.1)))
    left = arm.revolute("left", axis="z", at=(0.5, 0.05, 0))
    left.body("left", kt.Inertia.box(0.3, (0.2, 0.02, 0.02))).contact("tip", at=(0.2, 0, 0))
    follow = {"mimic": kt.model.Mimic("left", -1.5, 0.1)} if mimic else {}
    right = arm.revolute("right", axis="z", at=(0.5, -0.05, 0), viscous=0.02, **follow)
    right.body("right", kt.Inertia.box(0.3, (0.2, 0.02, 0.02)))
    return build.build()


HAND, OPEN = hand(), hand(mimic=False)
START = np.array([-0.3, 0.2])


def accelerations(t, y):
    """The coupled motion by a projection of the open mechanism: q = C x + c, C^T (M C xdd + h) = 0."""
    C, c = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, -1.5]]), np.array([0.0, 0.0, 0.1])
    q, qd = C @ y[:2] + c, C @ y[2:]
    M, h = kt.mass_matrix(OPEN, q), kt.bias_torque(OPEN, q, qd)
    return np.concatenate([y[2:], np.linalg.solve(C.T @ M @ C, -C.T @ h)])


def test_mimic_joints_move_as_the_projected_mechanism():
    from scipy.integrate import solve_ivp

    run = kt.simulate(HAND, START, [0.5, 2.0], duration=0.5, times=6, rtol=1e-10)
    exact = solve_ivp(
        accelerations, (0, 0.5), [*START, 0.5, 2.0], t_eval=run.time.values, rtol=1e-11, atol=1e-11
    )
    assert run.q.values == pytest.approx(exact.y[:2].T, abs=1e-8)
    assert run.audit["energy_balance"].value < 1e-8
    assert run.joint_work.values[-1] < -1e-3  # friction of the follower


@pytest.mark.parametrize("method", ["dop853", "radau", "rk4"])
def test_every_method_integrates_it(method):
    step = {"step": 2e-3} if method == "rk4" else {}
    run = kt.simulate(HAND, START, duration=0.2, times=3, method=method, rtol=1e-8, **step)
    best = kt.simulate(HAND, START, duration=0.2, times=3, rtol=1e-10)
    assert run.q.values == pytest.approx(best.q.values, abs=1e-6)


def system_of(mechanism, law=None, ground=None, loads=(), stops=None):
    options = read_options(Settings(method="dop853", friction_speed=SLOW), 1.0)
    return new_system(mechanism, read_law(mechanism, None, law), surroundings(ground, loads, stops), options)


SLOW = 1e-3


def plain_rates(system, ground, stops, y):
    """The rates of a state by the functions of `analysis` and plain formulas, and the law's torques zero."""
    robot, tree, at = system.mechanism, system.mechanism.tree, system.at
    q, qd = y[at.q], y[at.qd]
    touch = kt.simulation.contact_forces(robot, ground, q, qd)
    wrenches = [*system.loads.at(0.0), *touch.wrenches(robot)]
    x, v = all_axes(tree, q), all_rates(tree, qd)
    force = -(tree.coulomb + tree.coulomb_bias * np.sign(v)) * np.clip(v / SLOW, -1.0, 1.0)
    bounded = np.isfinite(tree.lower) & np.isfinite(tree.upper)
    beyond, short = x - tree.upper, tree.lower - x
    k, c = stops.stiffness, stops.damping
    force = force - np.where(bounded & (beyond > 0), np.maximum(0, k * beyond + c * v), 0.0)
    force = force + np.where(bounded & (short > 0), np.maximum(0, k * short - c * v), 0.0)
    lost = force @ v - tree.viscous @ v**2
    resistance = force if tree.coupling is None else force @ tree.coupling.matrix
    smooth = without_parameters(robot, "coulomb") if tree.coulomb.any() else robot
    qdd = kt.forward_dynamics(smooth, q, qd, resistance, wrenches)
    frame = np.stack(ground.frame(robot))
    powers = [0.0, (touch.force * (touch.velocity @ frame)).sum(), lost, load_power(system, q, qd)]
    return np.concatenate([qd, qdd, powers]), touch


def load_power(system, q, qd):
    robot, power = system.mechanism, 0.0
    poses, twists = kt.forward_kinematics(robot, q), kt.body_velocities(robot, q, qd)
    for load in system.loads.at(0.0):
        k = robot.body_index(load.body)
        R, v, w = poses.rotation[k], twists[k, :3], twists[k, 3:]
        F, M = np.asarray(load.force), np.asarray(load.moment)
        if load.frame == "body":
            F, M = R @ F, R @ M
        power += F @ (v + np.cross(w, R @ np.asarray(load.point))) + M @ w
    return power


def robot(mimic=False):
    build = kt.Builder("robot")
    base = build.world.free("float").body("base", kt.Inertia.box(3.0, (0.4, 0.3, 0.2)))
    base.contact("corner", at=(0.2, 0.1, -0.1))
    joint = {"lower": -0.2, "upper": 0.2, "stiffness": 5.0, "viscous": 0.3, "coulomb": 0.4}
    joint["coulomb_reverse"] = 0.7
    leg = base.revolute("hip", axis="y", at=(0, 0.1, 0), armature=0.02, **joint)
    leg = leg.body("leg", kt.Inertia.box(1.0, (0.1, 0.1, 0.5))).contact("foot", at=(0, 0, -0.3))
    if mimic:
        follow = {"mimic": kt.model.Mimic("hip", -1.5, 0.1)}
        toe = base.revolute("tail", axis="x", at=(-0.2, 0, 0), armature=0.01, **joint, **follow)
        toe.body("tail", kt.Inertia.box(0.5, (0.3, 0.1, 0.1))).contact("tip", at=(-0.1, 0, -0.2))
    return build.build()


@pytest.mark.parametrize("mimic", [False, True])
def test_it_agrees_with_plain_formulas(rng, mimic):
    """Every force on a robot: ground, loads, stops, springs, dry friction, powers, events."""
    loads = [
        kt.Wrench("leg", force=(1.0, 2.0, 3.0), moment=(0.1, 0.0, 0.2), point=(0.1, 0, 0)),
        kt.Wrench("base", force=(1.0, -2.0, 0.5), moment=(0.0, 0.3, 0.1), frame="body"),
    ]
    ground, stops = kt.Ground(origin=(0, 0, 0.1)), kt.simulation.Stops()
    system = system_of(robot(mimic), None, ground, loads, stops)
    called = system_of(robot(mimic), lambda t, q, qd: 0.0 * q, ground, loads, stops)
    tree, points = system.parts.tree, len(system.contact_names)
    for _ in range(10):
        y = np.concatenate([0.4 * rng.standard_normal(7), rng.standard_normal(7), np.zeros(4)])
        y[13] *= rng.choice([1.0, 1e-4])  # within the slope of dry friction as well
        dy, touch = plain_rates(system, ground, stops, y)
        seen = system.observe(np.zeros(1), np.array([[y]]))
        depth, arm = touch.penetration[:, None], touch.position - touch.center
        contact = np.concatenate([touch.force, depth, touch.velocity, arm], axis=-1)
        assert seen.contact[0, 0] == pytest.approx(contact, rel=1e-9, abs=1e-9)
        assert rates(system, y) == pytest.approx(dy, rel=1e-9, abs=1e-9)
        assert rates(called, y) == pytest.approx(dy, rel=1e-9, abs=1e-9)
        g, x = numbers(system, "events", y), all_axes(tree, y[:7])
        assert g[:points] == pytest.approx(touch.height, abs=1e-12)
        limits = np.concatenate([tree.upper - x, x - tree.lower])
        told = g[4 * points : 4 * points + 2 * tree.n]
        assert told[np.isfinite(limits)] == pytest.approx(limits[np.isfinite(limits)], abs=1e-12)


def rates(system, y):
    return numbers(system, "rates", y)


def numbers(system, name, y):
    from kinetree.simulation.system import RATES

    answer = np.zeros(system.size if name == "rates" else system.n_events)
    state = np.array(y)
    pointers = state.ctypes.data, answer.ctypes.data, system.context.memory.ctypes.data
    assert RATES(system.address(name))(0.0, *pointers) == 0
    return answer


class Called(kt.control.Controller):
    """A controller of the user's own: what another one does, in Python."""

    def __init__(self, law):
        object.__setattr__(self, "inner", law)
        object.__setattr__(self, "limits", law.limits)
        object.__setattr__(self, "period", law.period)
        object.__setattr__(self, "_recipe", law._recipe)
        object.__setattr__(self, "_last", [])

    def _checked_recipe(self):
        return self.inner._recipe

    def runs_compiled(self, mechanism):
        return False

    def settings(self):
        return {"controller": "Called"}


GOAL = np.zeros(12)
LAWS = {
    "PD": lambda: PD(GOAL, 60.0, 3.0),
    "limited PID": lambda: PID(GOAL, 60.0, 3.0, 20.0, limits=15.0),
    "sampled PD": lambda: PD(GOAL, 60.0, 3.0, period=0.01),
    "computed torque": lambda: ComputedTorque(GOAL, 100.0),
}


@pytest.mark.parametrize("kind", LAWS)
def test_a_law_in_python_moves_as_the_compiled_one(kind):
    """Ground, stops, events, held contact, samples and integrals: the same, digit by digit or nearly so."""
    quadruped, q0 = kt.zoo.quadruped(), np.zeros(18)
    q0[2] = 0.55
    options = {
        "duration": 0.25,
        "ground": kt.Ground(kt.simulation.Soil(stiffness=2e4, damping=300.0)),
        "stops": kt.simulation.Stops(),
        "rtol": 1e-7,
        "times": 26,
        "method": "dopri5",
    }
    compiled = kt.simulate(quadruped, q0, controller=LAWS[kind](), **options)
    called = kt.simulate(quadruped, q0, controller=Called(LAWS[kind]()), **options)
    assert compiled.touching.values.any()
    assert called.q.values == pytest.approx(compiled.q.values, abs=1e-6)
    assert called.tau.values == pytest.approx(compiled.tau.values, abs=1e-3)
    assert [(e.kind, e.name) for e in called.events] == [(e.kind, e.name) for e in compiled.events]
    assert [e.time for e in called.events] == pytest.approx([e.time for e in compiled.events], abs=1e-5)
    assert called.audit["energy_balance"].passed == compiled.audit["energy_balance"].passed


# ---- laws -----------------------------------------------------------------------------------------------
def test_torques_of_all_kinds_drive_it():
    tau = np.array([3.0, 0.2])
    ways = [tau, lambda t, q, qd: tau, ([0.0, 1.0], np.tile(tau, (2, 1)))]
    ends = [kt.simulate(HAND, START, duration=0.3, torque=x, times=2).q.values[-1] for x in ways]
    assert ends[1] == pytest.approx(ends[0], abs=1e-9) and ends[2] == pytest.approx(ends[0], abs=1e-9)
    batch = kt.simulation.simulate_batch(HAND, [START, START], duration=0.3, torque=[tau, 0 * tau], times=2)
    assert batch.q.values[0, -1] == pytest.approx(ends[0], abs=1e-9)
    assert kt.simulation.Simulator(HAND, 0.3, torque=tau, times=2).run(START).q[-1] == pytest.approx(
        ends[0], abs=1e-9
    )


def test_integral_removes_the_offset():
    held = {
        kind: kt.simulate(HAND, START, duration=10.0, controller=law, times=201, rtol=1e-6, method="radau")
        for kind, law in {"PD": PD(START, 40.0, 8.0), "PID": PID(START, 40.0, 8.0, 60.0)}.items()
    }
    assert np.abs(held["PD"].q.values[-1] - START).max() > 0.01
    assert np.abs(held["PID"].q.values[-1] - START).max() < 1e-4


def test_computed_torque_has_its_linear_error():
    goal = START + 0.1
    run = kt.simulate(HAND, START, duration=0.5, controller=ComputedTorque(goal, 49.0), times=6)
    t = run.time.values[:, None]
    assert goal - run.q.values == pytest.approx(0.1 * (1 + 7 * t) * np.exp(-7 * t) + 0 * goal, abs=1e-7)


def test_sampled_torques_are_held():
    law = PD(START, 40.0, 8.0, period=0.05)
    with pytest.warns(
        kt.simulation.VerdictWarning, match="joint 'left' does not follow"
    ):  # so slow a law is none
        run = kt.simulate(HAND, START, duration=0.2, controller=law, times=21)
    change = np.flatnonzero(np.abs(np.diff(run.tau.values[:, 0])) > 1e-12) + 1
    assert run.time.values[change] == pytest.approx([0.05, 0.10, 0.15])
    assert run.tau.values[5] == pytest.approx(
        PD(START, 40.0, 8.0).torque(HAND, 0.05, run.q.values[5], run.qd.values[5]), abs=1e-6
    )


def test_springs_on_a_floating_base_are_known_to_the_controller():
    """Computed torque with a spring on the base cannot run compiled; its errors still follow the law."""
    build = kt.Builder("moored")
    base = build.world.free("float", stiffness=[30.0] * 6).body("base", kt.Inertia.sphere(3.0, 0.2))
    base.contact("keel", at=(0, 0, -0.2))
    base.revolute("arm", axis="y").body("arm", kt.Inertia.box(1.0, (0.5, 0.1, 0.1)))
    moored = build.build()
    law = ComputedTorque([0.2], 49.0)
    assert not law.runs_compiled(moored)
    run = kt.simulate(
        moored,
        np.zeros(7),
        duration=0.4,
        controller=law,
        ground=kt.Ground(origin=(0, 0, -0.25)),
        rtol=1e-8,
        times=9,
    )
    t = run.time.values
    assert run.touching.values.any()
    assert 0.2 - run.q.values[:, 6] == pytest.approx(0.2 * (1 + 7 * t) * np.exp(-7 * t), abs=1e-6)


# ---- contact, stops, trouble ----------------------------------------------------------------------------
def test_mimic_joints_meet_ground_and_stops():
    ground = kt.Ground(kt.simulation.Soil(stiffness=2e3, damping=20.0), origin=(0, 0, -0.3))
    run = kt.simulate(HAND, [0.0, 0.0], duration=0.3, ground=ground, rtol=1e-5)
    kinds = [event.kind for event in run.events]
    assert "touch_down" in kinds
    assert run.audit["energy_balance"].passed and 0.0 < run.penetration.values.max() < 0.1
    free = kt.simulate(HAND, [0.0, 0.0], duration=0.3, rtol=1e-5)
    assert free.q.values[-1, 0] > run.q.values[-1, 0] + 0.05
    limited = hand(lower=-0.5, upper=0.2)
    stopped = kt.simulate(limited, [0.0, 0.0], duration=0.3, stops=kt.simulation.Stops(500.0, 5.0), rtol=1e-5)
    assert stopped.q.values[:, 0].max() < 0.25
    assert "joint_limit_upper" in [event.kind for event in stopped.events]


def test_errors_of_laws_name_joint_and_time():
    with pytest.raises(kt.errors.SimulationError, match="joint 'left' at t = 0") as failed:
        kt.simulate(HAND, START, duration=0.1, torque=lambda t, q, qd: [0.0, np.nan if t > 0.05 else 0.0])
    assert len(failed.value.result.time) > 1
    with pytest.raises(kt.errors.InputError, match="unknown body"):
        kt.simulate(HAND, START, loads=kt.Wrench("nose", force=(1, 0, 0)))
