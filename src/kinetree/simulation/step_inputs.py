"""What a `Stepper` is given, checked before any work."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, number, numbers
from kinetree.errors import InputError, shown, unknown_name
from kinetree.model.mechanism import Mechanism
from kinetree.simulation.compiled.step_memory import CAUSE, STEPS, TIME
from kinetree.simulation.ground import Ground
from kinetree.simulation.step_law import StepLaw
from kinetree.simulation.step_tables import StepTables

LONGEST, SHORTEST = 0.05, 1e-6  # s: steps that are accepted
CAUSES = {
    0.0: "fine",
    1.0: "a rate beyond 1e6 rad/s or m/s",
    2.0: "a state that is not a number",
    3.0: "a joint that moves no inertia; reset names it",
}


def check_kinds(coordinates: object, ground: object, stops: object, pairs: object) -> None:
    """Raise where settings are not of their kind."""
    if coordinates not in ("mechanism", "quaternion"):
        raise InputError(unknown_name("coordinates", coordinates, ("mechanism", "quaternion")))
    if ground is not None and not isinstance(ground, Ground):
        raise InputError(f"ground must be a Ground, got {shown(ground)}")
    if not isinstance(stops, bool | np.bool_):
        raise InputError(f"stops must be True or False, got {shown(stops)}")
    if not isinstance(pairs, Iterable):
        raise InputError(f"pairs must be a sequence of pairs of bodies, got {shown(pairs)}")


def restitution_of(given: object) -> float:
    """A coefficient of restitution."""
    bounce = number(given, "restitution")
    if not 0.0 <= bounce <= 1.0:
        raise InputError(f"restitution must be between 0 and 1, got {bounce:g}")
    return bounce


def floating(mechanism: Mechanism) -> list[int]:
    """The axes of free joints, which no servo drives."""
    found: list[int] = []
    axis = 0
    for link in mechanism.links:
        n = link.joint.n_dof
        if n == 6:
            found += range(axis, axis + n)
        axis += n
    return found


def factors(friction: ArrayLike, count: int) -> Array:
    """Factors of the friction of the ground, one for each state."""
    found = numbers(friction, "friction")
    if found.shape not in ((), (count,)):
        raise InputError(f"friction must be a factor or have shape ({count},), got shape {found.shape}")
    if not (np.isfinite(found) & (found >= 0.0)).all():
        raise InputError(f"friction must be finite factors >= 0, got {found.min():g}")
    return found


def fitting(values: Any, what: str, width: int, count: int) -> Array:
    """Finite values of shape (width,) or (count, width)."""
    array = numbers(values, what)
    if array.shape not in ((width,), (count, width)):
        raise InputError(f"{what} must have shape ({width},) or ({count}, {width}), got {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(f"{what} must be finite, got {array[~np.isfinite(array)][0]}")
    return array


def check_saved(tables: StepTables, saved: Array) -> None:
    """Raise where numbers (k, ...) cannot be states that `Stepper.save` gave."""
    gap, audit = tables.parts["state_gap"], saved[:, tables.parts["state_audit"]]
    wrong = ~np.isfinite(saved)
    wrong[:, gap] = False  # of a state that blew up
    if wrong.any():
        state, at = np.argwhere(wrong)[0]
        raise InputError(f"saved must be finite, got {saved[state, at]} in row {state}, column {at}")
    for ball in tables.balls:
        size = np.linalg.norm(saved[:, ball.at : ball.at + 4], axis=-1)
        if (np.abs(size - 1.0) > 1e-3).any():
            raise InputError(
                f"saved must be states of this mechanism: a quaternion of joint '{ball.name}' has length "
                f"{size[np.argmax(np.abs(size - 1.0))]:.6g}"
            )
    good = (
        (saved[:, -1] >= 0.0)
        & (audit[:, TIME] >= 0.0)
        & (audit[:, STEPS] >= 0.0)
        & np.isin(audit[:, CAUSE], list(CAUSES))
    )
    if not good.all():
        raise InputError(f"saved must be what save() gave, row {int(np.argmin(good))} is not")


def check_differentiable(tables: StepTables, law: StepLaw, turns: bool) -> None:
    """Refuse what has no derivatives yet, before any work; ``turns``: torques about angles of balls."""
    if turns:
        raise InputError(
            "derivatives of steps need torques of free and ball joints about the axes of their bodies; give "
            "coordinates='quaternion' to the Stepper"
        )
    if tables.ground is not None and tables.ground.terrain is not None:
        raise InputError("derivatives of steps need level or sloping ground, not a height field")
    if len(tables.pair_table.names):
        raise InputError("derivatives of steps do not support contact between bodies; leave pairs out")
    if law.acts and law.motion is None:
        raise InputError(
            "derivatives of steps do not know how a controller's torques depend on the state; give "
            "torque= to a Stepper without controller"
        )


def checked_dt(dt: object) -> float:
    """A step (s)."""
    x = number(dt, "dt")
    if not SHORTEST <= x <= LONGEST:
        raise InputError(f"dt must be between {SHORTEST:g} and {LONGEST:g} s, got {x:g}")
    return x


def checked_batch(batch: object) -> int | None:
    """A number of states, or None for one without a batch axis."""
    if batch is None:
        return None
    if not isinstance(batch, int | np.integer) or isinstance(batch, bool) or batch < 1:
        raise InputError(f"batch must be an integer of at least 1, or None for one state, got {shown(batch)}")
    return int(batch)


def check_supported(mechanism: Mechanism) -> None:
    """Refuse what steps do not know yet, before any work."""
    tree = mechanism.tree
    if mechanism.loops:
        raise InputError(f"Stepper does not support closed loops, '{mechanism.name}' has some; use simulate")
    if tree.springs is not None:
        raise InputError(
            f"Stepper does not support springs between bodies, '{mechanism.name}' has some; use simulate"
        )
    if tree.coupling is not None:
        tree.coupling.check_linear()
    if tree.n == 0:
        raise InputError(f"Stepper needs a mechanism that moves, '{mechanism.name}' has no joints")
