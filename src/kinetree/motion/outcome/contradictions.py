"""Terms that no motion can satisfy together, found by comparing them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kinetree.errors import InputError
from kinetree.motion.problem.setting import Setting
from kinetree.motion.terms.boundary import NAMES, UNITS, Boundary
from kinetree.motion.terms.contract import Bounded, Constraint, Rows, unit_of
from kinetree.motion.terms.functions import Rate, Torque

SAME = 1e-9
Asked = dict[tuple[float, int, int], float]  # by instant, rate and joint


def check_contradictions(
    setting: Setting, constraints: Iterable[Constraint], bounded: Iterable[Bounded]
) -> None:
    """Raise where boundary conditions ask for two values at once, or for one that a limit forbids."""
    asked: Asked = {}
    for term in constraints:
        if isinstance(term, Boundary):
            _collect(setting, term, asked)
    for rows in bounded:
        if isinstance(rows, Rows) and isinstance(rows.function, Rate) and rows.family != Boundary.family:
            _check_limit(setting, rows, rows.function, asked)
    _check_pairs(bounded)


def _collect(setting: Setting, term: Boundary, asked: Asked) -> None:
    s = float(setting.where(term.at, term.family)[0])
    for rate, joints, values in term.asked(setting):
        for joint, value in zip(joints, values.tolist(), strict=True):
            other = asked.setdefault((s, rate, joint), value)
            if abs(other - value) > SAME * max(1.0, abs(value)):
                raise InputError(
                    f"{_wish(setting, s, rate, joint, value)}, but another one requires {other:g}: "
                    "two terms contradict each other"
                )


def _check_limit(setting: Setting, rows: Rows, function: Rate, asked: Asked) -> None:
    """A velocity or acceleration that is asked for must be allowed."""
    shape = len(rows.s), function.size
    low, high = (np.broadcast_to(np.asarray(x, dtype=np.float64), shape) for x in (rows.lower, rows.upper))
    for (s, rate, joint), value in asked.items():
        here = np.flatnonzero(rows.s == s)
        there = np.flatnonzero(function.columns == setting.column[joint])
        if rate != function.rate or not len(here) or not len(there):
            continue
        lower, upper = low[here[0], there[0]], high[here[0], there[0]]
        if not lower - SAME <= value <= upper + SAME:
            raise InputError(
                f"{_wish(setting, s, rate, joint, value)}, but the {rows.family} allows {lower:g} to "
                f"{upper:g}: two terms contradict each other"
            )


def _check_pairs(bounded: Iterable[Bounded]) -> None:
    """Two limits of the same quantity at the same instants must leave something between them."""
    seen: dict[tuple[str, int, int], list[tuple[Rows, float, float]]] = {}
    for rows in bounded:
        if not isinstance(rows, Rows) or np.ndim(rows.lower) > 1 or np.ndim(rows.upper) > 1:
            continue
        function = rows.function
        if not isinstance(function, Torque | Rate):
            continue
        rate, places = (
            (function.rate, function.columns) if isinstance(function, Rate) else (-1, function.rows)
        )
        low, high = (
            np.broadcast_to(np.asarray(x, dtype=np.float64), places.shape) for x in (rows.lower, rows.upper)
        )
        for k, place in enumerate(places.tolist()):
            here = seen.setdefault((type(function).__name__, rate, place), [])
            for other, lower, upper in here:
                if (low[k] > upper + SAME or high[k] < lower - SAME) and np.isin(rows.s, other.s).any():
                    raise InputError(
                        f"{rows.family}, {rows.labels[k]}: {low[k]:g} to {high[k]:g} {unit_of(rows, k)} are "
                        f"allowed, but another {other.family} allows {lower:g} to {upper:g}: "
                        "two terms contradict each other"
                    )
            here.append((rows, float(low[k]), float(high[k])))


def _wish(setting: Setting, s: float, rate: int, joint: int, value: float) -> str:
    (unit,) = setting.units([joint], *UNITS[rate])
    name = setting.mechanism.joint_names[joint]
    return f"{Boundary.family}, {NAMES[rate]} of {name} at s = {s:g} must be {value:g} {unit}"
