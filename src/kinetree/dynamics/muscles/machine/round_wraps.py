"""Shortest paths around cylinders and spheres, in closed form.

Unrolled, the shortest path on a cylinder is straight: with planar tangent lengths d1 and d2, the arc R theta
and the distance dz along the axis, its length is sqrt((d1 + R theta + d2)^2 + dz^2). On a sphere it stays in
the plane through both points and the center. All points are in the frame of the wrap; t1 and t2 (3,) are the
points where the path comes and leaves. The answer is (found, length): STRAIGHT, AROUND, or INSIDE if a point
of the path is inside the surface, which is then ignored.
"""

import math

from kinetree.engine.door import helper, inline

STRAIGHT, AROUND, INSIDE = 0, 1, 2
LONGEST = 1.5 * math.pi  # rad: a path never winds further around
TINY = 1e-30


@inline
def tangents(ax, ay, bx, by, da, db, R, way):
    """(angle, x1, y1, x2, y2): the tangent points of one way around the circle, and how far it is around."""
    fa, fb = R / (ax * ax + ay * ay), R / (bx * bx + by * by)
    x1, y1 = fa * (R * ax - way * da * ay), fa * (R * ay + way * da * ax)
    x2, y2 = fb * (R * bx + way * db * by), fb * (R * by - way * db * bx)
    angle = math.atan2(way * (x1 * y2 - y1 * x2), x1 * x2 + y1 * y2)
    return (angle + 2.0 * math.pi if angle < 0.0 else angle), x1, y1, x2, y2


@inline
def is_on_side(angle, x1, y1, x2, y2, way, side, sign):
    """Whether the middle of an arc is on a side."""
    x, y = x1 + x2, y1 + y2
    if angle > math.pi:
        x, y = -x, -y
    if abs(x) + abs(y) < 1e-9 * (abs(x1) + abs(y1)):
        x, y = -way * y1, way * x1
    return (x if side == 0 else y) * sign > 0.0


@inline
def must_go_around(ax, ay, bx, by, R, side, sign):
    """Whether the plane path from a to b is not straight: it meets the circle or passes on the wrong side."""
    dx, dy = bx - ax, by - ay
    t = -(ax * dx + ay * dy) / max(dx * dx + dy * dy, TINY)
    nx, ny = ax + t * dx, ay + t * dy  # where the line is nearest to the center
    meets = nx * nx + ny * ny < R * R and 0.0 < t < 1.0
    if side < 0 or meets:
        return meets
    sa = (ax if side == 0 else ay) * sign > 0.0
    sb = (bx if side == 0 else by) * sign > 0.0
    near = (nx if side == 0 else ny) * sign > 0.0
    return not ((sa or sb) and not (sa != sb and not near))


@inline
def around_cylinder(a, b, R, side, sign, half, t1, t2):
    """The path around the z axis; straight where both tangent points are beyond the ends at z = +-half."""
    ra, rb = math.hypot(a[0], a[1]), math.hypot(b[0], b[1])
    if ra < R or rb < R:
        return INSIDE, 0.0
    if not must_go_around(a[0], a[1], b[0], b[1], R, side, sign):
        return STRAIGHT, 0.0
    da, db = math.sqrt(max(ra * ra - R * R, 0.0)), math.sqrt(max(rb * rb - R * R, 0.0))
    way = 1.0 if a[0] * b[1] - a[1] * b[0] >= 0.0 else -1.0  # the shorter one
    angle, x1, y1, x2, y2 = tangents(a[0], a[1], b[0], b[1], da, db, R, way)
    if side >= 0 and not is_on_side(angle, x1, y1, x2, y2, way, side, sign):
        way = -way
        angle, x1, y1, x2, y2 = tangents(a[0], a[1], b[0], b[1], da, db, R, way)
        if not is_on_side(angle, x1, y1, x2, y2, way, side, sign):
            return STRAIGHT, 0.0
    if angle > LONGEST:
        return STRAIGHT, 0.0
    flat, dz = da + R * angle + db, b[2] - a[2]
    share = 1.0 / max(flat, TINY)
    t1[0], t1[1], t1[2] = x1, y1, a[2] + dz * da * share
    t2[0], t2[1], t2[2] = x2, y2, b[2] - dz * db * share
    if abs(t1[2]) > half and abs(t2[2]) > half:
        return STRAIGHT, 0.0
    return AROUND, math.sqrt(flat * flat + dz * dz)


@helper
def around_sphere(a, b, R, axis, sign, t1, t2):
    """The path in the plane of both points and the center; ``axis`` -1, or that on whose side it passes."""
    ra = math.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])
    rb = math.sqrt(b[0] * b[0] + b[1] * b[1] + b[2] * b[2])
    if ra < R or rb < R:
        return INSIDE, 0.0
    ex, ey, ez = a[0] / ra, a[1] / ra, a[2] / ra  # axes of the plane: towards a, and towards b or the side
    gx, gy, gz = plane_axis(ex, ey, ez, b[0], b[1], b[2], axis, sign)
    bx = b[0] * ex + b[1] * ey + b[2] * ez
    by = b[0] * gx + b[1] * gy + b[2] * gz
    way = 1.0
    if axis >= 0:
        way = side_of_plane(ra, bx, by, R, ex, ey, ez, gx, gy, gz, axis, sign)
    if not must_go_around(ra, 0.0, bx, by, R, -1, 1.0) and way > 0.0:
        return STRAIGHT, 0.0
    fb = math.atan2(by, bx)
    ga, gb = math.acos(R / ra), math.acos(R / rb)
    u1, u2 = way * ga, fb - way * gb
    angle = (way * (u2 - u1)) % (2.0 * math.pi)
    if angle > LONGEST:
        return STRAIGHT, 0.0
    c, s = R * math.cos(u1), R * math.sin(u1)
    t1[0], t1[1], t1[2] = c * ex + s * gx, c * ey + s * gy, c * ez + s * gz
    c, s = R * math.cos(u2), R * math.sin(u2)
    t2[0], t2[1], t2[2] = c * ex + s * gx, c * ey + s * gy, c * ez + s * gz
    da, db = math.sqrt(max(ra * ra - R * R, 0.0)), math.sqrt(max(rb * rb - R * R, 0.0))
    return AROUND, da + R * angle + db


@helper
def plane_axis(ex, ey, ez, bx, by, bz, axis, sign):
    """A unit vector at right angles to e, towards b; if b is on the line of e, towards a side or anywhere."""
    along = bx * ex + by * ey + bz * ez
    gx, gy, gz = bx - along * ex, by - along * ey, bz - along * ez
    size = math.sqrt(gx * gx + gy * gy + gz * gz)
    if size > 1e-9 * math.sqrt(bx * bx + by * by + bz * bz):
        return gx / size, gy / size, gz / size
    vx, vy, vz = 0.0, 0.0, 0.0
    if axis >= 0:
        vx, vy, vz = (sign if axis == 0 else 0.0), (sign if axis == 1 else 0.0), (sign if axis == 2 else 0.0)
    elif abs(ex) < 0.7:
        vx = 1.0
    else:
        vy = 1.0
    along = vx * ex + vy * ey + vz * ez
    gx, gy, gz = vx - along * ex, vy - along * ey, vz - along * ez
    size = math.sqrt(gx * gx + gy * gy + gz * gz)
    if size < TINY:
        return -ey, ex, 0.0
    return gx / size, gy / size, gz / size


@helper
def side_of_plane(ra, bx, by, R, ex, ey, ez, gx, gy, gz, axis, sign):
    """1 if the shorter way around the circle from (ra, 0) to (bx, by) has its middle on a side, else -1."""
    fb = math.atan2(by, bx)
    rb = math.hypot(bx, by)
    u1, u2 = math.acos(R / ra), fb - math.acos(R / rb)
    middle = 0.5 * (u1 + u2)
    c, s = math.cos(middle), math.sin(middle)
    if axis == 0:
        across = c * ex + s * gx
    elif axis == 1:
        across = c * ey + s * gy
    else:
        across = c * ez + s * gz
    return 1.0 if across * sign > 0.0 else -1.0
