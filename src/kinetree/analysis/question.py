"""The answer of a question of `dynamics.question` for mechanisms with closed loops."""

from __future__ import annotations

from typing import TypeVar

from kinetree.dynamics.checks import check_threads
from kinetree.dynamics.loads import Wrenches
from kinetree.dynamics.question import Question, State
from kinetree.model.mechanism import Mechanism

Answer = TypeVar("Answer")


def closed(
    question: Question[Answer],
    mechanism: Mechanism,
    state: State,
    wrenches: Wrenches = None,
    threads: int | None = None,
    formulation: str | None = None,
    out: Answer | None = None,
) -> Answer:
    """The answer for states that close the loops; once it was answered, direct calls answer single states."""
    from kinetree.dynamics.loops.verbs import closed_answer, closed_call  # not needed for trees

    check_threads(threads)
    if out is not None:
        question.memory.expect(out)
    answer: Answer = closed_answer(question.name, mechanism, state, wrenches, threads, formulation)
    calls = mechanism.tree.kept.calls
    if formulation is None and question not in calls:
        call = closed_call(question.name, mechanism)
        if call is not None:
            calls[question] = call
    return answer if out is None else question.memory.put(out, answer, state)
