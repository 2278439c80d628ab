"""Named frames of bodies: asked by name, they answer as an empty body welded there does."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.formats.toml_file import mechanism_from_toml, toml_text

PLACE = kt.Placement.at((0.1, -0.2, 0.05), rpy=(0.3, -0.4, 0.9))


def arm(with_body):
    """Three links, the last with a tool: as a body welded to it, or as a frame."""
    builder = kt.Builder("arm")
    rod = kt.Inertia.rod(2.0, end=(0.4, 0, 0))
    hand = builder.world
    for k, axis in enumerate("zyy"):
        hand = hand.revolute(f"joint{k}", at=(0.4 * (k > 0), 0, 0), axis=axis).body(f"link{k}", rod)
    if with_body:
        hand.fixed("weld", at=PLACE.position, rotation=PLACE.rotation).body("tool")
    else:
        hand.frame("tool", at=PLACE.position, rotation=PLACE.rotation)
    return builder.build()


FRAMED, WELDED = arm(False), arm(True)


@pytest.fixture
def state(rng):
    return kt.random_state(FRAMED, rng, batch=4)


def test_pose_velocity_acceleration_and_jacobian(state):
    q, qd, qdd = state.q, state.qd, state.qdd
    for found, expected in zip(
        kt.forward_kinematics(FRAMED, q).of("tool"), kt.forward_kinematics(WELDED, q)["tool"], strict=True
    ):
        assert np.abs(found - expected).max() < 1e-15
    k = WELDED.body_index("tool")
    twist = kt.body_velocities(FRAMED, q, qd, of="tool")
    assert np.abs(twist - kt.body_velocities(WELDED, q, qd)[:, k]).max() < 1e-14
    acceleration = kt.analysis.body_accelerations(FRAMED, q, qd, qdd, of="tool")
    assert np.abs(acceleration - kt.analysis.body_accelerations(WELDED, q, qd, qdd)[:, k]).max() < 1e-13
    point = (0.01, 0.02, 0.03)
    J = kt.jacobian(FRAMED, q, "tool", point)
    assert np.abs(J - kt.jacobian(WELDED, q, "tool", point)).max() < 1e-15
    assert np.abs((kt.jacobian(FRAMED, q, "tool") @ qd[..., None])[..., 0] - twist).max() < 1e-14
    assert np.array_equal(
        kt.body_velocities(FRAMED, q, qd, of="link1"), kt.body_velocities(FRAMED, q, qd)[:, 1]
    )


def test_wrenches_on_frames(state):
    for frame in ("world", "body"):
        load = kt.Wrench("tool", (1.0, 2.0, 3.0), (0.4, 0.5, 0.6), (0.1, 0.0, 0.2), frame)
        arguments = state.q, state.qd, state.qdd, load
        found, expected = (kt.inverse_dynamics(x, *arguments) for x in (FRAMED, WELDED))
        assert np.abs(found - expected).max() < 1e-13
        slopes = (kt.inverse_dynamics_derivatives(x, *arguments).dtau_dq for x in (FRAMED, WELDED))
        assert np.abs(np.subtract(*slopes)).max() < 1e-13
    one = kt.simulate(FRAMED, state.q[0], duration=0.2, loads=load, progress=False)
    other = kt.simulate(WELDED, state.q[0], duration=0.2, loads=load, progress=False)
    assert np.abs(one.q.values[-1] - other.q.values[-1]).max() < 1e-9


def test_targets_of_inverse_kinematics(rng):
    q = rng.uniform(-1.0, 1.0, 3)
    _, position = kt.forward_kinematics(FRAMED, q).of("tool")
    found = kt.inverse_kinematics(FRAMED, kt.analysis.Target("tool", position))
    assert (
        found.converged
        and np.abs(kt.forward_kinematics(FRAMED, found.q).of("tool")[1] - position).max() < 1e-8
    )


def test_contact_points_of_frames_belong_to_the_body():
    from dataclasses import replace

    point = kt.ContactPoint("tip", "tool", (0.0, 0.0, 0.1), friction=0.3)
    robot = replace(FRAMED, contact_points=(point,))
    (found,) = robot.contact_points
    assert found.body == "link2" and found.friction == 0.3
    assert np.allclose(found.position, PLACE.rotation @ [0, 0, 0.1] + PLACE.position, atol=1e-15)


def test_frames_of_the_world():
    from dataclasses import replace

    robot = replace(FRAMED, frames=(kt.model.Frame("corner", "world", PLACE),))
    assert np.array_equal(
        kt.forward_kinematics(robot, np.zeros((2, 3))).of("corner")[1], [PLACE.position] * 2
    )
    assert not kt.jacobian(robot, np.zeros(3), "corner").any()


def test_frames_follow_the_body_that_they_are_in(rng):
    free = kt.Builder("two")
    trunk = free.world.free("base").body("trunk", kt.Inertia.box(5.0, (0.4, 0.2, 0.1)))
    leg = trunk.revolute("hip", at=(0.2, 0, 0), axis="y").body("leg", kt.Inertia.rod(1.0, end=(0, 0, -0.3)))
    leg.contact("foot", (0, 0, -0.3))
    foot = leg.fixed("ankle", at=(0, 0, -0.3)).body("foot", kt.Inertia.point(0.1))
    foot.frame("toe", at=(0.1, 0, 0), rpy=(0, 0.2, 0))
    robot = free.build()
    q = rng.uniform(-0.5, 0.5, robot.n_dof)
    expected = kt.forward_kinematics(robot, q).of("toe")
    fused = kt.forward_kinematics(robot.fused(), q).of("toe")
    held = kt.forward_kinematics(robot.frozen({"hip": q[6]}), q[:6]).of("toe")
    standing = robot.rooted_at("leg", point="foot")
    moved = kt.forward_kinematics(standing, kt.analysis.change_root(robot, standing, q).q).of("toe")
    for found in (fused, held, moved):
        assert all(np.abs(a - b).max() < 1e-12 for a, b in zip(found, expected, strict=True))


def test_toml_keeps_frames_and_says_what_is_wrong():
    assert mechanism_from_toml(toml_text(FRAMED)) == FRAMED
    text = toml_text(FRAMED).replace('body = "link2"', 'body = "link7"')
    with pytest.raises(kt.errors.ModelError, match=r"line \d+.*frame 'tool'.*unknown body 'link7'"):
        mechanism_from_toml(text)
    with pytest.raises(kt.errors.ModelError, match="more than one body or frame is called 'link1'"):
        mechanism_from_toml(toml_text(FRAMED).replace('name = "tool"', 'name = "link1"'))
    with pytest.raises(kt.errors.InputError, match=r"unknown body 'tol'.*tool"):
        kt.jacobian(FRAMED, np.zeros(3), "tol")
