"""What terms are: functions of the motion at samples, integrated (objectives) or bounded (constraints).

A function gives k numbers at every sample with their derivatives by (q, qd, qdd) of the moving coordinates;
the chain rule to control points and duration is done once for all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, number, numbers
from kinetree.algebra.bspline import Integers
from kinetree.errors import InputError, unknown_name
from kinetree.motion.problem.setting import Setting
from kinetree.motion.program.evaluation import At


class Quantity(ABC):
    """k numbers at each sample, with derivatives."""

    size: int
    of_pose = False  # whether it is a function of q alone, of where bodies are
    of_squares = False  # whether it is a sum of squares, which is convex where what is squared is straight

    @abstractmethod
    def values(self, at: At) -> Array:
        """The numbers, (m, k)."""

    @abstractmethod
    def bend(self, at: At, weight: Array) -> None:
        """Add the second derivatives of weight . values; weight (m, k)."""


class Function(Quantity):
    """A quantity that is a function of (q, qd, qdd)."""

    @abstractmethod
    def slopes(self, at: At) -> Array:
        """Its derivatives by (q, qd, qdd) of the moving coordinates, (m, 3, k, n)."""


class Chained(Quantity):
    """A quantity of the profiles that is no function of (q, qd, qdd): it has a chain rule of its own."""

    @abstractmethod
    def pull(self, at: At) -> tuple[Array, Array]:
        """Its derivatives by control points (m, p + 1, k, n) and T (m, k)."""


@dataclass(eq=False)
class Rows:
    """A function bounded at samples ``s``: lower <= values <= upper, (k,) or (m, k).

    ``scale`` (k,) is what counts as 1 of each number for solver tolerances; ``labels`` name the k numbers.
    """

    function: Quantity
    s: Array
    lower: ArrayLike
    upper: ArrayLike
    family: str
    labels: Sequence[str]
    unit: str | Sequence[str]
    scale: ArrayLike = 1.0
    limited: str = ""  # what a larger bound would be: "torque", for shadow prices


@dataclass(eq=False)
class LinearRows:
    """Linear conditions lower <= sum values x[columns] <= upper on the unknowns x; ``s`` says where.

    ``columns`` and ``values`` (rows, width); rows come sample by sample, one for each of the labels.
    """

    columns: Integers
    values: Array
    s: Array
    lower: Array
    upper: Array
    family: str
    labels: Sequence[str]
    unit: str | Sequence[str]


@dataclass(eq=False)
class Steps:
    """Changes of a function from sample to sample: lower T ds <= change <= upper T ds."""

    function: Quantity
    s: Array
    lower: Array
    upper: Array
    family: str
    labels: Sequence[str]
    unit: str | Sequence[str]


Bounded = Rows | LinearRows | Steps


def unit_of(rows: Bounded, k: int) -> str:
    """Unit of the k-th labelled number."""
    return rows.unit if isinstance(rows.unit, str) else rows.unit[k]


class Objective(ABC):
    """A term to be minimised: the time integral of its integrand. ``0.01 * term`` weighs it."""

    weight: float = 1.0
    family = "objective"
    quadrature_error = 1e-3  # relative difference of two quadratures that counts as none

    def __rmul__(self, factor: float) -> Self:
        weighted, what = copy(self), f"weight of {type(self).__name__}"
        weighted.weight = self.weight * number(factor, what)
        if weighted.weight < 0.0:
            raise InputError(
                f"{what} must be 0 or more, as terms are minimised, got {weighted.weight:g}; to maximise "
                "something, give its negative as a CustomObjective"
            )
        return weighted

    __mul__ = __rmul__

    def reactions(self) -> tuple[str, ...]:
        """Bodies whose joint reactions it reads; "world" for the ground's."""
        return ()

    @abstractmethod
    def integrand(self, setting: Setting) -> Quantity | None:
        """The function to integrate, one number at each sample; None stands for 1."""


class Constraint(ABC):
    """A condition that the motion must satisfy."""

    family = "constraint"

    def reactions(self) -> tuple[str, ...]:
        """Bodies whose joint reactions it reads; "world" for the ground's."""
        return ()

    @abstractmethod
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, checked against the mechanism."""


def per_joint(
    value: ArrayLike | dict[str, float], setting: Setting, joints: Sequence[int], what: str, default: float
) -> Array:
    """One number for each of the joints, from one for all, a list, or a mapping from joint names."""
    names = [setting.mechanism.joint_names[j] for j in joints]
    if isinstance(value, dict):
        for name in value:
            if name not in names:
                raise InputError(f"{what}: {unknown_name('joint', name, names)}")
        value = [value.get(name, default) for name in names]
    array = numbers(value, what)
    if array.ndim > 1 or (array.ndim == 1 and len(array) != len(names)):
        raise InputError(f"{what} must be one number or {len(names)}, one per joint, got shape {array.shape}")
    if np.isnan(array).any():
        raise InputError(f"{what} must not be NaN, got {array.tolist()}")
    return np.broadcast_to(array, (len(names),)).astype(np.float64)


def ordered(lower: Array, upper: Array, names: Sequence[str], what: str) -> None:
    """Raise where a lower bound is above the upper one."""
    for low, high, name in zip(lower, upper, names, strict=True):
        if low > high:
            raise InputError(f"{what} of '{name}': lower bound {low:g} is above upper bound {high:g}")


def row(values: ArrayLike, what: str) -> Array:
    """Finite numbers."""
    return finite(numbers(values, what), what)
