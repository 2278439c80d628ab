"""Tasks of whole-body laws: rows against finite differences, a hand that holds still on robots that walk."""

from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from kinetree.control import ContactReading, JointTask, OrientationTask, PointTask, TaskRows
from kinetree.control.whole_body.law import Demand, WholeBodyLaw
from kinetree.control.whole_body.solver import Contacts, LeastSquares
from kinetree.errors import InputError
from kinetree.trajectories import quintic


def quadruped_with_arm():
    """The quadruped of the zoo, with an arm of three joints on its trunk."""
    robot, parent, links = kt.zoo.quadruped(), "trunk", []
    for k, (axis, at) in enumerate((("z", (0, 0, 0.1)), ("y", (0, 0, 0.05)), ("y", (0.25, 0, 0)))):
        body = kt.Body(f"arm{k}", kt.Inertia.box(0.3, (0.25, 0.03, 0.03), center=(0.125 * (k > 0), 0, 0)))
        joint = kt.Joint.of_kind(f"arm{k}", "revolute", axis=axis)
        links.append(kt.model.Link(body, joint, parent, kt.Placement(position=np.array(at, float))))
        parent = body.name
    return replace(robot, links=(*robot.links, *links))


def state(mechanism, seed=3):
    random = np.random.default_rng(seed)
    return random.uniform(-0.5, 0.5, mechanism.n_dof), random.uniform(-1.0, 1.0, mechanism.n_dof)


HAND = {"point": (0.2, 0.0, 0.05)}


@pytest.mark.parametrize("relative_to", [None, "trunk", "arm0"])
def test_the_acceleration_of_a_point_is_that_of_its_path(relative_to):
    """J qdd + what remains at qdd = 0, beside second differences along q + t qd + t^2 qdd / 2."""
    robot = quadruped_with_arm()
    (q, qd), qdd = state(robot), state(robot, 5)[1]
    task = PointTask("arm2", (0.1, 0.2, 0.3), relative_to=relative_to, rate=2.0, **HAND)
    rows = task.rows(robot, 0.0, q, qd)

    def place(t):
        poses = kt.forward_kinematics(robot, q + t * qd + 0.5 * t**2 * qdd)
        R, p = poses["arm2"]
        x = p + R @ np.array(HAND["point"])
        if relative_to is None:
            return x
        R, p = poses[relative_to]
        return R.T @ (x - p)

    h = 1e-4
    x, v = place(0.0), (place(h) - place(-h)) / (2.0 * h)
    a = (place(h) - 2.0 * x + place(-h)) / h**2
    wanted = 4.0 * (np.array([0.1, 0.2, 0.3]) - x) - 4.0 * v
    np.testing.assert_allclose(rows.coefficients @ qdd - rows.aim, a - wanted, atol=1e-6)
    assert rows.weight.tolist() == [1.0, 1.0, 1.0]


def test_the_angular_acceleration_of_a_body_is_that_of_its_jacobian():
    robot = quadruped_with_arm()
    (q, qd), qdd = state(robot), state(robot, 5)[1]
    R = kt.forward_kinematics(robot, q)["arm2"][0]
    rows = OrientationTask("arm2", R, rate=2.0).rows(robot, 0.0, q, qd)
    h, name = 1e-6, "arm2"
    w = [kt.jacobian(robot, q + t * qd, name)[3:] @ (qd + t * qdd) for t in (-h, 0.0, h)]
    np.testing.assert_allclose(
        rows.coefficients @ qdd - rows.aim, (w[2] - w[0]) / (2 * h) + 4.0 * w[1], atol=1e-6
    )


def walk(tasks, ground=None, duration=2.5):
    robot = quadruped_with_arm()
    law = kt.control.WalkingLaw(speed=0.2, tasks=tasks)
    soil = kt.Ground(kt.simulation.Soil(stiffness=2e4))
    run = kt.simulate(
        robot, law.start(robot), duration=duration, controller=law, ground=soil, method="radau", rtol=1e-3,
        atol=1e-5,
    )  # fmt: skip
    assert run.audit["walk"].passed
    return robot, run


def path_of_hand(robot, run, frame):
    poses = kt.forward_kinematics(robot, run.q.values)
    R, p = poses["arm2"]
    x = p + R @ np.array(HAND["point"])
    if frame is None:
        return x
    R, p = poses[frame]
    return np.einsum("kji,kj->ki", R, x - p)


def test_a_hand_goes_where_it_is_told_while_the_robot_walks():
    goal = np.array([0.3, 0.1, 0.25])
    robot, run = walk([PointTask("arm2", goal, relative_to="trunk", **HAND)])
    away = np.linalg.norm(path_of_hand(robot, run, "trunk") - goal, axis=1)
    late = run.time.values > 1.0
    assert away[0] > 0.1 and away[late].max() < 0.01
    moved = run.q.values[-1, 0] - run.q.values[0, 0]
    assert moved > 0.25  # of 0.5 m: it starts from rest


def test_a_hand_follows_a_path():
    path = quintic((0.3, 0.1, 0.25), (0.35, -0.1, 0.15), 1.5)
    robot, run = walk([PointTask("arm2", path, relative_to="trunk", **HAND)])
    t = run.time.values
    wanted = np.array([path.at(min(x, 1.5)).q for x in t])
    away = np.linalg.norm(path_of_hand(robot, run, "trunk") - wanted, axis=1)
    assert away[t > 1.0].max() < 0.01


def test_joints_go_where_they_are_told():
    robot, run = walk([JointTask({"arm1": -0.8, "arm2": 1.1}, weight=5.0)], duration=1.5)
    k = [robot.joint_index("arm1"), robot.joint_index("arm2")]
    np.testing.assert_allclose(run.q.values[-1, k], [-0.8, 1.1], atol=0.03)


def test_joints_below_both_bodies_keep_their_posture():
    """Seen from the chest the lumbar joints move a hand by rounding only."""
    robot = kt.zoo.humanoid()
    law = kt.control.WalkingLaw(tasks=[PointTask("left_hand", (0.3, 0.2, 0.0), relative_to="chest")])
    balance = law.balance(robot)
    q = law.start(robot)
    points = [point.name for point in robot.contact_points]
    balance(
        0.0,
        q,
        np.zeros(len(q)),
        ContactReading(tuple(points), np.zeros((len(points), 3)), *no_motion(points)),
    )
    busy = {
        robot.joint_names[k]
        for k, weight in zip(balance._others, balance._posture[1], strict=True)
        if weight < 0.01
    }
    assert busy and not any("lumbar" in x or "waist" in x or "chest" in x for x in busy), busy


def no_motion(points):
    return np.zeros(len(points)), np.zeros((len(points), 3))


class Own:
    """A task of a user, which returns what it is given."""

    def __init__(self, answer):
        self.answer = answer

    def rows(self, mechanism, t, q, qd):
        return self.answer


def test_bad_tasks_are_refused_before_the_walk():
    robot = quadruped_with_arm()
    with pytest.raises(InputError, match="rate"):
        PointTask("arm2", (0, 0, 0), rate=0.0)
    with pytest.raises(InputError, match="rotation"):
        OrientationTask("arm2", np.ones((3, 3)))
    with pytest.raises(InputError, match="rotation"):
        OrientationTask("arm2", np.diag([1.0, 1.0, -1.0]))
    with pytest.raises(InputError, match="tasks"):
        kt.control.WalkingLaw(tasks=[PointTask])
    with pytest.raises(InputError, match="tasks"):
        kt.control.WalkingLaw(tasks=["hand"])
    for answer, words in (
        (np.zeros(3), "TaskRows"),
        (TaskRows(np.zeros((1, 3)), np.zeros(1), np.ones(1)), "shapes"),
        (TaskRows(np.full((1, robot.n_dof), np.nan), np.zeros(1), np.ones(1)), "finite"),
        (TaskRows(np.zeros((1, robot.n_dof)), np.zeros(1), -np.ones(1)), "weights"),
    ):
        law = kt.control.WalkingLaw(tasks=[Own(answer)])
        with pytest.raises(InputError, match=rf"task 1 \(Own\).*{words}"):
            kt.simulate(robot, law.start(robot), duration=0.1, controller=law, ground=kt.Ground())
    for task in (PointTask("hand", (0, 0, 0)), JointTask({"elbow": 0.1})):
        law = kt.control.WalkingLaw(tasks=[task])
        with pytest.raises(InputError, match=r"hand|elbow"):
            kt.simulate(robot, law.start(robot), duration=0.1, controller=law, ground=kt.Ground())


class Falls(WholeBodyLaw):
    """A planner that wants the trunk to fall faster than it can, from contacts at the feet."""

    def __init__(self, robot, pulls, tasks=()):
        n = robot.n_dof
        self.base, self.pulls, self.qdd = robot.links[0].joint.n_dof, pulls, None
        solver = LeastSquares(np.arange(n), self.base, 1e-9, 1e-9, 1e-10)
        super().__init__(robot, solver, np.full(n, np.inf), tasks)

    def plan(self, t, q, qd, contact, more):
        robot, rows = self._mechanism, []
        for point in robot.contact_points:
            rows += list(kt.jacobian(robot, q, point.body, np.asarray(point.position))[:3])
        k = len(rows)
        point, up = np.arange(k) // 3, (np.arange(k) % 3 == 2) & (not self.pulls)
        fall = TaskRows(np.eye(len(q))[[2]], np.array([-20.0]), np.ones(1))
        M, h = kt.mass_matrix(robot, q), kt.bias_torque(robot, q, qd)
        return Demand(M, h, fall, Contacts(np.array(rows), np.zeros(k), point, up))

    def note(self, t, contact, qdd, tau):
        self.qdd = qdd

    def walked(self):
        return True, ""


@pytest.mark.parametrize(("pulls", "acceleration"), [(True, -20.0), (False, -9.81)])
def test_contacts_that_must_not_pull_are_left_out(pulls, acceleration):
    """A center of mass on feet that only push falls with gravity at most: Newton."""
    robot = kt.zoo.quadruped()
    law = Falls(robot, pulls)
    q, still = np.zeros(robot.n_dof), np.zeros(robot.n_dof)
    law(0.0, q, still, None)
    M = kt.mass_matrix(robot, q)
    of_mass = (M[2] @ law.qdd) / robot.mass
    if pulls:
        assert law.qdd[2] == pytest.approx(acceleration, rel=1e-3) and of_mass < -9.9
    else:
        assert of_mass == pytest.approx(acceleration, rel=1e-3)


def test_the_rows_of_further_tasks_keep_their_number():
    class Grows:
        def rows(self, mechanism, t, q, qd):
            count = 1 + int(t)
            return TaskRows(np.eye(mechanism.n_dof)[:count], np.zeros(count), np.ones(count))

    robot = kt.zoo.quadruped()
    law, still = Falls(robot, True, [Grows()]), np.zeros(robot.n_dof)
    law(0.0, still, still, None)
    with pytest.raises(InputError, match="same number of rows, 1 at first, got 2 at t = 1 s"):
        law(1.0, still, still, None)
