"""External wrenches of a simulation: constant, or varying with time as a table or a function has it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.adaptive import fitted_pieces, side_by_side
from kinetree.algebra.arrays import Array, numbers
from kinetree.algebra.functions import check_takes
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.dynamics.loads import on_body
from kinetree.errors import InputError, must_be, shown
from kinetree.kernels.external_load import LOAD
from kinetree.kernels.layout import layout_rows
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import WORLD_AXIS
from kinetree.state import Wrench

SIX = 6  # numbers of a wrench
Given = Wrench | Sequence[Wrench]
Timed = tuple[ArrayLike, Given]
LoadsGiven = Given | Timed | Sequence[Wrench | Timed] | Callable[[float], Given]


@dataclass(frozen=True, eq=False)
class Loads:
    """Wrenches whose forces and moments are those of ``table`` (k, order, 6 m), or constant without one."""

    wrenches: tuple[Wrench, ...] = ()
    table: PiecewisePolynomial | None = None

    @property
    def breaks(self) -> tuple[float, ...]:
        """Times (s) at which a step has to end."""
        return () if self.table is None else tuple(t for t in self.table.kinks.tolist() if t > 0.0)

    def at(self, t: ArrayLike) -> list[Wrench]:
        """The wrenches at times (...), each with forces and moments (..., 3) if they vary."""
        if self.table is None:
            return list(self.wrenches)
        rows = self.table.at(t)
        return [
            replace(load, force=rows[..., SIX * k : SIX * k + 3], moment=rows[..., SIX * k + 3 : SIX * k + 6])
            for k, load in enumerate(self.wrenches)
        ]

    def rows(self, mechanism: Mechanism) -> Array:
        """A row of `LOAD` for each wrench, at time zero."""
        rows = [load_row(mechanism, load) for load in self.at(0.0)]
        return np.concatenate(rows) if rows else np.zeros((0, LOAD.width))

    def polynomials(self, mechanism: Mechanism) -> tuple[Array, Array] | None:
        """Breaks and coefficients of all forces and moments in the axes of the rows; None if constant."""
        if self.table is None:
            return None
        c = np.array(self.table.coefficients)
        for k, load in enumerate(self.wrenches):
            body = on_body(mechanism, replace(load, force=np.eye(3), moment=np.eye(3)))
            if load.frame == "body":
                R = np.asarray(body.force) @ mechanism.tree.body_rotation[mechanism.body_index(body.body)].T
                for part in (slice(SIX * k, SIX * k + 3), slice(SIX * k + 3, SIX * k + SIX)):
                    c[:, :, part] = c[:, :, part] @ R
        return self.table.breaks, c

    def settings(self) -> list[dict[str, Any]]:
        """All of it in plain numbers and texts."""
        stated: list[dict[str, Any]] = [
            {"body": load.body, "frame": load.frame, "point": np.asarray(load.point).tolist()}
            for load in self.wrenches
        ]
        for row, load in zip(stated, self.wrenches, strict=True):
            if self.table is None:
                row |= {name: np.asarray(getattr(load, name)).tolist() for name in ("force", "moment")}
            else:
                row["varies"] = True
        return stated


def read_loads(given: Any, duration: float) -> Loads:
    """Loads of a simulation that lasts so long (s) out of its argument ``loads``.

    A wrench, or a list of wrenches and of pairs (times (k,), wrench) whose force and moment (k, 3) are joined
    by straight lines, equal times making a jump, and kept before and after; such a pair with several
    wrenches; or a function of t (s) that returns wrenches, always on the same bodies at the same points.
    """
    if callable(given):
        return _of_function(given, duration)
    every = [given] if isinstance(given, Wrench) or _is_pair(given) else given
    if not isinstance(every, Sequence) or isinstance(every, str):
        raise InputError(must_be("loads", "a Wrench or a list of them", given))
    wrenches, tables = list[Wrench](), list[PiecewisePolynomial | None]()
    for load in every:
        if _is_pair(load):
            found, table = _of_table(*load)
            wrenches += found
            tables.append(table)
        else:
            wrenches += _listed([load])
            tables.append(None)
            _refuse_rows(wrenches[-1])
    if all(table is None for table in tables):
        return Loads(tuple(wrenches))
    parts = [_constant(load) if x is None else x for load, x in zip(every, tables, strict=True)]
    return Loads(_still(wrenches), side_by_side(parts))


def _is_pair(given: Any) -> bool:
    """Whether something is (times, wrenches), not two loads."""
    if not isinstance(given, tuple) or len(given) != 2 or isinstance(given[0], Wrench):
        return False
    return not (isinstance(given[0], tuple) and _is_pair(given[0]))


def _constant(load: Wrench) -> PiecewisePolynomial:
    row = np.concatenate([load.force, load.moment])
    return PiecewisePolynomial(np.zeros(2), row[None, None])


def _refuse_rows(load: Wrench) -> None:
    for name in ("force", "moment"):
        if np.ndim(getattr(load, name)) != 1:
            raise InputError(
                f"the wrench on '{load.body}' must be constant in a simulation, got a {name} of shape "
                f"{np.shape(getattr(load, name))}; one that varies is given with its times, "
                "loads=(times, wrench), or as a function of t"
            )


def _listed(given: Any) -> tuple[Wrench, ...]:
    wrenches = (given,) if isinstance(given, Wrench) else given
    if not isinstance(wrenches, Sequence):
        raise InputError(must_be("loads", "a Wrench or a list of them", given))
    for load in wrenches:
        if not isinstance(load, Wrench):
            raise InputError(f"loads must be a Wrench or a list of them, got {shown(load)} in it")
    return tuple(wrenches)


def _of_table(times: Any, given: Any) -> tuple[tuple[Wrench, ...], PiecewisePolynomial]:
    """Straight lines between the rows of wrenches."""
    t, wrenches = numbers(times, "times of loads"), _listed(given)
    if t.ndim != 1 or len(t) < 2:
        raise InputError(f"times of loads must be a vector of at least 2, got shape {t.shape}")
    columns = [np.zeros((len(t), 0))]
    for load in wrenches:
        for name in ("force", "moment"):
            value = np.asarray(getattr(load, name))
            if value.shape not in ((3,), (len(t), 3)):
                raise InputError(
                    f"the {name} on '{load.body}' must have shape ({len(t)}, 3), a row for each time, or "
                    f"(3,), got {value.shape}"
                )
            columns.append(np.broadcast_to(value, (len(t), 3)))
    return wrenches, PiecewisePolynomial.linear(t, np.concatenate(columns, axis=1))


def _of_function(function: Callable[[float], Any], duration: float) -> Loads:
    """Polynomials through a function of time."""
    stated = f"the function of loads '{getattr(function, '__name__', type(function).__name__)}'"
    check_takes(function, "t", stated)
    first = _answer(function(0.0), 0.0, stated)

    def values(t: float) -> Array:
        now = _answer(function(t), t, stated)
        if [_place(load) for load in now] != [_place(load) for load in first]:
            raise InputError(
                f"{stated} must return wrenches on the same bodies, points and frames at all times; they "
                f"differ between t = 0 and {t:g} s"
            )
        return np.concatenate([np.concatenate([load.force, load.moment]) for load in now])

    return Loads(_still(first), fitted_pieces(values, duration, stated)) if first else Loads()


def _answer(given: Any, t: float, stated: str) -> tuple[Wrench, ...]:
    wrenches = _listed(given)
    for load in wrenches:
        if np.ndim(load.force) != 1 or np.ndim(load.moment) != 1:
            raise InputError(
                f"{stated} must return forces and moments (3,), not rows of them, at t = {t:g} s"
            )
    return wrenches


def _place(load: Wrench) -> tuple[Any, ...]:
    return load.body, load.frame, *np.asarray(load.point).tolist()


def _still(wrenches: Sequence[Wrench]) -> tuple[Wrench, ...]:
    """Where wrenches act, without what they are."""
    return tuple(replace(load, force=np.zeros(3), moment=np.zeros(3)) for load in wrenches)


def load_row(mechanism: Mechanism, given: Wrench) -> Array:
    """A wrench as compiled code reads it, (1, width of `LOAD`)."""
    load = on_body(mechanism, given)
    force, moment = np.asarray(load.force), np.asarray(load.moment)
    axis, r = place_on_axis(mechanism, load.body, np.asarray(load.point), f"the wrench on '{load.body}'")
    if load.frame == "body":
        R = mechanism.tree.body_rotation[mechanism.body_index(load.body)]
        force, moment = R @ force, R @ moment
    fixed = int(load.frame == "world")
    return layout_rows(LOAD, 1, axis=axis, fixed=fixed, r=[r], force=[force], moment=[moment])


def place_on_axis(mechanism: Mechanism, body: str, point: Array, what: str) -> tuple[int, Array]:
    """The axis that carries a body's point, and the point in its frame."""
    tree, k = mechanism.tree, mechanism.body_index(body)
    axis = int(tree.body_axis[k])
    if axis == WORLD_AXIS:
        raise InputError(f"{what} is on body '{body}', which is fixed to the world and cannot move")
    return axis, tree.body_rotation[k] @ point + tree.body_position[k]
