"""The picture of a workspace: positions a body reaches, colored by how far they are from singularities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.analysis.workspace_map import Workspace
from kinetree.errors import InputError
from kinetree.report.palette import GROUND, INK
from kinetree.report.panel import quiet_frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FLAT = 1e-9  # relative to the largest extent: less is none
AREA, LARGEST = 6e4, 150.0  # points^2: of all dots together, so that those of a grid about touch; of one


def plot_workspace(found: Workspace, ax: Any = None, show: bool = False) -> Figure:
    """Plot the points in the plane, or the space, that they span; see :meth:`Workspace.plot`.

    >>> import kinetree as kt
    >>> arm = kt.zoo.two_link()
    >>> points = [(0.1, 0.2, 0.0), (0.3, 0.1, 0.0), (2.0, 0.0, 0.0)]
    >>> plot_workspace(kt.analysis.workspace(arm, "link2", points)).axes[0].get_xlabel()
    'x / m'
    """
    points, reached = found.points.reshape(-1, 3), found.reached.ravel()
    extent = np.ptp(points, axis=0) if len(points) else np.zeros(3)
    axes = [k for k in range(3) if extent[k] > FLAT * max(float(extent.max()), FLAT)]
    axes = (
        axes if len(axes) == 3 else sorted({*axes, *[k for k in range(3) if k not in axes][: 2 - len(axes)]})
    )
    figure = _figure(len(axes), show) if ax is None else ax.figure
    if ax is None:
        ax = figure.add_subplot(projection="3d" if len(axes) == 3 else None)
    elif len(axes) == 3 and not hasattr(ax, "set_zlabel"):
        raise InputError("the points span all three directions: ax must have projection='3d'")
    size = min(LARGEST, AREA / max(len(points), 1))
    missed = points[~reached][:, axes].T
    ax.scatter(*missed, s=min(size, 4.0), color=GROUND, alpha=0.5, linewidths=0.0, gid="missed")
    dots = ax.scatter(
        *points[reached][:, axes].T, c=found.dexterity.ravel()[reached], s=size, marker="s", cmap="viridis",
        vmin=0.0, vmax=max([1e-3, *found.dexterity.ravel()[reached]]), linewidths=0.0, gid="reached",
    )  # fmt: skip
    bar = figure.colorbar(dots, ax=ax, shrink=0.8)
    bar.set_label("dexterity (0: singular, 1: alike in all directions)", color=INK, fontsize=9)
    bar.ax.tick_params(labelsize=8, colors=INK)
    for name, k in zip("xyz", axes, strict=False):
        getattr(ax, f"set_{name}label")(f"{'xyz'[k]} / m", color=INK, fontsize=9)
    share = f"{int(reached.sum())} of {len(reached)} positions of '{found.body}' reached"
    fixed = [f"{'xyz'[k]} = {points[0, k] + 0.0:.4g} m" for k in range(3) if k not in axes and len(points)]
    head = "\n".join([share, ", ".join(fixed)] if fixed else [share])
    ax.set_title(head, loc="left", color=INK, fontsize=10, parse_math=False)
    ax.set_aspect("equal")
    if len(axes) == 2:
        quiet_frame(ax)
        ax.set_axisbelow(True)
    if show:
        from matplotlib import pyplot

        pyplot.show()
    return figure  # type: ignore[no-any-return]


def _figure(dimensions: int, show: bool) -> Any:
    size = (7.5, 6.0 if dimensions == 3 else 5.5)
    if show:
        from matplotlib import pyplot

        return pyplot.figure(figsize=size, layout="constrained")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure
