"""Derivatives of linkages with springs and dampers at a joint, or at all, do not depend on the cut."""

import numpy as np
import pytest

import kinetree as kt

UP = (0.0, 0.0, 1.0)
LINKAGES = {  # joints in the order of the loop: name, kind, axis or axes, place in the drawn position (m)
    "four_bar": (
        ("A", "revolute", UP, (0.0, 0.0, 0.0)),
        ("B", "revolute", UP, (0.1, 0.2, 0.0)),
        ("C", "revolute", UP, (0.6, 0.4, 0.0)),
        ("D", "revolute", UP, (0.5, 0.0, 0.0)),
    ),
    "two_balls": (
        ("A", "revolute", UP, (0.0, 0.0, 0.0)),
        ("B", "universal", None, (0.2, -0.1, 0.1)),
        ("C", "spherical", None, (0.5, 0.5, -0.1)),
        ("D", "revolute", (0.6, 0.0, 0.8), (0.6, 0.0, 0.0)),
    ),
    "slides": (
        ("A", "revolute", UP, (0.0, 0.0, 0.0)),
        ("B", "cylindrical", (0.6, 0.0, 0.8), (0.2, 0.1, 0.1)),
        ("C", "spherical", None, (0.6, 0.5, 0.2)),
        ("D", "prismatic", (0.3, 0.8, 0.52), (0.5, 0.0, 0.0)),
    ),
}
CASES = [
    (linkage, sprung, drive)
    for linkage, joints in LINKAGES.items()
    for sprung in ("A", "B", "C", "D", "ABCD")
    for drive, kind, *_ in joints
    if kind in ("revolute", "prismatic") and not (linkage == "slides" and drive == "A")
]


def built(linkage, cut, sprung, drive):
    """The linkage with springs, dampers and a drive, cut at a joint; its coordinates are zero as drawn."""
    bodies = [
        kt.Body(name, kt.Inertia(1.0 + k, (0.1, 0.2 * k, 0.1 * (linkage != "four_bar")), (0.02, 0.03, 0.04)))
        for k, name in enumerate("xyz")
    ]
    ends, joints = ("world", "x", "y", "z", "world"), []
    for k, (name, kind, axis, place) in enumerate(LINKAGES[linkage]):
        more = {} if axis is None else {"axis": np.array(axis) / np.linalg.norm(axis)}
        if name in sprung:
            more |= {"stiffness": 5.0, "rest": 0.2, "viscous": 0.3}
        joint = kt.Joint.of_kind(name, kind, driven=name == drive, cut=name == cut, **more)
        at = kt.Placement.at(place)
        joints.append(kt.model.Loop(joint, ends[k], ends[k + 1], at, at))
    return kt.model.from_graph(linkage, bodies, joints, cut=[cut], gravity=(1.0, -9.0, 2.0))


def answers(linkage, cut, sprung, drive):
    """Everything that can be compared: arrays by what they are about."""
    mechanism = built(linkage, cut, sprung, drive)
    values = [[[x]] for x in (-0.1, 0.7, 0.3)]
    start = np.zeros(mechanism.n_dof)
    motion = kt.loops.dependent_motion(mechanism, [drive], *values, q0=start)
    state = motion.q[0], motion.qd[0], motion.qdd[0]
    q, qd, _ = state
    place = mechanism.joint_index(drive)
    weight = (np.arange(mechanism.n_dof) == place).astype(float)
    first = kt.loops.inverse_dynamics_derivatives(mechanism, *state, independent=[drive])
    forward = kt.loops.forward_dynamics_derivatives(mechanism, q, qd, first.tau, independent=[drive])
    found = {
        "torque": np.append(first.tau[place], first.matrices[:, place, 0]),
        "hessian": kt.loops.torque_hessian(mechanism, *state, weight, independent=[drive]).full,
    }
    for k, name in enumerate(mechanism.joint_names):
        slopes = forward.dqdd_dq[k], forward.dqdd_dqd[k], forward.dqdd_dtau[k, [place]]
        found[f"motion of {name}"] = np.concatenate([[x[k] for x in state], first.dq_dq[k], *slopes])
    return found | reactions(mechanism, state, drive, first.dq_dq[:, 0])


def reactions(mechanism, state, drive, along):
    """Force and moment about the world's origin that body b exerts on body a of each joint, with slopes."""
    found = kt.loops.reaction_derivatives(mechanism, *state, independent=[drive])
    poses, result = kt.forward_kinematics(mechanism, state[0]), {}

    def moved(body, point):
        J = kt.jacobian(mechanism, state[0], body, point) @ along if body != "world" else np.zeros(6)
        return J[:3], J[3:]

    def about_origin(wrench, slopes, x, dx):
        """(4, 6) of the wrench and its slopes by q, qd and qdd, in world axes."""
        rows = np.nan_to_num(np.vstack([wrench, slopes]))
        turned = np.hstack([rows[:, :3], rows[:, 3:] + np.cross(x, rows[:, :3])])
        turned[1, 3:] += np.cross(dx, rows[0, :3])
        return turned

    ends = dict(zip("ABCD", ("world", "x", "y", "z"), strict=True))
    for body in mechanism.body_names:
        link, k = mechanism.link(body), mechanism.body_index(body)
        name = link.joint.name[0]  # of a joint, or of the last axis of a reversed one
        if body not in "xyz":
            continue
        R, x = poses.rotation[k], poses.position[k]
        dx, w = moved(body, np.zeros(3))
        rows = np.vstack([found.reaction[k], found.slopes[:, k, :, 0]]).reshape(4, 2, 3)
        world = np.nan_to_num(rows) @ R.T
        world[1] += np.cross(w, world[0])
        sign = 1.0 if ends[name] == body else -1.0
        result[f"reaction of {name}"] = sign * about_origin(world[0].ravel(), world[1:].reshape(3, 6), x, dx)
    (loop,) = mechanism.loops
    x, dx = np.array(loop.placement_a.position), np.zeros(3)
    if loop.body_a != "world":
        k = mechanism.body_index(loop.body_a)
        dx, _ = moved(loop.body_a, x)
        x = poses.rotation[k] @ x + poses.position[k]
    cut = about_origin(found.cut_wrench[0], found.cut_slopes[:, 0, :, 0], x, dx)
    return result | {f"reaction of {loop.name}": cut}


@pytest.mark.parametrize(("linkage", "sprung", "drive"), CASES)
def test_no_derivative_depends_on_the_cut(linkage, sprung, drive):
    every = [answers(linkage, cut, sprung, drive) for cut in "ABCD" if cut != drive]
    compared = set()
    for k, found in enumerate(every):
        for other in every[:k]:
            for name in found.keys() & other.keys():
                compared.add(name.rpartition(" ")[0])
                a, b = found[name], other[name]
                if linkage == "four_bar" and name.startswith("reaction"):
                    a, b = a[:, [0, 1, 5]], b[:, [0, 1, 5]]  # what redundant constraints leave undetermined
                np.testing.assert_allclose(
                    a, b, rtol=0, atol=1e-9 * max(1.0, np.abs(b).max()), err_msg=f"{name}"
                )
    assert compared == {"", "motion of", "reaction of"}
