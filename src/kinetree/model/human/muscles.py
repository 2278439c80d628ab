"""Muscles of the digital human's legs, scaled to the body."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array, number
from kinetree.algebra.placement import Placement
from kinetree.algebra.rotation import rotation_from_rpy
from kinetree.algebra.smooth_functions import CubicSpline
from kinetree.errors import InputError
from kinetree.model.expected import expect_mechanism
from kinetree.model.human.muscle_data import CYLINDERS, KNEE, LENGTHS, MASS, MUSCLES, PATELLA
from kinetree.model.mechanism import Mechanism
from kinetree.model.muscle import MovingPoint, Muscle, PathPoint, PathWrap, Wrap

BODIES = {"p": "pelvis", "t": "thigh", "s": "shank", "f": "foot", "k": "thigh"}
MM = 1e-3
MIRROR = np.array([1.0, -1.0, 1.0])


def with_leg_muscles(person: Mechanism, mass: float | None = None) -> Mechanism:
    """The digital human with 80 muscles of the legs, which span hips, knees and ankles.

    Paths and numbers of Rajagopal et al. 2016, 40 muscles a side. Attachments and cylinders are scaled by the
    lengths of pelvis, thighs, shanks and feet, optimal fiber and slack lengths as the paths of the standing
    person, greatest forces as volumes, mass times height (Handsfield et al. 2014), over fiber lengths.
    ``mass`` (kg) of the body, by default that of the mechanism. Knees are hinges here, patellae moving
    points, and muscles of the toes end at the feet.

    >>> import kinetree as kt
    >>> person = kt.human.with_leg_muscles(kt.zoo.human())
    >>> len(person.muscles), person.muscles[33].name
    (80, 'right_soleus')
    """
    expect_mechanism(person, "person")
    for side in ("right", "left"):
        for part in ("thigh", "shank", "foot", "toes"):
            if f"{side}_{part}" not in person.body_names:
                raise InputError(f"'{person.name}' is no digital human: it has no body '{side}_{part}'")
    weight = person.mass if mass is None else number(mass, "mass")
    muscles: list[Muscle] = []
    wraps: list[Wrap] = []
    for side in ("right", "left"):
        leg = _Leg.of(person, side, weight)
        wraps += leg.wraps()
        muscles += leg.muscles()
    return replace(person, muscles=(*person.muscles, *muscles), wraps=(*person.wraps, *wraps))


@dataclass(frozen=True, eq=False)
class _Leg:
    """One leg: its scales, where the hip is in the pelvis, and the factor of forces."""

    side: str
    hip: Array
    scale: dict[str, Array]
    strength: float

    @classmethod
    def of(cls, person: Mechanism, side: str, mass: float) -> _Leg:
        hip, knee, ankle, toe = (
            person.link(f"{side}_{part}").placement.position for part in ("thigh", "shank", "foot", "toes")
        )
        thigh, shank = (np.linalg.norm(x) / (LENGTHS[k] * MM) for x, k in ((knee, "thigh"), (ankle, "shank")))
        mean = float(0.5 * (thigh + shank))
        wide, foot = abs(hip[1]) / (LENGTHS["pelvis"] * MM), toe[0] / (LENGTHS["foot"] * MM)
        scale = {"p": np.array([mean, wide, mean]), **{k: np.full(3, thigh) for k in "tk"}}
        scale |= {"s": np.full(3, shank), "f": np.full(3, foot)}
        return cls(side, hip, scale, mass / MASS * mean)

    def place(self, body: str, point: Array) -> Array:
        """A place in mm of the right leg of the model, in the frame of the body of this leg (m)."""
        flip = MIRROR if self.side == "left" else 1.0
        found: Array = MM * self.scale[body] * point * flip
        return found + self.hip if body == "p" else found

    def name(self, body: str) -> str:
        return "pelvis" if body == "p" else f"{self.side}_{BODIES[body]}"

    def wraps(self) -> Iterator[Wrap]:
        """The cylinders."""
        for name, (body, center, rpy, radius, length, side) in CYLINDERS.items():
            R = rotation_from_rpy(np.array(rpy))
            if self.side == "left":  # mirrored, with the axis the other way: a rotation again
                R = np.diag(MIRROR) @ R @ np.diag([1.0, 1.0, -1.0])
            size = float(self.scale[body].mean()) * MM
            place = Placement.at(self.place(body, np.array(center)), R)
            yield Wrap(
                f"{self.side}_{name}",
                self.name(body),
                "cylinder",
                place,
                (radius * size,),
                length * size,
                side,
            )

    def muscles(self) -> Iterator[Muscle]:
        """The muscles."""
        for name, force, optimal, slack, pennation, uses, points in MUSCLES:
            longer = self._length(points, scaled=True) / self._length(points, scaled=False)
            yield Muscle(
                f"{self.side}_{name}",
                tuple(self._point(point) for point in points),
                tuple(PathWrap(f"{self.side}_{wrap}", first, last) for wrap, first, last in uses),
                max_isometric_force=force * self.strength / longer,
                optimal_fiber_length=optimal * MM * longer,
                tendon_slack_length=slack * MM * longer,
                pennation_angle=pennation,
                activation_time=0.01,
                deactivation_time=0.04,
            )

    def _point(self, point: tuple[Any, ...]) -> PathPoint | MovingPoint:
        body, *rest = point
        if body != "k":
            x, y, z = self.place(str(body), np.array(rest)).tolist()
            return PathPoint(self.name(str(body)), (x, y, z))
        across, ahead, up = PATELLA[int(rest[0])]
        along = [self.place("k", np.array([x, across, z])) for x, z in zip(ahead, up, strict=True)]
        knee, (x, y, z) = tuple(np.radians(KNEE).tolist()), np.array(along).T.tolist()
        laws = CubicSpline(knee, tuple(x)), CubicSpline(knee, tuple(z))
        joint = f"{self.side}_knee"
        return MovingPoint(self.name("k"), laws[0], y[0], laws[1], (joint, None, joint))

    def _length(self, points: tuple[Any, ...], scaled: bool) -> float:
        """The length through all points of the standing person, in this leg or in the model's (m)."""
        lengths = LENGTHS["thigh"], LENGTHS["shank"]
        found = []
        for body, *rest in points:
            where = np.array(rest)
            if body == "k":
                across, ahead, up = PATELLA[int(rest[0])]
                where = np.array([ahead[0], across, up[0]])
            size = self.scale[str(body)] if scaled else 1.0
            down = lengths[0] * (self.scale["t"][0] if scaled else 1.0) if body in "sf" else 0.0
            down += lengths[1] * (self.scale["s"][0] if scaled else 1.0) if body == "f" else 0.0
            found.append(MM * (size * where - np.array([0.0, 0.0, down])))
        return float(np.linalg.norm(np.diff(found, axis=0), axis=1).sum())
