"""Springs, friction, stops and drives of cut joints as machine code: a component of the right-hand side."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinetree.algebra.arrays import Array
from kinetree.engine.door import carray, compiled_callback
from kinetree.engine.lanes import fields, row_at
from kinetree.kernels import aba
from kinetree.kernels.cut_coordinate import CUT_AXES, CUT_AXIS, cut_motion, push_cuts
from kinetree.kernels.layout import layout_rows
from kinetree.kernels.number import LANES
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


class CutJointForces(Component):
    """Adds what acts on coordinates of cut joints to the wrenches of the axes; see `kernels.cut_coordinate`.

    ``columns`` are those of `CUT_AXIS`, of the coordinates ``names``. Limits of ``limited`` ones are watched
    as those of the tree's joints are; ``stops`` of a stiffness and a damping meet them, or None. ``given``
    (k,) are the constant forces of drives.
    """

    name = "cut_joints"

    def __init__(
        self,
        names: Sequence[str],
        columns: Mapping[str, Array],
        limited: NDArray[np.bool_],
        stops: tuple[float, float] | None,
        slow: float,
        given: Array,
    ) -> None:
        self.columns, self.limited, self.slow, self.given = columns, limited, slow, given
        self.stopped = limited & (stops is not None)
        self.stops = (0.0, 0.0) if stops is None else stops
        both, stopped = 0 if stops is not None else -1, stops is not None
        self.watched = tuple(
            Watched(f"{JOINT_LIMIT}_{side}", name, both, is_kink=stopped, is_limit=True)
            for name, flag in zip(names, limited, strict=True)
            for side in LIMITS
            if flag
        )

    @property
    def damps(self) -> bool:
        """Whether there are friction or stops."""
        friction = self.columns["viscous"].any() or self.columns["coulomb"].any()
        return bool(friction or self.stopped.any())

    def numbers(self, parts: ContextParts) -> Array:
        """Their number, a row for each coordinate, and the forces of drives for all lanes."""
        count = len(self.given)
        c: dict[str, Any] = dict(self.columns)
        for key in ("lower", "upper"):  # of coordinates without limits they are equal
            c[key] = np.where(self.limited, c[key], 0.0)
        c["limit"] = np.full(count, np.inf)  # given forces are exerted as they are, as at joints of the tree
        stopped = self.stopped.astype(np.int64)
        rows = layout_rows(CUT_AXIS, count, **c, stopped=stopped, stop_k=self.stops[0], stop_c=self.stops[1])
        head = layout_rows(CUT_AXES, 1, n=count, slow=self.slow)
        return np.concatenate([head.ravel(), rows.ravel(), np.repeat(self.given, LANES), self.given])

    def address(self, function: str, lanes: int) -> int:
        """Where "rates" and "events" are."""
        if function == "rates":
            return int(cut_joint_forces(lanes).address)
        return int(cut_joint_events().address) if function == "events" and self.watched else 0


@functools.cache
def cut_joint_forces(lanes: int) -> Any:
    """The C callback of `kernels.cut_coordinate.push_cuts` for `lanes` states."""
    first, width = CUT_AXES.width, CUT_AXIS.width
    skipped = 0 if lanes > 1 else LANES  # drives of lanes come first, then those of one

    def run(t, y_, dy_, context_, own_):
        memory, own = carray(context_, (1,)), carray(own_, (1,))
        head, axes = fields(memory, HEADER, 1, 0), fields(own, CUT_AXES, 1, 0)
        n = axes.n[0]
        work = fields(memory, aba.SLOTS, lanes, head.work[0])
        given = row_at(own, first + n * width + skipped * n, n, lanes)
        driving, lost = push_cuts(work, fields(own, CUT_AXIS, 1, first), n, axes.slow[0], given)
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
