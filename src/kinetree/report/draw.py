"""A picture of a mechanism: links, joints by kind, centers of mass, contact points, loops, ground."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import numbers
from kinetree.errors import InputError, must_be
from kinetree.formats.regular_file import PathLike
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.report.canvas import Canvas
from kinetree.report.frames import Frames
from kinetree.report.looks import looks as described_looks
from kinetree.report.obstacles import obstacle_faces
from kinetree.report.palette import INK
from kinetree.report.skeleton import Skeleton, skeleton
from kinetree.state import coordinates, hint_at_degrees

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(
    mechanism: Mechanism,
    q: ArrayLike | None = None,
    ax: Any = None,
    *,
    labels: bool = False,
    legend: bool = True,
    ground: bool = True,
    view: tuple[float, float] | None = None,
    looks: bool = True,
    meshes: PathLike | None = None,
) -> Any:
    """Draw a mechanism in the pose q (n_dof,) and return the matplotlib 3-D axes.

    Without ``q`` the allowed pose nearest to zero is drawn; without ``ax`` a new pyplot figure is made.
    Bodies are drawn as described in their file, with meshes (.stl, .obj; .dae and .glb need the extra
    ``meshes``) and shapes in their colors; ``meshes`` is a folder to read mesh files from, instead of the
    paths in the description. Bodies without shapes, or all if ``looks`` is False, are drawn as lines between
    their joints, as plates if they are attached at three or more points, and as boxes of equal inertia if
    they float, in the colors of their modules ([Shah2013], section 4.1). ``labels`` shows the names of the
    joints; ``view`` is elevation and azimuth (deg). A planar mechanism is viewed along its normal.

    >>> from matplotlib.figure import Figure
    >>> import kinetree as kt
    >>> ax = draw(kt.zoo.gripper(), [0.5, 0.4, 0.4, 1.2], Figure().add_subplot(projection="3d"))
    >>> ax.get_title()
    'gripper'
    """
    expect_mechanism(mechanism)
    if q is not None:
        hint_at_degrees(mechanism, coordinates(mechanism, q, "q"), "q")
    shot = skeleton(mechanism, q, described_looks(mechanism, meshes) if looks else None)
    return _drawn(mechanism, [shot], ax, labels=labels, legend=legend, ground=ground, view=view)


def strobe(
    mechanism: Mechanism,
    q: ArrayLike,
    ax: Any = None,
    *,
    labels: bool = False,
    legend: bool = False,
    ground: bool = True,
    view: tuple[float, float] | None = None,
    looks: bool = True,
    meshes: PathLike | None = None,
) -> Any:
    """Draw the poses q (k, n_dof) of a motion into one picture, the earlier the fainter; see :func:`draw`."""
    rows = numbers(q, "q")
    if rows.ndim != 2 or not len(rows):
        raise InputError(f"q must have shape (k, {mechanism.n_dof}) with k >= 1, got shape {rows.shape}")
    known = described_looks(mechanism, meshes) if looks else None
    shots = [skeleton(mechanism, row, known) for row in rows]
    return _drawn(mechanism, shots, ax, labels=labels, legend=legend, ground=ground, view=view)


def figure_of(
    mechanism: Mechanism,
    q: ArrayLike | None = None,
    *,
    labels: bool = False,
    inches: float = 6.0,
    looks: bool = True,
    meshes: PathLike | None = None,
    view: tuple[float, float] | None = None,
    around: Frames | None = None,
) -> Figure:
    """A figure with one picture, made without any screen; smaller ones have larger letters beside it.

    Poses q (k, n_dof) are overlaid as in :func:`strobe`; ``around`` is a motion whose
    obstacles are drawn, too; for the other arguments see :func:`draw`.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = [q] if q is None or np.ndim(q) != 2 else [*numbers(q, "q")]
    known = described_looks(mechanism, meshes) if looks else None
    shots = [skeleton(mechanism, row, known) for row in rows]
    figure = Figure(figsize=(inches, 1.05 * inches))
    FigureCanvasAgg(figure)
    ax: Any = figure.add_axes((0.0, 0.0, 1.0, 1.0 / 1.05), projection="3d")
    legend = len(shots) == 1
    _drawn(mechanism, shots, ax, labels=labels, legend=legend, ground=True, view=view, around=around)
    return figure


def _drawn(
    mechanism: Mechanism,
    shots: list[Skeleton],
    ax: Any,
    *,
    labels: bool,
    legend: bool,
    ground: bool,
    view: tuple[float, float] | None,
    around: Frames | None = None,
) -> Any:
    ax = _axes(ax)
    faces = [] if around is None else obstacle_faces(mechanism, around.obstacles, around.q[-1])
    canvas = Canvas(
        ax, shots, mechanism.gravity, view, also=np.concatenate(faces) if faces else None, marks=labels,
        stands=around is None or around.stands,
    )  # fmt: skip
    if ground:
        canvas.ground()
    canvas.obstacles(faces)
    faint = np.linspace(0.12, 0.5, len(shots) - 1)
    for layer, (shot, strength) in enumerate(zip(shots, [*faint, 1.0], strict=True)):
        canvas.skeleton(shot, float(strength), layer)
    if labels:
        canvas.labels(shots[-1])
    if legend:
        from kinetree.report.mark_legend import draw_legend

        draw_legend(canvas, shots[-1])
    ax.set_title(mechanism.name, color=INK, fontsize=11, pad=2, parse_math=False)
    return ax


def _axes(ax: Any) -> Any:
    """The given 3-D axes, or those of a new figure."""
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.figure(figsize=(6.0, 6.3)).add_axes((0.0, 0.0, 1.0, 0.95), projection="3d")
    if getattr(ax, "name", None) != "3d":
        raise InputError(must_be("ax", "matplotlib axes made with projection='3d'", ax))
    return ax
