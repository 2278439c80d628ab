"""Tools on lines, circles and curves: where they are, exact rates, branches, singularities, limits."""

import re

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

import kinetree as kt
from kinetree.algebra.rotation_vector import angular_motion, rotation_by
from kinetree.trajectories import retime, tool_circle, tool_line, tool_through

START = np.array([0.0, 0.5, -0.6, 0.3, 0.8, 0.0])
T = np.linspace(0.0, 2.0, 41)


def arm():
    return kt.zoo.kuka_kr5().with_frame("tool", "link6", (0.0, 0.0, 0.08), rpy=(0.2, 0.1, 0.0))


def redundant():
    """Seven joints, as arms beside people have them."""
    robot = kt.Builder("seven")
    place = robot.world
    for k, (axis, up) in enumerate(zip("zyzyzyz", (0.2, 0.15, 0.2, 0.2, 0.2, 0.15, 0.1), strict=True)):
        joint = place.revolute(f"j{k + 1}", axis=axis, at=(0.0, 0.0, up), lower=-2.9, upper=2.9)
        place = joint.body(f"b{k + 1}", kt.Inertia.cylinder(2.0, 0.05, 0.2, center=(0, 0, 0.1)))
    return robot.build()


def poses(mechanism, motion, t, tool="tool"):
    return kt.forward_kinematics(mechanism, motion.at(t).q)[tool]


def assert_rates_belong_together(motion, tolerance=2e-6):
    """Rates are the derivatives of positions: by Richardson's extrapolation of central differences."""
    t, h = np.linspace(0.15, 0.85, 15) * motion.duration, 2e-3 * motion.duration

    def difference(of, h):
        return (of(t + h) - of(t - h)) / (2 * h)

    for of, rate in (
        (lambda x: motion.at(x).q, motion.at(t).qd),
        (lambda x: motion.at(x).qd, motion.at(t).qdd),
    ):
        found = (16 * difference(of, h / 4) - difference(of, h)) / 15
        assert np.abs(found - rate).max() < tolerance * max(1.0, np.abs(rate).max())


def test_line_with_slerp():
    robot = arm()
    R0, p0 = kt.forward_kinematics(robot, START)["tool"]
    R1 = Rotation.from_rotvec([0.3, -0.4, 0.5]).as_matrix() @ R0
    line = tool_line(robot, "tool", np.add(p0, (-0.1, 0.2, 0.1)), 2.0, q0=START, orientation=R1)
    R, p = poses(robot, line, T)
    part = ((p - p0) @ [-0.1, 0.2, 0.1]) / 0.06
    assert np.allclose(p, p0 + part[:, None] * [-0.1, 0.2, 0.1], atol=1e-11)
    u = T / 2.0
    assert np.allclose(part, 10 * u**3 - 15 * u**4 + 6 * u**5, atol=1e-10)
    expected = Slerp([0, 1], Rotation.from_matrix([R0, R1]))(np.clip(part, 0, 1)).as_matrix()
    assert np.allclose(R, expected, atol=1e-10)
    assert np.array_equal(line.at(0.0).q, START) or np.allclose(line.at(0.0).q, START, atol=1e-12)
    assert_rates_belong_together(line)
    v = kt.body_velocities(robot, line.at(T).q, line.at(T).qd, of="tool")
    rate = (30 * u**2 - 60 * u**3 + 30 * u**4) / 2.0
    assert np.allclose(v[:, :3], rate[:, None] * [-0.1, 0.2, 0.1], atol=1e-9)
    assert np.allclose(v[:, 3:], rate[:, None] * [0.3, -0.4, 0.5], atol=1e-9)


def test_rotation_in_place_and_rest():
    robot = arm()
    R0, p0 = kt.forward_kinematics(robot, START)["tool"]
    R1 = Rotation.from_rotvec([0.0, 0.0, 0.5]).as_matrix() @ R0
    spin = tool_line(robot, "tool", duration=1.0, q0=START, orientation=R1)
    R, p = poses(robot, spin, [0.3, 1.0])
    assert np.allclose(p, p0, atol=1e-11)
    assert np.allclose(R[1], R1, atol=1e-11)
    assert np.abs(spin.at([0.0, 1.0]).qd).max() < 1e-12


def test_speed_of_the_tool():
    robot = arm()
    line = tool_line(robot, "tool", by=(0.0, 0.3, 0.0), q0=START, speed=0.25, acceleration=1.0)
    t = np.linspace(0.0, line.duration, 301)
    v = kt.body_velocities(robot, line.at(t).q, line.at(t).qd, of="tool")[:, :3]
    assert np.linalg.norm(v, axis=1).max() == pytest.approx(0.25, rel=1e-9)
    assert line.duration == pytest.approx(0.3 / 0.25 + 0.25 / 1.0)


@pytest.mark.parametrize("orientation", ["keep", "turn", "free"])
def test_circle(orientation):
    robot = arm()
    R0, p0 = kt.forward_kinematics(robot, START)["tool"]
    middle = p0 + np.array([0.0, 0.1, 0.0])
    motion = tool_circle(
        robot,
        "tool",
        2.0,
        q0=START,
        center=np.add(middle, (0, 0, 7.0)),
        turns=0.4,
        orientation=orientation,
    )
    R, p = poses(robot, motion, T)
    assert np.allclose(np.linalg.norm(p - middle, axis=1), 0.1, atol=1e-11)
    assert np.allclose(p[:, 2], p0[2], atol=1e-11)
    end = Rotation.from_rotvec([0, 0, 0.8 * np.pi]).as_matrix()
    assert np.allclose(p[-1], middle + end @ (p0 - middle), atol=1e-11)
    if orientation == "keep":
        assert np.allclose(R, R0, atol=1e-10)
    if orientation == "turn":
        assert np.allclose(R[-1], end @ R0, atol=1e-10)
    assert_rates_belong_together(motion)


def test_arc_through_two_places():
    robot = arm()
    _, p0 = kt.forward_kinematics(robot, START)["tool"]
    middle, a, b = np.add(p0, (0.0, 0.1, 0.0)), np.add(p0, (0.0, 0.1, 0.1)), np.add(p0, (0.0, 0.2, 0.0))
    motion = tool_circle(robot, "tool", 2.0, q0=START, via=a, to=b)
    _, p = poses(robot, motion, T)
    assert np.allclose(np.linalg.norm(p - middle, axis=1), 0.1, atol=1e-10)
    assert np.allclose(p[-1], b, atol=1e-10)
    assert np.abs(p - a).max(axis=1).min() < 1e-9  # at half the time


def test_curve_through_points_with_orientations():
    robot = arm()
    R0, p0 = kt.forward_kinematics(robot, START)["tool"]
    points = p0 + np.array([[0.0, 0.1, 0.05], [-0.05, 0.2, 0.1], [-0.1, 0.1, 0.15], [0.0, 0.0, 0.1]])
    turned = Rotation.from_rotvec([[0.2, 0, 0], [0.2, 0.3, 0], [0, 0.3, 0.3], [0, 0, 0]]).as_matrix() @ R0
    motion = tool_through(robot, "tool", points, 3.0, q0=START, orientation=turned)
    R, p = poses(robot, motion, np.linspace(0.0, 3.0, 2001))
    for point, rotation in zip(points, turned, strict=True):
        k = np.argmin(np.linalg.norm(p - point, axis=1))
        assert np.linalg.norm(p[k] - point) < 1e-3
        assert np.abs(R[k] - rotation).max() < 1e-2
    assert np.allclose(p[-1], points[-1], atol=1e-10)
    assert np.allclose(R[-1], R0, atol=1e-10)
    assert_rates_belong_together(motion, 2e-5)
    inner = motion.breaks[1:-1]
    assert len(inner)  # accelerations do not jump where cubic polynomials meet
    assert np.abs(motion.at(inner - 1e-9).qdd - motion.at(inner + 1e-9).qdd).max() < 1e-5


def test_more_joints_than_needed():
    robot = redundant()
    start = np.array([0.2, 0.5, -0.3, 1.0, 0.3, 0.6, 0.1])
    R0, p0 = kt.forward_kinematics(robot, start)["b7"]
    held = tool_line(robot, "b7", by=(-0.1, 0.1, 0.0), duration=2.0, q0=start, hold=["j3"])
    assert np.abs(held.at(T).q[:, 2] + 0.3).max() < 1e-12
    free = tool_line(robot, "b7", by=(-0.1, 0.1, 0.0), duration=2.0, q0=start)
    for motion in (held, free):
        R, p = poses(robot, motion, T, "b7")
        assert np.allclose(R, R0, atol=1e-10)
        assert np.allclose(p[-1], np.add(p0, (-0.1, 0.1, 0.0)), atol=1e-10)
        assert_rates_belong_together(motion)
    unfelt = np.linalg.svd(kt.jacobian(robot, start, "b7"))[2][-1]
    assert np.abs((free.at(T).q - start) @ unfelt).max() < 1e-12


def test_fewer_joints_with_a_free_axis():
    robot = kt.zoo.kuka_kr5().frozen(["joint6"])
    R0, p0 = kt.forward_kinematics(robot, START[:5])["link6"]
    end = Rotation.from_rotvec([0.1, -0.2, 0.0]).as_matrix() @ R0
    motion = tool_line(
        robot, "link6", np.add(p0, (0.0, 0.2, 0.0)), 2.0, q0=START[:5], orientation=end, free_axis="z"
    )
    R, p = poses(robot, motion, T, "link6")
    assert np.allclose(p[-1], np.add(p0, (0.0, 0.2, 0.0)), atol=1e-10)
    assert np.allclose(R[-1, :, 2], end[:, 2], atol=1e-10)
    assert np.abs(R[-1, :, 0] - end[:, 0]).max() > 1e-3  # it has rotated about its axis
    assert_rates_belong_together(motion)
    with pytest.raises(
        kt.errors.InputError, match=r"prescribes 6 coordinates, but .* has 5 joints.*free_axis"
    ):
        tool_line(robot, "link6", np.add(p0, (0.0, 0.2, 0.0)), 2.0, q0=START[:5])


def test_end_of_the_reach_is_where_geometry_has_it():
    planar = kt.zoo.two_link(length=(0.4, 0.3)).with_frame("tip", "link2", (0.3, 0, 0))
    start = np.array([0.3, 0.9])
    p0 = kt.forward_kinematics(planar, start)["tip"][1]
    way = np.array([0.6, 0.0, 0.0])
    with pytest.raises(kt.errors.SingularityError, match="joint") as caught:
        tool_line(planar, "tip", by=way, duration=1.0, q0=start, orientation="free")
    found = float(re.search(r"at ([\d.]+) %", str(caught.value))[1]) / 100.0
    reached = (np.sqrt(0.7**2 - p0[1] ** 2) - p0[0]) / 0.6
    assert found == pytest.approx(reached, abs=1e-3)
    assert "joint2" in str(caught.value)
    with pytest.raises(kt.errors.SingularityError, match="cannot continue"):  # out of its plane
        tool_line(planar, "tip", by=(0, 0, 0.1), duration=1.0, q0=start, orientation="free")


def test_wrist_singularity_is_named():
    robot = arm()
    bent = START.copy()
    bent[3], bent[4] = 0.0, 0.3
    R0 = kt.forward_kinematics(robot, bent)["link6"][0]
    straight = bent.copy()
    straight[4] = -0.3  # on the other side of the wrist's singularity
    R1 = kt.forward_kinematics(robot, straight)["link6"][0]
    p1 = kt.forward_kinematics(robot, straight)["link6"][1]
    with pytest.raises(kt.errors.SingularityError, match="joint4") as caught:
        tool_line(robot, "link6", p1, 1.0, q0=bent, orientation=R1)
    assert "joint6" in str(caught.value)
    assert np.abs(R1 - R0).max() > 0.1


def test_limits_are_reported_with_joint_and_place():
    robot = redundant()
    start = np.array([0.2, 0.5, -0.3, 1.0, 0.3, 0.6, 2.8])
    R0 = kt.forward_kinematics(robot, start)["b7"][0]
    R1 = R0 @ Rotation.from_rotvec([0, 0, 0.4]).as_matrix()
    words = r"joint 'j7' leaves its limits: 2\.9.* is not within -2\.9 to 2\.9"
    with pytest.raises(kt.errors.InputError, match=words):
        tool_line(robot, "b7", duration=1.0, q0=start, orientation=R1, hold=["j3"])
    motion = tool_line(robot, "b7", duration=1.0, q0=start, orientation=R1, hold=["j3"], limits=False)
    assert motion.at(1.0).q[6] == pytest.approx(3.2)


def test_velocity_limits_are_warned_of():
    robot = kt.Builder("slide")
    robot.world.prismatic("x", axis="x", velocity_limit=0.5).body("cart", kt.Inertia.point(1.0))
    cart = robot.build()
    with pytest.warns(kt.KinetreeWarning, match=r"joint 'x' would move at 0\.9.* 1\.88 times"):
        tool_line(cart, "cart", by=(0.5, 0, 0), duration=1.0, q0=[0.0], orientation="free")


def test_tables_controllers_and_sequences():
    robot = arm()
    there = tool_line(robot, "tool", by=(0.0, 0.1, 0.0), duration=0.8, q0=START)
    back = tool_line(robot, "tool", by=(0.0, -0.1, 0.0), duration=0.8, q0=there.at(0.8).q)
    motion = kt.trajectories.sequence(there, back)
    assert np.allclose(motion.at(1.6).q, START, atol=1e-9)
    table = there.table(1e-10)
    t = np.linspace(0.0, 0.8, 57)
    assert np.abs(table.at(t) - there.at(t).q).max() < 1e-10


def test_retimed_paths():
    path = kt.trajectories.interpolate([0.0, 0.4, 1.0, 1.5], [[0.0], [1.0], [0.5], [2.0]])
    slow = retime(path, kt.trajectories.quintic([0.0], [1.5], 4.0))
    assert_rates_belong_together(slow, 2e-5)
    assert slow.at(4.0).q[0] == pytest.approx(2.0)
    assert len(slow.breaks) == len(path.breaks)
    with pytest.raises(kt.errors.InputError, match=r"must go from s = 0 to 1\.5"):
        retime(path, kt.trajectories.quintic([0.0], [1.0], 4.0))
    with pytest.raises(kt.errors.InputError, match="runs backward"):
        retime(path, kt.trajectories.interpolate([0, 1, 2, 3], [[0.0], [1.4], [0.2], [1.5]]))
    with pytest.raises(kt.errors.InputError, match="one coordinate"):
        retime(path, kt.trajectories.quintic([0.0, 0.0], [1.5, 1.0], 4.0))


def test_angular_motion_by_differences():
    rng = np.random.default_rng(2)
    x, v, a = rng.normal(size=(3, 40, 3))
    x *= rng.choice([1e-6, 5e-3, 1e-2, 0.5, 2.0], size=(40, 1))
    h = 1e-5

    def at(k):
        return x + k * h * v + 0.5 * (k * h) ** 2 * a

    change = (rotation_by(at(1)) - rotation_by(at(-1))) / (2 * h) @ np.swapaxes(rotation_by(x), 1, 2)
    spin, rate = angular_motion(x, v, a)
    assert np.allclose(change, np.cross(spin[:, None], np.eye(3)[None]).swapaxes(1, 2), atol=1e-8)
    w = [angular_motion(at(k), v + k * h * a, a)[0] for k in (-1, 1)]
    assert np.allclose((w[1] - w[0]) / (2 * h), rate, atol=1e-7)
    assert np.allclose(rotation_by(x), Rotation.from_rotvec(x).as_matrix(), atol=1e-14)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tool": "hand"}, "hand"),
        ({"tool": "world"}, "world"),
        ({"q0": [0.0] * 5}, "q0"),
        ({"q0": [[0.0] * 6]}, "one pose"),
        ({"to": (1, 2), "by": None}, "to must"),
        ({"by": (0, 0, np.nan)}, "by"),
        ({"to": (0.5, 0, 0.5), "by": (0, 0, 0.1)}, "not both"),
        ({"by": None}, "no length"),
        ({"orientation": "fixed"}, "orientation"),
        ({"orientation": np.diag([1.0, 1.0, -1.0])}, "orientation"),
        ({"free_axis": "w"}, "free_axis"),
        ({"free_axis": "z", "orientation": "free"}, "free_axis"),
        ({"hold": "joint1"}, "list of joints"),
        ({"hold": ["joint1"]}, "leave too few"),
        ({"orientation": "free", "hold": ["joint9"]}, "joint9"),
        ({"duration": None}, "duration"),
        ({"duration": -1.0}, "duration must be > 0"),
        ({"speed": 0.1}, "acceleration"),
        ({"duration": None, "speed": 0.0, "acceleration": 1.0}, "speed must be > 0"),
        ({"timing": "linear"}, "timing"),
    ],
)
def test_bad_lines(change, words):
    given = {"tool": "tool", "by": (0.0, 0.1, 0.0), "duration": 1.0, "q0": START} | change
    with pytest.raises(kt.errors.InputError, match=words):
        tool_line(arm(), **given)


def test_bad_circles_and_curves():
    robot = arm()
    p0 = kt.forward_kinematics(robot, START)["tool"][1]
    for given, words in (
        ({}, "center, or via and to"),
        ({"center": p0}, "on the axis"),
        ({"center": p0 + 0.1, "turns": 0}, "turns"),
        ({"via": p0 + 0.1}, "via and to"),
        ({"via": p0 + 0.1, "to": p0 + 0.2}, "one line"),
        ({"center": p0 + 0.1, "normal": (0, 0, 0)}, "normal"),
    ):
        with pytest.raises(kt.errors.InputError, match=words):
            tool_circle(robot, "tool", 1.0, q0=START, **given)
    for points, more, words in (
        (p0, {}, "shape"),
        ([p0], {}, "already"),
        ([p0 + 0.1, p0 + 0.1], {}, "point 2"),
        ([p0 + 0.1], {"orientation": np.zeros((2, 3, 3))}, r"\(1, 3, 3\)"),
    ):
        with pytest.raises(kt.errors.InputError, match=words):
            tool_through(robot, "tool", points, 1.0, q0=START, **more)
    with pytest.raises(kt.errors.InputError, match="open trees"):
        tool_line(kt.zoo.four_bar(), "coupler", by=(0.1, 0, 0), duration=1.0, q0=[0, 0, 0])
