"""Derivatives of the motion of points: differences of kinematics, and torques that they add up to."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.analysis import point_motion_derivatives
from support import trees
from support.cases import assert_close
from support.derivatives import differences


def test_they_are_slopes_of_the_motion(robot, rng):
    state = dict(zip(("q", "qd", "qdd"), trees.state(robot, rng), strict=True))
    body, point = robot.body_names[-1], rng.uniform(-0.5, 0.5, 3)
    found = point_motion_derivatives(robot, **state, body=body, point=point)
    k = robot.body_index(body)

    def moving(what):
        """Position, velocity and acceleration of the point, by what bodies do."""

        def at(x):
            s = {**state, what: x}
            poses = kt.forward_kinematics(robot, s["q"])
            arm = poses.rotation[..., k, :, :] @ point
            v, w = np.split(kt.body_velocities(robot, s["q"], s["qd"], of=body), 2, axis=-1)
            a, wd = np.split(kt.analysis.body_accelerations(robot, **s, of=body), 2, axis=-1)
            turn = np.cross(wd, arm) + np.cross(w, np.cross(w, arm))
            parts = (poses.position[..., k, :] + arm, v + np.cross(w, arm), w, a + turn, wd)
            shape = np.broadcast_shapes(*(x.shape[:-1] for x in parts))
            return np.concatenate([np.broadcast_to(x, (*shape, 3)) for x in parts], axis=-1)

        return at

    value = moving("q")(state["q"])
    assert_close(np.concatenate([found.position, found.velocity, found.acceleration]), value)
    by_q, by_qd, by_qdd = (differences(moving(x), state[x]) for x in ("q", "qd", "qdd"))
    assert_close(found.jacobian[:3], by_q[:3], 1e-9)
    assert_close(found.dvelocity_dq, by_q[3:9], 1e-9)
    assert_close(found.dacceleration_dq, by_q[9:], 1e-9)
    assert_close(found.jacobian, by_qd[3:9], 1e-9)
    assert_close(found.dacceleration_dqd, by_qd[9:], 1e-9)
    assert_close(found.jacobian, by_qdd[9:], 1e-9)


def test_a_mass_point_at_a_point_adds_the_torques_of_its_motion():
    """tau = m J^T (a - g), so dtau_dqdd is m J^T J and dtau_dqd is m J^T da_dqd."""
    arm, mass, at = kt.zoo.kuka_kr5(), 3.0, np.array([0.1, -0.2, 0.3])
    loaded = arm.with_payload("link6", mass=mass, center=at)
    state = kt.random_state(arm, np.random.default_rng(5), 4)
    parts = state.q, state.qd, state.qdd
    x = point_motion_derivatives(arm, *parts, "link6", at)
    bare, more = (kt.inverse_dynamics_derivatives(m, *parts) for m in (arm, loaded))
    J = np.swapaxes(x.jacobian[:, :3], -1, -2)
    assert_close(more.dtau_dqdd - bare.dtau_dqdd, mass * J @ x.jacobian[:, :3], 1e-10)
    assert_close(more.dtau_dqd - bare.dtau_dqd, mass * J @ x.dacceleration_dqd[:, :3], 1e-10)


def test_batches_and_frames():
    arm = kt.zoo.kuka_kr5().with_frame("tool", "link6", (0.0, 0.1, 0.2), rpy=(0.1, 0.2, 0.3))
    state = kt.random_state(arm, np.random.default_rng(6), (2, 3))
    whole = point_motion_derivatives(arm, state.q, state.qd, state.qdd, "tool", (0.0, 0.0, 0.1))
    assert whole.dacceleration_dq.shape == (2, 3, 6, 6)
    one = point_motion_derivatives(
        arm, state.q[1, 2], state.qd[1, 2], state.qdd[1, 2], "tool", (0.0, 0.0, 0.1)
    )
    assert_close(whole.dacceleration_dq[1, 2], one.dacceleration_dq)
    still = point_motion_derivatives(arm, state.q, state.qd, state.qdd, "link1", (0.0, 0.0, 0.1))
    assert not still.dvelocity_dq[..., 1:].any()


def test_followers_by_any_function():
    """A cam that follows by a spline and a slide by a polynomial: differences of the kinematics."""
    spline = kt.model.CubicSpline((-1.0, 0.0, 0.5, 1.0), (0.2, 0.0, 0.4, 0.1))
    b = kt.Builder("cams")
    crank = b.world.revolute("crank", axis="z").body("one", kt.Inertia(1.0))
    cam = crank.revolute("cam", axis="x", at=(0, 1, 0), mimic=kt.model.Mimic("crank", function=spline))
    slide = cam.body("two", kt.Inertia(1.0)).prismatic(
        "slide", mimic=kt.model.Mimic("crank", 0.0, 0.1, (0.3,))
    )
    slide.body("three", kt.Inertia(1.0))
    cams, point, rng = b.build(), (0.1, 0.2, 0.3), np.random.default_rng(7)
    state = dict(zip(("q", "qd", "qdd"), rng.uniform(-0.9, 0.9, (3, 1)), strict=True))

    def motion(**changed):
        return point_motion_derivatives(cams, **{**state, **changed}, body="three", point=point)

    found, h = motion(), 1e-6
    for name, what, slope in (
        ("q", "velocity", found.dvelocity_dq),
        ("q", "acceleration", found.dacceleration_dq),
        ("qd", "velocity", found.jacobian),
        ("qd", "acceleration", found.dacceleration_dqd),
        ("qdd", "acceleration", found.jacobian),
    ):
        more, less = (getattr(motion(**{name: state[name] + x}), what) for x in (h, -h))
        assert_close(slope[:, 0], (more - less) / (2 * h), 1e-7)


def test_followers_move_with_their_leader():
    b = kt.Builder("fingers")
    b.world.revolute("left", axis="z").body("one", kt.Inertia(1.0))
    b.world.revolute("right", axis="z", at=(0, 1, 0), mimic=kt.model.Mimic("left", -2.0)).body(
        "two", kt.Inertia(1.0)
    )
    x = point_motion_derivatives(b.build(), [0.1], [0.3], [0.0], "two", (1.0, 0.0, 0.0))
    assert_close(x.jacobian[:, 0], [-2.0 * np.sin(0.2), -2.0 * np.cos(0.2), 0.0, 0.0, 0.0, -2.0])
    assert_close(x.dvelocity_dq[:2, 0], 4.0 * 0.3 * np.array([-np.cos(0.2), np.sin(0.2)]))


@pytest.mark.parametrize(
    ("given", "said"),
    [(("link9", (0, 0, 0)), "link9"), (("link6", (0, 0)), "point"), (("link6", (0, 0, np.nan)), "point")],
)
def test_refused(given, said):
    with pytest.raises(kt.KinetreeError, match=said):
        point_motion_derivatives(kt.zoo.kuka_kr5(), *np.zeros((3, 6)), *given)
