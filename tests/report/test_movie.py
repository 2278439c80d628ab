"""Movies of results: as many pictures as they should have, as long as they should last, and they move."""

import subprocess
import sys
from dataclasses import replace
from io import BytesIO
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image

import kinetree as kt
from kinetree.report import encode
from kinetree.report.arrows import force_arrows
from kinetree.report.frames import GroundPlane, GroundRegion, frames, positions
from kinetree.report.movie import (
    BLOCK,
    ground_lines,
    interpolated,
    movie_pictures,
    movie_times,
    usual_speed,
)
from kinetree.report.palette import AXIS_COLORS
from support.results import small_result

SMALL = (160, 120)


@pytest.fixture(scope="module")
def fall():
    return kt.simulate(kt.zoo.gripper(), [-1.0, 0, 0, 0], duration=0.5, times=101, reactions=True)


def gif_frames(path):
    """Pictures (height, width, 3) and how long each is shown (ms)."""
    with Image.open(path) as movie:
        shown = []
        for k in range(movie.n_frames):
            movie.seek(k)
            shown.append((np.asarray(movie.convert("RGB"), dtype=int), movie.info["duration"]))
    return shown


def test_a_gif_lasts_as_long_as_the_motion(fall, tmp_path):
    fall.animate(tmp_path / "fall.gif", fps=15, size=SMALL, speed=1.0)
    shown = gif_frames(tmp_path / "fall.gif")
    assert shown[0][0].shape == (120, 160, 3)
    assert sum(duration for _, duration in shown) == pytest.approx(1000 * 8 / 15, abs=10)
    assert len(shown) == 8 and all(np.abs(a - b).max() > 60 for (a, _), (b, _) in pairwise(shown))


def test_slow_motion_has_more_pictures(fall):
    assert len(movie_times(frames(fall), fps=30, speed=1.0)) == 16
    slow = movie_times(frames(fall), fps=30, speed=0.25)
    assert len(slow) == 61 and slow[-1] == pytest.approx(0.5)
    np.testing.assert_allclose(np.diff(slow), 0.25 / 30)


@pytest.mark.parametrize(
    ("duration", "speed"), [(0.2, 0.1), (0.5, 0.25), (1.4, 0.5), (1.5, 1.0), (20.0, 1.0), (1e-9, 1e-4)]
)
def test_a_short_motion_is_slowed_down(fall, duration, speed):
    motion = frames(fall)
    moving = replace(motion, time=np.linspace(3.0, 3.0 + duration, len(motion.time)))
    assert usual_speed(moving) == speed


def test_an_mp4_is_read_back(fall, tmp_path):
    path = tmp_path / "fall.mp4"
    fall.animate(path, fps=20, size=SMALL, speed=1.0)
    command = [encode.ffmpeg(), "-v", "error", "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    raw = subprocess.run(command, capture_output=True, check=True).stdout
    shown = np.frombuffer(raw, np.uint8).reshape(-1, 120, 160, 3).astype(int)
    assert len(shown) == 11
    moving = frames(fall, most=101)
    drawn = list(
        movie_pictures(fall.mechanism, moving, positions(fall)[moving.rows], movie_times(moving, 20), SMALL)
    )
    assert np.abs(shown - np.array(drawn)).mean() < 3.0 < np.abs(shown[0] - shown[-1]).mean()


def test_pictures_show_the_pose_of_their_time(fall):
    moving = frames(fall, most=101)
    q = positions(fall)[moving.rows]
    alone = [next(movie_pictures(fall.mechanism, moving, q, np.array([t]), SMALL)) for t in (0.0, 0.25)]
    again = next(movie_pictures(fall.mechanism, moving, q, np.array([0.25]), SMALL))
    assert np.array_equal(alone[1], again) and not np.array_equal(alone[0], alone[1])


def test_the_path_of_a_frame_grows_with_the_motion():
    """A frame on the last link of a moving arm draws a line, from nothing to the whole of it."""
    plain = kt.zoo.two_link()
    marked = plain.with_frame("tip", plain.links[-1].body.name, (0.1, 0, 0))
    teal = np.array([0x17, 0x68, 0x7A])
    counts = {}
    for mechanism in (plain, marked):
        swing = kt.simulate(mechanism, [0.3, 0.4], [2.0, 1.0], duration=0.5, times=51)
        motion = frames(swing)
        pictures = movie_pictures(mechanism, motion, positions(swing), np.linspace(0.0, 0.5, 4), (320, 240))
        counts[mechanism is marked] = [
            int((abs(x.astype(int) - teal).max(axis=-1) < 40).sum()) for x in pictures
        ]
    grown = np.subtract(counts[True], counts[False])
    assert grown[0] > 0 and (np.diff(grown) > 5).all(), counts


def test_values_between_samples_lie_on_lines(rng):
    time = np.array([0.0, 0.1, 0.1, 0.4])
    values = rng.standard_normal((4, 2, 3))
    asked = np.array([0.0, 0.05, 0.1, 0.25, 0.4, 9.0])
    found = interpolated(time, values, asked)
    kept = values[[0, 2, 3]]
    for place in np.ndindex(2, 3):
        np.testing.assert_allclose(
            found[:, *place], np.interp(asked, time[[0, 2, 3]], kept[:, *place]), atol=1e-15
        )


def test_arrows_are_forces_to_scale(fall):
    motion = frames(fall, most=101)
    (arrows,) = force_arrows(motion, 0.2)
    lengths, sizes = (np.linalg.norm(x, axis=-1) for x in (arrows.vector, motion.reaction))
    assert lengths.max() == pytest.approx(0.2)
    weak = sizes * arrows.per_newton < 0.2
    np.testing.assert_allclose(lengths[weak], sizes[weak] * arrows.per_newton, rtol=1e-12)
    assert 0.9 < weak.mean() < 1.0


def test_files_are_not_replaced_unasked(fall, tmp_path):
    path = tmp_path / "fall.gif"
    path.write_text("mine")
    with pytest.raises(kt.errors.FileError, match="already exists"):
        fall.animate(path, fps=4, size=SMALL)
    assert path.read_text() == "mine"
    fall.animate(path, fps=4, size=SMALL, force=True)
    assert Image.open(BytesIO(path.read_bytes())).format == "GIF" and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"fps": 0}, "fps must be > 0"),
        ({"fps": float("nan")}, "fps"),
        ({"speed": -1.0}, "speed must be > 0"),
        ({"speed": 1e-9}, "more than 20000"),
        ({"size": (161, 120)}, "size must be"),
        ({"size": (160,)}, "size must be"),
        ({"size": (10, 10)}, "size must be"),
        ({"size": (160.5, 120)}, "size must be"),
    ],
)
def test_wrong_wishes_are_told(fall, tmp_path, options, told):
    with pytest.raises(kt.errors.InputError, match=told):
        fall.animate(tmp_path / "fall.gif", **{"size": SMALL} | options)
    assert not list(tmp_path.iterdir())


def test_other_formats_and_results_without_motion_are_refused(fall, tmp_path, rng):
    with pytest.raises(kt.errors.FileError, match=r"\.mp4, \.gif"):
        fall.animate(tmp_path / "fall.avi")
    still = small_result(kt.zoo.two_link(), rng)
    bare = kt.Result(still.dataset.drop_vars(["q", "qd"]), still.mechanism, "simulate")
    with pytest.raises(kt.errors.InputError, match="no motion"):
        bare.animate(tmp_path / "fall.gif")


def test_without_ffmpeg_the_extra_is_named(fall, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(kt.errors.MissingExtraError, match=r"\[movie\]"):
        fall.animate(tmp_path / "fall.mp4")


def test_a_failing_encoder_leaves_no_file(fall, tmp_path, monkeypatch):
    program = tmp_path / "broken"
    program.write_text("#!/bin/sh\necho 'no such codec' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(encode, "ffmpeg", lambda: str(program))
    with pytest.raises(kt.errors.FileError, match="no such codec"):
        fall.animate(tmp_path / "fall.mp4", size=SMALL)
    assert [path.name for path in tmp_path.iterdir()] == ["broken"]


# ---- the ground ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("flat", [False, True])
def test_lines_of_the_ground_lie_in_it_below_the_motion(flat, rng):
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    up, ahead, side = turn
    plane = GroundPlane(rng.standard_normal(3), up, ahead, side, ())
    points = plane.origin + rng.uniform(-2, 3, (20, 3)) @ turn
    lines = ground_lines(plane, points, 0.5, side if flat else None)
    assert np.abs((lines - plane.origin) @ up).max() < 1e-12
    for axis in (ahead,) if flat else (ahead, side):
        assert (lines @ axis).min() < (points @ axis).min() and (lines @ axis).max() > (points @ axis).max()
    assert len(lines) == 1 or len(lines) > 10


def test_a_slope_is_drawn_as_one():
    """The same poses on level and on sloping ground are different pictures, also in a plane."""
    robot = kt.zoo.quadruped()
    q, level = np.zeros((2, robot.n_dof)), np.array([0.0, 0.0, 1.0])
    tilted = np.array([-0.2, 0.0, np.sqrt(0.96)])
    still = kt.simulate(robot, q[0], duration=1e-3, times=2)
    pictures = []
    for up in (level, tilted):
        ahead = np.array([up[2], 0.0, -up[0]])
        plane = GroundPlane(np.zeros(3), up, ahead, np.cross(up, ahead), ())
        moving = replace(frames(still), ground=plane)
        pictures.append(next(movie_pictures(robot, moving, q, np.zeros(1), (128, 96))))
    assert (pictures[0] != pictures[1]).any()


def test_a_step_of_the_ground_is_drawn_up_to_its_height():
    robot = kt.zoo.quadruped()
    q = np.zeros((2, robot.n_dof))
    still, colors = kt.simulate(robot, q[0], duration=1e-3, times=2), []
    for height in (0.0, 0.1, 0.2):
        up, ahead, side = np.eye(3)[[2, 0, 1]]
        step = GroundRegion((0.1, np.inf), (-np.inf, np.inf), height)
        moving = replace(frames(still), ground=GroundPlane(np.zeros(3), up, ahead, side, (step,)))
        picture = next(movie_pictures(robot, moving, q, np.zeros(1), (128, 96)))
        colors.append(int((picture == [int(BLOCK[k : k + 2], 16) for k in (1, 3, 5)]).all(axis=-1).sum()))
    assert colors[0] == 0 < colors[1] < colors[2]


def test_a_gif_keeps_the_colors_of_axes_in_colorful_pictures():
    """A picture of many colors leaves none of its own to a thin line: red must not turn gray."""
    ramp = np.linspace(0, 255, 160)
    picture = np.stack([*np.meshgrid(ramp, ramp), 0.5 * np.add.outer(ramp, ramp)], axis=-1).astype(np.uint8)
    picture = picture.mean(axis=-1, keepdims=True).astype(np.uint8) // 3 + 2 * (picture // 3)
    lines = [tuple(bytes.fromhex(color[1:])) for color in AXIS_COLORS]
    for k, color in enumerate(lines):
        picture[10 * k + 4, 40:60] = color
    with Image.open(BytesIO(encode.movie_bytes([picture], ".gif", 10.0))) as movie:
        shown = np.asarray(movie.convert("RGB")).astype(int)
    for k, color in enumerate(lines):
        assert np.abs(shown[10 * k + 4, 40:60] - color).max() <= 2


def test_a_movie_without_a_path_is_shown_in_a_notebook(fall):
    movie = fall.animate(fps=5, size=(160, 120))
    assert movie._repr_html_().startswith('<img alt="gripper" src="data:image/gif;base64,')
    with Image.open(BytesIO(movie.content)) as picture:
        assert picture.size == (160, 120) and picture.n_frames > 1
    assert repr(movie) == f"Movie of gripper, {len(movie.content)} bytes"
