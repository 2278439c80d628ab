"""A lighter start of numba."""

from __future__ import annotations

import importlib.util


def load_array_functions() -> None:
    """numba's array functions, without the import of all of scipy.linalg by which it looks for BLAS.

    That would take a quarter of the first call, for products of matrices that no kernel contains; those who
    compile such products import it then.
    """

    def is_installed() -> None:
        if importlib.util.find_spec("scipy") is None:
            raise ImportError

    from numba.np import linalg

    probe, linalg.ensure_blas = linalg.ensure_blas, is_installed
    try:
        from numba.np import arraymath

        arraymath.ensure_blas = probe
    finally:
        linalg.ensure_blas = probe
