"""Contact schedules: which foot is on the ground when, in shares of a cycle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array, number
from kinetree.errors import InputError, expect, listed, must_be, unknown_name

# touch-down of each leg in shares of the cycle, by place: from the front to the rear, left before right
NAMED: dict[int, dict[str, tuple[tuple[float, ...], float]]] = {
    1: {"hop": ((0.0,), 0.5)},
    2: {"walk": ((0.0, 0.5), 0.625)},
    4: {
        "trot": ((0.0, 0.5, 0.5, 0.0), 0.625),
        "pace": ((0.0, 0.5, 0.0, 0.5), 0.625),
        "walk": ((0.25, 0.75, 0.0, 0.5), 0.75),
    },
    6: {
        "tripod": ((0.0, 0.5, 0.5, 0.0, 0.0, 0.5), 0.625),
        "ripple": ((0.0, 0.5, 1.0 / 3.0, 5.0 / 6.0, 2.0 / 3.0, 1.0 / 6.0), 0.75),
    },
}


@dataclass(frozen=True)
class Schedule:
    """When feet are on the ground: ``touchdown`` (legs,) and ``duty``, in shares of the cycle.

    Each foot touches down at its time and rests for ``duty`` of the cycle. Legs come by place: from the front
    to the rear, left before right.

    >>> Schedule("trot", (0.0, 0.5, 0.5, 0.0), 0.6).least_support()
    2
    """

    name: str
    touchdown: tuple[float, ...]
    duty: float

    def __post_init__(self) -> None:
        if not 0.0 < number(self.duty, f"schedule '{self.name}': duty") < 1.0:
            raise InputError(must_be(f"schedule '{self.name}': duty", "within 0 and 1", self.duty, "g"))
        expect(self.touchdown, tuple | list, f"schedule '{self.name}': touchdown", "a list of numbers")
        for x in self.touchdown:
            if not 0.0 <= number(x, f"schedule '{self.name}': touchdown") < 1.0:
                raise InputError(must_be(f"schedule '{self.name}': touchdown", "from 0 to below 1", x, "g"))

    def on_ground(self, s: Array) -> Array:
        """Which feet (m, legs) are on the ground at instants s (m,)."""
        since = (np.asarray(s)[:, None] - np.array(self.touchdown)) % 1.0
        found: Array = since < self.duty
        return found

    def least_support(self) -> int:
        """The smallest number of feet on the ground at any time."""
        s = (np.arange(4000) + 0.5) / 4000
        return int(self.on_ground(s).sum(axis=1).min())

    def rounded(self, segments: int) -> Schedule:
        """The same with contacts that begin and end at knots of so many segments."""
        places = tuple(round(x * segments) % segments / segments for x in self.touchdown)
        return Schedule(self.name, places, max(1, round(self.duty * segments)) / segments)


def named_schedules(legs: int) -> dict[str, Schedule]:
    """Schedules that are known for so many legs.

    >>> import kinetree as kt
    >>> sorted(kt.gaits.named_schedules(4))
    ['pace', 'trot', 'walk']
    """
    return {name: Schedule(name, *given) for name, given in NAMED.get(legs, {}).items()}


def chosen_schedule(given: str | Schedule | Mapping[str, object], legs: Sequence[str]) -> Schedule:
    """A schedule by its name, or one's own for the named legs: {"touchdown": {...}, "duty": 0.6}."""
    count = len(legs)
    if isinstance(given, Mapping):
        given = _own(given, legs)
    if isinstance(given, Schedule):
        if len(given.touchdown) != count:
            raise InputError(
                f"schedule '{given.name}' has {len(given.touchdown)} legs, the mechanism {count}: "
                f"{listed(legs)}"
            )
        return given
    expect(given, str, "gait: schedule", "a name, a Schedule or a table of touchdown and duty")
    known = named_schedules(count)
    if given not in known:
        wrong = (
            unknown_name("schedule", given, known).rstrip(".") if known else f"none is known for {count} legs"
        )
        raise InputError(f"gait: {wrong}; give your own touchdown and duty for the legs {listed(legs)}")
    return known[given]


def _own(given: Mapping[str, object], legs: Sequence[str]) -> Schedule:
    for name in given:
        if name not in ("name", "touchdown", "duty"):
            raise InputError(
                unknown_name("key", name, ("name", "touchdown", "duty")).after("gait: schedule: ")
            )
    touchdown = given.get("touchdown")
    if not isinstance(touchdown, Mapping) or "duty" not in given:
        raise InputError("gait: your own schedule needs touchdown, by foot, and duty")
    for name in touchdown:
        if name not in legs:
            raise InputError(unknown_name("foot", name, legs).after("gait: schedule: "))
    missing = [name for name in legs if name not in touchdown]
    if missing:
        raise InputError(f"gait: schedule: touchdown of {listed(missing)} is missing")
    times = tuple(number(touchdown[name], f"touchdown of {name}") for name in legs)
    return Schedule(str(given.get("name", "own")), times, number(given["duty"], "duty"))


def check_support(schedule: Schedule) -> None:
    """An error where no foot is on the ground for a time: walking has none."""
    if schedule.least_support() > 0:
        return
    s = (np.arange(1000) + 0.5) / 1000
    without = s[~schedule.on_ground(s).any(axis=1)]
    raise InputError(
        f"gait: schedule '{schedule.name}' has no support from {without[0]:.2f} of the cycle on: no foot is "
        f"on the ground for {len(without) / 1000:.0%} of it. Use a larger duty than {schedule.duty:g}, or "
        "hop or jump"
    )
