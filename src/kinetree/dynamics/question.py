"""One question about states of open trees, whatever the way to its answer.

A question knows the kernel that answers it for plain states, what its arguments are called, how an answer is
made of what the kernel gives, and how it is answered in general: with loads, mimic joints or odd arrays. From
that it does dispatch, checks, ``out=``, threads and other formulations, so that a public function is a
docstring and one call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kinetree.algebra.arrays import Array
from kinetree.algebra.memory import check_room
from kinetree.dynamics.checks import check_threads, checking, given
from kinetree.dynamics.coupling import on_axes
from kinetree.dynamics.evaluate import is_plain, one_state
from kinetree.dynamics.given_memory import ArrayMemory, Memory
from kinetree.engine import run
from kinetree.engine.buffers import new_array, new_result
from kinetree.kernels.layout import Kernel
from kinetree.kernels.number import LANES
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Tree

if TYPE_CHECKING:
    from kinetree.dynamics.loads import Wrenches

Answer = TypeVar("Answer")
State = tuple[Any, ...]
AS_IT_IS = None  # the answer is what the kernel gives


@dataclass(frozen=True, eq=False)
class Question(Generic[Answer]):
    """A question about states.

    ``name`` of the public function; ``kernel`` for plain states without loads; ``inputs`` are the names of
    its arguments (..., n_dof), as messages tell them. ``answer(tree, found)`` makes the answer of what the
    kernel gives, shaped as `StateCall` says. ``general(mechanism, tree, state, wrenches, threads)`` answers
    for checked states (..., n_axes), or (..., n_dof) if not ``of_axes``. ``formulated(name, mechanism, tree,
    state, wrenches)`` asks another formulation. ``memory`` knows what ``out=`` may be.
    """

    name: str
    kernel: Kernel
    inputs: tuple[str, ...]
    general: Callable[[Mechanism, Tree, tuple[Array, ...], Any, int | None], Answer]
    answer: Callable[[Tree, Any], Answer] | None = AS_IT_IS
    formulated: Callable[[str, Mechanism, Tree, State, Wrenches], Answer] | None = None
    memory: Memory[Any] = ArrayMemory()  # noqa: RUF009  (it has no state)
    of_axes: bool = True
    feels_springs: bool = True  # whether springs between bodies change the answer

    def ask(
        self,
        mechanism: Mechanism,
        tree: Tree,
        state: State,
        wrenches: Wrenches = None,
        threads: int | None = None,
        formulation: str | None = None,
        out: Answer | None = None,
    ) -> Answer:
        """The answer for states of a mechanism, whose ``tree`` is the one that the kernel runs on."""
        if threads is not None:
            check_threads(threads)
        if wrenches is None and formulation is None and out is None:
            try:  # plain states of a tree with a prepared call: compiled code checks them
                found = tree.kept.calls[self](*state)
                if found is not None:
                    return found if self.answer is None else self.answer(tree, found)
            except KeyError:
                pass
        return self.closely(mechanism, tree, state, wrenches, threads, formulation, out)

    def of(
        self, mechanism: Mechanism, *state: Any, wrenches: Wrenches = None, threads: int | None = None
    ) -> Answer:
        """The answer for states of an open tree."""
        return self.ask(mechanism, mechanism.tree, state, wrenches, threads)

    def closely(
        self,
        mechanism: Mechanism,
        tree: Tree,
        state: State,
        wrenches: Wrenches = None,
        threads: int | None = None,
        formulation: str | None = None,
        out: Answer | None = None,
    ) -> Answer:
        """The answer where there is no direct call yet, or where arguments are no plain arrays."""
        check_threads(threads)
        if out is not None:
            self.memory.expect(out)
        if formulation is not None:
            assert self.formulated is not None
            answer = self.formulated(formulation, mechanism, tree, state, wrenches)
            return answer if out is None else self.memory.put(out, answer, state)
        plain_forces = wrenches is None and (tree.springs is None or not self.feels_springs)
        if plain_forces:
            if self not in tree.kept.calls:
                tree.kept.calls[self] = run.prepared(self.kernel, tree).call
            if is_plain(tree, state):
                plain = self._of_plain_states(tree, state, threads, out)
                if plain is not None:
                    return plain
        values = self.checked(mechanism, tree, state)
        found = one_state(self.kernel, tree, values) if plain_forces else None
        if found is not None:
            answer = self._made(tree, found)
        else:
            answer = self.general(mechanism, tree, values, wrenches, threads)
        return answer if out is None else self.memory.put(out, answer, state)

    def checked(self, mechanism: Mechanism, tree: Tree, state: State) -> tuple[Array, ...]:
        """The arguments as float64 arrays, finite, of all axes if the question is about these."""
        values = tuple([given(mechanism, x, name) for x, name in zip(state, self.inputs, strict=True)])
        return values if tree.coupling is None or not self.of_axes else on_axes(tree, *values)

    def _of_plain_states(
        self, tree: Tree, state: State, threads: int | None, out: Answer | None
    ) -> Answer | None:
        """The answer for plain arrays (batch, n); None if it needs a closer look."""
        kernel, is_checking = self.kernel, checking()
        if run.INTERPRET and kernel.suspicion is not None and is_checking:
            return None  # the interpreter does not judge answers as compiled code does
        ready, count = run.prepared(kernel, tree), len(state[0])
        if count < LANES:  # the same bits whether memory is given or not, checked or not
            few = ready.single(*state)
            if few is not None:
                answer = self._made(tree, few)
                return answer if out is None else self.memory.put(out, answer, state)
            if is_checking:
                return None
        if out is None:
            widths = kernel.output_widths or (0,)
            packed = () if kernel.entries is None else ((ready.arrays, count, ready.entries),)
            check_room((kernel.outputs, count, widths[0] * tree.n), *packed)
            outputs: Sequence[Array] | Array = new_result((kernel.outputs, count, widths[0] * tree.n))
            full = None if kernel.entries is None else new_array(ready.arrays, count, ready.entries)
        else:
            outputs, full = self.memory.lent(out, ready, state)
        if not ready.fill(state, tuple(outputs), full, threads) and is_checking:
            return None
        if count < LANES:
            _answer_one_by_one(ready, state, outputs, full)
        return out if out is not None else self._made(tree, _as_called(ready, count, outputs, full))

    def _made(self, tree: Tree, found: Any) -> Answer:
        return found if self.answer is None else self.answer(tree, found)


def _answer_one_by_one(ready: run.Prepared, state: State, outputs: Any, full: Array | None) -> None:
    """Give the states of a small batch that can be trusted the bits that they have where all of them can."""
    for k in range(len(state[0])):
        found = ready.single(*(x[k : k + 1] for x in state))
        if found is None:
            continue
        numbers, arrays = found if full is not None and ready.kernel.outputs else (found, found)
        for m in range(ready.kernel.outputs):
            outputs[m][k] = numbers.reshape(ready.kernel.outputs, -1)[m]
        if full is not None:
            full[:, k] = arrays.reshape(len(full), -1)


def _as_called(ready: run.Prepared, count: int, outputs: Any, full: Array | None) -> Any:
    """Outputs (k, count, size) and full arrays (m, count, entries) in the shapes of a direct call."""
    if len(outputs) == 1:
        outputs = outputs[0]
    if full is None:
        return outputs
    shaped = full.reshape(*((len(full),) if len(full) > 1 else ()), count, *ready.shape)
    return (outputs, shaped) if ready.kernel.outputs else shaped
