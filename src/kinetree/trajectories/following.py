"""Motions of all joints that follow from less: from the path of a body, or from some joints of closed loops.

A body that must follow a path is tied to a frame without mass that moves along it: one more loop. So its
joints are the dependent coordinates of a mechanism with loops, whose positions, velocities and accelerations
belong to each other, on one branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, vector
from kinetree.algebra.placement import Placement
from kinetree.analysis.kinematics import forward_kinematics
from kinetree.dynamics.loops.assembly import assemble
from kinetree.dynamics.loops.closure import Closure
from kinetree.errors import AssemblyError, InputError, listed, must_be, texts, unknown_name
from kinetree.model.body import WORLD, Body
from kinetree.model.expected import expect_mechanism
from kinetree.model.joint import Joint
from kinetree.model.loop import Loop
from kinetree.model.mechanism import Link, Mechanism
from kinetree.model.tree import Integers
from kinetree.other_names import checks_keywords
from kinetree.state import Coordinates, State, coordinates
from kinetree.trajectories.base import Trajectory

PATH = ("x", "y", "z", "rx", "ry", "rz")
FIRST = 201  # instants at which the whole motion is followed at once


@dataclass(frozen=True, eq=False)
class FollowedMotion(Trajectory):
    """All joints of a mechanism, from a path of as many coordinates as it has freedoms; see `follow`."""

    closure: Closure
    path: Trajectory
    places: Integers  # of the mechanism's coordinates among those of the closure
    order: Integers  # of the path's coordinates, as the closure has them

    @property
    def breaks(self) -> Array:
        """Those of the path."""
        return self.path.breaks

    @property
    def n_dof(self) -> int:
        """Number of coordinates of the mechanism."""
        return len(self.places)

    @cached_property
    def gap(self) -> float:
        """The largest gap of the loops, and distance from the path, at many instants (m, or sines)."""
        t = np.linspace(0.0, self.duration, FIRST)
        return self.closure.opened_by(self._all(self.path.at(t), t)[0])

    def piece(self, i: int, t: Array) -> State:
        """Positions by Newton's iteration, velocities and accelerations by the loops' equations."""
        q, qd, qdd = self._all(self.path.piece(i, t), t)[:, :, self.places]
        return State(q, qd, qdd)

    def _all(self, given: State, t: Array) -> Array:
        u = np.stack([given.q, given.qd, given.qdd], axis=1)[:, :, self.order]
        return self.closure.motion(t, u)


@checks_keywords
def follow(
    mechanism: Mechanism,
    path: Trajectory,
    along: Sequence[str],
    *,
    q0: Coordinates,
    body: str | None = None,
    point: ArrayLike = (0.0, 0.0, 0.0),
) -> FollowedMotion:
    """The motion of all joints for a body on a path, or for a motion of some joints.

    ``along`` says what the coordinates of the path are, as many as the mechanism has degrees of freedom. With
    a ``body``: "x", "y", "z" for the position in the world of the ``point`` (3,) of the body (m), and "rx",
    "ry", "rz" for its orientation: angles about the axes of the frame as rotated so far, in the order given,
    zero as at ``q0``. Coordinates that are not named keep the values of ``q0``; without any angle the
    orientation is open. Without a body: names of joints of a mechanism with closed loops.

    ``q0`` (n_dof,), a pose at which the path can begin, selects the branch. Positions, velocities and
    accelerations of all joints belong together, so that the motion can be given to inverse dynamics,
    controllers and simulations.

    >>> import kinetree as kt
    >>> arm = kt.zoo.two_link(length=(0.4, 0.3))
    >>> around = kt.trajectories.circle([0.5, 0.1], 0.1, duration=2.0)
    >>> motion = follow(arm, around, ["x", "y"], body="link2", point=(0.3, 0, 0), q0=[0.0, 1.0])
    >>> motion.at([0.0, 0.7]).qdd.shape, motion.gap < 1e-12
    ((2, 2), True)
    """
    names = _checked(mechanism, path, along)
    start = np.array(coordinates(mechanism, q0, "q0"))
    if start.ndim != 1:
        raise InputError(f"q0 must be one pose of {mechanism.n_dof} coordinates, got shape {start.shape}")
    start = assemble(mechanism, start)
    if body is None:
        if not mechanism.loops:
            raise InputError(
                f"mechanism '{mechanism.name}' has no closed loops in which joints follow others; name a body"
            )
        closed, first = mechanism, start
    else:
        names, closed, first = _tied(mechanism, names, body, point, start)
    every = np.arange(closed.n_dof)
    closure = Closure(closed, every, np.zeros(closed.n_dof, dtype=bool), first, names)
    order = np.array([names.index(name) for name in closure.independent_names], dtype=np.int64)
    places = np.array([closed.joint_index(name) for name in mechanism.joint_names], dtype=np.int64)
    motion = FollowedMotion(closure, path, places, order)
    try:
        motion.at(np.linspace(0.0, motion.duration, FIRST))
    except AssemblyError:
        raise AssemblyError(
            f"{closure.failure.replace('at s = ', 'at t = ')}; the path leaves what mechanism "
            f"'{mechanism.name}' can reach"
        ) from None
    return motion


def _checked(mechanism: Mechanism, path: Trajectory, along: Sequence[str]) -> list[str]:
    expect_mechanism(mechanism)
    if not isinstance(path, Trajectory):
        raise InputError(must_be("the path", "a trajectory, such as trajectories.circle(...)", path))
    names = list(texts(along, "along"))
    if len(names) != path.n_dof or len(set(names)) != len(names):
        raise InputError(
            f"along must name the {path.n_dof} coordinates of the path, each once, got {listed(names)}"
        )
    return names


def _tied(
    mechanism: Mechanism, along: list[str], body: str, point: ArrayLike, start: Array
) -> tuple[list[str], Mechanism, Array]:
    """Names of the path's joints, the mechanism with a body on the path, and a first pose of it."""
    for name in along:
        if name not in PATH:
            raise InputError(unknown_name("coordinate", name, PATH).after("along: "))
    turned = [name.startswith("r") for name in along]
    if turned != sorted(turned):
        raise InputError(f"along: give positions before angles, got {listed(along)}")
    mechanism.body_index(body)
    local = vector(point, 3, f"point of '{body}'")
    R, p = forward_kinematics(mechanism, start)[body]
    at = R @ local + p
    offset = np.array([0.0 if axis in along else at[k] for k, axis in enumerate("xyz")])
    links, parent, first = list(mechanism.links), WORLD, dict(zip(mechanism.joint_names, start, strict=True))
    names = []
    for name in along:
        kind = "revolute" if name.startswith("r") else "prismatic"
        joint = Joint.of_kind(f"{name} of {body} on its path", kind, axis=name[-1], driven=False)
        place = Placement(position=offset) if parent == WORLD else Placement()
        links.append(Link(Body(joint.name), joint, parent, place))
        parent = joint.name
        names.append(joint.dof_names[0])
        first[names[-1]] = 0.0 if joint.is_turn else float(at["xyz".index(name)])
    tie = Joint.of_kind(f"{body} on its path", "fixed" if any(turned) else "spherical", cut=True)
    loop = Loop(tie, parent, body, Placement(rotation=R), Placement(position=local))
    closed = Mechanism(mechanism.name, tuple(links), mechanism.gravity, (*mechanism.loops, loop))
    return names, closed, np.array([first[name] for name in closed.joint_names])
