"""Joints: what a joint is made of, whatever its kind.

Every joint is a list of one-DOF axes, turned about or slid along one after the other with no body between
them ([Shah2013], chapter 3). Whoever reads a mechanism sees these axes and need not know the kind; all kinds
stand in :mod:`kinetree.model.joint_kind`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from itertools import pairwise
from math import isfinite, isnan, perm
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, array_key, frozen, number, numbers
from kinetree.algebra.rotation import (
    AXES,
    THREE_AXIS_SEQUENCES,
    TWO_AXIS_SEQUENCES,
    sequence_axes,
    unit_axis,
)
from kinetree.algebra.smooth_functions import Composed as Composed
from kinetree.algebra.smooth_functions import CubicSpline as CubicSpline
from kinetree.algebra.smooth_functions import PiecewiseLinear as PiecewiseLinear
from kinetree.algebra.smooth_functions import Polynomial as Polynomial
from kinetree.algebra.smooth_functions import Scaled as Scaled
from kinetree.algebra.smooth_functions import SmoothFunction as SmoothFunction
from kinetree.algebra.smooth_functions import line
from kinetree.errors import ModelError, must_be, shown, unknown_name
from kinetree.model.body import checked_name
from kinetree.model.joint_kind import ALL_KINDS, CUT_KINDS, KINDS, JointKind

# what may be given per degree of freedom: name, default, smallest value allowed
PARAMETERS = {
    "lower": (-np.inf, None),
    "upper": (np.inf, None),
    "velocity_limit": (np.inf, 0.0),
    "effort_limit": (np.inf, 0.0),
    "armature": (0.0, 0.0),
    "viscous": (0.0, 0.0),
    "coulomb": (0.0, 0.0),
    "coulomb_reverse": (0.0, 0.0),  # by default coulomb, see usual_value
    "stiffness": (0.0, 0.0),
    "rest": (0.0, None),
}
UNLIMITED = ("lower", "upper", "velocity_limit", "effort_limit")  # infinity means: no limit


HIGHER = 3  # coefficients of a mimic beyond the linear one


@dataclass(frozen=True)
class Mimic:
    """This joint follows another: q = offset + multiplier p + higher[0] p^2 + higher[1] p^3 + ..., p its q.

    ``higher`` holds up to three coefficients. ``function`` is any smooth function of p instead, such as
    ``Polynomial``, ``CubicSpline`` or ``PiecewiseLinear``. Loops, and the stepper's contacts, accept linear
    mimics only. ``others`` has further joints that it follows, with their multipliers: q = offset +
    multiplier p + sum of multiplier_k p_k; then there are no higher powers, and no loops. A joint with
    several degrees of freedom is followed by the name of one of them, such as "hip.rx".

    >>> cam = Mimic("crank", 0.5, 0.25, (0.125,))
    >>> cam.at(2.0), cam.slope(2.0), cam.bend(2.0)
    (1.75, 1.0, 0.25)
    >>> Mimic("pitch", -1.0, others={"knee": -1.0}).leaders
    (('pitch', -1.0), ('knee', -1.0))
    >>> import kinetree as kt
    >>> round(Mimic("knee", function=kt.model.CubicSpline((0.0, 1.0, 2.0), (0.0, 0.1, 0.4))).slope(2.0), 9)
    0.4
    """

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0
    higher: tuple[float, ...] = ()
    others: tuple[tuple[str, float], ...] = ()
    function: SmoothFunction | None = None

    @property
    def leaders(self) -> tuple[tuple[str, float], ...]:
        """All joints that it follows, with their multipliers."""
        return ((self.joint, self.multiplier), *self.others)

    @property
    def coefficients(self) -> tuple[float, ...]:
        """All of the polynomial, the constant first."""
        return (self.offset, self.multiplier, *self.higher)

    @property
    def law(self) -> SmoothFunction | None:
        """q as a function of p that is no straight line; nothing of linear mimics."""
        if self.function is None:
            return Polynomial(self.coefficients) if self.higher else None
        return self.function

    def at(self, p: Any) -> Any:
        """q where the other joint is at p."""
        return self._value(p, 0)

    def slope(self, p: Any) -> Any:
        """dq/dp."""
        return self._value(p, 1)

    def bend(self, p: Any) -> Any:
        """d2q/dp2."""
        return self._value(p, 2)

    def _value(self, p: Any, order: int) -> Any:
        if self.function is not None:
            value = self.function.at(p, order)
            return value if value.ndim else float(value)
        terms = (perm(k, order) * c * p ** (k - order) for k, c in enumerate(self.coefficients) if k >= order)
        return sum(terms) + 0.0 * p

    def __post_init__(self) -> None:
        if isinstance(self.higher, str) or not isinstance(self.higher, Iterable):
            raise ModelError(
                must_be(
                    f"mimic of '{self.joint}': higher",
                    f"up to {HIGHER} numbers, the coefficients of p^2, p^3 and p^4",
                    self.higher,
                )
            )
        higher = tuple(
            number(x, f"mimic of '{self.joint}': higher coefficient", ModelError) for x in self.higher
        )
        while higher and higher[-1] == 0.0:
            higher = higher[:-1]
        if len(higher) > HIGHER:
            raise ModelError(
                f"mimic of '{self.joint}': a polynomial goes up to the power {HIGHER + 1}, got "
                f"{len(higher)} coefficients beyond the linear one"
            )
        object.__setattr__(self, "higher", higher)
        object.__setattr__(self, "others", _others(self.joint, self.others))
        if self.higher and self.others:
            raise ModelError(
                f"mimic of '{self.joint}': a joint that follows several others does so linearly, got higher "
                f"= {shown(self.higher)} with others"
            )
        checked_name(self.joint, "the joint that is mimicked")
        number(self.multiplier, f"mimic multiplier of '{self.joint}'", ModelError)
        number(self.offset, f"mimic offset of '{self.joint}'", ModelError)
        if self.function is not None:
            self._check_function()

    def _check_function(self) -> None:
        """A function stands alone; one that is a straight line becomes multiplier and offset."""
        if not isinstance(self.function, SmoothFunction):
            raise ModelError(
                must_be(
                    f"mimic of '{self.joint}': function",
                    "a smooth function such as CubicSpline(x, y)",
                    self.function,
                )
            )
        if self.higher or self.others or (self.multiplier, self.offset) != (1.0, 0.0):
            raise ModelError(
                f"mimic of '{self.joint}': a function takes the place of multiplier, offset, higher and "
                "others; leave these out"
            )
        straight = line(self.function)
        if straight is not None:
            object.__setattr__(self, "multiplier", straight[0])
            object.__setattr__(self, "offset", straight[1])
            object.__setattr__(self, "function", None)


def _others(joint: str, given: Any) -> tuple[tuple[str, float], ...]:
    """Further joints that are mimicked, by name, each once."""
    pairs = given.items() if isinstance(given, Mapping) else given
    try:
        found = [(name, value) for name, value in pairs]
    except (TypeError, ValueError):
        raise ModelError(
            f"mimic of '{joint}': others must have a multiplier by name of joint, got {shown(given)}"
        ) from None
    names = [joint]
    for name, value in found:
        checked_name(name, "the joint that is mimicked")
        number(value, f"mimic multiplier of '{name}'", ModelError)
        if name in names:
            raise ModelError(f"mimic of '{joint}': joint '{name}' is named twice")
        names.append(name)
    return tuple((name, float(value)) for name, value in found)


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint as a list of axes in its own frame; use :meth:`of_kind` or the builder to make one.

    ``axes`` (n_dof, 3) unit vectors; ``turns`` whether each axis is turned about or slid along. Per degree
    of freedom, shape (n_dof,), SI units: position limits ``lower``, ``upper``; ``velocity_limit``;
    ``effort_limit``; ``armature`` (inertia of the drive felt at the joint: adds armature qdd to the torque);
    ``viscous`` and ``coulomb`` friction, ``coulomb_reverse`` that of motion in the negative direction (by
    default the same); ``stiffness`` of a spring with rest position ``rest``. ``driven`` shows for each axis
    whether it has a drive; without one its torque is zero except for spring and friction.
    ``labels`` name the degrees of freedom of a joint that has several, where their axes shall not.

    >>> import kinetree as kt
    >>> elbow = kt.Joint.of_kind("elbow", "revolute", axis="y", lower=-0.1, upper=2.5, effort_limit=40.0)
    >>> elbow.axes.tolist(), elbow.n_dof
    ([[0.0, 1.0, 0.0]], 1)
    >>> kt.Joint.of_kind("hip", "spherical", sequence="ZYX").dof_names
    ('hip.rz', 'hip.ry', 'hip.rx')
    """

    name: str
    kind: str
    axes: Array
    sequence: str | None = None
    lower: Array = field(default_factory=lambda: frozen([]))
    upper: Array = field(default_factory=lambda: frozen([]))
    velocity_limit: Array = field(default_factory=lambda: frozen([]))
    effort_limit: Array = field(default_factory=lambda: frozen([]))
    armature: Array = field(default_factory=lambda: frozen([]))
    viscous: Array = field(default_factory=lambda: frozen([]))
    coulomb: Array = field(default_factory=lambda: frozen([]))
    coulomb_reverse: Array = field(default_factory=lambda: frozen([]))
    stiffness: Array = field(default_factory=lambda: frozen([]))
    rest: Array = field(default_factory=lambda: frozen([]))
    mimic: Mimic | None = None
    driven: tuple[bool, ...] = ()
    labels: tuple[str, ...] = ()

    @classmethod
    def of_kind(
        cls,
        name: str,
        kind: str,
        axis: ArrayLike | str | None = None,
        axes: Sequence[ArrayLike | str] | None = None,
        sequence: str | None = None,
        mimic: Mimic | None = None,
        driven: bool | Sequence[bool] | None = None,
        cut: bool = False,
        labels: Sequence[str] = (),
        **parameters: Any,
    ) -> Joint:
        """A checked joint of one of the kinds in ``KINDS``; a ``cut`` joint, of one in ``CUT_KINDS``.

        ``axis`` (default z) is for revolute, prismatic and cylindrical joints; that of a planar joint lies
        across its plane: with "y" it moves along x and z and rotates about y. ``sequence`` such as "YXZ" is
        for universal, spherical and free ones; ``axes`` gives any other directions, one per degree of
        freedom. Parameters are numbers, or one number per degree of freedom. A joint is ``driven`` by
        default, a cut joint is not. ``labels`` replace the names that degrees of freedom get from their axes.

        >>> Joint.of_kind("hip", "spherical", sequence="ZXY").dof_names
        ('hip.rz', 'hip.rx', 'hip.ry')
        >>> Joint.of_kind("hip", "universal", labels=("adduction", "flexion")).dof_names
        ('hip.adduction', 'hip.flexion')
        """
        checked_name(name, "a joint")
        kinds = ALL_KINDS if cut else KINDS
        if not isinstance(kind, str) or kind not in kinds:
            choices = CUT_KINDS if cut else KINDS
            raise ModelError(unknown_name("joint kind", kind, choices).after(f"joint '{name}': "))
        directions, sequence = _directions(f"joint '{name}'", kind, axis, axes, sequence)
        _check_known(name, kind, parameters)
        n = kinds[kind].n_dof
        values = {key: _parameter(name, key, n, parameters.get(key)) for key in PARAMETERS}
        if parameters.get("coulomb_reverse") is None:
            values["coulomb_reverse"] = values["coulomb"]
        _check_limits(name, values)
        _check_mimic(name, kind, mimic)
        drives = _driven(name, n, not cut if driven is None else driven)
        named = _labels(name, n, labels)
        return cls(name, kind, directions, sequence, mimic=mimic, driven=drives, labels=named, **values)

    @property
    def n_dof(self) -> int:
        """Number of axes."""
        return len(self.axes)

    @property
    def turns(self) -> tuple[bool, ...]:
        """For each axis: True if it is turned about, False if slid along."""
        return ALL_KINDS[self.kind].turns

    @property
    def is_free(self) -> bool:
        """Whether it leaves all six motions free: the base of a mechanism that floats."""
        return ALL_KINDS[self.kind].is_free

    @property
    def is_fixed(self) -> bool:
        """Whether it welds two bodies together."""
        return ALL_KINDS[self.kind].is_fixed

    @property
    def is_turn(self) -> bool:
        """Whether it is one axis that is turned about."""
        return ALL_KINDS[self.kind].is_turn

    @property
    def is_slide(self) -> bool:
        """Whether it is one axis that is slid along."""
        return ALL_KINDS[self.kind].is_slide

    @property
    def is_ball(self) -> bool:
        """Whether it turns about any axis and does not slide."""
        return ALL_KINDS[self.kind].is_ball

    @property
    def has_three_turns(self) -> bool:
        """Whether it turns about three axes, whose angles have a singular position (gimbal lock)."""
        return ALL_KINDS[self.kind].has_three_turns

    @property
    def dof_names(self) -> tuple[str, ...]:
        """One name per degree of freedom: the joint's own, or 'hip.ry', 'base.tx', ... if it has several."""
        if self.n_dof == 1:
            return (self.name,)
        return tuple(f"{self.name}.{label}" for label in self.labels or axis_labels(self.axes, self.turns))

    def parameters(self) -> dict[str, Array]:
        """The values per degree of freedom that differ from their defaults, by name."""
        given = {key: getattr(self, key) for key in PARAMETERS}
        return {key: x for key, x in given.items() if (x != usual_value(self, key)).any()}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Joint):
            return NotImplemented
        mine, theirs = ([getattr(x, f.name) for f in fields(Joint)] for x in (self, other))
        return all(
            np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b
            for a, b in zip(mine, theirs, strict=True)
        )

    def __hash__(self) -> int:
        return hash((self.name, self.kind, array_key(self.axes)))


def usual_value(joint: Joint, key: str) -> Array:
    """What a parameter of a joint is unless it is given, (n_dof,)."""
    return joint.coulomb if key == "coulomb_reverse" else _default(joint.n_dof, PARAMETERS[key][0])


def friction_differs(joint: Joint) -> bool:
    """Whether Coulomb friction is another one in the negative direction."""
    return bool((joint.coulomb != joint.coulomb_reverse).any())


def mean_friction(joint: Joint) -> Array:
    """Coulomb friction as the mean of both directions, (n_dof,)."""
    return 0.5 * joint.coulomb + 0.5 * joint.coulomb_reverse


def _directions(
    what: str,
    kind: str,
    axis: ArrayLike | str | None,
    axes: Sequence[ArrayLike | str] | None,
    sequence: str | None,
) -> tuple[Array, str | None]:
    """Unit directions (n_dof, 3) and the Euler sequence if they follow one."""
    of = ALL_KINDS[kind]
    if axis is not None and axes is None and of.slides_in_a_plane:
        return _plane(unit_axis(axis, f"{what}: axis", ModelError)), None
    if axis is not None and not (of.one_axis or of.slides_in_a_plane):
        having = ", ".join(x.name for x in KINDS.values() if x.one_axis or x.slides_in_a_plane)
        raise ModelError(f"{what}: a {kind} joint takes no 'axis'; 'axis' is for {having} joints")
    if sequence is not None and of.sequence is None:
        having = ", ".join(x.name for x in KINDS.values() if x.sequence)
        raise ModelError(f"{what}: a {kind} joint takes no 'sequence'; it is for {having} joints")
    if axes is not None:
        if axis is not None or sequence is not None:
            raise ModelError(f"{what}: give only one of 'axis', 'axes' and 'sequence'")
        return _given_axes(what, of, axes), None
    if of.one_axis:
        direction = unit_axis("z" if axis is None else axis, f"{what}: axis", ModelError)
        return frozen([direction] * of.n_dof), None
    if of.sequence is not None:
        choices = THREE_AXIS_SEQUENCES if of.has_three_turns else TWO_AXIS_SEQUENCES
        sequence = sequence_axes(of.sequence if sequence is None else sequence, choices, what, ModelError)
        letters = "XYZ"[: of.n_dof - len(sequence)] + sequence  # slides come first
        return frozen([AXES[c] for c in letters]), sequence
    return frozen([AXES[c] for c in "XYZ"[: of.n_dof]]).reshape(-1, 3), None


def _plane(normal: Array) -> Array:
    """Two directions across a normal, near coordinate axes in their order, and the normal (3, 3).

    >>> _plane(np.array([0.0, 1.0, 0.0])).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    first, second = (k for k in range(3) if k != int(np.argmax(np.abs(normal))))
    a = np.eye(3)[first] - normal[first] * normal
    a = a / np.linalg.norm(a)
    b = np.cross(normal, a)
    return frozen([a, b * np.sign(b[second]) + 0.0, normal])


def _given_axes(what: str, kind: JointKind, axes: Sequence[ArrayLike | str]) -> Array:
    """The user's own directions, checked for number and independence."""
    n = kind.n_dof
    if isinstance(axes, str) or not hasattr(axes, "__len__"):
        raise ModelError(must_be(f"{what}: 'axes'", "a list of axes", axes))
    if kind.one_axis and len(axes) == 1:
        axes = [axes[0]] * n
    if len(axes) != n:
        raise ModelError(f"{what}: a {kind.name} joint has {n} axes, got {len(axes)}")
    directions = np.array([unit_axis(a, f"{what}: axis {k + 1}", ModelError) for k, a in enumerate(axes)])
    if kind.one_axis and not np.allclose(directions, directions[0], atol=1e-12):
        raise ModelError(
            f"{what}: a {kind.name} joint rotates about and translates along one axis, got two: "
            f"{directions.tolist()}"
        )
    if kind.one_axis:
        return frozen(directions)
    turns = np.array(kind.turns, dtype=bool)
    slides = directions[~turns]
    if len(slides) and np.linalg.matrix_rank(slides, tol=1e-9) < len(slides):
        raise ModelError(f"{what}: the prismatic axes {slides.tolist()} are not independent")
    rotations = directions[turns]
    for first, second in pairwise(rotations):
        if np.linalg.norm(np.cross(first, second)) < 1e-9:
            raise ModelError(
                f"{what}: two successive revolute axes are parallel: {first.tolist()}, {second.tolist()}"
            )
    return frozen(directions.reshape(-1, 3))


def _driven(joint: str, n: int, driven: bool | Sequence[bool]) -> tuple[bool, ...]:
    """For each axis, whether it has a drive."""
    if isinstance(driven, bool | np.bool_):
        return (bool(driven),) * n
    flags = tuple(driven) if np.iterable(driven) else ()
    if len(flags) != n or not all(isinstance(flag, bool | np.bool_) for flag in flags):
        raise ModelError(
            must_be(
                f"joint '{joint}': driven",
                f"true or false, or {n} of them (one per degree of freedom)",
                driven,
            )
        )
    return tuple(bool(flag) for flag in flags)


def _parameter(joint: str, key: str, n: int, value: object) -> Array:
    """One checked parameter as an array (n_dof,)."""
    default, smallest = PARAMETERS[key]
    if value is None:
        return _default(n, default)
    if isinstance(value, float) and (isfinite(value) or (key in UNLIMITED and not isnan(value))):
        if smallest is None or value >= smallest:
            return frozen(np.full(n, value))  # most are like this, and large files have many
    what = f"joint '{joint}': {key}"
    array = numbers(value, what, ModelError)  # type: ignore[arg-type]
    if array.shape not in ((), (n,)):
        raise ModelError(
            f"{what} must be one number or {n} (one per degree of freedom), got shape {array.shape}"
        )
    if np.isnan(array).any() or (key not in UNLIMITED and np.isinf(array).any()):
        raise ModelError(must_be(what, "finite", array.tolist()))
    if smallest is not None and (array < smallest).any():
        raise ModelError(must_be(what, f">= {smallest:g}", array.tolist()))
    return frozen(np.broadcast_to(array, (n,)))


@cache
def _default(n: int, value: float) -> Array:
    """The array that all joints with this default share; it is read-only."""
    return frozen(np.full(n, value))


def _check_known(joint: str, kind: str, parameters: dict[str, Any]) -> None:
    for key, value in parameters.items():
        if key not in PARAMETERS:
            raise ModelError(unknown_name("joint parameter", key, PARAMETERS).after(f"joint '{joint}': "))
        if ALL_KINDS[kind].is_fixed and np.size(value) and value is not None:
            raise ModelError(
                f"joint '{joint}': a {kind} joint does not move, so it takes no '{key}'; got {shown(value)}"
            )


def _check_limits(joint: str, values: dict[str, Array]) -> None:
    lower, upper = values["lower"], values["upper"]
    if (lower > upper).any():
        k = int(np.argmax(lower > upper))
        raise ModelError(f"joint '{joint}': lower limit {lower[k]:g} exceeds upper limit {upper[k]:g}")
    if (lower == np.inf).any() or (upper == -np.inf).any():
        raise ModelError(f"joint '{joint}': limits {lower.tolist()} to {upper.tolist()} leave no position")


def _check_mimic(joint: str, kind: str, mimic: Mimic | None) -> None:
    if mimic is not None and not isinstance(mimic, Mimic):
        raise ModelError(must_be(f"joint '{joint}': mimic", "a Mimic(joint, multiplier, offset)", mimic))
    if mimic is not None and ALL_KINDS[kind].n_dof != 1:
        raise ModelError(f"joint '{joint}': only one-DOF joints can mimic, this one is {kind}")
    if mimic is not None and joint in dict(mimic.leaders):
        raise ModelError(f"joint '{joint}' mimics itself")


def _labels(joint: str, n: int, labels: Sequence[str]) -> tuple[str, ...]:
    """Names of the degrees of freedom of a joint that has several."""
    if isinstance(labels, str) or not np.iterable(labels):
        raise ModelError(must_be(f"joint '{joint}': labels", "a list of names", labels))
    names = tuple(checked_name(label, f"joint '{joint}': a degree of freedom") for label in labels)
    if names and (n < 2 or len(names) != n):
        raise ModelError(
            f"joint '{joint}' has {n} degrees of freedom, got {len(names)} labels; labels are for joints "
            "with several degrees of freedom, one for each"
        )
    if len(set(names)) < len(names):
        raise ModelError(f"joint '{joint}': labels must differ, got {list(names)}")
    return names


def axis_labels(axes: Array, turns: Sequence[bool]) -> tuple[str, ...]:
    """Names of axes that have no others: 'ry', 'tx', ..., with numbers where one comes several times.

    >>> axis_labels(np.eye(3)[[2, 0, 2]], (True, True, True))
    ('rz1', 'rx', 'rz2')
    """
    labels = [_axis_label(axis, turn, k) for k, (axis, turn) in enumerate(zip(axes, turns, strict=True))]
    counts, seen = Counter(labels), Counter[str]()
    for k, label in enumerate(labels):
        if counts[label] > 1:
            seen[label] += 1
            labels[k] = f"{label}{seen[label]}"
    return tuple(labels)


def _axis_label(axis: Array, turn: bool, k: int) -> str:
    """'rx' for turning about x, 'tz' for sliding along z, the axis' number for any other direction."""
    prefix = "r" if turn else "t"
    for letter, direction in AXES.items():
        if np.array_equal(axis, direction):
            return prefix + letter.lower()
    return f"{prefix}{k + 1}"
