"""Which positions are reached, beside geometry; how singular they are, beside Jacobians made otherwise."""

from math import cos, pi, sin

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError

ARM, ROD, BASE, PLATFORM = 0.2, 0.45, 0.2, 0.06  # m, of the delta


def grid(x, y, z):
    return np.stack(np.meshgrid(x, y, z, indexing="ij"), axis=-1)


def turned(angle):
    return np.array([[cos(angle), -sin(angle), 0], [sin(angle), cos(angle), 0], [0, 0, 1.0]])


def test_a_planar_arm_reaches_a_disc_and_is_singular_at_its_edge():
    arm = kt.zoo.two_link(length=(0.4, 0.3))
    points = grid(np.linspace(-0.8, 0.8, 17), np.linspace(-0.8, 0.8, 17), [0.0])[:, :, 0]
    found = kt.analysis.workspace(arm, "link2", points, point=(0.3, 0, 0))
    distance = np.linalg.norm(points, axis=-1)
    assert (found.reached == ((distance > 0.1 - 1e-9) & (distance < 0.7 + 1e-9))).all()
    bend = np.arccos(np.clip((distance**2 - 0.25) / 0.24, -1, 1))
    for at in zip(*np.nonzero(found.reached & (distance > 0.11) & (distance < 0.69)), strict=True):
        c, s = cos(bend[at]), sin(bend[at])
        J = [[-0.3 * s, -0.3 * s], [0.4 + 0.3 * c, 0.3 * c]]
        large, small = np.linalg.svd(J, compute_uv=False)
        assert found.dexterity[at] == pytest.approx(small / large, abs=1e-6)
    edge = found.dexterity[distance > 0.7 - 1e-9]
    assert np.nanmax(edge) < 1e-4  # where poses are known to the root of their tolerance
    assert np.isnan(found.dexterity[~found.reached]).all()


def test_a_delta_reaches_what_its_arms_allow():
    """A point is reached if each arm can be as far from the plate's end of its rods as they are long."""
    robot = kt.zoo.delta()
    points = grid(np.linspace(-0.3, 0.3, 7), np.linspace(-0.3, 0.3, 7), [-0.25, -0.35])
    found = kt.analysis.workspace(robot, "plate", points, rotation=np.eye(3))
    allowed = np.ones(points.shape[:-1], dtype=bool)
    for k in range(3):
        x, y, z = np.moveaxis(points @ turned(2 * pi * k / 3), -1, 0)
        far = np.hypot(x + PLATFORM - BASE, z)
        across = np.sqrt(np.maximum(ROD**2 - y**2, 0.0))
        allowed &= (far < across + ARM) & (far > abs(across - ARM)) & (np.abs(y) < ROD)
    assert not (found.reached & ~allowed).any()
    assert (allowed & ~found.reached).sum() <= 0.02 * allowed.sum()  # edges that no straight way leads to
    assert found.dexterity[3, 3, 0] > 0.5 and np.nanmin(found.dexterity) < 0.2


@pytest.mark.parametrize("yaw", [0.0, 0.5, 1.0])
def test_a_platform_is_as_singular_as_the_lines_of_its_legs(yaw):
    """Leg rates are [u, p x u] . [v, w] with directions u and ends p of the legs; G is the inverse."""
    robot, height = kt.zoo.stewart(), 0.5
    found = kt.analysis.workspace(robot, "plate", [(0.05, 0, height)], rotation=turned(yaw), length=0.2)
    rows = []
    for k in range(6):
        way, side = 2 * pi * (k // 2) / 3, (-1) ** (k + 1)
        low = 0.35 * np.array([cos(way + 0.3 * side), sin(way + 0.3 * side), 0])
        end = way + side * (pi / 3 - 0.3)
        arm = turned(yaw) @ (0.25 * np.array([cos(end), sin(end), 0]))
        leg = arm + np.array([0.05, 0, height]) - low
        u = leg / np.linalg.norm(leg)
        rows.append([*u, *(np.cross(arm, u) / 0.2)])
    assert found.reached.all()
    assert found.dexterity[0] == pytest.approx(1.0 / np.linalg.cond(rows), rel=1e-6)


def test_joints_that_nothing_drives_hold_nothing():
    build = kt.Builder("passive")
    upper = build.world.revolute("shoulder", axis="z").body("upper", kt.Inertia.rod(1.0, end=(0.4, 0, 0)))
    upper.revolute("elbow", axis="z", at=(0.4, 0, 0), driven=False).body(
        "fore", kt.Inertia.rod(1.0, end=(0.3, 0, 0))
    )
    found = kt.analysis.workspace(build.build(), "fore", [(0.3, 0.3, 0)], point=(0.3, 0, 0))
    assert found.reached.all() and found.dexterity.tolist() == [0.0]


def test_the_picture_shows_the_plane_of_the_points():
    arm = kt.zoo.two_link()
    points = grid(np.linspace(-0.4, 0.4, 5), [0.0], np.linspace(-0.4, 0.4, 5))
    figure = kt.analysis.workspace(arm, "link2", points, restarts=0).plot()
    ax = figure.axes[0]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x / m", "z / m")
    assert "y = 0 m" in ax.get_title(loc="left") and "of 25 positions of 'link2'" in ax.get_title(loc="left")
    dots = {x.get_gid(): len(x.get_offsets()) for x in ax.collections}
    assert dots["reached"] + dots["missed"] == 25
    space = kt.analysis.workspace(arm, "link2", grid([0, 1], [0, 1], [0, 1]), restarts=0)
    assert space.plot().axes[0].get_zlabel() == "z / m"
    with pytest.raises(InputError, match="projection='3d'"):
        space.plot(ax)


def test_points_have_three_coordinates():
    with pytest.raises(InputError, match=r"points must have shape \(..., 3\), got shape \(2,\)"):
        kt.analysis.workspace(kt.zoo.two_link(), "link2", [0.1, 0.2])


def test_a_singular_position_alone_is_singular():
    arm = kt.zoo.two_link(length=(0.4, 0.3))
    alone = kt.analysis.workspace(arm, "link2", [(0.7, 0.0, 0.0)], point=(0.3, 0.0, 0.0))
    assert alone.reached.all() and alone.dexterity[0] < 1e-6
