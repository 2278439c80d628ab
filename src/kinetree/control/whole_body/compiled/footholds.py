"""Where and when to step: foot placement by the divergent component of motion, as machine code.

The divergent component of motion xi = c + v / w of the center of mass c (w = sqrt(g / height)) runs away from
the stance foot p as p + (xi - p) exp(w t) (Takenaka, Matsumoto, Yoshiike 2009; Englsberger, Ott,
Albu-Schaeffer 2015). The next foothold is put where the offset that a periodic walk needs is left when the
step ends. Feet that swing together are one foot to the plan, which stands where the center of mass is wanted;
each of them keeps its distance from there.
"""

from __future__ import annotations

import math

from kinetree.engine.door import helper

SWING = 0.95  # share of the step time in which the swing foot reaches its foothold
RISE = 0.4  # share of the swing in which it is lifted
TOUCH = 0.05  # share of the weight on a swing foot that ends its swing
LATEST, LATE = 2.0, 1.15  # step times after which a step ends in any case, or if some feet have landed
LEARN, TRIM, SLOPE = 0.3, 0.2, 0.2  # how fast step time, speed and slope of the ground are learned
TILT = 0.5  # the same of the slope below many feet, which feel it at once
SPEED_BAND = 0.15  # how far the command may leave the speed, in sqrt(g L)
STEEPEST = 0.2  # slope believed at most
DROP = 0.3  # speed at which a late foot goes on down, in sqrt(g L)
BLEND = 0.9  # share of a step over which the height of the next foot is taken over
HURRY, LONG = 1.5, 0.45  # steps are shortened in time by that factor if they had to be longer than this, in L
REACH, LONGEST = 0.97, 0.6  # of a leg and of a step, in L
NARROWEST, WIDEST = 0.11, 0.5  # distance between the feet of a biped, in L
SPARE = 0.05  # in L: a biped hurries if its feet would have to be that much nearer to each other
CROSS, CROSSED = 0.04, 0.3  # legs cross by these distances, in L, at least and at most
AHEAD = 0.18  # in L: how far ahead of the other foot a foot lands that has crossed
ASIDE = 0.35  # longest step to the side of other walkers, in L


@helper
def minimum_jerk(s):
    """Value, rate and acceleration of 10 s^3 - 15 s^4 + 6 s^5, at rest outside of 0 to 1 (Flash, Hogan 1985).

    >>> minimum_jerk(0.5)
    (0.5, 1.875, 0.0)
    """
    s = min(max(s, 0.0), 1.0)
    return s**3 * (10 - 15 * s + 6 * s * s), 30 * s * s * (1 - s) ** 2, 60 * s * (1 - s) * (1 - 2 * s)


@helper
def follow(walk, t, speed, heading):
    """Go on to time t (s) with the commanded speed (m/s) and heading (rad)."""
    walk.command += speed - walk.speed
    walk.speed, walk.heading = speed, heading


@helper
def plan(walk, bodies, t):
    """One tick of the walk: steps that end, the next footholds, and where swing feet should be now."""
    if not walk.begun:
        begin(walk, bodies)
    walk.phase += walk.rate * (t - walk.last)
    walk.last = t
    if is_over(walk, bodies):
        exchange_feet(walk, bodies, t)
    find_support(walk, bodies)
    share = minimum_jerk(walk.phase / (BLEND * walk.period))[0]
    p, c = walk.support, walk.center
    walk.level = walk.level_before + share * (p[2] + rise(walk, c[0] - p[0], c[1] - p[1]) - walk.level_before)
    place_feet(walk, bodies)
    for k in range(walk.feet):
        if bodies[k].group != walk.group:
            move_foot(walk, bodies[k])


@helper
def begin(walk, bodies):
    """The first posture: its height is kept, and so are the distances of many feet."""
    ground, count = 0.0, 0
    for k in range(walk.feet):
        foot = bodies[k]
        for i in range(3):
            foot.lifted[i] = foot.x[i]
        foot.offset[0], foot.offset[1] = foot.x[0] - walk.center[0], foot.x[1] - walk.center[1]
        if foot.group == walk.group:
            ground, count = ground + foot.x[2], count + 1
    ground /= count
    walk.height = walk.center[2] - ground
    walk.w = math.sqrt(walk.gravity / walk.height)
    walk.period = walk.learned = walk.step_time / walk.w
    walk.level = walk.level_before = ground
    walk.begun = 1
    if not walk.biped:
        feel_slope(walk, bodies, 1.0)


@helper
def is_over(walk, bodies):
    """Whether the step has ended: the feet that swung carry weight."""
    swinging, landed = 0, 0
    for k in range(walk.feet):
        swinging += bodies[k].group != walk.group
    for k in range(walk.feet):
        foot = bodies[k]
        if foot.group != walk.group:
            if walk.phase > 0.5 * walk.period and foot.force > TOUCH * walk.mass * walk.gravity / swinging:
                foot.landed = 1
            landed += foot.landed
    late = landed > 0 and swinging > 1 and walk.phase > LATE * walk.period
    return landed == swinging or walk.phase > LATEST * walk.period or late


@helper
def exchange_feet(walk, bodies, t):
    """A new step: learn from the last one."""
    ahead, left, c = math.cos(walk.heading), math.sin(walk.heading), walk.center
    if walk.in_plane:
        ahead, left = 1.0, 0.0
    if walk.passed_once:
        walk.learned += LEARN * (min(max(walk.phase, 0.6 * walk.period), 1.3 * walk.period) - walk.learned)
        mean = (ahead * (c[0] - walk.passed[0]) + left * (c[1] - walk.passed[1])) / (t - walk.since)
        band = SPEED_BAND * math.sqrt(walk.gravity * walk.leg)
        wanted = walk.command + TRIM * (walk.speed - mean)
        walk.command = min(max(wanted, walk.speed - band), walk.speed + band)
    walk.passed[0], walk.passed[1], walk.passed_once = c[0], c[1], 1
    find_support(walk, bodies)
    p, before = walk.support, walk.settled
    if not walk.biped:
        feel_slope(walk, bodies, TILT)
    elif walk.settled_once:
        way = ahead * (p[0] - before[0]) + left * (p[1] - before[1])
        if abs(way) > 0.05 * walk.leg:
            found = (p[2] - before[2]) / way
            walk.slope += SLOPE * (min(max(found, -STEEPEST), STEEPEST) - walk.slope)
    for i in range(3):
        before[i] = p[i]
    walk.settled_once = 1
    walk.group, walk.since, walk.phase, walk.rate = 1 - walk.group, t, 0.0, 1.0
    walk.steps += 1
    walk.level_before = walk.level
    for k in range(walk.feet):
        bodies[k].landed = 0
        for i in range(3):
            bodies[k].lifted[i] = bodies[k].x[i]


@helper
def rise(walk, x, y):
    """How much higher the ground is believed to be at a distance along the axes."""
    if walk.biped:
        return walk.slope * along(walk, x, y, 1.0)[0]
    return walk.incline[0] * x + walk.incline[1] * y


@helper
def feel_slope(walk, bodies, gain):
    """The plane through many feet, by least squares: how steep the ground is along the axes."""
    m0, m1, m2, n = 0.0, 0.0, 0.0, walk.feet
    for k in range(n):
        x = bodies[k].x
        m0, m1, m2 = m0 + x[0] / n, m1 + x[1] / n, m2 + x[2] / n
    a, b, c, e, f = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(n):
        x, y, z = bodies[k].x[0] - m0, bodies[k].x[1] - m1, bodies[k].x[2] - m2
        a, b, c, e, f = a + x * x, b + x * y, c + y * y, e + x * z, f + y * z
    small = (0.05 * walk.leg) ** 2  # feet in a line say nothing of the slope across it
    a, c = a + small, c + small
    steep0, steep1 = (c * e - b * f) / (a * c - b * b), (a * f - b * e) / (a * c - b * b)
    steep0, steep1 = min(max(steep0, -STEEPEST), STEEPEST), min(max(steep1, -STEEPEST), STEEPEST)
    walk.incline[0] += gain * (steep0 - walk.incline[0])
    walk.incline[1] += gain * (steep1 - walk.incline[1])


@helper
def find_support(walk, bodies):
    """Where the center of mass is wanted above the feet that stand, at their height."""
    p0, p1, p2, o0, o1, count = 0.0, 0.0, 0.0, 0.0, 0.0, 0
    for k in range(walk.feet):
        foot = bodies[k]
        if foot.group == walk.group:
            p0, p1, p2, count = p0 + foot.x[0], p1 + foot.x[1], p2 + foot.x[2], count + 1
            o0, o1 = o0 + foot.offset[0], o1 + foot.offset[1]
    if walk.biped:
        o0, o1 = 0.0, 0.0
    o0, o1 = along(walk, o0, o1, -1.0)
    walk.support[0], walk.support[1], walk.support[2] = (p0 - o0) / count, (p1 - o1) / count, p2 / count


@helper
def along(walk, x, y, sense):
    """Components (ahead, left) of a vector along the ground; sense -1.0: the way back."""
    if walk.in_plane:
        return x, y
    c, s = math.cos(walk.heading), sense * math.sin(walk.heading)
    return c * x + s * y, c * y - s * x


@helper
def side_of(group):
    """1 for the left foot of a biped, which is in the first group; -1 for the right one."""
    return 1.0 if group == 0 else -1.0


@helper
def offset_of(walk, swung):
    """Of the divergent component from the foot at the start of a step that the group ``swung`` has ended."""
    growth = math.exp(walk.w * walk.learned)
    b1 = 0.0
    if not walk.in_plane:
        b1 = -side_of(swung) * walk.width / (growth + 1.0)
    return walk.command * walk.learned / (growth - 1.0), b1


@helper
def hurry(walk, away0, away1, b0, b1, left):
    """How fast time must run: 1, or more where the step would become too long, or the feet too close."""
    L, w, rate = walk.leg, walk.w, 1.0
    if left <= 0.0:
        return rate
    far = math.sqrt(away0 * away0 + away1 * away1)
    if not walk.in_plane and abs(away0) <= abs(away1):
        far = abs(away1)
    need = math.log((LONG * L + abs(b0)) / max(far, 1e-6)) / w
    if need < left:
        rate = min(left / max(need, 1e-6), HURRY)
    if walk.biped and not walk.in_plane:
        if side_of(1 - walk.group) * (away1 * math.exp(w * left) - b1) < (NARROWEST - SPARE) * L:
            rate = HURRY
    return rate


@helper
def beside(walk, f0, f1):
    """A foothold of a biped next to the other foot, or ahead of it where the legs must cross."""
    L, side = walk.leg, side_of(1 - walk.group)
    aside = side * f1
    if aside > -CROSS * L:
        return f0, side * min(max(aside, NARROWEST * L), WIDEST * L)
    return max(f0, AHEAD * L), side * max(aside, -CROSSED * L)


@helper
def place_feet(walk, bodies):
    """The next foothold, and how fast time must run to get there."""
    L, w, p = walk.leg, walk.w, walk.support
    xi0, xi1 = walk.center[0] + walk.velocity[0] / w, walk.center[1] + walk.velocity[1] / w
    if walk.in_plane:
        xi1 = p[1]
    left = max(walk.learned - walk.phase, 0.0)
    b0, b1 = offset_of(walk, 1 - walk.group)
    away0, away1 = along(walk, xi0 - p[0], xi1 - p[1], 1.0)
    walk.rate = hurry(walk, away0, away1, b0, b1, left)
    growth = math.exp(w * left / walk.rate)
    wish0, wish1 = away0 * growth - b0, away1 * growth - b1
    f0, f1 = min(max(wish0, -LONGEST * L), LONGEST * L), wish1
    if walk.biped and not walk.in_plane:
        f0, f1 = beside(walk, f0, f1)
    elif not walk.in_plane:
        f1 = min(max(f1, -ASIDE * L), ASIDE * L)
    g0, g1 = along(walk, f0, f1, -1.0)
    walk.foothold[0], walk.foothold[1] = p[0] + g0, p[1] + g1
    for k in range(walk.feet):
        foot = bodies[k]
        if foot.group != walk.group:
            g0, g1 = 0.0, 0.0
            if not walk.biped:
                g0, g1 = along(walk, foot.offset[0], foot.offset[1], -1.0)
            within_reach(walk, foot, walk.foothold[0] + g0, walk.foothold[1] + g1)
            if walk.biped:
                walk.foothold[0], walk.foothold[1] = foot.goal[0], foot.goal[1]
    b0, b1 = offset_of(walk, walk.group)
    growth = math.exp(w * min(walk.phase, walk.period))
    g0, g1 = along(walk, b0 * growth, b1 * growth, -1.0)
    walk.error[0], walk.error[1] = xi0 - p[0] - g0, xi1 - p[1] - g1
    f0, f1 = along(walk, walk.foothold[0] - p[0], walk.foothold[1] - p[1], 1.0)
    walk.missing = math.sqrt((wish0 - f0) ** 2 + (wish1 - f1) ** 2)


@helper
def within_reach(walk, foot, goal0, goal1):
    """The goal of a foot, or the nearest place to it that needs no stretched knee."""
    L, hip = walk.leg, foot.hip
    up = hip[2] - walk.support[2]
    room = math.sqrt(max((REACH * L) ** 2 - up * up, (0.15 * L) ** 2))
    x, y = goal0 - hip[0], goal1 - hip[1]
    if walk.in_plane:
        y = 0.0
    distance = math.sqrt(x * x + y * y)
    foot.goal[0], foot.goal[1] = goal0, goal1
    if distance > room and walk.phase > 0.5 * walk.period:
        foot.goal[0] = hip[0] + x * room / distance
        if not walk.in_plane:
            foot.goal[1] = hip[1] + y * room / distance


@helper
def move_foot(walk, foot):
    """A swing foot on its way to its foothold; later it goes on down until it touches."""
    T, p = SWING * walk.period, walk.support
    r = walk.phase / T
    share, rate, bend = minimum_jerk(r)
    for i in range(2):
        way = foot.goal[i] - foot.lifted[i]
        foot.aim_x[i] = foot.lifted[i] + share * way
        foot.aim_v[i], foot.aim_a[i] = rate * way / T, bend * way / T**2
    low, end = foot.lifted[2], p[2] + rise(walk, foot.goal[0] - p[0], foot.goal[1] - p[1])
    top = max(low, end) + walk.clearance
    first, way, part, s = low, top - low, RISE * T, r / RISE
    if r >= RISE:
        first, way, part, s = top, end - top, (1.0 - RISE) * T, (r - RISE) / (1.0 - RISE)
    share, rate, bend = minimum_jerk(s)
    foot.aim_x[2], foot.aim_v[2], foot.aim_a[2] = first + way * share, way * rate / part, way * bend / part**2
    if r >= 1.0:
        drop = DROP * math.sqrt(walk.gravity * walk.leg)
        foot.aim_x[2], foot.aim_v[2], foot.aim_a[2] = end - drop * (walk.phase - T), -drop, 0.0
    for i in range(3):
        foot.aim_v[i] *= walk.rate
        foot.aim_a[i] *= walk.rate**2
