"""Poses of a trial from its markers."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array, number
from kinetree.algebra.shown import Shown
from kinetree.capture.fit import MarkerFit
from kinetree.capture.motion import DEGREE, spline_motion
from kinetree.capture.trial import Trial
from kinetree.errors import FileError, InputError, expect, listed, shown, unknown_name
from kinetree.formats.osim_document import every, flag, name_of
from kinetree.formats.osim_document import number as property_of
from kinetree.formats.passed_over import PassedOver
from kinetree.formats.regular_file import PathLike, checked_path, file_content
from kinetree.formats.xml_file import parse_xml
from kinetree.model.expected import expect_mechanism
from kinetree.model.marker import Marker
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Flags
from kinetree.result.build import build_result
from kinetree.result.records import Check
from kinetree.result.result import Result
from kinetree.state import independent_axes

LEAST = 3  # markers that a frame needs
STRANGE = 15.0  # times the size of the model's markers: another unit
HEADINGS = (0.0, 0.5 * np.pi, np.pi, -0.5 * np.pi)  # rad, where the search begins
TRIED = 5  # frames on which headings are tried
ROUNDS = 12  # steps of Gauss and Newton's method for a smooth motion
SETTLED = 1e-7  # rad or m
GOOD, FAIR = 0.02, 0.04  # m rms and at most: errors that OpenSim's guide calls good
Weights = Mapping[str, float] | PathLike | None


@dataclass(frozen=True, eq=False, repr=False)
class Tracked(Shown):
    """Poses ``q`` (frames, n_dof) with ``qd`` and ``qdd``, and how far each marker is from where it was seen.

    ``error`` (frames, markers) in m, NaN where a marker was not seen. ``settled`` says for each frame whether
    the search came to rest.
    """

    mechanism: Mechanism
    trial: Trial
    markers: tuple[str, ...]
    time: Array
    q: Array
    qd: Array
    qdd: Array
    error: Array
    weights: Array
    settled: Flags
    seconds: float = 0.0

    @property
    def rms(self) -> float:
        """Root mean square of all errors (m)."""
        return float(np.sqrt(np.nanmean(self.error**2)))

    @property
    def worst(self) -> tuple[str, float, float]:
        """The marker with the largest error, its time (s) and error (m)."""
        s, k = np.unravel_index(int(np.nanargmax(self.error)), self.error.shape)
        return self.markers[k], float(self.time[s]), float(self.error[s, k])

    def to_result(self) -> Result:
        """The motion with measured and fitted markers and a verdict on their errors."""
        return build_result(
            "track",
            self.mechanism,
            {"time": self.time, "q": self.q, "qd": self.qd, "qdd": self.qdd, **marker_variables(self)},
            coordinates={"marker": (("marker",), list(self.markers), "", "marker")},
            audit=marker_checks(self),
            seconds=self.seconds,
        )

    def save(self, path: PathLike, force: bool = False) -> None:
        """Write the motion as a result (.nc), or as a motion file of OpenSim (.mot)."""
        place = checked_path(path)
        if place.suffix.lower() in (".mot", ".sto"):
            from kinetree.formats.regular_file import check_writable, write_text
            from kinetree.result.opensim import opensim_text

            check_writable(place, force)
            write_text(place, opensim_text(self.to_result(), degrees=place.suffix.lower() == ".mot"), force)
        else:
            self.to_result().save(place, force=force)

    def plot(self, *names: str, **options: Any) -> Any:
        """Draw angles, or other variables by name, over time; see :meth:`kinetree.Result.plot`."""
        return self.to_result().plot(*names, **options)


def marker_variables(tracked: Tracked) -> dict[str, Any]:
    """Measured and fitted places and errors of markers, as variables of a result."""
    measured = np.stack([tracked.trial.of(name) for name in tracked.markers], axis=1)
    fit = MarkerFit(tracked.mechanism, chosen_markers(tracked.mechanism, tracked.markers), tracked.weights)
    dims = ("time", "marker", "axis")
    return {
        "marker_error": (("time", "marker"), tracked.error, "m", "distance of a marker from its place", True),
        "marker_measured": (dims, measured, "m", "measured place of a marker", True),
        "marker_fitted": (dims, fit.places(tracked.q), "m", "place of the model's marker"),
    }


def marker_checks(tracked: Tracked) -> dict[str, Check]:
    """Verdicts on the errors of markers."""
    name, t, largest = tracked.worst
    text = f"markers are off by {1e3 * tracked.rms:.1f} mm rms"
    far = f"marker '{name}' is off by {1e3 * largest:.1f} mm at {t:.3g} s"
    return {
        "marker_rms": Check.within(tracked.rms, GOOD, "m", text),
        "marker_largest": Check.within(largest, FAIR, "m", far),
    }


def track(
    mechanism: Mechanism,
    trial: Trial,
    weights: Weights = None,
    *,
    frozen: Sequence[str] = (),
    limits: bool = True,
    smooth: float | None = None,
    start: Mapping[str, float] | None = None,
) -> Tracked:
    """The motion of a mechanism whose markers are nearest to those of a trial, frame by frame.

    Weighted least squares of distances, within the joints' ``limits``; markers that were not seen do not
    count. ``weights`` by name replace those of the markers, or name a file of OpenSim's inverse
    kinematics tasks; ``frozen`` joints stay at their ``start``, by default that of the state "default",
    or zero. With ``smooth`` (s) the whole motion is one spline of degree 5 with knots that far apart, so
    that velocities and accelerations are exact and noise is averaged; without, they are those of the
    spline through all poses.

    >>> import kinetree as kt
    >>> arm = kt.Builder("arm")
    >>> _ = arm.world.revolute("elbow", axis="y").body("fore", kt.Inertia.rod(1.0, end=(0.3, 0, 0)))
    >>> for name, x in (("wrist", (0.3, 0, 0)), ("thumb", (0.3, 0.05, 0.02)), ("mid", (0.15, 0, 0.03))):
    ...     arm.marker(kt.model.Marker(name, "fore", x))
    >>> arm = arm.build()
    >>> q = np.linspace(0.0, 1.0, 20)[:, None]
    >>> R, p = kt.forward_kinematics(arm, q)["fore"]
    >>> seen = np.stack([p + R @ np.array(m.position) for m in arm.markers], axis=1)
    >>> trial = kt.markers.Trial(("wrist", "thumb", "mid"), np.arange(20) / 100, seen)
    >>> bool(np.allclose(kt.markers.track(arm, trial).q, q, atol=1e-6))
    True
    """
    began = clock.perf_counter()
    expect_mechanism(mechanism)
    expect(trial, Trial, "trial", "a Trial, as read_trial gives")
    weigh = {m.name: m.weight for m in mechanism.markers} | _weights(weights, mechanism)
    names = [m.name for m in mechanism.markers if m.name in trial.markers and weigh[m.name] > 0.0]
    measured = _checked(mechanism, trial, names)
    w = np.array([weigh[name] for name in names])
    fit = MarkerFit(mechanism, chosen_markers(mechanism, names), w)
    first, moves = _start(mechanism, start, frozen)
    if not limits:
        fit.lower[:], fit.upper[:] = -np.inf, np.inf
    first = _headed(fit, first, measured, moves)
    q, error, settled = fit.trial(first, measured, moves)
    if smooth is None and len(trial.time) > DEGREE:
        state = spline_motion(trial.time, q)
        qd, qdd = state.qd, state.qdd
    elif smooth is None:
        qd, qdd = np.zeros_like(q), np.zeros_like(q)
    else:
        q, qd, qdd, error, settled = _smooth(fit, trial.time, q, measured, moves, number(smooth, "smooth"))
    error = np.where(np.isfinite(error), error, np.nan)
    seconds = clock.perf_counter() - began
    return Tracked(mechanism, trial, tuple(names), trial.time, q, qd, qdd, error, w, settled, seconds)


def chosen_markers(mechanism: Mechanism, names: Sequence[str]) -> list[Marker]:
    """Markers of a mechanism by name."""
    known = {m.name: m for m in mechanism.markers}
    return [known[name] for name in names]


def read_weights(path: PathLike) -> dict[str, float]:
    """Weights of markers from a file of OpenSim's inverse kinematics tasks; zero where one is not applied.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "tasks.xml")
    >>> task = "<IKMarkerTask name='KNEE'><apply>true</apply><weight>5</weight></IKMarkerTask>"
    >>> count = file.write_text(f"<T>{task}</T>")
    >>> read_weights(file)
    {'KNEE': 5.0}
    """
    place = checked_path(path)
    root = parse_xml(file_content(place), str(place), PassedOver(str(place)))
    found = {
        name_of(x): property_of(x, "weight", 1.0) if flag(x, "apply", True) else 0.0
        for x in every(root, "IKMarkerTask")
    }
    if not found:
        raise FileError(f"{place}: has no <IKMarkerTask>; weights of markers are read from IK task sets")
    return found


def _weights(given: Weights, mechanism: Mechanism) -> dict[str, float]:
    """Weights by name, of markers that the mechanism has."""
    if given is None:
        return {}
    known = [m.name for m in mechanism.markers]
    if not isinstance(given, Mapping):
        return {name: w for name, w in read_weights(given).items() if name in known}
    for name, w in given.items():
        if name not in known:
            raise InputError(f"weights: {unknown_name('marker', name, known)}")
        if number(w, f"weight of marker '{name}'") < 0.0:
            raise InputError(f"weight of marker '{name}' must be >= 0, got {w:g}")
    return {name: float(w) for name, w in given.items()}


def _checked(mechanism: Mechanism, trial: Trial, names: list[str]) -> Array:
    """Measured places (frames, markers, 3) of the markers in common, if they can be fitted."""
    if not mechanism.markers:
        raise InputError(f"mechanism '{mechanism.name}' has no markers; kinetree.model.Marker makes one")
    if len(names) < LEAST:
        raise InputError(
            f"the trial and mechanism '{mechanism.name}' have {len(names)} markers in common, at least "
            f"{LEAST} are needed; the trial has {listed(trial.markers, 12)}; the mechanism has "
            f"{listed([m.name for m in mechanism.markers], 12)}"
        )
    measured: Array = np.stack([trial.of(name) for name in names], axis=1)
    seen = np.asarray(np.isfinite(measured).all(axis=-1))
    if not seen.any():
        raise InputError(f"no marker of the trial is seen in any frame: {listed(names, 12)} are all missing")
    few = np.flatnonzero(seen.sum(axis=1) < LEAST)
    if len(few):
        raise InputError(
            f"{len(few)} of {len(seen)} frames see fewer than {LEAST} markers, the first at "
            f"{trial.time[few[0]]:g} s; cut them off with trial.between(start, end)"
        )
    size, expected = _spread(measured[seen.sum(axis=1).argmax()]), _size_of(mechanism, names)
    if expected > 0.0 and not expected / STRANGE < size < expected * STRANGE:
        raise InputError(
            f"markers of the trial spread over {size:.3g} m, those of mechanism '{mechanism.name}' over "
            f"{expected:.3g} m: the unit of lengths in the file ({trial.units}) is not that of its numbers"
        )
    return measured


def _spread(places: Array) -> float:
    there = places[np.isfinite(places).all(axis=-1)]
    return float(np.linalg.norm(np.ptp(there, axis=0))) if len(there) else 0.0


def _size_of(mechanism: Mechanism, names: list[str]) -> float:
    fit = MarkerFit(mechanism, chosen_markers(mechanism, names), np.ones(len(names)))
    return _spread(fit.places(_default(mechanism)[None])[0])


def _default(mechanism: Mechanism) -> Array:
    """The state "default" of a model, or zero, within limits."""
    q = mechanism.states["default"].q if "default" in mechanism.states else np.zeros(mechanism.n_dof)
    return np.clip(q, mechanism.lower, mechanism.upper)


def _start(
    mechanism: Mechanism, given: Mapping[str, float] | None, frozen: Sequence[str]
) -> tuple[Array, Flags]:
    q, moves = _default(mechanism), np.ones(mechanism.n_dof, dtype=bool)
    for name, x in (given or {}).items():
        q[mechanism.joint_index(name)] = number(x, f"start of '{name}'")
    if isinstance(frozen, str):
        raise InputError(f"frozen must be a list of names of joints, got {shown(frozen)}")
    for name in frozen:
        moves[mechanism.joint_index(name)] = False
    return q, moves


def _headed(fit: MarkerFit, first: Array, measured: Array, moves: Flags) -> Array:
    """A start that faces where the markers do: the best of four headings on some of the frames."""
    axis = _upright_axis(fit, first, moves)
    frames = np.unique(np.linspace(0, len(measured) - 1, TRIED).round().astype(int))
    y = np.ascontiguousarray(measured[frames])
    best, found = np.inf, first
    for heading in HEADINGS if axis is not None else HEADINGS[:1]:
        q = np.tile(first, (len(frames), 1))
        if axis is not None:
            q[:, axis] += heading
        q, error, _ = fit.solve(q, y, moves, 1e-2)
        cost = float(np.nansum(fit.weights * error**2))
        if cost < 0.99 * best:
            best, found = cost, q[0]
    return found


def _upright_axis(fit: MarkerFit, q: Array, moves: Flags) -> int | None:
    """The coordinate of the base that turns it about the vertical, if there is one."""
    tree, gravity = fit.tree, fit.mechanism.gravity
    if not gravity.any():
        return None
    R, _, _ = fit.poses(q[None])
    up = gravity / np.linalg.norm(gravity)
    own = independent_axes(fit.mechanism)
    share = [
        (abs(float(R[0, axis, :, 2] @ up)), k)
        for k, axis in enumerate(own)
        if moves[k] and tree.turns[axis] and axis in _base(fit)
    ]
    if not share:
        return None
    largest, k = max(share)
    return k if largest > 0.7 else None


def _base(fit: MarkerFit) -> set[int]:
    """The axes that carry the first body with a mass."""
    heavy = int(np.argmax(fit.tree.massive))
    return set(fit._path(heavy))


def _smooth(
    fit: MarkerFit, time: Array, q: Array, measured: Array, moves: Flags, distance: float
) -> tuple[Array, Array, Array, Array, Flags]:
    """One spline of degree 5 for the whole trial: Gauss and Newton's method for its control points."""
    from scipy.interpolate import BSpline, make_lsq_spline
    from scipy.linalg import solveh_banded

    if not distance > 0.0:
        raise InputError(f"smooth must be > 0 s, the distance of knots, got {distance:g}")
    count = max(1, round(float(time[-1] - time[0]) / distance))
    if count + DEGREE > len(time):
        raise InputError(
            f"smooth = {distance:g} s gives {count + DEGREE} control points for {len(time)} frames; use a "
            "larger one"
        )
    inner = np.linspace(time[0], time[-1], count + 1)[1:-1]
    knots = np.concatenate([[time[0]] * (DEGREE + 1), inner, [time[-1]] * (DEGREE + 1)])
    basis = BSpline.design_matrix(time, knots, DEGREE).toarray()
    points = make_lsq_spline(time, q, knots, DEGREE).c
    free = np.flatnonzero(moves)
    y, n, last = np.ascontiguousarray(measured), len(free), np.full(len(time), False)
    for _ in range(ROUNDS):
        now = fit.equations(np.ascontiguousarray(basis @ points), y)
        H, g = now.H[:, free[:, None], free], now.g[:, free]
        band = _banded(basis, H, n)
        right = np.einsum("sj,sa->ja", basis, g).ravel()
        step = -solveh_banded(band, right, lower=True).reshape(-1, n)
        new = points.copy()
        new[:, free] = np.clip(points[:, free] + step, fit.lower[free], fit.upper[free])
        moved = float(np.abs(new - points).max())
        points = new
        if moved < SETTLED:
            last[:] = True
            break
    curve = BSpline(knots, points, DEGREE)
    error = fit.equations(np.ascontiguousarray(curve(time)), y).error
    return curve(time), curve.derivative(1)(time), curve.derivative(2)(time), error, last


def _banded(basis: Array, H: Array, n: int) -> Array:
    """Sum over frames of (basis_j basis_k H) as lower bands, control points after one another."""
    count = basis.shape[1]
    band = np.zeros(((DEGREE + 1) * n, count * n))
    for lag in range(DEGREE + 1):
        blocks = np.einsum("sj,sab->jab", basis[:, lag:] * basis[:, : count - lag], H)
        for a, b in _pairs(n):
            row = lag * n + a - b
            if row >= 0:
                band[row, np.arange(count - lag) * n + b] = blocks[:, a, b]
    trace = band[0].mean()
    band[0] += 1e-10 * trace
    return band


def _pairs(n: int) -> Iterator[tuple[int, int]]:
    for a in range(n):
        for b in range(n):
            yield a, b
