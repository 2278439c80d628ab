"""The walking law in plain NumPy, beside which the compiled one is tested: vectors and dense solves."""

import math

import numpy as np

import kinetree as kt
from kinetree.algebra.rotation import rotation_about
from kinetree.control.whole_body.compiled import footholds as F
from kinetree.control.whole_body.compiled import tasks as S
from kinetree.control.whole_body.compiled.tasks import SMALL_ACCELERATION, SMALL_FORCE, SOFT


class Seen:
    """A point of a body: place and velocity along the axes of the walk, rotation, Jacobian, dJ/dt qd."""

    def __init__(self, robot, E, q, qd, body, point, radius):
        R, origin = kt.forward_kinematics(robot, q)[body]
        self.R, arm = R, R @ point - radius * E[-1]
        self.J = kt.jacobian(robot, q, body, R.T @ arm)
        moved = self.J @ qd
        a = kt.analysis.body_accelerations(robot, q, qd, np.zeros(len(q)), of=body)
        w, wd = moved[3:], a[3:]
        self.drift = np.concatenate([a[:3] + np.cross(wd, arm) + np.cross(w, np.cross(w, arm)), wd])
        self.x, self.v, self.w = E @ (origin + arm), E @ moved[:3], w


class ReferenceLaw:
    """Plan, tasks and solution with a memory of their own."""

    def __init__(self, walker, gait, speed=None, heading=None):
        self.walker, self.gait, self.E = walker, gait, walker.axes
        self.asked_speed, self.asked_heading = speed, heading
        g, L = walker.gravity, walker.leg
        self.unit, self.rate0 = math.sqrt(g * L), math.sqrt(g / L)
        self.speed = self.command = gait.speed * self.unit
        self.heading, self.width = 0.0, max(gait.width * L, walker.hip_width) if walker.is_biped else 0.0
        self.group, self.steps, self.phase, self.since, self.last, self.rate = 0, 0, 0.0, 0.0, 0.0, 1.0
        self.slope, self.landed, self.passed, self.settled, self.first = 0.0, set(), None, None, None
        inside = {walker.mechanism.joint_index(name) for foot in walker.feet for name in foot.joints}
        self.others = [k for k in walker.moving[walker.n_base :] if k not in inside]

    def __call__(self, t, q, qd, contact):
        """Torques before limits (n_dof,)."""
        self.look(q, qd)
        loads = np.array(
            [sum(contact.of(x) @ self.E[-1] for x in foot.contact_points) for foot in self.walker.feet]
        )
        if self.first is None:
            self.begin(q)
        self.plan(t, loads)
        return self.solve(q, qd)

    # ---- what is seen ------------------------------------------------------------------------------------
    def look(self, q, qd):
        w = self.walker
        robot, d = w.mechanism, len(w.axes)
        self.M, self.h = kt.mass_matrix(robot, q), kt.bias_torque(robot, q, qd)
        self.feet = [Seen(robot, self.E, q, qd, x.body, x.point, x.radius) for x in w.feet]
        self.trunk = Seen(robot, self.E, q, qd, w.trunk, np.zeros(3), 0.0)
        pose = kt.forward_kinematics(robot, q)
        self.hips = [self.E @ pose[x.hip][1] for x in w.feet]
        self.c = self.E @ kt.center_of_mass(robot, q)
        self.v = self.E @ kt.momentum(robot, q, qd)[:3] / robot.mass
        base = w.moving[:d]
        self.Jc = w.slides[:, :d] @ self.M[base] / robot.mass
        self.drift_c = w.slides[:, :d] @ self.h[base] / robot.mass + self.E @ robot.gravity

    def begin(self, q):
        self.first = self.trunk.R.copy()
        self.soles = [foot.R.copy() for foot in self.feet]
        self.posture = q[self.others].copy()
        self.offsets = [foot.x[:-1] - self.c[:-1] for foot in self.feet]
        self.lifted = [foot.x.copy() for foot in self.feet]
        ground = np.mean([self.feet[k].x[-1] for k in self.walker.groups[0]])
        self.height = self.c[-1] - ground
        self.w = math.sqrt(self.walker.gravity / self.height)
        self.T = self.learned = self.gait.step_time / self.w
        self.level = self.level_before = ground
        self.incline = np.zeros(len(self.E) - 1)
        if not self.walker.is_biped:
            self.incline += self.inclination()

    def inclination(self):
        """Slopes of the plane nearest to the feet, with a weak wish that it be level."""
        x = np.array([foot.x for foot in self.feet])
        x -= x.mean(axis=0)
        d = x.shape[1] - 1
        A = np.vstack([x[:, :-1], 0.05 * self.walker.leg * np.eye(d)])
        found = np.linalg.lstsq(A, np.concatenate([x[:, -1], np.zeros(d)]), rcond=None)[0]
        return np.clip(found, -F.STEEPEST, F.STEEPEST)

    def rise(self, way):
        return self.slope * (self.ahead @ way) if self.walker.is_biped else self.incline @ way

    # ---- where to step -----------------------------------------------------------------------------------
    def local(self, x, back=False):
        if self.walker.is_planar:
            return x
        c, s = math.cos(self.heading), math.sin(-self.heading if back else self.heading)
        return np.array([[c, s], [-s, c]]) @ x

    @property
    def ahead(self):
        return self.local(np.array([1.0, 0.0]), back=True) if not self.walker.is_planar else np.ones(1)

    def support(self):
        stance = self.walker.groups[self.group]
        p = np.mean([self.feet[k].x for k in stance], axis=0)
        if not self.walker.is_biped:
            p[:-1] -= self.local(np.mean([self.offsets[k] for k in stance], axis=0), back=True)
        return p

    def plan(self, t, loads):
        if self.asked_speed is not None:
            self.command += self.asked_speed(t) - self.speed
            self.speed = self.asked_speed(t)
        self.heading = self.asked_heading(t) if self.asked_heading else 0.0
        self.phase, self.last = self.phase + self.rate * (t - self.last), t
        moving = self.walker.groups[1 - self.group]
        if self.phase > 0.5 * self.T:
            weight = self.walker.mechanism.mass * self.walker.gravity
            self.landed |= {k for k in moving if loads[k] > F.TOUCH * weight / len(moving)}
        late = len(moving) > 1 and self.landed and self.phase > F.LATE * self.T
        if len(self.landed) == len(moving) or late or self.phase > F.LATEST * self.T:
            self.exchange(t)
        self.p = self.support()
        share = F.minimum_jerk(self.phase / (F.BLEND * self.T))[0]
        ground = self.p[-1] + self.rise((self.c - self.p)[:-1])
        self.level = (1 - share) * self.level_before + share * ground
        self.place()

    def exchange(self, t):
        if self.passed is not None:
            self.learned += F.LEARN * (np.clip(self.phase, 0.6 * self.T, 1.3 * self.T) - self.learned)
            mean = self.ahead @ (self.c[:-1] - self.passed) / (t - self.since)
            band = F.SPEED_BAND * self.unit
            self.command = np.clip(
                self.command + F.TRIM * (self.speed - mean), self.speed - band, self.speed + band
            )
        self.passed, settled = self.c[:-1].copy(), self.support()
        if not self.walker.is_biped:
            self.incline += F.TILT * (self.inclination() - self.incline)
        elif self.settled is not None:
            way = self.ahead @ (settled - self.settled)[:-1]
            if abs(way) > 0.05 * self.walker.leg:
                found = (settled - self.settled)[-1] / way
                self.slope += F.SLOPE * (np.clip(found, -F.STEEPEST, F.STEEPEST) - self.slope)
        self.settled = settled
        self.group, self.since, self.phase, self.rate, self.landed = 1 - self.group, t, 0.0, 1.0, set()
        self.steps += 1
        self.lifted = [foot.x.copy() for foot in self.feet]
        self.level_before = self.level

    def side(self, group):
        return 1.0 if group == 0 else -1.0

    def offset(self, swung):
        growth = math.exp(self.w * self.learned)
        b = [self.command * self.learned / (growth - 1), -self.side(swung) * self.width / (growth + 1)]
        return np.array(b[: len(self.E) - 1])

    def place(self):
        L, w, p, biped = self.walker.leg, self.w, self.p[:-1], self.walker.is_biped
        spatial, side = not self.walker.is_planar, self.side(1 - self.group)
        xi = self.c[:-1] + self.v[:-1] / w
        left, b = max(self.learned - self.phase, 0.0), self.offset(1 - self.group)
        away = self.local(xi - p)
        self.rate = 1.0
        if left > 0.0:
            far = abs(away[1]) if spatial and abs(away[0]) <= abs(away[1]) else np.linalg.norm(away)
            need = math.log((F.LONG * L + abs(b[0])) / max(far, 1e-6)) / w
            if need < left:
                self.rate = min(left / max(need, 1e-6), F.HURRY)
            closest = side * (away * math.exp(w * left) - b)[-1]
            if spatial and biped and closest < (F.NARROWEST - F.SPARE) * L:
                self.rate = F.HURRY
        wish = away * math.exp(w * left / self.rate) - b
        f = np.clip(wish, -F.LONGEST * L, F.LONGEST * L)
        if spatial and biped and side * wish[1] > -F.CROSS * L:
            f[1] = side * np.clip(side * wish[1], F.NARROWEST * L, F.WIDEST * L)
        elif spatial and biped:
            f = np.array([max(f[0], F.AHEAD * L), side * max(side * wish[1], -F.CROSSED * L)])
        elif spatial:
            f[1] = np.clip(wish[1], -F.ASIDE * L, F.ASIDE * L)
        hold = p + self.local(f, back=True)
        moving = self.walker.groups[1 - self.group]
        far = [np.zeros_like(p) if biped else self.local(self.offsets[k], back=True) for k in moving]
        self.goals = {k: self.reachable(k, hold + x) for k, x in zip(moving, far, strict=True)}
        grown = self.offset(self.group) * math.exp(w * min(self.phase, self.T))
        self.error = xi - p - self.local(grown, back=True)

    def reachable(self, k, goal):
        L, hip = self.walker.leg, self.hips[k]
        room = math.sqrt(max((F.REACH * L) ** 2 - (hip[-1] - self.p[-1]) ** 2, (0.15 * L) ** 2))
        way = goal - hip[:-1]
        far = np.linalg.norm(way)
        return hip[:-1] + way * room / far if far > room and self.phase > 0.5 * self.T else goal

    def swing(self, k):
        """Position, velocity and acceleration of a swing foot."""
        T = F.SWING * self.T
        goal, lifted, r = self.goals[k], self.lifted[k], self.phase / T
        end = self.p[-1] + self.rise(goal - self.p[:-1])
        top = max(lifted[-1], end) + self.gait.clearance * self.walker.leg
        rows = [np.array(F.minimum_jerk(r)) * way for way in goal - lifted[:-1]]
        scales = [np.array([1.0, 1.0 / T, 1.0 / T**2])] * len(rows)
        start = list(lifted[:-1])
        first, way, part, s = (lifted[-1], top - lifted[-1], F.RISE * T, r / F.RISE)
        if r >= F.RISE:
            first, way, part, s = top, end - top, (1 - F.RISE) * T, (r - F.RISE) / (1 - F.RISE)
        rows.append(np.array(F.minimum_jerk(s)) * way)
        scales.append(np.array([1.0, 1.0 / part, 1.0 / part**2]))
        start.append(first)
        found = np.array(rows) * np.array(scales)
        found[:, 0] += start
        if r >= 1.0:
            drop = F.DROP * self.unit
            found[-1] = end - drop * (self.phase - T), -drop, 0.0
        return found[:, 0], found[:, 1] * self.rate, found[:, 2] * self.rate**2

    # ---- accelerations and forces ------------------------------------------------------------------------
    def solve(self, q, qd):
        walker, E, turns = self.walker, self.E, self.walker.turns
        n, base = walker.mechanism.n_dof, walker.moving[: walker.n_base]
        A, aims, C, e = [], [], [], []

        def task(J, aim, weight):
            A.append(math.sqrt(weight) * J)
            aims.append(math.sqrt(weight) * aim)

        k = S.HEIGHT * self.rate0
        lift = k**2 * (self.level + self.height - self.c[-1]) - 2 * k * self.v[-1] - self.drift_c[-1]
        task(self.Jc[-1:], np.array([lift]), S.ON_HEIGHT)
        turned = rotation_about(E[-1], self.heading)
        J, aim = self.rotating(self.trunk, turned @ self.first, S.TRUNK * self.rate0)
        task(J, aim, S.ON_TRUNK)
        if walker.is_biped and not walker.has_soles and not walker.is_planar:
            A[-1][2] *= math.sqrt(S.ON_YAW / S.ON_TRUNK)
            aims[-1][2] *= math.sqrt(S.ON_YAW / S.ON_TRUNK)
        stance, moving = walker.groups[self.group], walker.groups[1 - self.group]
        if not walker.is_biped:
            aim = self.w**2 * (self.c[:-1] - self.pressure(stance)) - self.drift_c[:-1]
            task(self.Jc[:-1], aim, S.ON_CENTER)
        P = np.eye(len(E))  # directions in which legs move feet
        if len(E) == 3 and not walker.steps_sideways:
            P = np.array([[math.cos(self.heading), math.sin(self.heading), 0.0], [0.0, 0.0, 1.0]])
        k = S.FOOT * self.rate0
        for i in moving:
            foot = self.feet[i]
            x, v, a = self.swing(i)
            miss = x - foot.x
            miss = miss * min(1.0, S.FAR * walker.leg / max(np.linalg.norm(miss[:-1]), 1e-9))
            wanted = a + k**2 * miss + 2 * k * (v - foot.v)
            if i in self.landed:
                wanted = -S.STILL * self.w * foot.v
            task(P @ E @ foot.J[:3], P @ (wanted - E @ foot.drift[:3]), S.ON_FOOT)
            if walker.has_soles:
                task(*self.rotating(foot, turned @ self.soles[i], k), S.ON_LEVEL)
        still = S.STILL * self.w
        for i in stance:
            foot = self.feet[i]
            rows = [(P @ E @ foot.J[:3], -P @ (E @ foot.drift[:3] + still * foot.v))]
            if walker.has_soles:
                rows.append((turns @ foot.J[3:], turns @ (-foot.drift[3:] - still * foot.w)))
            for J, aim in rows:
                if walker.is_biped:
                    C.append(J)
                    e.append(aim)
                else:
                    task(J, aim, S.ON_STANCE)
        if self.others:
            k = S.TRUNK * self.rate0
            hold = k**2 * (self.posture - q[self.others]) - 2 * k * qd[self.others]
            task(np.eye(n)[self.others], hold, S.ON_POSTURE)
        G, usual = self.forces(stance, q)
        C, e = np.vstack([self.M[base], *C]), np.concatenate([-self.h[base], *e])
        G_C = np.zeros((len(G), len(C)))
        G_C[:, : len(base)] = G[:, base]
        return self.dense(np.vstack(A), np.concatenate(aims), C, e, G, G_C, usual)

    def dense(self, A, aims, C, e, G, G_C, usual):
        """The optimality conditions in one matrix."""
        keep, n, k = self.walker.moving, len(self.walker.moving), len(G)
        A, C_kept, light = A[:, keep], C[:, keep], SMALL_FORCE / (0.1 * self.walker.mechanism.mass)
        H = np.zeros((n + k, n + k))
        H[:n, :n] = A.T @ A + SMALL_ACCELERATION * np.eye(n)
        H[n:, n:] = light * np.eye(k)
        D = np.hstack([C_kept, -G_C.T])
        K = np.block([[H, D.T], [D, -SOFT * np.eye(len(D))]])
        x = np.linalg.solve(K, np.concatenate([A.T @ aims, light * usual, e]))
        qdd = np.zeros(self.walker.mechanism.n_dof)
        qdd[keep] = x[:n]
        tau = self.M @ qdd + self.h - G.T @ x[n : n + k]
        driven = np.zeros(len(tau))
        driven[keep[self.walker.n_base :]] = tau[keep[self.walker.n_base :]]
        return driven

    def rotating(self, body, wanted, rate):
        """Jacobian and aim of a body that is rotated towards a wanted rotation, by its rotation vector."""
        R = wanted @ body.R.T
        sine = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
        size = np.linalg.norm(sine)
        error = sine * (math.atan2(size, 0.5 * (np.trace(R) - 1)) / size if size > 1e-9 else 1.0)
        turns = self.walker.turns
        return turns @ body.J[3:], turns @ (rate**2 * error - 2 * rate * body.w - body.drift[3:])

    def pressure(self, stance):
        """The point of the feet's polygon, drawn in, that is nearest to the wanted center of pressure."""
        feet = np.array([self.feet[k].x[:-1] for k in stance])
        corners = feet.mean(axis=0) + S.SOLE * (feet - feet.mean(axis=0))
        p = self.p[:-1] + S.ANKLE * self.error
        if len(corners) > 2:
            middle = corners.mean(axis=0)
            corners = corners[np.argsort(np.arctan2(*(corners - middle).T[::-1]))]
            edges = np.roll(corners, -1, axis=0) - corners
            out = edges[:, 0] * (p - corners)[:, 1] - edges[:, 1] * (p - corners)[:, 0]
            if (out >= 0.0).all():
                return p
        near = []
        for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
            s = np.clip((p - a) @ (b - a) / max((b - a) @ (b - a), 1e-12), 0.0, 1.0)
            near.append(a + s * (b - a))
        return min(near, key=lambda x: np.linalg.norm(p - x))

    def forces(self, stance, q):
        """Jacobian (k, n_dof) of the ground forces, and what they usually are."""
        walker, E = self.walker, self.E
        weight = walker.mechanism.mass * walker.gravity
        if not walker.is_biped:
            usual = np.tile(np.append(np.zeros(len(E) - 1), weight / len(stance)), len(stance))
            return np.vstack([E @ self.feet[k].J[:3] for k in stance]), usual
        foot, seen = walker.feet[stance[0]], self.feet[stance[0]]
        G = E @ seen.J[:3]
        if walker.has_soles:
            shift = seen.R.T @ (E[:-1].T @ (S.ANKLE * self.error))
            reach = S.SOLE * (foot.points - foot.point)
            point = foot.point + np.clip(shift, reach.min(axis=0), reach.max(axis=0))
            G = E @ kt.jacobian(walker.mechanism, q, foot.body, point)[:3]
            if not walker.is_planar:
                G = np.vstack([G, E[-1] @ seen.J[3:]])
        return G, np.zeros(len(G))
