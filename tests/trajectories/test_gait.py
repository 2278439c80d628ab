"""Walking robots: feet where they were designed to be, steps that join, and the book's own numbers."""

from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
import kinetree.trajectories as tr
from kinetree.analysis.legs import walking_axes
from kinetree.analysis.moment_point import zero_moment_point
from kinetree.errors import InputError, ModelError
from kinetree.formats.toml_file import mechanism_from_toml
from kinetree.study.new_walker import walker_text
from kinetree.trajectories import GaitParameters, legged_gait
from kinetree.trajectories.legs import standing_posture
from support.reference import read

STEPS = 4
ROBOTS = {
    "planar_biped": (kt.zoo.planar_biped, tr.biped_gait, 0.3),
    "spatial_biped": (kt.zoo.spatial_biped, tr.biped_gait, 0.3),
    "quadruped": (kt.zoo.quadruped, tr.trot, 0.3),
    "hexapod": (kt.zoo.hexapod, tr.tripod, 0.4),
}
CASES = {case["name"]: case for case in read("ipm_trajectories.json")["cases"]}


@pytest.fixture(params=ROBOTS)
def gait(request):
    make, walk, _ = ROBOTS[request.param]
    return walk(make(), steps=STEPS)


def feet_in_world(gait, q):
    """Positions (k, legs, 3) of the ankles, and attitudes of the bodies that they belong to."""
    poses = kt.forward_kinematics(gait.mechanism, q)
    places = [(*poses[leg.foot_body], leg.foot_point) for leg in gait.geometries]
    return np.stack([p + R @ at for R, p, at in places], axis=1), np.stack([R for R, _, _ in places], axis=1)


def samples(gait, count=60):
    """Times all over the gait, the breaks included."""
    return np.concatenate([np.linspace(0.0, gait.duration, count + 1), gait.breaks])


# ---- the whole robot ----------------------------------------------------------------------------------
def test_feet_follow_their_paths(gait):
    t = samples(gait)
    where, _ = feet_in_world(gait, gait.at(t).q)
    assert np.abs(where - gait.feet.at(t).q.reshape(where.shape)).max() < 1e-12


def test_feet_move_as_their_paths_say(gait):
    """Velocity and acceleration of the feet, from those of the joints by forward kinematics."""
    t = samples(gait)
    state, feet = gait.at(t), gait.feet.at(t)
    twist = kt.body_velocities(gait.mechanism, state.q, state.qd)
    rates = kt.analysis.body_accelerations(gait.mechanism, state.q, state.qd, state.qdd)
    poses = kt.forward_kinematics(gait.mechanism, state.q)
    for n, leg in enumerate(gait.geometries):
        k = gait.mechanism.body_index(leg.foot_body)
        r = poses[leg.foot_body][0] @ leg.foot_point
        w, wd = twist[:, k, 3:], rates[:, k, 3:]
        velocity = twist[:, k, :3] + np.cross(w, r)
        acceleration = rates[:, k, :3] + np.cross(wd, r) + np.cross(w, np.cross(w, r))
        assert np.abs(velocity - feet.qd[:, 3 * n : 3 * n + 3]).max() < 1e-11
        assert np.abs(acceleration - feet.qdd[:, 3 * n : 3 * n + 3]).max() < 1e-9


def test_supporting_feet_stand_still_on_the_ground_and_swinging_ones_are_above(gait):
    up = -gait.mechanism.gravity / np.linalg.norm(gait.mechanism.gravity)
    names = [leg.name for leg in gait.legs]
    for i, phase in enumerate(gait.phases):
        t = np.linspace(phase.begin, phase.end, 21)
        where, _ = feet_in_world(gait, gait.piece(i, t).q)
        height = where @ up
        for name in phase.supporting:
            foot = where[:, names.index(name)]
            assert np.abs(foot - foot[0]).max() < 1e-12 and abs(height[0, names.index(name)]) < 1e-12
        for name in phase.swinging:
            z = height[:, names.index(name)]
            assert np.abs(z[[0, -1]]).max() < 1e-12 and (z[1:-1] > 0).all()
            assert z.max() == pytest.approx(gait.parameters.foot_height, abs=1e-12)


@pytest.mark.parametrize("robot", [kt.zoo.planar_biped, kt.zoo.spatial_biped])
def test_feet_stay_level(robot):
    gait = tr.biped_gait(robot(), steps=STEPS)
    t = samples(gait)
    _, attitude = feet_in_world(gait, gait.at(t).q)
    assert np.abs(attitude - np.eye(3)).max() < 1e-12


def test_the_trunk_advances_by_a_stride_each_step_and_keeps_its_attitude(gait):
    stride = ROBOTS[gait.mechanism.name][2]
    q = gait.at(gait.breaks).q
    assert np.allclose(q[:, 0], -stride / 2 + stride * np.arange(STEPS + 1), atol=1e-12)
    assert np.ptp(gait.at(samples(gait)).q[:, 3:6], axis=0).max() == 0.0


def test_each_swinging_foot_is_carried_two_strides(gait):
    stride = ROBOTS[gait.mechanism.name][2]
    feet = gait.feet.at(gait.breaks).q.reshape(STEPS + 1, -1, 3)[:, :, 0]
    moved = np.diff(feet, axis=0)
    for i in range(STEPS):
        lifted = np.array(gait.groups) != i % 2
        assert np.allclose(moved[i], np.where(lifted, 2 * stride, 0.0), atol=1e-12)


def test_positions_and_velocities_join_from_step_to_step(gait):
    for i, t in enumerate(gait.touch_downs[:-1]):
        end, begin = gait.piece(i, np.array([t])), gait.piece(i + 1, np.array([t]))
        assert np.abs(end.q - begin.q).max() < 1e-12
        assert np.abs(end.qd - begin.qd).max() < 1e-10


def test_after_two_steps_all_but_the_way_repeats(gait):
    t, two = np.linspace(0.0, 2 * gait.parameters.step_time, 30)[:-1], 2 * gait.parameters.step_time
    first, second = gait.at(t), gait.at(t + two)
    way = np.zeros(gait.n_dof)
    way[0] = 2 * gait.parameters.stride
    assert np.abs(second.q - first.q - way).max() < 1e-12
    assert np.abs(second.qdd - first.qdd).max() < 1e-9


def test_groups_take_turns(gait):
    legs = {leg.name for leg in gait.legs}
    for i, phase in enumerate(gait.phases):
        assert set(phase.supporting) | set(phase.swinging) == legs
        assert phase.end == gait.touch_downs[i]
        if i:
            assert (phase.supporting, phase.begin) == (gait.phases[i - 1].swinging, gait.phases[i - 1].end)


# ---- the book's numbers -------------------------------------------------------------------------------
def parameters_of(case):
    return tr.GaitParameters(case["T"], case["x0"], case["y0"], case["z_h"], case["l_s"], case["h_f"])


@pytest.mark.parametrize("name", CASES)
def test_hips_and_ankle_are_those_of_the_reference(name):
    case = CASES[name]
    pendulum, swing = tr.InvertedPendulum(parameters_of(case)), tr.SwingFoot(parameters_of(case))
    hip = case["hip"]
    state, foot = pendulum.at(hip["t"]), swing.at(hip["t"])
    assert pendulum.rate == pytest.approx(hip["w"], rel=1e-14)
    for column, letter in enumerate("xy"):
        for suffix, values in (("", state.q), ("d", state.qd), ("dd", state.qdd)):
            assert np.abs(values[:, column] - hip[letter + suffix]).max() < 2e-13
    assert (
        np.abs(foot.q - np.stack([case["ankle_x"], np.zeros(11), case["ankle_z_corrected"]], axis=1)).max()
        < 1e-14
    )


@pytest.mark.parametrize("leg", ["support_leg", "swing_leg"])
@pytest.mark.parametrize("name", CASES)
def test_leg_angles_are_those_of_the_reference(name, leg):
    case = CASES[name]
    t = case["hip"]["t"]
    hip = tr.InvertedPendulum(parameters_of(case)).at(t).q
    ankle = tr.SwingFoot(parameters_of(case)).at(t).q if leg == "swing_leg" else 0.0
    angles = tr.leg_angles(hip - ankle, case["thigh"], case["shank"])
    for letter in ("theta2", "theta3", "theta4", "theta5", "theta6"):
        assert np.abs(getattr(angles, letter) - case[leg][letter]).max() < 1e-12


@pytest.mark.parametrize("name", ["planar_biped", "quadruped", "hexapod"])
def test_joints_of_the_robots_are_the_angles_of_the_reference(name):
    """Hip pitch -theta3, knee theta4, ankle -theta6 about axes to the left; the biped's to the right."""
    case = CASES.get(name) or CASES["quadruped_tableB2_hf0.09"]
    make, walk, _ = ROBOTS[name]
    robot = make()
    q = walk(robot, steps=1).at(case["hip"]["t"]).q
    sign = -1.0 if name == "planar_biped" else 1.0
    for leg, number in (("support_leg", "1"), ("swing_leg", "2")):
        pitch = "hip" + number + (".ry" if name == "quadruped" else "")
        angle = {key: np.array(case[leg][key]) for key in ("theta3", "theta4", "theta6")}
        assert np.abs(sign * q[:, robot.joint_index(pitch)] + angle["theta3"]).max() < 1e-12
        assert np.abs(sign * q[:, robot.joint_index("knee" + number)] - angle["theta4"]).max() < 1e-12
        if name == "planar_biped":  # whose foot is level when turned by a right angle
            ankle = q[:, robot.joint_index("ankle" + number)] - np.pi / 2
            assert np.abs(sign * ankle + angle["theta6"]).max() < 1e-12


def test_the_spatial_biped_sways_over_its_feet():
    gait = tr.biped_gait(kt.zoo.spatial_biped(), steps=2)
    t = np.linspace(0.0, 1.0, 41)
    y, feet = gait.at(t).q[:, 1], gait.feet.at(t).q.reshape(41, 2, 3)[:, :, 1]
    assert np.allclose(feet, [0.08, -0.08], atol=1e-15)
    left = t <= 0.5
    pendulum = tr.InvertedPendulum(tr.SPATIAL_BIPED).at(t[left]).q[:, 1]
    assert np.abs((y - feet[:, 0])[left] - pendulum).max() < 1e-15  # seen from the supporting ankle
    assert (y[left][1:-1] > 0).all() and (y[~left][:-1] < 0).all()


def test_y0_tells_which_leg_supports_first():
    robot = kt.zoo.spatial_biped()
    right_first = tr.biped_gait(robot, replace(tr.SPATIAL_BIPED, y0=0.08), steps=2)
    left_first = tr.biped_gait(robot, tr.SPATIAL_BIPED, steps=2)
    assert [p.supporting for p in right_first.phases] == [("leg2",), ("leg1",)]
    t = np.linspace(0.0, 1.0, 11)
    assert np.allclose(right_first.at(t).q[:, 1], -left_first.at(t).q[:, 1], atol=1e-15)


def test_the_standing_posture_of_the_planar_biped_is_upright():
    robot = kt.zoo.planar_biped()
    q = standing_posture(robot, tr.named_legs(robot)[0], walking_axes(robot, (1, 0, 0)))
    assert np.allclose(q, [0, 0, 0, 0, 0, -np.pi / 2, *[0] * 6], atol=1e-15)


def test_of_a_point_mass_the_zero_moment_point_is_the_ankle():
    """The pendulum's assumption: with nearly all mass at the hips no moment is left at the foot."""
    robot = kt.Builder("point")
    trunk = robot.world.free("base").body("trunk", kt.Inertia.point(1000.0))
    for leg, y in (("1", 0.05), ("2", -0.05)):
        light = kt.Inertia.point(1e-9, (0, 0, -0.25))
        thigh = trunk.universal("hip" + leg, sequence="XY", at=(0, y, 0)).body("thigh" + leg, light)
        shank = thigh.revolute("knee" + leg, axis="y", at=(0, 0, -0.5)).body("shank" + leg, light)
        shank.contact("foot" + leg, at=(0, 0, -0.5))
    mechanism = robot.build()
    gait = tr.biped_gait(mechanism, tr.SPATIAL_BIPED, steps=2)
    t = np.linspace(0.0, 0.99, 34)
    state = gait.at(t)
    point = zero_moment_point(mechanism, state.q, state.qd, state.qdd)
    feet = gait.feet.at(t).q.reshape(len(t), 2, 3)
    support = np.where((t < 0.5)[:, None], feet[:, 0], feet[:, 1])
    assert np.abs(point - support).max() < 1e-9


# ---- other robots -------------------------------------------------------------------------------------
def test_any_direction_any_gravity_any_ground():
    """The quadruped turned with its world walks the same steps."""
    robot, R = kt.zoo.quadruped(), np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])  # x to y, y to z, z to x
    base = replace(robot.links[0], placement=kt.Placement.at((0, 0, 0), R))
    turned = kt.Mechanism("turned", (base, *robot.links[1:]), R @ robot.gravity, (), robot.contact_points)
    plain = tr.trot(robot, steps=2)
    gait = tr.legged_gait(turned, tr.QUADRUPED, 2, forward=(0, 1, 0), ground_height=0.2)
    t = np.linspace(0.0, 2.0, 9)
    lifted = plain.at(t).q + np.array([0, 0, 0.2, *[0] * 15])
    assert np.abs(gait.at(t).q - lifted).max() < 1e-12
    feet = plain.feet.at(t).q.reshape(-1, 4, 3) + np.array([0, 0, 0.2])
    assert np.abs(gait.feet.at(t).q.reshape(-1, 4, 3) - feet @ R.T).max() < 1e-12


def test_knees_may_point_to_the_rear_and_groups_may_be_given():
    robot = kt.zoo.quadruped()
    legs = [replace(leg, knee_to="rear" if k > 1 else "front") for k, leg in enumerate(tr.named_legs(robot))]
    gait = tr.legged_gait(robot, tr.QUADRUPED, 2, legs=legs, groups=[1, 0, 1, 0])  # a pace
    t = samples(gait)
    q = gait.at(t).q
    where, _ = feet_in_world(gait, q)
    assert np.abs(where - gait.feet.at(t).q.reshape(where.shape)).max() < 1e-12
    assert (q[:, robot.joint_index("knee1")] > 0).all() and (q[:, robot.joint_index("knee3")] < 0).all()
    assert gait.phases[0].supporting == ("leg2", "leg4")


def test_legs_of_other_names_with_high_ankles_and_a_bent_posture():
    """Feet with soles below the ankle, shanks that lean at q = 0, axes that point the other way, arms."""
    robot = kt.Builder("walker")
    box = kt.Inertia.box(1.0, (0.1, 0.1, 0.1))
    trunk = robot.world.free("root", sequence="ZYX").body("pelvis", box)
    trunk.revolute("arm", axis="y").body("arm", box)
    for side, y in (("left", 0.1), ("right", -0.1)):
        hip = trunk.universal(f"{side}_hip", sequence="XY", at=(0.02, y, -0.05)).body(f"{side}_thigh", box)
        shank = hip.revolute(f"{side}_knee", axis="-y", at=(0, 0, -0.45)).body(f"{side}_shank", box)
        foot = shank.universal(f"{side}_ankle", sequence="YX", at=(-0.1, 0, -0.4)).body(f"{side}_foot", box)
        foot.contact(f"{side}_sole", at=(0.05, 0, -0.07))
    mechanism = robot.build()
    legs = [
        tr.Leg(side, f"{side}_hip.ry", f"{side}_knee", (f"{side}_sole",), f"{side}_hip.rx",
               f"{side}_ankle.ry", f"{side}_ankle.rx")
        for side in ("left", "right")
    ]  # fmt: skip
    posture = np.zeros(mechanism.n_dof)
    posture[mechanism.joint_index("arm")] = 0.7
    parameters = tr.GaitParameters(0.6, -0.1, -0.1, 0.85, 0.2, 0.05)
    gait = tr.legged_gait(mechanism, parameters, 3, legs=legs, posture=posture)
    t = samples(gait)
    q = gait.at(t).q
    where, attitude = feet_in_world(gait, q)
    assert np.abs(where - gait.feet.at(t).q.reshape(where.shape)).max() < 1e-12
    assert np.abs(attitude - np.eye(3)).max() < 1e-12
    assert where[:, :, 2].min() == pytest.approx(0.07, abs=1e-12)  # so the soles are on the ground
    assert np.allclose(q[:, mechanism.joint_index("arm")], 0.7)
    hips = kt.forward_kinematics(mechanism, q)["pelvis"][1] + np.array([0.02, 0, -0.05])
    assert np.allclose(hips[:, 2], 0.85, atol=1e-12)


# ---- what cannot walk ---------------------------------------------------------------------------------
def limited_hexapod():
    robot = kt.zoo.hexapod()
    links = [
        replace(x, joint=kt.Joint.of_kind("knee3", "revolute", "y", upper=0.5))
        if x.joint.name == "knee3"
        else x
        for x in robot.links
    ]
    return kt.Mechanism("limited", tuple(links), robot.gravity, (), robot.contact_points)


def skewed_quadruped():
    robot = kt.zoo.quadruped()
    shift = kt.Placement.at((0, 0.05, -0.3))
    links = [replace(x, placement=shift) if x.joint.name == "knee1" else x for x in robot.links]
    return kt.Mechanism("skewed", tuple(links), robot.gravity, (), robot.contact_points)


QUADRUPED, FOUR = kt.zoo.quadruped(), tr.QUADRUPED
SPATIAL, TWO = kt.zoo.spatial_biped(), tr.SPATIAL_BIPED


@pytest.mark.parametrize(
    ("call", "error", "reason"),
    [
        (lambda: replace(FOUR, stride=0.2), InputError, "stride must be -2 x0 = 0.3 m, got 0.2"),
        (lambda: replace(FOUR, height=-1), InputError, "height must be > 0 m, got -1"),
        (lambda: tr.trot(QUADRUPED, replace(FOUR, height=0.58)), InputError, "step 1, leg 'leg2': the"),
        (lambda: tr.trot(QUADRUPED, replace(FOUR, y0=0.1), 0), InputError, "steps must be an integer"),
        (lambda: tr.trot(QUADRUPED, {"stride": 1}), InputError, "parameters must be GaitParameters"),
        (lambda: tr.trot(kt.zoo.hexapod()), InputError, "this gait is for 4 legs; 'hexapod' has 6"),
        (lambda: tr.tripod(kt.zoo.hexapod(), replace(tr.HEXAPOD, y0=0.1)), InputError, "has no hip roll"),
        (lambda: tr.tripod(limited_hexapod()), InputError, "beyond their limits: knee3"),
        (lambda: tr.trot(skewed_quadruped(), replace(FOUR, y0=0.01)), ModelError, "leg 'leg1' misses"),
        (lambda: tr.trot(kt.zoo.gripper()), InputError, "no joints named hip1"),
        (lambda: tr.trot(QUADRUPED.with_gravity((0, 0, 0))), InputError, "no ground to walk on"),
        (lambda: tr.legged_gait(kt.zoo.kuka_kr5(), FOUR, 1), InputError, "no floating base"),
        (lambda: tr.legged_gait(QUADRUPED, FOUR, 1, forward=(0, 0, 1)), InputError, "must be a horizontal"),
        (lambda: tr.legged_gait(QUADRUPED, FOUR, 1, forward=(0, 1, 0)), ModelError, "must rotate about"),
        (lambda: tr.legged_gait(QUADRUPED, FOUR, 1, groups=[0, 0, 0, 0]), InputError, "must give 0 or 1"),
        (lambda: tr.legged_gait(QUADRUPED, FOUR, 1, posture=[0.0]), InputError, "posture must have shape"),
        (lambda: tr.legged_gait(SPATIAL, TWO, 1, groups=[1, 0]), InputError, "would cross the other"),
        (lambda: tr.Leg("l", "hip1.ry", "knee1"), InputError, "its foot is one contact point"),
        (lambda: tr.Leg("l", "h", "k", ("f",), knee_to="up"), InputError, "unknown side 'up'"),
        (
            lambda: tr.legged_gait(QUADRUPED, FOUR, 1, legs=[tr.Leg("l", "hip1.ry", "knee1", ("toe",))]),
            InputError,
            "unknown contact point 'toe'",
        ),
    ],
)  # fmt: skip
def test_refuses(call, error, reason):
    with pytest.raises(error) as refused:
        call()
    assert reason in str(refused.value)


def of_template(kind):
    return mechanism_from_toml(f'name = "{kind}"\n{walker_text(kind)}')


def test_legs_with_names_of_their_own_are_found():
    """Joints are told apart by topology and directions of axes, whatever they are called."""
    gait = legged_gait(of_template("quadruped"), GaitParameters(0.5, -0.08, 0.0, 0.45, 0.16, 0.05), 4)
    assert [leg.hip_pitch for leg in gait.legs][:2] == ["front_left_hip.ry", "front_right_hip.ry"]
    assert gait.phases[0].supporting == ("front_left_shank", "rear_right_shank")
    biped = legged_gait(of_template("biped"), GaitParameters(0.5, -0.1, -0.1, 0.8, 0.2, 0.06), 2)
    assert biped.legs[0].ankle_pitch == "left_ankle.ry" and biped.legs[1].hip_roll == "right_hip.rx"


def test_a_planar_base_counts_as_floating():
    """Feet are where the gait wants them, by forward kinematics; the base moves along x and z."""
    robot = of_template("planar_biped")
    gait = legged_gait(robot, GaitParameters(0.5, -0.1, 0.0, 0.8, 0.2, 0.06), 4)
    t = np.linspace(0.0, 2.0, 41)
    q = gait.at(t).q
    pose = kt.forward_kinematics(robot, q)
    for n, foot in enumerate(("left_foot", "right_foot")):
        place = pose[foot][1][:, [0, 2]]
        np.testing.assert_allclose(place, gait.feet.at(t).q[:, [3 * n, 3 * n + 2]], atol=1e-9)
    assert q[-1, 0] - q[0, 0] == pytest.approx(0.8) and np.ptp(q[:, 1]) < 1e-12
    with pytest.raises(kt.errors.InputError, match="cannot move forward"):
        legged_gait(
            robot, GaitParameters(0.5, -0.1, 0.0, 0.8, 0.2, 0.06), 4, forward=(0, 1, 0), legs=gait.legs
        )
