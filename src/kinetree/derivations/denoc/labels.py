"""DeNOC matrices with names on their rows and columns, as xarray DataArrays."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

from kinetree.algebra.arrays import Array
from kinetree.derivations.denoc.blocks import ModuleBlock
from kinetree.derivations.denoc.matrices import DenocMatrices
from kinetree.errors import InputError, listed, unknown_name

TWIST = ("wx", "wy", "wz", "vx", "vy", "vz")
T, Q = "twist", "joint"
# the rows and columns of every matrix: of the whole mechanism, of modules, of axes
WHOLE = {
    "N_l": (T, T),
    "N_d": (T, Q),
    "N": (T, Q),
    "M": (T, T),
    "M_composite": (T, T),
    "I": (Q, Q),
    "U": (Q, Q),
    "D": (Q, Q),
    "U_inv": (Q, Q),
    "D_inv": (Q, Q),
    "I_inv": (Q, Q),
}
OF_MODULES = {
    "A_bar": (T, T),
    "A_hat": (T, T),
    "I_bar": (Q, Q),
    "U_bar": (Q, Q),
    "U_inv_bar": (Q, Q),
    "N_bar": (T, Q),
    "M_bar": (T, T),
    "M_tilde": (T, T),
    "M_hat": (T, T),
    "Psi_hat": (T, Q),
    "Psi": (T, Q),
    "Phi": (T, T),
    "I_hat": (Q, Q),
}
OF_AXES = {"A": (T, T), "M_k": (T, T), "p": (T,)}
PAIRS = ("A", "A_bar", "A_hat", "I_bar", "U_bar", "U_inv_bar")


class MatrixSide(NamedTuple):
    """The rows, or the columns, of a matrix: what they are, their names and the modules they belong to."""

    kind: str
    names: list[str]
    modules: list[int]


def sides(matrices: DenocMatrices, name: str, *where: int) -> list[MatrixSide]:
    """Names of the rows and columns of a matrix; ``where`` are module or axis numbers for parts."""
    kinds = WHOLE | OF_MODULES | OF_AXES
    if name not in kinds:
        raise InputError(unknown_name("matrix", name, kinds))
    wanted = 0 if name in WHOLE else 2 if name in PAIRS else 1
    if len(where) != wanted:
        what = "axes" if name in OF_AXES else "modules"
        raise InputError(f"matrix '{name}' belongs to {wanted} {what}, got {listed(where)}")
    if name in OF_AXES:
        return [
            MatrixSide(kind, *_axis(matrices, k)) for kind, k in zip(kinds[name], where * 2, strict=False)
        ]
    if name in WHOLE:
        return [_side(matrices, kind, matrices.blocks) for kind in kinds[name]]
    found = [matrices.block(i) for i in where]
    return [_side(matrices, kind, [found[min(k, len(found) - 1)]]) for k, kind in enumerate(kinds[name])]


def labeled(matrices: DenocMatrices, name: str, *where: int) -> Any:
    """A matrix as an xarray DataArray with the names of its rows and columns, and the module of each.

    ``name`` is any matrix of :class:`DenocMatrices`; parts take their module numbers, or axis numbers for A,
    p and M_k.

    >>> import kinetree as kt
    >>> from kinetree.derivations.denoc.matrices import denoc_matrices
    >>> gripper = denoc_matrices(kt.zoo.gripper(), [0.1, 0.2, 0.3, 0.4])
    >>> U = labeled(gripper, "U")
    >>> float(U.sel(joint_row="joint2", joint_column="joint4"))
    0.0
    """
    rows_and_columns = sides(matrices, name, *where)
    values: Array = getattr(matrices, name) if name in WHOLE else getattr(matrices, name)(*where)
    dims, coords = [], {}
    for side, place in zip(rows_and_columns, ("row", "column"), strict=False):
        dim = f"{side.kind}_{place}"
        dims.append(dim)
        coords[dim] = side.names
        coords[f"module_of_{place}"] = (dim, side.modules)  # type: ignore[assignment]
    title = name if not where else f"{name}({', '.join(map(str, where))})"
    return _xarray().DataArray(values, dims=dims, coords=coords, name=title)


def _side(matrices: DenocMatrices, kind: str, blocks: Any) -> MatrixSide:
    """Twist components or joints of some modules."""
    names, modules = [], []
    block: ModuleBlock
    for block in blocks:
        axes = block.rows if kind == T else block.columns
        own = [matrices.tree.axis_names[k] for k in axes]
        own = [f"{axis}.{c}" for axis in own for c in TWIST] if kind == T else own
        names.extend(own)
        modules.extend([block.number] * len(own))
    return MatrixSide(kind, names, modules)


def _axis(matrices: DenocMatrices, k: int) -> tuple[list[str], list[int]]:
    number = next(block.number for block in matrices.blocks if k in block.columns)
    return [f"{matrices.tree.axis_names[k]}.{c}" for c in TWIST], [number] * len(TWIST)


def _xarray() -> Any:
    return import_module("xarray")  # when needed: it takes half a second
