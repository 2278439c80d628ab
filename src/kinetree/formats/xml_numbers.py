"""Numbers as XML files have them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kinetree.algebra.arrays import Array


def written(value: float) -> str:
    """The shortest text that reads back as the same number.

    >>> written(0.1), written(-0.0), written(3.0)
    ('0.1', '0', '3')
    """
    return repr(float(value) + 0.0).removesuffix(".0")


def spaced(values: Iterable[float]) -> str:
    """Numbers with blanks between them."""
    return " ".join(written(x) for x in values)


def quaternion_of(R: Array) -> Array:
    """The unit quaternion (w, x, y, z), w >= 0, of a rotation matrix; from its largest component.

    >>> quaternion_of(np.eye(3)).tolist()
    [1.0, 0.0, 0.0, 0.0]
    """
    trace = float(np.trace(R))
    squares = np.array([1.0 + trace, *(1.0 - trace + 2.0 * np.diag(R))])
    k = int(np.argmax(squares))
    a, b, c = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    x, y, z = R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1]
    s = squares[k]
    q = np.array([[s, a, b, c], [a, s, x, y], [b, x, s, z], [c, y, z, s]])[k]
    unit: Array = q / (np.linalg.norm(q) if q[0] >= 0.0 else -np.linalg.norm(q))
    return unit
