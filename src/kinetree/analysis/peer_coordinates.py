"""States carried over from and to Pinocchio and MuJoCo, by the names of their joints.

Kinetree has one number per degree of freedom and rates that are derivatives of these numbers. The others have
quaternions for free and ball joints and velocities that are none: a free joint's angular velocity is in body
axes, its linear velocity in body axes (Pinocchio) or world axes (MuJoCo). Both put joints into an order of
their own, Pinocchio siblings by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from kinetree.algebra.arrays import Array, numbers
from kinetree.algebra.three_turns import ThreeTurns
from kinetree.errors import InputError, listed, must_be, unknown_name
from kinetree.model.aids import aids
from kinetree.model.body import WORLD
from kinetree.model.euler_coordinates import body_rates, euler_coordinates
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Link, Mechanism
from kinetree.state import coordinates

PEERS = ("pinocchio", "mujoco")
ROOT_JOINT = "root_joint"  # as Pinocchio calls the joint that it puts under the root of a file
IN_A_PLANE = (False, False, True)  # two translations, then a rotation: (x, y, cos, sin) in Pinocchio
UNIT = 1e-3  # how far the length of a quaternion, or of a cosine and sine, may be from 1


@dataclass(frozen=True)
class _Share:
    """Where a joint stands: its link, its columns in ``qpos`` and ``qvel`` of the peer, and its own ones."""

    link: Link
    qpos: slice
    qvel: slice
    own: slice


def coordinates_from(
    mechanism: Mechanism,
    peer: str,
    qpos: ArrayLike,
    qvel: ArrayLike | None = None,
    *,
    joints: Sequence[str] | None = None,
) -> Any:
    """Positions q (..., n_dof) from those of another library, or (q, qd) if velocities are given.

    ``peer`` is "pinocchio" or "mujoco"; ``qpos`` (..., nq) and ``qvel`` (..., nv) are its arrays. ``joints``
    are the names of its joints in its order (``list(model.names)[1:]`` of Pinocchio), unless both read the
    same file: then the order is known. Joints of the peer that mimic others are left out.

    >>> import kinetree as kt
    >>> arm = kt.zoo.kuka_kr5()
    >>> coordinates_from(arm, "mujoco", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]).tolist()
    [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    """
    expect_mechanism(mechanism)
    shares = _shares(mechanism, peer, joints, _length(qpos))
    given = _array(qpos, "qpos", shares[-1].qpos.stop if shares else 0)
    rates = None if qvel is None else _array(qvel, "qvel", shares[-1].qvel.stop if shares else 0)
    batch = given.shape[:-1] if rates is None else np.broadcast_shapes(given.shape[:-1], rates.shape[:-1])
    q, qd = np.zeros((*batch, mechanism.n_dof)), np.zeros((*batch, mechanism.n_dof))
    for share in shares:
        if share.link.joint.mimic is not None:
            continue
        part = np.broadcast_to(given[..., share.qpos], (*batch, share.qpos.stop - share.qpos.start))
        speed = None
        if rates is not None:
            speed = np.broadcast_to(rates[..., share.qvel], (*batch, share.qvel.stop - share.qvel.start))
        q[..., share.own], qd[..., share.own] = _from_peer(share.link, peer, part, speed)
    return q if qvel is None else (q, qd)


def coordinates_to(
    mechanism: Mechanism,
    peer: str,
    q: ArrayLike,
    qd: ArrayLike | None = None,
    *,
    joints: Sequence[str] | None = None,
    nq: int | None = None,
) -> Any:
    """Positions (..., nq) of another library, or (qpos, qvel) if rates are given; see `coordinates_from`.

    ``nq`` is the length of the other library's positions (``model.nq``): it shows whether a joint that
    rotates without limits has one number there or, as is assumed, cosine and sine, as Pinocchio's continuous
    joints have.

    >>> import kinetree as kt
    >>> biped = kt.zoo.spatial_biped()
    >>> coordinates_to(biped, "mujoco", [0.0] * biped.n_dof)[3:7].tolist()
    [1.0, 0.0, 0.0, 0.0]
    """
    expect_mechanism(mechanism)
    place = coordinates(mechanism, q, "q")
    rates = np.zeros_like(place) if qd is None else coordinates(mechanism, qd, "qd")
    place, rates = np.broadcast_arrays(place, rates)
    shares = _shares(mechanism, peer, joints, nq)
    if nq is not None and (shares[-1].qpos.stop if shares else 0) != nq:
        raise InputError(must_be("nq", f"{shares[-1].qpos.stop if shares else 0} for these joints", nq, ""))
    qpos = np.zeros((*place.shape[:-1], shares[-1].qpos.stop if shares else 0))
    qvel = np.zeros((*place.shape[:-1], shares[-1].qvel.stop if shares else 0))
    for share in shares:
        own, speed = _own(mechanism, share, place, rates)
        qpos[..., share.qpos], qvel[..., share.qvel] = _to_peer(share, peer, own, speed)
    return qpos if qd is None else (qpos, qvel)


def _own(mechanism: Mechanism, share: _Share, q: Array, qd: Array) -> tuple[Array, Array]:
    """The joint's own coordinates and rates; a mimic's are those of its leader."""
    mimic = share.link.joint.mimic
    if mimic is None:
        return q[..., share.own], qd[..., share.own]
    leader = mechanism.joint_index(mimic.joint)
    place, rate = mimic.at(q[..., [leader]]), mimic.slope(q[..., [leader]]) * qd[..., [leader]]
    for name, ratio in mimic.others:
        k = mechanism.joint_index(name)
        place, rate = place + ratio * q[..., [k]], rate + ratio * qd[..., [k]]
    return place, rate


# ---- order and sizes -----------------------------------------------------------------------------


def _shares(
    mechanism: Mechanism, peer: str, joints: Sequence[str] | None, length: int | None
) -> list[_Share]:
    if not isinstance(peer, str) or peer not in PEERS:
        raise InputError(unknown_name("library", peer, PEERS))
    links = {link.joint.name: link for link in mechanism.links if link.joint.n_dof}
    usual = [link.joint.name for link in _by_name(mechanism)] if peer == "pinocchio" else list(links)
    unknown = {link.joint.name for link in aids(mechanism)}
    usual = [name for name in usual if name not in unknown]
    names = usual if joints is None else [name for name in joints if name != "universe"]
    base = [link.joint.name for link in mechanism.links if link.floats]
    if ROOT_JOINT in names and ROOT_JOINT not in links and len(base) == 1 and base[0] not in names:
        names = [base[0] if name == ROOT_JOINT else name for name in names]
    for name in names:
        if name not in links:
            raise InputError(unknown_name("joint", name, links).after("joints: "))
    missing = [name for name in links if name not in names and links[name].joint.mimic is None]
    if missing or len(set(names)) < len(names):
        raise InputError(
            f"joints must name every joint once; missing or repeated: {listed(missing or names)}"
        )
    first: dict[int, list[_Share]] = {}
    own: dict[str, slice] = {}
    k = 0
    for link in mechanism.links:
        if link.joint.mimic is None:
            own[link.joint.name] = slice(k, k + link.joint.n_dof)
            k += link.joint.n_dof
    for circles in (True, False) if peer == "pinocchio" else (False,):
        shares: list[_Share] = []
        at, v = 0, 0
        for name in names:
            n, size = links[name].joint.n_dof, _size(links[name], peer, circles)
            where = own.get(name, slice(0, 0))
            shares.append(_Share(links[name], slice(at, at + size), slice(v, v + n), where))
            at, v = at + size, v + n
        first.setdefault(at, shares)
    if length is not None and length in first:
        return first[length]
    return next(iter(first.values()))


def _size(link: Link, peer: str, circles: bool) -> int:
    """How many numbers the peer has for the position of a joint."""
    joint = link.joint
    if joint.is_free:
        return 7
    if joint.is_ball:
        return 4
    if peer == "pinocchio" and joint.turns == IN_A_PLANE:
        return 4
    if peer == "pinocchio" and circles and _is_continuous(link):
        return 2
    return joint.n_dof


def _is_continuous(link: Link) -> bool:
    """Whether Pinocchio keeps the cosine and the sine of a joint: one that turns without limits."""
    joint = link.joint
    return joint.is_turn and bool(np.isinf(joint.lower).all() and np.isinf(joint.upper).all())


def _by_name(mechanism: Mechanism) -> Iterator[Link]:
    """The joints that move in Pinocchio's order: siblings by name, each followed by what it carries."""
    children: dict[str, list[Link]] = {}
    for link in mechanism.links:
        children.setdefault(link.parent, []).append(link)
    waiting = sorted(children.get(WORLD, []), key=lambda link: link.joint.name, reverse=True)
    while waiting:
        link = waiting.pop()
        if link.joint.n_dof:
            yield link
        more = children.get(link.body.name, [])
        waiting += sorted(more, key=lambda link: link.joint.name, reverse=True)


def _length(values: ArrayLike) -> int | None:
    array = np.asarray(values)
    return int(array.shape[-1]) if array.ndim else None


def _array(values: ArrayLike, what: str, size: int) -> Array:
    array = numbers(values, what)
    if array.ndim == 0 or array.shape[-1] != size:
        raise InputError(f"{what} must have {size} numbers in its last axis, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(f"{what} must be finite")
    return array


# ---- one joint -----------------------------------------------------------------------------------


def _from_peer(link: Link, peer: str, qpos: Array, qvel: Array | None) -> tuple[Array, Array]:
    joint = link.joint
    rest = np.zeros((*qpos.shape[:-1], joint.n_dof)) if qvel is None else qvel
    if qpos.shape[-1] == joint.n_dof:
        return qpos, rest
    if joint.is_turn:
        return _angle(qpos, joint.name)[..., None], rest
    if not (joint.is_free or joint.is_ball):
        return _planar_from(joint.axes, qpos, rest, joint.name)
    R = _rotation(qpos[..., -4:], peer, joint.name)
    if joint.is_free and peer == "mujoco":
        R = link.placement.rotation.T @ R
    angles, rates = euler_coordinates(joint, R, rest[..., -3:])
    if joint.is_ball:
        return angles, rates
    p, v = qpos[..., :3], rest[..., :3]
    if peer == "mujoco":
        p, v = (p - link.placement.position) @ link.placement.rotation, v @ link.placement.rotation
    else:
        v = (R @ v[..., None])[..., 0]
    to_own = np.linalg.inv(joint.axes[:3])
    return np.concatenate([p @ to_own, angles], axis=-1), np.concatenate([v @ to_own, rates], axis=-1)


def _to_peer(share: _Share, peer: str, q: Array, qd: Array) -> tuple[Array, Array]:
    joint, placement = share.link.joint, share.link.placement
    size = share.qpos.stop - share.qpos.start
    if size == joint.n_dof:
        return q, qd
    if joint.is_turn:
        return np.concatenate([np.cos(q), np.sin(q)], axis=-1), qd
    if not (joint.is_free or joint.is_ball):
        return _planar_to(joint.axes, q, qd)
    angles, rates = q[..., -3:], qd[..., -3:]
    R = ThreeTurns(joint.axes[-3:]).rotation(angles)
    w = (body_rates(joint.axes[-3:], angles) @ rates[..., None])[..., 0]
    if joint.is_ball:
        return _quaternion(R, peer), w
    p, v = q[..., :3] @ joint.axes[:3], qd[..., :3] @ joint.axes[:3]
    if peer == "mujoco":
        p, v = p @ placement.rotation.T + placement.position, v @ placement.rotation.T
        R = placement.rotation @ R
    else:
        v = (np.swapaxes(R, -1, -2) @ v[..., None])[..., 0]
    return np.concatenate([p, _quaternion(R, peer)], axis=-1), np.concatenate([v, w], axis=-1)


def _planar_from(axes: Array, qpos: Array, qvel: Array, name: str) -> tuple[Array, Array]:
    """Pinocchio's planar joint (x, y, cos, sin), velocities in body axes; two translations, one rotation."""
    angle = _angle(qpos[..., 2:], name)
    c, s, (vx, vy) = np.cos(angle), np.sin(angle), (qvel[..., 0], qvel[..., 1])
    v = np.stack([c * vx - s * vy, s * vx + c * vy, qvel[..., 2]], axis=-1)
    return np.stack([qpos[..., 0], qpos[..., 1], angle], axis=-1), v


def _planar_to(axes: Array, q: Array, qd: Array) -> tuple[Array, Array]:
    c, s = np.cos(q[..., 2]), np.sin(q[..., 2])
    v = [c * qd[..., 0] + s * qd[..., 1], -s * qd[..., 0] + c * qd[..., 1], qd[..., 2]]
    return np.stack([q[..., 0], q[..., 1], c, s], axis=-1), np.stack(v, axis=-1)


def _angle(pair: Array, name: str) -> Array:
    """The angle of a cosine and a sine."""
    _check_unit(pair, name, "cosine and sine")
    return np.asarray(np.arctan2(pair[..., 1], pair[..., 0]), dtype=np.float64)


def _rotation(quaternion: Array, peer: str, name: str) -> Array:
    _check_unit(quaternion, name, "quaternion")
    flat = quaternion.reshape(-1, 4)
    xyzw = np.roll(flat, -1, axis=-1) if peer == "mujoco" else flat
    R = np.asarray(Rotation.from_quat(xyzw).as_matrix(), dtype=np.float64)
    return R.reshape((*quaternion.shape[:-1], 3, 3))


def _quaternion(R: Array, peer: str) -> Array:
    xyzw = Rotation.from_matrix(R.reshape(-1, 3, 3)).as_quat()
    found = np.roll(xyzw, 1, axis=-1) if peer == "mujoco" else xyzw
    return np.asarray(found.reshape((*R.shape[:-2], 4)), dtype=np.float64)


def _check_unit(values: Array, name: str, what: str) -> None:
    length = np.linalg.norm(values, axis=-1)
    if (np.abs(length - 1.0) > UNIT).any():
        worst = float(length.reshape(-1)[np.argmax(np.abs(length - 1.0))])
        raise InputError(f"qpos: the {what} of joint '{name}' must have length 1, got {worst:.4g}")
