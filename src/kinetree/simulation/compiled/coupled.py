"""Accelerations of mechanisms with mimic joints as machine code: a component of the right-hand side."""

from __future__ import annotations

import functools
from typing import Any

from kinetree.engine.door import carray, compiled_callback
from kinetree.engine.lanes import fields, row_at
from kinetree.kernels import aba
from kinetree.kernels.coupled import move_coupled
from kinetree.kernels.model_table import TREE
from kinetree.kernels.torque_law import AXIS
from kinetree.simulation.compiled.component import Component
from kinetree.simulation.compiled.context import HEADER
from kinetree.simulation.compiled.rates import OF_COMPONENT


class MimicJoints(Component):
    """Finds the accelerations of joints that follow others."""

    name = "mimic"

    def address(self, function: str, lanes: int) -> int:
        """Where "motion" is."""
        return int(coupled_motion(lanes).address) if function == "motion" else 0


@functools.cache
def coupled_motion(lanes: int) -> Any:
    """The C callback of `kernels.coupled.move_coupled` for `lanes` states."""

    def run(t, y_, dy_, context_, own_):
        memory = carray(context_, (1,))
        head = fields(memory, HEADER, 1, 0)
        n, n_dof = head.n[0], head.n_dof[0]
        tree, axes = fields(memory, TREE, 1, head.tree[0]), fields(memory, AXIS, 1, head.axes[0])
        work = fields(memory, aba.SLOTS, lanes, head.work[0])
        total, qdd = row_at(memory, head.total[0], n, lanes), row_at(memory, head.qdd[0], n, lanes)
        A = row_at(memory, head.reduced[0], n_dof * n_dof, lanes)
        b = row_at(memory, head.reduced[0] + lanes * n_dof * n_dof, n_dof, lanes)
        after = head.reduced[0] + lanes * n_dof * (n_dof + 1)
        slopes, bends = row_at(memory, after, n, lanes), row_at(memory, after + lanes * n, n, lanes)
        y = row_at(carray(y_, (1,)), 0, 2 * n_dof, lanes)
        move_coupled(tree, axes, work, n_dof, y, total, A, b, slopes, bends, qdd)
        return 0

    return compiled_callback(run, OF_COMPONENT, f"mimic-{lanes}")
