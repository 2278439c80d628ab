"""What the gallery's pictures are made of: axes with lines, overlaid poses, and numbers to compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

import kinetree as kt

Array = np.ndarray


@dataclass(frozen=True)
class Panel:
    """One pair of axes: number and contents of the document's figure, unit, lines (label, x, y).

    ``behind`` are lines of what was asked for, drawn broad and pale; ``across`` is what x is.
    """

    title: str
    unit: str
    lines: list[tuple[str, Array, Array]]
    logarithmic: bool = False
    behind: Sequence[tuple[Array, Array]] = ()
    across: str = "t / s"


@dataclass(frozen=True)
class Sticks:
    """A motion as overlaid poses: points (times, points, 2) in m."""

    title: str
    points: Array


@dataclass(frozen=True)
class Page:
    """What the gallery shows of an example: panels, the pose to draw, and rows (what, here, document)."""

    panels: Sequence[Panel | Sticks]
    pose: Array
    rows: Sequence[tuple[str, str, str]] = field(default_factory=tuple)


def over_time(
    result: kt.Result, title: str, variable: str, joints: Sequence[str], labels: Sequence[str] | None = None
) -> Panel:
    """Some joints of a variable, with what was asked for behind; angles in degrees."""
    t, values = result.time.values, result[variable].sel(joint=list(joints)).values
    unit = str(
        result[variable].sel(joint=joints[0]).coords["tau_unit" if variable == "tau" else "q_unit"].item()
    )
    scale = 180.0 / np.pi if variable == "q" and unit == "rad" else 1.0
    unit = "°" if scale != 1.0 else unit
    behind = []
    if variable == "q" and "q_reference" in result:
        behind = [(t, scale * y) for y in result.q_reference.sel(joint=list(joints)).values.T]
    lines = [(name, t, scale * values[:, k]) for k, name in enumerate(labels or joints)]
    return Panel(title, unit, lines, behind=behind)


def each(
    result: kt.Result, figure: str, variable: str, joints: Sequence[str], labels: Sequence[str]
) -> list[Panel]:
    """A panel for every joint: (a), (b), ..."""
    panels = []
    for letter, joint, label in zip("abcdefgh", joints, labels, strict=False):
        panels.append(over_time(result, f"{figure}({letter}): {label}", variable, [joint], [label]))
    return panels


def largest(values: object) -> float:
    """The largest magnitude."""
    return float(np.abs(np.asarray(values)).max())
