"""A mechanism: bodies carried by joints, loops, springs, contact points, frames, actuators; frozen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, frozen, vector
from kinetree.algebra.placement import Placement
from kinetree.doors import upstairs
from kinetree.errors import InputError, ModelError, counted, listed, must_be, unknown_name
from kinetree.model.actuator import Actuator
from kinetree.model.body import WORLD, Body, Shape, checked_name
from kinetree.model.contact_point import ContactPoint
from kinetree.model.faults import faults, further_faults, marker_faults, muscle_faults
from kinetree.model.floor import Floor
from kinetree.model.frame import Frame
from kinetree.model.inertia import Inertia
from kinetree.model.joint import Joint
from kinetree.model.loop import Loop
from kinetree.model.marker import Marker
from kinetree.model.modules import Module, automatic_modules, checked_modules
from kinetree.model.muscle import Muscle, Wrap
from kinetree.model.named_state import NamedStates
from kinetree.model.spring import Spring
from kinetree.model.tree import Flags, Tree, compile_tree

EARTH = (0.0, 0.0, -9.81)
LISTS = ("links", "loops", "contact_points", "springs", "frames", "actuators", "muscles", "wraps", "markers")


@dataclass(frozen=True)
class Link:
    """A body and the joint that carries it.

    ``placement`` is the joint frame in the parent body's frame; the body frame is the joint frame after the
    joint has moved, so both coincide at q = 0.

    >>> import kinetree as kt
    >>> pin = kt.Joint.of_kind("pin", "revolute", axis="y")
    >>> rod = kt.model.Link(kt.Body("rod", kt.Inertia.rod(1.0, end=(0, 0, -1))), pin)
    >>> bob = kt.model.Link(kt.Body("bob", kt.Inertia(0.5)), kt.Joint.of_kind("weld", "fixed"), "rod",
    ...                     kt.Placement.at((0, 0, -1)))
    >>> kt.Mechanism("pendulum", [rod, bob]).mass
    1.5
    """

    body: Body
    joint: Joint
    parent: str = WORLD
    placement: Placement = field(default_factory=Placement)

    @property
    def floats(self) -> bool:
        """Whether it is a floating base: free, on the world."""
        return self.joint.is_free and self.parent == WORLD


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A tree of bodies and joints, with loops, contact points and springs; see :class:`kinetree.Builder`.

    It also has ``frames`` (named frames of bodies), ``actuators``, ``states`` (named poses,
    ``mechanism.states["home"].q``), ``muscles`` with the ``wraps`` that they wrap around, ``markers`` that
    motion capture sees, and the ``floor`` of its scene, if it has one.

    Links may come in any order; they are kept in that order except that parents go before their children.
    ``q`` lists the joints' coordinates in this order. ``gravity`` (3,) is the gravitational acceleration in
    the world (m/s^2).

    >>> import kinetree as kt
    >>> kt.zoo.gripper().joint_names
    ('joint1', 'joint2', 'joint3', 'joint4')
    """

    name: str
    links: tuple[Link, ...]
    gravity: Array = field(default_factory=lambda: frozen(EARTH))
    loops: tuple[Loop, ...] = ()
    contact_points: tuple[ContactPoint, ...] = ()
    springs: tuple[Spring, ...] = ()
    frames: tuple[Frame, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    states: NamedStates = field(default_factory=NamedStates)
    floor: Floor | None = None
    muscles: tuple[Muscle, ...] = ()
    wraps: tuple[Wrap, ...] = ()
    markers: tuple[Marker, ...] = ()

    def __post_init__(self) -> None:
        checked_name(self.name, "a mechanism")
        object.__setattr__(self, "gravity", vector(self.gravity, 3, "gravity", ModelError))
        for part in LISTS:
            given = getattr(self, part)
            if not isinstance(given, Iterable):
                raise ModelError(must_be(f"{part} of a mechanism", "a list", given))
            object.__setattr__(self, part, tuple(given))
        states = self.states.values() if isinstance(self.states, Mapping) else self.states
        object.__setattr__(self, "states", NamedStates(states))
        object.__setattr__(self, "contact_points", on_bodies(self.contact_points, self.frames))
        for fault in faults(self.name, self.links, self.loops, self.contact_points, self.springs):
            raise ModelError(fault)
        for fault in further_faults(self.links, self.frames, self.actuators, tuple(states), self.floor):
            raise ModelError(fault)
        for fault in muscle_faults(self.links, self.muscles, self.wraps):
            raise ModelError(fault)
        for fault in marker_faults(self.links, self.markers):
            raise ModelError(fault)
        object.__setattr__(self, "links", _parents_first(self.links))

    @cached_property
    def body_names(self) -> tuple[str, ...]:
        """Names of the bodies, in order."""
        return tuple(link.body.name for link in self.links)

    @property
    def n_bodies(self) -> int:
        """Number of bodies."""
        return len(self.links)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """One name per degree of freedom, in the order of q."""
        return tuple(n for x in self.links if x.joint.mimic is None for n in x.joint.dof_names)

    @property
    def n_dof(self) -> int:
        """Number of degrees of freedom: the length of q."""
        return len(self.joint_names)

    if not TYPE_CHECKING:  # a type checker knows by itself which attributes there are

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):
                raise AttributeError(name)
            names = [x for x in dir(type(self)) if not x.startswith("_")]
            stated = unknown_name("attribute of a Mechanism", name, names)
            raise AttributeError(
                f"{stated} Quantities of a mechanism are functions of the package, such as "
                "kinetree.inverse_dynamics(mechanism, q, qd, qdd)."
            )

    @cached_property
    def tree(self) -> Tree:
        """The frozen arrays that algorithms read; compiled once."""
        return compile_tree(self)

    @cached_property
    def jointed_tree(self) -> Tree:
        """The tree with an axis for every body, those of fixed joints locked; for reactions."""
        welded = any(link.joint.n_dof == 0 for link in self.links)
        return compile_tree(self, welds_as_axes=True) if welded else self.tree

    @cached_property
    def driven(self) -> Flags:
        """For each degree of freedom, in the order of q, whether it has a drive, (n_dof,)."""
        flags = [x.joint.driven or (True,) * x.joint.n_dof for x in self.links if x.joint.mimic is None]
        return np.array([flag for some in flags for flag in some], dtype=bool)

    @cached_property
    def actuated(self) -> Flags:
        """Whether joints have drives; coordinates of a floating base have none, (n_dof,).

        >>> import kinetree as kt
        >>> int(kt.zoo.quadruped().actuated.sum())
        12
        """
        links = [link for link in self.links if link.joint.mimic is None]
        carried = np.array([not link.floats for link in links for _ in link.joint.dof_names], dtype=bool)
        actuated: Flags = carried & self.driven
        return actuated

    @cached_property
    def lower(self) -> Array:
        """The least position of each degree of freedom, (n_dof,) (rad, m); -inf where there is no limit.

        >>> import kinetree as kt
        >>> arm = kt.Builder("arm")
        >>> _ = arm.world.revolute("j", lower=-1.0, effort_limit=20.0).body("rod", kt.Inertia.point(1.0))
        >>> arm = arm.build()
        >>> arm.lower.tolist(), arm.upper.tolist(), arm.effort_limit.tolist(), arm.velocity_limit.tolist()
        ([-1.0], [inf], [20.0], [inf])
        """
        return self._of_freedoms(self.tree.lower)

    @cached_property
    def upper(self) -> Array:
        """The greatest position of each degree of freedom, (n_dof,) (rad, m); inf where there is no limit."""
        return self._of_freedoms(self.tree.upper)

    @cached_property
    def velocity_limit(self) -> Array:
        """The greatest speed of each degree of freedom, (n_dof,) (rad/s, m/s); inf where there is none."""
        return self._of_freedoms(self.tree.velocity_limit)

    @cached_property
    def effort_limit(self) -> Array:
        """The greatest torque or force of each drive, (n_dof,) (N m, N); inf where there is no limit."""
        return self._of_freedoms(self.tree.effort_limit)

    def _of_freedoms(self, values: Array) -> Array:
        """Values of the axes, (n_axes,), at those that are degrees of freedom, in the order of q."""
        if self.tree.coupling is None:
            return values
        number = {name: k for k, name in enumerate(self.tree.axis_names)}
        return frozen(values[[number[name] for name in self.joint_names]])

    @property
    def mass(self) -> float:
        """Total mass (kg)."""
        return float(sum(link.body.inertia.mass for link in self.links))

    @cached_property
    def modules(self) -> tuple[Module, ...]:
        """Partition into serial modules, found automatically ([Shah2013], section 4.1)."""
        return automatic_modules(self)

    def partition(self, groups: Sequence[Sequence[str]]) -> tuple[Module, ...]:
        """The user's own partition into modules (lists of body names), checked ([Shah2013], section 4.1)."""
        return checked_modules(self, groups)

    def body_index(self, name: str) -> int:
        """Position of a body in ``body_names``."""
        return _index(self._body_positions, "body", name)

    def place_of(self, name: str) -> tuple[str, Placement]:
        """The body that a name stands for and the place in it: a body and its origin, or those of a frame.

        >>> import kinetree as kt
        >>> kt.zoo.gripper().place_of("link3")
        ('link3', Placement(position=[0.0, 0.0, 0.0]))
        """
        if isinstance(name, str) and name in self._body_positions:
            return name, Placement()
        if not isinstance(name, str) or name not in self._frames_by_name:
            raise InputError(unknown_name("body", name, [*self._body_positions, *self._frames_by_name]))
        frame = self._frames_by_name[name]
        return frame.body, frame.placement

    @cached_property
    def _frames_by_name(self) -> dict[str, Frame]:
        return {frame.name: frame for frame in self.frames}

    def joint_index(self, name: str) -> int:
        """Position of a degree of freedom in ``joint_names`` and so in q."""
        return _index(self._joint_positions, "joint", name)

    @cached_property
    def _body_positions(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.body_names)}

    @cached_property
    def _joint_positions(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.joint_names)}

    def link(self, body: str) -> Link:
        """The link of a body."""
        return self.links[self.body_index(body)]

    def with_gravity(self, gravity: ArrayLike) -> Mechanism:
        """The mechanism under another gravity (m/s^2)."""
        return replace(self, gravity=vector(gravity, 3, "gravity", ModelError))

    def opened(self) -> Mechanism:
        """The mechanism without its loops: the open tree, whose cut joints transmit nothing.

        Dynamics of a mechanism with loops takes these as closed; this asks for its tree on purpose. A
        mechanism without loops is its own open tree.

        >>> import kinetree as kt
        >>> linkage, still = kt.zoo.four_bar(), [0, 0, 0]
        >>> linkage.opened().loops, linkage.opened().joint_names == linkage.joint_names
        ((), True)
        >>> kt.inverse_dynamics(linkage.opened(), still, still, still).shape
        (3,)
        """
        return self._open_tree if self.loops else self

    def rooted_at(
        self,
        body: str,
        point: str | ArrayLike | None = None,
        sequence: str | None = None,
        base: Joint | None = None,
    ) -> Mechanism:
        """The mechanism with another body as its root: a walker on its supporting foot.

        All joints keep their coordinates, names and signs; those between the old root and the new one are
        passed the other way, and the frame of each body on this way goes to the joint that carries it now.
        Inertias, shapes, contact points, limits, springs, friction, drives and loops stay where they are.
        The base joint moves from the old root to the new one, to ``point``, a contact point of the body or
        a position (3,) in its frame (m), with the Euler ``sequence`` given or that it had. A mechanism that
        is held to the world needs ``base``, the joint that holds its new root instead; any mechanism may
        have one. :func:`kinetree.analysis.change_root` converts motions.

        >>> import kinetree as kt
        >>> robot = kt.zoo.spatial_biped()
        >>> standing = robot.rooted_at("foot1", sequence="ZXY")
        >>> standing.body_names[:4], sorted(standing.joint_names[6:]) == sorted(robot.joint_names[6:])
        (('foot1', 'shank1', 'thigh1', 'trunk'), True)
        """
        from kinetree.model.rooted import rooted_at

        return rooted_at(self, body, point, sequence, base)

    def frozen(self, joints: Iterable[str] | Mapping[str, float]) -> Mechanism:
        """The mechanism with some degrees of freedom held: at zero, or where a mapping says (rad, m).

        The name of a joint that has several stands for all of them. Joints all of whose axes are held
        become fixed; bodies stay, and :meth:`fused` makes one of those that do not move in each other.

        >>> import kinetree as kt
        >>> kt.zoo.gripper().frozen({"joint2": 0.5}).joint_names
        ('joint1', 'joint3', 'joint4')
        """
        from kinetree.model.variants import with_held_joints

        return with_held_joints(self, joints)

    def fused(self) -> Mechanism:
        """The mechanism with bodies on fixed joints made one with the bodies that carry them.

        Their inertias, shapes, contact points and loops go to the carrier; bodies fixed to the world stay.

        >>> import kinetree as kt
        >>> kt.zoo.gripper().frozen(["joint3"]).fused().body_names
        ('link1', 'link2', 'link4')
        """
        from kinetree.model.variants import fused

        return fused(self)

    def with_payload(
        self,
        on: str,
        mass: float | Inertia,
        *,
        center: ArrayLike | None = None,
        inertia: ArrayLike | None = None,
        shape: Shape | None = None,
        name: str = "payload",
    ) -> Mechanism:
        """The mechanism with a payload or a tool, welded to the body or named frame ``on``.

        ``mass`` (kg), ``center`` of mass (3,) (m) and rotational ``inertia`` about it (kg m^2; 3 numbers are
        the diagonal) are in the axes of ``on``; without them it is a point mass at its origin. A ``shape``
        is drawn, and gives center and inertia of the homogeneous solid where they are not given; an
        :class:`Inertia` may stand for all three. The payload is a body called ``name`` on a fixed joint:
        coordinates stay as they are, and :func:`kinetree.joint_reactions` has the wrench of its mounting.

        >>> import kinetree as kt
        >>> arm = kt.zoo.kuka_kr5()
        >>> loaded = arm.with_payload("link6", 5.0, center=(0, 0, 0.1), inertia=(0.02, 0.02, 0.01))
        >>> loaded.mass - arm.mass, loaded.joint_names == arm.joint_names
        (5.0, True)
        """
        from kinetree.model.payload import with_payload

        return with_payload(self, on, mass, center=center, inertia=inertia, shape=shape, name=name)

    def with_frame(
        self,
        name: str,
        on: str,
        position: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike | None = None,
        rpy: ArrayLike | None = None,
    ) -> Mechanism:
        """The mechanism with one more named frame, such as the tool point: (3,) in m on a body.

        ``on`` is a body, another frame or the world; ``rotation`` (3, 3) or roll-pitch-yaw angles ``rpy``
        (rad) turn the axes. Whatever takes the name of a body takes that of a frame.

        >>> import kinetree as kt
        >>> arm = kt.zoo.kuka_kr5().with_frame("tool", "link6", (0, 0, 0.2))
        >>> kt.jacobian(arm, [0.1] * 6, "tool").shape
        (6, 6)
        """
        from kinetree.model.payload import with_frame

        return with_frame(self, name, on, position, rotation, rpy)

    @cached_property
    def _open_tree(self) -> Mechanism:
        return replace(self, loops=())

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Mechanism)
            and (self.name, self.links, self.loops, self.contact_points, self.springs)
            == (other.name, other.links, other.loops, other.contact_points, other.springs)
            and (self.frames, self.actuators, self.states, self.floor)
            == (other.frames, other.actuators, other.states, other.floor)
            and (self.muscles, self.wraps, self.markers) == (other.muscles, other.wraps, other.markers)
            and np.array_equal(self.gravity, other.gravity)
        )

    def __hash__(self) -> int:
        return hash((self.name, self.links))

    def __repr__(self) -> str:
        return f"Mechanism('{self.name}', {size_in_words(self)})"

    def _repr_html_(self) -> str:
        return str(upstairs("mechanism_html")(self))


def size_in_words(mechanism: Mechanism) -> str:
    """How many bodies and degrees of freedom there are, as in "1 body, 6 degrees of freedom".

    With closed loops the coordinates are counted, as not all of them are free.
    """
    bodies = counted(mechanism.n_bodies, "body", "bodies")
    if mechanism.loops:
        loops = counted(len(mechanism.loops), "closed loop", "closed loops")
        return f"{bodies}, {counted(mechanism.n_dof, 'coordinate', 'coordinates')} in {loops}"
    return f"{bodies}, {counted(mechanism.n_dof, 'degree of freedom', 'degrees of freedom')}"


def check_open(mechanism: Mechanism, what: str) -> None:
    """Raise if a mechanism has closed loops, which ``what``, the name of a question, would leave open."""
    if mechanism.loops:
        raise InputError(
            f"{closed_loops(mechanism)}; {what} supports open trees only: pass mechanism.opened() for the "
            f"tree without its loops"
        )


def closed_loops(mechanism: Mechanism) -> str:
    """The loops of a mechanism as the beginning of a message."""
    return f"mechanism '{mechanism.name}' has closed loops ({listed(x.name for x in mechanism.loops)})"


def _index(positions: dict[str, int], kind: str, name: str) -> int:
    if not isinstance(name, str) or name not in positions:
        raise InputError(unknown_name(kind, name, positions))
    return positions[name]


def on_bodies(points: Sequence[ContactPoint], frames: Sequence[Frame]) -> tuple[ContactPoint, ...]:
    """Contact points of frames as points of the bodies that carry these."""
    known = {frame.name: frame for frame in frames}
    return tuple(
        point.moved(known[point.body].body, known[point.body].placement) if point.body in known else point
        for point in points
    )


def _parents_first(links: tuple[Link, ...]) -> tuple[Link, ...]:
    """The links, each after its parent, otherwise in the given order."""
    by_body = {link.body.name: link for link in links}
    placed: dict[str, Link] = {}
    for body in by_body:
        path = []  # bodies from this one towards the root
        while body not in placed and body != WORLD:
            path.append(body)
            body = by_body[body].parent
        placed |= {name: by_body[name] for name in reversed(path)}
    return tuple(placed.values())
