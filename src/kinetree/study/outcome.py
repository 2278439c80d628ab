"""How a study ended: in a word, as an exit code, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kinetree.result.records import plain_check
from kinetree.result.result import Result
from kinetree.result.variables import (
    ABOVE,
    CONTROL,
    DRIFT,
    EFFORT,
    HEIGHT,
    MODEL_LIMITS,
    POSITION,
    SINKING,
    SLIP,
    TILT,
    VELOCITY,
    WALK,
)
from kinetree.study.assignment import Study

OK, STOPPED, AUDIT_FAILED = "ok", "stopped", "audit_failed"
FELL, BELOW_GROUND, NOT_FOLLOWED, SLIPPED, LIMITS_EXCEEDED = (
    "fell", "below_ground", "not_followed", "slipped", "limits_exceeded",
)  # fmt: skip
INFEASIBLE, DIVERGED, INTERRUPTED, BAD_INPUT = "infeasible", "diverged", "interrupted", "bad_input"
EXIT_CODES = {
    OK: 0,
    STOPPED: 0,  # by an event that was asked for
    BAD_INPUT: 2,
    INFEASIBLE: 3,
    DIVERGED: 3,
    AUDIT_FAILED: 3,
    FELL: 3,
    NOT_FOLLOWED: 3,
    SLIPPED: 3,
    BELOW_GROUND: 3,
    LIMITS_EXCEEDED: 3,
    INTERRUPTED: 130,
}
OF_VERDICTS = {
    WALK: FELL,
    TILT: FELL,
    HEIGHT: FELL,
    CONTROL: NOT_FOLLOWED,
    DRIFT: NOT_FOLLOWED,
    SLIP: SLIPPED,
    SINKING: BELOW_GROUND,
    ABOVE: BELOW_GROUND,
    POSITION: LIMITS_EXCEEDED,
    VELOCITY: LIMITS_EXCEEDED,
    EFFORT: LIMITS_EXCEEDED,
    MODEL_LIMITS: LIMITS_EXCEEDED,
}  # the status of a study whose numbers are right but whose motion is not, the first that failed
OF_PREDICTIONS = ("duration", "objective", "iterations", "max_violation")


@dataclass(frozen=True, eq=False)
class StudyOutcome:
    """A study that was run: its status, the result if there is any, the time it took, what went wrong.

    ``further``: further results by name, such as the simulation of a predicted gait.
    """

    study: Study
    model: str
    status: str
    result: Result | None
    seconds: float
    message: str = ""
    further: Mapping[str, Result | None] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """0 ok, 2 bad input, 3 infeasible, diverged or not as accurate as demanded, 130 interrupted."""
        return EXIT_CODES[self.status]

    def to_json(self, file: str | None) -> dict[str, Any]:
        """Status, task, model, seconds, file, audit, what was not judged, figures of a prediction."""
        audit = {} if self.result is None else self.result.audit
        stated: dict[str, Any] = {
            "status": self.status,
            "task": self.study.task,
            "model": self.model,
            "seconds": round(self.seconds, 3),
            "result": file,
            "audit": {name: plain_check(check) for name, check in audit.items()},
            "not_judged": {} if self.result is None else self.result.not_judged,
        }
        if self.message:
            stated["message"] = self.message
        if self.result is not None and self.result.task == "predict":
            stated |= {key: self.result.statistics[key] for key in OF_PREDICTIONS}
        return stated


def failed_checks(result: Result) -> list[str]:
    """A sentence for each check that did not pass; none if the search itself failed, which says more."""
    solved = result.audit.get("solved")
    if solved is not None and not solved.passed:
        return []
    return [
        f"{name} is {check.figures}: {check.sentence}"
        for name, check in result.audit.items()
        if not check.passed
    ]


def status_of(result: Result) -> str:
    """The status of a result that was reached without an error."""
    if result.stop_reason == INTERRUPTED:
        return INTERRUPTED
    if result.task == "predict" and result.statistics["status"] == INFEASIBLE:
        return INFEASIBLE
    failed = [name for name, check in result.audit.items() if not check.passed]
    if failed:
        return verdict_status(failed)
    return OK if result.complete else STOPPED


def verdict_status(failed: list[str]) -> str:
    """The status that failed checks of an audit give: verdicts have words of their own.

    >>> verdict_status(["effort_limits", "tilt"]), verdict_status(["tilt", "energy_balance"])
    ('fell', 'audit_failed')
    """
    names = [name.rpartition(": ")[2] for name in failed]  # of comparisons, after the case
    if not all(name in OF_VERDICTS for name in names):
        return AUDIT_FAILED
    return next(status for name, status in OF_VERDICTS.items() if name in names)
