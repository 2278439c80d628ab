"""Mass matrix, forward dynamics and simulation from inverse dynamics alone ([NCTU], section 6.4)."""

from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from kinetree.derivations import closed_form, lagrangian, newton_euler, spatial, walker_orin
from kinetree.derivations.contract import ABILITIES, counted_steps
from kinetree.kernels.number import counting
from support import trees
from support.cases import assert_close, zoo_and_random_trees
from support.each import each
from support.on_axes import Question, complex_step_slopes
from support.reference import read

MECHANISMS = zoo_and_random_trees(3)
INVERSE = {
    "default": walker_orin.newton_euler,
    "spatial": spatial.inverse_dynamics,
    "newton_euler": newton_euler.inverse_dynamics,
    "lagrangian": lagrangian.inverse_dynamics,
    "closed_form": closed_form.inverse_dynamics,
}
PAGE = Path(__file__).parents[2] / "docs" / "formulations" / "walker_orin.md"


@each("name", MECHANISMS)
def test_agrees_with_the_kernels(name, rng):
    asked = Question(MECHANISMS[name](), rng)
    q, qd, _ = asked.axes
    bias = kt.bias_torque(asked.mechanism, *asked.state[:2], asked.wrenches)
    assert_close(walker_orin.mass_matrix(asked.tree, q), kt.mass_matrix(asked.mechanism, q), 1e-12)
    assert_close(walker_orin.bias_torque(asked.tree, q, qd, asked.loads), bias, 1e-12)


def test_springs_friction_armature_welds_and_mimics(robot, rng):
    asked = Question(robot, rng)
    q, qd, _ = asked.axes
    M = asked.at_joints(walker_orin.mass_matrix(asked.tree, q))
    bias = asked.at_joints(walker_orin.bias_torque(asked.tree, q, qd, asked.loads))
    assert_close(M, kt.mass_matrix(robot, asked.state[0]), 1e-12)
    assert_close(bias, kt.bias_torque(robot, *asked.state[:2], asked.wrenches), 1e-12)


@pytest.mark.parametrize("name", INVERSE)
def test_any_inverse_dynamics_will_do(name, rng):
    asked = Question(trees.random_tree(rng, 4, ("revolute", "prismatic", "universal"), passive=True), rng)
    (q, qd, _), tau = asked.axes, rng.standard_normal(asked.tree.n)
    expected = kt.forward_dynamics(asked.mechanism, q, qd, tau, asked.wrenches)
    found = walker_orin.forward_dynamics(asked.tree, q, qd, tau, asked.loads, INVERSE[name])
    assert_close(found, expected, 1e-10)


def test_the_tree_is_asked_without_gravity_velocity_springs_and_loads(rng):
    """Step 2, with n questions; step 1 with one."""
    tree, questions = trees.random_tree(rng, 4, passive=True).tree, []

    def spy(*question):
        questions.append(question)
        return walker_orin.newton_euler(*question)

    walker_orin.forward_dynamics(tree, *np.ones((3, tree.n)), (), spy)
    assert len(questions) == tree.n + 1
    assert questions[0][0] is tree
    units = [question[3] for question in questions[1:]]
    assert np.array_equal(units, np.eye(tree.n))
    for asked, _, qd, _, loads in questions[1:]:
        assert not asked.gravity.any() and not asked.stiffness.any() and not np.any(qd) and not loads
        assert np.array_equal(asked.armature, tree.armature)
    assert tree.gravity.any() and tree.stiffness.any()


def test_derivatives_of_the_mass_matrix_by_complex_step(rng):
    """The default runs on complex numbers too: dM_ik/dq_m is symmetric in i, k and gives Coriolis terms."""
    tree = trees.random_tree(rng, 3, ("revolute", "prismatic", "universal")).tree
    q = rng.standard_normal(tree.n)
    dM = complex_step_slopes(lambda q: walker_orin.mass_matrix(tree, q), [q])[0]
    D = 0.5 * (dM + np.swapaxes(dM, 1, 2) - np.moveaxis(dM, 2, 0))
    assert_close(D, closed_form.velocity_coefficients(tree, q))


def test_a_massless_leaf_is_refused():
    robot = kt.Builder("leaf")
    robot.world.revolute("a").body("b", kt.Inertia.point(1.0, (1, 0, 0))).prismatic("tip").body("c")
    with pytest.raises(kt.errors.SingularityError, match=r"'tip'.*pivot 0"):
        walker_orin.forward_dynamics(robot.build().tree, *np.zeros((3, 2)))


def test_it_offers_what_it_says():
    assert walker_orin.FORMULATION.can <= ABILITIES.keys()
    assert all(callable(getattr(walker_orin, name)) for name in walker_orin.FORMULATION.can)


# ---- operation counts ----------------------------------------------------------------------------------
def counts(n, inverse_dynamics):
    tree = kt.zoo.chain(n).tree
    state = [counting(np.linspace(0.1, 1.0, n) + 0.1 * k) for k in range(3)]
    with counted_steps() as counted:
        walker_orin.forward_dynamics(tree, *state, inverse_dynamics=inverse_dynamics)
    return counted.steps


@pytest.mark.parametrize("name", ["default", "lagrangian"])
def test_steps_are_counted_once(name):
    """The steps of the inverse dynamics inside do not count again."""
    steps = counts(5, INVERSE[name])
    assert list(steps) == ["bias", "mass matrix", "solution"]
    assert steps["bias"]["sincos"] == 5 and steps["mass matrix"]["sincos"] == 25


def test_elimination_of_n_joints():
    """n (n + 1) / 2 divisions, n (n - 1) (2 n + 5) / 6 multiplications."""
    lengths = range(2, 8)
    steps = [counts(n, INVERSE["default"])["solution"] for n in lengths]
    assert [s["divisions"] for s in steps] == [n * (n + 1) // 2 for n in lengths]
    assert [s["multiplications"] for s in steps] == [n * (n - 1) * (2 * n + 5) // 6 for n in lengths]


# ---- simulation ----------------------------------------------------------------------------------------
def test_runge_kutta_is_of_fourth_order():
    """Halving the step divides the error of a falling arm by 16."""
    arm = kt.zoo.two_link(gravity=(0, -9.81, 0))
    start, rest = np.array([0.3, -0.8]), np.zeros(2)
    best = walker_orin.simulate(arm.tree, start, rest, 0.4, 320).q[-1]
    errors = [
        np.abs(walker_orin.simulate(arm.tree, start, rest, 0.4, steps).q[-1] - best).max()
        for steps in (20, 40)
    ]
    assert 13 < errors[0] / errors[1] < 19


def test_free_fall_of_the_gripper():
    """[Shah2013], section 6.2.1: the beginning of the reference's free fall."""
    record = read("gripper.json")["free_fall"][0]
    times, q = np.array(record["t"]), np.array(record["q"])
    k = int(np.searchsorted(times, 0.25))
    gripper = kt.zoo.gripper()
    motion = walker_orin.simulate(gripper.tree, q[0], record["qd"][0], times[k], 250)
    assert_close(motion.q[-1], q[k], 1e-7)
    energy = kt.kinetic_energy(gripper, motion.q, motion.qd) + kt.potential_energy(gripper, motion.q)
    assert np.ptp(energy) < 1e-8


def test_torque_law_and_times():
    """A slider pushed by 6 t N: x = t^3 / m for m kg."""
    robot = kt.Builder("slider", gravity=(0, 0, 0))
    robot.world.prismatic("x").body("m", kt.Inertia.point(2.0))
    motion = walker_orin.simulate(robot.build().tree, [0.0], [0.0], 2.0, 4, torque=lambda t, q, qd: [6.0 * t])
    assert_close(motion.t, [0.0, 0.5, 1.0, 1.5, 2.0])
    assert_close(motion.q[:, 0], motion.t**3 / 2.0, 1e-14)
    assert_close(motion.qd[:, 0], 1.5 * motion.t**2, 1e-14)


@pytest.mark.parametrize(("duration", "steps"), [(0.0, 10), (-1.0, 10), (np.nan, 10), (np.inf, 10), (1.0, 0)])
def test_bad_simulations_are_refused(duration, steps):
    with pytest.raises(kt.errors.InputError, match=f"duration {duration} s and {steps} steps"):
        walker_orin.simulate(kt.zoo.two_link().tree, np.zeros(2), np.zeros(2), duration, steps)
