"""States of a mechanism and the loads on it, as arrays with the batch axes first."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, frozen, number, numbers
from kinetree.errors import InputError, KinetreeWarning, Refusal, listed, must_be, unknown_name
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.other_names import checks_keywords

Frame = Literal["world", "body"]
FRAMES: tuple[Frame, ...] = ("world", "body")
Coordinates = ArrayLike | Mapping[str, float]  # (..., n_dof), or by joint name: others are zero
COMPONENTS = ("fx", "fy", "fz", "mx", "my", "mz")  # of a wrench: its force (N), then its moment (N m)


@checks_keywords
@dataclass(frozen=True, eq=False)
class Wrench:
    """A load applied to a body.

    ``force`` (..., 3) in N acts at ``point`` (3,) of the body, given in the body frame (m); ``moment``
    (..., 3) in N m. ``frame`` says in whose axes force and moment are given: "world" or "body".

    >>> Wrench("fore", force=(0, 0, -10), point=(0.3, 0, 0)).frame
    'world'
    """

    body: str
    force: ArrayLike = (0.0, 0.0, 0.0)
    moment: ArrayLike = (0.0, 0.0, 0.0)
    point: ArrayLike = (0.0, 0.0, 0.0)
    frame: Frame = "world"

    def __post_init__(self) -> None:
        if self.frame not in FRAMES:
            raise InputError(unknown_name("frame", self.frame, FRAMES).after(f"wrench on '{self.body}': "))
        for name in ("force", "moment", "point"):
            what = f"{name} of the wrench on '{self.body}'"
            array = finite(numbers(getattr(self, name), what), what)
            if array.shape[-1:] != (3,) or (name == "point" and array.ndim != 1):
                raise InputError(f"{what} must have 3 components, got shape {array.shape}")
            object.__setattr__(self, name, frozen(array))


@dataclass(frozen=True, eq=False)
class State:
    """Positions, velocities and accelerations, each (..., n_dof), of one state or of a batch of them.

    >>> import kinetree as kt
    >>> motion = kt.trajectories.cycloid([0, 0], [1, 2], duration=1.0).at(0.5)
    >>> motion.q.tolist(), motion.qd.tolist()
    ([0.5, 1.0], [2.0, 4.0])
    """

    q: Array
    qd: Array = field(default_factory=lambda: np.zeros(0))
    qdd: Array = field(default_factory=lambda: np.zeros(0))


def fitting(mechanism: Mechanism, values: Coordinates, what: str) -> Array:
    """Values as a float64 array (..., n_dof), finite or not; a dict names joints, others are zero."""
    if isinstance(values, Mapping):
        values = _by_name(mechanism, values, what)
    array = numbers(values, what)
    n = mechanism.n_dof
    if array.ndim == 0 or array.shape[-1] != n:
        wanted = f"(..., {n}), one value for each of the joints {listed(mechanism.joint_names)}"
        stated = f"{what} must have shape {wanted}; got shape {array.shape}"
        raise InputError(Refusal(stated, what, array.shape, wanted))
    return array


def _by_name(mechanism: Mechanism, values: Mapping[str, float], what: str) -> Array:
    """Values (n_dof,) of the joints that are named; zero for all others."""
    found = np.zeros(mechanism.n_dof)
    for name, value in values.items():
        if name not in mechanism.joint_names:
            raise InputError(unknown_name("joint", name, mechanism.joint_names).after(f"{what}: "))
        found[mechanism.joint_index(name)] = number(value, f"{what} of joint '{name}'")
    return found


def coordinates(mechanism: Mechanism, values: Coordinates, what: str) -> Array:
    """Values as a float64 array (..., n_dof), finite; an error names the joint that is not."""
    array = fitting(mechanism, values, what)
    if not math.isfinite(array.sum()) and not np.isfinite(array).all():
        place = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        where = f" in {state_name(place[:-1])}" if len(place) > 1 else ""
        joint = mechanism.joint_names[place[-1]]
        raise InputError(must_be(what, "finite", array[place], "").then(f" for joint '{joint}'{where}"))
    return array


def farthest(q: Array) -> Array:
    """Of states (k, n_dof) the coordinate of every joint that is farthest from zero, (n_dof,)."""
    found: Array = np.take_along_axis(q, np.abs(q).argmax(axis=0)[None], axis=0)[0]
    return found


def hint_at_degrees(mechanism: Mechanism, q: Array, what: str) -> None:
    """Warn of angles (n_dof,) far beyond the limits of their joints that would be within them as degrees."""
    tree = mechanism.tree
    for k in np.flatnonzero(np.abs(q) > 2.0 * math.pi).tolist():
        axis = tree.axis_names.index(mechanism.joint_names[k])
        low, high = float(tree.lower[axis]), float(tree.upper[axis])
        limited = tree.turns[axis] and math.isfinite(low) and math.isfinite(high)
        if limited and not low <= q[k] <= high and low <= math.radians(q[k]) <= high:
            warnings.warn(
                f"{what} of joint '{mechanism.joint_names[k]}' is {q[k]:g} rad, far beyond its limits "
                f"{low:g} to {high:g} rad; angles are in radians: {q[k]:g} degrees are "
                f"{math.radians(q[k]):.4g} rad",
                KinetreeWarning,
                stacklevel=4,
            )


def state_name(place: tuple[int, ...]) -> str:
    """What messages call a state of a batch, or the only one.

    >>> state_name((7,)), state_name((2, 3)), state_name(())
    ('state 7', 'state (2, 3)', 'this state')
    """
    if not place:
        return "this state"
    return f"state {int(place[0]) if len(place) == 1 else tuple(int(k) for k in place)}"


def random_state(
    mechanism: Mechanism, rng: np.random.Generator, batch: int | tuple[int, ...] = (), scale: float = 1.0
) -> State:
    """Random positions within the limits, and random velocities and accelerations.

    Where there are no limits, positions span 2 pi or 2 m.

    >>> import kinetree as kt, numpy as np
    >>> kt.random_state(kt.zoo.gripper(), np.random.default_rng(0), batch=(3,)).q.shape
    (3, 4)
    """
    expect_mechanism(mechanism)
    if not isinstance(rng, np.random.Generator):
        raise InputError(must_be("rng", "a generator such as numpy.random.default_rng(0)", rng))
    tree = mechanism.tree
    free = independent_axes(mechanism)
    reach = np.where(tree.turns, np.pi, 1.0)[free]
    lower, upper = tree.lower[free], tree.upper[free]
    low = np.where(np.isfinite(lower), lower, np.minimum(-reach, upper - 2.0 * reach))
    high = np.where(np.isfinite(upper), upper, np.maximum(reach, lower + 2.0 * reach))
    axes = (batch,) if isinstance(batch, int) else batch
    if not isinstance(axes, tuple | list) or not all(type(k) is int and k >= 0 for k in axes):
        raise InputError(must_be("batch", "an integer >= 0 or a tuple of them", batch))
    shape = (*axes, mechanism.n_dof)
    scale = number(scale, "scale")
    q = rng.uniform(low, high, shape)
    return State(q, scale * rng.standard_normal(shape), scale * rng.standard_normal(shape))


def independent_axes(mechanism: Mechanism) -> np.ndarray:
    """The axes of the tree that q lists: all but those of mimic joints."""
    if mechanism.tree.coupling is None:
        return np.arange(mechanism.tree.n)
    names = set(mechanism.joint_names)
    return np.array([k for k, name in enumerate(mechanism.tree.axis_names) if name in names], dtype=np.int64)
