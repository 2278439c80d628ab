"""Muscles and wraps as parts of a mechanism: checks, files, frames that move."""

from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from kinetree.algebra.smooth_functions import CubicSpline, Polynomial, Scaled
from kinetree.formats.toml_file import mechanism_from_toml, toml_text
from kinetree.model import MovingPoint, Muscle, PathPoint, PathWrap, Wrap
from kinetree.model.rooted import frame_in

SPLINE = CubicSpline((0.0, 0.5, 1.0, 2.0), (0.0, 0.01, 0.015, 0.01))
PATH = (
    PathPoint("link1", (0.05, 0.02, 0.0)),
    PathPoint("link1", (0.1, 0.01, 0.0), "joint2", (-0.5, 2.0)),
    MovingPoint("link2", SPLINE, 0.02, Scaled(SPLINE, 2.0), ("joint2", None, "joint1")),
    PathPoint("link2", (0.2, 0.03, 0.01)),
)


def arm(muscles=(), wraps=()):
    return replace(kt.zoo.two_link(), muscles=muscles, wraps=wraps)


def muscle(**more):
    given = {
        "path": PATH,
        "max_isometric_force": 800.0,
        "kind": "millard2012",
        "curves": {"fiber_damping": 0.05}.items(),
    }
    return Muscle("biceps", **{**given, **more})


def test_files_give_back_every_bit():
    wraps = (
        Wrap("elbow", "link1", "cylinder", kt.Placement.at((0.3, 0, 0), rpy=(0.1, 0.2, 0)), 0.02, 0.1, "+x"),
        Wrap("ball", "link2", "ellipsoid", radii=(0.01, 0.02, 0.03)),
    )
    whole = arm([muscle(wraps=(PathWrap("elbow", 1, 3), PathWrap("ball")), rigid_tendon=True)], wraps)
    again = mechanism_from_toml(toml_text(whole))
    assert again == whole
    assert toml_text(again) == toml_text(whole)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"optimal_fiber_length": -0.1}, "muscle 'biceps': optimal_fiber_length must be > 0 m, got -0.1"),
        ({"max_isometric_force": float("nan")}, "max_isometric_force must be finite"),
        ({"path": PATH[:1]}, "at least two points, got 1"),
        ({"path": ["link1"]}, "PathPoints or MovingPoints"),
        ({"pennation_angle": 2.0}, "below pi / 2"),
        ({"kind": "hill"}, "unknown kind of muscle 'hill'"),
        ({"curves": {"fiber_dampening": 1.0}.items()}, "Did you mean 'fiber_damping'"),
        ({"wraps": [PathWrap("elbow", 1, 9)]}, "points 0 to 3"),
        ({"minimum_activation": 2.0}, "at most 1"),
    ],
)
def test_wrong_muscles_are_refused(wrong, said):
    with pytest.raises(kt.errors.ModelError, match=said):
        muscle(**wrong)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Wrap("w", "link1", "cone", radii=1.0), "unknown shape 'cone'"),
        (lambda: Wrap("w", "link1", "sphere", radii=-1.0), "radii must be > 0 m, got -1"),
        (lambda: Wrap("w", "link1", "torus", radii=(0.2, 0.1)), "below that of its circle"),
        (lambda: Wrap("w", "link1", "torus", radii=(0.1, 0.2), side="+x"), "unknown side"),
        (lambda: PathPoint("link1", (0, 0, np.nan)), "must be finite"),
        (lambda: PathPoint("link1", (0, 0, 0), "joint1"), "both a coordinate and its active range"),
        (lambda: PathPoint("link1", (0, 0, 0), "joint1", (1.0, 0.0)), "from low to high"),
        (lambda: PathWrap("w", 3, 2), "first must be before last"),
        (lambda: MovingPoint("link1", Polynomial((1.0, 2.0)), 0, 0, (None, None, None)), "coordinate of x"),
    ],
)
def test_wrong_parts_are_refused(make, said):
    with pytest.raises(kt.errors.ModelError, match=said):
        make()


@pytest.mark.parametrize(
    ("muscles", "wraps", "said"),
    [
        (
            [muscle(path=[PathPoint("link7", (0, 0, 0)), PATH[0]])],
            [],
            "point 0 of its path: unknown body 'link7'",
        ),
        ([muscle(), muscle()], [], "more than one muscle is called 'biceps'"),
        ([muscle(wraps=[PathWrap("elbow")])], [], "unknown wrap 'elbow'"),
        ([], [Wrap("w", "hand", radii=1.0)], "wrap 'w': unknown body 'hand'"),
        (
            [muscle(path=[PATH[0], PathPoint("link1", (0, 0, 0), "knee", (0, 1))])],
            [],
            "point 1 of its path: unknown joint 'knee'",
        ),
        (
            [muscle(path=[PATH[0], PathPoint("link1", (0.1, 0.01, 0))], wraps=[PathWrap("big")])],
            [Wrap("big", "link1", "sphere", radii=5.0)],
            "wrap 'big' encloses all points",
        ),
    ],
)
def test_parts_that_do_not_fit_are_refused(muscles, wraps, said):
    with pytest.raises(kt.errors.ModelError, match=said):
        arm(muscles, wraps)


def test_points_stay_where_they_are_when_the_root_changes():
    robot = kt.zoo.spatial_biped()
    path = [PathPoint("thigh1", (0.02, 0.0, -0.1)), PathPoint("shank1", (0.03, 0.01, -0.05))]
    walker = replace(robot, muscles=[Muscle("vastus", path)], wraps=[Wrap("w", "shank1", radii=0.02)])
    turned = walker.rooted_at("foot1", sequence="ZXY")
    for point, new in zip(path, turned.muscles[0].path, strict=True):
        frame = frame_in(walker, turned, point.body)
        assert np.allclose(
            frame.rotation @ np.array(new.position) + frame.position, point.position, atol=1e-15
        )


def test_held_joints_leave_their_points():
    held = arm([muscle()]).frozen({"joint2": 0.25})
    points = held.muscles[0].path
    assert points[1] == PathPoint("link1", (0.1, 0.01, 0.0))
    assert points[2].x == pytest.approx(float(SPLINE.at(0.25)))
    assert points[2].coordinates == (None, None, "joint1")
    assert len(arm([muscle()]).frozen({"joint2": -1.0}).muscles[0].path) == 3
