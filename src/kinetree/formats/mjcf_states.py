"""Keyframes of a compiled MuJoCo model as named states, and its sites as named frames."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinetree.algebra.arrays import Array, frozen
from kinetree.formats.mjcf_compiled import CompiledModel, address, placement_from
from kinetree.model.euler_coordinates import euler_coordinates
from kinetree.model.frame import Frame
from kinetree.model.mechanism import Link
from kinetree.model.named_state import NamedState, NamedStates


def sites(compiled: CompiledModel) -> tuple[Frame, ...]:
    """The sites as frames; one that is called like a body has '_site' behind its name."""
    m, found = compiled.m, []
    for s in range(m.nsite):
        name = compiled.name("SITE", s) or f"site{s}"
        place = placement_from(m.site_pos[s], m.site_quat[s], f"site '{name}'")
        found.append(Frame(compiled.new_frame(name), compiled.bodies[int(m.site_bodyid[s])], place))
    return tuple(found)


def keyframes(compiled: CompiledModel, links: Sequence[Link], numbers: Sequence[int]) -> NamedStates:
    """The keyframes; ``numbers`` are those of the actuators that are taken.

    The control is unknown where the file gives none, or zero for all.
    """
    m = compiled.m
    by_joint = {link.joint.name: link for link in links}
    states, taken = [], set[str]()
    controls = [address(m, "ctrl", k) for k in numbers]
    for k in range(m.nkey):
        name = compiled.name("KEY", k) or f"key{k}"
        while name in taken:
            name += "_"
        taken.add(name)
        q: list[float] = []
        qd: list[float] = []
        for j, joint in enumerate(compiled.joints):
            link = by_joint[joint]
            if link.joint.mimic is None and link.joint.n_dof:
                own = _own(compiled, j, link, m.key_qpos[k], m.key_qvel[k])
                q += own[0].tolist()
                qd += own[1].tolist()
        control = m.key_ctrl[k]
        given = frozen(control[controls]) if np.any(control) and controls else None
        states.append(NamedState(name, frozen(q), frozen(qd), given))
    return NamedStates(states)


def _own(compiled: CompiledModel, j: int, link: Link, qpos: Array, qvel: Array) -> tuple[Array, Array]:
    """Coordinates and rates of one joint."""
    m = compiled.m
    at, v = int(m.jnt_qposadr[j]), int(m.jnt_dofadr[j])
    kind = compiled.joint_type(j)
    if compiled.is_scalar(j):
        return qpos[at : at + 1], qvel[v : v + 1]
    quaternion = qpos[at + 3 : at + 7] if kind == "free" else qpos[at : at + 4]
    R = placement_from((0.0, 0.0, 0.0), quaternion, f"keyframe of joint '{link.joint.name}'").rotation
    place = link.placement
    if kind == "ball":
        return euler_coordinates(link.joint, R, qvel[v : v + 3])
    angles, rates = euler_coordinates(link.joint, place.rotation.T @ R, qvel[v + 3 : v + 6])
    to_own = np.linalg.inv(link.joint.axes[:3])
    p = (qpos[at : at + 3] - place.position) @ place.rotation @ to_own
    return np.concatenate([p, angles]), np.concatenate([qvel[v : v + 3] @ place.rotation @ to_own, rates])
