"""Counts against the degrees of freedom: the curves of [Shah2013], Figs. 6.15, 6.16, 7.30 and 7.31."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.operation_counts.documents import (
    DOCUMENT,
    LITERATURE,
)
from benchmarks.operation_counts.measured import total
from benchmarks.operation_counts.mechanisms import KINDS, chain, general

FIGURES = {  # as [Shah2013] numbers them
    "inverse": ("Fig. 6.15: inverse, fixed base", False),
    "forward, phi given": ("Fig. 6.16: forward, fixed base", False),
    "floating inverse": ("Fig. 7.30: inverse, floating base", True),
    "forward": ("Fig. 7.31: forward, floating base", True),
}
PANELS = {
    "1-DOF joints": (1,),
    "2-DOF joints": (2,),
    "3-DOF joints": (3,),
    "1-, 2-, 3-DOF in turn": (1, 2, 3),
}
MOST = 30  # degrees of freedom


def figure() -> Any:
    """Operations (M + A) against the number of degrees of freedom: a row of panels per figure of the book."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(14.0, 13.0), layout="constrained")
    axes = drawing.subplots(len(FIGURES), len(PANELS), sharex=True, sharey="row", squeeze=False)
    for row, (algorithm, (title, floating)) in zip(axes, FIGURES.items(), strict=True):
        for ax, (label, pattern) in zip(row, PANELS.items(), strict=True):
            _panel(ax, algorithm, pattern, floating)
            ax.set_title(f"{title}, {label}", fontsize=8, loc="left")
        row[0].set_ylabel("operations, M + A")
        row[-1].legend(fontsize=7)
    for ax in axes[-1]:
        ax.set_xlabel("degrees of freedom of the joints")
    return drawing


def _panel(ax: Any, algorithm: str, pattern: Sequence[int], floating: bool) -> None:
    document, ours = curve(algorithm, pattern, floating)
    n = np.arange(sum(pattern), MOST + 1)
    for name, formula in LITERATURE[algorithm].items():
        ax.plot(n, [formula(int(x)) for x in n], linewidth=1.0, alpha=0.7, label=name)
    ax.plot(*zip(*document, strict=True), "k--", linewidth=1.2, label="Shah et al. 2013")
    ax.plot(*zip(*ours, strict=True), "ko", markersize=4, label="measured")
    ax.set_xlim(0, MOST)
    ax.set_ylim(0, 1.15 * max(formula(MOST) for formula in list(LITERATURE[algorithm].values())[:2]))
    ax.grid(alpha=0.25)


def curve(
    algorithm: str, pattern: Sequence[int], floating: bool, most: int = MOST
) -> tuple[list[tuple[int, float]], list[tuple[int, float]]]:
    """(degrees of freedom, M + A) of the document's formula and as measured, for chains of joints."""
    document, ours = [], []
    for rounds in range(1, most // sum(pattern) + 1):
        n = {eps: rounds * pattern.count(eps) * eps for eps in (1, 2, 3)}
        said = DOCUMENT[algorithm].total(n[1], n[2], n[3])
        document.append((sum(n.values()), float(said.M + said.A)))
        if rounds * sum(pattern) in (sum(pattern), 12, 18, 24, 30):
            kinds = [KINDS[eps - 1] for _ in range(rounds) for eps in pattern]
            done = total(algorithm, general(chain(kinds), floating))
            ours.append((sum(n.values()), float(done.M + done.A)))
    return document, ours
