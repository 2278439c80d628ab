"""Lifting again and again: a box up to the shelf, down to the floor, and up again, as one motion.

The mechanics are conservative: run backwards, a motion has the same torques, since qdd is even and qd enters
in squares. So the lowering that costs the least is the lift run backwards; both begin and end at rest
and join into one motion.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from kinetree.errors import InputError, must_be
from kinetree.gait_data.ground import ground_variables
from kinetree.result.build import build_result
from kinetree.result.result import Result
from kinetree.tasks.lifting.lift import Lift, joint_force_variables

MOST = 100  # repetitions


def repeat(lift: Lift, count: int = 3, rest: float = 0.0) -> Result:
    """So many lifts, each but the last followed by its way down, with a ``rest`` (s) at both ends.

    The result has q, qd, qdd, tau, the forces in back and knees and the ground's reactions of all of it.
    """
    checked_count(count)
    check_rest(rest)
    return joined([lift] * count, rest)


def checked_count(count: int) -> None:
    """Raise unless it is a number of repetitions."""
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST:
        raise InputError(must_be("the number of repetitions", f"an integer from 1 to {MOST}", count))


def check_rest(rest: float) -> None:
    """Raise unless it is a time to rest."""
    if not (np.isfinite(rest) and 0.0 <= rest <= 60.0):
        raise InputError(must_be("a rest between repetitions", "from 0 to 60 s", rest, "g"))


def joined(lifts: Sequence[Lift], rest: float) -> Result:
    """Lifts as one motion, each but the last followed by its way down, with a rest (s) at both ends."""
    times: list[Any] = []
    parts: dict[str, list[Any]] = {}
    begun = 0.0
    for k, (lift, up) in enumerate(ways(lifts)):
        t, T = lift.prediction.t, lift.prediction.duration
        course, ground = lift.course, lift.ground
        numbers = {
            "q": course.q, "qd": course.qd if up else -course.qd, "qdd": course.qdd, "tau": course.tau,
            "force": ground.force, "point": ground.point, "moment": ground.moment,
            "spared": np.stack(list(lift.joint_forces.values()), axis=1),
        }  # fmt: skip
        way = slice(None) if up else slice(None, None, -1)
        first = 0 if k == 0 or rest else 1  # else both ends are one instant
        times.append((begun + (t if up else (T - t)[::-1]))[first:])
        for name, values in numbers.items():
            parts.setdefault(name, []).append(values[way][first:])
        begun += T + rest
    found = {name: np.concatenate(values) for name, values in parts.items()}
    return _result(lifts[-1], len(lifts), rest, np.concatenate(times), found)


def ways(lifts: Sequence[Lift]) -> Iterator[tuple[Lift, bool]]:
    """The lifts in order, each but the last twice: on its way up, and down."""
    for k, lift in enumerate(lifts):
        yield lift, True
        if k < len(lifts) - 1:
            yield lift, False


def _result(lift: Lift, count: int, rest: float, time: Any, found: dict[str, Any]) -> Result:
    feet = [{"right": x[:, 0], "left": x[:, 1]} for x in (found[k] for k in ("force", "point", "moment"))]
    more, labels = ground_variables(*feet)
    spared, own = joint_force_variables(found["spared"], list(lift.joint_forces))
    variables = {"time": time, **{k: found[k] for k in ("q", "qd", "qdd", "tau")}, **more}
    settings = {"lifting": asdict(lift.task), "repetitions": count, "rest": rest, "steps": 0}
    settings["ground"] = lift.lifter.surroundings
    audit = dict(lift.checks)
    return build_result(
        "lift",
        lift.course.mechanism,
        variables | spared,
        coordinates=labels | own,
        settings=settings,
        audit=audit,
    )
