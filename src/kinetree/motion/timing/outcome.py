"""What comes out: the fastest motion along a path, what it uses of its limits, where they hold it back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.doors import upstairs
from kinetree.dynamics.loads import Wrenches
from kinetree.formats.regular_file import PathLike
from kinetree.model.mechanism import Mechanism
from kinetree.motion.timing.course import Limits, PathGrid
from kinetree.motion.timing.search import FastestPace
from kinetree.result.build import build_result
from kinetree.result.records import Check
from kinetree.result.result import Result
from kinetree.state import State, independent_axes
from kinetree.trajectories.timed_path import TimedPath
from kinetree.verdicts.finding import Findings, checks_of
from kinetree.verdicts.limits import LimitWatch
from kinetree.verdicts.margins import NONE, Verdicts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALLOWED = 1e-6  # part of a limit by which it may be exceeded anywhere
REACHED = 0.995  # part of a limit that counts as reached
ROUGH = 0.01  # relative change of the duration by a grid twice as coarse that is allowed
NEAR = 1e-6  # rad or m: so near must the path be to the one asked for
UNITS = {"torque": ("N m", "N"), "velocity": ("rad/s", "m/s"), "acceleration": ("rad/s^2", "m/s^2")}


@dataclass(frozen=True, eq=False)
class Use:
    """Motion (m, n) and torques (m, n) at times ``t`` (m,) of a fine grid, beside their limits."""

    t: Array
    motion: State
    tau: Array
    limits: Limits

    @cached_property
    def shares(self) -> dict[str, Array]:
        """Parts of the limits that are used, (m, n) each, with sign."""
        return {
            "torque": self.tau / self.limits.torque,
            "velocity": self.motion.qd / self.limits.velocity,
            "acceleration": self.motion.qdd / self.limits.acceleration,
        }

    @cached_property
    def largest(self) -> float:
        """The largest part of any limit."""
        return max(float(np.abs(x).max(initial=0.0)) for x in self.shares.values())


@dataclass(frozen=True, eq=False)
class FastestTiming:
    """The fastest motion along a path; see :func:`kinetree.fastest_timing`.

    ``trajectory`` is the motion, ``use`` what it needs at times of a fine grid, recomputed by inverse
    dynamics.
    """

    mechanism: Mechanism
    trajectory: TimedPath
    limits: Limits
    use: Use
    course: PathGrid
    found: FastestPace
    wrenches: Wrenches
    smoothing: float | None
    path_error: float
    grid_error: float
    seconds: float

    @property
    def duration(self) -> float:
        """T (s)."""
        return self.trajectory.duration

    @property
    def s(self) -> Array:
        """Grid points of the path at which the speed is computed, (k + 1,)."""
        return self.course.s

    @property
    def speed(self) -> Array:
        """ds/dt of the fastest timing at these grid points, before any smoothing, (k + 1,)."""
        return np.sqrt(np.maximum(self.found.x, 0.0))

    @property
    def limit_speed(self) -> Array:
        """The largest ds/dt that limits allow at each of these grid points alone, (k + 1,)."""
        return np.sqrt(np.maximum(self.found.limit_curve, 0.0))

    @cached_property
    def active(self) -> list[str]:
        """Limits that hold the motion back, with joint, side and when, as sentences."""
        names, turns = self.mechanism.joint_names, self._turns
        found = []
        for kind, used in self.use.shares.items():
            limit = getattr(self.limits, kind)
            for j, name in enumerate(names):
                for side, sign in (("upper", 1.0), ("lower", -1.0)):
                    spans = _spans(self.use.t, sign * used[:, j] > REACHED)
                    if spans:
                        unit = UNITS[kind][0 if turns[j] else 1]
                        found.append(
                            f"{kind} limit, {name}: {side} bound {sign * limit[j]:.4g} {unit} reached {spans}"
                        )
        return found

    @cached_property
    def _turns(self) -> Any:
        return self.mechanism.tree.turns[independent_axes(self.mechanism)]

    @cached_property
    def result(self) -> Result:
        """Motion, torques and the path's speed as a labeled result with an audit."""
        use = self.use
        t, keep = np.unique(use.t, return_index=True)
        when = self.trajectory.timing.at(t)
        return build_result(
            "fastest_timing",
            self.mechanism,
            {
                "time": t,
                **{x: getattr(use.motion, x)[keep] for x in ("q", "qd", "qdd")},
                "tau": use.tau[keep],
                "path_parameter": (("time",), when.q[:, 0], "1", "path parameter s"),
                "path_speed": (("time",), when.qd[:, 0], "1/s", "speed along the path ds/dt"),
            },
            settings={
                "torque": self.limits.torque,
                "velocity": self.limits.velocity,
                "acceleration": self.limits.acceleration,
                "smoothing": self.smoothing,
                "grid": len(self.course.widths),
            },
            audit=self._audit(),
            statistics={
                "duration": self.duration,
                "rounds": self.found.rounds,
                "grid_error": self.grid_error,
            },
            messages=[
                *(x.sentence for x in checks_of(self._position_findings).values() if not x.passed),
                *self.active,
            ],
            seconds=self.seconds,
        )

    def _audit(self) -> dict[str, Check]:
        """Limits between places, ends at rest, the path itself, and what a coarser grid would change."""
        checks = checks_of(self._position_findings)
        for kind, used in self.use.shares.items():
            if np.isfinite(getattr(self.limits, kind)).any():
                over = max(float(np.abs(used).max()) - 1.0, 0.0)
                checks[f"{kind}_limits"] = Check.within(
                    over,
                    ALLOWED,
                    "1",
                    f"{kind} limits hold at and between all grid points; excess relative to the limit",
                )
        ends = self.trajectory.at([0.0, self.duration])
        checks["rest"] = Check.within(
            float(np.abs(ends.qd).max()), 1e-6, "rad/s or m/s", "the motion starts and ends at rest"
        )
        checks["path"] = Check.within(self.path_error, NEAR, "rad or m", "the motion is on the given path")
        checks["grid"] = Check.within(
            self.grid_error, ROUGH, "1", "a grid twice as coarse gives the same duration; relative difference"
        )
        return checks

    @cached_property
    def _position_findings(self) -> Findings:
        """The verdict on positions, which follow from the path alone: no timing changes them."""
        watch = LimitWatch(self.mechanism, replace(NONE, position=Verdicts().position))
        t, motion = self.use.t, self.use.motion
        q, qd, qdd = (np.asarray(x)[:, None] for x in (motion.q, motion.qd, motion.qdd))
        watch.add_steps(t, q, qd, qdd, np.ones(len(t), bool))
        return watch.findings()

    def save(self, path: PathLike, force: bool = False) -> None:
        """Write the result to a .nc file; an existing one is replaced only with ``force``."""
        self.result.save(path, force)

    def plot(self, show: bool = False) -> Figure:
        """Plot speed over the path below its limit curve, and the used fraction of each limit over time."""
        figure: Figure = upstairs("plot_timing")(self, show=show)
        return figure

    def __str__(self) -> str:
        head = f"Duration {self.duration:.6g} s"
        if self.smoothing is not None:
            T = self.found.duration(self.course.widths)
            head += f" with smooth accelerations ({T:.6g} s without)"
        over = max(self.use.largest - 1.0, 0.0)
        kept = "kept to" if over <= ALLOWED else "exceeded by up to"
        beyond = not all(x.passed.all() for x in self._position_findings.values())
        which = "position limits exceeded by the path, others" if beyond else "limits"
        head += f"; {which} {kept} {over:.1e} of their size between {len(self.course.widths)} intervals."
        failed = [f"  - {x.sentence} ({x.figures})" for x in self._audit().values() if not x.passed]
        lines = ["Checks that failed:", *failed] if failed else []
        reached = [f"  - {text}" for text in self.active or ["none"]]
        return "\n".join([head, *lines, "Active limits:", *reached])

    def __repr__(self) -> str:
        return f"FastestTiming('{self.mechanism.name}', duration {self.duration:.6g} s)"

    def _repr_html_(self) -> str:
        return str(upstairs("timing_html")(self))


def _spans(t: Array, flags: Any) -> str:
    """From when to when something is so, in words."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(int)))
    spans = [(float(t[a]), float(t[b - 1])) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    joined: list[tuple[float, float]] = []
    for begin, end in spans:
        if joined and begin - joined[-1][1] < 0.01 * t[-1]:
            joined[-1] = joined[-1][0], end
        else:
            joined.append((begin, end))
    long = [span for span in joined if span[1] - span[0] > 0.002 * t[-1]]
    return " and ".join(f"from {a:.4g} to {b:.4g} s" for a, b in long)
