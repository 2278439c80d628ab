"""Trajectories made of others: one after another, or one again and again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kinetree.algebra.arrays import Array, frozen
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.errors import InputError, must_be
from kinetree.state import State
from kinetree.trajectories.base import Trajectory, checked_tolerance

SAME = 1e-9  # rad or m: how well the end of one part must meet the start of the next
MOST_CYCLES = 1_000_000


@dataclass(frozen=True, eq=False)
class Sequence(Trajectory):
    """Parts one after another; ``shifts`` (parts, n_dof) are added to their positions.

    >>> from kinetree.trajectories.polynomials import hold
    >>> sequence(hold([1.0], 1.0), hold([1.0], 2.0)).begins.tolist()
    [0.0, 1.0, 3.0]
    """

    parts: tuple[Trajectory, ...]
    shifts: Array

    @cached_property
    def begins(self) -> Array:
        """When each part begins, and the end of the last (s)."""
        return frozen(np.concatenate([[0.0], np.cumsum([part.duration for part in self.parts])]))

    @cached_property
    def breaks(self) -> Array:
        """Those of the parts, and the times between them."""
        inner = [begin + part.breaks[:-1] for begin, part in zip(self.begins[:-1], self.parts, strict=True)]
        return frozen(np.concatenate([*inner, self.begins[-1:]]))

    @property
    def n_dof(self) -> int:
        """Number of coordinates."""
        return self.parts[0].n_dof

    @cached_property
    def _places(self) -> list[tuple[int, int]]:
        """For each piece: its part and which piece of that part it is."""
        return [(k, i) for k, part in enumerate(self.parts) for i in range(len(part.breaks) - 1)]

    def piece(self, i: int, t: Array) -> State:
        """The piece of the part that it belongs to."""
        k, inner = self._places[i]
        state = self.parts[k].piece(inner, t - self.begins[k])
        return State(state.q + self.shifts[k], state.qd, state.qdd)

    def table(self, tolerance: float = 1e-12) -> PiecewisePolynomial:
        """The tables of the parts, one after another."""
        checked_tolerance(tolerance)
        known = {id(part): part.table(tolerance) for part in self.parts}
        order = max(table.order for table in known.values())
        breaks, tables = [self.begins[:1]], []
        for k, part in enumerate(self.parts):
            table = known[id(part)]
            padded = np.zeros((len(table.coefficients), order, self.n_dof))
            padded[:, : table.order] = table.coefficients
            padded[:, 0] += self.shifts[k]
            breaks.append(self.begins[k] + table.breaks[1:])
            tables.append(padded)
        return PiecewisePolynomial(np.concatenate(breaks), np.concatenate(tables))


def sequence(*parts: Trajectory) -> Sequence:
    """The parts one after another; each must begin where the one before it ends.

    >>> from kinetree.trajectories.cycloidal import cycloid
    >>> from kinetree.trajectories.polynomials import hold
    >>> there = cycloid([0.0], [1.0], 2.0)
    >>> back = sequence(there, hold([1.0], 0.5), cycloid([1.0], [0.0], 2.0))
    >>> back.duration, back.at(2.2).q.tolist()
    (4.5, [1.0])
    """
    _check_parts(parts)
    for k in range(1, len(parts)):
        gap = _end(parts[k - 1]) - parts[k].at(0.0).q
        worst = int(np.argmax(np.abs(gap)))
        if abs(gap[worst]) > SAME:
            raise InputError(
                f"part {k + 1} of the sequence does not begin where part {k} ends: coordinate {worst} would "
                f"jump by {-gap[worst]:.6g}; insert a motion that joins them"
            )
    return Sequence(parts, frozen(np.zeros((len(parts), parts[0].n_dof))))


def repeat(part: Trajectory, times: int, *, advance: bool = False) -> Sequence:
    """A motion repeated several times; it must end where it begins.

    With ``advance`` each repetition begins where the one before it ended, as the trunk of a walking robot
    does: what the motion gains in one cycle is added cycle by cycle.

    >>> from kinetree.trajectories.polynomials import cubic
    >>> repeat(cubic([0.0], [0.5], 1.0), 3, advance=True).at([1.5, 3.0]).q[:, 0].tolist()
    [0.75, 1.5]
    """
    if type(times) is not int or not 1 <= times <= MOST_CYCLES:
        raise InputError(must_be("times", f"an integer from 1 to {MOST_CYCLES}", times))
    if not isinstance(advance, bool):
        raise InputError(must_be("advance", "True or False", advance))
    _check_parts((part,))
    gain = _end(part) - part.at(0.0).q
    worst = int(np.argmax(np.abs(gain)))
    if not advance and abs(gain[worst]) > SAME:
        raise InputError(
            f"the motion does not end where it begins: coordinate {worst} gains {gain[worst]:.6g} per cycle; "
            f"with advance=True every cycle continues from the end of the previous one"
        )
    shift = np.arange(times)[:, None] * gain if advance else np.zeros((times, part.n_dof))
    return Sequence((part,) * times, frozen(shift))


def _check_parts(parts: tuple[Trajectory, ...]) -> None:
    if not parts:
        raise InputError("a sequence needs at least one trajectory, got none")
    for k, part in enumerate(parts):
        if not isinstance(part, Trajectory):
            raise InputError(must_be(f"part {k + 1} of the sequence", "a Trajectory", part))
        if part.n_dof != parts[0].n_dof or part.n_dof == 0:
            raise InputError(
                f"part {k + 1} of the sequence has {part.n_dof} coordinates, the first {parts[0].n_dof}"
            )


def _end(part: Trajectory) -> Array:
    return part.at(part.duration).q
