"""Bodies and joints of a compiled MuJoCo model as the links of a mechanism.

MuJoCo moves a body by its joints one after the other, each about an anchor in the body: the pose in the
parent is P J1(q1) J2(q2) ..., with J(q) = T(anchor) R(axis, q - q0) T(-anchor) for a hinge and
J(q) = T(axis (q - q0)) for a slide. A link of a mechanism knows neither anchor nor q0, so these go to the
placements before and between joints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array, frozen, number, vector
from kinetree.algebra.placement import Placement
from kinetree.algebra.rotation import rotation_about
from kinetree.errors import ModelError, listed
from kinetree.formats.contact_choice import ContactChoice
from kinetree.formats.mjcf_actuators import ActuatedJoint, actuators, drives
from kinetree.formats.mjcf_compiled import (
    CompiledModel,
    address,
    is_soft,
    newer_value,
    note_physics_left_out,
    placement_from,
)
from kinetree.formats.mjcf_contact import contacts
from kinetree.formats.mjcf_equality import equalities
from kinetree.formats.mjcf_shapes import ShapeReader
from kinetree.formats.mjcf_tendons import OneJoint, tendons
from kinetree.model.body import WORLD, Body
from kinetree.model.euler_coordinates import euler_coordinates
from kinetree.model.frame import Frame
from kinetree.model.inertia import Inertia, physical_fault
from kinetree.model.joint import Joint, Mimic
from kinetree.model.mechanism import Link, Mechanism
from kinetree.model.named_state import NamedState, NamedStates
from kinetree.model.spring import Spring

ON_AXIS = 1e-13  # m; a hinge axis that passes this close to the body's origin is taken to pass through it
SCENE = "scene"  # the name of the body that has the geoms of the world
KINDS = {"hinge": "revolute", "slide": "prismatic", "ball": "spherical", "free": "free"}


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


def mechanism_from_compiled(
    compiled: CompiledModel,
    title: str,
    allow_unphysical: bool,
    shapes: ShapeReader,
    choice: ContactChoice,
) -> Mechanism:
    """The mechanism; what it cannot hold is listed in ``compiled.left_out``."""
    m = compiled.m
    note_physics_left_out(compiled)
    by_motors = _compensated_by_motors(compiled)
    loops, mimics = equalities(compiled)
    ropes = tendons(compiled, mimics, bool(loops))
    joints = [
        _joint(compiled, j, drive, mimics.get(j), ropes.of_joint.get(j, OneJoint()))
        for j, drive in enumerate(drives(compiled, mimics))
    ]
    links: list[Link] = []
    for b in range(1, m.nbody):
        inertia = _inertia(compiled, b, allow_unphysical)
        body = Body(
            compiled.bodies[b],
            inertia,
            shapes.shapes_of(b),
            0.0 if b in by_motors else _compensation(compiled, b),
        )
        links += _links(compiled, b, body, joints)
    dampers = tuple(_dampers(compiled, links))
    links += [*_rotors(compiled, joints), *ropes.links, *_scene(compiled, shapes)]
    gravity = m.opt.gravity if compiled.works("GRAVITY") else np.zeros(3)
    points, floor = contacts(compiled, choice)
    made, numbers = actuators(compiled, mimics)
    return Mechanism(
        compiled.title(title),
        tuple(links),
        gravity,
        tuple(loops),
        tuple(points),
        (*ropes.springs, *dampers),
        frames=sites(compiled),
        actuators=tuple(made),
        states=keyframes(compiled, links, numbers),
        floor=floor,
    )


def _scene(compiled: CompiledModel, shapes: ShapeReader) -> Iterator[Link]:
    """What the world has other than its floor, such as a table, as a body without mass on a fixed joint."""
    looks = shapes.shapes_of(0)
    if looks:
        body = Body(compiled.new_body(SCENE), shapes=looks)
        yield Link(body, Joint.of_kind(compiled.new_joint(f"{body.name}_weld"), "fixed"))


def _links(compiled: CompiledModel, b: int, body: Body, joints: list[Joint]) -> Iterator[Link]:
    """The joints of a body in sequence, empty bodies between them, then the body in MuJoCo's body frame."""
    m = compiled.m
    parent = compiled.bodies[m.body_parentid[b]]
    place = placement_from(m.body_pos[b], m.body_quat[b], f"body '{body.name}'")
    last = int(m.body_jntadr[b] + m.body_jntnum[b]) - 1
    for j in range(last + 1 - int(m.body_jntnum[b]), last + 1):
        anchor = _anchor(compiled, j)
        before = place @ Placement.at(anchor) @ _back_to_zero(compiled, j)
        place = Placement.at(-anchor)
        if j == last and place.is_identity:
            yield Link(body, joints[j], parent, before)
            return
        frame = Body(compiled.new_body(f"{compiled.joints[j]}_frame"))
        yield Link(frame, joints[j], parent, before)
        parent = frame.name
    yield Link(body, Joint.of_kind(compiled.new_joint(f"{body.name}_weld"), "fixed"), parent, place)


def _anchor(compiled: CompiledModel, j: int) -> Array:
    """The point of the body (m) about which a joint turns, nearest to the origin; a slide needs none."""
    kind = compiled.joint_type(j)
    axis = compiled.m.jnt_axis[j]
    position = vector(compiled.m.jnt_pos[j], 3, f"joint '{compiled.joints[j]}': pos", ModelError)
    if kind in ("slide", "free"):
        return np.zeros(3)
    if kind == "hinge":
        position = position - (position @ axis) * axis
    return position if np.abs(position).max() > ON_AXIS else np.zeros(3)


def _back_to_zero(compiled: CompiledModel, j: int) -> Placement:
    """The motion of a joint from its reference position q0, in which the file describes it, to q = 0."""
    m = compiled.m
    if not compiled.is_scalar(j):
        return Placement()
    axis = m.jnt_axis[j]
    reference = number(m.qpos0[m.jnt_qposadr[j]], f"joint '{compiled.joints[j]}': ref", ModelError)
    if reference == 0.0:
        return Placement()
    if compiled.joint_type(j) == "slide":
        return Placement.at(-reference * axis)
    return Placement.at(rotation=rotation_about(axis, -reference))


def _joint(
    compiled: CompiledModel, j: int, drive: ActuatedJoint, mimic: Mimic | None, rope: OneJoint
) -> Joint:
    """The joint of the same kind; a ball or free joint has Euler angles."""
    _note_joint_left_out(compiled, j)
    name, kind = compiled.joints[j], KINDS[compiled.joint_type(j)]
    if not compiled.is_scalar(j):
        return Joint.of_kind(name, kind, driven=drive.driven, **_translations(compiled, j))
    axis, parameters = compiled.m.jnt_axis[j], rope.on(_parameters(compiled, j, drive))
    return Joint.of_kind(name, kind, axis=axis, mimic=mimic, driven=drive.driven, **parameters)


def _translations(compiled: CompiledModel, j: int) -> dict[str, Any]:
    """Armature, damping and friction of the translations of a free joint."""
    if compiled.joint_type(j) != "free":
        return {}
    m, v = compiled.m, int(compiled.m.jnt_dofadr[j])
    works = {
        "armature": (m.dof_armature, True),
        "viscous": (m.dof_damping, compiled.works("DAMPER", "PASSIVE")),
        "coulomb": (m.dof_frictionloss, compiled.works("FRICTIONLOSS", "CONSTRAINT")),
    }
    return {
        key: [*values[v : v + 3].tolist(), 0.0, 0.0, 0.0]
        for key, (values, does) in works.items()
        if does and values[v : v + 3].any()
    }


def _rotor(compiled: CompiledModel, b: int) -> float:
    """Armature of the rotation of a body on a free or ball joint that the world carries (kg m^2).

    It resists angular acceleration relative to the world alike about all axes: an isotropic inertia.
    """
    return sum(
        float(compiled.m.dof_armature[int(compiled.m.jnt_dofadr[j]) + 3 * (compiled.joint_type(j) == "free")])
        for j in _turning_joints(compiled, b)
    )


def _rotors(compiled: CompiledModel, joints: list[Joint]) -> Iterator[Link]:
    """Armature of ball joints on moving bodies: a massless sphere on the world that rotates as they do.

    Its angular velocity is that of the joint relative to the body before it, whatever that one does.
    """
    m = compiled.m
    for j, joint in enumerate(joints):
        armature = 0.0 if compiled.is_scalar(j) else float(m.dof_armature[_first_turn(compiled, j)])
        if not armature or j in _turning_joints(compiled, int(m.jnt_bodyid[j])):
            continue
        parent = WORLD
        for k in range(3):
            name = f"{joint.name}_rotor" + ("" if k == 2 else f"_{k + 1}")
            moment = armature * np.eye(3) if k == 2 else np.zeros((3, 3))
            body = Body(compiled.new_body(name), Inertia(0.0, np.zeros(3), moment))
            turn = Joint.of_kind(
                compiled.new_joint(name),
                "revolute",
                axis=joint.axes[k - 3],
                mimic=Mimic(joint.dof_names[k - 3]),
                driven=False,
            )
            yield Link(body, turn, parent)
            parent = body.name


def _turning_joints(compiled: CompiledModel, b: int) -> list[int]:
    """The free or ball joint of a body, if nothing but it is between the body and the world."""
    m = compiled.m
    joints = range(int(m.body_jntadr[b]), int(m.body_jntadr[b] + m.body_jntnum[b]))
    alone = len(joints) == 1 and m.body_weldid[m.body_parentid[b]] == 0
    return [j for j in joints if alone and not compiled.is_scalar(j)]


def _parameters(compiled: CompiledModel, j: int, drive: ActuatedJoint) -> dict[str, Any]:
    """Limits, drive inertia, friction and spring of a hinge or slide."""
    m, v = compiled.m, int(compiled.m.jnt_dofadr[j])
    limited = bool(m.jnt_limited[j]) and compiled.works("LIMIT", "CONSTRAINT")
    lower, upper = m.jnt_range[j] if limited else (-np.inf, np.inf)
    return {
        "lower": float(lower),
        "upper": float(upper),
        "effort_limit": drive.effort_limit,
        "armature": float(m.dof_armature[v]) + drive.armature,
        "viscous": float(m.dof_damping[v]) + drive.viscous if compiled.works("DAMPER", "PASSIVE") else 0.0,
        "coulomb": float(m.dof_frictionloss[v]) if compiled.works("FRICTIONLOSS", "CONSTRAINT") else 0.0,
        "stiffness": float(m.jnt_stiffness[j]) if compiled.works("SPRING", "PASSIVE") else 0.0,
        "rest": float(m.qpos_spring[m.jnt_qposadr[j]]),
    }


def _dampers(compiled: CompiledModel, links: list[Link]) -> Iterator[Spring]:
    """What slows the rotation of free and ball joints down, alike about all axes: between their bodies."""
    numbers = {name: j for j, name in enumerate(compiled.joints)}
    for link in links:
        j = numbers.get(link.joint.name)
        if j is None or compiled.is_scalar(j) or not compiled.works("DAMPER", "PASSIVE"):
            continue
        damping = float(compiled.m.dof_damping[_first_turn(compiled, j)])
        if damping > 0.0:
            name = f"damping of {link.joint.name}"
            yield Spring(name, link.parent, link.body.name, turn_damping=damping)


def _first_turn(compiled: CompiledModel, j: int) -> int:
    """The first rotational degree of freedom of a free or ball joint in MuJoCo."""
    return int(compiled.m.jnt_dofadr[j]) + 3 * (compiled.joint_type(j) == "free")


def _note_joint_left_out(compiled: CompiledModel, j: int) -> None:
    """List what a joint has beyond a linear spring and damper on one degree of freedom."""
    m, v = compiled.m, int(compiled.m.jnt_dofadr[j])
    newer = {
        "nonlinear spring": ("jnt_stiffnesspoly", j),
        "nonlinear damping": ("dof_dampingpoly", v),
        "spring yield": ("jnt_springyield", j),
    }
    lost = [part for part, (array, k) in newer.items() if np.any(newer_value(m, array, k))]
    if not compiled.is_scalar(j):
        free = compiled.joint_type(j) == "free"
        turns = _first_turn(compiled, j)
        arrays = {"friction": m.dof_frictionloss}
        found = [part for part, values in arrays.items() if values[turns : turns + 3].any()]
        lost += [f"rotational {part}" for part in found] if free else found
        lost += ["spring"] if m.jnt_stiffness[j] else []
        lost += ["limit"] if m.jnt_limited[j] else []
    elif m.jnt_limited[j] and is_soft(m.jnt_solref[j]):
        lost.append("softness of the limit by solreflimit")
    if lost:
        name = f"{compiled.joint_type(j)} joint '{compiled.joints[j]}'"
        compiled.left_out.append(f"{', '.join(lost)} of {name}")


def _compensated_by_motors(compiled: CompiledModel) -> set[int]:
    """Bodies whose gravity compensation is part of the torques of the motors (actuatorgravcomp).

    Their weight is a load of these joints. Where only some of the joints that carry a body do so, it counts
    as compensated from outside.
    """
    m = compiled.m
    found, mixed = set[int](), list[int]()
    for b in range(1, m.nbody):
        if not _compensation(compiled, b):
            continue
        by_motors = [bool(newer_value(m, "jnt_actgravcomp", j)) for j in _carrying(compiled, b)]
        if all(by_motors):
            found.add(b)
        elif any(by_motors):
            mixed.append(b)
    for what, bodies in (
        ("controls that compensate gravity (actuatorgravcomp); torques include the weight of", sorted(found)),
        ("part of the motors in gravity compensation (actuatorgravcomp) of", mixed),
    ):
        if bodies:
            compiled.left_out.append(f"{what} {listed((compiled.bodies[b] for b in bodies), 6)}")
    return found


def _carrying(compiled: CompiledModel, b: int) -> list[int]:
    """The joints between the world and a body."""
    m, joints = compiled.m, list[int]()
    while b > 0:
        joints += range(int(m.body_jntadr[b]), int(m.body_jntadr[b] + m.body_jntnum[b]))
        b = int(m.body_parentid[b])
    return joints


def _compensation(compiled: CompiledModel, b: int) -> float:
    """The part of a body's weight that is carried from outside."""
    works = compiled.works("GRAVITY", "PASSIVE")
    return float(compiled.m.body_gravcomp[b]) if works and compiled.m.body_weldid[b] != 0 else 0.0


def _inertia(compiled: CompiledModel, b: int, allow_unphysical: bool) -> Inertia:
    """MuJoCo keeps the principal moments, about the center of mass in axes of their own."""
    m = compiled.m
    what = f"body '{compiled.bodies[b]}'"
    axes = placement_from(m.body_ipos[b], m.body_iquat[b], f"{what}: inertia")
    moment = axes.rotation @ np.diag(m.body_inertia[b]) @ axes.rotation.T
    moment = 0.5 * (moment + moment.T)
    allowed = allow_unphysical and bool(physical_fault(moment))
    try:
        rotor = _rotor(compiled, b)
        moment = moment + rotor * np.eye(3) if rotor else moment
        return Inertia(float(m.body_mass[b]), axes.position, moment, allowed)
    except ModelError as reason:
        raise ModelError(f"{what}: {reason}") from None
