"""What the law sees at a tick: where feet, trunk and center of mass are and how they move."""

from __future__ import annotations

from kinetree.engine.door import helper

COORDINATE, RATIO, ROTATES, MASS, MOMENT = 0, 1, 2, 3, 4  # columns of the table of axes
WIDTH = 7


@helper
def look(walk, bodies, E, moves, weightless, kin, axes, path, M, h, qd, moving, J):
    """Fill in what is seen of feet and trunk, their Jacobians J (bodies, 6, n_dof), and the center of mass.

    ``kin`` (24 n,) are poses, velocities and accelerations of all axes at qdd = 0; ``axes`` (n, 7) their
    coordinate, its ratio, whether they rotate, mass and first moment; ``path`` (bodies, n) which of them move
    a body.
    """
    for b in range(bodies.shape[0]):
        body = bodies[b]
        see_body(body, E, kin, axes.shape[0])
        fill_jacobian(kin, axes, path[b], body.place[0], body.place[1], body.place[2], J[b])
    for k in range(walk.feet):
        see_hip(bodies[k], E, kin)
    see_center(walk, E, moves, weightless, kin, axes, M, h, qd, moving)


@helper
def see_body(body, E, kin, n):
    """Rotation, place, velocities and dJ/dt qd of the point of a body; of a ball, where it touches."""
    at, fast, late = 12 * body.axis, 12 * n + 6 * body.axis, 18 * n + 6 * body.axis
    for r in range(3):
        for c in range(3):
            total = 0.0
            for k in range(3):
                total += kin[at + 3 * r + k] * body.turn[k, c]
            body.R[r, c] = total
    p, ball = body.point, body.radius
    x0 = kin[at] * p[0] + kin[at + 1] * p[1] + kin[at + 2] * p[2] - ball * E[2, 0]
    x1 = kin[at + 3] * p[0] + kin[at + 4] * p[1] + kin[at + 5] * p[2] - ball * E[2, 1]
    x2 = kin[at + 6] * p[0] + kin[at + 7] * p[1] + kin[at + 8] * p[2] - ball * E[2, 2]
    w0, w1, w2 = kin[fast + 3], kin[fast + 4], kin[fast + 5]
    a0, a1, a2 = kin[late + 3], kin[late + 4], kin[late + 5]
    u0, u1, u2 = w1 * x2 - w2 * x1, w2 * x0 - w0 * x2, w0 * x1 - w1 * x0
    v0, v1, v2 = kin[fast] + u0, kin[fast + 1] + u1, kin[fast + 2] + u2
    body.drift[0] = kin[late] + a1 * x2 - a2 * x1 + w1 * u2 - w2 * u1
    body.drift[1] = kin[late + 1] + a2 * x0 - a0 * x2 + w2 * u0 - w0 * u2
    body.drift[2] = kin[late + 2] + a0 * x1 - a1 * x0 + w0 * u1 - w1 * u0
    body.drift[3], body.drift[4], body.drift[5] = a0, a1, a2
    body.spin[0], body.spin[1], body.spin[2] = w0, w1, w2
    y0, y1, y2 = kin[at + 9] + x0, kin[at + 10] + x1, kin[at + 11] + x2
    body.place[0], body.place[1], body.place[2] = y0, y1, y2
    for r in range(3):
        body.x[r] = E[r, 0] * y0 + E[r, 1] * y1 + E[r, 2] * y2
        body.v[r] = E[r, 0] * v0 + E[r, 1] * v1 + E[r, 2] * v2


@helper
def see_hip(foot, E, kin):
    """Where the hip of a foot is."""
    at, p = 12 * foot.hip_axis, foot.hip_point
    y0 = kin[at + 9] + kin[at] * p[0] + kin[at + 1] * p[1] + kin[at + 2] * p[2]
    y1 = kin[at + 10] + kin[at + 3] * p[0] + kin[at + 4] * p[1] + kin[at + 5] * p[2]
    y2 = kin[at + 11] + kin[at + 6] * p[0] + kin[at + 7] * p[1] + kin[at + 8] * p[2]
    for r in range(3):
        foot.hip[r] = E[r, 0] * y0 + E[r, 1] * y1 + E[r, 2] * y2


@helper
def fill_jacobian(kin, axes, path, y0, y1, y2, J):
    """The Jacobian (6, n_dof) of the point y in the world, carried by the axes of a path."""
    for r in range(6):
        for c in range(J.shape[1]):
            J[r, c] = 0.0
    for i in range(axes.shape[0]):
        c, ratio, own = int(axes[i, COORDINATE]), axes[i, RATIO], 12 * i
        if path[i] > 0.0 and c >= 0:
            z0, z1, z2 = ratio * kin[own + 2], ratio * kin[own + 5], ratio * kin[own + 8]
            if axes[i, ROTATES] > 0.0:
                x0, x1, x2 = y0 - kin[own + 9], y1 - kin[own + 10], y2 - kin[own + 11]
                J[0, c] += z1 * x2 - z2 * x1
                J[1, c] += z2 * x0 - z0 * x2
                J[2, c] += z0 * x1 - z1 * x0
                J[3, c] += z0
                J[4, c] += z1
                J[5, c] += z2
            else:
                J[0, c] += z0
                J[1, c] += z1
                J[2, c] += z2


@helper
def see_center(walk, E, moves, weightless, kin, axes, M, h, qd, moving):
    """Place, velocity and dJ/dt qd of the center of mass.

    The rows of M of the base's translations are the Jacobian of the momentum along them.
    """
    y0, y1, y2 = 0.0, 0.0, 0.0
    for i in range(axes.shape[0]):
        m, a, b, c, own = axes[i, MASS], axes[i, MOMENT], axes[i, MOMENT + 1], axes[i, MOMENT + 2], 12 * i
        y0 += m * kin[own + 9] + kin[own] * a + kin[own + 1] * b + kin[own + 2] * c
        y1 += m * kin[own + 10] + kin[own + 3] * a + kin[own + 4] * b + kin[own + 5] * c
        y2 += m * kin[own + 11] + kin[own + 6] * a + kin[own + 7] * b + kin[own + 8] * c
    slides = 2 if walk.in_plane else 3
    for r in range(3):
        walk.center[r] = (E[r, 0] * y0 + E[r, 1] * y1 + E[r, 2] * y2) / walk.mass
        walk.velocity[r], walk.drift_center[r] = 0.0, weightless[r]
        for j in range(slides):
            momentum = 0.0
            for c in range(qd.shape[0]):
                momentum += M[moving[j], c] * qd[c]
            walk.velocity[r] += moves[r, j] * momentum
            walk.drift_center[r] += moves[r, j] * h[moving[j]]
