"""Writing a mechanism as MJCF, so that the same mechanism runs in MuJoCo.

The joints of a body follow one another in MuJoCo as the axes of a joint do here, so a joint with several
degrees of freedom is written as hinges and slides that are called like them ('hip.ry'); a free joint on the
world is MuJoCo's, with a quaternion. A moving body without mass, which MuJoCo refuses, gives its joint to the
only body that it carries, P1 J1 P2 J2 = (P1 P2) (P2^-1 J1 P2) J2, if nothing else is attached to it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.placement import Placement
from kinetree.algebra.rotation import rotation_to_axis
from kinetree.algebra.three_turns import ThreeTurns
from kinetree.errors import FileError, KinetreeWarning, listed
from kinetree.formats.urdf_writer import ILLEGAL, name_maker
from kinetree.formats.xml_numbers import quaternion_of, spaced, written
from kinetree.model.actuator import UNLIMITED, Actuator
from kinetree.model.body import WORLD, Body, Shape
from kinetree.model.contact_point import ContactPoint
from kinetree.model.floor import Floor
from kinetree.model.height_field import HeightField
from kinetree.model.joint import Joint, friction_differs, mean_friction
from kinetree.model.loop import Loop
from kinetree.model.mechanism import Link, Mechanism
from kinetree.model.spring import Spring

LEAST_MASS = 1e-9  # kg: what moving bodies get that have none
LEAST_MOMENT = 1e-12  # kg m^2: what bodies get that have none; MuJoCo asks for more than 1e-14
NO_LIMIT = 1e9  # rad or m: the other end of a range with one end
ROUNDING = 1e-12  # relative: by how much MuJoCo may round moments
POINT = 1e-6  # m: radius of the sphere that a point is
FRICTION = 0.7  # of the floor that is written for a mechanism that floats, has contact points and no floor
SAME = 1e-12  # m or 1: corners that are this near to those of a box are its corners
BOX = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)
SHAPES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}
VISUAL = {"contype": "0", "conaffinity": "0", "group": "2", "mass": "0"}


def mjcf_text(mechanism: Mechanism) -> str:
    """The mechanism as the text of an MJCF file.

    With contact points (as geoms that touch the floor alone; those of a box or a capsule as one), the floor
    (level ground at the world's origin for a mechanism that floats and has contact points, but no floor),
    frames (sites), actuators, named states (keyframes), springs (tendons), mimics and loops of spherical,
    fixed and revolute cut joints (equalities). What MJCF cannot hold is left out with a warning that names
    it.
    """
    text = _Writer(mechanism).text()
    illegal = ILLEGAL.search(text)
    if illegal:
        raise FileError(
            f"mechanism '{mechanism.name}' uses the character {illegal[0]!r}, which XML cannot hold"
        )
    return text


@dataclass
class _Held:
    """A joint that waits for a body with mass: its axes, and where its frame is seen from that body's."""

    joint: Joint
    back: Placement = field(default_factory=Placement)


class _Writer:
    """The growing document and what could not be written."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.lost: dict[str, list[str]] = {}
        self.order: list[Joint] = []  # joints as MuJoCo numbers them
        self.places = {link.joint.name: link for link in mechanism.links}
        self.children: dict[str, list[Link]] = {}
        for link in mechanism.links:
            self.children.setdefault(link.parent, []).append(link)
        self.named = _attached(mechanism)
        self.new_site = name_maker(frame.name for frame in mechanism.frames)
        self.new_tendon = name_maker(spring.name for spring in mechanism.springs)
        self.tendons = [link for link in self.children.get(WORLD, []) if self._is_tendon(link)]
        self.sites: dict[str, list[tuple[str, Placement]]] = {}
        self.root = Element("mujoco", model=mechanism.name)

    def text(self) -> str:
        """The whole file."""
        mechanism, root = self.mechanism, self.root
        SubElement(root, "compiler", angle="radian", autolimits="true", inertiafromgeom="false")
        SubElement(root, "option", gravity=spaced(mechanism.gravity))
        for frame in mechanism.frames:
            self.sites.setdefault(frame.body, []).append((frame.name, frame.placement))
        equality, tendon = Element("equality"), Element("tendon")
        self._equalities(equality, tendon)
        self._springs(tendon)
        for link in self.tendons:
            self._tendon(tendon, link.joint)
        actuator = Element("actuator")
        self._actuators(actuator, tendon)
        world = SubElement(root, "worldbody")
        floor = _floor_of(mechanism)
        if floor is not None:
            self._floor(world, floor)
        self._fill(world, Body("scene"), WORLD)
        for link in self.children.get(WORLD, []):
            if link not in self.tendons:
                self._body(world, link, Placement(), [])
        root.extend(part for part in (tendon, equality, actuator) if len(part))
        self._keyframes()
        self._warn()
        indent(root)
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'

    def _lose(self, what: str, name: str) -> None:
        self.lost.setdefault(what, []).append(name)

    def _warn(self) -> None:
        fast = [x.joint.name for x in self.mechanism.links if np.isfinite(x.joint.velocity_limit).any()]
        if fast:
            self.lost["velocity limits of joints"] = fast
        if self.mechanism.markers:
            self.lost["markers"] = [marker.name for marker in self.mechanism.markers]
        if self.lost:
            lines = "\n".join(f"  - {what} ({listed(names, 6)})" for what, names in self.lost.items())
            warnings.warn(
                f"MJCF cannot represent all of mechanism '{self.mechanism.name}'; left out or "
                f"changed:\n{lines}",
                KinetreeWarning,
                stacklevel=5,
            )

    # ---- bodies ------------------------------------------------------------------------------------------

    def _body(self, parent: Element, link: Link, before: Placement, held: Sequence[_Held]) -> None:
        """A body inside its parent's element; joints of bodies without mass before it come first."""
        place, waiting = before @ link.placement, [*held]
        for one in waiting:
            one.back = one.back @ link.placement
        if link.joint.n_dof:
            waiting.append(_Held(link.joint))
        below = self.children.get(link.body.name, [])
        if self._passes_on(link, below):
            self._body(parent, below[0], place, waiting)
            return
        element = SubElement(parent, "body", name=link.body.name)
        if not place.is_identity:
            element.set("pos", spaced(place.position))
            if place.is_turned:
                element.set("quat", spaced(quaternion_of(place.rotation)))
        if link.body.gravity_compensation:
            element.set("gravcomp", written(link.body.gravity_compensation))
        for one in waiting:
            self._joint(element, one, link)
        self._inertia(element, link)
        self._fill(element, link.body, link.body.name)
        for child in below:
            self._body(element, child, Placement(), [])

    def _passes_on(self, link: Link, below: Sequence[Link]) -> bool:
        """Whether an empty moving body can give its joint to the only body that it carries."""
        empty = link.body.inertia.is_zero and not link.body.shapes and link.body.name not in self.named
        return bool(
            link.joint.n_dof
            and empty
            and len(below) == 1
            and not link.joint.is_free
            and not below[0].joint.is_free
        )

    def _joint(self, element: Element, held: _Held, link: Link) -> None:
        """The axes of a joint as hinges and slides, seen from the frame of the body that has them now."""
        joint, seen = held.joint, held.back.inverse
        self.order.append(joint)
        if _is_free(joint, link):
            attributes = {"name": joint.name, "type": "free"}
            if self._rotor(link):
                attributes["armature"] = written(joint.armature[0])
            elif joint.armature.any():
                self._lose("armature of free joints", joint.name)
            if self._damper(link) is not None:
                attributes["damping"] = written(joint.viscous[0])
            elif joint.viscous.any():
                self._lose("damping of free joints", joint.name)
            if joint.coulomb.any() or joint.coulomb_reverse.any():
                self._lose("friction of free joints", joint.name)
            SubElement(element, "joint", attributes)
            return
        joint = self._even(joint)
        for k, name in enumerate(joint.dof_names):
            turn = joint.turns[k]
            attributes = {"name": name, "type": "hinge" if turn else "slide"}
            attributes["axis"] = spaced(seen.rotation @ joint.axes[k])
            if turn and seen.position.any():
                attributes["pos"] = spaced(seen.position)
            if np.isfinite([joint.lower[k], joint.upper[k]]).any():
                ends = np.clip([joint.lower[k], joint.upper[k]], -NO_LIMIT, NO_LIMIT)
                attributes["range"] = spaced(ends)
            if np.isfinite(joint.effort_limit[k]):
                attributes["actuatorfrcrange"] = spaced([-joint.effort_limit[k], joint.effort_limit[k]])
            for key, attribute in (
                ("armature", "armature"),
                ("viscous", "damping"),
                ("coulomb", "frictionloss"),
                ("stiffness", "stiffness"),
                ("rest", "springref"),
            ):
                if getattr(joint, key)[k]:
                    attributes[attribute] = written(getattr(joint, key)[k])
            SubElement(element, "joint", attributes)

    def _even(self, joint: Joint) -> Joint:
        """The joint with the same friction in both directions, as MuJoCo has it."""
        if not friction_differs(joint):
            return joint
        self._lose("direction-dependent friction, written as its mean", joint.name)
        return replace(joint, coulomb=mean_friction(joint))

    def _inertia(self, element: Element, link: Link) -> None:
        """Mass and moments; a body that moves has at least the least that MuJoCo accepts."""
        inertia = link.body.inertia
        if inertia.is_zero:
            if link.joint.n_dof and not self._is_heavy(link):
                self._lose(f"bodies without mass, which get {LEAST_MASS:g} kg", link.body.name)
                small = spaced([1e-3 * LEAST_MASS] * 3)
                SubElement(element, "inertial", pos="0 0 0", mass=written(LEAST_MASS), diaginertia=small)
            return
        moment, change = _acceptable(inertia.moment - self._rotor(link) * np.eye(3))
        if change:
            self._lose(
                "inertias that MuJoCo refuses, moments increased", f"{link.body.name} by {change:.2g} kg m^2"
            )
        full = [*np.diag(moment), moment[0, 1], moment[0, 2], moment[1, 2]]
        attributes = {"pos": spaced(inertia.center), "mass": written(max(inertia.mass, LEAST_MASS))}
        SubElement(element, "inertial", {**attributes, "fullinertia": spaced(full)})

    def _rotor(self, link: Link) -> float:
        """Armature of a free joint's translations that its rotations can have, too: part of the inertia."""
        armature, moment = link.joint.armature, link.body.inertia.moment
        if not (_is_free(link.joint, link) and armature[:3].any()):
            return 0.0
        a = float(armature[0])
        rest = moment - a * np.eye(3)
        alike = bool((armature[:3] == a).all() and not armature[3:].any())
        return a if alike and np.linalg.eigvalsh(rest)[0] > 0.0 and not _acceptable(rest)[1] else 0.0

    def _damper(self, link: Link) -> Spring | None:
        """The damper of turning that slows a free joint down as its translations are: one damping in MJCF."""
        viscous = link.joint.viscous
        if not _is_free(link.joint, link) or viscous[3:].any() or np.ptp(viscous[:3]) > 0.0:
            return None
        for spring in self.mechanism.springs:
            ends = {spring.body_a, spring.body_b} == {link.parent, link.body.name}
            if ends and spring.turn_damping == viscous[0] and not (spring.stiffness or spring.damping):
                return spring
        return None

    def _is_heavy(self, link: Link) -> bool:
        """Whether a body, or one that is welded to it, has mass."""
        welded = [x for x in self.children.get(link.body.name, []) if not x.joint.n_dof]
        return not link.body.inertia.is_zero or any(self._is_heavy(x) for x in welded)

    def _fill(self, element: Element, body: Body, name: str) -> None:
        """What a body looks like, where it touches the ground, its frames."""
        for shape in body.shapes:
            self._shape(element, shape, name)
        points = [point for point in self.mechanism.contact_points if point.body == name]
        taken = {x.name for x in self.mechanism.contact_points} | {"floor"}
        for whole in _wholes(points, taken):
            _contact(element, whole)
        for site, place in self.sites.get(name, []):
            SubElement(element, "site", {"name": site, **_placed(place)})

    def _shape(self, element: Element, shape: Shape, name: str) -> None:
        if shape.kind not in SHAPES:
            self._lose("meshes of bodies", name)
            return
        size = np.array(shape.size, dtype=np.float64)
        if shape.kind == "box":
            size = 0.5 * size
        elif shape.kind in ("capsule", "cylinder"):
            size = np.array([size[0], 0.5 * size[1]])
        if size.min() > 0.0:
            attributes = {"type": shape.kind, "size": spaced(size), **_placed(shape.placement), **VISUAL}
            attributes |= {} if shape.color is None else {"rgba": spaced(shape.color)}
            SubElement(element, "geom", attributes)

    def _floor(self, world: Element, floor: Floor) -> None:
        if floor.terrain is not None:
            attributes = self._terrain(floor, floor.terrain)
        else:
            place = Placement.at(floor.origin, rotation_to_axis(np.asarray(floor.normal)))
            attributes = {"name": "floor", "type": "plane", "size": "0 0 0.05", **_placed(place)}
        attributes |= {"friction": written(floor.friction), "contype": "0", "conaffinity": "1"}
        SubElement(world, "geom", attributes)

    def _terrain(self, floor: Floor, field: HeightField) -> dict[str, str]:
        """A height field as an asset, and the attributes of its geom; MuJoCo has flat triangles between."""
        heights = np.asarray(field.heights, dtype=np.float64)
        low, top = float(heights.min()), max(float(np.ptp(heights)), 1e-6)
        (a, b), (c, d) = field.forward, field.side
        size = [0.5 * (b - a), 0.5 * (d - c), top, 0.1 * top]
        rows = (heights.T - low) / top  # MuJoCo's rows are along y
        self.root.insert(2, asset := Element("asset"))
        SubElement(
            asset, "hfield", name="terrain", nrow=str(rows.shape[0]), ncol=str(rows.shape[1]),
            size=spaced(size), elevation=spaced(rows[::-1].ravel()),
        )  # fmt: skip
        up, ahead, side = floor.frame()
        middle = np.asarray(floor.origin) + 0.5 * (a + b) * ahead + 0.5 * (c + d) * side + low * up
        place = Placement.at(middle, np.column_stack([ahead, side, up]))
        return {"name": "floor", "type": "hfield", "hfield": "terrain", **_placed(place)}

    # ---- what ties and drives ----------------------------------------------------------------------------

    def _site(self, wanted: str, body: str, place: Placement) -> str:
        name = self.new_site(wanted)
        self.sites.setdefault(body, []).append((name, place))
        return name

    def _is_tendon(self, link: Link) -> bool:
        """Whether a body is nothing but a length that follows joints, with a spring, friction or limits."""
        empty = link.body.inertia.is_zero and not link.body.shapes and link.body.name not in self.named
        alone = empty and not self.children.get(link.body.name)
        mimic = link.joint.mimic
        return bool(alone and link.joint.is_slide and mimic and mimic.law is None)

    def _tendon(self, tendon: Element, joint: Joint) -> None:
        """A length that follows joints as a fixed tendon; its constant goes to rest and limits."""
        mimic = joint.mimic
        assert mimic is not None
        joint = self._even(joint)
        rest = float(joint.rest[0]) - mimic.offset
        sign = -1.0 if rest < 0.0 else 1.0  # MuJoCo takes no negative length for one
        attributes = {"springlength": written(sign * rest)} if joint.stiffness[0] else {}
        for key, attribute in (
            ("stiffness", "stiffness"),
            ("viscous", "damping"),
            ("coulomb", "frictionloss"),
            ("armature", "armature"),
        ):
            if getattr(joint, key)[0]:
                attributes[attribute] = written(getattr(joint, key)[0])
        ends = sign * (np.array([joint.lower[0], joint.upper[0]]) - mimic.offset)
        if np.isfinite(ends).any():
            attributes["range"] = spaced(np.clip(np.sort(ends), -NO_LIMIT, NO_LIMIT))
        leaders = [(name, sign * ratio) for name, ratio in mimic.leaders]
        self._fixed(tendon, self.new_tendon(joint.name), leaders, attributes)

    def _fixed(
        self, tendon: Element, name: str, arms: Sequence[tuple[str, float]], attributes: dict[str, str]
    ) -> None:
        element = SubElement(tendon, "fixed", {"name": name, **attributes})
        for dof, arm in arms:
            SubElement(element, "joint", joint=dof, coef=written(arm))

    def _equalities(self, equality: Element, tendon: Element) -> None:
        for link in self.mechanism.links:
            mimic = link.joint.mimic
            if mimic is not None and mimic.others and link not in self.tendons:
                name = self.new_tendon(f"{link.joint.name}_follows")
                arms = [(link.joint.name, 1.0), *((x, -ratio) for x, ratio in mimic.leaders)]
                self._fixed(tendon, name, arms, {})
                constant = spaced([mimic.offset, 0.0, 0.0, 0.0, 0.0])
                SubElement(equality, "tendon", tendon1=name, polycoef=constant)
            elif mimic is not None and link not in self.tendons:
                terms = mimic.coefficients
                if mimic.function is not None:
                    terms = (float(mimic.at(0.0)), float(mimic.slope(0.0)))
                    self._lose("functions of mimics, written as tangents at zero", link.joint.name)
                numbers = spaced([*terms, *([0.0] * (5 - len(terms)))])
                names = {"joint1": link.joint.dof_names[0], "joint2": mimic.joint}
                SubElement(equality, "joint", {**names, "polycoef": numbers})
        for loop in self.mechanism.loops:
            if loop.length is None and (loop.joint.is_ball or loop.joint.is_fixed or loop.joint.is_turn):
                self._loop(equality, loop)
            else:
                self._lose("loops of other kinds than spherical, fixed and revolute", loop.name)
            if loop.joint.parameters():
                self._lose("springs, friction and limits of cut joints", loop.name)

    def _loop(self, equality: Element, loop: Loop) -> None:
        """A cut joint: points held together, both frames, or two points of an axis."""
        kind = "weld" if loop.joint.is_fixed else "connect"
        shifts = [np.zeros(3)] + ([0.1 * loop.joint.axes[0]] if loop.joint.is_turn else [])
        for k, shift in enumerate(shifts):
            suffix = "" if k == 0 else "_axis"
            ends = [
                self._site(f"{loop.name}{suffix}_{side}", body, place @ Placement.at(shift))
                for side, body, place in (
                    ("a", loop.body_a, loop.placement_a),
                    ("b", loop.body_b, loop.placement_b),
                )
            ]
            SubElement(equality, kind, name=f"{loop.name}{suffix}", site1=ends[0], site2=ends[1])

    def _springs(self, tendon: Element) -> None:
        written_in_joints = [self._damper(link) for link in self.mechanism.links]
        for spring in self.mechanism.springs:
            if any(spring is one for one in written_in_joints):
                continue
            if spring.turn_damping:
                self._lose("rotational dampers", spring.name)
            if not (spring.stiffness or spring.damping):
                continue
            ends = [
                self._site(f"{spring.name}_{side}", body, Placement.at(point))
                for side, body, point in (
                    ("a", spring.body_a, spring.point_a),
                    ("b", spring.body_b, spring.point_b),
                )
            ]
            element = SubElement(
                tendon,
                "spatial",
                name=spring.name,
                stiffness=written(spring.stiffness),
                damping=written(spring.damping),
                springlength=written(spring.rest),
            )
            for end in ends:
                SubElement(element, "site", site=end)

    def _actuators(self, actuator: Element, tendon: Element) -> None:
        for one in self.mechanism.actuators:
            where = self._transmission(one, tendon)
            if where is not None:
                SubElement(actuator, *_actuator(one, where))

    def _transmission(self, one: Actuator, tendon: Element) -> dict[str, str] | None:
        dofs = [dof for dof, _ in one.gears]
        free = [x.joint for x in self.mechanism.links if _is_free(x.joint, x)]
        if any(dof in joint.dof_names for joint in free for dof in dofs):
            self._lose("actuators of free joints", one.name)
            return None
        if len(one.gears) == 1:
            gear = one.gears[0][1]
            return {"joint": dofs[0], **({} if gear == 1.0 else {"gear": written(gear)})}
        name = self.new_tendon(one.name)
        self._fixed(tendon, name, one.gears, {})
        return {"tendon": name}

    # ---- states ------------------------------------------------------------------------------------------

    def _keyframes(self) -> None:
        if not self.mechanism.states:
            return
        keyframe = SubElement(self.root, "keyframe")
        for state in self.mechanism.states.values():
            parts = [self._own(joint, state.q, state.qd) for joint in self.order]
            attributes = {"name": state.name, "qpos": spaced([x for qpos, _ in parts for x in qpos])}
            if state.qd.any():
                attributes["qvel"] = spaced([x for _, qvel in parts for x in qvel])
            if state.control is not None and "actuators of free joints" not in self.lost:
                attributes["ctrl"] = spaced(state.control)
            SubElement(keyframe, "key", attributes)

    def _own(self, joint: Joint, q: Array, qd: Array) -> tuple[Array, Array]:
        """Positions and velocities of a joint as MuJoCo has them."""
        if joint.mimic is not None:
            k = self.mechanism.joint_index(joint.mimic.joint)
            place, rate = joint.mimic.at(q[k]), joint.mimic.slope(q[k]) * qd[k]
            for name, ratio in joint.mimic.others:
                k = self.mechanism.joint_index(name)
                place, rate = place + ratio * q[k], rate + ratio * qd[k]
            return np.array([place]), np.array([rate])
        places = [self.mechanism.joint_index(name) for name in joint.dof_names]
        own, speed, link = q[places], qd[places], self.places[joint.name]
        if not _is_free(joint, link):
            return own, speed
        place, turns = link.placement, ThreeTurns(joint.axes[3:])
        R = place.rotation @ turns.rotation(own[3:])
        w = place.rotation @ turns.angular_velocity(own[3:], speed[3:])
        p, v = own[:3] @ joint.axes[:3], speed[:3] @ joint.axes[:3]
        position = place.rotation @ p + place.position
        return (
            np.concatenate([position, quaternion_of(R)]),
            np.concatenate([place.rotation @ v, R.T @ w]),
        )


def _attached(mechanism: Mechanism) -> set[str]:
    """Bodies that something is attached to."""
    names = {point.body for point in mechanism.contact_points} | {x.body for x in mechanism.frames}
    names |= {name for loop in mechanism.loops for name in (loop.body_a, loop.body_b)}
    names |= {name for spring in mechanism.springs for name in (spring.body_a, spring.body_b)}
    return names


def _is_free(joint: Joint, link: Link) -> bool:
    """Whether it is a free joint as MuJoCo has it: on the world, and alone."""
    return joint.is_free and link.parent == WORLD and joint is link.joint


def _acceptable(moment: Array) -> tuple[Array, float]:
    """The nearest moments that MuJoCo accepts, and by how much they were raised to be those of a body.

    None is below the least, and the two smaller ones, raised alike, are together as large as the largest.
    """
    values, axes = np.linalg.eigh(moment)
    raised = np.maximum(values, LEAST_MOMENT)
    lacking = raised[2] - raised[0] - raised[1]
    if lacking > -ROUNDING * raised[2]:  # laminae, whose moments add up exactly, are raised by a rounding
        raised[:2] += 0.5 * max(lacking, 0.0) + ROUNDING * raised[2]
    if np.array_equal(raised, values):
        return moment, 0.0
    made: Array = axes @ np.diag(raised) @ axes.T
    change = float(raised[0] - values[0])
    return 0.5 * (made + made.T), change if change > 1e-9 * raised[2] + LEAST_MOMENT else 0.0


def _floor_of(mechanism: Mechanism) -> Floor | None:
    """The floor of the scene; without one, level ground for what can fall onto contact points."""
    floats = any(link.parent == WORLD and link.joint.is_free for link in mechanism.links)
    if mechanism.floor is not None or not mechanism.contact_points or not floats:
        return mechanism.floor
    return Floor(normal=-mechanism.gravity, friction=FRICTION) if mechanism.gravity.any() else None


class _Solid(NamedTuple):
    """What touches the floor as one geom: its name, kind, size as MuJoCo has it, place and friction."""

    name: str
    kind: str
    size: Array
    place: Placement
    friction: float | None


def _wholes(points: Sequence[ContactPoint], taken: set[str]) -> Iterator[_Solid]:
    """The points of a body, but two ends of a capsule and eight corners of a box as what they came from.

    That keeps its name unless it is ``taken`` by another geom.
    """
    k = 0
    while k < len(points):
        found = _box(points[k : k + 8]) or _capsule(points[k : k + 2])
        found = None if found is None or found.name in taken else found
        yield found or _point(points[k])
        k += 1 if found is None else 8 if found.kind == "box" else 2


def _common_name(points: Sequence[ContactPoint], count: int) -> str:
    """The name of a shape whose parts these are, NAME_1 to NAME_count with equal friction; else empty."""
    name = points[0].name.removesuffix("_1")
    parts = [f"{name}_{k}" for k in range(1, count + 1)]
    alike = all(point.friction == points[0].friction for point in points)
    return name if alike and [point.name for point in points] == parts else ""


def _box(points: Sequence[ContactPoint]) -> _Solid | None:
    name = _common_name(points, 8)
    if not name or any(point.is_round for point in points):
        return None
    corners = np.array([point.position for point in points])
    edges = corners[[4, 2, 1]] - corners[0]  # along x, y, z: the last changes first
    size = np.linalg.norm(edges, axis=1)
    if not size.min() > 0.0:
        return None
    R, middle = (edges / size[:, None]).T, corners.mean(axis=0)
    made = middle + 0.5 * (size * BOX) @ R.T
    if np.linalg.det(R) < 0.0 or max(np.abs(made - corners).max(), np.abs(R.T @ R - np.eye(3)).max()) > SAME:
        return None
    return _Solid(name, "box", 0.5 * size, Placement(R, middle), points[0].friction)


def _capsule(points: Sequence[ContactPoint]) -> _Solid | None:
    name = _common_name(points, 2)
    if not name or not points[0].radius or points[0].radius != points[1].radius:
        return None
    low, high = (point.position for point in points)
    half = 0.5 * float(np.linalg.norm(high - low))
    if not half > 0.0:
        return None
    place = Placement.at(0.5 * (low + high), rotation_to_axis((high - low) / (2.0 * half)))
    return _Solid(name, "capsule", np.array([points[0].radius, half]), place, points[0].friction)


def _point(point: ContactPoint) -> _Solid:
    """A sphere or an ellipsoid."""
    if point.radius or not point.is_round:
        place, size = Placement(position=point.position), np.array([point.radius or POINT])
        return _Solid(point.name, "sphere", size, place, point.friction)
    lengths = np.linalg.norm(point.extent, axis=1)
    axes = (point.extent / lengths[:, None]).T
    axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
    return _Solid(point.name, "ellipsoid", lengths, Placement(axes, point.position), point.friction)


def _contact(element: Element, whole: _Solid) -> None:
    """A geom that touches the floor alone."""
    friction = whole.friction
    own = {"friction": "0"} if friction is None else {"friction": written(friction), "priority": "1"}
    shape = {"name": whole.name, "type": whole.kind, "size": spaced(whole.size), **_placed(whole.place)}
    touches = {"contype": "1", "conaffinity": "0", "group": "3", "mass": "0"}
    SubElement(element, "geom", {**shape, **own, **touches})


def _actuator(one: Actuator, where: dict[str, str]) -> tuple[str, dict[str, str]]:
    """The element of an actuator: its tag and attributes."""
    attributes = {"name": one.name, **where}
    kind = one.kind
    if kind == "position":
        attributes |= {"kp": written(one.kp), **({"kv": written(one.kv)} if one.kv else {})}
    elif kind == "velocity":
        attributes["kv"] = written(one.kv)
    elif kind != "motor" or one.gain != 1.0:
        kind = "general"
        attributes |= {"gainprm": written(one.gain), "biastype": "affine"}
        attributes["biasprm"] = spaced([one.bias, 0.0 - one.kp, 0.0 - one.kv])
    for key, name in (("force_range", "forcerange"), ("control_range", "ctrlrange")):
        if getattr(one, key) != UNLIMITED:
            attributes[name] = spaced(np.clip(getattr(one, key), -NO_LIMIT, NO_LIMIT))
    return kind, attributes


def _placed(place: Placement) -> dict[str, str]:
    found = {"pos": spaced(place.position)} if place.position.any() else {}
    if place.is_turned:
        found["quat"] = spaced(quaternion_of(place.rotation))
    return found
