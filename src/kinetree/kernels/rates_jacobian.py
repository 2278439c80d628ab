"""Slopes of the right-hand side of a simulation: accelerations by positions and velocities.

M dqdd = d(applied forces) + d(torques of law and joints) - d(inverse dynamics at qdd); see `force_slopes` for
the first. Matrices (n, 2 n) lie in one row of numbers, line by line: by positions, then by velocities.
"""

from kinetree.kernels.axes import WORLD, inward, outward
from kinetree.kernels.floating import BASE
from kinetree.kernels.layout import Layout
from kinetree.kernels.number import LANES, lanewise, sign, where_less
from kinetree.kernels.torque_law import COMPUTED, beyond_limits
from kinetree.kernels.vectors import dot, dot_plus, scale

STRIP = Layout(world=False, x=4)  # columns that are solved for at once: four vectors of `LANES` numbers
COLUMNS = 4 * LANES


# ---- mechanics, joints and the torque law ----------------------------------------------------------------
@lanewise
def clear(A, count):
    """Zeros."""
    for k in range(count):
        A[k] = 0.0


@lanewise
def mechanics(tree, packed, n, A):
    """Add minus the gradient of inverse dynamics; springs and viscous friction of joints are in it."""
    width = 2 * n
    k = 0
    for i in inward(n):
        j = i
        while j != WORLD:
            up, low = j * width + i, i * width + j
            A[up], A[up + n] = -packed.dq_up[k], -packed.dqd_up[k]
            A[low], A[low + n] = -packed.dq_low[k], -packed.dqd_low[k]
            k += 1
            j = tree.parent[j]


@lanewise
def model_slopes(head, axes, tree, packed, n, A):
    """Slopes of the model's torques: of gravity, or of M alpha + h with alpha = ... - kp q - kd qd."""
    width = 2 * n
    fast = 1.0 * (head.mode[0] == COMPUTED)
    k = 0
    for i in inward(n):
        j = i
        while j != WORLD:
            up, low = j * width + i, i * width + j
            served_i, served_j = packed.M[k] * axes.actuated[i], packed.M[k] * axes.actuated[j]
            A[up] = packed.dq_up[k] - fast * (served_i * axes.kp[i])
            A[low] = packed.dq_low[k] - fast * (served_j * axes.kp[j])
            A[up + n] = fast * (packed.dqd_up[k] - served_i * axes.kd[i])
            A[low + n] = fast * (packed.dqd_low[k] - served_j * axes.kd[j])
            k += 1
            j = tree.parent[j]


@lanewise
def add_line(A, width, target, factor, source):
    """A[target] += factor A[source]"""
    target, source = target * width, source * width
    for k in range(width):
        A[target + k] = A[target + k] + factor * A[source + k]


@lanewise
def scale_line(A, width, target, factor):
    """A[target] *= factor"""
    for k in range(target * width, (target + 1) * width):
        A[k] = factor * A[k]


@lanewise
def free_base(tree, packed, n, B, A):
    """Torques of a model with a free base: A_joints - M_joints,base M_base^-1 A_base; B is scratch (36)."""
    width = 2 * n
    for i in range(BASE):
        for j in range(i + 1):
            B[BASE * i + j] = packed.M[tree.first[i] + i - j]
            B[BASE * j + i] = packed.M[tree.first[i] + i - j]
    for i in range(BASE):
        for j in range(i + 1, BASE):
            factor = -B[BASE * j + i] / B[BASE * i + i]
            add_line(B, BASE, j, factor, i)
            add_line(A, width, j, factor, i)
    for i in inward(BASE):
        scale_line(A, width, i, 1.0 / B[BASE * i + i])
        for j in range(i):
            add_line(A, width, j, -B[BASE * j + i], i)
    for i in range(BASE, n):
        k = tree.first[i] + 1
        j = tree.parent[i]
        while j != WORLD:
            if j < BASE:
                add_line(A, width, i, -packed.M[k], j)
            k += 1
            j = tree.parent[j]


@lanewise
def resistance_slopes(tree, axes, i, q, qd, slow, above, below):
    """Slopes of the torque of dry friction and stops of axis i, by q and by qd."""
    ramp = (tree.coulomb[i] + tree.coulomb_bias[i] * sign(qd)) / slow
    by_q, by_qd = 0.0 * q, -where_less(-slow, qd, where_less(qd, slow, ramp, 0.0), 0.0)
    if axes.stopped[i] == 1:
        k, c = axes.stop_k[i], axes.stop_c[i]
        beyond, short = q - axes.upper[i], axes.lower[i] - q
        pushed = above * where_less(0.0, k * beyond + c * qd, 1.0, 0.0)
        pulled = below * where_less(0.0, k * short - c * qd, 1.0, 0.0)
        by_q, by_qd = by_q - k * (pushed + pulled), by_qd - c * (pushed + pulled)
    return by_q, by_qd


@lanewise
def joint_slopes(head, tree, axes, q, qd, stops, A):
    """Add what friction and stops of every axis do by its own motion."""
    n = len(q)
    width = 2 * n
    for i in outward(n):
        if axes.passive[i] == 1:
            above, below = beyond_limits(head, axes, i, q[i], stops)
            by_q, by_qd = resistance_slopes(tree, axes, i, q[i], qd[i], head.slow[0], above, below)
            A[i * width + i] = A[i * width + i] + by_q
            A[i * width + n + i] = A[i * width + n + i] + by_qd


@lanewise
def law_slopes(head, axes, tau, law, n, width, L):
    """Add the slopes of the law's torques to the lines of L (n, width), where they are within their limits.

    ``law`` (n, 2 n) are those of its model, if there is one.
    """
    for i in outward(n):
        if axes.actuated[i] == 1 and head.sampled[0] == 0:
            row, most = i * width, axes.limit[i]
            able = where_less(-most, tau[i], where_less(tau[i], most, 1.0, 0.0), 0.0)
            if head.mode[0] != COMPUTED and head.desired_count[0] > 0:
                L[row + i] = L[row + i] - able * axes.kp[i]
                L[row + n + i] = L[row + n + i] - able * axes.kd[i]
            for k in range(min(len(law), 2 * n)):
                L[row + k] = L[row + k] + able * law[2 * n * i + k]


@lanewise
def add_lines(A, n, width, J):
    """Add the lines of A (n, 2 n) to those of J (n, width)."""
    for i in outward(n):
        for k in range(2 * n):
            J[i * width + k] = J[i * width + k] + A[2 * n * i + k]


# ---- accelerations -----------------------------------------------------------------------------------------
@lanewise
def factors(tree, work, n, packed):
    """U of M = U D U^T in the places of M, by articulated bodies: U_ji = (z_j . Un_i + s_j . Uf_i) / D_i."""
    k = 0
    for i in inward(n):
        Un, Uf = scale(work.inv_D[i], work.Un[i]), scale(work.inv_D[i], work.Uf[i])
        j = i
        while j != WORLD:
            packed.M[k] = dot_plus(work.z[j], Un, dot(work.s[j], Uf))
            k += 1
            j = tree.parent[j]


@lanewise
def strip_plus(k, x, y):
    """k x + y of four vectors side by side."""
    return y[0] + k * x[0], y[1] + k * x[1], y[2] + k * x[2], y[3] + k * x[3]


@lanewise
def solve_strip(tree, work, n, packed, strip):
    """Replace the columns in a strip by M^-1 times them."""
    for i in inward(n):  # x <- U^-1 x
        x, k = strip.x[i], tree.first[i] + 1
        j = tree.parent[i]
        while j != WORLD:
            strip.x[j] = strip_plus(-packed.M[k], x, strip.x[j])
            k += 1
            j = tree.parent[j]
    for i in outward(n):  # x <- U^-T D^-1 x
        x, D, k = strip.x[i], work.inv_D[i], tree.first[i] + 1
        x = x[0] * D, x[1] * D, x[2] * D, x[3] * D
        j = tree.parent[i]
        while j != WORLD:
            x = strip_plus(-packed.M[k], strip.x[j], x)
            k += 1
            j = tree.parent[j]
        strip.x[i] = x


@lanewise
def solve_matrix(tree, work, n, width, packed, strip, numbers, A):
    """A <- M^-1 A (n, width), by as many columns as fit into a strip, whose memory is also `numbers`."""
    for start in range(0, width, COLUMNS):
        count = min(COLUMNS, width - start)
        for i in outward(n):
            for k in range(count):
                numbers[i * COLUMNS + k] = A[i * width + start + k]
            for k in range(count, COLUMNS):
                numbers[i * COLUMNS + k] = 0.0
        solve_strip(tree, work, n, packed, strip)
        for i in outward(n):
            for k in range(count):
                A[i * width + start + k] = numbers[i * COLUMNS + k]
