"""The fastest timing along a path: closed forms, a linear program, predictions, and its audit."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

import kinetree as kt
from kinetree.motion.timing.course import Limits, PathGrid
from kinetree.motion.timing.search import ReachRows, fastest, limit_rows, reached

LINE = kt.trajectories.interpolate([0.0, 1.0], [[0.0], [1.0]], degree=1)


def cart(**parameters):
    build = kt.Builder("cart")
    build.world.prismatic("x", axis="x", **parameters).body("cart", kt.Inertia.point(1.0))
    return build.build()


def arm():
    return kt.zoo.two_link(length=(0.5, 0.4))


def start_and_end():
    return np.array([[0.0, -2.0], [0.4, -1.8], [1.0, -1.0]])


def test_double_integrator_is_bang_bang():
    found = kt.fastest_timing(cart(effort_limit=2.0), LINE)
    assert found.duration == pytest.approx(2.0 * np.sqrt(1.0 / 2.0), rel=1e-9)
    t = np.linspace(0.01, 0.99, 50) * found.duration
    q = np.where(t < found.duration / 2, t**2, 1.0 - (found.duration - t) ** 2)
    assert np.allclose(found.trajectory.at(t).q[:, 0], q, atol=1e-9)
    assert found.result.passed
    assert found.active[0].startswith("torque limit, x: upper bound 2 N reached from 0 to 0.70")


def test_a_timing_that_fails_its_checks_says_so():
    found = kt.fastest_timing(cart(effort_limit=2.0), LINE)
    assert "limits kept to" in str(found) and "failed" not in str(found)
    weaker = replace(found.limits, torque=found.limits.torque / 1.1)
    weak = replace(found, limits=weaker, use=replace(found.use, limits=weaker))
    assert not weak.result.passed
    assert "limits exceeded by up to 1.0e-01" in str(weak) and "Checks that failed:" in str(weak)


def test_trapezoid_with_a_speed_limit():
    found = kt.fastest_timing(cart(effort_limit=2.0, velocity_limit=0.8), LINE)
    expected = kt.trajectories.trapezoidal([0.0], [1.0], velocity=0.8, acceleration=2.0).duration
    assert found.duration == pytest.approx(expected, rel=2e-4)  # the corner lies between two places
    assert found.duration >= expected * (1.0 - 1e-9)
    by_acceleration = kt.fastest_timing(cart(), LINE, acceleration=2.0, velocity=0.8)
    assert by_acceleration.duration == pytest.approx(found.duration, rel=1e-9)


def test_gravity_and_friction_in_closed_form():
    build = kt.Builder("lift")
    build.world.prismatic("z", axis="z", effort_limit=30.0, coulomb=3.0).body("load", kt.Inertia.point(2.0))
    up, down = 30.0 - 3.0 - 2.0 * 9.81, -30.0 - 3.0 - 2.0 * 9.81  # net forces with friction downwards
    a, b = up / 2.0, -down / 2.0
    expected = np.sqrt(2.0 * (1.0 / a + 1.0 / b))
    found = kt.fastest_timing(build.build(), LINE, grid=800)
    assert expected * (1.0 - 1e-6) <= found.duration <= expected * 1.002


@pytest.mark.parametrize(("begin", "end", "friction"), [(0.0, 1.0, 3.0), (1.0, 0.0, 0.5)])
def test_friction_by_direction_is_that_of_the_direction(begin, end, friction):
    line = kt.trajectories.interpolate([0.0, 1.0], [[begin], [end]], degree=1)
    found = kt.fastest_timing(cart(effort_limit=10.0, coulomb=3.0, coulomb_reverse=0.5), line)
    same = kt.fastest_timing(cart(effort_limit=10.0, coulomb=friction), line)
    assert found.duration == pytest.approx(same.duration, rel=1e-9)
    other = kt.fastest_timing(cart(effort_limit=10.0, coulomb=3.5 - friction), line)
    assert abs(found.duration - other.duration) > 0.01


def test_viscous_friction_in_closed_form():
    found = kt.fastest_timing(cart(effort_limit=2.0, viscous=1.5), LINE, grid=1600)
    # v' = 2 - 1.5 v, then v' = -2 - 1.5 v; the instant of switching such that the way is 1
    from scipy.optimize import brentq

    c, f = 1.5, 2.0

    def way(t1):
        v = f / c * (1 - np.exp(-c * t1))
        x = f / c * (t1 - (1 - np.exp(-c * t1)) / c)
        t2 = np.log(1 + c * v / f) / c
        return x + (v + f / c) * (1 - np.exp(-c * t2)) / c - f / c * t2, t1 + t2

    t1 = brentq(lambda t: way(t)[0] - 1.0, 0.01, 5.0)
    assert way(t1)[1] * (1.0 - 1e-6) <= found.duration <= way(t1)[1] * 1.002
    assert found.result.passed


def linear_program(rows, first, aim):
    """The largest aim . x of all motions from a place to the end, as one linear program over x and u."""
    k, m = rows.alpha.shape
    n = k - first
    upper, equal = np.zeros((n * m, 2 * n + 1)), np.zeros((n, 2 * n + 1))
    for j in range(n):
        upper[j * m : (j + 1) * m, j] = rows.beta[first + j]
        upper[j * m : (j + 1) * m, n + 1 + j] = rows.alpha[first + j]
        equal[j, [j, j + 1, n + 1 + j]] = 1.0, -1.0, 2.0 * rows.widths[first + j]
    room = -rows.gamma[first:].reshape(-1)
    bounds = [(0.0, x) for x in rows.fastest[first:]] + [(None, None)] * n
    cost = np.zeros(2 * n + 1)
    cost[: n + 1] = -np.asarray(aim)
    best = linprog(cost, upper, room, equal, np.zeros(n), bounds)
    assert best.success
    return -best.fun


def test_random_rows_against_a_linear_program():
    rng = np.random.default_rng(5)
    k, m = 12, 9
    alpha, beta = rng.normal(size=(2, k, m))
    fastest = np.r_[0.0, np.full(k - 1, 40.0), 0.0]
    rows = ReachRows(alpha, beta, -1.0 - rng.uniform(size=(k, m)), fastest, np.full(k, 0.1))
    found = reached(rows)
    assert found.stuck < 0
    for i in (1, 5, 9):
        assert found.x[i] <= linear_program(rows, i, np.eye(k - i + 1)[0]) + 1e-7
    assert (rows.alpha * found.u[:, None] + beta * found.x[:-1, None] + rows.gamma).max() < 1e-7
    rows = ReachRows(
        alpha, beta, rows.gamma + 1.6, fastest, rows.widths
    )  # standing still is forbidden at places
    assert reached(rows).stuck >= 0


def test_rows_of_an_arm_against_a_linear_program():
    robot, points = arm(), start_and_end()
    path = kt.trajectories.interpolate([0.0, 0.4, 1.0], points, degree=2)
    course = PathGrid(robot, path, np.linspace(0.0, 1.0, 41), None)
    none = np.full(2, np.inf)
    found = fastest(course, Limits(np.full(2, 20.0), none, none), None)
    margin = dict.fromkeys(("torque", "velocity", "acceleration"), np.zeros((40, 2)))
    flat = np.zeros_like(course.motion.q)
    rows = limit_rows(course, Limits(np.full(2, 20.0), none, none), margin, (flat, flat))
    most = linear_program(rows, 0, np.ones(41))
    assert reached(rows).x.sum() == pytest.approx(most, rel=1e-6)
    assert found.x.sum() == pytest.approx(most, rel=1e-2)  # tightened between the places


def test_full_prediction_is_faster_and_its_path_as_fast_as_it():
    robot = arm()
    points = start_and_end()
    limit = 20.0
    ends = [kt.terms.Boundary("start", points[0], 0.0), kt.terms.Boundary("end", points[-1], 0.0)]
    problem = kt.Problem(
        robot, objective=kt.terms.Time(), constraints=[*ends, kt.terms.TorqueLimits(limit)], limits="none"
    )
    best = kt.predict(problem)
    straight = kt.fastest_timing(robot, points[[0, -1]], torque=limit, velocity=None)
    assert best.duration < straight.duration
    basis = problem.basis
    path = kt.trajectories.bspline(best.control_points, best.duration, degree=basis.degree, knots=basis.knots)
    along = kt.fastest_timing(robot, path, torque=limit, velocity=None)
    assert along.duration == pytest.approx(best.duration, rel=5e-3)
    assert along.result.passed


def test_limits_hold_between_places_by_other_means():
    robot = kt.zoo.kuka_kr5()
    pose = [0.0, 0.5, -0.6, 0.3, 0.8, 0.0]
    line = kt.trajectories.tool_line(robot, "link6", by=(0, 0.4, 0.1), duration=2.0, q0=pose)
    limit = np.array([200.0, 300.0, 150.0, 30.0, 30.0, 20.0])
    found = kt.fastest_timing(robot, line, torque=limit, velocity=2.5, acceleration=60.0, grid=120)
    t = np.sort(np.random.default_rng(1).uniform(0.0, found.duration, 3000))
    motion = found.trajectory.at(t)
    tau = kt.inverse_dynamics(robot, motion.q, motion.qd, motion.qdd, formulation=None)
    assert (np.abs(tau) / limit).max() < 1.0 + 1e-6
    assert np.abs(motion.qd).max() < 2.5 * (1 + 1e-6)
    assert np.abs(motion.qdd).max() < 60.0 * (1 + 1e-6)
    share = np.stack([np.abs(tau).max(axis=0) / limit, np.abs(motion.qd).max(axis=0) / 2.5])
    assert share.max() > 0.999  # and it is held back by one of them
    x = kt.forward_kinematics(robot, motion.q)["link6"][1]
    first = x[0] + ((x - x[0]) @ [0, 0.4, 0.1])[:, None] / 0.17 * [0, 0.4, 0.1]
    assert np.allclose(x, first, atol=1e-10)
    middle = t[(t > 0.01) & (t < found.duration - 0.01)]
    h = 1e-6
    rate = (found.trajectory.at(middle + h).q - found.trajectory.at(middle - h).q) / (2 * h)
    assert np.abs(rate - found.trajectory.at(middle).qd).max() < 1e-3


def test_corners_stop_and_rests_split():
    corner = kt.trajectories.interpolate([0, 1, 2], [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], degree=1)
    robot = arm()
    found = kt.fastest_timing(robot, corner, torque=20.0, velocity=None)
    at_corner = int(np.argmin(np.abs(found.s - 1.0)))
    assert found.speed[at_corner] == 0.0
    assert found.speed[at_corner // 2] > 0.0
    to, back = (
        kt.trajectories.quintic([0.0, 0.0], [1.0, 0.0], 1.0),
        kt.trajectories.quintic([1.0, 0.0], [1.0, 1.0], 1.0),
    )
    resting = kt.trajectories.sequence(to, kt.trajectories.hold([1.0, 0.0], 0.5), back)
    same = kt.fastest_timing(robot, resting, torque=20.0, velocity=None)
    assert same.duration == pytest.approx(found.duration, rel=1e-3)
    assert same.path_error < 1e-9


def test_own_timing_of_a_path_does_not_count():
    robot, points = arm(), start_and_end()
    curve = kt.trajectories.interpolate([0.0, 0.3, 1.0], points, degree=2)
    plain = kt.fastest_timing(robot, curve, torque=20.0, velocity=None)
    timed = kt.trajectories.retime(curve, kt.trajectories.quintic([0.0], [1.0], 3.0))
    assert kt.fastest_timing(robot, timed, torque=20.0, velocity=None).duration == plain.duration
    table = kt.trajectories.PolynomialTrajectory(timed.table(1e-10))
    again = kt.fastest_timing(robot, table, torque=20.0, velocity=None)
    assert again.duration == pytest.approx(plain.duration, rel=1e-3)
    assert again.path_error < 1e-6


def test_smoothing_is_slower_and_without_jumps():
    robot, points = arm(), start_and_end()
    plain = kt.fastest_timing(robot, points, torque=20.0, velocity=None)
    smooth = kt.fastest_timing(robot, points, torque=20.0, velocity=None, smoothing=0.05)
    assert plain.duration < smooth.duration < plain.duration + 0.4
    assert smooth.result.passed
    t = np.linspace(0.0, smooth.duration, 4001)

    def largest_jump(motion, t):
        return np.abs(np.diff(motion.at(t).qdd, axis=0)).max()

    fine = np.linspace(0.0, smooth.duration, 16001)
    assert largest_jump(smooth.trajectory, fine) < 0.3 * largest_jump(smooth.trajectory, t)  # continuous
    assert largest_jump(plain.trajectory, t) > 20 * largest_jump(smooth.trajectory, t)
    assert np.abs(smooth.trajectory.at([0.0, smooth.duration]).qdd).max() < 1e-6
    assert "smooth accelerations" in str(smooth)


def test_closed_loops():
    robot = kt.zoo.five_bar()
    start = kt.loops.assemble(robot, np.zeros(robot.n_dof) + 0.3)
    driven = [name for name, own in zip(robot.joint_names, robot.actuated, strict=True) if own]
    first = start[[robot.joint_index(name) for name in driven]]
    drive = kt.trajectories.quintic(first, first + 0.4, 1.0)
    motion = kt.trajectories.follow(robot, drive, driven, q0=start)
    found = kt.fastest_timing(robot, motion, torque=5.0, velocity=None, grid=40)
    state = found.trajectory.at(np.linspace(0.0, found.duration, 301))
    tau = kt.inverse_dynamics(robot, state.q, state.qd, state.qdd)
    assert np.abs(tau[:, robot.actuated]).max() == pytest.approx(5.0, rel=1e-2)


def test_result_goes_to_a_file_a_plot_and_a_report(tmp_path):
    found = kt.fastest_timing(arm(), start_and_end(), torque=20.0, velocity=8.0, smoothing=0.03)
    found.save(tmp_path / "fast.nc")
    again = kt.load_result(tmp_path / "fast.nc")
    assert again.equals(found.result)
    assert again.task == "fastest_timing"
    again.report(tmp_path / "fast.html")
    assert "fastest timing" in (tmp_path / "fast.html").read_text(encoding="utf-8")
    figure = found.plot()
    labels = [line.get_gid() for line in figure.axes[0].lines]
    assert {"limit_curve", "speed", "smoothed"} <= set(labels)
    assert len(figure.axes) == 3
    assert "duration" in repr(found)


def test_progress_is_told():
    said = []
    kt.fastest_timing(cart(effort_limit=2.0), LINE, progress=lambda text, part: said.append((text, part)))
    assert said[0] == ("fastest timing", 0.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mechanism": "arm"}, "Mechanism"),
        ({"path": "line"}, "trajectory or joint positions"),
        ({"path": [[0.0, 0.0]]}, "at least 2"),
        ({"path": [[0.0, 0.0], [0.0, 0.0]]}, "same as the one before"),
        ({"path": [[0.0, np.nan], [0.0, 0.0]]}, "path"),
        ({"path": LINE}, "has 1 coordinates"),
        ({"path": kt.trajectories.hold([0.0, 0.0], 1.0)}, "does not move"),
        ({"torque": None}, "no joint of 'two_link' has a torque or acceleration limit"),
        ({"torque": -1.0}, "torque of joint 'joint1' must be > 0"),
        ({"torque": [1.0]}, "one number or 2"),
        ({"torque": {"joint9": 1.0}}, "joint9"),
        ({"torque": "much"}, "torque must be numbers"),
        ({"acceleration": "model"}, "acceleration must be numbers or None"),
        ({"velocity": float("nan")}, "velocity"),
        ({"smoothing": 0.0}, "smoothing must be > 0"),
        ({"grid": 5}, "grid must be an integer from 10"),
        ({"grid": 12.5}, "grid"),
    ],
)
def test_bad_questions(change, words):
    given = {"mechanism": arm(), "path": start_and_end(), "torque": 20.0} | change
    with pytest.raises(kt.errors.InputError, match=words):
        kt.fastest_timing(given.pop("mechanism"), given.pop("path"), **given)


def test_joints_without_drives():
    with pytest.raises(kt.errors.InputError, match="joint 'x' has no drive"):
        kt.fastest_timing(cart(driven=False), LINE, torque=10.0)


def test_too_weak_to_hold_itself():
    build = kt.Builder("lift")
    build.world.prismatic("z", axis="z", effort_limit=15.0).body("load", kt.Inertia.point(2.0))
    with pytest.raises(
        kt.errors.InputError, match=r"joint 'z' needs 19\.62 .* to hold still, but its limit is 15"
    ):
        kt.fastest_timing(build.build(), LINE)
