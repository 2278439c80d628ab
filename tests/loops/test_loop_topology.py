"""Physics that does not depend on the coordinates: loops cut elsewhere, and maximal coordinates."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.dynamics.loops.system import constraints
from support.reference import closed, read


# ---- other cuts ------------------------------------------------------------------------------------------
def six_bar():
    (variant,) = read("six_bar.json")["variants"]
    return closed(variant), np.array(variant["states"][0]["q"])


def three_rrr():
    robot = kt.zoo.three_rrr()
    return robot, kt.loops.assemble(robot, [1.05, -0.87, 3.73, 1.31, 2.96, 4.19, 5.76])


def cut_at(robot, cut):
    """The same mechanism with other joints cut."""
    joints = [kt.model.Loop(x.joint, x.parent, x.body.name, x.placement) for x in robot.links]
    bodies = [x.body for x in robot.links]
    return kt.model.from_graph("other", bodies, [*joints, *robot.loops], cut=cut, gravity=robot.gravity)


def centers(robot, q, qd, qdd):
    """Accelerations of the bodies' centers of mass, and angular accelerations, by body."""
    R = kt.forward_kinematics(robot, q).rotation
    w, acceleration = (
        kt.body_velocities(robot, q, qd)[:, 3:],
        kt.analysis.body_accelerations(robot, q, qd, qdd),
    )
    found = {}
    for k, link in enumerate(robot.links):
        r, (a, wd) = R[k] @ link.body.inertia.center, np.split(acceleration[k], 2)
        found[link.body.name] = np.array([a + np.cross(wd, r) + np.cross(w[k], np.cross(w[k], r)), wd])
    return found


@pytest.mark.parametrize(
    ("make", "cut"),
    [
        (six_bar, ["coupler 1_joint", "coupler 2_joint"]),
        (six_bar, ["shared rocker_joint", "output_joint"]),
        (six_bar, ["cut0", "output_joint"]),
        (three_rrr, ["tip2", "tip3"]),
        (three_rrr, ["tip1", "elbow3"]),
        (three_rrr, ["elbow1", "tip2"]),
    ],
)
def test_physics_is_the_same_whichever_joints_are_cut(make, cut, rng):
    robot, q = make()
    other = cut_at(robot, cut)
    assert {loop.name for loop in other.loops} == set(cut)
    drives = [name for name, driven in zip(robot.joint_names, robot.driven, strict=True) if driven]
    places = [robot.joint_index(name) for name in drives]
    speed, bend, push = (rng.standard_normal(len(drives)) for _ in range(3))
    motion = kt.loops.dependent_motion(robot, drives, q[None, places], speed[None], bend[None], q0=q)
    q, qd, qdd = motion.q[0], motion.qd[0], motion.qdd[0]
    ends = kt.loops.cut_coordinates(robot, q, qd)
    angle = dict(zip((*robot.joint_names, *ends.names), (*q, *ends.values), strict=True))
    there = np.array([angle[name] for name in other.joint_names])
    assert np.abs(kt.loops.gap(other, there)).max() < 1e-11
    moved = kt.loops.dependent_motion(other, drives, q[None, places], speed[None], bend[None], q0=there)
    state, here = (moved.q[0], moved.qd[0], moved.qdd[0]), [other.joint_index(name) for name in drives]
    needed = kt.inverse_dynamics(robot, q, qd, qdd)[places]
    assert np.abs(kt.inverse_dynamics(other, *state)[here] - needed).max() < 1e-10 * np.abs(needed).max()
    tau, tau_there = np.zeros(robot.n_dof), np.zeros(other.n_dof)
    tau[places], tau_there[here] = push, push
    expected = centers(robot, q, qd, kt.forward_dynamics(robot, q, qd, tau))
    found = centers(other, *state[:2], kt.forward_dynamics(other, *state[:2], tau_there))
    size = max(np.abs(x).max() for x in expected.values())
    for name, acceleration in expected.items():
        assert np.abs(found[name] - acceleration).max() < 1e-10 * size


# ---- maximal coordinates ---------------------------------------------------------------------------------
class Vector:
    """A vector, its rate, its second rate at zero accelerations, and the slopes of that by accelerations."""

    def __init__(self, x, v, bias, slopes):
        self.x, self.v, self.bias, self.slopes = x, v, bias, slopes

    def __sub__(self, other):
        return Vector(*(getattr(self, k) - getattr(other, k) for k in ("x", "v", "bias", "slopes")))

    def dot(self, other):
        """A row of J and its bias, of the constraint that the product is kept."""
        J = other.x @ self.slopes + self.x @ other.slopes
        return J, other.x @ self.bias + 2.0 * self.v @ other.v + self.x @ other.bias


class Maximal:
    """Each body with six coordinates: motion of its center of mass, and turning."""

    def __init__(self, robot, q, qd):
        poses, velocity = kt.forward_kinematics(robot, q), kt.body_velocities(robot, q, qd)
        self.robot, self.R, self.w = robot, poses.rotation, velocity[:, 3:]
        self.c = [x.body.inertia.center for x in robot.links]
        self.p = [p + R @ c for p, R, c in zip(poses.position, self.R, self.c, strict=True)]
        self.v = [
            v + np.cross(w, R @ c) for v, w, R, c in zip(velocity[:, :3], self.w, self.R, self.c, strict=True)
        ]
        self.n = 6 * len(self.p)

    def fixed(self, x):
        return Vector(np.array(x, dtype=float), np.zeros(3), np.zeros(3), np.zeros((3, self.n)))

    def direction(self, k, u):
        """A direction of body k."""
        w, u = self.w[k], self.R[k] @ u
        slopes = np.zeros((3, self.n))
        slopes[:, 6 * k + 3 : 6 * k + 6] = np.stack([np.cross(e, u) for e in np.eye(3)], axis=1)
        return Vector(u, np.cross(w, u), np.cross(w, np.cross(w, u)), slopes)

    def point(self, k, r):
        """A point of body k."""
        arm = self.direction(k, np.asarray(r) - self.c[k])
        arm.slopes[:, 6 * k : 6 * k + 3] = np.eye(3)
        return Vector(self.p[k] + arm.x, self.v[k] + arm.v, arm.bias, arm.slopes)

    def accelerations(self, rows, body, force):
        """Accelerations (bodies, 2, 3) under weight and a force at the center of one body."""
        M, right = np.zeros((self.n, self.n)), np.zeros(self.n)
        for k, link in enumerate(self.robot.links):
            inertia, at = link.body.inertia, slice(6 * k, 6 * k + 3)
            turning = slice(6 * k + 3, 6 * k + 6)
            moment = self.R[k] @ inertia.moment @ self.R[k].T
            M[at, at], M[turning, turning] = inertia.mass * np.eye(3), moment
            right[at] = inertia.mass * np.asarray(self.robot.gravity)
            right[turning] = -np.cross(self.w[k], moment @ self.w[k])
        right[6 * body : 6 * body + 3] += force
        J, bias = (np.array(x) for x in zip(*rows, strict=True))
        whole = np.block([[M, J.T], [J, np.zeros((len(J), len(J)))]])
        return np.linalg.solve(whole, np.concatenate([right, -bias]))[: self.n].reshape(-1, 2, 3)


def test_a_planar_cut_joint_moves_as_in_maximal_coordinates(rng):
    """A plate on a ball at the tip of an arm glides on a table that tilts: 18 coordinates, 15 rows."""
    build = kt.Builder("gliding", gravity=(0.0, 0.0, -9.81))
    board, bar = kt.Inertia.box(2.0, (0.6, 0.5, 0.1)), kt.Inertia.rod(1.0, end=(0.5, 0, 0))
    disk = kt.Inertia(0.7, (0.02, -0.03, 0.05), np.diag([3e-3, 4e-3, 5e-3]))
    table = build.world.revolute("tilt", axis="y", at=(0.4, 0, -0.3)).body("table", board)
    arm = build.world.universal("shoulder").body("arm", bar)
    plate = arm.spherical("ball", at=(0.5, 0, 0)).body("plate", disk)
    build.loop("glide", table, plate, kind="planar", at_a=(0.1, 0, 0.05), at_b=(0, 0, -0.04))
    robot = build.build()
    names, x, y, z = list(robot.body_names), *np.eye(3)
    q = kt.loops.assemble(robot, 0.2 * np.array([1.0, 0.5, 0.8, -0.5, 0.4, 0.6]))
    free = np.linalg.svd(constraints(robot, q).J)[2][3:]
    qd, force = rng.standard_normal(3) @ free, np.array([1.0, -2.0, 3.0])

    whole = Maximal(robot, q, qd)
    t, a, p = (names.index(name) for name in ("table", "arm", "plate"))
    rows, world = [], [whole.fixed(e) for e in np.eye(3)]
    for gap in (
        whole.point(t, (0, 0, 0)) - whole.fixed((0.4, 0, -0.3)),
        whole.point(a, (0, 0, 0)) - whole.fixed((0, 0, 0)),
        whole.point(p, (0, 0, 0)) - whole.point(a, (0.5, 0, 0)),
    ):
        rows += [gap.dot(e) for e in world]
    rows += [whole.direction(t, y).dot(world[0]), whole.direction(t, y).dot(world[2])]
    rows.append(whole.direction(a, y).dot(world[0]))
    normal = whole.direction(t, z)
    rows.append(normal.dot(whole.point(p, (0, 0, -0.04)) - whole.point(t, (0.1, 0, 0.05))))
    rows += [normal.dot(whole.direction(p, x)), normal.dot(whole.direction(p, y))]
    motion = np.concatenate([np.concatenate([v, w]) for v, w in zip(whole.v, whole.w, strict=True)])
    assert np.abs(np.array([J for J, _ in rows]) @ motion).max() < 1e-13

    expected = whole.accelerations(rows, p, force)
    load = kt.Wrench("plate", force, point=whole.c[p])
    qdd = kt.forward_dynamics(robot, q, qd, np.zeros(6), wrenches=load)
    found = centers(robot, q, qd, qdd)
    size = np.abs(expected).max()
    for k, name in enumerate(names):
        assert np.abs(found[name] - expected[k]).max() < 1e-10 * size
