"""What is wanted of accelerations and forces at a tick: rows of a least squares problem, as machine code."""

from __future__ import annotations

import math

from kinetree.control.whole_body.compiled.least_squares import AIM, PART, WEIGHT, WHO, X, Y, Z
from kinetree.control.whole_body.compiled.look import fill_jacobian
from kinetree.engine.door import helper

HEIGHT, TRUNK, FOOT = 5.0, 5.0, 8.0  # bandwidths of the tasks in sqrt(g / L)
ON_HEIGHT, ON_TRUNK, ON_FOOT, ON_LEVEL, ON_CENTER = 1.0, 1.0, 2.0, 0.2, 0.5  # weights of the tasks
ON_STANCE, ON_POSTURE, ON_YAW = 30.0, 0.1, 0.002
BUSY = 1e-3  # share of the weight of the posture that is left for joints that further tasks move
FAR = 0.2  # in L: error of a swing foot that is answered in full
STILL = 10.0  # rate at which the stance foot is brought to rest, in w
ANKLE, SOLE = 2.0, 0.7  # gain of the center of pressure on the divergent component; share of the sole in use
SMALL_ACCELERATION, SMALL_FORCE = 1e-4, 1e-6  # regularization of the least squares
SOFT = 1e-9  # of its equations
TRANSLATION, ROTATION = 0, 3  # first row of a Jacobian
CENTER = -1  # the "body" of rows that concern the center of mass
COORDINATE = -2  # minus k: the "body" of the row of the coordinate k


@helper
def add_row(rows, count, who, part, x, y, z, aim, weight):
    """One more row: (x, y, z) of the Jacobian of ``who`` times qdd = aim; weight 0: an equation."""
    row = rows[count]
    row[WHO], row[PART], row[X], row[Y], row[Z] = who, part, x, y, z
    row[AIM], row[WEIGHT] = aim, weight
    return count + 1


@helper
def fill_rows(walk, bodies, E, moves, turns, others, posture, q, qd, wanted, rows):
    """All tasks of a tick, and how many rows they are; ``wanted`` (3, 3) is memory for a rotation."""
    unit = math.sqrt(walk.gravity / walk.leg)
    count = height_row(walk, moves, unit, rows, 0)
    count = trunk_rows(walk, bodies[walk.feet], turns, unit, E, wanted, rows, count)
    if not walk.biped:
        count = center_rows(walk, bodies, moves, rows, count)
    for k in range(walk.feet):
        if bodies[k].group != walk.group:
            count = swing_rows(walk, bodies[k], k, turns, unit, E, wanted, rows, count)
    for k in range(walk.feet):
        if bodies[k].group == walk.group:
            count = stance_rows(walk, bodies[k], k, turns, E, rows, count)
    stiff = (TRUNK * unit) ** 2
    for i in range(walk.others):
        c = others[i]
        aim = stiff * (posture[0, i] - q[c]) - 2.0 * TRUNK * unit * qd[c]
        count = add_row(rows, count, COORDINATE - c, 0, 0.0, 0.0, 0.0, aim, posture[1, i])
    return count


@helper
def height_row(walk, moves, unit, rows, count):
    """The center of mass keeps its height above the ground."""
    miss = walk.level + walk.height - walk.center[2]
    rate = HEIGHT * unit
    aim = rate * rate * miss - 2.0 * rate * walk.velocity[2] - walk.drift_center[2]
    return add_row(rows, count, CENTER, TRANSLATION, moves[2, 0], moves[2, 1], moves[2, 2], aim, ON_HEIGHT)


@helper
def trunk_rows(walk, trunk, turns, unit, E, wanted, rows, count):
    """The trunk keeps its attitude, turned to the heading."""
    turned(E, walk.heading, trunk.first, wanted)
    first, free = count, walk.biped and not walk.soles and not walk.in_plane
    count = level_rows(trunk, walk.feet, turns, wanted, TRUNK * unit, ON_TRUNK, rows, count)
    if free:  # two point feet cannot stop a rotation about the vertical, and must not try at any price
        rows[first + 2, WEIGHT] = ON_YAW
    return count


@helper
def level_rows(body, who, turns, wanted, rate, weight, rows, count):
    """A body is rotated towards a wanted rotation."""
    e0, e1, e2 = attitude_error(wanted, body.R)
    a0 = rate * rate * e0 - 2.0 * rate * body.spin[0] - body.drift[3]
    a1 = rate * rate * e1 - 2.0 * rate * body.spin[1] - body.drift[4]
    a2 = rate * rate * e2 - 2.0 * rate * body.spin[2] - body.drift[5]
    for i in range(turns.shape[0]):
        x, y, z = turns[i, 0], turns[i, 1], turns[i, 2]
        aim = x * a0 + y * a1 + z * a2
        count = add_row(rows, count, who, ROTATION, x, y, z, aim, weight)
    return count


@helper
def center_rows(walk, bodies, moves, rows, count):
    """The center of mass of a walker on many feet falls away from a center of pressure between them."""
    p0 = walk.support[0] + ANKLE * walk.error[0]
    p1 = walk.support[1] + ANKLE * walk.error[1]
    p0, p1 = nearest_inside(walk, bodies, p0, p1)
    for i in range(1 if walk.in_plane else 2):
        p = p0 if i == 0 else p1
        aim = walk.w**2 * (walk.center[i] - p) - walk.drift_center[i]
        count = add_row(
            rows, count, CENTER, TRANSLATION, moves[i, 0], moves[i, 1], moves[i, 2], aim, ON_CENTER
        )
    return count


@helper
def swing_rows(walk, foot, who, turns, unit, E, wanted, rows, count):
    """A swing foot follows its way, or stands still once it has landed; soles stay level.

    A foothold that jumps, as after a push, is followed no faster than an error of ``FAR`` asks for: pulled
    harder, the leg makes the other foot slip.
    """
    rate = FOOT * unit
    far = math.sqrt((foot.aim_x[0] - foot.x[0]) ** 2 + (foot.aim_x[1] - foot.x[1]) ** 2)
    near = min(1.0, FAR * walk.leg / max(far, 1e-9))
    for i in range(3):
        if not walk.sideways and i == 1:
            continue
        c, s = directed(walk, i)
        if foot.landed:
            aim = -STILL * walk.w * (c * foot.v[i] + s * foot.v[1])
        else:
            e, ed = near * (foot.aim_x[i] - foot.x[i]), foot.aim_v[i] - foot.v[i]
            e1, ed1 = near * (foot.aim_x[1] - foot.x[1]), foot.aim_v[1] - foot.v[1]
            aim = c * foot.aim_a[i] + s * foot.aim_a[1] + rate * rate * (c * e + s * e1)
            aim += 2.0 * rate * (c * ed + s * ed1)
        count = point_row(foot, who, c, s, i, E, aim, ON_FOOT, rows, count)
    if walk.soles:
        turned(E, walk.heading, foot.first, wanted)
        count = level_rows(foot, who, turns, wanted, rate, ON_LEVEL, rows, count)
    return count


@helper
def directed(walk, i):
    """Shares (c, s) of the axes i and left in a direction in which legs move their feet.

    Legs without a joint that moves them sideways have two directions, ahead of the robot and up. Sideways
    they follow the trunk, and asking for anything else asks for huge torques.
    """
    if walk.sideways or i != 0:
        return 1.0, 0.0
    return math.cos(walk.heading), math.sin(walk.heading)


@helper
def point_row(foot, who, c, s, i, E, aim, weight, rows, count):
    """The row of the point of a foot along c times the axis i and s times the axis to the left."""
    x, y, z = c * E[i, 0] + s * E[1, 0], c * E[i, 1] + s * E[1, 1], c * E[i, 2] + s * E[1, 2]
    drift = x * foot.drift[0] + y * foot.drift[1] + z * foot.drift[2]
    return add_row(rows, count, who, TRANSLATION, x, y, z, aim - drift, weight)


@helper
def stance_rows(walk, foot, who, turns, E, rows, count):
    """A foot that stands comes to rest."""
    still, weight = STILL * walk.w, 0.0 if walk.biped else ON_STANCE
    for i in range(3):
        if not walk.sideways and i == 1:
            continue
        c, s = directed(walk, i)
        aim = -still * (c * foot.v[i] + s * foot.v[1])
        count = point_row(foot, who, c, s, i, E, aim, weight, rows, count)
    if walk.soles:
        for i in range(turns.shape[0]):
            x, y, z = turns[i, 0], turns[i, 1], turns[i, 2]
            a0 = -foot.drift[3] - still * foot.spin[0]
            a1 = -foot.drift[4] - still * foot.spin[1]
            a2 = -foot.drift[5] - still * foot.spin[2]
            aim = x * a0 + y * a1 + z * a2
            count = add_row(rows, count, who, ROTATION, x, y, z, aim, 0.0)
    return count


@helper
def fill_forces(walk, bodies, E, kin, axes, path, J, spare, G, usual):
    """Rows G (k, n_dof) of the ground forces that the law thinks of, what they usually are, and how many.

    One force at a center of pressure within the sole of a biped, and a moment about the vertical; forces at
    the feet of other walkers, ahead, left and up of each.
    """
    count, standing = 0, 0
    for k in range(walk.feet):
        standing += bodies[k].group == walk.group
    for k in range(walk.feet):
        foot = bodies[k]
        if foot.group != walk.group:
            continue
        source = J[k]
        if walk.biped and walk.soles:
            pressed(walk, foot, E, kin, axes, path[k], spare)
            source = spare
        for i in range(3):
            if walk.in_plane and i == 1:
                continue
            combine(E[i, 0], E[i, 1], E[i, 2], source, 0, G[count])
            usual[count] = 0.0
            if i == 2 and not walk.biped:
                usual[count] = walk.mass * walk.gravity / standing
            count += 1
        if walk.biped and walk.soles and not walk.in_plane:
            combine(E[2, 0], E[2, 1], E[2, 2], J[k], 3, G[count])
            usual[count] = 0.0
            count += 1
    return count


@helper
def pressed(walk, foot, E, kin, axes, path, J):
    """The Jacobian of the center of pressure: the foot's point, moved within the sole against the error."""
    x0 = ANKLE * (E[0, 0] * walk.error[0] + E[1, 0] * walk.error[1])
    x1 = ANKLE * (E[0, 1] * walk.error[0] + E[1, 1] * walk.error[1])
    x2 = ANKLE * (E[0, 2] * walk.error[0] + E[1, 2] * walk.error[1])
    y0, y1, y2 = foot.place[0], foot.place[1], foot.place[2]
    for c in range(3):
        shift = foot.R[0, c] * x0 + foot.R[1, c] * x1 + foot.R[2, c] * x2
        shift = min(max(shift, SOLE * foot.low[c]), SOLE * foot.high[c])
        y0 += foot.R[0, c] * shift
        y1 += foot.R[1, c] * shift
        y2 += foot.R[2, c] * shift
    fill_jacobian(kin, axes, path, y0, y1, y2, J)


@helper
def combine(x, y, z, J, first, row):
    """(x, y, z) times three rows of a Jacobian."""
    for c in range(J.shape[1]):
        row[c] = x * J[first, c] + y * J[first + 1, c] + z * J[first + 2, c]


@helper
def turned(E, heading, first, wanted):
    """A first rotation, turned to the left by the heading: Rodrigues' formula about the vertical."""
    u0, u1, u2 = E[2, 0], E[2, 1], E[2, 2]
    c, s = math.cos(heading), math.sin(heading)
    for j in range(3):
        x, y, z = first[0, j], first[1, j], first[2, j]
        up = (1.0 - c) * (u0 * x + u1 * y + u2 * z)
        wanted[0, j] = c * x + s * (u1 * z - u2 * y) + up * u0
        wanted[1, j] = c * y + s * (u2 * x - u0 * z) + up * u1
        wanted[2, j] = c * z + s * (u0 * y - u1 * x) + up * u2


@helper
def attitude_error(wanted, present):
    """Rotation vector in the world from the present rotation to the wanted one."""
    R00, R01, R02 = dot(wanted, 0, present, 0), dot(wanted, 0, present, 1), dot(wanted, 0, present, 2)
    R10, R11, R12 = dot(wanted, 1, present, 0), dot(wanted, 1, present, 1), dot(wanted, 1, present, 2)
    R20, R21, R22 = dot(wanted, 2, present, 0), dot(wanted, 2, present, 1), dot(wanted, 2, present, 2)
    x, y, z = 0.5 * (R21 - R12), 0.5 * (R02 - R20), 0.5 * (R10 - R01)
    size = math.sqrt(x * x + y * y + z * z)
    factor = 1.0
    if size >= 1e-9:
        factor = math.atan2(size, 0.5 * (R00 + R11 + R22 - 1.0)) / size
    return factor * x, factor * y, factor * z


@helper
def dot(A, i, B, j):
    """Row i of A times row j of B, of three numbers."""
    return A[i, 0] * B[j, 0] + A[i, 1] * B[j, 1] + A[i, 2] * B[j, 2]


@helper
def nearest_inside(walk, bodies, p0, p1):
    """The point nearest to p between the feet that stand, drawn in to a share of their distance.

    Between means within their convex hull, whose edges are found pair by pair: an edge has all other feet on
    one side.
    """
    m0, m1, count = 0.0, 0.0, 0
    for k in range(walk.feet):
        if bodies[k].group == walk.group:
            m0, m1, count = m0 + bodies[k].x[0], m1 + bodies[k].x[1], count + 1
    m0, m1 = m0 / count, m1 / count
    best0, best1, nearest, inside = m0, m1, math.inf, count > 2 and not walk.in_plane
    for i in range(walk.feet):
        for j in range(walk.feet):
            if i == j or bodies[i].group != walk.group or bodies[j].group != walk.group:
                continue
            a0, a1 = m0 + SOLE * (bodies[i].x[0] - m0), m1 + SOLE * (bodies[i].x[1] - m1)
            e0, e1 = SOLE * (bodies[j].x[0] - bodies[i].x[0]), SOLE * (bodies[j].x[1] - bodies[i].x[1])
            if not is_edge(walk, bodies, i, e0, e1):
                continue
            s = ((p0 - a0) * e0 + (p1 - a1) * e1) / max(e0 * e0 + e1 * e1, 1e-12)
            s = min(max(s, 0.0), 1.0)
            y0, y1 = a0 + s * e0, a1 + s * e1
            away = (p0 - y0) ** 2 + (p1 - y1) ** 2
            if away < nearest:
                best0, best1, nearest = y0, y1, away
            inside = inside and e0 * (p1 - a1) - e1 * (p0 - a0) >= 0.0
    if inside:
        return p0, p1
    return best0, best1


@helper
def is_edge(walk, bodies, i, e0, e1):
    """Whether all feet that stand are to the left of the line from foot i along e, or on it."""
    for k in range(walk.feet):
        if bodies[k].group == walk.group:
            x, y = bodies[k].x[0] - bodies[i].x[0], bodies[k].x[1] - bodies[i].x[1]
            if e0 * y - e1 * x < -1e-12:
                return False
    return True
