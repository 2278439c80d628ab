"""Static optimization: which activations of muscles make the torques of a motion at the least cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, number, numbers
from kinetree.algebra.shown import Shown
from kinetree.analysis.muscles import geometry
from kinetree.dynamics.checks import given
from kinetree.dynamics.muscles.hill import hill_tables
from kinetree.dynamics.muscles.sharing import LEAST_ARM, active_forces, shared
from kinetree.errors import InputError, listed, must_be, shown, texts, unknown_name
from kinetree.model.mechanism import Mechanism
from kinetree.other_names import checks_keywords

Values = float | Mapping[str, float]


@dataclass(frozen=True)
class Shortage:
    """A ``frame`` whose muscles cannot make a torque: the ``joint``, the ``moment`` (N m), its ``price``.

    The price is what one more N m of it costs.

    >>> Shortage(12, "knee", 30.0, 5.0).joint
    'knee'
    """

    frame: int
    joint: str
    moment: float
    price: float


@dataclass(frozen=True, eq=False, repr=False)
class Sharing(Shown):
    """How muscles share the torques of joints, (frames, muscles) and (frames, joints); see :func:`share`.

    ``activation`` and ``force`` along the tendons (N, with passive forces) of the ``muscles``; of the
    ``joints`` the ``torque`` asked for, the ``reserve`` that muscles do not make (N m) and the ``price`` of
    each moment, d cost / d torque; the ``cost`` of each frame, and the largest ``residual`` of its moments
    (N m).

    >>> import kinetree as kt
    >>> arm, still = kt.zoo.muscle_arm(), [[0.0, 0.0]]
    >>> found = kt.muscles.share(arm, [[0.0, 1.0]], still, [[10.0, 5.0]])
    >>> found["deltoid"].shape, found.joints
    ((1,), ('shoulder', 'elbow'))
    """

    muscles: tuple[str, ...]
    joints: tuple[str, ...]
    activation: Array
    force: Array
    torque: Array
    reserve: Array
    price: Array
    cost: Array
    residual: Array

    def __getitem__(self, muscle: str) -> Array:
        """The activations of a muscle, (frames,)."""
        if muscle not in self.muscles:
            raise InputError(unknown_name("muscle", muscle, self.muscles))
        return np.asarray(self.activation[..., self.muscles.index(muscle)])

    def shortages(self, least: float = 1.0) -> list[Shortage]:
        """Frames in which reserves make more than ``least`` (N m), the largest first."""
        limit = number(least, "least")
        places = np.argwhere(np.abs(self.reserve) > limit)
        found = [
            Shortage(int(f), self.joints[j], float(self.reserve[f, j]), float(self.price[f, j]))
            for f, j in places
        ]
        return sorted(found, key=lambda x: -abs(x.moment))


@checks_keywords
def share(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    torque: ArrayLike,
    *,
    joints: Sequence[str] | None = None,
    exponent: float = 2.0,
    weights: Values = 1.0,
    reserve: Values = 10.0,
    passive: bool = True,
    times: ArrayLike | None = None,
) -> Sharing:
    """Share the torques (m, n_dof) of motions q, qd (m, n_dof) among the muscles, frame by frame.

    Least sum of weight a^exponent + (e / reserve)^2, where the muscles make torque - e about the ``joints``
    (all that muscles span, unless given), and activations are between their least value and 1. Tendons are
    rigid; ``passive`` forces of fibers are counted unless they are left out. ``weights`` by muscle,
    ``reserve`` by joint (N m), or one number for all. With ``times`` (m,) activations change no faster than
    excitations between 0 and 1 allow. Solved by Newton's method on the dual.

    >>> import kinetree as kt
    >>> arm, still = kt.zoo.muscle_arm(), [[0.0, 0.0]]
    >>> torque = kt.inverse_dynamics(arm, [[0.0, 1.0]], still, still)
    >>> found = kt.muscles.share(arm, [[0.0, 1.0]], still, torque)
    >>> dict(zip(found.muscles, found.activation[0].round(3).tolist()))["biceps"]
    0.072
    >>> bool(abs(found.residual[0]) < 1e-9), found.shortages()
    (True, [])
    """
    found, batch = geometry(mechanism, q)
    if len(batch) != 1:
        raise InputError(f"q must be the poses of a motion, (m, {mechanism.n_dof}), got shape {np.shape(q)}")
    speed, tau = given(mechanism, qd, "qd"), given(mechanism, torque, "torque")
    for what, array in (("qd", speed), ("torque", tau)):
        if array.shape != (*batch, mechanism.n_dof):
            raise InputError(
                f"{what} must have the shape of q, {(*batch, mechanism.n_dof)}, got {array.shape}"
            )
    power = number(exponent, "exponent")
    if power <= 1.0:
        raise InputError(must_be("exponent", "above 1", power, "g"))
    chosen = _chosen(mechanism, found.slope, joints)
    columns = [mechanism.joint_index(name) for name in chosen]
    tables = hill_tables(mechanism)
    rate = (found.slope @ speed[..., None])[..., 0]
    active, rest = active_forces(tables, found.length, rate)
    arms = np.where((np.abs(found.slope) > LEAST_ARM).any(axis=0), -found.slope, 0.0)[..., columns]
    asked = tau[:, columns]
    made = (rest[..., None] * arms).sum(axis=1) if passive else np.zeros_like(asked)
    weight = _values(weights, [muscle.name for muscle in mechanism.muscles], "weight", "muscle")
    limit = _values(reserve, chosen, "reserve", "joint")
    low = np.array([muscle.minimum_activation for muscle in mechanism.muscles])
    moment = active[..., None] * arms
    bounds = (low, np.ones(len(low)))
    answer = shared(
        mechanism.muscles, moment, asked - made, weight, limit, power, bounds, _steps(times, len(tau))
    )
    a, price = answer.activation, answer.price
    left = 0.5 * limit**2 * price
    off = np.abs((moment * a[..., None]).sum(axis=1) + made + left - asked).max(axis=1, initial=0.0)
    cost = (weight * a**power).sum(axis=1) + ((left / limit) ** 2).sum(axis=1)
    names = tuple(muscle.name for muscle in mechanism.muscles)
    force = active * a + (rest if passive else 0.0)
    return Sharing(names, tuple(chosen), a, force, asked, left, price, cost, off)


def _chosen(mechanism: Mechanism, slope: Array, joints: Sequence[str] | None) -> list[str]:
    """The joints whose torques are shared: those that muscles span."""
    names = mechanism.joint_names
    spanned = np.asarray((np.abs(slope) > LEAST_ARM).any(axis=(0, 1)))
    if joints is None:
        return [name for name, known in zip(names, spanned, strict=True) if known]
    chosen = texts(joints, "joints")
    for name in chosen:
        if not spanned[mechanism.joint_index(name)]:
            across = [x for x, known in zip(names, spanned, strict=True) if known]
            raise InputError(
                f"no muscle of '{mechanism.name}' spans joint '{name}'; muscles span {listed(across)}"
            )
    return list(chosen)


def _values(values: Values, names: Sequence[str], what: str, kind: str) -> Array:
    """One positive number for each name; those that a mapping leaves out are 1."""
    if isinstance(values, Mapping):
        for name in values:
            if name not in names:
                raise InputError(unknown_name(kind, name, names).after(f"{what}: "))
        array = np.array([number(values.get(name, 1.0), f"{what} of {kind} '{name}'") for name in names])
    else:
        array = np.full(len(names), number(values, what))
    if array.size and array.min() <= 0.0:
        k = int(array.argmin())
        raise InputError(must_be(f"{what} of {kind} '{names[k]}'", "> 0", array[k], "g"))
    return array


def _steps(times: ArrayLike | None, m: int) -> Array:
    """Times from frame to frame, (m,); zeros without times."""
    if times is None:
        return np.zeros(m)
    t = numbers(times, "times")
    if t.shape != (m,):
        raise InputError(f"times must have shape ({m},), one for each frame, got shape {t.shape}")
    back = ~(np.diff(t) > 0.0)
    if back.any():
        k = int(np.argmax(back))
        raise InputError(f"times must ascend, got {shown(float(t[k + 1]))} after {t[k]:g}")
    return np.concatenate([[0.0], np.diff(t)])
