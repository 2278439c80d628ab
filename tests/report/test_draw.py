"""Pictures of mechanisms: what is drawn, where, and that every mechanism can be drawn."""

import os
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

import kinetree as kt
from kinetree.errors import InputError
from kinetree.model import zoo
from kinetree.report.draw import draw, figure_of, strobe
from kinetree.report.shapes import box_faces, hull_faces, shape_faces
from kinetree.report.skeleton import gaps, resting_pose, skeleton

PLANAR = {
    "two_link": "z",
    "andrews_squeezer": "z",
    "two_link_prismatic": "x",
    "muscle_arm": "z",
    "two_link_point_masses": "z",
    "gripper": "z",
    "planar_biped": "z",
    "four_bar": "z",
    "robotic_leg": "z",
    "three_rrr": "z",
    "slider_crank": "z",
    "five_bar": "z",
    "n_four_bar": "z",
    "scissor_lift": "z",
    "jansen_leg": "z",
    "jansen_walker": "z",
}
CLOSED = {
    "four_bar": (0, 0.98437306083976, 4.31443918550007),
    "three_rrr": (
        1.0471975511966, -0.865071873193253, 3.7334035421686, 1.31275707423612, 2.96258012121735,
        4.18879020478639, 5.75958653158129,
    ),
}  # fmt: skip


def axes():
    return Figure(figsize=(4, 4)).add_axes((0, 0, 1, 1), projection="3d")


def on_paper(ax, points):
    """Fractions of the drawn square, (k, 2), where points of the world appear."""
    homogeneous = np.column_stack([points, np.ones(len(points))]) @ ax.get_proj().T
    paper = homogeneous[:, :2] / homogeneous[:, 3:]
    return (paper - ax.viewLim.min) / (ax.viewLim.max - ax.viewLim.min)


@pytest.mark.parametrize("name", zoo.ZOO)
def test_every_mechanism_is_drawn_within_the_picture(name):
    mechanism = zoo.by_name(name)
    ax = draw(mechanism, ax=axes(), labels=True)
    ax.figure.canvas.draw()
    marks = skeleton(mechanism)
    seen = on_paper(ax, np.concatenate([marks.points, marks.corners]))
    assert seen.min() > 0.02 and seen.max() < 0.98
    assert np.ptp(seen, axis=0).max() > 0.4


@pytest.mark.parametrize("name", zoo.ZOO)
def test_planar_mechanisms_are_seen_along_their_normal(name, rng):
    mechanism = zoo.by_name(name)
    normal = skeleton(mechanism).normal
    assert (None if normal is None else "xyz"[int(np.argmax(normal))]) == PLANAR.get(name)
    if normal is not None and mechanism.links[0].joint.kind != "free":
        q = kt.random_state(mechanism, rng).q
        points = skeleton(mechanism, q).points
        assert np.ptp(points @ normal) < 1e-12


@pytest.mark.parametrize("name", ["gripper", "kuka_kr5", "planar_biped"])
def test_scales_are_equal_on_all_axes(name):
    """A sphere about the mechanism appears as a circle: no direction across the view is stretched."""
    ax = draw(zoo.by_name(name), ax=axes())
    towards = np.linalg.svd(ax.get_proj()[:2, :3])[2][2]
    across = [np.cross(towards, v) for v in np.eye(3)]
    directions = np.array([v / np.linalg.norm(v) for v in across if np.linalg.norm(v) > 0.3])
    steps = on_paper(ax, directions) - on_paper(ax, np.zeros((1, 3)))
    lengths = np.linalg.norm(steps, axis=1)
    assert np.allclose(lengths, lengths[0], rtol=1e-9)


def test_links_are_lines_from_joint_to_joint():
    """The gripper's links at right angles: closed form, and rods end at their far ends."""
    right = np.pi / 2
    marks = skeleton(zoo.gripper(), [right, 0.0, -right, right])
    expected = {
        "link1": [[(0, 0, 0), (0, 0.1, 0)], [(0, 0, 0), (0, 0.05, 0)]],
        "link2": [[(0, 0.1, 0), (0, 0.15, 0)]],
        "link3": [[(0, 0.15, 0), (0.05, 0.15, 0)]],
        "link4": [[(0, 0.05, 0), (-0.05, 0.05, 0)]],
    }
    for body in marks.bodies:
        assert np.allclose(body.lines, expected[body.name], atol=1e-15), body.name
    assert [joint.grounded for joint in marks.joints] == [True, False, False, False]


def test_a_point_mass_ends_its_link():
    marks = skeleton(zoo.two_link_point_masses(), [0.0, 0.0])
    assert np.allclose(marks.bodies[1].lines, [[(1, 0, 0), (2, 0, 0)]])


def test_a_slider_is_drawn_off_its_seat():
    slider = kt.Builder("slider")
    slider.world.prismatic("rail", axis="x", at=(0, 1, 0)).body("cart", kt.Inertia.box(1.0, (0.2, 0.1, 0.1)))
    (joint,) = skeleton(slider.build(), [0.7]).joints
    assert joint.seat.tolist() == [0, 1, 0]
    assert joint.position.tolist() == [0.7, 1, 0]


def test_a_floating_box_is_drawn_in_its_size():
    """The box of equal inertia of a box is the box."""
    size = np.array([0.4, 0.3, 0.2])
    block = kt.Builder("block")
    block.world.free("base").body("body", kt.Inertia.box(2.0, size, center=(0.1, 0, 0)))
    (body,) = skeleton(block.build()).bodies
    corners = np.concatenate(body.faces)
    assert np.allclose(np.ptp(corners, axis=0), size, rtol=1e-12)
    assert np.allclose(0.5 * (corners.min(axis=0) + corners.max(axis=0)), [0.1, 0, 0])


def test_a_body_with_three_joints_is_a_plate():
    platform = {body.name: body for body in skeleton(zoo.three_rrr(), CLOSED["three_rrr"]).bodies}["platform"]
    (plate,) = platform.faces
    sides = np.linalg.norm(plate - np.roll(plate, 1, axis=0), axis=1)
    assert np.allclose(sides, 0.4)


@pytest.mark.parametrize("name", CLOSED)
def test_loops_are_closed_where_the_book_closes_them(name):
    assert max(gaps(skeleton(zoo.by_name(name), CLOSED[name])).values()) < 1e-6
    assert max(gaps(skeleton(zoo.by_name(name))).values()) < 1e-6  # nearest to zero that is closed


def test_the_resting_pose_keeps_the_limits():
    arm = kt.Builder("arm")
    arm.world.prismatic("lift", lower=0.3, upper=1.0).body("mast", kt.Inertia.point(1.0))
    assert resting_pose(arm.build()).tolist() == [0.3]


def test_a_strobe_shows_several_poses():
    poses = np.linspace([0, 0, 0, 0], [1.0, 1.0, 1.0, 1.0], 5)
    many, one = strobe(zoo.gripper(), poses, axes()), draw(zoo.gripper(), poses[-1], axes())
    assert len(many.collections) > len(one.collections) + 4 * 4


def test_a_mechanism_that_cannot_move_is_drawn():
    post = kt.Builder("post")
    post.world.fixed("weld").body("post", kt.Inertia.rod(1.0, end=(0, 0, 1.0)))
    drawn = draw(post.build(), ax=axes())
    drawn.figure.canvas.draw()
    assert drawn.lines or drawn.collections


def test_a_single_massless_frame_is_drawn():
    frame = kt.Builder("frame")
    frame.world.revolute("pin").body("frame")
    drawn = draw(frame.build(), ax=axes())
    drawn.figure.canvas.draw()
    assert drawn.lines or drawn.collections


def test_names_are_no_formulas():
    odd = kt.Builder("$\\oops$")
    odd.world.revolute("$\\oops$").body("bob", kt.Inertia.point(1.0, (0, 0, -1)))
    figure = figure_of(odd.build(), labels=True)
    figure.canvas.draw()
    assert "$\\oops$" in {text.get_text() for text in figure.findobj(Text)}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"q": [0.0, 0.0]}, "shape (2,)"),
        ({"q": np.zeros((2, 4))}, "one pose of shape (4,)"),
        ({"q": [np.nan, 0, 0, 0]}, "joint1"),
        ({"ax": Figure().add_subplot()}, "projection='3d'"),
    ],
)
def test_draw_refuses(arguments, reason):
    with pytest.raises(InputError) as refused:
        draw(zoo.gripper(), **arguments)
    assert reason in str(refused.value)


def test_strobe_refuses_a_single_pose():
    with pytest.raises(InputError, match=r"shape \(k, 4\)"):
        strobe(zoo.gripper(), [0, 0, 0, 0], axes())


def test_no_screen_is_needed():
    """Without axes a pyplot figure is made, also where there is neither a display nor a chosen backend."""
    code = (
        "from kinetree.model import zoo; from kinetree.report.draw import draw; "
        "draw(zoo.gripper()).figure.canvas.draw()"
    )
    blind = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "MPLBACKEND")}
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, env=blind, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


# ---- shapes -------------------------------------------------------------------------------------


def test_shapes_reach_as_far_as_they_are_large():
    place = kt.Placement.at((1.0, 2.0, 3.0))
    spans = {
        ("box", (0.4, 0.6, 0.8)): (0.4, 0.6, 0.8),
        ("cylinder", (0.1, 0.5)): (0.2, 0.2, 0.5),
        ("sphere", (0.3,)): (0.6, 0.6, 0.6),
        ("capsule", (0.1, 0.5)): (0.2, 0.2, 0.7),
    }
    for (kind, size), span in spans.items():
        corners = np.concatenate(shape_faces(kt.model.Shape(kind, np.array(size), place)))
        assert np.allclose(np.ptp(corners, axis=0), span), kind
        assert np.allclose(0.5 * (corners.min(axis=0) + corners.max(axis=0)), place.position), kind
    assert shape_faces(kt.model.Shape("mesh", np.ones(3), file="hull.stl")) == []


def test_flat_boxes_have_one_face_and_lines_none():
    assert len(box_faces(np.array([1.0, 2.0, 3.0]))) == 6
    assert len(box_faces(np.array([1.0, 0.0, 3.0]))) == 1
    assert box_faces(np.array([0.0, 0.0, 3.0])) == []


def test_hulls_of_points_on_a_line_in_a_plane_and_in_space():
    line = np.outer([0.0, 1.0, 3.0], [1.0, 2.0, 3.0])
    square = np.array([[0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1], [0.5, 0.5, 1]], dtype=float)
    assert hull_faces(line) == []
    assert [len(face) for face in hull_faces(square)] == [4]
    assert len(hull_faces(np.concatenate([square, [[0.5, 0.5, 2.0]]]))) >= 5


def test_bodies_with_shapes_are_drawn_with_them():
    ball = kt.Builder("ball")
    shape = kt.model.Shape("sphere", np.array([0.2]))
    ball.world.free("base").body("ball", kt.Inertia.sphere(1.0, 0.1), [shape])
    (body,) = skeleton(ball.build()).bodies
    assert np.allclose(np.linalg.norm(np.concatenate(body.faces), axis=1), 0.2)


@pytest.mark.parametrize(("q", "corner"), [([0.0, -2.0], "lower left"), ([2.36, 0.0], "upper right")])
def test_the_legend_stands_where_least_is_drawn(q, corner):
    ax = figure_of(kt.zoo.two_link(), q).axes[0]
    codes = {"upper right": 1, "upper left": 2, "lower left": 3}
    assert ax.get_legend()._loc == codes[corner]
