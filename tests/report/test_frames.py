"""Frames: the poses of a result, its forces in the world, the ground and what stands on it."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from kinetree.report.frames import frames, ground_plane, motion_names, positions
from kinetree.result.build import build_result


def rotation(unit):
    """Rotation matrices of unit quaternions (w, x, y, z)."""
    w, x, y, z = np.moveaxis(unit, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def test_poses_are_those_of_the_samples(biped_walk):
    found = frames(biped_walk)
    poses = kt.forward_kinematics(biped_walk.mechanism, biped_walk.q.values[found.rows])
    np.testing.assert_array_equal(found.position, poses.position)
    np.testing.assert_allclose(rotation(found.quaternion), poses.rotation, atol=1e-12)
    np.testing.assert_array_equal(found.time, biped_walk.time.values[found.rows])
    np.testing.assert_allclose(
        found.center_of_mass, kt.center_of_mass(biped_walk.mechanism, found.q), atol=1e-14
    )


def test_neighbouring_quaternions_are_never_opposite():
    q = np.column_stack([np.linspace(0, 12 * np.pi, 400), np.zeros(400)])
    turning = build_result("simulate", kt.zoo.two_link(), {"time": np.arange(400.0), "q": q, "qd": 0 * q})
    found = frames(turning, most=400)
    assert np.sum(found.quaternion[1:] * found.quaternion[:-1], axis=-1).min() > 0.9


@pytest.mark.parametrize("most", [1, 7, 250, 1001, 5000])
def test_frames_are_few_and_even_and_have_both_ends(gripper_fall, most):
    found = frames(gripper_fall, most=most)
    assert len(found.time) == min(most, 1001)
    assert found.time[0] == 0.0
    if most > 1:
        assert found.time[-1] == 1.0
        assert np.ptp(np.diff(found.time)) < 0.0021


def test_forces_are_those_of_the_result_in_the_world(biped_walk, gripper_torques):
    walk = frames(biped_walk)
    np.testing.assert_array_equal(walk.contact_force, biped_walk.contact_force.values[walk.rows])
    np.testing.assert_array_equal(walk.touching, biped_walk.touching.values[walk.rows])
    still = frames(gripper_torques)
    poses = kt.forward_kinematics(gripper_torques.mechanism, still.q)
    turned = (poses.rotation @ gripper_torques.reaction.values[still.rows, :, :3, None])[..., 0]
    np.testing.assert_allclose(still.reaction, turned, atol=1e-12)
    assert still.contact_force is None and still.ground is None


def test_the_centre_of_pressure_is_the_zero_moment_point(biped_walk):
    """[Shah2013], section B.1.1: with all contacts in one plane they are the same; computed without any
    contact."""
    found = frames(biped_walk)
    pushed = np.isfinite(found.center_of_pressure[:, 0])
    assert pushed.mean() > 0.9
    motion = (biped_walk[name].values[found.rows[pushed]] for name in ("q", "qd", "qdd"))
    zmp = kt.analysis.zero_moment_point(biped_walk.mechanism, *motion)
    np.testing.assert_allclose(found.center_of_pressure[pushed], zmp, atol=1e-9)


def test_the_centre_of_pressure_lies_within_the_support(biped_walk):
    """But for friction at the depth of some millimeters that the points have in the soil."""
    found, depth = frames(biped_walk), float(biped_walk.penetration.max())
    areas = 0
    for point, polygon in zip(found.center_of_pressure, found.support_polygons, strict=True):
        if len(polygon) < 3 or not np.isfinite(point[0]):
            continue
        along = np.roll(polygon, -1, axis=0) - polygon
        outside = -np.cross(along, point - polygon)[:, 2] / np.linalg.norm(along, axis=1)
        assert outside.max() < depth
        areas += 1
    assert areas > 0.5 * len(found.time)


def test_a_batch_and_cases_have_several_motions():
    starts = np.array([[0.1, 0, 0, 0], [0.2, 0, 0, 0]])
    falls = kt.simulation.simulate_batch(kt.zoo.gripper(), starts, duration=0.2, times=5)
    assert motion_names(falls) == ("rollout 0", "rollout 1")
    assert frames(falls, 1).q[0].tolist() == starts[1].tolist()
    np.testing.assert_array_equal(positions(falls, 1), falls.q.values[1])
    with pytest.raises(InputError, match="from 0 to 1"):
        frames(falls, 2)


def test_a_motion_that_ends_early_has_fewer_frames():
    time, q = np.arange(4.0), np.zeros((2, 4, 2))
    q[1, 2:] = np.nan
    cases = build_result(
        "compare",
        kt.zoo.two_link(),
        {"time": time, "q": (("case", "time", "joint"), q, "{q_unit}", "position", True)},
        coordinates={"case": (("case",), ["long", "short"], "", "case")},
    )
    assert motion_names(cases) == ("long", "short")
    assert [len(frames(cases, k).time) for k in (0, 1)] == [4, 2]


def test_a_result_without_positions_has_no_motion():
    energies = build_result("other", kt.zoo.two_link(), {"time": [0.0, 1.0], "kinetic_energy": [1.0, 2.0]})
    assert motion_names(energies) == ()
    with pytest.raises(InputError):
        frames(energies)


def test_the_ground_is_that_of_the_settings():
    robot = kt.zoo.quadruped()
    step = kt.simulation.Region(forward=(0.5, np.inf), height=0.1)
    ground = kt.Ground(origin=(0, 0, -0.5), normal=(0.1, 0, 1), regions=[step])
    plane = ground_plane({"ground": ground.settings(robot)})
    np.testing.assert_allclose(plane.normal, np.array([0.1, 0, 1]) / np.sqrt(1.01))
    np.testing.assert_allclose(plane.side, np.cross(plane.normal, plane.forward))
    assert plane.regions[0].forward == (0.5, np.inf) and plane.regions[0].height == 0.1
    assert ground_plane({}) is None


def test_paths_of_named_frames_are_drawn_in_reports(tmp_path):
    """A point at the end of a link of 0.5 m, in closed form; many frames (sites of MJCF) are not."""
    arm = kt.zoo.two_link(length=(0.4, 0.5)).with_frame("tip", "link2", (0.5, 0, 0))
    fall = kt.simulate(arm, [0.3, 0.2], [1.0, -2.0], duration=0.3, times=7)
    ((name, path),) = frames(fall).traces
    first, both = fall.q.values[:, 0], fall.q.values.sum(axis=1)
    x, y = (0.4 * turn(first) + 0.5 * turn(both) for turn in (np.cos, np.sin))
    assert name == "tip" and path == pytest.approx(np.stack([x, y, 0.0 * x], axis=1), abs=1e-12)
    fall.report(tmp_path / "fall.html")
    assert "path of tip" in (tmp_path / "fall.html").read_text(encoding="utf-8")
    for k in range(3):
        arm = arm.with_frame(f"site{k}", "link1", (0.1 * k, 0, 0))
    assert frames(kt.simulate(arm, [0.3, 0.2], duration=0.1, times=3)).traces == ()
