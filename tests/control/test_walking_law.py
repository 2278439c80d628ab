"""Walking of bipeds: what is found in a mechanism, where feet are put, and that robots stay up."""

import math

import numpy as np
import pytest
from benchmarks.walkers import Trial, five_link, random_robot, walk
from walking_reference import ReferenceLaw

import kinetree as kt
from kinetree.analysis.legs import legged
from kinetree.analysis.stance import faces_back
from kinetree.control import ContactReading, SampledLaw, WalkingLaw
from kinetree.control.walking.balance import Balance
from kinetree.control.walking.stepping import GaitNumbers
from kinetree.control.whole_body.compiled.footholds import minimum_jerk, plan
from kinetree.study.new_walk import walking_lines
from support.each import each

G = 9.81
ROBOTS = {"planar": kt.zoo.planar_biped, "spatial": kt.zoo.spatial_biped, "five_link": five_link}
SOIL = kt.Ground(kt.simulation.Soil(stiffness=2e4))


def test_minimum_jerk_has_the_rates_of_its_value():
    s, h = np.linspace(0.05, 0.95, 7), 1e-5
    value, rate, bend = (np.array([minimum_jerk(x)[k] for x in s]) for k in range(3))
    ahead, back = (np.array([minimum_jerk(x + d)[0] for x in s]) for d in (h, -h))
    np.testing.assert_allclose(rate, (ahead - back) / (2 * h), atol=1e-8)
    np.testing.assert_allclose(bend, (ahead - 2 * value + back) / h**2, atol=1e-4)
    assert minimum_jerk(0.0) == (0.0, 0.0, 0.0) and minimum_jerk(1.0)[0] == 1.0


@pytest.mark.parametrize("name", ROBOTS)
def test_a_biped_is_found_by_its_topology(name):
    walker = legged(ROBOTS[name]())
    assert walker.leg == pytest.approx(0.8 if name == "five_link" else 1.0)
    assert walker.is_planar == (name != "spatial") and walker.has_soles == (name != "five_link")
    assert walker.n_base == (6 if name == "spatial" else 3)
    left = np.cross(walker.axes[-1], walker.axes[0])
    pose = kt.forward_kinematics(walker.mechanism, walker.upright)
    places = [pose.position[walker.mechanism.body_index(foot.hip)] @ left for foot in walker.feet]
    assert places[0] - places[1] == pytest.approx(walker.hip_width)


@pytest.mark.parametrize("name", ROBOTS)
def test_it_starts_on_the_ground_with_bent_knees(name):
    robot = ROBOTS[name]()
    walker, q = legged(robot), WalkingLaw().start(robot)
    pose, up, ahead = kt.forward_kinematics(robot, q), walker.axes[-1], walker.axes[0]
    points = {point.name: point for point in robot.contact_points}
    for foot in walker.feet:
        k = robot.body_index(foot.body)
        heights = [
            up @ (pose.position[k] + pose.rotation[k] @ points[x].position) for x in foot.contact_points
        ]
        np.testing.assert_allclose(heights, 0.0, atol=1e-8)
        hip = pose.position[robot.body_index(foot.hip)]
        ankle = pose.position[k] + pose.rotation[k] @ foot.point
        assert up @ (hip - ankle) == pytest.approx(0.88 * walker.leg, rel=1e-6)
    knee = pose.position[robot.body_index("shank1")]
    assert ahead @ knee > ahead @ pose.position[robot.body_index("thigh1")] + 0.05


def test_footholds_make_an_inverted_pendulum_walk_at_the_speed():
    """The plan moves the feet of a linear inverted pendulum, x'' = w^2 (x - p), solved exactly."""
    walker, height, tick = legged(kt.zoo.spatial_biped()), 0.8, 0.002
    balance, w = Balance(walker, GaitNumbers(0.15)), math.sqrt(G / height)
    walk, bodies = (x.view(np.recarray) for x in (balance._walk, balance._bodies))
    walk, feet = walk[0], [bodies[0], bodies[1]]
    x, v = np.zeros(2), np.zeros(2)
    where, rows = [], 3000
    feet[0].x[:], feet[1].x[:] = (0.0, 0.1, 0.0), (0.0, -0.1, 0.0)
    for k in range(rows):
        walk.center[:], walk.velocity[:] = (*x, height), (*v, 0.0)
        swinging = feet[1 - walk.group]
        for foot, side in zip(feet, (1, -1), strict=True):
            foot.hip[:], foot.force = (x[0], x[1] + side * 0.05, 0.88), 0.0
        if walk.begun and walk.phase > walk.period:
            swinging.force = 1e3
            swinging.x[:2] = walk.foothold
        plan(walk, bodies, k * tick)  # the compiled function's source
        p = feet[walk.group].x[:2]
        c, s = math.cosh(w * tick), math.sinh(w * tick)
        x, v = p + (x - p) * c + v / w * s, (x - p) * w * s + v * c
        where.append(x.copy())
    speed = (where[-1][0] - where[rows // 2][0]) / (tick * (rows - 1 - rows // 2))
    assert speed == pytest.approx(0.15 * math.sqrt(G * walker.leg), rel=0.06)
    assert np.ptp(np.array(where)[rows // 2 :, 1]) < 0.15 and walk.steps > 10


def unlike_legs():
    """A biped with a knee in one leg only."""
    build = kt.Builder("unlike")
    trunk = build.world.free("base").body("trunk", kt.Inertia.box(5.0, (0.2, 0.2, 0.2)))
    for side, y in (("left", 0.1), ("right", -0.1)):
        leg = trunk.universal(f"{side}_hip", sequence="XY", at=(0, y, 0)).body(
            f"{side}_thigh", kt.Inertia.rod(1.0, end=(0, 0, -0.4))
        )
        if side == "left":
            leg = leg.revolute("knee", axis="y", at=(0, 0, -0.4)).body(
                "shank", kt.Inertia.rod(1.0, end=(0, 0, -0.4))
            )
        leg.contact(f"{side}_foot", at=(0, 0, -0.4 if side == "left" else -0.7))
    return build.build()


def walked(robot, law, duration=2.4, ground=SOIL):
    run = kt.simulate(
        robot, law.start(robot), duration=duration, controller=law, ground=ground,
        method="radau", rtol=1e-3, atol=1e-5, times=25,
    )  # fmt: skip
    walker = legged(robot)
    pose = kt.forward_kinematics(robot, run.q.values)
    k = robot.body_index(walker.trunk)
    trunk = pose.position[:, k]
    return run, trunk @ walker.axes[0], trunk @ walker.axes[-1], pose.rotation[:, k]


@pytest.mark.parametrize("make", [kt.zoo.spatial_biped, lambda: random_robot("five_link", 3)])
def test_it_walks_and_stays_up(make):
    robot = make()
    run, ahead, height, rotation = walked(robot, WalkingLaw())
    assert height.min() > 0.9 * height[0] and ahead[-1] > 0.3
    tilt = np.arccos(np.clip((np.trace(rotation @ rotation[0].T, axis1=1, axis2=2) - 1) / 2, -1, 1))
    assert tilt.max() < 0.2
    weight = robot.mass * G
    half = run.contact_force.values[12:].sum(axis=1) @ legged(robot).axes[-1]
    assert half.mean() == pytest.approx(weight, rel=0.15)
    assert np.abs(run.tau.values).max() < 0.8 * weight * legged(robot).leg


@pytest.mark.parametrize("kind", ["planar_biped", "quadruped", "hexapod"])
def test_robots_of_the_templates_walk_with_other_sizes(kind):
    """Lengths and masses changed by up to 30 %; more of them in benchmarks.walkers."""
    robot = random_robot(kind, 1)
    run, ahead, height, _ = walked(robot, WalkingLaw(), duration=2.0)
    assert run.passed, run.messages
    assert height.min() > 0.9 * height[0]
    speed = (0.1 if kind == "planar_biped" else 0.15) * math.sqrt(G * legged(robot).leg)
    assert 0.5 * speed < ahead[-1] / 2.0 < 1.3 * speed
    assert run.statistics["walk_steps"] >= 4 and 0.0 < run.statistics["torque_share"] < 1.0


def test_legs_swing_in_groups_of_neighbors():
    quadruped, hexapod = legged(kt.zoo.quadruped()), legged(kt.zoo.hexapod())
    for walker, count in ((quadruped, 2), (hexapod, 3)):
        hips = kt.forward_kinematics(walker.mechanism, walker.upright)
        for group in walker.groups:
            places = [hips.position[walker.mechanism.body_index(walker.feet[k].hip)] for k in group]
            assert len(group) == count
            sides = [np.sign(place[1]) for place in places]
            assert abs(sum(sides)) == count % 2  # diagonal legs of four; two of one side, one of the other
            assert len({round(place[0], 6) for place in places}) == count


def reading(robot, ground, q, qd):
    """What the law feels of the ground in a state."""
    found = kt.simulation.contact_forces(robot, ground, q, qd)
    return ContactReading(found.names, found.force, found.penetration, found.velocity)


@pytest.mark.parametrize("name", [*ROBOTS, "quadruped", "hexapod"])
def test_the_compiled_law_equals_the_one_in_numpy(name):
    """Tick by tick over a step and a half, a push, a turn and a change of speed."""
    robot = ROBOTS[name]() if name in ROBOTS else getattr(kt.zoo, name)()
    walker, period = legged(robot), 0.008
    unit = math.sqrt(G * walker.leg)
    turn = 0.0 if walker.is_planar else 0.3
    law = WalkingLaw(
        [[0.0, 0.1 * unit], [1.0, 0.2 * unit]], heading=[[0.0, 0.0], [1.0, turn]] if turn else 0.0
    )
    balance = law.balance(robot)
    reference = ReferenceLaw(
        walker, law._gait(walker), lambda t: np.interp(t, [0, 1], [0.1, 0.2]) * unit, lambda t: turn * t
    )
    q, qd = law.start(robot), np.zeros(robot.n_dof)
    run = kt.simulation.Simulator(
        robot, period, torque=np.zeros(robot.n_dof), ground=SOIL, times=2, method="radau", rtol=1e-3,
        atol=1e-5,
    )  # fmt: skip
    push = np.array([0.3, 0.0] if walker.is_planar else [0.2, 0.9, 0.0])
    for k in range(72):
        if k in (20, 50):
            qd[walker.moving[: len(push)]] += push if k == 20 else -push
        felt = reading(robot, SOIL, q, qd)
        tau, expected = balance(k * period, q, qd, felt), reference(k * period, q, qd, felt)
        most = balance.most
        np.testing.assert_allclose(
            tau, np.clip(expected, -most, most), rtol=1e-6, atol=1e-8 * most.max(), err_msg=f"tick {k}"
        )
        motion = run.run(q, qd, torque=tau)
        q, qd = motion.q[-1].copy(), motion.qd[-1].copy()
    assert balance.steps == reference.steps >= 1


@pytest.mark.parametrize(
    ("ground", "law", "first", "advice"),
    [
        (
            kt.Ground(kt.simulation.Soil(stiffness=2e4, friction=0.03)),
            WalkingLaw(),
            "a foot slipped first",
            "more ground friction",
        ),
        (SOIL, WalkingLaw(limits=4.0), "a joint reached its torque limit first", "stronger joints"),
    ],
)
def test_a_fall_is_explained_and_ends_the_motion(ground, law, first, advice):
    robot = random_robot("quadruped", 1)
    with pytest.warns(kt.simulation.VerdictWarning) as warned:
        run, *_ = walked(robot, law, duration=3.0, ground=ground)
    assert any("the robot fell" in str(x.message) for x in warned)
    check = run.audit["walk"]
    assert not check.passed and not run.passed and run.stopped_at < 3.0
    assert first in check.sentence and advice in check.sentence and check.sentence in run.messages
    assert f"fell at t = {run.stopped_at:.3g} s" in check.sentence


def test_heading_and_speed_follow_tables():
    """A quarter of a turn to the left within 3 s, then a stop; the path is that of a unicycle."""
    robot = random_robot("quadruped", 1)
    law = WalkingLaw([[0.0, 0.3], [4.0, 0.3], [4.5, 0.0]], heading=[[1.0, 0.0], [4.0, math.pi / 2]])
    run, _, _, rotation = walked(robot, law, duration=6.0)
    assert run.passed, run.messages
    yaw = math.atan2(rotation[-1][1, 0], rotation[-1][0, 0])
    assert yaw == pytest.approx(math.pi / 2, abs=0.15)
    t = np.linspace(0.0, 6.0, 6001)
    speed = np.interp(t, [0.0, 4.0, 4.5], [0.3, 0.3, 0.0])
    course = np.interp(t, [1.0, 4.0], [0.0, math.pi / 2])
    path = np.trapezoid(speed * np.array([np.cos(course), np.sin(course)]), t, axis=1)
    np.testing.assert_allclose(run.q.values[-1, :2], path, atol=0.2)
    late = run.qd.values[-5:, :2]
    assert np.abs(late.mean(axis=0)).max() < 0.06


def test_the_same_walk_twice():
    robot, law = kt.zoo.spatial_biped(), WalkingLaw(0.3, noise=(1e-4, 1e-3), seed=5)
    first, second = (walked(robot, law, duration=0.2)[0] for _ in range(2))
    np.testing.assert_array_equal(first.q.values, second.q.values)


@each(
    ("make", "message"),
    [
        (lambda: WalkingLaw(height=1.2), r"height must be between 0\.5 and 0\.97, got 1\.2"),
        (lambda: WalkingLaw(period=0.0), "period"),
        (lambda: WalkingLaw([[1.0, 0.2], [0.5, 0.0]]), r"times of speed must ascend, got \[1\.0, 0\.5\]"),
        (lambda: WalkingLaw(heading=[1.0, 2.0]), r"heading must be a number, rows .* got shape \(2,\)"),
        (lambda: WalkingLaw(legs=[1, 2]), r"legs must be two or more Leg"),
        (lambda: WalkingLaw(heading=1.0).sampled(kt.zoo.planar_biped()), "moves in a plane"),
        (lambda: WalkingLaw().start(kt.zoo.biped_fixed()), "has one leg .* walking needs two or more"),
        (lambda: WalkingLaw().start(unlike_legs()), "legs of 'unlike' are of different kinds.*has 2 degrees"),
        (lambda: WalkingLaw(model="robot"), "model must be a Mechanism"),
        (lambda: WalkingLaw().start(kt.zoo.kuka_kr5()), "has no contact points, so it has no feet"),
        (
            lambda: WalkingLaw(forward=(0, 0, 1)).start(kt.zoo.spatial_biped()),
            "forward must have a horizontal",
        ),
        (lambda: WalkingLaw(9.0).sampled(kt.zoo.spatial_biped()), r"must be within 1\.57 m/s .* got 9 m/s"),
    ],
)
def test_what_cannot_walk_is_refused(make, message):
    with pytest.raises(kt.KinetreeError, match=message):
        make()


def test_a_law_needs_a_ground():
    robot = kt.zoo.spatial_biped()
    with pytest.raises(kt.KinetreeError, match="needs a ground"):
        kt.simulate(robot, WalkingLaw().start(robot), duration=0.01, controller=WalkingLaw())


def test_it_is_a_sampled_law():
    running = WalkingLaw(0.2, delay=0.004).sampled(kt.zoo.spatial_biped())
    assert running.period == 0.004 and isinstance(
        WalkingLaw(0.2)._sampled_law(lambda t, q, qd: 0), SampledLaw
    )


def test_legs_that_move_in_planes_only_are_not_asked_to_step_sideways():
    """Six such legs still stand on three feet at a time: a push to the right of 0.1 sqrt(g L) is survived."""
    robot = kt.zoo.hexapod()
    walker = legged(robot)
    assert not walker.steps_sideways and legged(kt.zoo.quadruped()).steps_sideways
    jump = -0.1 * math.sqrt(G * walker.leg) * walker.lateral
    pushed = walk(Trial("push to the right", robot, SOIL, steps=14, push=(0.0, jump)))
    assert not pushed.fell and pushed.steps == 14, pushed.why
    assert pushed.share < 0.6


def biped(*, rim=False, neck=None, knee=(0.0, 2.6)):
    """A biped of 0.8 m legs: feet with a rim above the sole, a neck of some inertia, limits of its joints."""
    build = kt.Builder("own_biped")
    trunk = build.world.free("base").body(
        "trunk", kt.Inertia.box(20.0, (0.1, 0.24, 0.5), center=(0, 0, 0.25))
    )
    if neck is not None:
        head = kt.Inertia(1e-9, (0, 0, 0), neck * np.eye(3))
        trunk.revolute("neck", axis="z", at=(0, 0, 0.5)).body("head", head)
    for side, y in (("left", 0.1), ("right", -0.1)):
        thigh = trunk.spherical(f"{side}_hip", sequence="ZXY", at=(0, y, 0)).body(
            f"{side}_thigh", kt.Inertia.rod(3.0, end=(0, 0, -0.4))
        )
        joint = thigh.revolute(f"{side}_knee", axis="y", at=(0, 0, -0.4), lower=knee[0], upper=knee[1])
        shank = joint.body(f"{side}_shank", kt.Inertia.rod(2.0, end=(0, 0, -0.4)))
        pitch = shank.revolute(f"{side}_pitch", axis="y", at=(0, 0, -0.4))
        link = pitch.body(f"{side}_link", kt.Inertia.sphere(0.1, 0.02))
        foot = link.revolute(f"{side}_roll", axis="x").body(
            f"{side}_foot", kt.Inertia.box(0.7, (0.2, 0.1, 0.02), center=(0.02, 0, -0.04))
        )
        for k, (x, v) in enumerate(((0.12, 0.05), (0.12, -0.05), (-0.08, 0.05), (-0.08, -0.05))):
            foot.contact(f"{side}_{k}", at=(x, v, -0.05))
        if rim:  # the edge of a toe cap
            for k, v in enumerate((-0.05, -0.02, 0.03)):
                foot.contact(f"{side}_rim{k}", at=(0.13, v, -0.035))
    return build.build()


def test_a_sole_is_the_face_below_a_foot_and_stands_level():
    plain, rimmed = legged(biped()), legged(biped(rim=True))
    for a, b in zip(plain.feet, rimmed.feet, strict=True):
        np.testing.assert_allclose(b.points, a.points)
    start = WalkingLaw().start(rimmed.mechanism)
    np.testing.assert_allclose(start, WalkingLaw().start(plain.mechanism), atol=1e-9)
    pose = kt.forward_kinematics(rimmed.mechanism, start)
    assert abs(pose.of("left_foot")[0][2, 2] - 1.0) < 1e-12


def test_a_joint_that_moves_no_inertia_is_named_before_the_walk():
    with pytest.raises(kt.errors.ModelError, match=r"joint 'neck' moves no inertia.* neck = [0-9.e-]+ }"):
        legged(biped(neck=1e-17))
    assert len(legged(biped(neck=1e-6)).feet) == 2


def test_limits_that_prevent_a_stance_are_named():
    said = r"joints prevent it: '\w*_knee' would have to be at 0\.9\d*, but its limits are 0 and 0.05"
    with pytest.raises(kt.errors.ModelError, match=said):
        WalkingLaw().start(biped(knee=(0.0, 0.05)))


def test_a_biped_whose_knees_bend_backwards_faces_that_way():
    for knee, expected in (((0.0, 2.6), False), ((-2.6, 0.0), True)):
        robot = biped(knee=knee)
        assert faces_back(legged(robot), WalkingLaw().start(robot)) == expected
        assert ("forward = [-1, 0, 0]" in "\n".join(walking_lines("a", "a.toml", 1.0, robot))) == expected
