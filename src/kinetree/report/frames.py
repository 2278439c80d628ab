"""The poses, forces and paths of a result, frame by frame, for whatever draws a scene that moves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.placement import Placement
from kinetree.algebra.rotation_vector import quaternion
from kinetree.analysis.energy import center_of_mass
from kinetree.analysis.kinematics import Poses, forward_kinematics
from kinetree.errors import InputError, listed, must_be
from kinetree.model.body import WORLD, Shape
from kinetree.model.floor import Floor
from kinetree.model.height_field import HeightField
from kinetree.model.mechanism import Mechanism
from kinetree.model.rooted import carried_bodies
from kinetree.report.obstacles import Obstacle, clearance_floor, obstacles
from kinetree.result.opensim import GROUND
from kinetree.result.result import Result
from kinetree.result.variables import AT_JOINT, NET_REACTION

MOST_FRAMES = 300
MOST_TRACES = 3  # named frames whose paths are drawn
POSITIONS = ("q", "q_reference")
WEIGHTLESS = 1e-3  # of the strongest push: a smaller one has no place


@dataclass(frozen=True, eq=False)
class GroundRegion:
    """A rectangle of the ground at a height (m): from where to where forward and sideward, maybe infinite."""

    forward: tuple[float, float]
    side: tuple[float, float]
    height: float


@dataclass(frozen=True, eq=False)
class GroundPlane:
    """The ground: a point of it, its normal, its forward and side directions, each (3,), and its regions."""

    origin: Array
    normal: Array
    forward: Array
    side: Array
    regions: tuple[GroundRegion, ...]
    terrain: HeightField | None = None

    def surface(self, most: int = 80) -> Array:
        """Places of the surface (n, m, 3) in the world, at most so many along each direction."""
        assert self.terrain is not None
        n, m = (min(count, most) for count in self.terrain.shape)
        x, y = np.linspace(*self.terrain.forward, max(n, 2)), np.linspace(*self.terrain.side, max(m, 2))
        x, y = x[:, None], y[None, :]
        h = self.terrain.at(x, y)
        parts = zip((x, y, h), (self.forward, self.side, self.normal), strict=True)
        places: Array = self.origin + sum(values[..., None] * direction for values, direction in parts)
        return places

    def blocks(self, around: Array, room: float) -> tuple[Shape, ...]:
        """What stands on the plane up to its raised regions, as boxes in the world.

        They end at most a ``room`` (m) beyond points ``around`` (k, 3).

        >>> up, ahead, side = np.eye(3)[[2, 0, 1]]
        >>> step = GroundRegion((1.0, np.inf), (-np.inf, np.inf), 0.2)
        >>> block, = GroundPlane(np.zeros(3), up, ahead, side, (step,)).blocks(np.zeros((1, 3)), 3.0)
        >>> block.size.tolist(), block.placement.position.tolist()
        ([2.0, 6.0, 0.2], [2.0, 0.0, 0.1])
        """
        axes = np.stack([self.forward, self.side, self.normal])
        along = (around - self.origin) @ axes.T
        low, high = along.min(axis=0) - room, along.max(axis=0) + room
        found = []
        for region in self.regions:
            ahead, aside = (
                np.clip(ends, low[k], high[k]) for k, ends in enumerate((region.forward, region.side))
            )
            ends = np.array([ahead, aside, (0.0, region.height)])
            size = ends[:, 1] - ends[:, 0]
            if size.min() > 0.0:
                found.append(Shape("box", size, Placement(axes.T, self.origin + ends.mean(axis=1) @ axes)))
        return tuple(found)


@dataclass(frozen=True, eq=False)
class Frames:
    """T frames of a motion with B bodies and C contact points, in the world.

    ``time`` (T,) in s; ``position`` (T, B, 3) in m and ``quaternion`` (T, B, 4) as w, x, y, z of the body
    frames, neighbors never more than half a turn apart; ``center_of_mass`` (T, 3). Where the result has
    them: forces of the ground ``contact_force`` (T, C, 3) in N at ``contact_position`` (T, C, 3), whether a
    point is ``touching`` (T, C), or the ground's force on feet ``foot_force`` (T, F, 3) at ``foot_point``
    (T, F, 3); the ``center_of_pressure`` (T, 3), NaN where there is none, and the force
    of the parent on each body at its origin, ``reaction`` (T, B, 3) in N; of a person, that of the proximal
    on the distal body, whichever of them the tree carries. ``traces``: names and paths (T, 3) of the frames
    of the mechanism, if it has only a few; ``obstacles``: what a prediction keeps bodies out of. ``rows``
    (T,) are the samples of the result that were taken, ``q`` (T, n_dof) their coordinates.
    """

    name: str
    time: Array
    rows: np.ndarray
    q: Array
    position: Array
    quaternion: Array
    center_of_mass: Array
    contact_position: Array
    contact_force: Array | None
    touching: np.ndarray | None
    center_of_pressure: Array | None
    reaction: Array | None
    ground: GroundPlane | None
    foot_force: Array | None = None
    foot_point: Array | None = None
    traces: tuple[tuple[str, Array], ...] = ()
    obstacles: tuple[Obstacle, ...] = ()

    @property
    def stands(self) -> bool:
        """Whether there is a floor: the ground of the motion, or a force of it on feet."""
        return self.ground is not None or self.foot_force is not None

    @property
    def support_polygons(self) -> list[Array]:
        """For every frame the corners (k, 3), in order, of the hull of the points that touch the ground."""
        if self.touching is None or self.ground is None:
            return [np.zeros((0, 3))] * len(self.time)
        plane = self.ground
        return [
            _hull(points[touch], plane)
            for points, touch in zip(self.contact_position, self.touching, strict=True)
        ]


def motion_names(result: Result) -> tuple[str, ...]:
    """Names of the motions that a result holds: one, or those of its cases, rollouts, ...; none without q.

    >>> import kinetree as kt, numpy as np
    >>> motion_names(kt.simulation.simulate_batch(kt.zoo.gripper(), np.zeros((2, 4)), duration=0.1, times=3))
    ('rollout 0', 'rollout 1')
    """
    array = _positions(result)
    if array is None:
        return ()
    dim = _leading(array)
    if dim is None:
        return ("motion",)
    labels = array[dim].values.tolist()
    return tuple(f"{dim} {x}" if isinstance(x, int | float) else str(x) for x in labels)


def leading_dimension(result: Result) -> str | None:
    """The dimension along which a result has several motions, such as case or rollout."""
    array = _positions(result)
    return None if array is None else _leading(array)


def frames(result: Result, motion: int = 0, most: int = MOST_FRAMES) -> Frames:
    """The frames of one of the motions of a result, at most so many, evenly over time.

    They are samples of the result, none in between; a motion that ends early has fewer.

    >>> import kinetree as kt
    >>> fall = kt.simulate(kt.zoo.gripper(), [-1, 0, 0, 0], duration=0.1, times=21)
    >>> frames(fall, most=5).position.shape
    (5, 4, 3)
    """
    names = motion_names(result)
    if not 0 <= motion < len(names):
        raise InputError(
            must_be("motion", f"a number from 0 to {len(names) - 1} ({listed(names)})", motion, "")
        )
    if most < 1:
        raise InputError(must_be("most", "at least 1", most, ""))
    q, time = _values(result, _positions(result), motion), result.dataset["time"].values
    rows = _rows(time, q, most)
    poses = forward_kinematics(result.mechanism, q[rows])
    plane = ground_plane(result.settings)
    plane = plane or _level(clearance_floor(result.mechanism, result.settings))
    contacts = _contact_positions(result.mechanism, poses.rotation, poses.position)
    force = _taken(result, "contact_force", motion, rows)
    touching = _taken(result, "touching", motion, rows)
    if touching is None and force is not None:
        touching = np.linalg.norm(force, axis=-1) > 0.0
    return Frames(
        names[motion],
        time[rows],
        rows,
        q[rows],
        poses.position,
        _continuous(quaternion(poses.rotation)),
        center_of_mass(result.mechanism, q[rows]),
        contacts,
        force,
        None if touching is None else touching.astype(bool),
        _center_of_pressure(result, motion, rows, contacts, force, plane),
        _reaction(result, motion, rows, poses.rotation),
        plane,
        *(_feet(result, motion, rows) if force is None else (None, None)),
        _traces(result.mechanism, poses),
        obstacles(result.mechanism, result.settings),
    )


def _traces(mechanism: Mechanism, poses: Poses) -> tuple[tuple[str, Array], ...]:
    """Names and paths (T, 3) of named frames; none if there are many, as the sites of MJCF files."""
    names = [frame.name for frame in mechanism.frames if frame.body != WORLD]
    return tuple((name, poses[name][1]) for name in names) if len(names) <= MOST_TRACES else ()


def ground_plane(settings: Mapping[str, Any]) -> GroundPlane | None:
    """The ground that the settings of a result tell of, or of its first case; None without one."""
    cases = settings.get("cases")
    stated = settings.get("ground") or next(
        (case["ground"] for case in (cases or {}).values() if case.get("ground")), None
    )
    if not isinstance(stated, Mapping) or "normal" not in stated:
        return None
    origin, normal, forward = (
        np.array(stated[key], dtype=np.float64) for key in ("origin", "normal", "forward")
    )
    regions = tuple(
        GroundRegion(_ends(region["forward"]), _ends(region["side"]), float(region["height"]))
        for region in stated.get("regions", ())
    )
    written = stated.get("terrain")
    terrain = None
    if isinstance(written, Mapping):
        ends = {key: tuple(written[key]) for key in ("forward", "side")}
        terrain = HeightField(written["heights"], **ends)
    return GroundPlane(origin, normal, forward, np.cross(normal, forward), regions, terrain)


def floor_plane(mechanism: Mechanism) -> GroundPlane | None:
    """The floor of a mechanism's scene; None without one."""
    return _level(mechanism.floor)


def _level(floor: Floor | None) -> GroundPlane | None:
    if floor is None:
        return None
    up, ahead, side = floor.frame()
    return GroundPlane(np.asarray(floor.origin), up, ahead, side, (), floor.terrain)


def _ends(texts: Any) -> tuple[float, float]:
    low, high = (float(x) for x in texts)
    return low, high


# ---- one of the motions ---------------------------------------------------------------------------------


def positions(result: Result, motion: int = 0) -> Array:
    """The positions (time, n_dof) of one of the motions of a result."""
    return _values(result, _positions(result), motion)


def _positions(result: Result) -> Any:
    """The positions as a DataArray with time, joint and at most one more dimension; None without any."""
    for name in POSITIONS:
        if name in result and {"time", "joint"} <= {*result[name].dims} and result[name].ndim <= 3:
            return result[name]
    return None


def _leading(array: Any) -> str | None:
    """The dimension along which motions are, if there are several."""
    more = [str(dim) for dim in array.dims if dim not in ("time", "joint")]
    return more[0] if more else None


def _values(result: Result, array: Any, motion: int) -> Array:
    dim = leading_dimension(result)
    if dim is not None and dim in array.dims:
        array = array.isel({dim: motion})
    values: Array = array.transpose("time", ...).values
    return values


def _taken(result: Result, name: str, motion: int, rows: np.ndarray) -> Array | None:
    """The rows of a variable over time, if the result has it as it is known."""
    if name not in result or "time" not in result[name].dims:
        return None
    taken: Array = _values(result, result[name], motion)[rows]
    return taken


def _reaction(result: Result, motion: int, rows: np.ndarray, rotation: Array) -> Array | None:
    """Forces (T, B, 3) in the joints, in the world, at the origins of the bodies that the joints carry."""
    named = _taken(result, NET_REACTION, motion, rows)
    if named is None:
        reaction = _taken(result, "reaction", motion, rows)
        return None if reaction is None else np.einsum("tbij,tbj->tbi", rotation, reaction[..., :3])
    carried, found = carried_bodies(result.mechanism), np.zeros((*rotation.shape[:2], 3))
    for k, joint in enumerate(result[AT_JOINT].values):
        found[:, result.mechanism.body_index(carried[str(joint)])] = named[:, k, :3]
    return found


def _rows(time: Array, q: Array, most: int) -> np.ndarray:
    """Samples with a pose, evenly over time."""
    present = np.flatnonzero(np.isfinite(q).all(axis=1))
    if not len(present):
        raise InputError("the motion has no sample in which all positions are known")
    if len(present) <= most:
        return present
    wanted = np.linspace(time[present[0]], time[present[-1]], most)
    after = np.searchsorted(time[present], wanted).clip(1, len(present) - 1)
    nearer = wanted - time[present[after - 1]] < time[present[after]] - wanted
    return np.unique(present[after - nearer])


def _continuous(unit: Array) -> Array:
    """Each quaternion (T, ..., 4) in the sign that is nearer to the one before."""
    turned = np.sum(unit[1:] * unit[:-1], axis=-1, keepdims=True) < 0.0
    signs = np.cumprod(np.where(turned, -1.0, 1.0), axis=0)
    return np.concatenate([unit[:1], signs * unit[1:]])


# ---- the ground -----------------------------------------------------------------------------------------


def _contact_positions(mechanism: Mechanism, rotation: Array, position: Array) -> Array:
    points = mechanism.contact_points
    carriers = np.array([mechanism.body_index(point.body) for point in points], dtype=np.int64)
    local = np.array([point.position for point in points]).reshape(-1, 3)
    found: Array = np.einsum("tcij,cj->tci", rotation[:, carriers], local) + position[:, carriers]
    return found


def _feet(result: Result, motion: int, rows: np.ndarray) -> tuple[Array | None, Array | None]:
    """Force of the ground on each foot and where it acts; where a foot carries nothing, where it last did."""
    force, point = (_taken(result, name, motion, rows) for name in (GROUND, f"{GROUND}_point"))
    if force is None or point is None or force.ndim != 3 or force.shape != point.shape:
        return None, None
    filled = np.zeros_like(point)
    index = np.arange(len(point))
    for foot in range(point.shape[1]):
        known = np.flatnonzero(np.isfinite(point[:, foot]).all(axis=1))
        for axis in range(3 if len(known) else 0):
            filled[:, foot, axis] = np.interp(index, known, point[known, foot, axis])
    return np.nan_to_num(force), filled


def _center_of_pressure(
    result: Result,
    motion: int,
    rows: np.ndarray,
    contacts: Array,
    force: Array | None,
    plane: GroundPlane | None,
) -> Array | None:
    """Where the ground pushes altogether; on even ground the zero-moment point ([Shah2013], section B.1.1).

    There it is  o + n x sum((p - o) x f) / (n . sum f),  with regions the mean of the points that are pushed.
    """
    stated = _taken(result, "center_of_pressure", motion, rows)
    if stated is not None or force is None or plane is None:
        return stated
    push = force @ plane.normal
    total = push.sum(axis=1)
    moment = np.cross(contacts - plane.origin, force).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        if plane.regions or plane.terrain is not None:
            point: Array = np.einsum("tc,tci->ti", push, contacts) / total[:, None]
        else:
            point = plane.origin + np.cross(plane.normal, moment) / total[:, None]
    point[total <= WEIGHTLESS * float(total.max(initial=0.0))] = np.nan
    return point


def _hull(points: Array, plane: GroundPlane) -> Array:
    """Corners of the hull of points as seen from above, counter-clockwise."""
    flat = np.column_stack([points @ plane.forward, points @ plane.side])
    if len(flat) < 3 or np.linalg.matrix_rank(flat - flat.mean(axis=0), tol=1e-9) < 2:
        return points
    from scipy.spatial import ConvexHull

    corners: Array = points[ConvexHull(flat).vertices]
    return corners
