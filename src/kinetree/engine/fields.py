"""The memory of kernels in the interpreter: named fields over NumPy arrays."""

from __future__ import annotations

import numpy as np


class Fields:
    """Rows of a layout over an array (rows, width, ...)."""

    def __init__(self, layout, array):
        for name, (start, count, integer) in layout.places.items():
            data = array.view(np.int64) if integer else array
            setattr(self, name, Field(data[:, start : start + count], int(layout.world)))


class Field:
    """One named column of rows: ``field[i]`` is a number or a tuple of numbers."""

    def __init__(self, data, first):
        self.data, self.first = data, first

    def __getitem__(self, i):
        row = self.data[i + self.first]
        numbers = tuple(np.copy(row)) if row.ndim > 1 or row.dtype == object else tuple(row.tolist())
        return numbers if len(numbers) > 1 else numbers[0]

    def __setitem__(self, i, value):
        row = self.data[i + self.first]
        for k, x in enumerate(value if len(row) > 1 else (value,)):
            row[k] = x
