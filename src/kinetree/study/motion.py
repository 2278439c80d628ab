"""Initial state and prescribed motion of a study."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array, finite, frozen, numbers
from kinetree.documents.single_support import single_support
from kinetree.errors import InputError, KinetreeWarning, listed
from kinetree.formats.held_inside import file_of
from kinetree.model.mechanism import Mechanism
from kinetree.state import State, farthest, hint_at_degrees
from kinetree.study.assignment import Assignment
from kinetree.study.kinds import TRAJECTORIES
from kinetree.study.mechanism import joint_values
from kinetree.study.tables import BookGaitTable, TrajectoryTable
from kinetree.trajectories.base import Trajectory

FASTEST = "fastest"
RATES = ("start_velocity", "end_velocity")
LOOKS = 11  # instants at which a motion must keep loops closed before it is accepted
Maker = Callable[[Assignment, TrajectoryTable, "float | None"], Trajectory]


@dataclass(frozen=True, eq=False)
class FunctionTrajectory(Trajectory):
    """A motion given by a Python function of t (s) that returns q, qd, qdd, each (n_dof,)."""

    function: Callable[[float], Any]
    n: int
    time: float

    @cached_property
    def breaks(self) -> Array:
        """Begin and end."""
        return frozen([0.0, self.time])

    @property
    def n_dof(self) -> int:
        """Number of coordinates."""
        return self.n

    def piece(self, i: int, t: Array) -> State:
        """The function's answers, checked."""
        rows = [self._row(float(x)) for x in t]
        return State(*(np.array(part).reshape(len(t), self.n) for part in zip(*rows, strict=True)))

    def _row(self, t: float) -> Array:
        what = f"the trajectory function's q, qd, qdd at t = {t:g} s"
        row = finite(numbers(self.function(t), what), what)
        if row.shape != (3, self.n):
            raise InputError(f"{what} must be 3 rows of {self.n} numbers, got shape {row.shape}")
        return row


@dataclass(frozen=True, eq=False)
class SomeJoints(Trajectory):
    """Some coordinates of a motion."""

    motion: Trajectory
    chosen: list[int]

    @property
    def breaks(self) -> Array:
        """Those of the motion."""
        return self.motion.breaks

    @property
    def n_dof(self) -> int:
        """Number of coordinates."""
        return len(self.chosen)

    def piece(self, i: int, t: Array) -> State:
        """The coordinates of the motion."""
        whole = self.motion.piece(i, t)
        return State(*(x[:, self.chosen] for x in (whole.q, whole.qd, whole.qdd)))


def initial_state(work: Assignment, motion: Trajectory | None) -> tuple[Array, Array]:
    """Positions and velocities at the start: as given, else those of the motion, else zero."""
    table, n = work.tables.initial, work.mechanism.n_dof
    q, qd = (np.zeros(n), np.zeros(n)) if motion is None else (motion.at(0.0).q, motion.at(0.0).qd)
    if table is None:
        return q, qd
    with work.origin.blamed("initial"):
        if table.state is not None:
            if table.q is not None or table.q_degrees is not None:
                raise InputError("give either a state by name or q, not both")
            named = work.mechanism.states[table.state]
            q, qd = named.q, named.qd
        given = joint_values(work.mechanism, table.q, table.q_degrees, "q")
        rates = joint_values(work.mechanism, table.qd, table.qd_degrees, "qd")
        if given is not None and rates is None:
            rates = np.zeros(n)
        start = q if given is None else given, qd if rates is None else rates
        if not table.assemble and table.hold is None:
            return start
        return _assembled(work, *start, table.hold or [])


def _assembled(work: Assignment, q: Array, qd: Array, hold: list[str]) -> tuple[Array, Array]:
    """The state nearest to a guess that fits the loops; joints to hold keep their values."""
    from kinetree.dynamics.loops.assembly import assemble, fitting_rates

    if not work.mechanism.loops:
        raise InputError(f"'{work.mechanism.name}' has no closed loops, so there is nothing to assemble")
    q = assemble(work.mechanism, q, hold=hold)
    return q, fitting_rates(work.mechanism, q, qd, hold)


def refuse_open_start(work: Assignment) -> None:
    """An error where the loops of the mechanism are open in the states that a study gives."""
    table = work.tables.initial
    if work.mechanism.loops and work.tables.trajectory is not None:
        trajectory(work, work.tables.study.duration)
    if not work.mechanism.loops or table is None or (table.q is None and table.q_degrees is None):
        return
    q, qd = initial_state(work, None)
    with work.origin.blamed("initial"):
        _refuse_open_loops(work.mechanism, q, qd)


def trajectory(work: Assignment, duration: float | None = None) -> Trajectory:
    """The prescribed motion; ``duration`` (s) is that of the study, which some motions take."""
    table = work.tables.trajectory
    with work.origin.blamed("trajectory"):
        given = {key for key, value in table if value is not None} - {"kind", "independent"}
        TRAJECTORIES[table.kind].check("trajectory", given)
        found = _on_loops(work, table, MAKERS[table.kind](work, table, duration))
        if found.n_dof != work.mechanism.n_dof:
            raise InputError(
                f"the motion has {found.n_dof} coordinates, but '{work.mechanism.name}' has "
                f"{work.mechanism.n_dof}: {listed(work.mechanism.joint_names)}"
            )
        if work.mechanism.loops:
            state = found.at(np.linspace(0.0, found.duration, LOOKS))
            _refuse_open_loops(work.mechanism, state.q, state.qd, state.qdd)
        hint_at_degrees(work.mechanism, farthest(found.at(found.breaks).q), "position")
        return found


def _refuse_open_loops(mechanism: Mechanism, q: Array, qd: Array, qdd: Array | None = None) -> None:
    """An error where a motion does not fit the loops."""
    from kinetree.dynamics.loops.system import constraints, refuse_open_loops  # not needed for trees

    refuse_open_loops(mechanism, constraints(mechanism, q, qd, qdd), qd, qdd)


def _on_loops(work: Assignment, table: TrajectoryTable, motion: Trajectory) -> Trajectory:
    """The motion, all joints but the independent ones following on the loops where there are any named."""
    if table.independent is None:
        return motion
    from kinetree.trajectories.following import follow

    if not work.mechanism.loops:
        raise InputError(f"'{work.mechanism.name}' has no closed loops that other joints could follow")
    chosen = [work.mechanism.joint_index(name) for name in table.independent]
    return follow(work.mechanism, SomeJoints(motion, chosen), table.independent, q0=motion.at(0.0).q)


# ---- the kinds ------------------------------------------------------------------------------------------


def _ends(work: Assignment, table: TrajectoryTable) -> tuple[Any, Any]:
    start = joint_values(work.mechanism, table.start, table.start_degrees, "start")
    return start, joint_values(work.mechanism, table.end, table.end_degrees, "end")


def _rates(work: Assignment, table: TrajectoryTable, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: joint_values(work.mechanism, getattr(table, name), None, name) for name in names}


def _span(table: TrajectoryTable, duration: float | None) -> float:
    if table.duration is None and duration is None:
        raise InputError(f"a trajectory of kind '{table.kind}' needs the key 'duration' (s)")
    return float(table.duration if table.duration is not None else duration)  # type: ignore[arg-type]


def _cycloid(work: Assignment, table: TrajectoryTable, duration: float | None) -> Trajectory:
    from kinetree.trajectories.cycloidal import cycloid

    return cycloid(*_ends(work, table), _span(table, duration))


def _half_turn(work: Assignment, table: TrajectoryTable, duration: float | None) -> Trajectory:
    from kinetree.trajectories.cycloidal import half_turn

    return half_turn(work.mechanism.n_dof, _span(table, duration))


def _cubic(work: Assignment, table: TrajectoryTable, duration: float | None) -> Trajectory:
    from kinetree.trajectories.polynomials import cubic

    return cubic(*_ends(work, table), _span(table, duration), **_rates(work, table, RATES))


def _quintic(work: Assignment, table: TrajectoryTable, duration: float | None) -> Trajectory:
    from kinetree.trajectories.polynomials import quintic

    names = (*RATES, "start_acceleration", "end_acceleration")
    return quintic(*_ends(work, table), _span(table, duration), **_rates(work, table, names))


def _trapezoidal(work: Assignment, table: TrajectoryTable, duration: float | None) -> Trajectory:
    from kinetree.trajectories.trapezoid import trapezoidal

    limits = _rates(work, table, ("velocity", "acceleration"))
    free = any(x is not None for x in limits.values()) and table.duration is None
    span = None if free else _span(table, duration)
    return trapezoidal(*_ends(work, table), span, blend=table.blend, **limits)


def _hold(work: Assignment, table: TrajectoryTable, duration: float | None) -> Trajectory:
    from kinetree.trajectories.polynomials import hold

    return hold(_ends(work, table)[0], _span(table, duration))


def _bspline(work: Assignment, table: TrajectoryTable, duration: float | None) -> Trajectory:
    from kinetree.trajectories.splines import bspline

    return bspline(table.points, _span(table, duration), degree=table.degree or 3)  # type: ignore[arg-type]


def _interpolate(work: Assignment, table: TrajectoryTable, duration: float | None) -> Trajectory:
    from kinetree.trajectories.splines import interpolate

    return interpolate(table.times, table.points, degree=table.degree or 3)  # type: ignore[arg-type]


def _file(work: Assignment, table: TrajectoryTable, duration: float | None) -> Trajectory:
    from kinetree.trajectories.tabulated_motion import read_csv

    path = file_of(work.study.folder, str(table.file))
    return read_csv(path, work.mechanism.joint_names)


def _gait(work: Assignment, table: TrajectoryTable, duration: float | None) -> Trajectory:
    from kinetree.analysis.leg_chains import named_legs
    from kinetree.trajectories.walking import biped_gait, legged_gait, tripod, trot

    parameters, usual = _parameters(table.gait), {2: biped_gait, 4: trot, 6: tripod}
    legs = len(named_legs(work.mechanism))
    if parameters is None and legs not in usual:
        raise InputError(f"a robot with {legs} legs has no default gait: give [trajectory.gait]")

    def walk(steps: int) -> Any:
        if parameters is not None:
            return legged_gait(work.mechanism, parameters, steps)
        return usual[legs](work.mechanism, steps=steps)

    if table.steps is not None:
        return walk(table.steps)  # type: ignore[no-any-return]
    time = walk(1).parameters.step_time
    return walk(max(1, int(np.ceil(_span(table, duration) / time - 1e-9))))  # type: ignore[no-any-return]


def _single_support(work: Assignment, table: TrajectoryTable, duration: float | None) -> Trajectory:
    return single_support(work.mechanism, _parameters(table.gait))


def _follow(work: Assignment, table: TrajectoryTable, duration: float | None) -> Trajectory:
    from kinetree.trajectories.following import follow

    start = joint_values(work.mechanism, table.start, table.start_degrees, "start")
    return follow(
        work.mechanism,
        _path(table, duration),
        table.along or (),
        q0=np.zeros(work.mechanism.n_dof) if start is None else start,
        body=table.body,
        point=table.point or (0.0, 0.0, 0.0),
    )


def _path(table: TrajectoryTable, duration: float | None) -> Trajectory:
    """The path that is followed: a circle, or through points, or from one point to another."""
    from kinetree.trajectories.circular import circle
    from kinetree.trajectories.cycloidal import cycloid
    from kinetree.trajectories.splines import interpolate

    if (table.center is None) != (table.radius is None) or (table.center is None) == (table.points is None):
        raise InputError(
            "a trajectory of kind 'follow' needs a path: either center and radius of a circle, or points"
        )
    if table.center is not None:
        turns = 1.0 if table.turns is None else table.turns
        return circle(table.center, table.radius, _span(table, duration), turns=turns)  # type: ignore[arg-type]
    points = np.asarray(table.points, dtype=np.float64)
    if table.times is not None:
        return interpolate(table.times, points, degree=table.degree or min(5, len(points) - 1))
    if len(points) != 2:
        raise InputError(f"a path through {len(points)} points needs the key 'times' (s), one for each")
    return cycloid(points[0], points[1], _span(table, duration))


def _tool_options(work: Assignment, table: TrajectoryTable, duration: float | None) -> dict[str, Any]:
    """What all motions of tools take, by name."""
    start = joint_values(work.mechanism, table.start, table.start_degrees, "start")
    found: dict[str, Any] = {"q0": start, "free_axis": table.free_axis, "hold": table.hold or ()}
    if table.orientation is not None:
        found["orientation"] = _orientation(table.orientation)
    if table.timing == FASTEST:
        for key in ("duration", "speed"):
            if getattr(table, key) is not None:
                raise InputError(f"timing = \"fastest\" finds the duration; remove the key '{key}'")
        return found | {"duration": 1.0, "timing": "uniform"}
    if table.speed is not None:
        if isinstance(table.acceleration, list | dict) or table.acceleration is None:
            raise InputError("a tool's speed (m/s) needs its acceleration (m/s^2), one number")
        return found | {"speed": table.speed, "acceleration": table.acceleration, "duration": table.duration}
    if table.acceleration is not None:
        raise InputError("a tool's acceleration (m/s^2) needs its speed (m/s)")
    return found | {"duration": _span(table, duration), "timing": table.timing or "quintic"}


def _orientation(given: Any) -> Any:
    """A word, or matrices from roll, pitch and yaw."""
    from kinetree.algebra.rotation import rotation_from_rpy

    if isinstance(given, str):
        return given
    if isinstance(given[0], list):
        return np.array([rotation_from_rpy(row) for row in given])
    return rotation_from_rpy(given)


def _tool_line(work: Assignment, table: TrajectoryTable, duration: float | None) -> Trajectory:
    from kinetree.trajectories.tool_motions import tool_line

    options = _tool_options(work, table, duration)
    make = partial(tool_line, work.mechanism, str(table.tool), table.to, by=table.by, **options)
    return _timed_tool(work, table, make)


def _tool_circle(work: Assignment, table: TrajectoryTable, duration: float | None) -> Trajectory:
    from kinetree.trajectories.tool_motions import tool_circle

    options = _tool_options(work, table, duration)
    given = {"center": table.center, "normal": table.normal, "turns": table.turns, "via": table.via}
    options |= {key: value for key, value in given.items() if value is not None}
    return _timed_tool(
        work, table, partial(tool_circle, work.mechanism, str(table.tool), to=table.to, **options)
    )


def _tool_through(work: Assignment, table: TrajectoryTable, duration: float | None) -> Trajectory:
    from kinetree.trajectories.tool_motions import tool_through

    options = _tool_options(work, table, duration)
    make = partial(tool_through, work.mechanism, str(table.tool), table.points or [], **options)
    return _timed_tool(work, table, make)


def _timed_tool(work: Assignment, table: TrajectoryTable, make: Callable[[], Trajectory]) -> Trajectory:
    """The tool's motion, with the fastest timing if that is asked for."""
    if table.timing != FASTEST:
        if table.smoothing is not None:
            raise InputError('smoothing (s) is for timing = "fastest"')
        return make()
    with warnings.catch_warnings():  # of the speed of a timing that is replaced
        warnings.simplefilter("ignore", KinetreeWarning)
        path = make()
    return _fastest_along(work, table, path)


def _fastest(work: Assignment, table: TrajectoryTable, duration: float | None) -> Trajectory:
    return _fastest_along(work, table, table.points)


def _fastest_along(work: Assignment, table: TrajectoryTable, path: Any) -> Trajectory:
    from kinetree.motion.timing.fastest import fastest_timing
    from kinetree.study.surroundings import wrenches

    most = joint_values(work.mechanism, table.acceleration, None, "acceleration", np.inf)
    acting = wrenches(work, work.tables.load, "times", "load")
    if callable(acting):
        raise InputError("there is no fastest timing with loads that vary with time; give constant loads")
    found = fastest_timing(
        work.mechanism, path, acceleration=most, wrenches=acting or None, smoothing=table.smoothing
    )
    return found.trajectory


def _function(work: Assignment, table: TrajectoryTable, duration: float | None) -> Trajectory:
    function = work.code.function(str(table.function), "trajectory.function", "t")
    motion = FunctionTrajectory(function, work.mechanism.n_dof, _span(table, duration))
    motion.at(0.0)
    return motion


def _parameters(table: BookGaitTable | None) -> Any:
    from kinetree.trajectories.gait_parameters import GaitParameters

    return None if table is None else GaitParameters(**dict(table))


MAKERS: dict[str, Maker] = {
    "cycloid": _cycloid,
    "half_turn": _half_turn,
    "cubic": _cubic,
    "quintic": _quintic,
    "trapezoidal": _trapezoidal,
    "hold": _hold,
    "bspline": _bspline,
    "interpolate": _interpolate,
    "file": _file,
    "gait": _gait,
    "single_support": _single_support,
    "follow": _follow,
    "fastest": _fastest,
    "tool_line": _tool_line,
    "tool_circle": _tool_circle,
    "tool_through": _tool_through,
    "function": _function,
}
