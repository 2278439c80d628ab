"""Quantities that users had to rebuild by hand, against formulations that share no code with them."""

import numpy as np
import pytest
from scipy.interpolate import BSpline

import kinetree as kt
from kinetree.errors import InputError, SingularityError


# ---- UDU^T pivots ------------------------------------------------------------------------------------
@pytest.mark.parametrize("batch", [(), (3,)])
def test_pivots_are_what_each_joint_feels_while_those_beyond_are_free(batch, rng):
    """1 / D_i is the acceleration of joint i by a unit torque, with all joints before it held."""
    robot = kt.zoo.random_tree(5, 6)
    q = kt.random_state(robot, rng, batch).q
    U, D = kt.analysis.mass_matrix_factors(robot, q)
    M = kt.mass_matrix(robot, q)
    np.testing.assert_allclose(U * D[..., None, :] @ np.swapaxes(U, -1, -2), M, rtol=0, atol=1e-12 * M.max())
    for i in range(robot.n_dof):
        inverse = np.linalg.inv(M[..., i:, i:])
        np.testing.assert_allclose(D[..., i], 1.0 / inverse[..., 0, 0], rtol=1e-9)


def test_factors_have_the_pattern_of_the_tree(rng):
    robot = kt.zoo.random_tree(7, 6)
    U = kt.analysis.mass_matrix_factors(robot, kt.random_state(robot, rng).q).U
    assert np.array_equal(np.diag(U), np.ones(robot.n_dof)) and not np.tril(U, -1).any()
    M = kt.mass_matrix(robot, kt.random_state(robot, rng).q)
    assert np.abs(U[M == 0.0]).max(initial=0.0) < 1e-12


def test_a_joint_without_inertia_is_named():
    arm = kt.from_dh([{"a": 1.0, "mass": 1.0}, {"a": 0.0, "mass": 1.0}], gravity=(0, 0, 0))
    with pytest.raises(SingularityError, match="joint 'joint2' moves no inertia"):
        kt.analysis.mass_matrix_factors(arm, [0.1, 0.2])


# ---- wrenches in other frames ------------------------------------------------------------------------
def test_wrenches_do_the_same_work_in_any_frame(rng):
    """f . v + n . w does not depend on the frame: v and w are moved by formulas of their own."""
    for _ in range(5):
        place = kt.Placement(np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.normal(size=3))
        if np.linalg.det(place.rotation) < 0.0:
            place = kt.Placement(-place.rotation, place.position)
        wrench, v, w = rng.normal(size=(2, 1, 6)), rng.normal(size=3), rng.normal(size=3)
        there = kt.analysis.wrenches_in_frames(wrench, [place])
        v_there, w_there = place.rotation.T @ (v + np.cross(w, place.position)), place.rotation.T @ w
        here = wrench[..., :3] @ v + wrench[..., 3:] @ w
        np.testing.assert_allclose(there[..., :3] @ v_there + there[..., 3:] @ w_there, here, atol=1e-12)


def test_distal_reactions_of_a_planar_arm_are_those_of_statics():
    """A cantilever of two links along x: the moment at the far end of a link is that of what lies beyond."""
    rows = [
        {"a": 0.5, "mass": 2.0, "center": (-0.25, 0, 0), "inertia": (0, 0.04, 0.04)},
        {"a": 0.4, "mass": 1.0, "center": (-0.2, 0, 0), "inertia": (0, 0.02, 0.02)},
    ]
    arm = kt.from_dh(rows, convention="classic", gravity=(0, -10.0, 0))
    still = np.zeros(2)
    far = kt.analysis.wrenches_in_frames(
        kt.joint_reactions(arm, still, still, still), kt.model.distal_frames(rows)
    )
    # link 1: 30 N up at its joint; about its far end, its own weight and that of link 2 balance it
    np.testing.assert_allclose(far[0], [0, 30, 0, 0, 0, 20 * 0.25 + 10 * 0.7 - 30 * 0.5], atol=1e-12)
    np.testing.assert_allclose(far[1], [0, 10, 0, 0, 0, 10 * 0.2 - 10 * 0.4], atol=1e-12)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: kt.analysis.wrenches_in_frames(np.zeros(6), []), r"shape \(\.\.\., k, 6\), got \(6,\)"),
        (lambda: kt.analysis.wrenches_in_frames(np.zeros((2, 6)), [kt.Placement()]), "as many frames, got 1"),
        (lambda: kt.analysis.wrenches_in_frames(np.zeros((1, 6)), ["far"]), "frames must be placements"),
        (lambda: kt.analysis.operation_counts(kt.zoo.chain(2), "torque"), "unknown question 'torque'"),
        (lambda: kt.analysis.operation_counts(kt.zoo.chain(2), formulation="denok"), "Did you mean 'denoc'"),
    ],
)
def test_wrong_input_is_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        wrong()


# ---- inertial wrench ---------------------------------------------------------------------------------
def test_inertial_wrench_is_the_rate_of_momentum_less_gravity(rng):
    robot = kt.zoo.quadruped()
    state = kt.random_state(robot, rng)
    q, qd, qdd = state.q, state.qd, state.qdd
    h = 1e-5

    def momentum(t):
        return kt.momentum(robot, q + qd * t + qdd * t * t / 2, qd + qdd * t)

    rate = (8 * (momentum(h) - momentum(-h)) - (momentum(2 * h) - momentum(-2 * h))) / (12 * h)
    weight = robot.mass * np.asarray(robot.gravity)
    about = np.cross(kt.center_of_mass(robot, q), weight)
    F, N = kt.analysis.inertial_wrench(robot, q, qd, qdd)
    np.testing.assert_allclose(np.append(F, N), rate - np.append(weight, about), rtol=1e-6, atol=1e-5)


# ---- operation counts --------------------------------------------------------------------------------
def test_counts_grow_as_the_algorithms_are_known_to():
    """Recursions grow with n; the mass matrix of a chain has n^2 entries."""

    def total(n, question, formulation):
        found = kt.analysis.operation_counts(kt.zoo.chain(n), question, formulation)
        return found.multiplications + found.divisions + found.additions

    for question in ("inverse_dynamics", "forward_dynamics"):
        one, two, three = (total(n, question, "spatial") for n in (3, 6, 9))
        assert three - two == pytest.approx(two - one, rel=0.02)  # a straight line
    bend = np.diff([total(n, "mass_matrix", "spatial") for n in (3, 6, 9, 12)], n=2)
    assert bend[0] > 0 and bend[0] == bend[1]  # a parabola: an entry for each pair of joints


def test_counts_are_those_of_the_agreement_table():
    from kinetree.analysis.agreement import agreement

    robot = kt.zoo.gripper()
    table = {(row.quantity, row.formulation): row.operations for row in agreement(robot, states=1)}
    found = kt.analysis.operation_counts(robot, "mass_matrix", "denoc")
    assert (found.multiplications + found.divisions, found.additions) == table["mass_matrix", "denoc"]


# ---- B-splines and the chain rule --------------------------------------------------------------------
def test_motion_of_control_points_is_that_of_scipy(rng):
    basis = kt.trajectories.BSplineBasis.uniform(segments=5, degree=4)
    P, T, s = rng.normal(size=(basis.n_control, 3)), 1.7, np.linspace(0.0, 1.0, 9)
    found = kt.trajectories.spline_sensitivity(basis, P, T, s)
    curve = BSpline(basis.knots * T, P, basis.degree)
    for rate, values in enumerate((found.state.q, found.state.qd, found.state.qdd)):
        np.testing.assert_allclose(values, curve(np.minimum(s * T, T * (1 - 1e-15)), nu=rate), atol=1e-9)


def test_chain_rule_is_that_of_finite_differences(rng):
    """Of the sum of weighted torques of an arm along a motion, by control points and duration."""
    arm = kt.zoo.two_link()
    basis = kt.trajectories.BSplineBasis.uniform(segments=3)
    P, T, s = rng.normal(size=(basis.n_control, 2)), 1.3, np.linspace(0.0, 1.0, 5)
    weight = rng.normal(size=(5, 2))

    def value(P, T):
        at = kt.trajectories.spline_sensitivity(basis, P, T, s).state
        return float((weight * kt.inverse_dynamics(arm, at.q, at.qd, at.qdd)).sum())

    motion = kt.trajectories.spline_sensitivity(basis, P, T, s)
    at = motion.state
    slopes = kt.inverse_dynamics_derivatives(arm, at.q, at.qd, at.qdd)
    matrices = slopes.dtau_dq, slopes.dtau_dqd, slopes.dtau_dqdd
    by_state = [np.einsum("mi,mij->mj", weight, x) for x in matrices]
    by_points, by_duration = motion.gradient(*by_state)
    h = 1e-6
    for k, j in ((0, 0), (2, 1), (5, 1)):
        step = np.zeros_like(P)
        step[k, j] = h
        wanted = (value(P + step, T) - value(P - step, T)) / (2 * h)
        assert by_points[k, j] == pytest.approx(wanted, rel=1e-5, abs=1e-6)
    assert by_duration == pytest.approx((value(P, T + h) - value(P, T - h)) / (2 * h), rel=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, np.zeros((6, 1)), 1.0, [0.0]), "basis must be"),
        ((None, np.zeros((2, 1)), 1.0, [0.0]), r"control_points must have shape \(6, n\)"),
        ((None, np.zeros((6, 1)), -1.0, [0.0]), "duration"),
        ((None, np.zeros((6, 1)), 1.0, [1.5]), "from 0 to 1"),
    ],
)
def test_wrong_splines_are_refused(arguments, message):
    basis = kt.trajectories.BSplineBasis.uniform(segments=3) if arguments[0] is None else arguments[0]
    with pytest.raises(InputError, match=message):
        kt.trajectories.spline_sensitivity(basis, *arguments[1:])


# ---- Euler DH rows -----------------------------------------------------------------------------------
def test_euler_rows_can_be_reached():
    rows = kt.model.euler_dh_rows("ZYX")
    R = np.eye(3)
    angles = (0.3, -0.4, 0.5)
    for row in rows:
        theta = row.theta + (0.0 if row.angle is None else angles[row.angle])
        ca, sa, c, s = np.cos(row.alpha), np.sin(row.alpha), np.cos(theta), np.sin(theta)
        R = R @ [[1, 0, 0], [0, ca, -sa], [0, sa, ca]] @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    from scipy.spatial.transform import Rotation

    np.testing.assert_allclose(R, Rotation.from_euler("ZYX", angles).as_matrix(), atol=1e-12)
