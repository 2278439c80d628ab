"""The margins of all verdicts: how far a motion may go before its audit fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from kinetree.algebra.arrays import number
from kinetree.errors import InputError, must_be, unknown_name

FALLEN_TILT, FALLEN_HEIGHT = 1.0, 0.5  # rad; fraction of the height: beyond these a robot has fallen


@dataclass(frozen=True)
class Verdicts:
    """Limits beyond which the audit of a motion fails; None: not checked.

    ``position`` (rad, m) beyond the joints' limits, ``position_at_stops`` where stops meet the joints there;
    ``velocity`` and ``effort`` beyond their limits, as fractions of the limit. ``following``: the error of a
    law that follows a motion, as a fraction of that motion. ``drift``: the distance of a floating base from
    its reference along the ground, as a fraction of the reference path. For a floating base on the ground
    under a law: ``tilt`` (rad) and ``height``, the loss of height as a fraction of its height above the feet,
    both relative to the reference motion, and ``slip``, the distance that a loaded foot slips as a fraction
    of the distance traveled. ``depth`` (m) of bodies in the ground below the deepest contact point,
    ``sinking`` of contact points themselves, as a fraction of the height of the base above them, of at most
    2/3 m.

    >>> Verdicts(tilt=0.5, effort=None).position
    0.01
    """

    position: float | None = 0.01
    position_at_stops: float | None = 0.1
    velocity: float | None = 0.01
    effort: float | None = 0.01
    following: float | None = 0.5
    drift: float | None = 0.5
    tilt: float | None = FALLEN_TILT
    height: float | None = FALLEN_HEIGHT
    slip: float | None = 0.2
    depth: float | None = 0.02
    sinking: float | None = 0.15

    def __post_init__(self) -> None:
        for name in (x.name for x in fields(self)):
            value = getattr(self, name)
            if value is not None:
                x = number(value, f"verdicts: {name}")
                if not x > 0.0:
                    raise InputError(must_be(f"verdicts: {name}", "> 0", x, "g"))
                object.__setattr__(self, name, x)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is checked."""
        return all(getattr(self, x.name) is None for x in fields(self))


NONE = Verdicts(**{x.name: None for x in fields(Verdicts)})


def read_verdicts(given: Verdicts | Mapping[str, float | None] | bool | None) -> Verdicts:
    """The argument ``verdicts`` of a simulation: thresholds, some of them by name, or whether to judge."""
    if given is None or given is True:
        return Verdicts()
    if given is False:
        return NONE
    if isinstance(given, Verdicts):
        return given
    if not isinstance(given, Mapping):
        raise InputError(
            must_be("verdicts", "Verdicts(...), a table such as {'tilt': 0.5}, True or False", given)
        )
    known = [x.name for x in fields(Verdicts)]
    for name in given:
        if name not in known:
            raise InputError(unknown_name("verdict", name, known).after("verdicts: "))
    return Verdicts(**given)
