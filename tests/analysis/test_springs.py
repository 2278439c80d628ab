"""Springs and dampers between bodies in all dynamics: against free bodies, energy and differences."""

import contextlib
import itertools
from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from kinetree.algebra import memory
from kinetree.dynamics.springs import spring_slopes
from kinetree.errors import ModelError
from support.derivatives import differences
from support.each import each
from support.oracle import free_bodies

DIFFERENCES = 1e-7


def sprung(seed):
    """A random tree with springs between random bodies, the world among them."""
    rng = np.random.default_rng(seed)
    tree = kt.zoo.random_tree(seed, 6, kinds=("revolute", "prismatic", "spherical", "fixed"))
    names = ["world", *tree.body_names]
    springs = []
    for k in range(4):
        a, b = rng.choice(len(names), 2, replace=False)
        ends = rng.normal(scale=0.3, size=(2, 3))
        springs.append(kt.Spring(f"s{k}", names[a], names[b], *ends, *(rng.random(3) * (80, 9, 0.3))))
    return replace(tree, springs=tuple(springs))


@pytest.fixture(params=range(3))
def robot(request):
    return sprung(request.param)


@pytest.fixture
def state(robot):
    found = kt.random_state(robot, np.random.default_rng(7))
    return found.q, found.qd, found.qdd


def oracle_loads(robot, state):
    """The springs' forces from poses and velocities of free bodies alone."""
    bare = replace(robot, springs=())
    found = free_bodies(bare, *state)
    place = {"world": (np.eye(4), np.zeros(6))}
    for k, name in enumerate(robot.body_names):
        place[name] = found.poses[k], found.velocities[k]
    loads = []
    for spring in robot.springs:
        x, v = [], []
        for body, point in ((spring.body_a, spring.point_a), (spring.body_b, spring.point_b)):
            pose, twist = place[body]
            r = pose[:3, :3] @ point
            x.append(pose[:3, 3] + r)
            v.append(twist[:3] + np.cross(twist[3:], r))
        D, length = x[1] - x[0], np.linalg.norm(x[1] - x[0])
        pull = spring.stiffness * (length - spring.rest)
        pull += spring.damping * (D @ (v[1] - v[0])) / length
        for body, point, sign in ((spring.body_a, spring.point_a, 1), (spring.body_b, spring.point_b, -1)):
            if body != "world":
                loads.append(kt.Wrench(body, sign * pull * D / length, point=point))
    return bare, loads


def test_torques_and_reactions_are_those_of_free_bodies(robot, state):
    bare, loads = oracle_loads(robot, state)
    found = free_bodies(bare, *state, loads)
    scale = np.abs(found.tau).max()
    np.testing.assert_allclose(kt.inverse_dynamics(robot, *state), found.tau, atol=1e-11 * scale)
    np.testing.assert_allclose(
        kt.joint_reactions(robot, *state), found.reactions, atol=1e-11 * np.abs(found.reactions).max()
    )
    qdd = kt.forward_dynamics(robot, state[0], state[1], found.tau)
    np.testing.assert_allclose(qdd, state[2], atol=1e-8 * np.abs(state[2]).max())


def test_other_formulations_agree(robot, state):
    tau = kt.inverse_dynamics(robot, *state)
    for name in ("newton_euler", "lagrangian"):
        np.testing.assert_allclose(kt.inverse_dynamics(robot, *state, formulation=name), tau, rtol=1e-9)


def test_springs_are_potential_energy(robot, state):
    q = state[0]
    stiff = replace(robot, springs=tuple(replace(x, damping=0.0) for x in robot.springs))
    bare = replace(robot, springs=())
    still = np.zeros_like(q)
    slope = differences(lambda x: kt.potential_energy(stiff, x) - kt.potential_energy(bare, x), q)
    extra = kt.bias_torque(stiff, q, still) - kt.bias_torque(bare, q, still)
    np.testing.assert_allclose(extra, slope, atol=DIFFERENCES * np.abs(slope).max())
    np.testing.assert_allclose(kt.gravity_torque(stiff, q), kt.gravity_torque(bare, q), atol=1e-12)


def test_first_derivatives_are_those_of_differences(robot, state):
    q, qd, qdd = state
    d = kt.inverse_dynamics_derivatives(robot, q, qd, qdd)
    assert_slope(d.dtau_dq, differences(lambda x: kt.inverse_dynamics(robot, x, qd, qdd), q))
    assert_slope(d.dtau_dqd, differences(lambda x: kt.inverse_dynamics(robot, q, x, qdd), qd))
    tau = d.tau
    f = kt.forward_dynamics_derivatives(robot, q, qd, tau)
    assert_slope(f.dqdd_dqd, differences(lambda x: kt.forward_dynamics(robot, q, x, tau), qd))
    np.testing.assert_allclose(f.dqdd_dq, -f.dqdd_dtau @ d.dtau_dq, atol=1e-8 * np.abs(f.dqdd_dq).max())
    r = kt.analysis.joint_reaction_derivatives(robot, q, qd, qdd)
    assert_slope(r.dreaction_dq, differences(lambda x: kt.joint_reactions(robot, x, qd, qdd), q))
    assert_slope(r.dreaction_dqd, differences(lambda x: kt.joint_reactions(robot, q, x, qdd), qd))


def test_second_derivatives_are_those_of_differences(robot, state):
    q, qd, qdd = state
    y = np.random.default_rng(3).normal(size=len(q))

    def gradient(q, qd):
        d = kt.inverse_dynamics_derivatives(robot, q, qd, qdd)
        return np.einsum("i,...ik->...k", y, d.dtau_dq)

    found = kt.analysis.torque_hessian(robot, q, qd, qdd, y)
    np.testing.assert_allclose(found.dq, gradient(q, qd), rtol=1e-9, atol=1e-9)
    assert_slope(found.q_q, differences(lambda x: gradient(x, qd), q))
    assert_slope(found.q_qd, differences(lambda x: gradient(q, x), qd))


@pytest.mark.parametrize("alone", [True, False], ids=["dampers of turning alone", "beside springs"])
def test_dampers_of_turning_have_the_slopes_of_differences(robot, state, alone):
    """Inverse, forward dynamics and reactions by differences; the power is -c w.w of free bodies."""
    q, qd, qdd = state
    coefficient = 0.7
    rest = {"stiffness": 0.0, "damping": 0.0} if alone else {}
    given = tuple(replace(x, turn_damping=coefficient, **rest) for x in robot.springs)
    damped = replace(robot, springs=given)
    without = replace(robot, springs=() if alone else robot.springs)
    w = dict(zip(robot.body_names, kt.body_velocities(robot, q, qd)[:, 3:], strict=True))
    w["world"] = np.zeros(3)
    loss = coefficient * sum(np.sum((w[x.body_b] - w[x.body_a]) ** 2) for x in given)
    extra = kt.inverse_dynamics(damped, q, qd, qdd) - kt.inverse_dynamics(without, q, qd, qdd)
    assert loss > 0.1 and qd @ extra == pytest.approx(loss, rel=1e-9)
    d = kt.inverse_dynamics_derivatives(damped, q, qd, qdd)
    assert_slope(d.dtau_dq, differences(lambda x: kt.inverse_dynamics(damped, x, qd, qdd), q))
    assert_slope(d.dtau_dqd, differences(lambda x: kt.inverse_dynamics(damped, q, x, qdd), qd))
    f = kt.forward_dynamics_derivatives(damped, q, qd, d.tau)
    assert_slope(f.dqdd_dq, differences(lambda x: kt.forward_dynamics(damped, x, qd, d.tau), q))
    assert_slope(f.dqdd_dqd, differences(lambda x: kt.forward_dynamics(damped, q, x, d.tau), qd))
    r = kt.analysis.joint_reaction_derivatives(damped, q, qd, qdd)
    assert_slope(r.dreaction_dq, differences(lambda x: kt.joint_reactions(damped, x, qd, qdd), q))
    assert_slope(r.dreaction_dqd, differences(lambda x: kt.joint_reactions(damped, q, x, qdd), qd))


def assert_slope(found, expected):
    np.testing.assert_allclose(found, expected, atol=DIFFERENCES * max(1.0, np.abs(expected).max()))


def test_batches_and_wrenches_are_taken_together(robot):
    s = kt.random_state(robot, np.random.default_rng(1), batch=(2, 3))
    load = kt.Wrench(robot.body_names[-1], (1.0, 2.0, 3.0))
    tau = kt.inverse_dynamics(robot, s.q, s.qd, s.qdd, load)
    one = kt.inverse_dynamics(robot, s.q[1, 2], s.qd[1, 2], s.qdd[1, 2], load)
    np.testing.assert_allclose(tau[1, 2], one, rtol=1e-12)
    array = np.zeros((robot.n_bodies, 6))
    array[-1, :3] = 1.0, 2.0, 3.0
    np.testing.assert_allclose(
        kt.joint_reactions(robot, s.q, s.qd, s.qdd, array), kt.joint_reactions(robot, s.q, s.qd, s.qdd, load)
    )
    d = kt.inverse_dynamics_derivatives(robot, s.q[1, 2], s.qd[1, 2], s.qdd, load)
    np.testing.assert_allclose(d.tau[1, 2], one, rtol=1e-12)


def test_a_floating_base_feels_springs():
    build = kt.Builder("pair", gravity=(0, 0, 0))
    base = build.world.free("base").body("trunk", kt.Inertia.box(2.0, (0.3, 0.2, 0.1)))
    base.revolute("hip", axis="y").body("leg", kt.Inertia.rod(1.0, end=(0, 0, -0.4)))
    build.spring("bow", "trunk", "leg", (0.1, 0, 0), (0, 0, -0.2), stiffness=30.0, rest=0.1)
    build.spring("tether", "world", "trunk", stiffness=5.0, damping=1.0)
    robot = build.build()
    s = kt.random_state(robot, np.random.default_rng(0))
    base, tau = kt.analysis.floating_base_inverse_dynamics(robot, s.q, s.qd, s.qdd[6:])
    whole = kt.inverse_dynamics(robot, s.q, s.qd, np.concatenate([base, s.qdd[6:]]))
    np.testing.assert_allclose(whole, np.concatenate([np.zeros(6), tau]), atol=1e-11)


def test_points_that_meet_make_no_nan():
    build = kt.Builder("slide", gravity=(0, 0, 0))
    body = build.world.prismatic("rail", axis="x").body("block", kt.Inertia.point(2.0))
    build.spring("tied", "world", body, stiffness=50.0, damping=3.0)
    build.spring("pushed", "world", body, stiffness=50.0, rest=0.2)
    robot = build.build()
    zero = [0.0]
    assert kt.inverse_dynamics(robot, zero, zero, zero).tolist() == [0.0]
    d = kt.inverse_dynamics_derivatives(robot, zero, zero, zero)
    assert np.isfinite(d.matrices).all()
    h = kt.analysis.torque_hessian(robot, zero, zero, zero, [1.0])
    assert np.isfinite(h.full).all()
    assert kt.inverse_dynamics(robot, [0.1], zero, zero).round(12).tolist() == [50 * 0.1 - 50 * 0.1]


@pytest.mark.parametrize(
    "change, said",
    [
        ({"stiffness": -1.0}, "stiffness must be >= 0"),
        ({"damping": float("nan")}, "damping must be finite"),
        ({"rest": -0.1}, "rest must be >= 0"),
        ({"stiffness": 0.0}, "neither stiffness"),
        ({"at_a": (0, 0)}, "point_a"),
        ({"b": "world"}, "connects body 'world' to itself"),
        ({"b": "blok"}, "unknown body 'blok'"),
    ],
)
def test_wrong_springs_are_refused(change, said):
    build = kt.Builder("slide")
    build.world.prismatic("rail").body("block", kt.Inertia.point(1.0))
    with pytest.raises(ModelError, match=said):
        build.spring(**{"name": "s", "a": "world", "b": "block", "stiffness": 1.0} | change)
        build.build()


def test_two_springs_of_one_name_are_refused():
    build = kt.Builder("slide")
    build.world.prismatic("rail").body("block", kt.Inertia.point(1.0))
    for _ in range(2):
        build.spring("s", "world", "block", stiffness=1.0)
    with pytest.raises(ModelError, match="more than one spring is called 's'"):
        build.build()


LARGE = {"point_b": [1e60, 0, 0], "rest": 1e60, "damping": 1e60, "stiffness": 1e60}
QUESTIONS = {
    "inverse_dynamics": lambda m, q, qd: kt.inverse_dynamics(m, q, qd, qd),
    "forward_dynamics": lambda m, q, qd: kt.forward_dynamics(m, q, qd, qd),
    "bias_torque": kt.bias_torque,
    "gravity_torque": lambda m, q, qd: kt.gravity_torque(m, q),
    "potential_energy": lambda m, q, qd: kt.potential_energy(m, q),
    "kinetic_energy": kt.kinetic_energy,
    "joint_reactions": lambda m, q, qd: kt.joint_reactions(m, q, qd, qd),
    "inverse_dynamics_derivatives": lambda m, q, qd: kt.inverse_dynamics_derivatives(m, q, qd, qd),
    "forward_dynamics_derivatives": lambda m, q, qd: kt.forward_dynamics_derivatives(m, q, qd, qd),
    "reaction derivatives": lambda m, q, qd: kt.analysis.joint_reaction_derivatives(m, q, qd, qd),
    "hessian": lambda m, q, qd: kt.analysis.torque_hessian(m, q, qd, qd, weight=[1.0, 1.0]),
    "mass_matrix": lambda m, q, qd: kt.mass_matrix(m, q),
    "momentum": kt.momentum,
}


@each("name", QUESTIONS)
@each("key", LARGE)
def test_answers_are_finite_or_refused(name, key):
    """With the largest springs that there can be, and with rates whose squares are no numbers."""
    soft = {"point_a": (0, 0.3, 0), "point_b": (0.2, 0, 0), "stiffness": 1.0, "damping": 1.0}
    spring = kt.Spring("s", "world", "link2", **(soft | {key: LARGE[key]}))
    robot = replace(kt.zoo.two_link(), springs=(spring,))
    for rate, batch in itertools.product((0.0, 1.0, 1e200), ((), (7,))):
        q, qd = np.full((*batch, 2), 0.3), np.full((*batch, 2), rate)
        with contextlib.suppress(kt.KinetreeError), np.errstate(all="ignore"):
            found = QUESTIONS[name](robot, q, qd)
            is_plain = isinstance(found, float | np.ndarray)
            parts = [found] if is_plain else [getattr(found, x) for x in dir(found) if x[0] != "_"]
            for part in parts:
                assert np.isfinite(np.asarray(part, dtype=float)).all()


@pytest.mark.parametrize("key", [*LARGE, "point_a", "turn_damping"])
def test_springs_larger_than_any_are_refused(key):
    value = [0, -1e308, 0] if key.startswith("point") else 1e308
    with pytest.raises(kt.errors.ModelError, match=rf"spring 's': {key} must be at most 1e\+60"):
        kt.Spring("s", "world", "link2", **({"stiffness": 1.0} | {key: value}))


def test_forces_of_many_springs_need_no_memory_for_their_second_derivatives(monkeypatch):
    n = 60
    chain = kt.Builder("chain")
    end = chain.world
    for k in range(n):
        end = end.revolute(f"j{k}", axis="y", at=(0.1, 0, 0)).body(
            f"b{k}", kt.Inertia.point(0.1, (0.05, 0, 0))
        )
    for k in range(n - 1):
        chain.spring(f"s{k}", f"b{k}", f"b{n - 1}", stiffness=5.0, rest=0.02, damping=0.1)
    mechanism = chain.build()
    q, qd = np.random.default_rng(4).normal(scale=0.1, size=(2, n))
    still = np.zeros(n)
    expected = kt.inverse_dynamics(mechanism, q, qd, still)
    monkeypatch.setattr(memory, "SMALL", 1000)
    monkeypatch.setattr(memory, "available_bytes", lambda: 8 * n**2 * (n - 2))
    assert np.array_equal(kt.inverse_dynamics(mechanism, q, qd, still), expected)
    with pytest.raises(
        kt.errors.SizeError, match=f"second derivatives of springs needs .*{n - 1} x {n} x {n}"
    ):
        spring_slopes(mechanism.tree, q, qd)
