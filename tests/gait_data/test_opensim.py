"""Coordinates of OpenSim's gait models: where they put hips and knees, and the way back from their files."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kinetree as kt
from kinetree.errors import FileError, InputError
from kinetree.gait_analysis import human_coordinates, opensim_coordinates, read_opensim
from kinetree.gait_data.opensim import opensim_motion
from kinetree.result.build import build_result

HIP = np.array([-0.056276, -0.07849, 0.07726])  # of the right leg in the pelvis of Rajagopal et al. (2016)
PELVIS = ("pelvis_tilt", "pelvis_list", "pelvis_rotation")


def posed(person, q):
    time = np.arange(float(len(q)))
    return build_result("simulate", person, {"time": time, "q": q, "qd": 0.0 * q})


def in_opensim(place):
    """x forward, y up, z to the right."""
    return np.stack([place[..., 0], place[..., 2], -place[..., 1]], axis=-1)


def hips(person, q):
    poses = kt.forward_kinematics(person, q)
    return 0.5 * (poses["right_thigh"][1] + poses["left_thigh"][1])


@pytest.mark.parametrize(("sex", "stature"), [("male", 1.70), ("female", 1.55), ("male", 1.95)])
def test_the_hips_of_opensim_are_those_of_the_person(rng, sex, stature):
    """x = p + Rz(tilt) Rx(list) Ry(rotation) s h, with the hips h of that model, scaled to the stature."""
    person = kt.zoo.human(sex, stature, 22.0 * stature**2)
    q = 0.4 * rng.standard_normal((4, person.n_dof))
    found = opensim_coordinates(posed(person, q))
    turn = Rotation.from_euler("ZXY", np.stack([found[x] for x in PELVIS], axis=1), degrees=True)
    place = np.stack([found[f"pelvis_t{axis}"] for axis in "xyz"], axis=1)
    middle = stature / 1.70 * HIP * [1.0, 1.0, 0.0]
    np.testing.assert_allclose(place + turn.apply(middle), in_opensim(hips(person, q)), atol=6e-4)


def test_other_models_may_have_another_origin():
    person = kt.zoo.human()
    still = posed(person, np.zeros((1, person.n_dof)))
    found = [opensim_coordinates(still, origin=x) for x in ((0.0, 0.0), (0.07, 0.09))]
    for name, apart in (("pelvis_tx", 0.07), ("pelvis_ty", 0.09), ("pelvis_tz", 0.0)):
        assert found[1][name][0] - found[0][name][0] == pytest.approx(apart, abs=1e-12)
    with pytest.raises(InputError, match="origin of the pelvis"):
        opensim_coordinates(still, origin=[0.1])


@pytest.mark.parametrize("root", [None, "left_foot"])
def test_a_motion_file_gives_the_motion_back(tmp_path, rng, root):
    person = kt.zoo.human("female", 1.63, 60.0)
    person = person if root is None else person.rooted_at(root, sequence="ZXY")
    q = 0.3 * rng.standard_normal((3, person.n_dof))
    for k, name in enumerate(person.joint_names):  # what these models have
        if name.startswith(("neck", "head", "left_clavicle", "right_clavicle")) or "wrist" in name:
            q[:, k] = 0.0
        if name.startswith(("waist", "chest", "thorax")):
            q[:, k] = q[:, person.joint_index(f"lumbar.{name.partition('.')[2]}")]
    written = tmp_path / "step.mot"
    written.write_text(opensim_motion(posed(person, q)))
    table = read_opensim(written)
    assert table.degrees and table.time.tolist() == [0.0, 1.0, 2.0]
    back = human_coordinates(
        person, table.columns | {"knee_angle_r_beta": np.zeros(3)}, degrees=table.degrees
    )
    before, after = (kt.forward_kinematics(person, x).position for x in (q, back))
    np.testing.assert_allclose(after, before, atol=1e-9)


def test_bad_tables_are_refused(tmp_path):
    person, file = kt.zoo.human(), tmp_path / "x.mot"
    for text, message in (
        ("time a\n0 1\n", "a line 'endheader'"),
        ("endheader\nt a\n0 1\n", "line 2: is not a header"),
        ("endheader\ntime a a\n0 1 2\n", "different names"),
        ("endheader\ntime a\n0 1\n1\n", "line 4: 2 numbers are needed, found 1"),
        ("endheader\ntime a\n0 x\n", "line 3: must be numbers"),
        ("endheader\ntime a\n0 nan\n", "line 3: numbers must be finite"),
    ):
        file.write_text(text)
        with pytest.raises(FileError, match=message):
            read_opensim(file)
    with pytest.raises(InputError, match="equally many numbers"):
        human_coordinates(person, {"knee_angle_r": [1.0, 2.0], "knee_angle_l": [1.0]})
    with pytest.raises(InputError, match="got wrist_flex_r"):
        human_coordinates(person, {"wrist_flex_r": [1.0]})
    with pytest.raises(InputError, match="is not a human"):
        human_coordinates(kt.zoo.two_link(), {"knee_angle_r": [1.0]})


ANGLES = (PELVIS, ("hip_flexion_r", "hip_adduction_r", "hip_rotation_r"))
WAYS = ("pelvis_tx", "pelvis_ty", "pelvis_tz")


def osim_joint(name, parent, place, child, angles, ways):
    """A joint as Rajagopal et al. (2016) have it: three rotations about z, x and y, and three ways."""
    axes = [("rotation1", "0 0 1"), ("rotation2", "1 0 0"), ("rotation3", "0 1 0")]
    axes += [("translation1", "1 0 0"), ("translation2", "0 1 0"), ("translation3", "0 0 1")]
    moves = [*angles, *(ways or (None, None, None))]
    transform = "".join(
        f'<TransformAxis name="{axis}"><coordinates>{move or ""}</coordinates><axis>{way}</axis>'
        + (
            '<LinearFunction name="function"><coefficients>1 0</coefficients></LinearFunction>'
            if move
            else '<Constant name="function"><value>0</value></Constant>'
        )
        + "</TransformAxis>"
        for (axis, way), move in zip(axes, moves, strict=True)
    )
    coordinates = "".join(f'<Coordinate name="{x}"><range>-99 99</range></Coordinate>' for x in moves if x)
    frames = "".join(
        f'<PhysicalOffsetFrame name="{x}_of_{name}"><socket_parent>{path}</socket_parent>'
        f"<translation>{' '.join(map(str, at))}</translation></PhysicalOffsetFrame>"
        for x, path, at in (("parent", parent, place), ("child", child, (0, 0, 0)))
    )
    return (
        f'<CustomJoint name="{name}"><socket_parent_frame>parent_of_{name}</socket_parent_frame>'
        f"<socket_child_frame>child_of_{name}</socket_child_frame><coordinates>{coordinates}</coordinates>"
        f"<frames>{frames}</frames><SpatialTransform>{transform}</SpatialTransform></CustomJoint>"
    )


def test_opensim_puts_hip_and_knee_where_they_are(tmp_path, rng):
    """A pelvis and a thigh with joints as in Rajagopal et al. (2016), posed by OpenSim itself."""
    osim = pytest.importorskip("opensim", reason="the peer 'opensim' is missing (pip install opensim)")
    person = kt.zoo.human("male", 1.70, 75.0)
    poses = kt.forward_kinematics(person, np.zeros(person.n_dof))
    side = 0.5 * (poses["left_thigh"][1] - poses["right_thigh"][1])[1]
    thigh = np.linalg.norm(poses["right_thigh"][1] - poses["right_shank"][1])
    solid = "<mass>1</mass><mass_center>0 0 0</mass_center><inertia>1 1 1 0 0 0</inertia>"
    bodies = "".join(f'<Body name="{name}">{solid}</Body>' for name in ("pelvis", "femur_r"))
    joints = osim_joint("base", "/ground", (0, 0, 0), "/bodyset/pelvis", ANGLES[0], WAYS)
    joints += osim_joint(
        "hip_r", "/bodyset/pelvis", (HIP[0], HIP[1], side), "/bodyset/femur_r", ANGLES[1], None
    )
    file = tmp_path / "legs.osim"
    file.write_text(
        '<?xml version="1.0"?><OpenSimDocument Version="40000"><Model name="legs">'
        f"<BodySet><objects>{bodies}</objects></BodySet><JointSet><objects>{joints}</objects></JointSet>"
        "</Model></OpenSimDocument>"
    )
    model = osim.Model(str(file))
    state = model.initSystem()
    q = 0.4 * rng.standard_normal((1, person.n_dof))
    found = opensim_coordinates(posed(person, q))
    for name in (*ANGLES[0], *ANGLES[1], *WAYS):
        value = float(found[name][0]) * (1.0 if name in WAYS else np.pi / 180.0)
        model.getCoordinateSet().get(name).setValue(state, value, False)
    model.realizePosition(state)
    poses, femur = kt.forward_kinematics(person, q), model.getBodySet().get("femur_r")
    for at, ours in ((0.0, "right_thigh"), (-thigh, "right_shank")):
        theirs = femur.findStationLocationInGround(state, osim.Vec3(0.0, at, 0.0))
        np.testing.assert_allclose(
            [theirs.get(k) for k in range(3)], in_opensim(poses[ours][1][0]), atol=2e-5
        )
