"""Springs, friction, stops and drives of cut joints as machine code: a component of the right-hand side."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinetree.algebra.arrays import Array
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.engine.door import carray, compiled_callback
from kinetree.engine.lanes import fields, row_at
from kinetree.kernels import aba
from kinetree.kernels.cut_coordinate import CUT_AXES, CUT_AXIS, cut_motion, cut_resistance, push_cuts
from kinetree.kernels.layout import Layout, layout_rows
from kinetree.kernels.number import LANES
from kinetree.kernels.piecewise import polynomials_at
from kinetree.kernels.torque_law import limited
from kinetree.simulation.compiled.component import (
    DRIVING,
    JOINT_LIMIT,
    LIMITS,
    LOST,
    Component,
    Watched,
)
from kinetree.simulation.compiled.context import HEADER, ContextParts
from kinetree.simulation.compiled.rates import OF_COMPONENT

DRIVE = Layout(
    world=False,
    constant=True,
    table=int,  # where its polynomials begin among the component's numbers, how many, of which order
    table_count=int,
    table_order=int,
    desired=int,
    desired_count=int,
    desired_order=int,
    kp=1,
    kd=1,
    limit=1,
)  # of each coordinate
SCRATCH = 5  # rows of each coordinate: forces of drives, all forces, and a polynomial with its two rates


class CutJointForces(Component):
    """Adds what acts on coordinates of cut joints to the wrenches of the axes; see `kernels.cut_coordinate`.

    ``columns`` are those of `CUT_AXIS`, of the coordinates ``names``. Limits of ``limited`` ones are watched
    as those of the tree's joints are; ``stops`` of a stiffness and a damping meet them, or None.
    ``drives`` (`simulation.cut_law.JointDrive`) act on them.
    """

    name = "cut_joints"

    def __init__(
        self,
        names: Sequence[str],
        columns: Mapping[str, Array],
        limited: NDArray[np.bool_],
        stops: tuple[float, float] | None,
        slow: float,
        drives: Sequence[Any],
    ) -> None:
        self.names, self.columns, self.limited, self.slow = tuple(names), columns, limited, slow
        self.stopped = limited & (stops is not None)
        self.stops = (0.0, 0.0) if stops is None else stops
        self.driving = tuple(drives)
        both, stopped = 0 if stops is not None else -1, stops is not None
        self.watched = tuple(
            Watched(f"{JOINT_LIMIT}_{side}", name, both, is_kink=stopped, is_limit=True)
            for name, flag in zip(names, limited, strict=True)
            for side in LIMITS
            if flag
        )

    @property
    def damps(self) -> bool:
        """Whether there are friction, stops or drives that damp."""
        friction = self.columns["viscous"].any() or self.columns["coulomb"].any()
        return bool(friction or self.stopped.any() or any(drive.kd for drive in self.driving))

    @property
    def has_drives(self) -> bool:
        """Whether a drive exerts a force."""
        return any(drive.constant or not drive.is_constant for drive in self.driving)

    def numbers(self, parts: ContextParts) -> Array:
        """Number, a row for each coordinate, given forces for all lanes, drives, scratch, polynomials."""
        count = len(self.names)
        c: dict[str, Any] = dict(self.columns)
        for key in ("lower", "upper"):  # of coordinates without limits they are equal
            c[key] = np.where(self.limited, c[key], 0.0)
        c["limit"] = np.full(count, np.inf)  # given forces are exerted as they are, as at joints of the tree
        stopped = self.stopped.astype(np.int64)
        rows = layout_rows(CUT_AXIS, count, **c, stopped=stopped, stop_k=self.stops[0], stop_c=self.stops[1])
        head = layout_rows(CUT_AXES, 1, n=count, slow=self.slow)
        given = np.array([drive.constant for drive in self.driving])
        before = head.size + rows.size + (LANES + 1) * count
        place, tables = before + count * (DRIVE.width + SCRATCH * LANES), list[Array]()
        drives = list[Array]()
        for drive in self.driving:
            row: dict[str, Any] = {"kp": drive.kp, "kd": drive.kd, "limit": drive.limit}
            for what, table in (("table", drive.table), ("desired", drive.desired)):
                row |= {what: place, f"{what}_count": 0, f"{what}_order": 0}
                if table is not None:
                    tables.append(_flat(table))
                    row |= {f"{what}_count": len(table.breaks) - 1, f"{what}_order": table.order}
                    place += len(tables[-1])
            drives.append(layout_rows(DRIVE, 1, **row).ravel())
        known = [head.ravel(), rows.ravel(), np.repeat(given, LANES), given, *drives]
        return np.concatenate([*known, np.zeros(count * SCRATCH * LANES), *tables])

    def address(self, function: str, lanes: int) -> int:
        """Where "rates" and "events" are."""
        if function == "rates":
            return int(cut_joint_forces(lanes).address)
        return int(cut_joint_events().address) if function == "events" and self.watched else 0

    def given_in(self, system: Any, place: int) -> Array:
        """Given forces (k,) in the context of one simulation, whose component at that place it is."""
        n = len(self.names)
        start = CUT_AXES.width + n * CUT_AXIS.width + LANES * n
        return self._numbers_in(system, place, start)

    def forces_in(self, system: Any, place: int) -> tuple[Array, Array]:
        """Forces of drives and all forces (k,) of the last evaluation of one simulation."""
        n = len(self.names)
        start = CUT_AXES.width + n * (CUT_AXIS.width + LANES + 1 + DRIVE.width)
        return self._numbers_in(system, place, start), self._numbers_in(system, place, start + n)

    def _numbers_in(self, system: Any, place: int, start: int) -> Array:
        first = system.context.start[f"component {place}"] + start
        numbers: Array = system.context.memory[first : first + len(self.names)]
        return numbers


def _flat(table: PiecewisePolynomial) -> Array:
    """Polynomials as `kernels.piecewise` reads them."""
    return np.concatenate([table.breaks, table.coefficients.ravel()])


@functools.cache
def cut_joint_forces(lanes: int) -> Any:
    """The C callback of `kernels.cut_coordinate.push_cuts` for `lanes` states, with the law of the drives."""
    first, width, of_drive = CUT_AXES.width, CUT_AXIS.width, DRIVE.width
    skipped = 0 if lanes > 1 else LANES  # given forces of lanes come first, then those of one

    def run(t, y_, dy_, context_, own_):
        memory, own = carray(context_, (1,)), carray(own_, (1,))
        head, axes = fields(memory, HEADER, 1, 0), fields(own, CUT_AXES, 1, 0)
        n = axes.n[0]
        work, joints = fields(memory, aba.SLOTS, lanes, head.work[0]), fields(own, CUT_AXIS, 1, first)
        given = row_at(own, first + n * width + skipped * n, n, lanes)
        after = first + n * (width + LANES + 1)
        drives = fields(own, DRIVE, 1, after)
        scratch = after + n * of_drive
        exerted, total = row_at(own, scratch, n, lanes), row_at(own, scratch + n * lanes, n, lanes)
        value = row_at(own, scratch + 2 * n * lanes, 1, lanes)
        rate = row_at(own, scratch + 2 * n * lanes + lanes, 1, lanes)
        spare = row_at(own, scratch + 2 * n * lanes + 2 * lanes, 1, lanes)
        for k in range(n):
            x = given[k]
            if drives.table_count[k] > 0:
                count, order = drives.table_count[k], drives.table_order[k]
                polynomials_at(own, drives.table[k], count, order, 1, t, value, rate, spare)
                x = x + value[0]
            if drives.desired_count[k] > 0:
                count, order = drives.desired_count[k], drives.desired_order[k]
                polynomials_at(own, drives.desired[k], count, order, 1, t, value, rate, spare)
                s, sd, _, _, _ = cut_motion(work, joints, k)
                x = x + drives.kp[k] * (value[0] - s) + drives.kd[k] * (rate[0] - sd)
            exerted[k] = limited(x, drives.limit[k])
        driving, lost = push_cuts(work, joints, n, axes.slow[0], exerted)
        for k in range(n):
            s, sd, _, _, _ = cut_motion(work, joints, k)
            spring, loss = cut_resistance(joints, k, s, sd, axes.slow[0])
            total[k] = spring + loss + exerted[k]
        powers = row_at(memory, head.powers[0], 2, lanes)
        powers[DRIVING], powers[LOST] = powers[DRIVING] + driving, powers[LOST] + lost
        return 0

    return compiled_callback(run, OF_COMPONENT, f"cut-joints-{lanes}")


@functools.cache
def cut_joint_events() -> Any:
    """The C callback with the room of limited coordinates to their upper and lower limits."""
    first = CUT_AXES.width

    def run(t, y_, g_, context_, own_):
        memory, own = carray(context_, (1,)), carray(own_, (1,))
        head = fields(memory, HEADER, 1, 0)
        n, joints = fields(own, CUT_AXES, 1, 0).n[0], fields(own, CUT_AXIS, 1, first)
        work = fields(memory, aba.SLOTS, 1, head.work[0])
        g, m = row_at(carray(g_, (1,)), 0, 2 * n, 1), 0
        for k in range(n):
            if joints.lower[k] < joints.upper[k]:
                s, _, _, _, _ = cut_motion(work, joints, k)
                g[m], g[m + 1] = joints.upper[k] - s, s - joints.lower[k]
                m += 2
        return 0

    return compiled_callback(run, OF_COMPONENT, "cut-joint-events")
