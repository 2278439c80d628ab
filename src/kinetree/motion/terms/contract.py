"""What terms are: functions of the motion at samples, integrated (objectives) or bounded (constraints).

A function gives k numbers at every sample with their derivatives by the samples of the blocks of unknowns
that it ``reads``: by (q, qd, qdd) of the moving coordinates, and by the numbers of further blocks, such as
the components of a contact force. The chain rule to control points and duration is done once for all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import wraps
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import override

from kinetree.algebra.arrays import Array, finite, number, numbers
from kinetree.algebra.bspline import BSplineBasis, Integers
from kinetree.errors import InputError, must_be, shown, unknown_name
from kinetree.model.mechanism import Mechanism
from kinetree.motion.problem.places import BodySpin, Place
from kinetree.motion.problem.profile import RATES
from kinetree.motion.problem.setting import Setting
from kinetree.motion.problem.unknowns import MOTION, Curve
from kinetree.motion.program.evaluation import At, Curves
from kinetree.state import Wrench

TORQUE = "torque"  # in ``reads``: the torques, and so the motion and all blocks that loads read


class Quantity(ABC):
    """k numbers at each sample, with derivatives.

    ``reads`` names the blocks that it depends on: "q" for the motion, "torque" for all that torques depend
    on, and names of further blocks.
    """

    size: int
    reads: tuple[str, ...] = (MOTION,)
    of_pose = False  # whether it is a function of q alone, of where bodies are
    of_squares = False  # whether it is a sum of squares, which is convex where what is squared is straight
    during: tuple[float, float] = (0.0, 1.0)  # as an integrand: from which s to which it counts

    def counts(self, s: Array) -> Array | float:
        """Whether it counts as an integrand at instants s (m,): 1 or 0."""
        begin, end = self.during
        return 1.0 if (begin, end) == (0.0, 1.0) else ((s >= begin) & (s < end)).astype(np.float64)

    @abstractmethod
    def values(self, at: At) -> Array:
        """The numbers, (m, k)."""

    @abstractmethod
    def bend(self, at: At, weight: Array) -> None:
        """Add the second derivatives of weight . values; weight (m, k)."""


class Function(Quantity):
    """A quantity that is a function of (q, qd, qdd) and of samples of further blocks."""

    @abstractmethod
    def slopes(self, at: At) -> Array:
        """Its derivatives by (q, qd, qdd) of the moving coordinates, (m, 3, k, n)."""

    def curve_slopes(self, at: At) -> Curves:
        """Its derivatives by samples of further blocks, by name, (m, k, numbers of the block); none: zero."""
        return {}


class Distance(Function):
    """A distance of two bodies, of which it can be known how fast it changes at most.

    ``resolution`` (m): what moves by less between two instants cannot pass unseen.
    """

    resolution: float

    @abstractmethod
    def speed(self, at: At) -> Array:
        """How fast the distance can change, (m,) in m/s: at least its rate, whichever points are nearest."""


class CurveFunction(Function):
    """A function of further blocks alone: the motion has no part in it."""

    @override
    def slopes(self, at: At) -> Array:
        """Zero."""
        return np.zeros((len(at.s), RATES, self.size, at.moving.shape[2]))


class Acting:
    """A load that depends on what is sought: it changes torques, tau = ID(q, qd, qdd) - what it does.

    ``reads`` names the blocks that it depends on beside the pose: "q" if it changes with the motion by
    itself, and names of further blocks.
    """

    reads: tuple[str, ...] = ()
    alone = False  # whether it carries all that is asked for, so that no unknown force may be beside it
    in_joints = False  # whether it acts in joints, beside drives, as a function of the motion alone

    def wrenches(self, at: At) -> list[Wrench]:
        """Loads on bodies with their present forces and moments, (m, 3) each."""
        return []

    def add_torques(self, at: At, tau: Array) -> None:
        """Add what it does to torques (m, n_dof) beside its wrenches."""

    def add_slopes(self, at: At, slopes: Array) -> None:
        """Add what it does to derivatives by all coordinates, (3, m, n_dof, n_dof); if it acts in joints."""

    def add_motion_slopes(self, at: At, slopes: Array) -> None:
        """Add what slopes of torques, (m, 3, n_dof, n), have beside those of given wrenches."""

    def curve_slopes(self, at: At) -> dict[str, Array]:
        """Derivatives of the torques by samples of further blocks, (m, n_dof, k) each."""
        return {}

    def bend_torques(self, at: At, weight: Array) -> None:
        """Add the second derivatives of weight . tau that Hessians of given wrenches do not have."""


class PointForce(Acting):
    """A force (N, in world axes) at a point of a body that depends on what is sought: tau -= J^T f.

    ``force`` gives f (m, 3) and may read the motion and further blocks, but not torques. ``point`` (m) is in
    the body's frame. With the weights w of torques, phi = -w . J^T f = -(J w) . f has the second derivatives
    of J at fixed f, those of f weighed by -J w, and -(a_k df_k^T + df_k a_k^T) with a_k = d(J w)_k / dq.
    """

    def __init__(self, setting: Setting, body: str, point: ArrayLike, force: Function) -> None:
        self.body, self.force, self.reads = body, force, force.reads
        self.place = self._placed(setting, point)
        self.moving = setting.profiles.varying
        self._still = np.zeros(3)

    def _placed(self, setting: Setting, point: ArrayLike) -> Place | BodySpin:
        return Place(setting.extended, self.body, point)

    @override
    def wrenches(self, at: At) -> list[Wrench]:
        """The load with its present force."""
        assert isinstance(self.place, Place)
        return [_wrench(self.body, self.force.values(at), self._still, self.place.local)]

    @override
    def add_motion_slopes(self, at: At, slopes: Array) -> None:
        """What the change of the force with the motion adds."""
        if MOTION in self.reads:
            slopes -= self._transposed(at)[:, None] @ self.force.slopes(at)

    @override
    def curve_slopes(self, at: At) -> dict[str, Array]:
        """Derivatives of the torques by samples of further blocks: -J^T df."""
        J, found = self.place.slopes(at.all_frames), self.force.curve_slopes(at)
        return {name: -np.swapaxes(np.swapaxes(x, 1, 2) @ J, 1, 2) for name, x in found.items()}

    @override
    def bend_torques(self, at: At, weight: Array) -> None:
        """Second derivatives by the motion and what the force depends on."""
        along = (self.place.slopes(at.all_frames) @ weight[:, :, None])[..., 0]
        self.force.bend(at, -along)
        change = self.place.change(at.all_frames, weight)[:, :, self.moving]
        curves = self.force.curve_slopes(at)
        if MOTION in self.reads:
            full = np.zeros((len(weight), RATES, *change.shape[1:]))
            full[:, 0] = change
            twice = np.full((len(weight), 3), -2.0)
            at.add_outer(twice, full, self.force.slopes(at), other_curves=curves)
            return
        for name, slopes in curves.items():
            block = np.zeros((len(weight), RATES, change.shape[2], slopes.shape[2]))
            block[:, 0] = -np.swapaxes(change, 1, 2) @ slopes
            at.add_mixed(name, block)

    def _transposed(self, at: At) -> Array:
        """J^T over all coordinates, (m, n_dof, 3)."""
        return np.swapaxes(self.place.slopes(at.all_frames), 1, 2)


def _wrench(body: str, force: Array, moment: Array, point: Array) -> Wrench:
    """A wrench of arrays that fit: it is made for every motion that is tried, too often to be checked."""
    found = Wrench.__new__(Wrench)
    found.__dict__.update(body=body, force=force, moment=moment, point=point, frame="world")
    return found


class BodyMoment(PointForce):
    """A moment (N m, in world axes) on a body that depends on what is sought: tau -= J_w^T n."""

    def __init__(self, setting: Setting, body: str, moment: Function) -> None:
        super().__init__(setting, body, (0.0, 0.0, 0.0), moment)

    @override
    def _placed(self, setting: Setting, point: ArrayLike) -> Place | BodySpin:
        return BodySpin(setting.extended, self.body)

    @override
    def wrenches(self, at: At) -> list[Wrench]:
        """The load with its present moment."""
        force = self.force.values(at)
        return [_wrench(self.body, np.zeros_like(force), force, self._still)]


class Chained(Quantity):
    """A quantity of the profiles that is no function of (q, qd, qdd): it has a chain rule of its own."""

    @abstractmethod
    def pull(self, at: At) -> tuple[Array, Array]:
        """Its derivatives by control points (m, p + 1, k, n) and T (m, k)."""


@dataclass(eq=False)
class Rows:
    """A function bounded at samples ``s``: lower <= values <= upper, (k,) or (m, k).

    ``scale`` (k,) is what counts as 1 of each number for solver tolerances; ``labels`` name the k numbers.
    """

    function: Quantity
    s: Array
    lower: ArrayLike
    upper: ArrayLike
    family: str
    labels: Sequence[str]
    unit: str | Sequence[str]
    scale: ArrayLike = 1.0
    limited: str = ""  # what a larger bound would be: "torque", for shadow prices


@dataclass(eq=False)
class LinearRows:
    """Linear conditions lower <= sum values x[columns] <= upper on the unknowns x; ``s`` says where.

    ``columns`` and ``values`` (rows, width); rows come sample by sample, one for each of the labels. With
    ``eliminate``, equations of two unknowns tie one to the other and inequalities of one become its bounds,
    so that no rows are left of them.
    """

    columns: Integers
    values: Array
    s: Array
    lower: Array
    upper: Array
    family: str
    labels: Sequence[str]
    unit: str | Sequence[str]
    eliminate: bool = False


@dataclass(eq=False)
class SampleChanges:
    """Changes of a function from sample to sample: lower T ds <= change <= upper T ds."""

    function: Quantity
    s: Array
    lower: Array
    upper: Array
    family: str
    labels: Sequence[str]
    unit: str | Sequence[str]


@dataclass(eq=False)
class Changes:
    """Squared changes of a function from instant to instant: sum_k w_k (f_k(s+) - f_k(s))^2 / dt.

    That is the time integral of w (df/dt)^2 by differences between the instants ``s``. With ``after`` (k,)
    and ``signs`` (k,) the motion goes on, f_k(1 + s) = signs_k f_after_k(s), and the change from the last
    instant to the first one after it counts, too.
    """

    function: Function
    s: Array
    weights: Array
    after: Integers | None = None
    signs: Array | None = None


Bounded = Rows | LinearRows | SampleChanges


def unit_of(rows: Bounded, k: int) -> str:
    """Unit of the k-th labeled number."""
    return rows.unit if isinstance(rows.unit, str) else rows.unit[k]


def _remembering(make: Callable[..., None]) -> Callable[..., None]:
    """The constructor of a term that also remembers its arguments, as the outermost class was given them."""

    @wraps(make)
    def made(self: Term, *args: object, **keywords: object) -> None:
        if "_made_with" not in vars(self):
            self._made_with = (args, keywords)
        make(self, *args, **keywords)

    return made


def _written(value: object) -> str:
    return getattr(value, "__qualname__", "") or shown(value) if callable(value) else shown(value)


class Term:
    """What objectives and constraints may bring to a problem beside themselves."""

    _made_with: tuple[tuple[object, ...], dict[str, object]] = ((), {})  # arguments that it was made with

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__init__" in vars(cls):
            cls.__init__ = _remembering(cls.__init__)  # type: ignore[method-assign]

    def __repr__(self) -> str:
        """As it was written."""
        args, keywords = self._made_with
        named = (f"{name}={_written(value)}" for name, value in keywords.items())
        return f"{type(self).__name__}({', '.join([*map(_written, args), *named])})"

    def reactions(self) -> tuple[str, ...]:
        """Bodies whose joint reactions it reads; "world" for the ground's."""
        return ()

    def unknowns(self, mechanism: Mechanism, basis: BSplineBasis) -> list[Curve]:
        """Blocks of unknowns that it brings; ``basis`` is that of the joint profiles."""
        return []

    def acting(self, setting: Setting) -> Sequence[Acting]:
        """Loads that it brings, which depend on what is sought."""
        return []

    def carried(self, mechanism: Mechanism) -> tuple[str, ...]:
        """Joints without drives that need none because of it, such as a free root on the ground."""
        return ()


class Objective(Term, ABC):
    """A term to be minimized: the time integral of its integrand. ``0.01 * term`` weighs it, ``a + b``
    minimizes the sum.

    ``term.mean()`` is the mean over the motion instead, which matters where the duration is free: an integral
    rewards short motions, a mean does not, and at a given speed it is the cost of a distance.

    >>> from kinetree import terms
    >>> terms.Time() + 0.01 * terms.Effort() + terms.Jerk()
    [Time(), 0.01 * Effort(), Jerk()]
    """

    weight: float = 1.0
    of_mean = False  # whether the integral is divided by the duration
    family = "objective"
    quadrature_error = 1e-3  # relative difference of two quadratures that counts as none

    def __rmul__(self, factor: float) -> Self:
        weighted, what = copy(self), f"weight of {type(self).__name__}"
        weighted.weight = self.weight * number(factor, what)
        if weighted.weight < 0.0:
            raise InputError(
                f"{what} must be 0 or more, as terms are minimized, got {weighted.weight:g}; to maximize "
                "something, give its negative as a CustomObjective"
            )
        return weighted

    __mul__ = __rmul__

    def __add__(self, other: Objective | Sequence[Objective]) -> list[Objective]:
        """Both terms as the list that a problem takes: ``Time() + 1e-3 * SquaredTorque()``."""
        if isinstance(other, Objective):
            return [self, other]
        return [self, *other] if isinstance(other, list) else NotImplemented

    def __radd__(self, other: Sequence[Objective]) -> list[Objective]:
        return [*other, self] if isinstance(other, list) else NotImplemented

    def __repr__(self) -> str:
        term = f"{super().__repr__()}{'.mean()' if self.of_mean else ''}"
        return term if self.weight == 1.0 else f"{self.weight:g} * {term}"

    def mean(self) -> Self:
        """This term as a mean over the motion: its time integral divided by the duration."""
        averaged = copy(self)
        averaged.of_mean = True
        return averaged

    @abstractmethod
    def integrand(self, setting: Setting) -> Quantity | Changes | None:
        """The function to integrate, one number at each sample; None stands for 1."""

    def smooths(self, setting: Setting) -> Sequence[int]:
        """Joints whose whole profile the term determines, so that they need no price on roughness."""
        return ()


class Constraint(Term, ABC):
    """A condition that the motion must satisfy.

    >>> from kinetree import terms
    >>> isinstance(terms.TorqueLimits(), terms.Constraint)
    True
    """

    family = "constraint"

    @abstractmethod
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, checked against the mechanism."""


def per_joint(
    value: ArrayLike | dict[str, float], setting: Setting, joints: Sequence[int], what: str, default: float
) -> Array:
    """One number for each of the joints, from one for all, a list, or a mapping from joint names."""
    names = [setting.mechanism.joint_names[j] for j in joints]
    if isinstance(value, dict):
        for name in value:
            if name not in names:
                raise InputError(unknown_name("joint", name, names).after(f"{what}: "))
        value = [value.get(name, default) for name in names]
    array = numbers(value, what)
    if array.ndim > 1 or (array.ndim == 1 and len(array) != len(names)):
        raise InputError(f"{what} must be one number or {len(names)}, one per joint, got shape {array.shape}")
    if np.isnan(array).any():
        raise InputError(f"{what} must not be NaN, got {array.tolist()}")
    return np.broadcast_to(array, (len(names),)).astype(np.float64)


def two_bounds(lower: float | None, upper: float | None, what: str) -> tuple[float, float]:
    """Two bounds of which one may be missing, None."""
    low = -np.inf if lower is None else number(lower, f"lower bound of {what}")
    high = np.inf if upper is None else number(upper, f"upper bound of {what}")
    if low > high or (lower is None and upper is None):
        raise InputError(
            f"{what}: give a lower bound, an upper one, or both, the lower not above the upper, "
            f"got {lower} and {upper}"
        )
    return low, high


def a_part(during: Sequence[float], what: str) -> tuple[float, float]:
    """From which s to which: two ascending numbers from 0 to 1."""
    if isinstance(during, str) or not isinstance(during, Sequence | np.ndarray) or len(during) != 2:
        raise InputError(must_be(f"{what}: during", "two ascending s from 0 to 1", during))
    begin, end = (number(x, f"{what}: during") for x in during)
    if not 0.0 <= begin < end <= 1.0:
        raise InputError(must_be(f"{what}: during", "two ascending s from 0 to 1", during))
    return begin, end


def ordered(lower: Array, upper: Array, names: Sequence[str], what: str) -> None:
    """Raise where a lower bound is above the upper one."""
    for low, high, name in zip(lower, upper, names, strict=True):
        if low > high:
            raise InputError(f"{what} of '{name}': lower bound {low:g} is above upper bound {high:g}")


def row(values: ArrayLike, what: str) -> Array:
    """Finite numbers."""
    return finite(numbers(values, what), what)
