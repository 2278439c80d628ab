"""The user's own function as objective or constraint, differentiated numerically or by the user.

Derivatives that are given are compared with differences when the problem is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import override

from kinetree.algebra.arrays import Array, numbers
from kinetree.declare import Parameter, declare
from kinetree.errors import InputError
from kinetree.motion.problem.setting import Setting
from kinetree.motion.program.evaluation import At, Curves
from kinetree.motion.terms.arguments import CODE, Instants
from kinetree.motion.terms.contract import TORQUE, Bounded, Constraint, Function, Objective, Rows
from kinetree.motion.terms.effort import magnitude

UserFunction = Callable[[Array, Array, Array, Array, Array], ArrayLike]
UserSlopes = Callable[[Array, Array, Array, Array, Array], Sequence[ArrayLike | None]]
ARGUMENTS = ("q", "qd", "qdd", "tau")
WRONG = 1e-4  # relative error of a given derivative that differences do not explain
STEP, WIDE_STEP = 1e-6, 1e-3  # for first and second derivatives, relative to the size of what is changed


_FUNCTION = (
    "Python function 'file.py:name' of (s, q, qd, qdd, tau), (m,) and four (m, n_dof), that returns (m,)"
)
Slopes = Annotated[
    UserSlopes | None,
    Parameter(
        "Python function 'file.py:name' of the same arguments that returns derivatives by q, qd, qdd and "
        f"tau; {CODE}",
        kind="function",
        default_text="default differences",
    ),
]


@declare("custom_objective", "a user-defined function")
class CustomObjective(Objective):
    """Integral of f(s, q, qd, qdd, tau) dt for a function of all samples: (m,), four (m, n_dof) -> (m,).

    ``slopes`` with the same arguments returns its derivatives with respect to q, qd, qdd and tau, (m, n_dof)
    each, None for zero; they are compared with finite differences. Without it finite differences are used.

    >>> def effort(s, q, qd, qdd, tau):
    ...     return (tau**2).sum(axis=1)
    >>> CustomObjective(effort, slopes=lambda s, q, qd, qdd, tau: (None, None, None, 2 * tau)).family
    'own objective'
    """

    family = "own objective"

    def __init__(
        self,
        function: Annotated[UserFunction, Parameter(f"{_FUNCTION}; {CODE}", kind="function")],
        slopes: Slopes = None,
    ) -> None:
        self.function, self.slopes = function, slopes

    @override
    def integrand(self, setting: Setting) -> Function:
        """What is integrated over the motion."""
        return _User(self.function, self.slopes, setting, 1, self.family)


@declare("custom_constraint", "a user-defined function stays between bounds")
class CustomConstraint(Constraint):
    """lower <= f(s, q, qd, qdd, tau) <= upper for a function of all samples that returns (m,).

    With ``size`` = k, or k bounds, it returns (m, k). Equality of anything with anything: the difference of
    both with ``lower = upper = 0``. ``slopes`` as for :class:`CustomObjective`, but (m, k, n_dof) each.

    >>> def height(s, q, qd, qdd, tau):
    ...     return np.sin(q[:, 0]) + np.sin(q[:, 0] + q[:, 1])
    >>> CustomConstraint(height, lower=0.2, name="hand above the table").family
    'hand above the table'
    """

    family = "own constraint"

    def __init__(
        self,
        function: Annotated[UserFunction, Parameter(f"{_FUNCTION}, or (m, size); {CODE}", kind="function")],
        lower: Annotated[
            ArrayLike | None,
            Parameter("Lower bound, or several", kind="number_or_numbers", default_text="default none"),
        ] = None,
        upper: Annotated[
            ArrayLike | None,
            Parameter("Upper bound, or several", kind="number_or_numbers", default_text="default none"),
        ] = None,
        size: Annotated[int, Parameter("Number of values it returns at an instant")] = 1,
        name: Annotated[str, Parameter("Name in messages")] = "own constraint",
        at: Instants = "samples",
        slopes: Slopes = None,
    ) -> None:
        self.function, self.at, self.family, self.slopes = function, at, name, slopes
        given = (-np.inf if lower is None else lower, np.inf if upper is None else upper)
        bounds = [numbers(x, f"{name}: a bound") for x in given]
        self.size = max(size, *(x.size for x in bounds))
        try:
            self.lower, self.upper = (np.broadcast_to(x, (self.size,)) for x in bounds)
        except ValueError:
            shapes = ", ".join(str(x.shape) for x in bounds)
            raise InputError(f"{name}: bounds of {self.size} numbers have shapes {shapes}") from None
        if np.isnan(self.lower).any() or np.isnan(self.upper).any() or (self.lower > self.upper).any():
            raise InputError(f"{name}: bounds must be numbers, the lower not above the upper")

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        function = _User(self.function, self.slopes, setting, self.size, self.family)
        labels = [f"number {k + 1}" for k in range(self.size)]
        s = setting.where(self.at, self.family)
        scale = magnitude(self.lower, self.upper)
        return [Rows(function, s, self.lower, self.upper, self.family, labels, "", scale, "own")]


class _User(Function):
    """Derivatives by q, qd, qdd and tau, given or central differences; torques are carried on exactly."""

    reads = (TORQUE,)

    def __init__(
        self, function: UserFunction, slopes: UserSlopes | None, setting: Setting, size: int, name: str
    ) -> None:
        self.function, self.given, self.size, self.name = function, slopes, size, name
        self.own = setting.own
        self.columns = np.array(sorted(setting.column.values()))
        self.joints = np.array([j for j, _ in sorted(setting.column.items(), key=lambda pair: pair[1])])

        if slopes is not None:
            self._compare(setting.mechanism.joint_names)

    def _compare(self, names: Sequence[str]) -> None:
        """Raise where a given derivative is not what differences give, at some random states."""
        rng = np.random.default_rng(0)
        s, state = np.linspace(0.0, 1.0, 3), list(rng.standard_normal((4, 3, len(names))))
        stated, found = self._described(s, state), self._differences(s, state, STEP)
        size = max(1.0, *(float(np.abs(x).max(initial=0.0)) for x in found))
        for k, (mine, theirs) in enumerate(zip(found, stated, strict=True)):
            error = np.abs(mine - theirs)
            if error.max(initial=0.0) > WRONG * size:
                m, row, column = map(int, np.unravel_index(int(error.argmax()), error.shape))
                joint = names[column if k == 3 else int(self.joints[column])]
                raise InputError(
                    f"{self.name}: its derivative by {ARGUMENTS[k]} of joint '{joint}' is given as "
                    f"{theirs[m, row, column]:.6g}, but differences give {mine[m, row, column]:.6g}"
                )

    def _described(self, s: Array, state: list[Array]) -> list[Array]:
        """The given derivatives, as `_differences` has them."""
        assert self.given is not None
        slopes, n = list(self.given(s, *state)), state[0].shape[1]
        if len(slopes) != 4:
            raise InputError(
                f"{self.name}: slopes must return 4 arrays, by q, qd, qdd, tau; got {len(slopes)}"
            )
        found = []
        for k, slope in enumerate(slopes):
            full = np.zeros((len(s), self.size, n))
            if slope is not None:
                given = np.asarray(slope, dtype=np.float64)
                given = given[:, None] if given.ndim == 2 else given
                if given.shape != full.shape:
                    wanted = f"({len(s)}, {n})" if self.size == 1 else f"{full.shape}"
                    raise InputError(
                        f"{self.name}: slope by {ARGUMENTS[k]} must have shape {wanted}, got {given.shape}"
                    )
                full = given
            found.append(full if k == 3 else full[:, :, self.joints])
        return found

    def _state(self, at: At) -> list[Array]:
        motion = at.motion
        return [motion.q[:, self.own], motion.qd[:, self.own], motion.qdd[:, self.own], at.tau[:, self.own]]

    def _call(self, s: Array, state: list[Array]) -> Array:
        given = numbers(self.function(s, *state), f"what {self.name} returns")
        found = given[:, None] if given.ndim == 1 else given
        if found.shape != (len(s), self.size):
            wanted = f"({len(s)},)" if self.size == 1 else f"({len(s)}, {self.size})"
            raise InputError(
                f"{self.name} must return shape {wanted}, got {given.shape}; "
                "a constraint of k numbers at each sample takes size=k"
            )
        return found

    def _changes(
        self, state: list[Array], step: float
    ) -> Iterator[tuple[int, int, Array, list[Array], list[Array]]]:
        """Every argument and column, its step (m,), and the states to both sides."""
        for k in range(4):
            for j in range(state[k].shape[1]) if k == 3 else self.joints:
                h = step * np.maximum(1.0, np.abs(state[k][:, j]))
                sides = []
                for sign in (1.0, -1.0):
                    changed = list(state)
                    changed[k] = state[k].copy()
                    changed[k][:, j] += sign * h
                    sides.append(changed)
                yield k, int(j), h, sides[0], sides[1]

    def _partials(self, s: Array, state: list[Array], step: float) -> list[Array]:
        """Derivatives by q, qd, qdd of the moving joints and by all tau: four times (m, k, columns)."""
        return self._differences(s, state, step) if self.given is None else self._described(s, state)

    def _differences(self, s: Array, state: list[Array], step: float) -> list[Array]:
        """The same by differences."""
        found: list[list[Array]] = [[], [], [], []]
        for k, _, h, up, down in self._changes(state, step):
            found[k].append((self._call(s, up) - self._call(s, down)) / (2.0 * h[:, None]))
        return [np.stack(columns, axis=2) for columns in found]

    @override
    def values(self, at: At) -> Array:
        return self._call(at.s, self._state(at))

    @override
    def slopes(self, at: At) -> Array:
        partials = self._partials(at.s, self._state(at), STEP)
        found = partials[3][:, None] @ at.torque_slopes[:, :, self.own]
        for k in range(3):
            found[:, k] += partials[k]
        return found

    @override
    def curve_slopes(self, at: At) -> Curves:
        by_torque = self._partials(at.s, self._state(at), STEP)[3]
        return {name: by_torque @ slopes[:, self.own] for name, slopes in at.torque_curves.items()}

    @override
    def bend(self, at: At, weight: Array) -> None:
        state, s = self._state(at), at.s
        partials = self._partials(s, state, STEP)
        at.weigh_torques(self.own, (weight[:, None] @ partials[3])[:, 0])
        rows = self._rows(at)
        curves = {name: slopes[:, self.own] for name, slopes in at.torque_curves.items()}
        for k, j, h, up, down in self._changes(state, WIDE_STEP):
            both = [self._partials(s, side, WIDE_STEP) for side in (up, down)]
            change = [
                (weight[:, None] @ (a - b))[:, 0] / (2.0 * h[:, None]) for a, b in zip(*both, strict=True)
            ]
            column = j if k == 3 else int(np.flatnonzero(self.joints == j)[0])
            bent = sum((change[i][:, None, None, :] @ rows[i] for i in range(4)), np.zeros(()))
            ones = np.ones((len(s), 1))
            at.add_outer(
                ones,
                rows[k][:, :, column : column + 1],
                np.asarray(bent),
                curves={name: x[:, column : column + 1] for name, x in curves.items()} if k == 3 else {},
                other_curves={name: change[3][:, None] @ x for name, x in curves.items()},
            )

    def _rows(self, at: At) -> list[Array]:
        """Slopes of q, qd, qdd and tau themselves, (m, 3, columns, n)."""
        m, n = len(at.s), at.moving.shape[2]
        found = []
        for k in range(3):
            unit = np.zeros((m, 3, n, n))
            unit[:, k] = np.eye(n)
            found.append(unit)
        return [*found, at.torque_slopes[:, :, self.own]]
