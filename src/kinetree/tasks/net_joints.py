"""Net forces and moments in the joints of a person, by the names of joints and alike on both sides.

Predictions of walking and lifting have their root at a foot, so that the leg that stands is passed from the
foot upwards: the joint that carries the thigh is the knee there, and the hip on the other side.
"""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.kinematics import forward_kinematics
from kinetree.model.body import WORLD
from kinetree.model.mechanism import Mechanism
from kinetree.model.rooted import carried_bodies
from kinetree.result.labeled import Unlabeled
from kinetree.result.result import Result, arrays_of, changed
from kinetree.result.variables import AT_JOINT, KNOWN, NET_FORCE, NET_REACTION, Variable

BY_BODY = ("reaction", "joint_force")  # what results of other motions have


def net_joint_reactions(
    person: Mechanism, mechanism: Mechanism, q: Array, reaction: Array
) -> dict[str, Array]:
    """Wrench of the proximal on the distal body in each joint, (m, 6) at the joint in world axes, by name.

    ``person`` is rooted at the pelvis and says which body is the distal one; ``mechanism`` is the same tree
    with any root, ``reaction`` (m, n_bodies, 6) what :func:`kinetree.joint_reactions` gives for it at ``q``
    (m, n_dof): w_world = R w, or -R w where the joint is passed from the distal to the proximal body.

    >>> import kinetree as kt
    >>> robot, q = kt.zoo.quadruped(), np.zeros((1, 18))
    >>> found = net_joint_reactions(robot, robot, q, kt.joint_reactions(robot, q, q, q))
    >>> [x for x in found if x.endswith("1")], found["knee1"].shape
    (['hip1', 'knee1'], (1, 6))
    """
    rotation = forward_kinematics(mechanism, q).rotation
    carried, found = carried_bodies(mechanism), {}
    for joint, distal in carried_bodies(person).items():
        if person.link(distal).parent == WORLD or "." in joint:
            continue
        k = mechanism.body_index(carried[joint])
        turned = np.einsum("mij,mpj->mpi", rotation[:, k], reaction[:, k].reshape(-1, 2, 3))
        sign = 1.0 if carried[joint] == distal else -1.0
        found[joint] = sign * turned.reshape(-1, 6)
    return found


def with_net_joints(result: Result, person: Mechanism) -> Result:
    """The result with reactions by joints instead of by bodies of a tree with some root."""
    coordinates, variables = arrays_of(result)
    wrenches = net_joint_reactions(
        person, result.mechanism, np.asarray(variables["q"].values), np.asarray(variables["reaction"].values)
    )
    values = np.stack(list(wrenches.values()), axis=1)
    size = np.linalg.norm(values[..., :3], axis=-1)
    for array in (values, size):
        array.setflags(write=False)
    kept = {name: x for name, x in variables.items() if name not in BY_BODY}
    kept |= {
        name: Variable(KNOWN[name].dims, numbers, KNOWN[name].unit, KNOWN[name].long_name)
        for name, numbers in ((NET_REACTION, values), (NET_FORCE, size))
    }
    used = {dim for x in kept.values() for dim in x.dims}
    labels = {name: x for name, x in coordinates.items() if x.dims[0] in used}
    labels[AT_JOINT] = Variable((AT_JOINT,), np.array(list(wrenches)), "", "joint")
    return changed(result, dataset=Unlabeled(labels, kept))
