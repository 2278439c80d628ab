"""Tables of a robot for the compiled walking law."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.legs import Legged
from kinetree.control.whole_body.compiled.look import COORDINATE, MASS, MOMENT, RATIO, ROTATES, WIDTH
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Tree


def axis_table(mechanism: Mechanism) -> Array:
    """A row for each axis (n, 7): coordinate (-1: none), ratio, whether it rotates, mass, first moment."""
    tree = mechanism.tree
    table = np.zeros((tree.n, WIDTH))
    table[:, COORDINATE], table[:, RATIO] = np.arange(tree.n), 1.0
    if tree.coupling is not None:
        matrix = tree.coupling.matrix
        place = np.abs(matrix).argmax(axis=1)
        ratio = matrix[np.arange(tree.n), place]
        table[:, COORDINATE], table[:, RATIO] = np.where(ratio != 0.0, place, -1), ratio
    table[:, ROTATES], table[:, MASS], table[:, MOMENT:] = tree.turns, tree.mass, tree.first_moment
    return table


def paths(walker: Legged) -> Array:
    """Flags (bodies, n): which axes move each foot and the trunk, which comes last."""
    tree = walker.mechanism.tree
    flags = np.zeros((len(walker.feet) + 1, tree.n))
    for row, name in zip(flags, [*(foot.body for foot in walker.feet), walker.trunk], strict=True):
        axis = int(tree.body_axis[walker.mechanism.body_index(name)])
        while axis >= 0:
            row[axis] = 1.0
            axis = int(tree.parent[axis])
    return flags


def body_table(walker: Legged, bodies: Any) -> Any:
    """Fill in what does not change of feet and trunk."""
    mechanism, tree = walker.mechanism, walker.mechanism.tree
    for k, foot in enumerate(walker.feet):
        record = bodies[k]
        _carry(tree, record, mechanism.body_index(foot.body), foot.point)
        hip = mechanism.body_index(foot.hip)
        record["hip_axis"], record["hip_point"] = tree.body_axis[hip], tree.body_position[hip]
        record["radius"], record["group"] = foot.radius, int(k in walker.groups[1])
        record["low"] = foot.points.min(axis=0) - foot.point
        record["high"] = foot.points.max(axis=0) - foot.point
    _carry(tree, bodies[-1], mechanism.body_index(walker.trunk), np.zeros(3))
    return bodies


def _carry(tree: Tree, record: Any, body: int, point: Array) -> None:
    """The axis of a body, and where the body and its point are in the frame of the axis."""
    record["axis"], record["turn"] = tree.body_axis[body], tree.body_rotation[body]
    record["point"] = tree.body_position[body] + tree.body_rotation[body] @ point
