"""Torque laws as a simulation takes them: nothing, constants, tables, controllers, functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array, numbers
from kinetree.algebra.functions import check_takes
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.errors import InputError, SimulationError, listed, must_be, unknown_name
from kinetree.kernels.torque_law import LawParts
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Flags
from kinetree.simulation.cut_law import CutLaw, JointDrive, LawFunction, by_name, read_drive
from kinetree.state import coordinates

FITS = 1e-6  # rad, m, rad/s or m/s by which a start may be off a prescribed motion, beside its size


class Prescription(NamedTuple):
    """Places in q (k,) of joints that move as prescribed, and their motion, k columns."""

    places: Any
    motion: PiecewisePolynomial


@dataclass(frozen=True, eq=False)
class Law:
    """What drives the joints: compiled parts, constant torques (n,), and at most one Python function."""

    parts: LawParts
    constant: Array
    function: LawFunction | None = None
    name: str = "none"
    settings: dict[str, Any] | None = None
    controller: Any = None  # one of kinetree's that cannot run compiled
    cut: CutLaw | None = None  # forces on all coordinates of cut joints
    servos: dict[str, Array] | None = None  # actuators of the mechanism's own: arguments of `compiled.servos`
    prescribed: Prescription | None = None  # joints that move as prescribed, and how
    running: Any = None  # a law with a memory: ``reset()`` before a start, ``sense(names, rows)`` of contact

    @property
    def is_sampled(self) -> bool:
        """Whether torques are held between sampling instants."""
        return self.parts.period > 0.0

    def begin(self) -> None:
        """Forget what a law with a memory remembers of an earlier simulation."""
        if self.running is not None:
            self.running.reset()

    def statistics(self) -> dict[str, float]:
        """What a law with a memory counted."""
        return {} if self.running is None else dict(self.running.statistics())

    def walked(self) -> tuple[bool, str] | None:
        """Whether a robot is on its feet, in words, too; None if its law does not know."""
        found: tuple[bool, str] | None = None if self.running is None else self.running.walked()
        return found

    @property
    def acts(self) -> bool:
        """Whether anything drives the mechanism: a controller, a function, a table, constant torques."""
        return self.name not in ("none", "constant") or bool(self.constant.any()) or self.cut is not None

    @property
    def is_python(self) -> bool:
        """Whether it is called back while a simulation runs."""
        return self.is_called or (self.cut is not None and self.cut.is_python)

    @property
    def is_called(self) -> bool:
        """Whether torques of the tree's joints come from Python."""
        return self.function is not None or self.controller is not None

    def followed(self, mechanism: Mechanism, times: Array) -> tuple[Array, Flags] | None:
        """Positions (k, n_dof) that the law is to reach at times (k,), and which joints it pulls there.

        None if it follows nothing, or is a function that keeps it for itself.
        """
        if self.controller is not None:
            return self.controller.followed(mechanism, times)  # type: ignore[no-any-return]
        pulled: Flags = self.parts.actuated.astype(bool) & (self.parts.kp > 0.0)
        if self.parts.desired is None or not pulled.any():
            return None
        return self.parts.desired.at(times), pulled


def passive_parts(n: int) -> LawParts:
    """A law that does nothing."""
    none = np.zeros(n)
    return LawParts(np.ones(n, dtype=bool), none, none, none, np.full(n, np.inf))


def read_law(mechanism: Mechanism, torque: Any, controller: Any) -> Law:
    """The law out of the arguments ``torque`` and ``controller`` of a simulation.

    A torque is None, a vector (n_dof,), a mapping from names of joints or of driven coordinates of cut joints
    (:func:`kinetree.loops.cut_coordinates`) to what `read_drive` takes, a :class:`PiecewisePolynomial` of
    time, a pair (times (k,), torques (k, n_dof)) with straight lines between, or a function of (t, q, qd). A
    controller is an object with ``law_parts(mechanism)``, an actuator with ``drive_parts(mechanism)`` and
    ``commanded``, such a torque or controller, one with ``prescribed_parts(mechanism)`` and ``commanded`` for
    the joints that are not prescribed, or any function of (t, q, qd). Beside a controller, torques of cut
    joints may be given, by name.
    """
    if torque is not None and controller is not None:
        return _beside(mechanism, torque, controller)
    if controller is not None:
        return _controlled(mechanism, controller)
    parts, none = passive_parts(mechanism.n_dof), np.zeros(mechanism.n_dof)
    if torque is None:
        return Law(parts, none)
    if isinstance(torque, Mapping):
        return _by_names(mechanism, torque)
    if callable(torque) and not isinstance(torque, PiecewisePolynomial):
        return Law(parts, none, checked_law(mechanism, torque, "torque"), "function")
    if isinstance(torque, tuple) and len(torque) == 2 and np.ndim(torque[1]) == 2:
        torque = PiecewisePolynomial.linear(numbers(torque[0], "times of the torque table"), torque[1])
    if isinstance(torque, PiecewisePolynomial):
        return Law(_tabulated(mechanism, torque), none, None, "table")
    values = coordinates(mechanism, torque, "torque")
    if values.ndim != 1:
        raise InputError(f"torque must be a vector ({mechanism.n_dof},), got shape {values.shape}")
    return Law(parts, values, None, "constant")


def _by_names(mechanism: Mechanism, torque: Mapping[str, Any]) -> Law:
    """Torques by names of joints and of driven coordinates of cut joints."""
    constant, moving, cut = np.zeros(mechanism.n_dof), dict[int, JointDrive](), dict[str, JointDrive]()
    known = {name: k for k, name in enumerate(mechanism.joint_names)}
    driven = _driven_cuts(mechanism)
    for name, value in torque.items():
        if name not in known and name not in driven:
            raise InputError(unknown_name("joint", name, [*known, *driven]).after("torque: "))
        drive = read_drive(value, name)
        if name in driven:
            cut[name] = drive
        elif drive.is_constant:
            constant[known[name]] = drive.constant
        else:
            moving[known[name]] = drive
    law = Law(passive_parts(mechanism.n_dof), constant, None, "constant", cut=_cut_law(mechanism, cut))
    breaks = {t for drive in (*moving.values(), *cut.values()) for t in drive.breaks if t > 0.0}
    law = replace(law, parts=replace(law.parts, breaks=tuple(sorted(breaks))))
    if not moving and all(drive.is_constant for drive in cut.values()):
        return law
    return replace(law, function=by_name(moving) if moving else None, name="by name")


def _driven_cuts(mechanism: Mechanism) -> tuple[str, ...]:
    """Names of the coordinates of cut joints that have drives."""
    if not mechanism.loops:
        return ()
    from kinetree.dynamics.loops.coordinates import cut_table

    table = cut_table(mechanism)
    return tuple(name for name, flag in zip(table.names, table.driven, strict=True) if flag)


def _cut_law(mechanism: Mechanism, drives: Mapping[str, JointDrive]) -> CutLaw | None:
    """The drives of all coordinates of cut joints; None without any."""
    if not drives:
        return None
    from kinetree.dynamics.loops.coordinates import cut_table

    names = cut_table(mechanism).names
    return CutLaw(names, tuple(drives.get(name, JointDrive()) for name in names))


def _beside(mechanism: Mechanism, torque: Any, controller: Any) -> Law:
    """The law of a controller, with torques of cut joints beside it."""
    if not isinstance(torque, Mapping) or set(torque) & set(mechanism.joint_names):
        raise InputError(
            "give either a torque or a controller, not both; with a controller, torque may only name "
            "coordinates of cut joints"
        )
    law, cut = read_law(mechanism, None, controller), _by_names(mechanism, torque)
    breaks = tuple(sorted({*law.parts.breaks, *cut.parts.breaks}))
    return replace(law, parts=replace(law.parts, breaks=breaks), cut=cut.cut)


def checked_law(mechanism: Mechanism, function: LawFunction, what: str) -> LawFunction:
    """The user's function, with its answer checked every time."""
    n, names = mechanism.n_dof, mechanism.joint_names
    stated = f"the {what} function '{getattr(function, '__name__', type(function).__name__)}'"
    check_takes(function, "t, q, qd", stated)

    def law(t: float, q: Array, qd: Array) -> Array:
        answer = function(t, q, qd)
        tau = numbers(answer, f"what {stated} returns at t = {t:g} s", SimulationError)
        if tau.shape != (n,):
            raise SimulationError(
                f"what {stated} returns at t = {t:g} s must be {n} numbers, for {listed(names)}; "
                f"got shape {tau.shape}"
            )
        if not np.isfinite(tau).all():
            k = int(np.argmin(np.isfinite(tau)))
            raise SimulationError(f"{stated} returns {tau[k]} for joint '{names[k]}' at t = {t:g} s")
        return tau

    return law


def check_beginning(law: Law, q: Array, qd: Array) -> None:
    """Ask the user's function once at the start (n,): a wrong answer there is a wrong input."""
    if (law.function is None and law.cut is None) or law.running is not None:
        return
    try:
        if law.function is not None:
            law.function(0.0, q.copy(), qd.copy())
        if law.cut is not None:
            law.cut.called(0.0, q.copy(), qd.copy())
    except SimulationError as error:
        raise InputError(str(error)) from None


def _controlled(mechanism: Mechanism, controller: Any) -> Law:
    """The law of a controller, by the first of the ways that it offers."""
    if isinstance(controller, type):
        raise InputError(f"a controller must be an object: {controller.__name__}(...), got the class itself")
    for offered, read in WAYS.items():
        if hasattr(controller, offered):
            return read(mechanism, controller)
    n = mechanism.n_dof
    if not callable(controller):
        raise InputError(must_be("a controller", "one of kinetree's or a function of (t, q, qd)", controller))
    return Law(passive_parts(n), np.zeros(n), checked_law(mechanism, controller, "controller"), "function")


def _servo(mechanism: Mechanism, actuators: Any) -> Law:
    """The mechanism's own actuators."""
    n, name = mechanism.n_dof, type(actuators).__name__
    servos = actuators.servo_parts(mechanism)
    return Law(passive_parts(n), np.zeros(n), None, name, actuators.settings(), servos=servos)


def _modeled(mechanism: Mechanism, controller: Any) -> Law:
    """A controller of kinetree's, compiled if that can be."""
    n, name, stated = mechanism.n_dof, type(controller).__name__, controller.settings()
    if controller.runs_compiled(mechanism):
        return Law(controller.law_parts(mechanism), np.zeros(n), None, name, stated)
    parts = replace(passive_parts(n), period=controller.period or 0.0, breaks=controller.breaks)
    return Law(parts, np.zeros(n), None, name, stated, controller)


def _sampled(mechanism: Mechanism, controller: Any) -> Law:
    """A law with a memory, called once per period."""
    running = controller.sampled(mechanism)
    parts = replace(
        passive_parts(mechanism.n_dof),
        actuated=running.actuated,
        limit=running.limit,
        period=running.period,
    )
    function = checked_law(mechanism, running, f"law '{controller.name}', a")
    stated = controller.settings()
    return Law(parts, np.zeros(mechanism.n_dof), function, controller.name, stated, running=running)


def _actuated(mechanism: Mechanism, actuator: Any) -> Law:
    """The law behind an actuator with a state of its own, and the actuator."""
    law = read_law(mechanism, *actuator.commanded)
    parts = replace(law.parts, drive=actuator.drive_parts(mechanism))
    return replace(law, parts=parts, name=type(actuator).__name__, settings=actuator.settings())


def _prescribed(mechanism: Mechanism, given: Any) -> Law:
    """The law of joints that are not prescribed, and the motion of those that are."""
    law = read_law(mechanism, *given.commanded)
    places, motion, breaks = given.prescribed_parts(mechanism)
    parts = replace(law.parts, breaks=tuple(sorted({*law.parts.breaks, *breaks})))
    name, stated = type(given).__name__, given.settings()
    return replace(law, parts=parts, name=name, settings=stated, prescribed=Prescription(places, motion))


WAYS: dict[str, Callable[[Mechanism, Any], Law]] = {
    "prescribed_parts": _prescribed,
    "drive_parts": _actuated,
    "sampled": _sampled,
    "servo_parts": _servo,
    "law_parts": _modeled,
}  # what controllers offer to simulations, and how it is read; `simulation.given` has them as protocols


def check_prescribed(mechanism: Mechanism, law: Law, q0: Array, qd0: Array, duration: float) -> None:
    """Prescribed joints begin as their motion does (..., n_dof), which does not end while they move."""
    if law.prescribed is None:
        return
    places, motion = law.prescribed
    for given, order, what, unit in ((q0, 0, "q0", "rad or m"), (qd0, 1, "qd0", "rad/s or m/s")):
        wanted, here = motion.at(0.0, derivative=order), np.asarray(given)[..., places]
        off = np.abs(here - wanted) > FITS * (1.0 + np.abs(wanted))
        if off.any():
            place = tuple(np.argwhere(off)[0])
            joint = mechanism.joint_names[places[place[-1]]]
            raise InputError(
                f"{what} of joint '{joint}' is {here[place]:.9g}, but its prescribed motion begins with "
                f"{wanted[place[-1]]:.9g} {unit}"
            )
    if mechanism.loops:
        from kinetree.dynamics.loops.hybrid import refuse_tied

        refuse_tied(mechanism, q0, qd0, places)
    end = float(motion.breaks[-1])
    moving = np.abs(motion.at(end, derivative=1)) > FITS
    if duration > end * (1.0 + 1e-9) and moving.any():
        joint = mechanism.joint_names[places[int(np.argmax(moving))]]
        raise InputError(
            f"the prescribed motion ends at {end:g} s while joint '{joint}' still moves, but the simulation "
            f"lasts {duration:g} s"
        )


def _tabulated(mechanism: Mechanism, table: PiecewisePolynomial) -> LawParts:
    n = mechanism.n_dof
    if table.n != n:
        raise InputError(f"a torque table for '{mechanism.name}' needs {n} columns, got {table.n}")
    passive = passive_parts(n)
    return replace(passive, table=table, breaks=tuple(table.kinks.tolist()))
