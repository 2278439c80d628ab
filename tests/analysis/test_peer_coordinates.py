"""States of Pinocchio and MuJoCo in Kinetree's coordinates and back: the same poses, the same velocities."""

import numpy as np
import pytest

import kinetree as kt

pytestmark = pytest.mark.peers
INERTIAL = (
    '<inertial><origin xyz="0.1 0 0"/><mass value="2"/>'
    '<inertia ixx="0.1" iyy="0.2" izz="0.15" ixy="0.01" ixz="0" iyz="0"/></inertial>'
)
TREE = {  # joint: kind, parent, child; the file's order is not Pinocchio's
    "zeta": ("revolute", "base", "a"),
    "beta": ("continuous", "base", "b"),
    "alpha": ("prismatic", "b", "c"),
    "gamma": ("continuous", "a", "d"),
    "drift": ("planar", "c", "e"),
}


LIMIT = '<limit lower="-2" upper="2" effort="1" velocity="1"/>'


def joint(name, kind, parent, child):
    moving = '<axis xyz="0 0 1"/>' if kind == "planar" else f'<axis xyz="0 0.6 0.8"/>{LIMIT}'
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="0.3 0.1 0" rpy="0.2 0.3 0.1"/>{moving}</joint>'
    )


@pytest.fixture
def urdf(tmp_path):
    links = "".join(f'<link name="{name}">{INERTIAL}</link>' for name in ("base", *"abcde"))
    joints = "".join(joint(name, *rest) for name, rest in TREE.items())
    path = tmp_path / "tree.urdf"
    path.write_text(f'<robot name="tree">{links}{joints}</robot>')
    return path


def random(model, pin, rng):
    q = pin.randomConfiguration(model, -np.ones(model.nq), np.ones(model.nq))
    return q, rng.normal(size=model.nv)


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("named", [False, True])
def test_pinocchio(urdf, floating, named):
    pin = pytest.importorskip("pinocchio")
    root = [pin.JointModelFreeFlyer()] if floating else []
    model = pin.buildModelFromUrdf(str(urdf), *root)
    robot = kt.load(urdf, floating_base=floating)
    data, rng = model.createData(), np.random.default_rng(3)
    names = list(model.names)
    joints = names if named else None
    states = [random(model, pin, rng) for _ in range(4)]
    qpos, qvel = (np.array(x) for x in zip(*states, strict=True))
    q, qd = kt.coordinates_from(robot, "pinocchio", qpos, qvel, joints=joints)
    assert np.allclose(q, kt.coordinates_from(robot, "pinocchio", qpos, joints=joints))
    pose, velocity = kt.forward_kinematics(robot, q), kt.body_velocities(robot, q, qd)
    for k, (x, v) in enumerate(states):
        pin.forwardKinematics(model, data, x, v)
        pin.updateFramePlacements(model, data)
        for n, body in enumerate(robot.body_names):
            frame = model.getFrameId(body)
            assert np.allclose(data.oMf[frame].homogeneous[:3, 3], pose.position[k, n], atol=1e-12)
            assert np.allclose(data.oMf[frame].rotation, pose.rotation[k, n], atol=1e-12)
            twist = pin.getFrameVelocity(model, data, frame, pin.LOCAL_WORLD_ALIGNED).vector
            assert np.allclose(twist, velocity[k, n], atol=1e-11)
    back, speed = kt.coordinates_to(robot, "pinocchio", q, qd, joints=joints)
    assert all(pin.isSameConfiguration(model, a, b, 1e-9) for a, b in zip(back, qpos, strict=True))
    assert np.allclose(speed, qvel, atol=1e-10)


FLOATING = """<mujoco><option><flag contact="disable"/></option><worldbody>
<body name="trunk" pos="0.1 0.2 1" quat="0.9 0.1 0.3 0.2"><freejoint name="base"/><geom size="0.1"/>
 <body name="arm" pos="0.2 0 0" euler="10 20 30"><joint name="ball" type="ball"/>
  <geom size="0.05" pos="0.1 0 0"/>
  <body name="hand" pos="0.3 0 0"><joint name="wrist" axis="0 1 1" ref="20"/>
   <joint name="reach" type="slide"/><geom size="0.05"/></body></body></body></worldbody></mujoco>"""


def test_mujoco(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    file = tmp_path / "floating.xml"
    file.write_text(FLOATING)
    model = mujoco.MjModel.from_xml_path(str(file))
    robot = kt.load(file)
    data, rng = mujoco.MjData(model), np.random.default_rng(5)
    for _ in range(4):
        mujoco.mj_integratePos(model, data.qpos, rng.normal(size=model.nv), 0.7)
        data.qvel[:] = rng.normal(size=model.nv)
        mujoco.mj_forward(model, data)
        q, qd = kt.coordinates_from(robot, "mujoco", data.qpos, data.qvel)
        pose, velocity = kt.forward_kinematics(robot, q), kt.body_velocities(robot, q, qd)
        for body in ("trunk", "arm", "hand"):
            R, p = pose[body]
            assert np.allclose(p, data.body(body).xpos, atol=1e-12)
            assert np.allclose(R.ravel(), data.body(body).xmat, atol=1e-12)
            twist = np.zeros(6)
            kind = mujoco.mjtObj.mjOBJ_XBODY
            mujoco.mj_objectVelocity(model, data, kind, model.body(body).id, twist, 0)
            k = robot.body_index(body)
            assert np.allclose(velocity[k], np.r_[twist[3:], twist[:3]], atol=1e-11)
        back, speed = kt.coordinates_to(robot, "mujoco", q, qd)
        signs = [np.sign(back[3] * data.qpos[3]), np.sign(back[7] * data.qpos[7])]
        expected = np.r_[data.qpos[:3], signs[0] * data.qpos[3:7], signs[1] * data.qpos[7:11], data.qpos[11:]]
        assert np.allclose(back, expected, atol=1e-12) and np.allclose(speed, data.qvel, atol=1e-10)


def test_mimics_are_filled_in_and_left_out():
    build = kt.Builder("fingers")
    rod = kt.Inertia.rod(1.0, end=(0.1, 0, 0))
    build.world.revolute("left", lower=-1, upper=1).body("a", rod)
    build.world.revolute("right", mimic=kt.model.Mimic("left", -2.0, 0.5), lower=-1, upper=1).body("b", rod)
    hand = build.build()
    qpos, qvel = kt.coordinates_to(hand, "mujoco", [0.3], [1.0])
    assert np.allclose(qpos, [0.3, -0.1]) and np.allclose(qvel, [1.0, -2.0])
    assert kt.coordinates_from(hand, "mujoco", qpos).tolist() == [0.3]


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        (("drake", np.zeros(6)), {}, "unknown library 'drake'"),
        (("mujoco", np.zeros(7)), {}, "qpos must have 6 numbers in its last axis, got shape"),
        (("mujoco", np.zeros(6), np.zeros(3)), {}, "qvel must have 6 numbers"),
        (("mujoco", np.full(6, np.nan)), {}, "qpos must be finite"),
        (("pinocchio", np.zeros(12)), {}, "cosine and sine of joint 'joint1' must have length 1, got 0"),
        (("mujoco", np.zeros(6)), {"joints": ["joint1"]}, "joints must name every joint once; missing"),
        (("mujoco", np.zeros(6)), {"joints": ["elbow"]}, "unknown joint 'elbow'"),
    ],
)
def test_bad_input(arguments, options, said):
    with pytest.raises(kt.errors.InputError, match=said):
        kt.coordinates_from(kt.zoo.kuka_kr5(), *arguments, **options)


def test_the_length_tells_how_joints_without_limits_are_kept():
    build = kt.Builder("wheels")
    left = build.world.revolute("left").body("left_wheel", kt.Inertia.sphere(1.0, 0.1))
    left.revolute("right", at=(1, 0, 0)).body("right_wheel", kt.Inertia.sphere(1.0, 0.1))
    wheels = build.build()
    q = [0.3, -2.0]
    np.testing.assert_allclose(
        kt.coordinates_to(wheels, "pinocchio", q), [np.cos(0.3), np.sin(0.3), np.cos(2.0), -np.sin(2.0)]
    )
    assert kt.coordinates_to(wheels, "pinocchio", q, nq=2).tolist() == q
    with pytest.raises(kt.errors.InputError, match="nq must be 4 for these joints, got 3"):
        kt.coordinates_to(wheels, "pinocchio", q, nq=3)
