"""A motion as a movie: the drawing of the mechanism at every moment, with the ground, forces and the time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np

from kinetree.algebra.arrays import Array, number
from kinetree.errors import InputError, must_be
from kinetree.formats.regular_file import PathLike, check_writable, checked_path
from kinetree.model.mechanism import Mechanism
from kinetree.report.arrows import force_arrows
from kinetree.report.canvas import Canvas
from kinetree.report.encode import check_movie, movie_bytes
from kinetree.report.frames import Frames, GroundPlane, frames, motion_names, positions
from kinetree.report.looks import looks
from kinetree.report.obstacles import obstacle_faces
from kinetree.report.output import write_file
from kinetree.report.palette import GROUND, INK
from kinetree.report.shapes import shape_faces
from kinetree.report.skeleton import Skeleton, extent, skeleton
from kinetree.result.result import Result

SIZE = (800, 600)
LARGEST = 4096  # pixels along a side
MOST_PICTURES = 20_000
MOST_SAMPLES = 3 * MOST_PICTURES  # that pictures are taken from; between them poses are on straight lines
MOST_TRIANGLES = 60_000  # of a mechanism drawn many times
DPI = 100
HEAD = 36  # pixels above for name and time, and as many below
SHORT = 1.5  # s; a shorter motion is shown in slow motion
SLOWER = (0.5, 0.25, 0.1, 0.05, 0.025, 0.01, 0.001, 1e-4)
LONGEST_ARROW = 0.25  # beside the mechanism's size
BEYOND = 0.1  # of the extent of the motion: how far what stands on the ground goes on beyond it
BLOCK = "#e3e7ea"
Progress = Callable[[float], None]


def write_movie(
    result: Result,
    path: PathLike,
    fps: float = 30.0,
    size: Sequence[int] = SIZE,
    speed: float | None = None,
    *,
    motion: int = 0,
    force: bool = False,
    progress: Progress | None = None,
    meshes: PathLike | None = None,
) -> None:
    """Write the motion of a result as .mp4 or .gif; see :meth:`Result.animate`.

    ``progress`` is called with the part that is done, from 0 to 1.
    """
    place = checked_path(path)
    check_movie(place)
    check_writable(place, force)
    content = movie_content(
        result, place.suffix, fps, size, speed, motion=motion, progress=progress, meshes=meshes
    )
    write_file(place, content)


def movie_content(
    result: Result,
    suffix: str,
    fps: float = 30.0,
    size: Sequence[int] = SIZE,
    speed: float | None = None,
    *,
    motion: int = 0,
    progress: Progress | None = None,
    meshes: PathLike | None = None,
) -> bytes:
    """The movie of a result as the content of a file with a suffix, .mp4 or .gif; see :func:`write_movie`."""
    if not motion_names(result):
        raise InputError(f"the {result.task} result has no q over time, so there is no motion to show")
    moving = frames(result, motion, most=MOST_SAMPLES)
    pace = usual_speed(moving) if speed is None else speed
    times = movie_times(moving, fps, pace)
    q = positions(result, motion)[moving.rows]
    pictures = movie_pictures(result.mechanism, moving, q, times, size, progress, meshes, pace)
    return movie_bytes(pictures, suffix, float(fps))


def usual_speed(motion: Frames) -> float:
    """The speed of a movie unless it is given: 1, or slow motion where all would be over in a moment.

    >>> import kinetree as kt
    >>> usual_speed(frames(kt.simulate(kt.zoo.gripper(), [-1, 0, 0, 0], duration=0.2)))
    0.1
    """
    duration = float(motion.time[-1] - motion.time[0])
    if not 0.0 < duration < SHORT:
        return 1.0
    return next((x for x in SLOWER if duration / x >= SHORT), SLOWER[-1])


def movie_times(motion: Frames, fps: float = 30.0, speed: float = 1.0) -> Array:
    """The moments (k,) of a motion's time (s) that a movie shows, 1/fps of a second apart in the movie.

    >>> import kinetree as kt
    >>> fall = kt.simulate(kt.zoo.gripper(), [-1, 0, 0, 0], duration=0.5)
    >>> movie_times(frames(fall), fps=4, speed=0.25).tolist()
    [0.0, 0.0625, 0.125, 0.1875, 0.25, 0.3125, 0.375, 0.4375, 0.5]
    """
    for value, what in ((fps, "fps"), (speed, "speed")):
        if not number(value, what) > 0.0:
            raise InputError(must_be(what, "> 0", value, "g"))
    begin, end = float(motion.time[0]), float(motion.time[-1])
    count = int(np.floor((end - begin) * fps / speed + 1e-9)) + 1
    if count > MOST_PICTURES:
        raise InputError(
            f"the movie would have {count} frames, more than {MOST_PICTURES}; use a lower frame rate (fps) "
            f"or a higher speed"
        )
    moments: Array = np.minimum(begin + speed / fps * np.arange(count), end)
    return moments


def movie_pictures(
    mechanism: Mechanism,
    motion: Frames,
    q: Array,
    times: Array,
    size: Sequence[int] = SIZE,
    progress: Progress | None = None,
    meshes: PathLike | None = None,
    speed: float = 1.0,
) -> Iterator[np.ndarray]:
    """Pictures (height, width, 3) of bytes, one for each of the times (s); ``q`` (T, n_dof) of the frames."""
    paper_size = _checked_size(size)
    known = looks(mechanism, meshes, MOST_TRIANGLES)
    poses = interpolated(motion.time, q, times)
    shots = [skeleton(mechanism, row, known) for row in poses]
    extents = extent(np.concatenate([points for shot in shots for points in (shot.points, shot.corners)]))
    arrows = [
        (x.color, interpolated(motion.time, x.at, times), interpolated(motion.time, x.vector, times))
        for x in force_arrows(motion, LONGEST_ARROW * extents)
    ]
    tips = np.concatenate([np.zeros((0, 3)), *((at + vector).reshape(-1, 3) for _, at, vector in arrows)])
    pace = "" if speed == 1.0 else f"   speed {speed:.3g}"
    digits = 2 if speed > 0.2 else 3
    around = [obstacle_faces(mechanism, motion.obstacles, row) for row in poses]
    paths = [interpolated(motion.time, points, times) for _, points in motion.traces]
    paper = _Paper(mechanism, motion, shots, paper_size, np.concatenate([tips, *paths, *around[0]]))
    for k, shot in enumerate(shots):
        paper.begin()
        paper.canvas.obstacles(around[k])
        paper.canvas.skeleton(shot)
        for color, at, vector in arrows:
            paper.canvas.arrows(at[k], vector[k], color)
        for points in paths:
            paper.canvas.path(points[: k + 1])
        yield paper.finish(f"t = {times[k]:.{digits}f} s{pace}")
        if progress is not None:
            progress((k + 1) / len(shots))


def interpolated(time: Array, values: Array, times: Array) -> Array:
    """Values (T, ...) over time (T,) at other times (k,), on straight lines; of equal times the last."""
    last = np.append(np.diff(time) > 0.0, True)
    time, values = time[last], values[last]
    right = np.searchsorted(time, times, side="right").clip(1, max(1, len(time) - 1))
    left, right = right - 1, np.minimum(right, len(time) - 1)
    span = np.where(right > left, time[right] - time[left], 1.0)
    part = np.clip((times - time[left]) / span, 0.0, 1.0).reshape(-1, *[1] * (values.ndim - 1))
    found: Array = values[left] + part * (values[right] - values[left])
    return found


class _Paper:
    """A figure whose ground and title are drawn once, and on which each pose is drawn and wiped off again."""

    def __init__(
        self,
        mechanism: Mechanism,
        motion: Frames,
        shots: list[Skeleton],
        size: tuple[int, int],
        tips: Array,
    ) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        width, height = size
        side = max(size)
        self.figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI)
        self.agg = cast(Any, FigureCanvasAgg(self.figure))
        corner = (0.5 - 0.5 * side / width, 0.5 - 0.5 * side / height)
        self.ax: Any = self.figure.add_axes((*corner, side / width, side / height), projection="3d")
        seen = (width / side, max(0.5 * height, height - 2 * HEAD) / side)
        ground = motion.ground
        blocks = _block_faces(ground, shots)
        self.canvas = Canvas(
            self.ax, shots, mechanism.gravity, None, height=_level(ground), seen=seen,
            also=np.concatenate([tips, *blocks]), stands=motion.stands,
        )  # fmt: skip
        self._ground(ground, shots)
        self._blocks(blocks)
        margin = 12 / width, 1.0 - 12 / height
        style: dict[str, Any] = {"color": INK, "va": "top", "parse_math": False}
        self.figure.text(*margin, mechanism.name, fontsize=12, fontweight="bold", **style)
        self.clock = self.figure.text(1.0 - margin[0], margin[1], "", fontsize=12, ha="right", **style)
        self.agg.draw()
        self.empty = self.agg.copy_from_bbox(self.figure.bbox)
        self.kept = set(self.ax.get_children())

    def _ground(self, ground: GroundPlane | None, shots: list[Skeleton]) -> None:
        """The ground of the motion; where it slopes, its grid in place of a level one."""
        flat = self.canvas.normal is not None
        if ground is None or flat or _level(ground) is not None:
            self.canvas.ground()
        if ground is None or (not flat and _level(ground) is not None):
            return
        from mpl_toolkits.mplot3d.art3d import Line3DCollection  # type: ignore[import-untyped]

        points = np.concatenate([shot.points for shot in shots])
        lines = ground_lines(ground, points, self.canvas.step, self.canvas.normal)
        style = {"linewidths": 1.6, "alpha": 0.9} if flat else {"linewidths": 0.5, "alpha": 0.45}
        self.ax.add_collection3d(Line3DCollection(lines, colors=GROUND, zorder=0, **style))

    def _blocks(self, faces: list[Array]) -> None:
        """What stands on the ground, behind all that moves."""
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection

        if faces:
            style = {"facecolors": BLOCK, "edgecolors": GROUND, "linewidths": 0.6, "zorder": 0.5}
            self.ax.add_collection3d(Poly3DCollection(faces, **style))

    def begin(self) -> None:
        """Wipe the last pose off."""
        self.agg.restore_region(self.empty)
        for artist in self._fresh():
            artist.remove()

    def finish(self, clock: str) -> np.ndarray:
        """The picture (height, width, 3) with all that was drawn since the beginning."""
        renderer = self.agg.get_renderer()
        for artist in sorted(self._fresh(), key=lambda artist: artist.get_zorder()):
            artist.do_3d_projection()
            artist.draw(renderer)
        self.clock.set_text(clock)
        self.clock.draw(renderer)
        return np.array(self.agg.buffer_rgba())[..., :3].copy()

    def _fresh(self) -> list[Any]:
        return [artist for artist in self.ax.get_children() if artist not in self.kept]


def _checked_size(size: Sequence[int]) -> tuple[int, int]:
    """Width and height in pixels, even as movies need them."""
    pair = [int(x) for x in size if number(x, "size") == int(x)]
    if len(pair) != 2 or len(size) != 2 or any(not 64 <= x <= LARGEST or x % 2 for x in pair):
        raise InputError(
            must_be(
                "size",
                f"width and height in pixels, even and between 64 and {LARGEST}",
                tuple(size),
                "",
            )
        )
    return pair[0], pair[1]


def ground_lines(ground: GroundPlane, points: Array, step: float, normal: Array | None = None) -> Array:
    """Lines (k, 2, 3) of a grid on the ground below points (m, 3), a step (m) apart.

    In the plane of a planar mechanism, which is seen along ``normal``, only the line that is seen of it.

    >>> up, ahead, side = np.eye(3)[[2, 0, 1]]
    >>> plane = GroundPlane(np.zeros(3), up, ahead, side, ())
    >>> ground_lines(plane, np.array([[0, 0, 1], [2, 1, 1]]), 1.0, side).tolist()
    [[[-1.0, 0.0, 0.0], [3.0, 0.0, 0.0]]]
    """
    axes = np.stack([ground.forward, ground.side])
    if ground.terrain is not None and normal is None:
        rows = ground.surface(40)
        both = [np.stack([x[:-1], x[1:]], axis=-2).reshape(-1, 2, 3) for x in (rows, rows.swapaxes(0, 1))]
        return np.concatenate(both)
    along = (points - ground.origin) @ axes.T
    low, high = (
        (np.floor(along.min(axis=0) / step) - 1) * step,
        (np.ceil(along.max(axis=0) / step) + 1) * step,
    )
    if normal is not None:
        ahead = int(np.argmin(np.abs(axes @ normal)))
        ends = np.outer([low[ahead], high[ahead]], axes[ahead])
        return np.array([ground.origin + ends])
    lines = []
    for k in (0, 1):
        for value in np.arange(low[k], high[k] + 0.5 * step, step):
            ends = np.outer([low[1 - k], high[1 - k]], axes[1 - k])
            lines.append(ground.origin + value * axes[k] + ends)
    return np.array(lines)


def _block_faces(ground: GroundPlane | None, shots: list[Skeleton]) -> list[Array]:
    """Rectangles (4, 3) of what stands on the ground near a motion in space: steps, a shelf."""
    if ground is None or all(shot.normal is not None for shot in shots):
        return []
    points = np.concatenate([x for shot in shots for x in (shot.points, shot.corners)])
    return [face for block in ground.blocks(points, BEYOND * extent(points)) for face in shape_faces(block)]


def _level(ground: GroundPlane | None) -> float | None:
    """The height (m) of level ground; None where there is none, or it slopes or is uneven."""
    if ground is None or ground.terrain is not None or np.abs(ground.normal).max() < 1.0 - 1e-12:
        return None
    return float(ground.origin @ np.abs(ground.normal))
