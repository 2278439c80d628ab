"""The compiler's passes that kernels need, and no others: numba's front end in two thirds of the time.

A right-hand side has more than a hundred inner functions, which become part of their caller. numba takes each
through some twenty passes and makes machine code of it that nothing ever calls. Kernels have no closures of
their own, context managers, generators or literal containers, so the passes that look for these are left out,
and so are the record of events around each pass and the machine code of inner functions. What LLVM makes of
the whole is the same, byte by byte.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from typing import Any

from numba.core import errors
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import (
    AnnotateTypes,
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NopythonRewrites,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.untyped_passes import (
    DeadBranchPrune,
    FixupArgs,
    GenericRewrites,
    IRProcessing,
    ReconstructSSA,
    RewriteSemanticConstants,
    TranslateByteCode,
)

_errors: Any = errors  # with what it does not declare
UNTYPED = (
    TranslateByteCode,
    FixupArgs,
    IRProcessing,
    RewriteSemanticConstants,
    DeadBranchPrune,
    GenericRewrites,
    ReconstructSSA,
    DeadBranchPrune,
)
TYPED = (NopythonTypeInference, PreLowerStripPhis, NopythonRewrites, IRLegalization, AnnotateTypes)


class InnerLibrary(JITCodeLibrary):
    """A function that becomes part of others: optimized, but without machine code of its own."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """No address."""
        return 0

    @property
    def codegen(self) -> Any:
        """Where numba puts the environment of a function, which only Python objects need."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Nothing, since there is no machine code that could ask for it."""


@register_pass(mutates_CFG=True, analysis_only=False)
class InnerLowering(NativeLowering):
    """From typed instructions to LLVM's, into an `InnerLibrary`."""

    _name = "kinetree_inner_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower the function."""
        state.library = InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        done: bool = super().run_pass(state)
        return done


class QuickPasses(PassManager):
    """Passes one after the other, without a record of events and times."""

    def _runPass(self, index: int, pss: Any, internal_state: Any) -> None:
        pss.analysis = self._analysis
        with _errors.new_error_context("Pass {name}", name=pss.name()):
            pss.run_initialization(internal_state)
            pss.run_pass(internal_state)
            pss.run_finalizer(internal_state)


class InnerCompiler(CompilerBase):
    """The passes of a function that becomes part of others."""

    def define_pipelines(self) -> list[Any]:
        """One way through."""
        return [_passes(InnerLowering)]


class OuterCompiler(CompilerBase):
    """The passes of a function that is called from outside."""

    def define_pipelines(self) -> list[Any]:
        """One way through."""
        return [_passes(NativeLowering)]


def _passes(lowering: Any) -> Any:
    passes = QuickPasses("kinetree")
    for one in (*UNTYPED, *TYPED, lowering, NoPythonBackend):
        passes.add_pass(one, one.__name__)
    passes.finalize()
    return passes


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """In here garbage is not collected, a tenth of the time, and messages of numba have no colors.

    Each of the thousand operators of a kernel is tried on types that it is not for, with a message each.
    """
    collects, colors = gc.isenabled(), _errors._termcolor_inst
    gc.disable()
    _errors._termcolor_inst = _Plain()
    try:
        yield
    finally:
        _errors._termcolor_inst = colors
        if collects:
            gc.enable()


class _Plain:
    """Messages as they are."""

    def __getattr__(self, name: str) -> Callable[[str], str]:
        return str
