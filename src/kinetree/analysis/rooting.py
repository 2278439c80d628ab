"""Motions of the same tree with different roots: coordinates of one from those of the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.algebra.rotation import GIMBAL_LOCK
from kinetree.algebra.three_turns import ThreeTurns
from kinetree.analysis.kinematics import body_accelerations, body_velocities, forward_kinematics
from kinetree.dynamics.checks import checking, given
from kinetree.dynamics.evaluate import same_batch
from kinetree.errors import InputError, SingularityError, listed, must_be
from kinetree.model.body import WORLD
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Link, Mechanism
from kinetree.model.rooted import frame_in
from kinetree.state import State


def change_root(
    source: Mechanism,
    target: Mechanism,
    q: ArrayLike,
    qd: ArrayLike | None = None,
    qdd: ArrayLike | None = None,
) -> State:
    """The motion of one mechanism in the coordinates of another, which is the same tree with another root.

    ``q``, ``qd``, ``qdd`` (..., n_dof) belong to the source; the answer, to the target, with those of them
    that were given. Joints keep their coordinates. The pose of the target's base follows from the pose of
    that body in the source, x = p + R d, its velocity v + w x R d and acceleration a + wd x R d +
    w x (w x R d), and its Euler rates from E ad = w and E add = wd - Ed ad: no differences are taken.
    Angles are those nearest to zero. See :meth:`kinetree.Mechanism.rooted_at`.

    >>> import kinetree as kt, numpy as np
    >>> robot = kt.zoo.quadruped()
    >>> standing = robot.rooted_at("shank1", point="foot1")
    >>> kt.analysis.change_root(robot, standing, np.zeros(18)).q[:3].round(9).tolist()
    [0.5, 0.2, -0.6]
    """
    expect_mechanism(source, "source")
    expect_mechanism(target, "target")
    parts = [given(source, q, "q")]
    if qdd is not None and qd is None:
        raise InputError("accelerations qdd also need velocities qd; got none")
    parts += [given(source, x, name) for x, name in ((qd, "qd"), (qdd, "qdd")) if x is not None]
    parts = list(same_batch(*parts))
    roots = [link for link in target.links if link.parent == WORLD and not _same_root(source, link)]
    _check_joints(source, target, roots)
    found = [np.zeros((*parts[0].shape[:-1], target.n_dof)) for _ in parts]
    for j, name in enumerate(target.joint_names):
        if name in source.joint_names:
            for mine, theirs in zip(found, parts, strict=True):
                mine[..., j] = theirs[..., source.joint_index(name)]
    for link in roots:
        first = target.joint_index(link.joint.dof_names[0]) if link.joint.n_dof else 0
        for mine, base in zip(found, _base_motion(source, target, link, parts), strict=True):
            mine[..., first : first + link.joint.n_dof] = base
    return State(*found)


def _same_root(source: Mechanism, link: Link) -> bool:
    """Whether a body of the target hangs on the world in the source, too, in the same way."""
    other = next((x for x in source.links if x.body.name == link.body.name), None)
    return other is not None and (other.parent, other.joint, other.placement) == (
        WORLD,
        link.joint,
        link.placement,
    )


def _check_joints(source: Mechanism, target: Mechanism, roots: list[Link]) -> None:
    """Every joint of the target but those at new roots is one of the source, and these can take any pose."""
    own = {name for link in roots for name in link.joint.dof_names}
    missing = [name for name in target.joint_names if name not in own and name not in source.joint_names]
    bodies = [link.body.name for link in roots if link.body.name not in source.body_names]
    for what, names in (("joints", missing), ("bodies", bodies)):
        if names:
            raise InputError(
                f"'{target.name}' is not '{source.name}' with another root: it has {what} {listed(names)}, "
                f"which the other lacks"
            )
    for link in roots:
        if not link.joint.is_free:
            raise InputError(
                f"base joint '{link.joint.name}' of '{target.name}' is {link.joint.kind}; only a free joint "
                f"can represent the pose of a body under another root"
            )
        if not ThreeTurns(link.joint.axes[-3:]).is_proper:
            raise InputError(
                must_be(
                    f"base joint '{link.joint.name}' of '{target.name}': successive axes of its rotation",
                    "at right angles to find angles of a pose",
                    link.joint.axes[-3:].tolist(),
                )
            )


def _base_motion(source: Mechanism, target: Mechanism, link: Link, parts: list[Array]) -> list[Array]:
    """Coordinates of a free base and as many of their derivatives as are given, (..., 6) each."""
    body = link.body.name
    k, shift = source.body_index(body), frame_in(source, target, body)
    R_world, p = forward_kinematics(source, parts[0])[body]
    r = R_world @ shift.position
    X = link.placement
    slides, turns = np.linalg.inv(link.joint.axes[:3].T), ThreeTurns(link.joint.axes[-3:])
    R = X.rotation.T @ R_world @ shift.rotation
    flat = R.reshape(-1, 3, 3)
    angles = np.array([turns.angles(one, np.zeros(3)) for one in flat]).reshape(*R.shape[:-2], 3)

    def seen(vector: Array) -> Array:
        """A vector of the world in the axes of the base joint."""
        return vector @ X.rotation

    found = [np.concatenate([seen(p + r - X.position) @ slides.T, angles], axis=-1)]
    if len(parts) == 1:
        return found
    if checking() and np.any(turns.distance(angles) < GIMBAL_LOCK):
        raise SingularityError(
            f"the base of '{target.name}' is in gimbal lock, where no rates of its angles give the motion of "
            f"'{body}'; root it with another sequence"
        )
    twist = body_velocities(source, parts[0], parts[1])[..., k, :]
    v, w = twist[..., :3], twist[..., 3:]
    rates = turns.rates(angles, seen(w))
    found.append(np.concatenate([seen(v + np.cross(w, r)) @ slides.T, rates], axis=-1))
    if len(parts) == 3:
        moved = body_accelerations(source, *parts)[..., k, :]
        a = moved[..., :3] + np.cross(moved[..., 3:], r) + np.cross(w, np.cross(w, r))
        bent = turns.accelerations(angles, rates, seen(moved[..., 3:]))
        found.append(np.concatenate([seen(a) @ slides.T, bent], axis=-1))
    return found
