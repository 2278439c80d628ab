"""4x4 matrices of a tree: link matrices with their derivatives, and bodies as pseudo-inertias.

The documents' Denavit-Hartenberg matrix T_i turns first and is placed afterwards; here the frame of an axis
is placed first (a constant matrix) and then turns about, or slides along, its own z. The recursions of
[Xiang2009] hold for either, as they only use T_i and its derivatives with respect to q_i.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinetree.derivations.contract import Loads
from kinetree.kernels.axes import passive_torque
from kinetree.kernels.number import sincos
from kinetree.model.tree import WORLD_AXIS, Tree

Numbers = NDArray[Any]  # floats, complex numbers, or objects that add and multiply
sine_and_cosine: Callable[[Any], tuple[Any, Any]] = sincos  # the kernels' functions, typed
passive_part: Callable[[Tree, int, Any, Any], Any] = passive_torque
ORDERS = 4  # T and its first three derivatives


def kind_of(tree: Tree, *states: Any) -> np.dtype[Any]:
    """The kind of number that model and states make together."""
    kind: np.dtype[Any] = np.result_type(tree.mass, *(np.asarray(x) for x in states))
    return kind


def object_array(values: Iterable[Any]) -> Numbers:
    """An array (k,) of objects, whatever they are."""
    listed = list(values)
    array = np.empty(len(listed), object)
    array[:] = listed
    return array


def link_matrices(tree: Tree, q: Any) -> Numbers:
    """T_i(q_i) and its derivatives by q_i, (4, n, 4, 4): axis i in its parent's frame.

    [Xiang2009], eqs. 1, 2. For a revolute axis T' moves column y to x and minus x to y; for a prismatic one
    T' is the axis in the last column and constant.
    """
    T = np.zeros((ORDERS, tree.n, 4, 4), kind_of(tree, q))
    for i in range(tree.n):
        R, p = tree.rotation[i], tree.position[i]
        x, y, z = R[:, 0], R[:, 1], R[:, 2]
        T[0, i, 3, 3] = 1
        T[0, i, :3, 2] = z
        if tree.turns[i]:
            s, c = sine_and_cosine(q[i])
            x, y = x * c + y * s, y * c - x * s
            T[0, i, :3, 3] = p
            for order, columns in enumerate(((x, y), (y, -x), (-x, -y), (-y, x))):
                T[order, i, :3, 0], T[order, i, :3, 1] = columns
        else:
            T[0, i, :3, 0], T[0, i, :3, 1], T[0, i, :3, 3] = x, y, p + z * q[i]
            T[1, i, :3, 3] = z
    return T


def world_poses(tree: Tree, T: Numbers) -> Numbers:
    """A_i = A_parent T_i, the frames in the world, (n + 1, 4, 4); the world is the last row.

    [Xiang2009], eq. 12.
    """
    A = with_world(tree, T.dtype, np.eye(4, dtype=T.dtype))
    for i, j in enumerate(tree.parent):
        A[i] = A[j] @ T[i]
    return A


def with_world(tree: Tree, kind: np.dtype[Any], world: Any = 0) -> Numbers:
    """Room for a matrix per axis and, as row -1, that of the world."""
    rows = np.zeros((tree.n + 1, 4, 4), kind)
    rows[WORLD_AXIS] = world
    return rows


def pseudo_inertias(tree: Tree) -> Numbers:
    """J_i = integral of (r, 1) (r, 1)^T dm over what axis i carries, (n, 4, 4).

    Second moment, first moment and mass. Its (1, 1) entry is the integral of x^2, no moment of inertia: the
    form printed in [Xiang2009], eq. 47 holds for planar arms with all mass on x only.
    """
    J = np.zeros((tree.n, 4, 4), tree.mass.dtype)
    J[:, :3, :3] = tree.second_moment
    J[:, :3, 3] = J[:, 3, :3] = tree.first_moment
    J[:, 3, 3] = tree.mass
    return J


def gravity_vector(tree: Tree) -> Numbers:
    """g = (g_x, g_y, g_z, 0), pointing downwards ([Xiang2009], eq. 51)."""
    return np.append(tree.gravity, 0)


def load_columns(loads: Loads) -> tuple[list[int], Numbers, Numbers, Numbers]:
    """Axes, and one column per load: forces f (4, k), points r (4, k), moments h (4, k), all augmented."""
    moving = [load for load in loads if load.axis != WORLD_AXIS]
    values = [np.asarray(x) for load in moving for x in load[1:]]
    columns = np.zeros((3, 4, len(moving)), np.result_type(np.float64, *values))
    for k, load in enumerate(moving):
        columns[0, :3, k], columns[1, :3, k], columns[2, :3, k] = load.force, load.point, load.moment
        columns[1, 3, k] = 1
    return [int(load.axis) for load in moving], *columns


def with_joint_parts(tree: Tree, i: int, tau: Any, q: Any, qd: Any, qdd: Any) -> Any:
    """The torque of axis i and what its armature, spring and friction ask of the drive besides."""
    if tree.armature[i] != 0:
        tau = tau + qdd * tree.armature[i]
    return tau + passive_part(tree, i, q, qd) if tree.passive[i] else tau


def trace_of_product(X: Numbers, Y: Numbers) -> Any:
    """tr(X Y) of matrices (..., 4, 4)."""
    return (X * np.swapaxes(Y, -1, -2)).sum(axis=(-2, -1))


def paths(tree: Tree) -> list[list[int]]:
    """The axes from the root to each axis, itself last."""
    found: list[list[int]] = []
    for i, j in enumerate(tree.parent):
        found.append([*(found[j] if j != WORLD_AXIS else []), i])
    return found


def subtrees(tree: Tree) -> list[list[int]]:
    """The axes beyond each axis, without itself."""
    beyond: list[list[int]] = [[] for _ in range(tree.n)]
    for i, path in enumerate(paths(tree)):
        for j in path[:-1]:
            beyond[j].append(i)
    return beyond
