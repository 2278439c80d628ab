"""Cut joints by 4x4 matrices: the placement of one end seen from the other, and its derivatives.

With P = A K of both ends ([Xiang2009], eq. 12) and X = P_a^-1 P_b,

    dX = P_a^-1 (dP_b - dP_a X)          d2X/dt2 = P_a^-1 (P_b'' - P_a'' X - 2 P_a' X')

so that the position constraint of [Xiang2009], eq. 38b, and its derivatives follow from A, B and C of the
recursion.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.derivations.contract import DIRECTION, POINT, Cut, Load
from kinetree.derivations.homogeneous import Numbers, link_matrices, paths, world_poses
from kinetree.derivations.lagrangian_recursion import Kinematics
from kinetree.derivations.lagrangian_sensitivity import pose_sensitivities
from kinetree.model.tree import WORLD_AXIS, Tree

STEP = 1e-30  # of complex steps, far below rounding


def cut_jacobian(tree: Tree, cuts: tuple[Cut, ...], q: Any) -> Numbers:
    """J (rows, n) with d gap / dt = J qd, from dA_i / dq_k ([Xiang2009], eq. 21)."""
    T = link_matrices(tree, q)
    A = world_poses(tree, T[0])
    dA, path = pose_sensitivities(tree, T, A), paths(tree)
    J = np.zeros((sum(len(cut.rows) for cut in cuts), tree.n), A.dtype)
    row = 0
    for cut in cuts:
        back, X = _seen(cut, A)
        slopes = np.zeros((tree.n, 4, 4), A.dtype)
        if cut.axis_b != WORLD_AXIS:
            slopes[path[cut.axis_b]] += back @ dA[cut.axis_b] @ cut.place_b
        if cut.axis_a != WORLD_AXIS:
            slopes[path[cut.axis_a]] -= back @ dA[cut.axis_a] @ cut.place_a @ X
        for one in cut.rows:
            if one.type == DIRECTION:
                J[row] = np.einsum("i,kij,j->k", one.e, slopes[:, :3, :3], one.f)
            elif one.type == POINT:
                J[row] = slopes[:, :3, 3] @ one.e
            else:
                J[row] = slopes[:, :3, 3] @ X[:3, 3] / one.constant
            row += 1
    return J


def cut_gaps(tree: Tree, cuts: tuple[Cut, ...], q: Any) -> Numbers:
    """The gaps (rows,), whose derivatives are `cut_jacobian`: zero where the loops are closed."""
    A, found = world_poses(tree, link_matrices(tree, q)[0]), []
    for cut in cuts:
        X = _seen(cut, A)[1]
        for one in cut.rows:
            if one.type == DIRECTION:
                found.append(one.e @ X[:3, :3] @ one.f - one.constant)
            elif one.type == POINT:
                found.append(one.e @ X[:3, 3])
            else:
                found.append((X[:3, 3] @ X[:3, 3] - one.constant**2) / (2.0 * one.constant))
    return np.array(found)


def cut_rates(cuts: tuple[Cut, ...], motion: Kinematics) -> Numbers:
    """Second time derivatives of the gaps, (rows,), in a motion A, B, C; at qdd = 0 they are dJ/dt qd."""
    _, A, B, C = motion
    found = []
    for cut in cuts:
        back, X = _seen(cut, A)
        once = back @ (B[cut.axis_b] @ cut.place_b - B[cut.axis_a] @ cut.place_a @ X)
        twice = C[cut.axis_b] @ cut.place_b - C[cut.axis_a] @ cut.place_a @ X
        twice = back @ (twice - 2 * B[cut.axis_a] @ cut.place_a @ once)
        for one in cut.rows:
            if one.type == DIRECTION:
                found.append(one.e @ twice[:3, :3] @ one.f)
            elif one.type == POINT:
                found.append(one.e @ twice[:3, 3])
            else:
                v = once[:3, 3]
                found.append((v @ v + X[:3, 3] @ twice[:3, 3]) / one.constant)
    return np.array(found)


def end_loads(tree: Tree, cuts: tuple[Cut, ...], q: Any) -> list[list[Load]]:
    """For every row, force and moment of a unit multiplier at the cut ends, as loads ([Xiang2009], eq. 38b).

    On body b at its end, and the opposite on body a at the same point.
    """
    A = world_poses(tree, link_matrices(tree, q)[0])
    found = []
    for cut in cuts:
        _, X = _seen(cut, A)
        P_a, P_b = A[cut.axis_a] @ cut.place_a, A[cut.axis_b] @ cut.place_b
        on_a, on_b = (cut.place_a @ X)[:3, 3], np.asarray(cut.place_b)[:3, 3]
        for one in cut.rows:
            force, moment = np.zeros(3, A.dtype), np.zeros(3, A.dtype)
            if one.type == DIRECTION:
                moment = np.cross(P_b[:3, :3] @ one.f, P_a[:3, :3] @ one.e)
            elif one.type == POINT:
                force = P_a[:3, :3] @ one.e
            else:
                force = (P_b - P_a)[:3, 3] / one.constant
            found.append([Load(cut.axis_b, force, moment, on_b), Load(cut.axis_a, -force, -moment, on_a)])
    return found


def along(function: Any, x: Any, direction: Any) -> Numbers:
    """The derivative of a function of x along a direction, by complex step."""
    return np.asarray(function(np.asarray(x) + 1j * STEP * np.asarray(direction))).imag / STEP


def _seen(cut: Cut, A: Numbers) -> tuple[Numbers, Numbers]:
    """P_a^-1, and X: end b seen from end a."""
    P = A[cut.axis_a] @ cut.place_a
    back = np.zeros((4, 4), P.dtype)
    back[:3, :3] = P[:3, :3].T
    back[:3, 3] = -P[:3, :3].T @ P[:3, 3]
    back[3, 3] = 1
    return back, back @ A[cut.axis_b] @ cut.place_b
