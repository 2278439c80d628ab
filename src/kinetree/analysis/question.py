"""The answer of a question of `dynamics.question` for mechanisms with closed loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from kinetree.dynamics.checks import check_threads
from kinetree.dynamics.loads import Wrenches
from kinetree.dynamics.question import Question, State
from kinetree.errors import InputError, shown
from kinetree.model.mechanism import Mechanism

Answer = TypeVar("Answer")
Independent = Sequence[str] | None  # names of joints; those of `kinetree.loops.structure` if None


def closed(
    question: Question[Answer],
    mechanism: Mechanism,
    state: State,
    wrenches: Wrenches = None,
    threads: int | None = None,
    formulation: str | None = None,
    out: Answer | None = None,
    independent: Independent = None,
) -> Answer:
    """The answer for states that close the loops; once it was answered, direct calls answer single states.

    ``independent`` names the joints by which derivatives are total, and is refused for open trees.
    """
    if not mechanism.loops:
        raise InputError(
            f"independent={shown(independent)}: all joints of mechanism '{mechanism.name}' are independent, "
            "as it has no closed loops; leave it out"
        )
    from kinetree.dynamics.loops.verbs import closed_answer, closed_call  # not needed for trees

    check_threads(threads)
    if formulation is not None and independent is not None:
        raise InputError(f"formulation '{formulation}' chooses independent joints itself; leave them out")
    if out is not None:
        question.memory.expect(out)
    answer: Answer = closed_answer(
        question.name, mechanism, state, wrenches, threads, formulation, independent
    )
    calls = mechanism.tree.kept.calls
    if formulation is None and question not in calls:
        call = closed_call(question.name, mechanism)
        if call is not None:
            calls[question] = call
    return answer if out is None else question.memory.put(out, answer, state)
