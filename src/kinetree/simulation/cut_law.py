"""What drives single joints: constants, tables of time, feedback on the joint's own coordinate, functions.

Joints of the tree and coordinates of cut joints are driven by the same values, by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array, number, numbers
from kinetree.algebra.functions import check_takes
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.errors import InputError, SimulationError

LawFunction = Callable[[float, Array, Array], Any]


@dataclass(frozen=True, eq=False)
class JointDrive:
    """constant + table(t) + kp e + kd ed, e = desired(t) - s, within a limit; or a function of (t, q, qd)."""

    constant: float = 0.0
    table: PiecewisePolynomial | None = None
    desired: PiecewisePolynomial | None = None
    kp: float = 0.0
    kd: float = 0.0
    limit: float = np.inf
    function: LawFunction | None = None

    @property
    def is_constant(self) -> bool:
        """Whether time and state do not matter."""
        return self.table is None and self.desired is None and self.function is None

    @property
    def breaks(self) -> tuple[float, ...]:
        """Times (s) where it jumps or has a kink."""
        found = [x.kinks.tolist() for x in (self.table, self.desired) if x is not None]
        return tuple(t for times in found for t in times)

    def at(self, t: float, s: float, sd: float, q: Array, qd: Array) -> float:
        """The force at a time, with the joint's own coordinate and rate, in a state."""
        force = self.constant
        if self.function is not None:
            force += self.function(t, q, qd)
        if self.table is not None:
            force += float(self.table.at(t)[0])
        if self.desired is not None:
            ahead, faster = self.desired.at(t)[0] - s, self.desired.at(t, derivative=1)[0] - sd
            force += float(self.kp * ahead + self.kd * faster)
        return min(max(force, -self.limit), self.limit)


def read_drive(value: Any, name: str) -> JointDrive:
    """What a value of a mapping from names of joints says.

    A number, a pair (times (k,), values (k,)) with straight lines between, a :class:`PiecewisePolynomial` of
    one value, a controller of one coordinate that knows its ``joint_law`` (PD), or a function of (t, q, qd).
    """
    what = f"torque of '{name}'"
    if isinstance(value, tuple) and len(value) == 2:
        values = numbers(value[1], f"values of the {what}")
        if values.ndim != 1:
            raise InputError(f"values of the {what} must be numbers (k,), got shape {values.shape}")
        value = PiecewisePolynomial.linear(numbers(value[0], f"times of the {what}"), values[:, None])
    if isinstance(value, PiecewisePolynomial):
        if value.n != 1:
            raise InputError(f"a table of the {what} needs one column, got {value.n}")
        return JointDrive(table=value)
    if hasattr(value, "joint_law"):
        desired, kp, kd, limit = value.joint_law(what)
        return JointDrive(desired=desired, kp=kp, kd=kd, limit=limit)
    if hasattr(value, "law_parts"):
        raise InputError(
            f"{what}: {type(value).__name__} is not a law of a single joint; give a number, a table "
            "(times, values), a PD of one coordinate or a function of (t, q, qd)"
        )
    if callable(value):
        return JointDrive(function=checked_function(value, what))
    return JointDrive(number(value, what))


def checked_function(function: LawFunction, what: str) -> LawFunction:
    """The user's function of one force, with its answer checked every time."""
    stated = f"the function '{getattr(function, '__name__', type(function).__name__)}' of the {what}"
    check_takes(function, "t, q, qd", stated)

    def force(t: float, q: Array, qd: Array) -> float:
        answer = numbers(function(t, q, qd), f"what {stated} returns at t = {t:g} s", SimulationError)
        if answer.size != 1 or not np.isfinite(answer).all():
            raise SimulationError(
                f"what {stated} returns at t = {t:g} s must be one number, got {np.array(answer).tolist()}"
            )
        return float(answer.reshape(-1)[0])

    return force


@dataclass(frozen=True, eq=False)
class CutLaw:
    """The drives of all coordinates of cut joints, (k,)."""

    names: tuple[str, ...]
    drives: tuple[JointDrive, ...]

    @property
    def is_python(self) -> bool:
        """Whether some of them are functions."""
        return any(drive.function is not None for drive in self.drives)

    @property
    def acts(self) -> bool:
        """Whether any of them exerts a force."""
        return any(drive.constant or not drive.is_constant for drive in self.drives)

    @property
    def breaks(self) -> tuple[float, ...]:
        """Times (s) where one jumps or has a kink."""
        return tuple(t for drive in self.drives for t in drive.breaks)

    def called(self, t: float, q: Array, qd: Array) -> Array:
        """What functions and constants say, (k,)."""
        return np.array(
            [x.constant + (0.0 if x.function is None else x.function(t, q, qd)) for x in self.drives]
        )

    def seen(self, view: Callable[[float, Array, Array], tuple[Array, Array]]) -> CutLaw:
        """The same with functions that get the states which ``view`` makes of present ones."""

        def through(function: LawFunction) -> LawFunction:
            return lambda t, q, qd: function(t, *view(t, q, qd))

        drives = (x if x.function is None else replace(x, function=through(x.function)) for x in self.drives)
        return CutLaw(self.names, tuple(drives))


def by_name(drives: Mapping[int, JointDrive]) -> LawFunction:
    """Torques (n,) of joints of the tree, by place, as one function of (t, q, qd)."""

    def torques(t: float, q: Array, qd: Array) -> Array:
        tau = np.zeros(len(q))
        for place, drive in drives.items():
            tau[place] = drive.at(t, q[place], qd[place], q, qd)
        return tau

    return torques
