"""Springs and dampers between bodies as machine code: a component of the right-hand side."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.engine.door import carray, compiled_callback
from kinetree.engine.lanes import fields, row_at
from kinetree.kernels import aba
from kinetree.kernels.force_slopes import CHAIN
from kinetree.kernels.layout import layout_rows
from kinetree.kernels.model_table import TREE
from kinetree.kernels.spring import SPRING, SPRINGS, add_spring_slopes, stretch_springs
from kinetree.model.tree import Springs
from kinetree.simulation.compiled.component import LOST, Component
from kinetree.simulation.compiled.context import HEADER, ContextParts
from kinetree.simulation.compiled.rates import OF_COMPONENT


class SpringForces(Component):
    """Adds the forces of springs to the wrenches of the axes; see `kernels.spring`."""

    name = "springs"
    has_slopes = pushes = True

    def __init__(self, springs: Springs) -> None:
        self.springs = springs

    @property
    def damps(self) -> bool:
        """Whether there are dampers."""
        return bool(self.springs.damping.any() or self.springs.turning.any())

    def numbers(self, parts: ContextParts) -> Array:
        """A row for each spring, after their number."""
        s = self.springs
        rows = layout_rows(
            SPRING,
            len(s.names),
            a=s.axis_a,
            b=s.axis_b,
            top=s.top,
            pa=s.point_a,
            pb=s.point_b,
            k=s.stiffness,
            c=s.damping,
            rest=s.rest_length,
            turning=s.turning,
            turns=(s.turning != 0.0).astype(np.int64),
        )
        return np.concatenate([layout_rows(SPRINGS, 1, n=len(s.names)).ravel(), rows.ravel()])

    def address(self, function: str, lanes: int) -> int:
        """Where "rates" and "slopes" are."""
        if function == "rates":
            return int(spring_forces(lanes).address)
        return int(spring_jacobian().address) if function == "slopes" and lanes == 1 else 0


@functools.cache
def spring_forces(lanes: int) -> Any:
    """The C callback of `kernels.spring.stretch_springs` for `lanes` states."""
    first = SPRINGS.width

    def run(t, y_, dy_, context_, own_):
        memory, own = carray(context_, (1,)), carray(own_, (1,))
        head, count = fields(memory, HEADER, 1, 0), fields(own, SPRINGS, 1, 0).n[0]
        work = fields(memory, aba.SLOTS, lanes, head.work[0])
        powers = row_at(memory, head.powers[0], 2, lanes)
        powers[LOST] = powers[LOST] + stretch_springs(work, fields(own, SPRING, 1, first), count)
        return 0

    return compiled_callback(run, OF_COMPONENT, f"springs-{lanes}")


@functools.cache
def spring_jacobian() -> Any:
    """The C callback of `kernels.spring.add_spring_slopes`: lines of torques, by positions and velocities."""
    first = SPRINGS.width

    def run(t, y_, J_, context_, own_):
        memory, own = carray(context_, (1,)), carray(own_, (1,))
        head, count = fields(memory, HEADER, 1, 0), fields(own, SPRINGS, 1, 0).n[0]
        n, width = head.n[0], 2 * head.n[0] + head.more[0]
        tree, work = fields(memory, TREE, 1, head.tree[0]), fields(memory, aba.SLOTS, 1, head.work[0])
        chain = fields(memory, CHAIN, 1, head.slope_chain[0])
        J = row_at(carray(J_, (1,)), 0, (n + head.more[0]) * width, 1)
        springs = fields(own, SPRING, 1, first)
        for k in range(count):
            add_spring_slopes(tree, work, springs, k, chain, n, width, J)
        return 0

    return compiled_callback(run, OF_COMPONENT, "spring-slopes")
