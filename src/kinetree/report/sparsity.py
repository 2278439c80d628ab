"""Pictures of DeNOC matrices: which entries are zero because their modules are on different branches.

Entries have the color of their column's module, as in :func:`kinetree.report.draw.draw`. Zeros inside the
block of two modules that feel each other are pale; the blocks of modules on different branches stay white
(branch-induced sparsity; [Shah2013], eqs. 4.29, 5.21 and 5.34).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.derivations.denoc.labels import MatrixSide, sides
from kinetree.derivations.denoc.matrices import DenocMatrices
from kinetree.report.palette import GROUND, INK, module_color

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PALE = 0.16  # strength of a zero inside a block that is not zero as a whole
MOST_NAMES = 40  # rows or columns that can be named one by one
TITLES = {
    "N_l": "$N_l$",
    "N_d": "$N_d$",
    "N": "$N = N_l N_d$",
    "M": "$M$",
    "M_composite": r"$\tilde{M} = N_l^T M N_l$",
    "I": "$I = N^T M N$",
    "U": "$U$",
    "D": "$D$",
    "U_inv": "$U^{-1}$",
    "D_inv": "$D^{-1}$",
    "I_inv": "$I^{-1}$",
}


def sparsity_figure(matrices: DenocMatrices, names: Sequence[str] = ("N_l", "N_d", "I", "U")) -> Figure:
    """A figure with one picture per matrix, made without any screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.6 * len(names) + 0.4, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    for k, name in enumerate(names):
        draw_sparsity(matrices, name, figure.add_subplot(1, len(names), k + 1))
    return figure


def draw_sparsity(matrices: DenocMatrices, name: str, ax: Any = None) -> Any:
    """Draw a matrix of the whole mechanism ("I", "U", "N_l", ...) and return the matplotlib axes.

    >>> from matplotlib.figure import Figure
    >>> import kinetree as kt
    >>> from kinetree.derivations.denoc.matrices import denoc_matrices
    >>> gripper = denoc_matrices(kt.zoo.gripper(), [0.1, 0.2, 0.3, 0.4])
    >>> draw_sparsity(gripper, "U", Figure().add_subplot()).get_title()
    '$U$: 4 x 4, 9 zeros'
    """
    rows, columns = sides(matrices, name)
    values: Array = getattr(matrices, name)
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.figure(figsize=(4.0, 4.2), layout="constrained").add_subplot()
    shape = "equal" if rows.kind == columns.kind else "auto"
    ax.imshow(_colors(matrices, values, rows, columns), interpolation="nearest", aspect=shape)
    _axis_of(ax.xaxis, columns)
    _axis_of(ax.yaxis, rows)
    for edge in _edges(columns):
        ax.axvline(edge, color=GROUND, linewidth=0.7)
    for edge in _edges(rows):
        ax.axhline(edge, color=GROUND, linewidth=0.7)
    ax.tick_params(colors=INK, labelsize=7, length=0)
    size = f"{values.shape[0]} x {values.shape[1]}, {int((values == 0).sum())} zeros"
    ax.set_title(f"{TITLES[name]}: {size}", color=INK, fontsize=9)
    return ax


def _colors(matrices: DenocMatrices, values: Array, rows: MatrixSide, columns: MatrixSide) -> Array:
    """Red, green and blue of every entry."""
    from matplotlib.colors import to_rgb

    ink = np.array([to_rgb(module_color(k)) for k in columns.modules])
    related = np.array([[_related(matrices, i, j) for j in columns.modules] for i in rows.modules])
    strength = np.where(values != 0, 1.0, np.where(related, PALE, 0.0))[..., None]
    colors: Array = 1.0 - strength * (1.0 - ink[None])
    return colors


def _related(matrices: DenocMatrices, i: int, j: int) -> bool:
    """Whether one of two modules carries the other."""
    return matrices.upstream(i, j) or matrices.upstream(j, i)


def _edges(side: MatrixSide) -> list[float]:
    """Where one module ends and the next begins."""
    return [k + 0.5 for k in range(len(side.modules) - 1) if side.modules[k] != side.modules[k + 1]]


def _axis_of(axis: Any, side: MatrixSide) -> None:
    """Names of the joints, or of the modules where there are too many rows."""
    if side.kind == "joint" and len(side.names) <= MOST_NAMES:
        axis.set_ticks(range(len(side.names)), side.names)
    else:
        ends = [-0.5, *_edges(side), len(side.modules) - 0.5]
        middles = [0.5 * (a + b) for a, b in pairwise(ends)]
        axis.set_ticks(middles, [f"$M_{{{side.modules[int(x)]}}}$" for x in middles])
    if axis.axis_name == "x":
        axis.set_tick_params(rotation=90 if side.kind == "joint" else 0)
