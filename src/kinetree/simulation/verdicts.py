"""Whether an engineer would sign a simulated motion: limits of the model, falls, bodies in the ground."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.coupling import on_axes
from kinetree.analysis.kinematics import Poses, forward_kinematics
from kinetree.errors import InputError, shown, unknown_name
from kinetree.model.body import WORLD
from kinetree.model.joint_kind import KINDS
from kinetree.model.mechanism import Link, Mechanism
from kinetree.result.records import Check
from kinetree.result.verdict_names import ABOVE, CONTROL, EFFORT, HEIGHT, POSITION, TILT, VELOCITY, WALK
from kinetree.simulation.ground import Ground
from kinetree.simulation.options import positive
from kinetree.simulation.setup import Surroundings
from kinetree.simulation.torque import Law
from kinetree.state import independent_axes

SMALL_ERROR = 0.1  # rad or m: an error of control below this is not large, whatever the motion


@dataclass(frozen=True)
class Verdicts:
    """Limits beyond which the audit of a simulated motion fails; None: not checked.

    ``position`` (rad, m) beyond the joints' limits, ``position_at_stops`` where stops meet the joints there;
    ``velocity`` and ``effort`` beyond their limits, as fractions of the limit. For a floating base under a
    controller on the ground: ``tilt`` (rad) and ``height``, the loss of height as a fraction of its height
    above the feet, both relative to the reference motion. ``depth`` (m) of bodies in the ground below the
    deepest contact point. ``growth``: the control error at the end relative to the reference motion, or to
    the error at the start.

    >>> Verdicts(tilt=0.5, effort=None).position
    0.01
    """

    position: float | None = 0.01
    position_at_stops: float | None = 0.1
    velocity: float | None = 0.01
    effort: float | None = 0.01
    tilt: float | None = 1.0
    height: float | None = 0.5
    depth: float | None = 0.02
    growth: float | None = 10.0

    def __post_init__(self) -> None:
        for name in (x.name for x in fields(self)):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, positive(value, f"verdicts: {name}"))


NONE = Verdicts(None, None, None, None, None, None, None, None)


def read_verdicts(given: Verdicts | Mapping[str, float | None] | bool | None) -> Verdicts:
    """The argument ``verdicts`` of a simulation: thresholds, some of them by name, or whether to judge."""
    if given is None or given is True:
        return Verdicts()
    if given is False:
        return NONE
    if isinstance(given, Verdicts):
        return given
    if not isinstance(given, Mapping):
        raise InputError(
            f"verdicts must be Verdicts(...), a table such as {{'tilt': 0.5}}, True or False, "
            f"got {shown(given)}"
        )
    known = [x.name for x in fields(Verdicts)]
    for name in given:
        if name not in known:
            raise InputError(f"verdicts: {unknown_name('verdict', name, known)}")
    return Verdicts(**given)


class Judge(NamedTuple):
    """What a motion is judged by."""

    allowed: Verdicts
    law: Law
    around: Surroundings
    controlled: bool

    def checks(self, mechanism: Mechanism, times: Array, q: Array, qd: Array, tau: Array) -> dict[str, Check]:
        """All verdicts that apply to positions, velocities and torques (k, n_dof) at times (k,)."""
        found: dict[str, Check] = {}
        if self.controlled:
            found |= control_checks(mechanism, self.allowed, self.law, times, q)
        if self.around.ground is not None:
            law = self.law if self.controlled else None
            found |= ground_checks(mechanism, self.allowed, self.around.ground, law, times, q)
        stops = self.around.stops is not None
        return found | limit_checks(mechanism, self.allowed, times, q, qd, tau, stops)


# ---- limits of the model --------------------------------------------------------------------------------


def limit_checks(
    mechanism: Mechanism,
    allowed: Verdicts,
    times: Array,
    q: Array,
    qd: Array,
    tau: Array | None,
    stops: bool,
) -> dict[str, Check]:
    """Positions, velocities and efforts (..., k, n_dof) beside the limits that the mechanism has.

    Joints that follow others have limits of position and velocity, too.
    """
    tree = mechanism.tree
    limits = (tree.lower, tree.upper, tree.velocity_limit, tree.effort_limit)
    if not any(np.isfinite(x).any() for x in limits):
        return {}
    names, turns = tree.axis_names, tree.turns
    lower, upper, fastest, strongest = limits
    places, rates = on_axes(tree, q, qd)
    found: dict[str, Check] = {}
    beyond = allowed.position_at_stops if stops else allowed.position
    if beyond is not None and (np.isfinite(lower) | np.isfinite(upper)).any():
        over = np.maximum(lower - places, places - upper)
        at = _worst(over)
        below = lower[at[-1]] - places[at] > places[at] - upper[at[-1]]
        bound = lower[at[-1]] if below else upper[at[-1]]
        unit = "rad" if turns[at[-1]] else "m"
        words = "joints stay within the limits of the model"
        if over[at] > 0.0:
            words = (
                f"joint '{names[at[-1]]}' is at {places[at]:.4g} {unit} at t = {times[at[-2]]:.4g} s"
                f"{_which(at)}, {over[at]:.3g} {unit} beyond its limit {bound:.4g} {unit}"
            )
        found[POSITION] = Check.within(max(over[at], 0.0), beyond, "rad or m", words)
    own = independent_axes(mechanism)
    rows: list[tuple[str, str, Array | None, Array, float | None, tuple[str, str]]] = [
        (VELOCITY, "velocity", rates, fastest, allowed.velocity, ("rad/s", "m/s")),
        (EFFORT, "effort", tau, strongest[own], allowed.effort, ("N m", "N")),
    ]
    for name, noun, values, limit, more, units in rows:
        if more is None or values is None or not np.isfinite(limit).any():
            continue
        chosen = own if name == EFFORT else np.arange(tree.n)
        stated = tuple(names[k] for k in chosen), [bool(turns[k]) for k in chosen]
        found[name] = _beside(noun, values, limit, more, times, *stated, units)
    return found


def _beside(
    noun: str,
    values: Array,
    limit: Array,
    more: float,
    times: Array,
    names: tuple[str, ...],
    turns: list[bool],
    units: tuple[str, str],
) -> Check:
    """The largest part by which sizes exceed their limits; of a limit of zero, any size does."""
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(
            np.isfinite(limit), np.nan_to_num(np.abs(values) / limit, nan=0.0, posinf=np.inf), 0.0
        )
    at = _worst(part)
    joint, unit = names[at[-1]], units[0] if turns[at[-1]] else units[1]
    size = f"{abs(values[at]):.4g} {unit} of {limit[at[-1]]:.4g} {unit}"
    words = f"largest {noun} relative to its limit: joint '{joint}', {size}"
    if part[at] > 1.0:
        words = (
            f"the {noun} of joint '{joint}' is {abs(values[at]):.4g} {unit} at t = {times[at[-2]]:.4g} s"
            f"{_which(at)}, {part[at]:.3g} times its limit {limit[at[-1]]:.4g} {unit}"
        )
    return Check.within(max(0.0, part[at] - 1.0), more, "1", words)


def _worst(values: Array) -> tuple[int, ...]:
    """Where the largest is."""
    return tuple(int(k) for k in np.unravel_index(int(np.nanargmax(values)), values.shape))


def _which(at: tuple[int, ...]) -> str:
    """Which of several motions, in words."""
    return f" in motion {at[0]}" if len(at) > 2 else ""


# ---- control --------------------------------------------------------------------------------------------


def control_checks(
    mechanism: Mechanism, allowed: Verdicts, law: Law, times: Array, q: Array
) -> dict[str, Check]:
    """Whether the error of a law that follows a motion stays bounded: judged by its last quarter."""
    followed = law.followed(mechanism, times)
    if allowed.growth is None or followed is None or len(times) < 8:
        return {}
    wanted, judged = followed
    error = np.abs(q - wanted)[:, judged]
    quarter = max(1, len(times) // 4)
    last, before = error[-quarter:].max(axis=0), error[:-quarter].max(axis=0)
    moved = np.abs(wanted[:, judged] - wanted[0, judged]).max(axis=0)
    scale = np.maximum(np.maximum(moved, error[0]), SMALL_ERROR)
    growth = np.where(last > before, last / scale, 0.0)  # it is no longer growing if it was larger before
    k = int(np.argmax(growth))
    joint = np.array(mechanism.joint_names)[judged][k]
    words = "the control error stays bounded"
    if growth[k] > allowed.growth:
        words = (
            f"the error of joint '{joint}' grows: {error[0, k]:.3g} at the start, {last[k]:.3g} rad or m in "
            f"the last quarter, {growth[k]:.3g} times the reference motion"
        )
    return {CONTROL: Check.within(float(growth[k]), allowed.growth, "1", words)}


# ---- ground ---------------------------------------------------------------------------------------------


def ground_checks(
    mechanism: Mechanism,
    allowed: Verdicts,
    ground: Ground,
    law: Law | None,
    times: Array,
    q: Array,
) -> dict[str, Check]:
    """Whether a robot that is controlled stays on its feet, and whether bodies pass through the ground."""
    if allowed.tilt is None and allowed.height is None and allowed.depth is None:
        return {}
    poses = forward_kinematics(mechanism, q)
    found: dict[str, Check] = {}
    first = mechanism.links[0]
    if law is not None and first.parent == WORLD and _is_base(first):
        found |= _fall_checks(mechanism, allowed, ground, law, times, q, poses)
        walked = law.walked()
        if walked is not None:
            found = {WALK: Check.within(0.0 if walked[0] else 1.0, 0.5, "1", walked[1])} | found
    if allowed.depth is not None:
        found[ABOVE] = _depth_check(mechanism, allowed.depth, ground, times, poses)
    return found


def _is_base(link: Link) -> bool:
    """Whether a body on the world moves by itself: freely, or in a plane without drives."""
    joint = link.joint
    return joint.is_free or (KINDS[joint.kind].slides_in_a_plane and not any(joint.driven))


def _fall_checks(
    mechanism: Mechanism,
    allowed: Verdicts,
    ground: Ground,
    law: Law,
    times: Array,
    q: Array,
    poses: Poses,
) -> dict[str, Check]:
    up = ground.frame(mechanism)[0]
    base, n_base = mechanism.links[0].body.name, mechanism.links[0].joint.n_dof
    course = np.tile(q[0], (len(times), 1))
    followed = law.followed(mechanism, times)
    if followed is not None:
        wanted = followed[0]
        first = 0 if wanted[:, :n_base].any() else n_base  # laws that leave the base alone ask for zero
        course[:, first:] = wanted[:, first:]
    asked = forward_kinematics(mechanism, course)
    (R, p), (R_asked, p_asked) = poses[base], asked[base]
    found: dict[str, Check] = {}
    if allowed.tilt is not None:
        tilt = _angle(R @ (R[0].T @ up), up) - _angle(R_asked @ (R_asked[0].T @ up), up)
        k = int(np.argmax(tilt))
        words = f"the base '{base}' tilts by at most {np.degrees(max(tilt[k], 0.0)):.3g} degrees"
        if tilt[k] > allowed.tilt:
            when = times[int(np.argmax(tilt > allowed.tilt))]
            words = (
                f"the robot fell: its base '{base}' tilts by more than {np.degrees(allowed.tilt):.3g} "
                f"degrees from t = {when:.4g} s, by {np.degrees(tilt[k]):.3g} degrees at t = {times[k]:.4g} s"
            )
        found[TILT] = Check.within(max(0.0, float(tilt[k])), allowed.tilt, "rad", words)
    if allowed.height is not None:
        standing = np.full(len(times), -np.inf)
        for point in _points_used(mechanism, ground):
            R_foot, p_foot = asked[point.body]
            standing = np.maximum(standing, (p_asked - p_foot - R_foot @ point.position) @ up)
        height = ground.heights(mechanism, p[:, None])[:, 0]
        # a base that starts beside its feet has no height to lose
        lost = np.where(standing > 0.0, 1.0 - height / np.where(standing > 0.0, standing, 1.0), 0.0)
        k = int(np.argmax(lost))
        kept = 100.0 * (1.0 - max(0.0, lost[k]))
        words = f"the base '{base}' keeps at least {kept:.3g} % of its height above its feet"
        if lost[k] > allowed.height:
            when = times[int(np.argmax(lost > allowed.height))]
            words = (
                f"the robot fell: its base '{base}' is {height[k]:.3g} m above the ground at t = "
                f"{times[k]:.4g} s, standing height {standing[k]:.3g} m; too low from t = {when:.4g} s"
            )
        found[HEIGHT] = Check.within(max(0.0, float(lost[k])), allowed.height, "1", words)
    return found


def _angle(directions: Array, up: Array) -> Array:
    """Angles (k,) of directions (k, 3) with a unit vector (3,)."""
    angle: Array = np.arctan2(np.linalg.norm(np.cross(directions, up), axis=-1), directions @ up)
    return angle


def _depth_check(mechanism: Mechanism, allowed: float, ground: Ground, times: Array, poses: Poses) -> Check:
    """How deep points of bodies that no contact force holds are in the ground."""
    used = list(_points_used(mechanism, ground))
    feet = ground.heights(mechanism, _places(poses, [(x.body, x.position) for x in used])).min(axis=1)
    known = list(_body_points(mechanism, ground))
    heights = ground.heights(mechanism, _places(poses, [(body, place) for body, _, place in known]))
    depth = np.minimum(feet, 0.0)[:, None] - heights
    at = _worst(depth)
    body, what, _ = known[at[1]]
    words = "no body is below the ground"
    if depth[at] > allowed:
        first = times[int(np.argmax(depth[:, at[1]] > allowed))]
        words = (
            f"{what} of body '{body}' is {-heights[at]:.3g} m below the ground at t = {times[at[0]]:.4g} s, "
            f"from t = {first:.4g} s: it has no contact point there, so nothing holds it"
        )
    return Check.within(max(0.0, float(depth[at])), allowed, "m", words)


def _points_used(mechanism: Mechanism, ground: Ground) -> Iterator[Any]:
    names = set(ground.contact_names(mechanism))
    return (point for point in mechanism.contact_points if point.name in names)


def _body_points(mechanism: Mechanism, ground: Ground) -> Iterator[tuple[str, str, Array]]:
    """Points of bodies that are known: body, what it is, place (3,) in the body frame."""
    used = {point.name for point in _points_used(mechanism, ground)}
    for link in mechanism.links:
        if link.body.inertia.mass > 0.0:  # bodies without mass are frames between joints
            yield link.body.name, "the origin", np.zeros(3)
            yield link.body.name, "the center of mass", np.asarray(link.body.inertia.center)
    for point in mechanism.contact_points:
        if point.name not in used:
            yield point.body, f"the point '{point.name}'", point.position


def _places(poses: Poses, points: list[tuple[str, Array]]) -> Array:
    """Points of bodies in the world, (k, m, 3)."""
    rows = [poses.body_names.index(body) for body, _ in points]
    local = np.array([place for _, place in points])
    placed: Array = poses.position[:, rows] + np.einsum("kmij,mj->kmi", poses.rotation[:, rows], local)
    return placed
