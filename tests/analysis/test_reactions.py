"""Joint reactions, those of welds above all, and how they contain the joint torques."""

from dataclasses import replace

import numpy as np

import kinetree as kt
from support import trees
from support.cases import assert_close


def passive(joint, a, q, qd, qdd):
    spring = joint.stiffness[a] * (q - joint.rest[a])
    dry = joint.coulomb[a] if qd > 0 else joint.coulomb_reverse[a]
    friction = joint.viscous[a] * qd + dry * np.sign(qd)
    return joint.armature[a] * qdd + spring + friction


def test_the_last_axis_of_a_joint_carries_its_torque(rng):
    """The reaction along the axis is the torque less armature, friction and spring."""
    robot = trees.random_tree(rng, 12, passive=True)
    q, qd, qdd = trees.state(robot, rng)
    tau = kt.inverse_dynamics(robot, q, qd, qdd)
    reactions = kt.joint_reactions(robot, q, qd, qdd)
    for link, w in zip(robot.links, reactions, strict=True):
        if link.joint.n_dof:
            k = robot.joint_index(link.joint.dof_names[-1])
            part = w[3:] if link.joint.turns[-1] else w[:3]
            active = tau[k] - passive(link.joint, -1, q[k], qd[k], qdd[k])
            assert_close(part @ link.joint.axes[-1], active, 1e-11)


def test_reactions_in_world_axes(robot, rng):
    q, qd, qdd = trees.state(robot, rng, batch=(3,))
    R = kt.forward_kinematics(robot, q).rotation
    body = kt.joint_reactions(robot, q, qd, qdd).reshape(3, -1, 2, 3)
    world = kt.joint_reactions(robot, q, qd, qdd, frame="world").reshape(3, -1, 2, 3)
    assert_close(world, np.einsum("...ij,...kj->...ki", R, body))


def test_each_body_obeys_newton(robot, rng):
    """m (a_c - g) = reaction - reactions of the children + loads, body by body."""
    q, qd, qdd = trees.state(robot, rng)
    load = rng.uniform(-2, 2, (robot.n_bodies, 6))
    force = kt.joint_reactions(robot, q, qd, qdd, load, frame="world")[:, :3]
    poses = kt.forward_kinematics(robot, q)
    velocity, acceleration = (
        kt.body_velocities(robot, q, qd),
        kt.analysis.body_accelerations(robot, q, qd, qdd),
    )
    for k, link in enumerate(robot.links):
        r = poses.rotation[k] @ link.body.inertia.center
        w, wd = velocity[k, 3:], acceleration[k, 3:]
        a = acceleration[k, :3] + np.cross(wd, r) + np.cross(w, np.cross(w, r))
        children = [i for i, x in enumerate(robot.links) if x.parent == link.body.name]
        total = force[k] + load[k, :3] - force[children].sum(axis=0)
        assert_close(total, link.body.inertia.mass * (a - robot.gravity), 1e-11)


def test_a_weld_carries_what_a_locked_hinge_carries(rng):
    """Every weld replaced by a hinge held at zero: the same reactions everywhere."""
    robot = trees.welded_tree(rng)
    hinged = replace(
        robot,
        links=tuple(
            replace(x, joint=trees.joint(rng, x.joint.name, "revolute")) if x.joint.n_dof == 0 else x
            for x in robot.links
        ),
    )
    assert hinged.n_dof > robot.n_dof
    where = [hinged.joint_index(name) for name in robot.joint_names]
    state, locked = trees.state(robot, rng), np.zeros((3, hinged.n_dof))
    locked[:, where] = state
    wrenches = trees.loads(rng, robot)
    assert_close(kt.joint_reactions(robot, *state, wrenches), kt.joint_reactions(hinged, *locked, wrenches))
    assert_close(
        kt.inverse_dynamics(robot, *state, wrenches), kt.inverse_dynamics(hinged, *locked, wrenches)[where]
    )


def test_weld_of_a_single_body_by_hand():
    """A hammer swinging in the plane: the head's weld carries m (a - g) and I wd at its own origin."""
    m, inertia, length, head = 2.0, 0.03, 0.8, 0.1
    robot = kt.Builder("hammer", gravity=(0, -9.81, 0))
    handle = robot.world.revolute("swing").body("handle", kt.Inertia.rod(0.5, (length, 0, 0)))
    weld = handle.fixed("weld", at=(length, 0, 0))
    weld.body("head", kt.Inertia(m, (head, 0, 0), (inertia, inertia, inertia)))
    q, qd, qdd = 0.7, 1.3, -2.1
    found = kt.joint_reactions(robot.build(), [q], [qd], [qdd])[1]
    gravity = 9.81 * np.array([np.sin(q), np.cos(q)])  # minus g in body axes
    force = m * (np.array([-(length + head) * qd**2, (length + head) * qdd]) + gravity)
    assert_close(found, [*force, 0, 0, 0, inertia * qdd + head * force[1]], 1e-13)


def test_reactions_of_a_chain_at_rest_carry_the_weight(rng):
    robot = trees.random_tree(rng, 6, branching=0.0)
    rest = np.zeros(robot.n_dof)
    q, _, _ = trees.state(robot, rng)
    force = kt.joint_reactions(robot, q, rest, rest, frame="world")[:, :3]
    mass = np.array([link.body.inertia.mass for link in robot.links])
    for k, link in enumerate(robot.links):
        below = mass[k:].sum() if k else mass[0]  # the second body starts a new chain at the world
        assert link.parent == ("world" if k < 2 else f"body{k - 1}")
        assert_close(force[k], -below * robot.gravity)
