"""Linear equations with a mass matrix, over any kind of number."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.derivations.homogeneous import Numbers
from kinetree.errors import SingularityError
from kinetree.kernels.aba import SINGULAR
from kinetree.kernels.tree_columns import gross_inertia
from kinetree.model.tree import Tree


def solved(tree: Tree, M: Any, right: Any) -> Numbers:
    """x of M x = right, by Gaussian elimination from the tips inwards ([NCTU], section 6.4, step 3).

    A mass matrix is symmetric and positive definite, so no rows are exchanged. Raises
    :class:`SingularityError` where a joint moves no inertia.
    """
    kind = np.result_type(np.asarray(M), np.asarray(right))
    M, x = np.array(M, kind), np.array(right, kind)
    for i in range(tree.n - 1, -1, -1):
        _check_pivot(tree, i, M[i, i])
        for j in range(i):
            factor = M[j, i] / M[i, i]
            M[j, :i] = M[j, :i] - M[i, :i] * factor
            x[j] = x[j] - x[i] * factor
    for i in range(tree.n):
        for j in range(i):
            x[i] = x[i] - M[i, j] * x[j]
        x[i] = x[i] / M[i, i]
    return x


def _check_pivot(tree: Tree, i: int, pivot: Any) -> None:
    """Refuse a pivot that is rounding error; symbols and counting numbers are taken as they are."""
    if isinstance(pivot, (float, complex)) and not pivot.real > SINGULAR * gross_inertia(tree)[i]:
        raise SingularityError(
            f"singular mass matrix: joint '{tree.axis_names[i]}' moves no inertia in this state "
            f"(pivot {pivot.real:.3g})"
        )
