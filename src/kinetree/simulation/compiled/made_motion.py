"""Accelerations by code that was made for one mechanism: a component of the right-hand side."""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.engine.specialized import MadeCode
from kinetree.engine.tape.llvm_text import PLACES
from kinetree.engine.tape.made_code import constants_in, machine_code, new_memory
from kinetree.kernels.model_table import column_numbers
from kinetree.simulation.compiled.component import Component
from kinetree.simulation.compiled.context import HEADER, ContextParts

VARIED = {"m", "h", "S"}  # columns in which mechanisms differ side by side in lanes
ROWS = ("q", "qd", "total", "qdd")


class MadeMotion(Component):
    """Finds the accelerations of a tree that `kinetree.specialize` was called for."""

    name = "made"
    has_slopes = is_made = True

    def __init__(self, made: MadeCode) -> None:
        self.made = made

    def numbers(self, parts: ContextParts) -> Array:
        """Which words of the header say where the rows are, and the workspace of the code."""
        words = np.zeros(PLACES, np.int64)
        words[: len(ROWS)] = [HEADER.places[name][0] for name in ROWS]
        return np.concatenate([words.view(np.float64), new_memory(self.made, parts.lanes)])

    def set_models(self, tables: Array, numbers: Array) -> None:
        """Let each lane have the constants of a model table of its own, (lanes, n + 1, width)."""
        own = constants_in(self.made, numbers[PLACES:], len(tables))
        own[:] = np.transpose([column_numbers(table, self.made.columns) for table in tables])

    def address(self, function: str, lanes: int) -> int:
        """Where "motion" is."""
        return int(machine_code(self.made, lanes).address) if function == "motion" else 0
