"""Values per joint: one number for all, an array, or numbers by name of joint."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, frozen, numbers
from kinetree.control.structure import why_idle
from kinetree.errors import InputError, listed, must_be, unknown_name
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Flags, Integers

PerJoint = float | ArrayLike | Mapping[str, float]
Checked = float | Array | dict[str, float]


def checked(value: PerJoint, what: str, *, signed: bool = False, unlimited: bool = False) -> Checked:
    """The values as a number, a read-only vector or a dictionary; numbers that are not allowed are named.

    ``signed``: may be negative. ``unlimited``: may be infinite.

    >>> checked({"hip": 100.0, "knee": 50.0}, "kp")
    {'hip': 100.0, 'knee': 50.0}
    """
    if isinstance(value, Mapping):
        return {
            str(name): _one(x, f"{what} of joint '{name}'", signed, unlimited) for name, x in value.items()
        }
    if value is None or isinstance(value, bool):
        raise InputError(must_be(what, "numbers", value))
    array = numbers(value, what)
    if array.ndim > 1:
        raise InputError(f"{what} must be one number or a vector, got shape {array.shape}")
    wrong = np.isnan(array) | (np.isinf(array) & (not unlimited)) | ((array < 0.0) & (not signed))
    if wrong.any():
        where = f" at index {int(np.argmax(wrong))}" if array.ndim else ""
        bad = float(array[np.argmax(wrong)] if array.ndim else array)
        allowed = "finite" if signed else "finite and >= 0"
        raise InputError(f"{what} must be {'>= 0' if unlimited else allowed}, got {bad:g}{where}")
    return frozen(array) if array.ndim else float(array)


def _one(value: float, what: str, signed: bool, unlimited: bool) -> float:
    single = checked(value, what, signed=signed, unlimited=unlimited)
    if not isinstance(single, float):
        raise InputError(must_be(what, "one number", value))
    return single


def critical(kp: Checked) -> Checked:
    """2 sqrt(kp): with it e'' + kd e' + kp e = 0 is critically damped ([Shah2013], section 9.1.1).

    >>> critical(49.0)
    14.0
    """
    if isinstance(kp, dict):
        return {name: 2.0 * float(np.sqrt(x)) for name, x in kp.items()}
    return frozen(2.0 * np.sqrt(kp)) if isinstance(kp, np.ndarray) else 2.0 * float(np.sqrt(kp))


def is_zero(value: Checked) -> bool:
    """Whether no joint has another value than zero."""
    return not np.any(list(value.values()) if isinstance(value, dict) else value)


def spread(value: Checked, mechanism: Mechanism, what: str, *, unnamed: float | None, free: float) -> Array:
    """The values of all degrees of freedom, (n_dof,); those without an actuator have the value ``free``.

    An array has n_dof values, or as many as there are actuated joints. A name is that of a joint, which
    stands for all its degrees of freedom, or of one of these. ``unnamed`` is for joints that a dictionary
    leaves out; None: all must be there.
    """
    actuated = mechanism.actuated
    if isinstance(value, dict):
        return _by_name(value, mechanism, actuated, what, unnamed, free)
    full = np.full(mechanism.n_dof, free)
    if isinstance(value, float):
        full[actuated] = value
        return frozen(full)
    full[actuated] = value[columns(len(value), mechanism, what)][actuated]
    return frozen(full)


def columns(count: int, mechanism: Mechanism, what: str) -> Integers:
    """For every degree of freedom, which of ``count`` values is its own; any where it has no actuator."""
    actuated = mechanism.actuated
    n, driven = mechanism.n_dof, int(actuated.sum())
    if count == n:
        return np.arange(n)
    if count == driven and driven:
        return np.asarray(np.maximum(np.cumsum(actuated) - 1, 0), dtype=np.int64)
    if not driven:
        cut = [loop.name for loop in mechanism.loops if any(loop.joint.driven)]
        hint = (
            f"; those at cut joints ({listed(cut)}) take torque={{name: ...}} of kinetree.simulate"
            if cut
            else ""
        )
        raise InputError(f"{what}: no joint of the tree of '{mechanism.name}' has a drive{hint}")
    rest = "without the floating base," if mechanism.driven.all() else "for those with a drive,"
    allowed = f"{n}" if n == driven else f"{n}, or {driven} {rest}"
    names = listed(name for name, ours in zip(mechanism.joint_names, actuated, strict=True) if ours)
    raise InputError(f"{what} must have {allowed} values for '{mechanism.name}' ({names}), got {count}")


def named_joints(mechanism: Mechanism) -> dict[str, list[int]]:
    """Places in q of every joint and of every degree of freedom."""
    places = {name: [k] for k, name in enumerate(mechanism.joint_names)}
    for link in mechanism.links:
        if link.joint.mimic is None and link.joint.n_dof > 1:
            places[link.joint.name] = [mechanism.joint_index(name) for name in link.joint.dof_names]
    return places


def joint_places(name: str, mechanism: Mechanism, what: str) -> list[int]:
    """Places in q that a name stands for; all must be actuated."""
    places = named_joints(mechanism)
    if name not in places:
        raise InputError(unknown_name("joint", name, places).after(f"{what}: "))
    idle = [k for k in places[name] if not mechanism.actuated[k]]
    if idle:
        raise InputError(f"{what}: '{name}' {why_idle(mechanism, idle[0])}")
    return places[name]


def _by_name(
    value: dict[str, float],
    mechanism: Mechanism,
    actuated: Flags,
    what: str,
    unnamed: float | None,
    free: float,
) -> Array:
    full = np.where(actuated, np.nan, free)
    for name, x in sorted(value.items(), key=lambda item: -len(joint_places(item[0], mechanism, what))):
        full[joint_places(name, mechanism, what)] = x  # single axes last: they are more special
    missing = [name for name, x in zip(mechanism.joint_names, full, strict=True) if np.isnan(x)]
    if missing and unnamed is None:
        raise InputError(f"{what} must be given for every joint; missing: {listed(missing)}")
    return frozen(np.where(np.isnan(full), unnamed or 0.0, full))
