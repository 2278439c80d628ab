"""Building a mechanism in Python, body by body, the way one draws it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypedDict

from numpy.typing import ArrayLike
from typing_extensions import Unpack

from kinetree.algebra.placement import Placement
from kinetree.errors import ModelError, expect, unknown_name
from kinetree.model.actuator import Actuator
from kinetree.model.body import WORLD, Body, Shape
from kinetree.model.contact_point import ContactPoint
from kinetree.model.floor import UP, Floor
from kinetree.model.frame import Frame
from kinetree.model.inertia import Inertia
from kinetree.model.joint import Joint, Mimic
from kinetree.model.loop import Loop
from kinetree.model.marker import Marker
from kinetree.model.mechanism import EARTH, Link, Mechanism
from kinetree.model.muscle import Muscle, Wrap
from kinetree.model.named_state import NamedState, NamedStates
from kinetree.model.spring import Spring
from kinetree.other_names import checks_keywords

PLACE_WORDS = ("origin", "offset", "placement", "pos", "position", "translation", "xyz")  # of other libraries


class JointOptions(TypedDict, total=False):
    """What a joint of a builder may be given: its place in the parent, its axes, and its parameters."""

    at: ArrayLike
    rotation: ArrayLike | None
    rpy: ArrayLike | None
    axis: ArrayLike | str | None
    axes: Sequence[ArrayLike | str] | None
    sequence: str | None
    mimic: Mimic | None
    driven: bool | Sequence[bool] | None
    labels: Sequence[str]
    lower: ArrayLike
    upper: ArrayLike
    velocity_limit: ArrayLike
    effort_limit: ArrayLike
    armature: ArrayLike
    viscous: ArrayLike
    coulomb: ArrayLike
    coulomb_reverse: ArrayLike
    stiffness: ArrayLike
    rest: ArrayLike


class Builder:
    """Collects the parts of a mechanism; :meth:`build` checks them and returns the mechanism.

    Start at ``builder.world``; each joint method of a handle adds a joint, and ``.body`` adds its body.

    >>> import kinetree as kt
    >>> arm = kt.Builder("arm")
    >>> rod = kt.Inertia.rod(2.0, end=(0.4, 0, 0))
    >>> upper = arm.world.revolute("shoulder", axis="y").body("upper", rod)
    >>> fore = upper.revolute("elbow", at=(0.4, 0, 0), axis="y").body("fore", rod)
    >>> arm.build()
    Mechanism('arm', 2 bodies, 2 degrees of freedom)
    """

    def __init__(self, name: str, gravity: ArrayLike = EARTH) -> None:
        self.name = name
        self.gravity = gravity
        self.world = BodyHandle(self, WORLD)
        self._links: list[Link] = []
        self._loops: list[Loop] = []
        self._points: list[ContactPoint] = []
        self._springs: list[Spring] = []
        self._frames: list[Frame] = []
        self._actuators: list[Actuator] = []
        self._states: list[NamedState] = []
        self._floor: Floor | None = None
        self._muscles: list[Muscle] = []
        self._wraps: list[Wrap] = []
        self._markers: list[Marker] = []

    def build(self) -> Mechanism:
        """The finished mechanism."""
        gravity: Any = self.gravity
        links, loops = tuple(self._links), tuple(self._loops)
        return Mechanism(
            self.name,
            links,
            gravity,
            loops,
            tuple(self._points),
            tuple(self._springs),
            tuple(self._frames),
            tuple(self._actuators),
            NamedStates(self._states),
            self._floor,
            tuple(self._muscles),
            tuple(self._wraps),
            tuple(self._markers),
        )

    def actuator(self, actuator: Actuator) -> None:
        """Add a motor or servo, such as ``Actuator.position("servo", "knee", kp=100.0)``."""
        expect(actuator, Actuator, "actuator", "an Actuator, such as Actuator.motor(...)")
        self._actuators.append(actuator)

    def muscle(self, muscle: Muscle) -> None:
        """Add a muscle, whose path names bodies, wraps and joints of the mechanism."""
        expect(muscle, Muscle, "muscle", "a Muscle, such as Muscle(name, path)")
        self._muscles.append(muscle)

    def wrap(self, wrap: Wrap) -> None:
        """Add a surface of a body that muscles wrap around."""
        expect(wrap, Wrap, "wrap", "a Wrap, such as Wrap(name, body, 'cylinder', radii=0.02)")
        self._wraps.append(wrap)

    def marker(self, marker: Marker) -> None:
        """Add a point that motion capture sees."""
        expect(marker, Marker, "marker", "a Marker, such as Marker(name, body, position)")
        self._markers.append(marker)

    def state(self, name: str, q: ArrayLike, qd: ArrayLike = (), control: ArrayLike | None = None) -> None:
        """Name a state: positions (n_dof,), velocities (at rest unless given), controls of the actuators."""
        values: Any = (q, qd, control)
        self._states.append(NamedState(name, *values))

    def floor(
        self, origin: ArrayLike = (0.0, 0.0, 0.0), normal: ArrayLike = UP, friction: float = 1.0
    ) -> None:
        """Say where the floor of the scene is, for :meth:`kinetree.Ground.of`."""
        self._floor = Floor(origin, normal, friction)

    def loop(
        self,
        name: str,
        a: BodyHandle | str,
        b: BodyHandle | str,
        at_a: ArrayLike = (0.0, 0.0, 0.0),
        at_b: ArrayLike = (0.0, 0.0, 0.0),
        kind: str = "revolute",
        rotation_a: ArrayLike | None = None,
        rotation_b: ArrayLike | None = None,
        length: float | None = None,
        **joint: Any,
    ) -> None:
        """Close a loop with a cut joint between point ``at_a`` of body a and point ``at_b`` of body b.

        ``kind`` is any joint kind but free, or "point_on_line"; ``length`` (m) of a spherical one makes it a
        rod.
        """
        place_a = Placement.at(at_a, rotation_a, what=f"loop '{name}', body a", error=ModelError)
        place_b = Placement.at(at_b, rotation_b, what=f"loop '{name}', body b", error=ModelError)
        cut = Joint.of_kind(name, kind, cut=True, **joint)
        self._loops.append(Loop(cut, _name(a), _name(b), place_a, place_b, length))

    @checks_keywords
    def spring(
        self,
        name: str,
        a: BodyHandle | str,
        b: BodyHandle | str,
        at_a: ArrayLike = (0.0, 0.0, 0.0),
        at_b: ArrayLike = (0.0, 0.0, 0.0),
        stiffness: float = 0.0,
        damping: float = 0.0,
        rest: float = 0.0,
        turn_damping: float = 0.0,
    ) -> None:
        """Stretch a spring with a damper from point ``at_a`` of body a to point ``at_b`` of body b.

        It pulls the points together by stiffness (l - rest) + damping dl/dt (N/m, m, N s/m), and slows
        the turning of b as seen from a by turn_damping (N m s/rad).
        """
        point_a: Any = at_a
        point_b: Any = at_b
        found = Spring(name, _name(a), _name(b), point_a, point_b, stiffness, damping, rest, turn_damping)
        self._springs.append(found)


class BodyHandle:
    """A body to which joints and points can be attached while building."""

    def __init__(self, builder: Builder, name: str) -> None:
        self._builder, self.name = builder, name

    def __repr__(self) -> str:
        return f"{type(self).__name__}('{self.name}')"

    def joint(self, name: str, kind: str, **options: Unpack[JointOptions]) -> JointHandle:
        """Attach a joint of any kind, placed ``at`` a point of this body; see :meth:`Joint.of_kind`.

        ``rotation`` (3, 3) or ``rpy`` (3,) rotate the frame of the joint with respect to this body.
        """
        _check_options(name, options)
        joint: dict[str, Any] = dict(options)
        at, rotation, rpy = (
            joint.pop("at", (0.0, 0.0, 0.0)),
            joint.pop("rotation", None),
            joint.pop("rpy", None),
        )
        place = Placement.at(at, rotation, rpy, what=f"joint '{name}'", error=ModelError)
        return JointHandle(self._builder, self.name, Joint.of_kind(name, kind, **joint), place)

    def fixed(self, name: str, **options: Unpack[JointOptions]) -> JointHandle:
        """Attach a weld ``at`` a point of this body."""
        return self.joint(name, "fixed", **options)

    def revolute(self, name: str, **options: Unpack[JointOptions]) -> JointHandle:
        """Attach a hinge ``at`` a point of this body: ``axis`` (default z), limits, friction, spring."""
        return self.joint(name, "revolute", **options)

    def prismatic(self, name: str, **options: Unpack[JointOptions]) -> JointHandle:
        """Attach a slider ``at`` a point of this body: ``axis`` (default z), limits, friction, spring."""
        return self.joint(name, "prismatic", **options)

    def cylindrical(self, name: str, **options: Unpack[JointOptions]) -> JointHandle:
        """Attach a cylindrical joint: turns about and slides along ``axis`` (default z)."""
        return self.joint(name, "cylindrical", **options)

    def universal(self, name: str, **options: Unpack[JointOptions]) -> JointHandle:
        """Attach a universal joint: ``sequence`` of two letters (default XY)."""
        return self.joint(name, "universal", **options)

    def spherical(self, name: str, **options: Unpack[JointOptions]) -> JointHandle:
        """Attach a spherical joint: Euler ``sequence`` of three letters (default YXZ)."""
        return self.joint(name, "spherical", **options)

    def planar(self, name: str, **options: Unpack[JointOptions]) -> JointHandle:
        """Attach a planar joint: slides along x and y, then rotates about z; ``axis`` "y": x, z, then y."""
        return self.joint(name, "planar", **options)

    def free(self, name: str, **options: Unpack[JointOptions]) -> JointHandle:
        """Attach a free joint: translations x, y, z, then Euler angles in ``sequence`` (default YXZ)."""
        return self.joint(name, "free", **options)

    def contact(
        self,
        name: str,
        at: ArrayLike = (0.0, 0.0, 0.0),
        radius: float = 0.0,
        half_axes: ArrayLike | None = None,
        friction: float | None = None,
    ) -> BodyHandle:
        """Mark a point of this body that may touch the ground, or a sphere or ellipsoid around it."""
        given: Any = (at, radius, half_axes, friction)
        self._builder._points.append(ContactPoint(name, self.name, *given))
        return self

    def frame(
        self,
        name: str,
        at: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike | None = None,
        rpy: ArrayLike | None = None,
    ) -> BodyHandle:
        """Name a frame of this body, such as a tool's."""
        place = Placement.at(at, rotation, rpy, what=f"frame '{name}'", error=ModelError)
        self._builder._frames.append(Frame(name, self.name, place))
        return self


class JointHandle:
    """A joint to which its body can be added."""

    def __init__(self, builder: Builder, parent: str, joint: Joint, placement: Placement) -> None:
        self._builder, self._parent, self._joint, self._placement = builder, parent, joint, placement

    def __repr__(self) -> str:
        return f"{type(self).__name__}('{self._joint.name}')"

    def body(self, name: str, inertia: Inertia | None = None, shapes: Iterable[Shape] = ()) -> BodyHandle:
        """Add the body that the joint carries; its frame is the joint frame after the joint has moved."""
        body = Body(name, Inertia() if inertia is None else inertia, tuple(shapes))
        self._builder._links.append(Link(body, self._joint, self._parent, self._placement))
        return BodyHandle(self._builder, name)


def _name(body: BodyHandle | str) -> str:
    return body.name if isinstance(body, BodyHandle) else body


def _check_options(name: str, options: JointOptions) -> None:
    """Refuse names that no joint has; the error leads from other libraries' words for its place to ours."""
    for key in options:
        if key in PLACE_WORDS:
            raise ModelError(f"joint '{name}': its place in the parent body is at=(x, y, z), not {key}=")
        if key not in JointOptions.__annotations__:
            known = tuple(JointOptions.__annotations__)
            raise ModelError(unknown_name("joint parameter", key, known).after(f"joint '{name}': "))
