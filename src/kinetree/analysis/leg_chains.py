"""Legs of a mechanism: given by the user, by names of joints, by topology, by axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.kinematics import forward_kinematics
from kinetree.dynamics.axis_motion import axis_motion
from kinetree.dynamics.coupling import all_axes
from kinetree.errors import InputError, ModelError, listed, texts, unknown_name
from kinetree.model.body import WORLD
from kinetree.model.contact_point import ContactPoint
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Link, Mechanism

DEEP = 0.6  # of the way from trunk to lowest foot, down to which a limb must reach to be a leg
ALONG = 0.7  # cosine beyond which an axis counts as lateral, forward or upright


@dataclass(frozen=True)
class Leg:
    """Which joints make a leg: names of degrees of freedom, and the contact points of its foot.

    Hip pitch and knee turn about axes across the walk, and so does ``ankle_pitch`` if there is a foot to be
    kept level; ``hip_roll``, which comes before the hip's pitch, and ``ankle_roll``, which comes after the
    ankle's, turn about axes along the walk. Without an ankle the one contact point is the foot. ``knee_to``:
    to which side the knee points.

    >>> Leg("front left", "hip1.ry", "knee1", contact_points=("foot1",), hip_roll="hip1.rx").name
    'front left'
    """

    name: str
    hip_pitch: str
    knee: str
    contact_points: tuple[str, ...] = ()
    hip_roll: str | None = None
    ankle_pitch: str | None = None
    ankle_roll: str | None = None
    knee_to: Literal["front", "rear"] = "front"

    def __post_init__(self) -> None:
        texts(self.contact_points, f"leg '{self.name}': contact_points")
        if self.knee_to not in ("front", "rear"):
            raise InputError(
                unknown_name("side", self.knee_to, ("front", "rear")).after(f"leg '{self.name}': ")
            )
        if self.ankle_pitch is None and (self.ankle_roll is not None or len(self.contact_points) != 1):
            raise InputError(
                f"leg '{self.name}' has no ankle pitch, so its foot is one contact point and rolls with the "
                f"shank; got the contact points {list(self.contact_points)} and ankle roll {self.ankle_roll}"
            )


@dataclass(frozen=True, eq=False)
class LegChain:
    """A leg: its links from the first movable one after the trunk to the foot, and the foot's points."""

    links: tuple[Link, ...]
    points: tuple[ContactPoint, ...]

    @property
    def hip(self) -> str:
        """The first body that moves."""
        return self.links[0].body.name

    @property
    def foot(self) -> str:
        """The body that touches the ground."""
        return self.links[-1].body.name

    @property
    def joints(self) -> tuple[str, ...]:
        """Degrees of freedom from the hip to the foot."""
        return tuple(name for x in self.links if x.joint.mimic is None for name in x.joint.dof_names)

    @property
    def middle(self) -> Array:
        """The mean of the contact points (3,) in the frame of the foot."""
        mean: Array = np.mean([point.position for point in self.points], axis=0)
        return mean


def leg_chains(mechanism: Mechanism, legs: Sequence[Leg] | None = None) -> tuple[LegChain, ...]:
    """The legs of a mechanism: limbs of the root with contact points at their ends, or those that are given.

    >>> from kinetree.model import zoo
    >>> [chain.foot for chain in leg_chains(zoo.quadruped())]
    ['shank1', 'shank2', 'shank3', 'shank4']
    """
    if not mechanism.contact_points:
        raise ModelError(f"'{mechanism.name}' has no contact points, so it has no feet")
    if legs is not None:
        return tuple(_given(mechanism, leg) for leg in legs)
    touching = {point.body for point in mechanism.contact_points}
    tips = [
        link.body.name
        for link in mechanism.links[1:]
        if link.body.name in touching and not _beyond(mechanism, link.body.name, touching)
    ]
    chains = [_chain(mechanism, tip) for tip in tips]
    found = [chain for chain in chains if chain is not None]
    if not found:
        raise ModelError(
            f"'{mechanism.name}' has no legs: no joint lies between its trunk "
            f"'{mechanism.links[0].body.name}' and a body with contact points (which are on "
            f"{listed(sorted(touching))})"
        )
    return tuple(found)


def legs_by_axes(mechanism: Mechanism, chains: Sequence[LegChain], q: Array, axes: Array) -> tuple[Leg, ...]:
    """Legs with their joints distinguished by the directions of axes in a standing posture.

    Of the joints that rotate about the lateral axis the first is the pitch of the hip, the next the knee and
    a third the pitch of the ankle; rolls are about the forward axis. ``axes`` (3, 3): columns forward, left
    and up.
    """
    tree = mechanism.tree
    rest = np.zeros(tree.n)
    z = axis_motion(tree, all_axes(tree, q), rest, rest).rotation[:, :, 2] @ axes
    legs = []
    for chain in chains:
        rows = [(name, tree.axis_names.index(name)) for name in chain.joints]
        turning = [(name, z[i]) for name, i in rows if tree.turns[i]]
        pitch = [name for name, d in turning if abs(d[1]) > ALONG]
        roll = [name for name, d in turning if abs(d[0]) > ALONG]
        if len(pitch) < 2:
            raise ModelError(
                f"the leg of '{mechanism.name}' to '{chain.foot}' has no hip and knee that rotate about the "
                f"lateral axis, but {listed(chain.joints)}; give its legs, legs=[Leg(...), ...]"
            )
        order = [name for name, _ in turning]
        before = [name for name in roll if order.index(name) < order.index(pitch[0])]
        has_ankle = len(pitch) > 2
        after = [name for name in roll if has_ankle and order.index(name) > order.index(pitch[2])]
        points = tuple(point.name for point in chain.points)
        legs.append(
            Leg(
                chain.foot,
                pitch[0],
                pitch[1],
                points if has_ankle else points[:1],
                before[0] if before else None,
                pitch[2] if has_ankle else None,
                after[0] if after else None,
            )
        )
    return tuple(legs)


def has_named_legs(mechanism: Mechanism) -> bool:
    """Whether joints are called hip1 and knee1, as in the zoo."""
    return {"hip1", "knee1"} <= {link.joint.name for link in mechanism.links}


def named_legs(mechanism: Mechanism) -> tuple[Leg, ...]:
    """The legs of a mechanism whose joints are called hip1, knee1, ankle1, hip2, ... as in the zoo.

    >>> from kinetree.model import zoo
    >>> [leg.hip_pitch for leg in named_legs(zoo.quadruped())]
    ['hip1.ry', 'hip2.ry', 'hip3.ry', 'hip4.ry']
    """
    expect_mechanism(mechanism)
    links = {link.joint.name: link for link in mechanism.links}
    legs: list[Leg] = []
    while f"hip{len(legs) + 1}" in links and f"knee{len(legs) + 1}" in links:
        number = str(len(legs) + 1)
        hip, foot = links["hip" + number].joint, links.get("ankle" + number, links["knee" + number])
        several = foot.joint.n_dof > 1
        ankle = foot.joint.name if foot.joint.name.startswith("ankle") else None
        legs.append(
            Leg(
                f"leg{number}",
                hip_pitch=hip.name if hip.n_dof == 1 else f"{hip.name}.ry",
                knee="knee" + number,
                contact_points=tuple(x.name for x in mechanism.contact_points if x.body == foot.body.name),
                hip_roll=None if hip.n_dof == 1 else f"{hip.name}.rx",
                ankle_pitch=None if ankle is None else (f"{ankle}.ry" if several else ankle),
                ankle_roll=f"{ankle}.rx" if ankle is not None and several else None,
            )
        )
    if not legs:
        raise InputError(
            f"'{mechanism.name}' has no joints named hip1 and knee1; give its legs to "
            "kinetree.trajectories.legged_gait(..., legs=[Leg(...), ...])"
        )
    return tuple(legs)


def alternating(places: Sequence[Array], left: Array, ahead: Array) -> tuple[int, ...]:
    """Groups 0 and 1 of legs that swing together: neighbors alternate along each side.

    ``places`` (3,) of the hips. That is a walk on two legs, a trot on four, a tripod gait on six.

    >>> hips = [np.array([x, y, 0.0]) for x in (0.5, -0.5) for y in (0.2, -0.2)]
    >>> alternating(hips, np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0]))
    (0, 1, 1, 0)
    """
    across = np.array([float(left @ x) for x in places])
    middle = 0.5 * (across.max() + across.min())
    sides = [bool(y > middle or (y == middle and k % 2 == 0)) for k, y in enumerate(across)]
    groups = []
    for k, x in enumerate(places):
        before = sum(
            side == sides[k] and float(ahead @ (y - x)) > 1e-9 for y, side in zip(places, sides, strict=True)
        )
        groups.append((before + (not sides[k])) % 2)
    return tuple(groups)


# ---- helpers ---------------------------------------------------------------------------------------------


def _beyond(mechanism: Mechanism, body: str, touching: set[str]) -> bool:
    """Whether a body further out touches the ground."""
    parents = {link.body.name: link.parent for link in mechanism.links}
    for other in touching:
        above = parents[other]
        while above != WORLD:
            if above == body:
                return True
            above = parents[above]
    return False


def _chain(mechanism: Mechanism, tip: str) -> LegChain | None:
    """The leg that ends at a body; None if no joint moves it against the trunk."""
    by_name = {link.body.name: link for link in mechanism.links}
    root = mechanism.links[0].body.name
    links = [by_name[tip]]
    while links[0].parent not in (WORLD, root):
        links.insert(0, by_name[links[0].parent])
    while links and links[0].joint.is_fixed:
        links.pop(0)
    points = tuple(point for point in mechanism.contact_points if point.body == tip)
    return LegChain(tuple(links), points) if links else None


def _given(mechanism: Mechanism, leg: Leg) -> LegChain:
    """The chain of a leg that the user describes."""
    points = {point.name: point for point in mechanism.contact_points}
    for name in leg.contact_points:
        if name not in points:
            raise InputError(unknown_name("contact point", name, points).after(f"leg '{leg.name}': "))
    bodies = {points[name].body for name in leg.contact_points}
    if len(bodies) != 1:
        raise InputError(
            f"leg '{leg.name}': the contact points of a foot belong to one body, got {sorted(bodies)}"
        )
    chain = _chain(mechanism, bodies.pop())
    joints = () if chain is None else chain.joints
    for name in (leg.hip_pitch, leg.knee):
        if name not in joints:
            raise InputError(unknown_name("joint of its chain", name, joints).after(f"leg '{leg.name}': "))
    assert chain is not None
    return LegChain(chain.links, tuple(points[name] for name in leg.contact_points))


def reaching_down(
    mechanism: Mechanism, chains: Sequence[LegChain], q: Array, up: Array
) -> tuple[LegChain, ...]:
    """The chains that end about as low as the lowest one: legs, not arms."""
    pose = forward_kinematics(mechanism, q)
    root = up @ pose.position[0]
    low = []
    for chain in chains:
        k = mechanism.body_index(chain.foot)
        low.append(float(root - up @ (pose.position[k] + pose.rotation[k] @ chain.middle)))
    deepest = max(low)
    return tuple(chain for chain, depth in zip(chains, low, strict=True) if depth >= DEEP * deepest)
