"""One cycle of a leg, from heel strike to heel strike, out of a result of one step or of a stride.

A step begins when the heel of the leading, right foot strikes and ends when that of the left one does. Who
walks evenly does in the next step with one leg what the other did before, so the right leg's cycle is its own
step and then the left leg's ([Barman2020], section 5.1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, numbers
from kinetree.errors import InputError, listed, must_be, shown
from kinetree.gait_data.curves import ALL, ANGLES, FORCES, MOMENTS, POWERS, REACTIONS
from kinetree.gait_data.ground import FORCE
from kinetree.model.rooted import carried_bodies
from kinetree.result.result import Result
from kinetree.result.variables import AT_JOINT, NET_FORCE

LEGS = ("right", "left")
GRAVITY = 9.80665
TOUCHES = 0.05  # of body weight: what plates of measured data count as contact
PERCENT = 101
ENOUGH = 8  # samples of a step below which curves mean nothing


@dataclass(frozen=True, eq=False)
class GaitCycle:
    """Curves of one leg over ``percent`` (101,) of its cycle, named as in ``kinetree.gait_analysis.CURVES``.

    Angles in degrees, forces in body weights, moments in N m/kg, powers in W/kg. ``stance`` is the share of
    the cycle (%) in which the foot carries more than 5 % of the weight, nan without ground reactions;
    ``duration`` (s) of the cycle; ``mass`` (kg) that the curves are divided by.
    """

    percent: Array
    curves: dict[str, Array]
    stance: float
    duration: float
    mass: float

    def __getitem__(self, name: str) -> Array:
        return self.curves[name]


def gait_cycle(result: Result, leg: str = "right", steps: int | None = None) -> GaitCycle:
    """The cycle of a leg from a result of walking.

    The result has q (and, for moments and powers, tau and qd) with the joints of :func:`kinetree.zoo.human`,
    rooted anywhere, x forward, z up. The ground's force on each foot is its variable ``ground_reaction``
    (time, foot, axis) in N with the feet "right" and "left", or the sum of ``contact_force`` over the contact
    points whose names begin with the side. One step, as is assumed unless ``settings["steps"]`` or ``steps``
    says 2, starts with the strike of the right heel and is mirrored; of a stride the ``leg`` matters.
    """
    if leg not in LEGS:
        raise InputError(must_be("leg", "'right' or 'left'", leg))
    count = result.settings.get("steps", 1) if steps is None else steps
    if count not in (1, 2):
        raise InputError(f"a gait result holds 1 step or the 2 of a stride, got {shown(count)}")
    time = np.asarray(result["time"].values, dtype=np.float64)
    if len(time) < ENOUGH or not time[-1] > time[0]:
        raise InputError(f"a gait needs at least {ENOUGH} samples over time, got {len(time)}")
    stride = _Stride(time - time[0], count, leg)
    mass = result.mechanism.mass
    curves: dict[str, Array] = {}
    q = _by_joint(result, "q")
    for key, kind in ANGLES.items():
        curves[key] = np.degrees(stride.of(q, kind.source))
    if "tau" in result:
        tau, qd = _by_joint(result, "tau"), _by_joint(result, "qd") if "qd" in result else None
        for key, kind in MOMENTS.items():
            curves[key] = stride.of(tau, kind.source) / mass
        if qd is not None:
            power = {name: tau[name] * qd[name] for name in tau}
            for key, kind in POWERS.items():
                curves[key] = stride.of(power, kind.source) / mass
    forces, stance = _ground(result), float("nan")
    if forces is not None:
        for key, kind in FORCES.items():
            parts = {f"{foot}_{kind.source}": _part(forces[foot], foot, kind.source) for foot in LEGS}
            curves[key] = stride.of(parts, kind.source) / (mass * GRAVITY)
        stance = stance_share(curves["force_vertical"])
    if NET_FORCE in result or "reaction" in result:
        size = _joint_forces(result)
        for key, kind in REACTIONS.items():
            if all(f"{side}_{kind.source}" in size for side in LEGS):
                curves[key] = stride.of(size, kind.source) / (mass * GRAVITY)
    ordered = {key: curves[key] for key in ALL if key in curves}
    return GaitCycle(np.linspace(0.0, 100.0, PERCENT), ordered, stance, stride.duration, mass)


def stance_share(vertical: ArrayLike) -> float:
    """How much of the cycle (%) the foot carries, from its vertical force (body weights) since heel strike.

    >>> stance_share(np.clip(62.5 - np.arange(101), 0.0, 1.0))
    62.9
    """
    vertical = checked_curve(vertical, "vertical")
    n = len(vertical) - 1
    carries = vertical > TOUCHES
    if not carries.any() or carries.all():
        return 100.0 * float(carries[0])
    last = int(np.flatnonzero(carries & ~np.roll(carries, -1))[-1]) if not carries[-1] else n
    if last >= n:
        return 100.0
    high, low = vertical[last], vertical[last + 1]
    return float(100.0 * (last + (high - TOUCHES) / (high - low)) / n)


def checked_curve(values: ArrayLike, what: str) -> Array:
    """A curve over a cycle: at least three finite numbers in a row."""
    curve = finite(numbers(values, what), what)
    if curve.ndim != 1 or len(curve) < 3:
        raise InputError(f"{what} must be a row of at least three numbers, got shape {curve.shape}")
    return curve


class _Stride:
    """From samples of a step, or of a stride, to percent of the cycle of a leg."""

    def __init__(self, time: Array, steps: int, leg: str) -> None:
        self.time, self.steps, self.leg = time, steps, leg
        self.duration = float(2.0 / steps * time[-1])

    def of(self, values: dict[str, Array], source: str) -> Array:
        """A quantity of the leg over 101 percents."""
        from scipy.interpolate import PchipInterpolator

        other = LEGS[1 - LEGS.index(self.leg)]
        mine, theirs = values[f"{self.leg}_{source}"], values[f"{other}_{source}"]
        if self.steps == 1:  # the leg that leads, then the other one
            first, second = (mine, theirs) if self.leg == "right" else (theirs, mine)
            t = np.concatenate([self.time, self.duration / 2 + self.time])
            y = np.concatenate([first, second])
        else:
            t, y = self.time, mine
            if self.leg == "left":  # its cycle begins in the middle
                t = np.concatenate([t, t + self.duration]) - self.duration / 2
                y = np.concatenate([y, y])
        keep = np.append(np.diff(t) > 1e-12 * self.duration, True)  # of two samples at one time the later
        curve = PchipInterpolator(t[keep], y[keep])
        at = np.linspace(0.0, self.duration, PERCENT)
        found: Array = np.asarray(curve(np.clip(at, t[0], t[-1])))
        return found


def _by_joint(result: Result, variable: str) -> dict[str, Array]:
    """A variable of the joints by name; an error says which joints of a leg are missing."""
    values, names = np.asarray(result[variable].values), [str(x) for x in result["joint"].values]
    if values.ndim != 2:
        raise InputError(
            must_be(
                f"'{variable}' of a gait",
                "over time and joint",
                result[variable].dims,
                "",
            )
        )
    needed = [f"{leg}_{kind.source}" for leg in LEGS for kind in (*ANGLES.values(), *MOMENTS.values())]
    missing = [name for name in dict.fromkeys(needed) if name not in names]
    if missing:
        raise InputError(
            f"mechanism '{result.mechanism.name}' is not a walking human: it lacks the joints "
            f"{listed(missing)} of kinetree.zoo.human"
        )
    return {name: values[:, j] for j, name in enumerate(names)}


def _ground(result: Result) -> dict[str, Array] | None:
    """The ground's force on each foot (time, 3), in N."""
    if FORCE in result:
        array = result[FORCE]
        if array.dims != ("time", "foot", "axis"):
            raise InputError(must_be(f"'{FORCE}'", "over time, foot and axis", array.dims, ""))
        feet = [str(name) for name in array["foot"].values]
        if sorted(feet) != sorted(LEGS):
            raise InputError(must_be(f"the feet of '{FORCE}'", "'right' and 'left'", listed(feet), ""))
        return {foot: np.asarray(array.values)[:, feet.index(foot)] for foot in LEGS}
    if "contact_force" not in result or result["contact_force"].dims != ("time", "contact", "axis"):
        return None
    names = [str(name) for name in result["contact"].values]
    values = np.asarray(result["contact_force"].values)
    found = {foot: [k for k, name in enumerate(names) if name.startswith(f"{foot}_")] for foot in LEGS}
    return {foot: values[:, which].sum(axis=1) for foot, which in found.items()}


def _part(force: Array, foot: str, direction: str) -> Array:
    """Vertical, forward, or away from the middle."""
    if direction == "vertical":
        return force[:, 2]
    if direction == "foreaft":
        return force[:, 0]
    return force[:, 1] if foot == "left" else -force[:, 1]


def _joint_forces(result: Result) -> dict[str, Array]:
    """Sizes of the net forces in joints by their names, whichever body they carry."""
    if NET_FORCE in result:
        names = [str(name) for name in result[AT_JOINT].values]
        return dict(zip(names, np.asarray(result[NET_FORCE].values).T, strict=True))
    size = np.linalg.norm(np.asarray(result["reaction"].values)[..., :3], axis=-1)
    bodies = [str(name) for name in result["body"].values]
    return {joint: size[:, bodies.index(body)] for joint, body in carried_bodies(result.mechanism).items()}
