"""Linkages with closed loops, of any size; their loops are closed at q = 0.

Planar ones have all axes along z and gravity along -y. One drive for each freedom; the other joints are free.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import atan2, cos, hypot, pi, sin, sqrt

import numpy as np

from kinetree.algebra.arrays import number
from kinetree.errors import InputError, must_be
from kinetree.model.builder import BodyHandle, Builder
from kinetree.model.inertia import Inertia
from kinetree.model.mechanism import Mechanism
from kinetree.model.zoo.arms import DOWN_Y

Point = tuple[float, float]
HOLY_NUMBERS = {  # mm
    "a": 38.0, "b": 41.5, "c": 39.3, "d": 40.1, "e": 55.8, "f": 39.4, "g": 36.7, "h": 65.7, "i": 49.0,
    "j": 50.0, "k": 61.9, "l": 7.8, "m": 15.0,
}  # fmt: skip


class Plane:
    """A planar linkage in the making: bodies are placed by where their points are in the world at q = 0."""

    def __init__(self, name: str) -> None:
        self.build = Builder(name, gravity=DOWN_Y)
        self.ground = self.build.world
        self._frames: dict[str, tuple[Point, float]] = {self.ground.name: ((0.0, 0.0), 0.0)}

    def place(self, body: BodyHandle) -> None:
        """Note a body whose axes are those of the world at q = 0."""
        self._frames[body.name] = ((0.0, 0.0), 0.0)

    def bar(
        self, on: BodyHandle, name: str, mass: float, start: Point, end: Point, driven: bool = False
    ) -> BodyHandle:
        """A slender rod hinged at ``start`` to another body, with its x axis towards ``end``."""
        length, angle = _distance(start, end), atan2(end[1] - start[1], end[0] - start[0])
        return self.body(on, name, start, angle, Inertia.rod(mass, end=(length, 0, 0)), driven)

    def body(
        self,
        on: BodyHandle,
        name: str,
        at: Point,
        angle: float,
        inertia: Inertia,
        driven: bool = False,
        viscous: float = 0.0,
    ) -> BodyHandle:
        """A body hinged at a point to another one; its axes stand at an angle to the world's."""
        _, tilt = self._frames[on.name]
        c, s = cos(angle - tilt), sin(angle - tilt)
        rotation = ((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0))
        joint = on.revolute(
            f"{name}_joint", at=self.local(on, at), rotation=rotation, driven=driven, viscous=viscous
        )
        self._frames[name] = (at, angle)
        return joint.body(name, inertia)

    def local(self, body: BodyHandle, at: Point) -> tuple[float, float, float]:
        """A point of the world at q = 0 in the frame of a body."""
        (x, y), angle = self._frames[body.name]
        dx, dy, c, s = at[0] - x, at[1] - y, cos(angle), sin(angle)
        return (c * dx + s * dy, c * dy - s * dx, 0.0)

    def pin(self, name: str, a: BodyHandle, b: BodyHandle, at: Point) -> None:
        """A hinge that closes a loop."""
        self.build.loop(name, a, b, at_a=self.local(a, at), at_b=self.local(b, at))

    def slot(self, name: str, a: BodyHandle, b: BodyHandle, at: Point) -> None:
        """A pin of b that slides along the x axis of a."""
        self.build.loop(
            name, a, b, kind="point_on_line", axis="x", at_a=self.local(a, at), at_b=self.local(b, at)
        )


def slider_crank(crank: float = 0.1, rod: float = 0.3, offset: float = 0.0) -> Mechanism:
    """Slider-crank: a driven crank of 0.5 kg moves a slider of 1 kg along x through a rod of 1 kg.

    ``offset`` (m) is the height of the guide above the crank's pivot. With ``rod`` = ``crank`` and no offset
    the slider reaches the pivot, where the rod may turn with the crank or not: a singular position.

    >>> import kinetree as kt
    >>> kt.zoo.slider_crank()
    Mechanism('slider_crank', 3 bodies, 3 coordinates in 1 closed loop)
    """
    _positive("slider_crank", crank=crank, rod=rod)
    if not abs(number(offset, "slider_crank: offset")) < rod:
        raise InputError(must_be("slider_crank: the offset", f"less than the rod's {rod:g} m", offset, "g"))
    linkage = Plane("slider_crank")
    end = (crank + sqrt(rod**2 - offset**2), offset)
    arm = linkage.bar(linkage.ground, "crank", 0.5, (0.0, 0.0), (crank, 0.0), driven=True)
    link = linkage.bar(arm, "rod", 1.0, (crank, 0.0), end)
    guide = linkage.ground.prismatic("guide", axis="x", at=(*end, 0.0), driven=False)
    slider = guide.body("slider", Inertia.box(1.0, (0.06, 0.04, 0.04)))
    linkage.build.loop("wrist_pin", link, slider, at_a=(rod, 0, 0))
    return linkage.build.build()


def five_bar(base: float = 0.3, proximal: float = 0.3, distal: float = 0.4) -> Mechanism:
    """Five-bar: two driven arms of 1 kg on the ground carry a common tip by two rods of 0.5 kg.

    At q = 0 the arms stand at 120 and 60 degrees.

    >>> import kinetree as kt
    >>> kt.zoo.five_bar()
    Mechanism('five_bar', 4 bodies, 4 coordinates in 1 closed loop)
    """
    _positive("five_bar", base=base, proximal=proximal, distal=distal)
    linkage = Plane("five_bar")
    left = (proximal * cos(2 * pi / 3), proximal * sin(2 * pi / 3))
    right = (base + proximal * cos(pi / 3), proximal * sin(pi / 3))
    tip = _corner(left, right, distal, distal, "five_bar")
    arm1 = linkage.bar(linkage.ground, "left_arm", 1.0, (0.0, 0.0), left, driven=True)
    arm2 = linkage.bar(linkage.ground, "right_arm", 1.0, (base, 0.0), right, driven=True)
    linkage.pin(
        "tip",
        linkage.bar(arm1, "left_rod", 0.5, left, tip),
        linkage.bar(arm2, "right_rod", 0.5, right, tip),
        tip,
    )
    return linkage.build.build()


def n_four_bar(n: int = 2) -> Mechanism:
    """n four-bars side by side, rods of 1 kg and 1 m, upright at q = 0; problem A02 of the IFToMM library.

    The motion is that of one pendulum, ((n + 1) / 3 + n) theta" = ((n + 1) / 2 + n) g sin theta, with the
    cranks' angle theta from the upright. Where the cranks lie flat the mechanism has n + 1 freedoms.

    >>> import kinetree as kt
    >>> kt.zoo.n_four_bar()
    Mechanism('n_four_bar', 5 bodies, 5 coordinates in 2 closed loops)
    """
    _count("n_four_bar", n)
    linkage = Plane("n_four_bar")
    cranks = [
        linkage.bar(linkage.ground, f"crank{k}", 1.0, (float(k), 0.0), (float(k), 1.0), driven=k == 0)
        for k in range(n + 1)
    ]
    for k in range(n):
        end = (k + 1.0, 1.0)
        linkage.pin(
            f"pin{k + 1}",
            linkage.bar(cranks[k], f"coupler{k + 1}", 1.0, (float(k), 1.0), end),
            cranks[k + 1],
            end,
        )
    return linkage.build.build()


def scissor_lift(n: int = 3, bar: float = 1.0) -> Mechanism:
    """Scissor lift of n stages: crossed bars of 2 kg pinned in their middles, and a platform of 20 kg.

    At q = 0 all bars stand at 45 degrees. The first bar is driven at its fixed foot; its partner slides on
    the ground, and the last stage under the platform.

    >>> import kinetree as kt
    >>> kt.zoo.scissor_lift()
    Mechanism('scissor_lift', 7 bodies, 7 coordinates in 4 closed loops)
    """
    _count("scissor_lift", n)
    _positive("scissor_lift", bar=bar)
    linkage, side = Plane("scissor_lift"), bar / sqrt(2.0)
    carrier: BodyHandle = linkage.ground
    rising = carrier
    for k in range(n):
        low, high = k * side, (k + 1) * side
        below = rising
        rising = linkage.bar(carrier, f"rising{k + 1}", 2.0, (0.0, low), (side, high), driven=k == 0)
        inertia = Inertia.rod(2.0, start=(-bar / 2.0, 0, 0), end=(bar / 2.0, 0, 0))
        middle = (side / 2.0, (low + high) / 2.0)
        carrier = linkage.body(rising, f"falling{k + 1}", middle, 0.75 * pi, inertia)
        if k == 0:
            linkage.slot("ground_slot", linkage.ground, carrier, (side, low))
        else:
            linkage.pin(f"pin{k + 1}", carrier, below, (side, low))
    plate = Inertia.box(20.0, (side, 0.05, side), center=(side / 2.0, 0.0, 0.0))
    platform = linkage.body(carrier, "platform", (0.0, n * side), 0.0, plate)
    linkage.slot("platform_slot", platform, rising, (side, n * side))
    return linkage.build.build()


MOTOR = 1.0  # N m s/rad: by how much the torque of the walker's motor falls with its speed


def jansen_leg(scale: float = 0.01) -> Mechanism:
    """One leg of Jansen's walking linkage: a crank and six links in three loops; 1 kg per meter of bar.

    Lengths (m) are Jansen's thirteen numbers times ``scale``. The crank's pivot is at the origin, the fixed
    joint at (-a, -l); at q = 0 the crank lies along x. The foot is a contact point.

    >>> import kinetree as kt
    >>> kt.zoo.jansen_leg()
    Mechanism('jansen_leg', 7 bodies, 7 coordinates in 3 closed loops)
    """
    _positive("jansen_leg", scale=scale)
    linkage = Plane("jansen_leg")
    s = _holy(scale)
    crank = linkage.bar(linkage.ground, "crank", s["m"], (0.0, 0.0), (s["m"], 0.0), driven=True)
    _jansen_leg(linkage, linkage.ground, crank, (s["m"], 0.0), s)
    return linkage.build.build()


def jansen_walker(pairs: int = 3, scale: float = 0.005) -> Mechanism:
    """A walker in the plane: Jansen's legs in mirrored pairs on one crankshaft that a motor rotates.

    The cranks of the ``pairs`` are shifted by equal parts of a revolution. The trunk, a box of 2 kg with its
    middle at the shaft, moves in the plane (x, y, rotation). The shaft is driven; its friction, 1 N m s/rad,
    is the slope of the motor's torque over speed; the feet are contact points. Closed at q = 0, where the
    first crank lies along x. Lengths (m) are Jansen's numbers times ``scale``.

    >>> import kinetree as kt
    >>> kt.zoo.jansen_walker()
    Mechanism('jansen_walker', 38 bodies, 40 coordinates in 18 closed loops)
    """
    _positive("jansen_walker", scale=scale)
    _count("jansen_walker", pairs)
    s, linkage = _holy(scale), Plane("jansen_walker")
    hull = Inertia.box(2.0, (2.0 * s["a"], 2.0 * s["l"], s["a"]))
    base = linkage.ground.planar("trunk_joint", driven=False).body("trunk", hull)
    linkage.place(base)
    pins = [(s["m"] * cos(2 * pi * k / pairs), s["m"] * sin(2 * pi * k / pairs)) for k in range(pairs)]
    arms = [Inertia.rod(s["m"], end=(*pin, 0.0)) for pin in pins]
    shaft = linkage.body(base, "shaft", (0.0, 0.0), 0.0, sum(arms[1:], arms[0]), driven=True, viscous=MOTOR)
    for k, pin in enumerate(pins):
        for side, mirror in (("left", 1.0), ("right", -1.0)):
            _jansen_leg(linkage, base, shaft, pin, s, f"{side}{k + 1}_", mirror)
    return linkage.build.build()


def _holy(scale: float) -> dict[str, float]:
    """Jansen's lengths (m)."""
    return {name: scale * length for name, length in HOLY_NUMBERS.items()}


def _jansen_leg(
    linkage: Plane,
    base: BodyHandle,
    crank: BodyHandle,
    pin: Point,
    s: dict[str, float],
    prefix: str = "",
    mirror: float = 1.0,
) -> None:
    """The links of a leg to the left of a crank's pin, or to the right of it for ``mirror`` -1."""

    def other(p: Point) -> Point:
        return (mirror * p[0], p[1])

    fixed, near = (-s["a"], -s["l"]), other(pin)
    upper = _corner(fixed, near, s["b"], s["j"], "jansen_leg")
    lower = _corner(near, fixed, s["k"], s["c"], "jansen_leg")
    back = _corner(fixed, upper, s["d"], s["e"], "jansen_leg")
    knee = _corner(lower, back, s["g"], s["f"], "jansen_leg")
    toe = _corner(lower, knee, s["i"], s["h"], "jansen_leg")
    fixed, upper, lower, back, knee, toe = map(other, (fixed, upper, lower, back, knee, toe))
    bar_j = linkage.bar(crank, f"{prefix}bar_j", s["j"], pin, upper)
    bar_k = linkage.bar(crank, f"{prefix}bar_k", s["k"], pin, lower)
    outline = _outline(fixed, (fixed, upper, back))
    rear = linkage.body(base, f"{prefix}triangle_bde", fixed, 0.0, outline)
    bar_c = linkage.bar(base, f"{prefix}bar_c", s["c"], fixed, lower)
    bar_f = linkage.bar(rear, f"{prefix}bar_f", s["f"], back, knee)
    foot = linkage.body(bar_c, f"{prefix}triangle_ghi", lower, 0.0, _outline(lower, (lower, knee, toe)))
    linkage.pin(f"{prefix}upper_pin", bar_j, rear, upper)
    linkage.pin(f"{prefix}lower_pin", bar_k, bar_c, lower)
    linkage.pin(f"{prefix}knee_pin", bar_f, foot, knee)
    foot.contact(f"{prefix}toe", at=linkage.local(foot, toe))


def bricard() -> Mechanism:
    """Bricard's mechanism: five rods of 1 m and 1 kg around the edges of a cube.

    It moves with one freedom only thanks to its lengths and angles: four of the five constraints of its loop
    are independent in every pose. Problem A04 of the IFToMM library; gravity along -y.

    >>> import kinetree as kt
    >>> kt.zoo.bricard()
    Mechanism('bricard', 5 bodies, 5 coordinates in 1 closed loop)
    """
    robot = Builder("bricard", gravity=DOWN_Y)
    handle: BodyHandle = robot.world
    at, axes = (0.0, 0.0, 0.0), ("y", "z", "x", "y", "z")
    ends = ((1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    for k, (axis, end) in enumerate(zip(axes, ends, strict=True)):
        size = tuple(1.0 if x else 0.1 for x in end)
        rod = Inertia.box(1.0, size, center=tuple(x / 2.0 for x in end))
        handle = handle.revolute(f"joint{k + 1}", at=at, axis=axis, driven=k == 0).body(f"rod{k + 1}", rod)
        at = end
    robot.loop("joint6", "world", handle, at_a=(0, 0, 1), at_b=(0, 1, 0), axis="x")
    return robot.build()


def _outline(origin: Point, corners: Sequence[Point]) -> Inertia:
    """The bars around a triangle, 1 kg per meter, about a point."""
    ends = [(x - origin[0], y - origin[1], 0.0) for x, y in corners]
    mass, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    for a, b in zip(ends, [*ends[1:], ends[0]], strict=True):
        bar = Inertia.rod(_distance(a[:2], b[:2]), start=a, end=b)
        mass, first = mass + bar.mass, first + bar.mass * bar.center
        second = (
            second
            + bar.moment
            + bar.mass * (bar.center @ bar.center * np.eye(3) - np.outer(bar.center, bar.center))
        )
    center = first / mass
    return Inertia(mass, center, second - mass * (center @ center * np.eye(3) - np.outer(center, center)))


def _distance(a: Sequence[float], b: Sequence[float]) -> float:
    return hypot(b[0] - a[0], b[1] - a[1])


def _corner(a: Point, b: Point, from_a: float, from_b: float, name: str) -> Point:
    """The corner of a triangle over a and b, to the left of the way from a to b."""
    d = _distance(a, b)
    if not abs(from_a - from_b) <= d <= from_a + from_b:
        raise InputError(
            f"{name}: bars of {from_a:g} m and {from_b:g} m do not meet over a distance of {d:g} m"
        )
    along = (d**2 + from_a**2 - from_b**2) / (2.0 * d)
    up = sqrt(max(from_a**2 - along**2, 0.0))
    x, y = (b[0] - a[0]) / d, (b[1] - a[1]) / d
    return (a[0] + along * x - up * y, a[1] + along * y + up * x)


def _positive(name: str, **lengths: float) -> None:
    for key, value in lengths.items():
        if not number(value, f"{name}: {key}") > 0.0:
            raise InputError(must_be(f"{name}: {key}", "positive (m)", value, "g"))


def _count(name: str, n: int) -> None:
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= 10_000:
        raise InputError(must_be(f"{name}: n", "an integer from 1 to 10000", n))
