"""The recursive Lagrangian: against the kernels, complex steps, reference data; closed loops; counts."""

import json
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from kinetree.derivations import lagrangian
from kinetree.derivations.contract import ABILITIES, Load, counted_steps
from kinetree.derivations.homogeneous import link_matrices, paths, pseudo_inertias
from kinetree.derivations.lagrangian_recursion import forward_kinematics
from kinetree.derivations.lagrangian_sensitivity import forward_sensitivities
from kinetree.kernels.number import counting
from support import trees
from support.cases import assert_close, zoo_and_random_trees
from support.comparison import distal_load
from support.distal_dh import two_link_pr, two_link_rr
from support.each import each
from support.equal_links import chain, star
from support.on_axes import Question, assert_agreement, complex_step_slopes, reference_errors
from support.reference import read, relative_error

MECHANISMS = zoo_and_random_trees(3)
PAGE = Path(__file__).parents[2] / "docs" / "formulations" / "lagrangian.md"


@pytest.fixture(params=MECHANISMS)
def asked(request, rng):
    return Question(MECHANISMS[request.param](), rng)


# ---- against the kernels -------------------------------------------------------------------------------
def test_agrees_with_the_kernels(asked):
    assert asked.loads
    assert_agreement(lagrangian, asked)


def test_every_joint_kind_with_springs_friction_welds_and_mimics(robot, rng):
    assert_agreement(lagrangian, Question(robot, rng))


def test_forward_dynamics_undoes_inverse_dynamics(rng):
    asked = Question(trees.random_tree(rng, 7, passive=True), rng)
    q, qd, qdd = asked.axes
    tau = lagrangian.inverse_dynamics(asked.tree, q, qd, qdd, asked.loads)
    assert_close(lagrangian.forward_dynamics(asked.tree, q, qd, tau, asked.loads), qdd, 1e-10)


def test_forward_dynamics_of_a_massless_leaf_is_refused():
    robot = kt.Builder("leaf")
    robot.world.revolute("a").body("b", kt.Inertia.point(1.0, (1, 0, 0))).revolute("tip").body("c")
    with pytest.raises(kt.errors.SingularityError, match="'tip'"):
        lagrangian.forward_dynamics(robot.build().tree, *np.zeros((3, 2)))


def test_a_mechanism_that_cannot_move():
    robot = kt.Builder("post")
    robot.world.fixed("weld").body("post", kt.Inertia.point(1.0))
    tree, nothing = robot.build().tree, np.zeros(0)
    assert lagrangian.inverse_dynamics(tree, nothing, nothing, nothing).shape == (0,)
    assert [x.shape for x in lagrangian.inverse_dynamics_derivatives(tree, nothing, nothing, nothing)] == [
        (0,),
        (0, 0),
        (0, 0),
        (0, 0),
    ]


def test_it_offers_what_it_says():
    assert lagrangian.FORMULATION.can <= ABILITIES.keys()
    assert all(callable(getattr(lagrangian, name)) for name in lagrangian.FORMULATION.can)


# ---- pieces of the recursion ---------------------------------------------------------------------------
def test_link_matrices_and_their_derivatives(rng):
    """T' and so on are what a complex step of the next lower derivative gives."""
    tree = trees.random_tree(rng, 6, ("revolute", "prismatic", "spherical")).tree
    q = rng.standard_normal(tree.n)
    T = link_matrices(tree, q)
    slopes = complex_step_slopes(lambda q: link_matrices(tree, q), [q])[0]
    for order in range(3):
        for i in range(tree.n):
            assert_close(slopes[order, i, :, :, i], T[order + 1, i], 1e-14)


def test_points_move_as_the_matrices_say(rng):
    """[Xiang2009], eq. 15: A r, B r and C r are position, velocity and acceleration of a point of the
    link."""
    asked = Question(kt.zoo.random_tree(4, 8), rng)
    tree, mechanism = asked.tree, asked.mechanism
    _, A, B, C = forward_kinematics(tree, *asked.axes)
    pose = kt.forward_kinematics(mechanism, asked.state[0])
    velocity = kt.body_velocities(mechanism, *asked.state[:2])
    acceleration = kt.analysis.body_accelerations(mechanism, *asked.state)
    for k, axis in enumerate(tree.body_axis):
        r = np.append(tree.body_position[k], 1.0)
        assert_close((A[axis] @ r)[:3], pose.position[k])
        assert_close((B[axis] @ r)[:3], velocity[k, :3])
        assert_close((C[axis] @ r)[:3], acceleration[k, :3])


def test_pseudo_inertia_of_a_box():
    """Its corner is the integral of x^2 dm, m a^2 / 12 + m x^2: no moment of inertia ([Xiang2009], eq.
    47)."""
    robot = kt.Builder("box")
    robot.world.revolute("hinge").body("box", kt.Inertia.box(2.0, (0.3, 0.6, 0.9), (1.0, 2.0, 3.0)))
    (J,) = pseudo_inertias(robot.build().tree)
    own = 2.0 / 12 * np.array([0.09, 0.36, 0.81])
    r = np.array([1.0, 2.0, 3.0, 1.0])
    assert_close(J, np.diag([*own, 0.0]) + 2.0 * np.outer(r, r))


# ---- complex steps on the same code --------------------------------------------------------------------
STEPPED = {
    "turning": lambda rng: trees.random_tree(rng, 4, ("revolute", "spherical"), passive=True),
    "sliding": lambda rng: trees.random_tree(rng, 5, ("prismatic", "revolute"), branching=0.0, passive=True),
    "branched": lambda rng: trees.random_tree(rng, 5, ("cylindrical", "prismatic", "universal", "fixed")),
    "floating": lambda rng: trees.random_tree(rng, 2, ("free", "planar")),
}


@pytest.fixture(params=STEPPED)
def stepped(request, rng):
    return Question(STEPPED[request.param](rng), rng)


def test_torque_sensitivities_are_complex_steps(stepped):
    """[Xiang2009], eqs. 33-35, with several loads."""
    tree, loads = stepped.tree, stepped.loads
    expected = complex_step_slopes(lambda *x: lagrangian.inverse_dynamics(tree, *x, loads), stepped.axes)
    _, *found = lagrangian.inverse_dynamics_derivatives(tree, *stepped.axes, loads)
    for answer, slope in zip(found, expected, strict=True):
        assert_close(answer, slope, 1e-12)


def test_kinematic_sensitivities_are_complex_steps(stepped):
    """[Xiang2009], eqs. 21-26: dA, dB, dC by q, qd and qdd; zero where the axis is not on the path."""
    tree, x = stepped.tree, stepped.axes
    motion = forward_kinematics(tree, *x)
    moves = forward_sensitivities(tree, motion, x[1], x[2])
    by_q, by_qd, by_qdd = complex_step_slopes(lambda *x: np.stack(forward_kinematics(tree, *x)[1:]), x)
    A, B, C = 0, 1, 2
    pairs = [
        (moves.dA_dq, by_q[A]),
        (moves.dB_dq, by_q[B]),
        (moves.dC_dq, by_q[C]),
        (moves.dA_dq, by_qd[B]),
        (moves.dC_dqd, by_qd[C]),
        (moves.dA_dq, by_qdd[C]),
    ]
    for found, expected in pairs:
        for i, path in enumerate(paths(tree)):
            full = np.zeros((4, 4, tree.n))
            full[:, :, path] = np.moveaxis(found[i], 0, -1)
            assert_close(full, expected[i], 1e-12)


def test_mass_matrix_is_the_slope_of_torques(stepped):
    tree, (q, qd, qdd) = stepped.tree, stepped.axes
    slope = complex_step_slopes(lambda a: lagrangian.inverse_dynamics(tree, q, qd, a), [qdd])[0]
    assert_close(lagrangian.mass_matrix(tree, q), slope, 1e-12)


# ---- reference data ------------------------------------------------------------------------------------
@each("case", read("chain_sensitivity.json")["cases"], ids=lambda case: case["types"])
def test_distal_chains_with_a_load(case):
    """Sensitivities of the chains of [Barman2020] and [Xiang2009], force and moment on one link."""
    load = distal_load(case["links"], case)
    assert max(reference_errors(lagrangian, case["links"], case["gravity"], case, load)) < 1e-9


def test_two_link_arm_with_tip_load():
    for case in read("twolink_rr.json")["cases"]:
        links, gravity = two_link_rr(case["params"])
        tip = kt.Wrench("link2", (0, -case["params"]["f"], 0), point=(case["params"]["L2"], 0, 0))
        assert max(reference_errors(lagrangian, links, gravity, case, tip)) < 1e-9


def test_two_link_arm_with_slider():
    for case in read("twolink_pr.json")["cases"]:
        assert max(reference_errors(lagrangian, two_link_pr(case["params"]), case["gravity"], case)) < 1e-9


# ---- closed loops --------------------------------------------------------------------------------------
VARIANTS = {"table10.3": "table10.3", "table8.1_full_rod": "table8.1"}
FOUR_BAR = json.loads((Path(__file__).parent / "four_bar.json").read_text())["variants"]


@pytest.mark.parametrize("record", FOUR_BAR, ids=lambda record: record["name"])
def test_four_bar_mechanism_cut_open(record):
    """M qdd + h = tau + J^T lambda: with the pin's force as loads only the driven crank needs a torque."""
    four_bar = kt.zoo.four_bar(VARIANTS[record["name"]])
    samples = zip(*(record[key] for key in ("q", "qd", "qdd", "tau_drive", "lam")), strict=True)
    for q, qd, qdd, drive, (x, y) in samples:
        loads = lagrangian.cut_joint_loads(four_bar, {"crank_pin": (x, y, 0.0)})
        tau = lagrangian.inverse_dynamics(four_bar.tree, q, qd, qdd, loads)
        assert relative_error(tau, [drive, 0.0, 0.0]) < 1e-9
        unloaded = lagrangian.inverse_dynamics(four_bar.tree, q, qd, qdd)
        assert np.abs(unloaded[1:]).max() > 0.1  # the pin does carry rocker and coupler


def test_cut_joint_loads_are_jacobians_times_force_and_moment(rng):
    """J_a^T (f, h) - J_b^T (f, h), for loops in space, to welded bodies and to the world."""
    robot = kt.Builder("loops")
    first = robot.world.spherical("s1", at=(0.1, 0.2, 0.3)).body("a", trees.inertia(rng))
    tool = first.fixed("weld", at=(0.3, -0.2, 0.1), rpy=(1, 2, 3)).body("tool", trees.inertia(rng))
    other = robot.world.cylindrical("c1", at=(1, 0, 0), axis="x").body("b", trees.inertia(rng))
    robot.loop("pin", tool, other, at_a=(0.1, 0.2, 0.3), at_b=(0.4, 0.5, 0.6))
    robot.loop("anchor", other, robot.world, at_a=(0.0, 0.1, 0.0), at_b=(1.0, 2.0, 3.0))
    mechanism = robot.build()
    f, h, held = rng.standard_normal((3, 3))
    q, rest = trees.state(mechanism, rng)[0], np.zeros(mechanism.n_dof)
    loads = lagrangian.cut_joint_loads(mechanism, {"pin": f, "anchor": held}, {"pin": h})
    assert len(loads) == 3
    change = lagrangian.inverse_dynamics(mechanism.tree, q, rest, rest) - lagrangian.inverse_dynamics(
        mechanism.tree, q, rest, rest, loads
    )
    expected = kt.jacobian(mechanism, q, "tool", (0.1, 0.2, 0.3)).T @ np.append(f, h)
    expected = expected - kt.jacobian(mechanism, q, "b", (0.4, 0.5, 0.6)).T @ np.append(f, h)
    expected = expected + kt.jacobian(mechanism, q, "b", (0.0, 0.1, 0.0)).T @ np.append(held, [0, 0, 0])
    assert_close(change, expected)


@pytest.mark.parametrize(
    ("forces", "message"),
    [
        ({"crank_pim": (1, 2, 3)}, "Did you mean 'crank_pin'"),
        ({"crank_pin": (1, 2)}, r"3 components.*\(2,\)"),
    ],
)
def test_bad_cut_joint_loads_are_refused(forces, message):
    with pytest.raises(kt.errors.InputError, match=message):
        lagrangian.cut_joint_loads(kt.zoo.four_bar(), forces)


# ---- operation counts ----------------------------------------------------------------------------------
def counts(function, n, loads=()):
    """Multiplications and additions by step, for a general chain of n hinges."""
    state = [counting(np.linspace(0.1, 1.0, n) + 0.1 * k) for k in range(3)]
    with counted_steps() as counted:
        function(chain(n).tree, *state, loads)
    return {name: np.array([c["multiplications"], c["additions"]]) for name, c in counted.steps.items()}


def test_torques_cost_less_than_the_literature_and_grow_linearly():
    """(830 n - 592) M (675 n - 464) A for the 4x4 form of Hollerbach, 1980."""
    table = {n: counts(lagrangian.inverse_dynamics, n) for n in (2, 3, 4, 8)}
    assert set(table[2]) == {"forward kinematics", "backward dynamics"}
    for name in table[2]:
        assert ((table[4][name] - table[3][name]) * 4 == table[8][name] - table[4][name]).all()
    for n, steps in table.items():
        assert (sum(steps.values()) <= np.array([830 * n - 592, 675 * n - 464])).all()


def test_sensitivities_grow_quadratically():
    lengths = (3, 4, 5, 6, 7)
    table = [counts(lagrangian.inverse_dynamics_derivatives, n) for n in lengths]
    for name in ("forward sensitivities", "backward sensitivities"):
        operations = np.array([steps[name] for steps in table])
        assert (np.diff(operations, 2, axis=0) > 0).all()
        assert (np.diff(operations, 3, axis=0) == 0).all()


def test_sensitivities_of_a_star_grow_linearly():
    """Axes on different branches have nothing to do with each other."""

    def multiplications(n):
        state = [counting(np.linspace(0.1, 1.0, n))] * 3
        with counted_steps() as counted:
            lagrangian.inverse_dynamics_derivatives(star(n).tree, *state)
        return counted.total["multiplications"]

    assert multiplications(6) - multiplications(4) == multiplications(4) - multiplications(2)


def test_loads_cost_extra_and_only_when_given():
    load = Load(4, (1.0, 2.0, 3.0), (0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    plain, loaded = (counts(lagrangian.inverse_dynamics, 5, x)["backward dynamics"] for x in ((), (load,)))
    assert (loaded > plain).all()


def test_counting_numbers_compute():
    tree = chain(3).tree
    state = np.array([[0.1, 0.2, 0.3], [1.0, -2.0, 0.5], [0.3, 0.2, 0.1]])
    found = lagrangian.inverse_dynamics_derivatives(tree, *counting(state))
    expected = lagrangian.inverse_dynamics_derivatives(tree, *state)
    for answer, number in zip(found, expected, strict=True):
        assert_close(np.vectorize(float)(answer), number, 1e-14)
