"""IPOPT: primal-dual interior point with exact Hessians, from the shared library in the `casadi` wheel."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import sys
from collections.abc import Mapping
from ctypes import CFUNCTYPE, POINTER, c_bool, c_double, c_int, c_void_p
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, KinetreeError, MissingExtraError
from kinetree.motion.program.nonlinear import NonlinearProgram
from kinetree.motion.solvers.interface import (
    MissingSolverError,
    Outcome,
    Solver,
    SolverSettings,
    Start,
    Status,
    Watch,
)

_Numbers, _Indices = POINTER(c_double), POINTER(c_int)
_F = CFUNCTYPE(c_bool, c_int, _Numbers, c_bool, _Numbers, c_void_p)
_G = CFUNCTYPE(c_bool, c_int, _Numbers, c_bool, c_int, _Numbers, c_void_p)
_J = CFUNCTYPE(c_bool, c_int, _Numbers, c_bool, c_int, c_int, _Indices, _Indices, _Numbers, c_void_p)
_H = CFUNCTYPE(
    c_bool,
    c_int,
    _Numbers,
    c_bool,
    c_double,
    c_int,
    _Numbers,
    c_bool,
    c_int,
    _Indices,
    _Indices,
    _Numbers,
    c_void_p,
)
_I = CFUNCTYPE(c_bool, c_int, c_int, *([c_double] * 8), c_int, c_void_p)
INFINITE = 2e19  # what IPOPT takes as no bound
LIBRARIES = (
    "libipopt.so",
    "libipopt.dylib",
    "libipopt.3.dylib",
    "libipopt-3.dll",
    "ipopt-3.dll",
    "ipopt.dll",
)
HSL = ("ma27", "ma57", "ma77", "ma86", "ma97")
HSL_LIBRARY = {"win32": "libhsl.dll", "darwin": "libhsl.dylib"}.get(sys.platform, "libhsl.so")
ENDED = {0: Status.SOLVED, 1: Status.SOLVED, 2: Status.INFEASIBLE, -1: Status.ITERATIONS, -4: Status.TIME}
MESSAGES = {
    0: "solve succeeded",
    1: "solved to acceptable level",
    2: "infeasible problem detected",
    3: "search direction becomes too small",
    4: "diverging iterates",
    5: "user requested stop",
    -1: "maximum iterations exceeded",
    -2: "restoration failed",
    -3: "error in step computation",
    -4: "maximum time exceeded",
    -12: "invalid option",
    -13: "invalid number detected",
}


def _check_hsl(solver: str, library: str) -> None:
    """Raise unless the library of Harwell's linear solvers can be loaded."""
    try:
        ctypes.CDLL(library)
    except OSError as error:
        raise MissingSolverError(
            f"The linear solver {solver} needs HSL (license and source: https://licences.stfc.ac.uk/product/coin-hsl)"
            f" as a shared library; name its file: options={{'linear_solver': '{solver}', 'hsllib': "
            f"'/path/to/{HSL_LIBRARY}'}}. '{library}' cannot be loaded: {error}"
        ) from None


class Ipopt(Solver):
    """The default for larger problems. IPOPT ignores options it does not know, so they are checked here."""

    name = "ipopt"
    allowed: ClassVar[Mapping[str, type | tuple[Any, ...]]] = {
        "acceptable_tol": float,
        "bound_relax_factor": float,
        "constr_viol_tol": float,
        "dual_inf_tol": float,
        "hsllib": str,
        "linear_solver": ("mumps", "spral", *HSL),
        "max_soc": int,
        "mu_init": float,
        "mu_strategy": ("monotone", "adaptive"),
        "mumps_permuting_scaling": int,
        "mumps_pivot_order": int,
        "nlp_scaling_method": ("none", "gradient-based"),
        "print_level": int,
        "warm_start_bound_push": float,
        "warm_start_mult_bound_push": float,
    }

    @override
    def checked_options(self, options: Mapping[str, Any] | None) -> dict[str, Any]:
        """The options; a linear solver of HSL must be there, for IPOPT fails without saying why."""
        found = super().checked_options(options)
        if found.get("linear_solver") in HSL:
            _check_hsl(str(found["linear_solver"]), str(found.get("hsllib", HSL_LIBRARY)))
        return found

    @override
    def check_installed(self) -> None:
        """Raise, with what to install, if it cannot be used here."""
        if library_path() is None:
            raise MissingExtraError("casadi", "predict", "The solver IPOPT")

    @override
    def solve(
        self, program: NonlinearProgram, start: Start, settings: SolverSettings, watch: Watch
    ) -> Outcome:
        """Solve the program from a starting point."""
        own = self.checked_options(settings.options)
        library, callbacks = _library(), _Callbacks(program, watch)
        n, m = program.n, program.m
        bounds = [
            np.clip(x, -INFINITE, INFINITE)
            for x in (program.x_lower, program.x_upper, program.lower, program.upper)
        ]
        handle = c_void_p(
            library.CreateIpoptProblem(
                n,
                _pointer(bounds[0]),
                _pointer(bounds[1]),
                m,
                _pointer(bounds[2]),
                _pointer(bounds[3]),
                len(program.jacobian_rows),
                len(program.hessian_rows),
                0,
                *callbacks.functions,
            )
        )
        try:
            for name, value in {**_options(settings, start), **own}.items():
                _set_option(library, handle, name, value)
            library.SetIntermediateCallback(handle, callbacks.intermediate)
            z, value = np.array(start.z, dtype=np.float64), c_double()
            multipliers = np.zeros(m) if start.multipliers is None else start.multipliers.copy()
            low, high = start.bound_multipliers or (np.zeros(n), np.zeros(n))
            low, high = low.copy(), high.copy()
            dual = (_pointer(multipliers), _pointer(low), _pointer(high))
            code = library.IpoptSolve(handle, _pointer(z), None, ctypes.byref(value), *dual, None)
        finally:
            library.FreeIpoptProblem(handle)
        if callbacks.error is not None:
            raise callbacks.error
        status = watch.stopped or ENDED.get(code, Status.FAILED)
        message = MESSAGES.get(code, f"code {code}")
        return Outcome(z, multipliers, (low, high), status, watch.iteration, message, self.name)


def _options(settings: SolverSettings, start: Start) -> dict[str, Any]:
    found: dict[str, Any] = {
        "tol": settings.tolerance,
        "max_iter": int(settings.max_iterations),
        "print_level": 0,
        "sb": "yes",
        "mumps_permuting_scaling": 0,
        "bound_relax_factor": 0.1 * settings.tolerance,
    }
    if np.isfinite(settings.time_limit):
        found["max_wall_time"] = float(settings.time_limit)
    if start.multipliers is not None:
        found |= {
            "warm_start_init_point": "yes",
            "warm_start_bound_push": 1e-6,
            "warm_start_mult_bound_push": 1e-6,
            "mu_init": 1e-4,
        }
    return found


def _set_option(library: Any, handle: Any, name: str, value: Any) -> None:
    key = name.encode()
    if isinstance(value, str):
        done = library.AddIpoptStrOption(handle, key, value.encode())
    elif isinstance(value, int):
        done = library.AddIpoptIntOption(handle, key, value)
    else:
        done = library.AddIpoptNumOption(handle, key, c_double(value))
    if not done & 1:
        raise InputError(f"ipopt rejects option '{name}' = {value!r}")


class _Callbacks:
    """The program as C functions; what they raise is kept and ends the solve."""

    def __init__(self, program: NonlinearProgram, watch: Watch) -> None:
        self.program, self.watch = program, watch
        self.error: BaseException | None = None
        self.z = np.zeros(program.n)
        guarded = self._guarded
        self.functions = (
            _F(guarded(self._objective)),
            _G(guarded(self._constraints)),
            _F(guarded(self._gradient)),
            _J(guarded(self._jacobian)),
            _H(guarded(self._hessian)),
        )
        self.intermediate = _I(guarded(self._intermediate))

    def _guarded(self, function: Any) -> Any:
        def call(*arguments: Any) -> bool:
            try:
                return bool(function(*arguments))
            except KinetreeError:
                return False  # not finite there: a shorter step will do
            except BaseException as error:
                self.error = error
                self.watch.stopped = self.watch.stopped or Status.FAILED
                return False

        return call

    def _objective(self, n: int, z: Any, new: bool, out: Any, _: Any) -> bool:
        out[0] = self.program.objective(_array(z, n))
        return True

    def _gradient(self, n: int, z: Any, new: bool, out: Any, _: Any) -> bool:
        self.z = _array(z, n).copy()
        _array(out, n)[:] = self.program.gradient(self.z)
        return True

    def _constraints(self, n: int, z: Any, new: bool, m: int, out: Any, _: Any) -> bool:
        _array(out, m)[:] = self.program.constraints(_array(z, n))
        return True

    def _jacobian(
        self, n: int, z: Any, new: bool, m: int, k: int, rows: Any, columns: Any, out: Any, _: Any
    ) -> bool:
        if not out:
            _array(rows, k)[:] = self.program.jacobian_rows
            _array(columns, k)[:] = self.program.jacobian_columns
        else:
            _array(out, k)[:] = self.program.jacobian(_array(z, n))
        return True

    def _hessian(
        self,
        n: int,
        z: Any,
        new: bool,
        factor: float,
        m: int,
        multipliers: Any,
        new_multipliers: bool,
        k: int,
        rows: Any,
        columns: Any,
        out: Any,
        _: Any,
    ) -> bool:
        if not out:
            _array(rows, k)[:] = self.program.hessian_rows
            _array(columns, k)[:] = self.program.hessian_columns
        else:
            _array(out, k)[:] = self.program.hessian(_array(z, n), factor, _array(multipliers, m))
        return True

    def _intermediate(self, mode: int, iteration: int, objective: float, primal: float, *rest: Any) -> bool:
        return self.watch.see(iteration, self.z, objective, primal)


def _pointer(array: Array) -> Any:
    return array.ctypes.data_as(_Numbers)


def _array(pointer: Any, n: int) -> Any:
    return np.ctypeslib.as_array(pointer, shape=(n,))


@functools.cache
def library_path() -> Path | None:
    """IPOPT's shared library inside the installed casadi package, which is not imported."""
    found = importlib.util.find_spec("casadi")
    if found is None or not found.submodule_search_locations:
        return None
    for folder in map(Path, found.submodule_search_locations):
        for name in LIBRARIES:
            if (folder / name).exists():
                return folder / name
    return None


@functools.cache
def _library() -> Any:
    path = library_path()
    assert path is not None
    library = ctypes.CDLL(str(path))
    library.CreateIpoptProblem.restype = c_void_p
    return library
