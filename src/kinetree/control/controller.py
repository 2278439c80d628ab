"""What every controller has: its torque, its compiled parts, its settings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import KW_ONLY, MISSING, dataclass, field, fields
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, number
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.analysis.hybrid import base_is_alone
from kinetree.control.desired_motion import DesiredMotion
from kinetree.control.fitted import LIMITS_OF_MODEL, Fitted, Recipe, fitted, without_passive
from kinetree.control.per_joint import Checked, PerJoint, checked
from kinetree.dynamics.loads import Wrenches
from kinetree.errors import InputError, must_be, unknown_name
from kinetree.kernels.torque_law import COMPUTED, GRAVITY, NO_MODEL, LawParts
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Flags
from kinetree.state import coordinates
from kinetree.trajectories.base import Trajectory

SHOWN = 6  # numbers of a vector that are printed one by one
TOLD = 100  # numbers of a table that settings list one by one


@dataclass(frozen=True, eq=False, repr=False)
class Controller(ABC):
    """A law that gives the torques of the actuated joints: driven ones that are no floating base.

    ``limits``: the largest torques (N m) and forces (N), one number, one per joint or by joint name; "model"
    takes the mechanism's effort limits. ``period`` (s): the torque is computed at multiples of it and held
    between; None: at all times. Gains and limits are numbers for all joints, arrays (n_dof, or without the
    floating base and joints that are not driven), or dictionaries by joint name.

    >>> import kinetree as kt
    >>> law = kt.control.PD([0.5, 0.5], kp=100.0, kd=20.0, limits="model", period=0.002)
    >>> law.torque(kt.zoo.two_link(), 0.0, [0.0, 0.45], [0.0, 0.0]).round(9).tolist()
    [10.0, 5.0]
    """

    _: KW_ONLY
    limits: PerJoint | str | None = None
    period: float | None = None
    _recipe: Recipe = field(init=False)
    _last: list[Fitted] = field(init=False)

    def __post_init__(self) -> None:
        self._set(limits=checked_limits(self.limits), period=_checked_period(self.period), _last=[])
        self._set(_recipe=self._checked_recipe())

    @abstractmethod
    def _checked_recipe(self) -> Recipe:
        """The parts of the law out of checked arguments."""

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _fitted(self, mechanism: Mechanism) -> Fitted:
        """The law for a mechanism; that of the last one is kept."""
        if self._last and self._last[0].mechanism is mechanism:
            return self._last[0]
        law = fitted(self._recipe, self.limits, mechanism)  # type: ignore[arg-type]
        self._last[:] = [law]
        return law

    # ---- what others ask ----------------------------------------------------------------------------
    def torque(
        self,
        mechanism: Mechanism,
        t: ArrayLike,
        q: ArrayLike,
        qd: ArrayLike,
        integral: ArrayLike | None = None,
        wrenches: Wrenches = None,
    ) -> Array:
        """Torques (..., n_dof) of the law at times t (...) in states q, qd (..., n_dof).

        ``integral`` (..., n_dof) of the errors over time, zero unless given; ``wrenches`` are the loads on
        the bodies, ground forces included, that the law may know. Plain formulas, one by one; a simulation
        runs the same law compiled (:meth:`law_parts`).
        """
        law = self._fitted(mechanism)
        q, qd = coordinates(mechanism, q, "q"), coordinates(mechanism, qd, "qd")
        summed = np.zeros(mechanism.n_dof) if integral is None else integral
        return law.total(t, q, qd, coordinates(mechanism, summed, "integral"), wrenches)

    def integral_rate(self, mechanism: Mechanism, t: ArrayLike, q: ArrayLike, tau: ArrayLike) -> Array:
        """Rate (..., n_dof) of the integral of the errors: e, but zero where it would wind up.

        An integral stands still while its torque ``tau`` is at its limit and the error asks for more.
        """
        law = self._fitted(mechanism)
        tau = coordinates(mechanism, tau, "tau")
        e = np.where(law.actuated, law.want(t).q - coordinates(mechanism, q, "q"), 0.0)
        return np.where((tau >= law.limit) & (e > 0.0) | (tau <= -law.limit) & (e < 0.0), 0.0, e)

    def followed(self, mechanism: Mechanism, t: ArrayLike) -> tuple[Array, Flags] | None:
        """Positions (..., n_dof) that the law is to reach at times (...), and which joints it pulls there."""
        law = self._fitted(mechanism)
        pulled = law.actuated & (law.kp > 0.0)
        return (law.want(t).q, pulled) if law.recipe.desired is not None and pulled.any() else None

    def runs_compiled(self, mechanism: Mechanism) -> bool:
        """Whether a simulation of this mechanism can run the law compiled; if not, it calls ``torque``."""
        return not self._why_not_compiled(self._fitted(mechanism))

    def integrates(self, mechanism: Mechanism) -> bool:
        """Whether the law needs the integrals of the errors."""
        return bool(self._fitted(mechanism).ki.any())

    @property
    def breaks(self) -> tuple[float, ...]:
        """Times (s) where the law jumps or has a kink."""
        return _breaks(self._recipe)

    def law_parts(self, mechanism: Mechanism) -> LawParts:
        """The law as compiled simulations take it."""
        law, recipe = self._fitted(mechanism), self._recipe
        reason = self._why_not_compiled(law)
        if reason:
            raise InputError(
                f"{type(self).__name__} cannot run compiled on '{mechanism.name}': {reason}; "
                "pass a function of (t, q, qd) that calls its method 'torque' instead"
            )
        model = recipe.model
        if recipe.mode == GRAVITY:
            model = without_passive(law.model)
        return LawParts(
            actuated=law.actuated,  # type: ignore[arg-type]
            kp=law.kp,
            kd=law.kd,
            ki=law.ki,
            limit=law.limit,
            desired=law.desired_table,
            table=law.table,
            mode=recipe.mode,
            model=None if model is None or model is mechanism else model.tree,
            floating=law.floating,
            aware=recipe.aware,
            period=self.period or 0.0,
            breaks=self.breaks,
        )

    def settings(self) -> dict[str, Any]:
        """All arguments in plain numbers and texts, as JSON takes them; of large tables only a digest."""
        stated: dict[str, Any] = {"controller": type(self).__name__}
        for name in self._argument_names():
            value = getattr(self, name)
            if name == "trajectory":
                value = self._recipe.desired.settings() if self._recipe.desired else None
            stated[name] = plain(value)
        return stated

    def __repr__(self) -> str:
        default = {f.name: f.default for f in fields(self)}
        shown = []
        for name in self._argument_names():
            value = getattr(self, name)
            if name == "trajectory" and self._recipe.desired is not None:
                shown.append(self._recipe.desired.in_words())
            elif default[name] is MISSING or value is not default[name]:
                shown.append(f"{name}={short(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"

    # ---- helpers ------------------------------------------------------------------------------------
    def _argument_names(self) -> list[str]:
        own = [f.name for f in fields(self) if f.init and not f.kw_only]
        return [*own, *(f.name for f in fields(self) if f.init and f.kw_only)]

    @staticmethod
    def _why_not_compiled(law: Fitted) -> str:
        """Nothing, or the reason why there is no compiled law."""
        if law.mechanism.tree.coupling is not None:
            return "it has mimic joints"
        if law.recipe.mode != NO_MODEL and law.mechanism.loops:
            return "it has closed loops"
        if law.recipe.mode == COMPUTED and law.is_constrained:
            return "it has joints without drives"
        if law.floating and not all(base_is_alone(m) for m in (law.mechanism, law.model)):
            return "its floating base has springs, friction or armature, or it has other trees"
        if law.model.tree.springs is not None:
            return "its model has springs between bodies"
        return ""


def checked_model(model: object) -> Mechanism | None:
    """The argument ``model`` of a controller."""
    return None if model is None else expect_mechanism(model, "model")


def checked_limits(limits: PerJoint | str | None) -> Checked | str | None:
    """The argument ``limits`` of a controller."""
    if limits is None:
        return None
    if isinstance(limits, str):
        if limits != LIMITS_OF_MODEL:
            raise InputError(unknown_name("limits", limits, (LIMITS_OF_MODEL,)))
        return limits
    return checked(limits, "limits", unlimited=True)


def _checked_period(period: float | None) -> float | None:
    if period is None:
        return None
    x = number(period, "period")
    if x < 0.0:
        raise InputError(must_be("period", "> 0 s, or None for a law in continuous time", x, "g"))
    return x or None


def _breaks(recipe: Recipe) -> tuple[float, ...]:
    times: list[float] = []
    if recipe.desired is not None:
        times += recipe.desired.breaks.tolist()
    if recipe.torques is not None:
        times += recipe.torques.breaks.tolist()
    return tuple(sorted({t for t in times if t > 0.0}))


def plain(value: Any) -> Any:
    """A value as JSON has it; infinite numbers are None."""
    if isinstance(value, np.ndarray) and value.size > TOLD:
        return {"shape": list(value.shape), "sha256": sha256(value.tobytes()).hexdigest()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {name: plain(x) for name, x in value.items()}
    if isinstance(value, Mechanism):
        return value.name
    if isinstance(value, Controller):
        return value.settings()
    if isinstance(value, PiecewisePolynomial | Trajectory):
        return DesiredMotion(value).settings()
    if isinstance(value, list | tuple):
        return [plain(x) for x in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def short(value: Any) -> str:
    """A value in few letters."""
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, np.ndarray):
        few = value.ndim == 1 and len(value) <= SHOWN
        return f"({', '.join(f'{x:g}' for x in value)})" if few else f"<{value.size} numbers>"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {short(x)}" for name, x in value.items()) + "}"
    if isinstance(value, PiecewisePolynomial | Trajectory):
        return DesiredMotion(value).in_words()
    return f"'{value.name}'" if isinstance(value, Mechanism) else repr(value)
