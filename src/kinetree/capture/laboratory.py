"""From markers and force plates to torques and joint reactions, in one call."""

from __future__ import annotations

import time as clock
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.algebra.shown import Shown
from kinetree.capture.dynamics import TASK, dynamics
from kinetree.capture.ground_reactions import ground_reactions
from kinetree.capture.motion import DEGREE
from kinetree.capture.scale import Factors, Measurement, ScaledModel, scale
from kinetree.capture.track import Tracked, Weights, marker_checks, marker_variables, track
from kinetree.capture.trial import Trial
from kinetree.errors import InputError, expect
from kinetree.formats.regular_file import PathLike
from kinetree.model.expected import expect_mechanism
from kinetree.model.marker import Marker
from kinetree.model.mechanism import Mechanism
from kinetree.result.build import build_result
from kinetree.result.labeled import variables_of
from kinetree.result.result import Result

ESTIMATED = "forces of the ground are found from the motion, so that nothing remains"
CUTOFF = 6.0  # Hz, as usual for walking


@dataclass(frozen=True, eq=False, repr=False)
class Laboratory(Shown):
    """What a trial says: the ``scaled`` model, the ``tracked`` poses, and the ``result`` with torques."""

    scaled: ScaledModel
    tracked: Tracked
    result: Result

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism of the person's size."""
        return self.scaled.mechanism

    def to_result(self) -> Result:
        """Motion, torques, reactions, forces of the ground, markers, residuals and verdicts."""
        return self.result

    def save(self, path: PathLike, force: bool = False) -> None:
        """Write the result (.nc)."""
        self.result.save(path, force=force)

    def plot(self, *names: str, **options: Any) -> Any:
        """Draw variables over time; see :meth:`kinetree.Result.plot`."""
        return self.result.plot(*names, **options)


def laboratory(
    mechanism: Mechanism,
    trial: Trial,
    static: Trial | None = None,
    measurements: Sequence[Measurement] | PathLike = (),
    *,
    mass: float | None = None,
    factors: Factors | None = None,
    markers: Sequence[Marker] | PathLike | None = None,
    weights: Weights = None,
    frozen: Sequence[str] = (),
    feet: Sequence[str] | None = None,
    cutoff: float | None = CUTOFF,
    smooth: float | None = None,
    up: str | None = None,
    estimate: bool = False,
) -> Laboratory:
    """Torques and joint reactions of a trial: scale, find poses, filter, inverse dynamics with the plates.

    ``static``, ``measurements``, ``mass``, ``factors`` and ``markers`` scale the model (:func:`scale`),
    which is left alone without them. Poses come from :func:`track` with ``weights`` and ``frozen``
    joints; they are low-passed at ``cutoff`` (Hz), or one spline with ``smooth`` (s) between knots.
    Forces of the trial act on    the bodies that they name, or on the nearest of the ``feet``; a trial
    without any gets those of :func:`ground_reactions` with ``estimate``. ``up`` is the axis of the trials
    that points up, if it is not that of the mechanism.

    >>> import kinetree as kt
    >>> arm = kt.Builder("arm")
    >>> _ = arm.world.revolute("elbow", axis="y").body("fore", kt.Inertia.rod(1.0, end=(0.3, 0, 0)))
    >>> places = {"wrist": (0.3, 0, 0), "thumb": (0.3, 0.05, 0.02), "mid": (0.15, 0, 0.03)}
    >>> for name, x in places.items():
    ...     arm.marker(kt.model.Marker(name, "fore", x))
    >>> trial = kt.markers.Trial(tuple(places), np.arange(20) / 100, [list(places.values())] * 20)
    >>> found = laboratory(arm.build(), trial, cutoff=None)
    >>> round(float(found.result["tau"].values[0, 0]), 2)  # gravity: 1 kg at 0.15 m
    -1.47
    """
    began = clock.perf_counter()
    expect_mechanism(mechanism)
    expect(trial, Trial, "trial", "a Trial, as read_trial gives")
    to = upward(mechanism)
    if up is not None:
        trial = trial.with_up(up, to)
        static = None if static is None else static.with_up(up, to)
    if static is None and mass is None and not factors and markers is None:
        scaled = ScaledModel(mechanism, {}, {})
    else:
        how = {"mass": mass, "factors": factors, "markers": markers, "weights": weights}
        scaled = scale(mechanism, static, measurements, **how)  # type: ignore[arg-type]
    if len(trial.time) <= DEGREE:
        raise InputError(f"a trial needs more than {DEGREE} frames for accelerations, got {len(trial.time)}")
    tracked = track(scaled.mechanism, trial, weights, frozen=frozen, smooth=smooth)
    forces = trial.forces
    estimated = estimate and not forces
    if estimated:
        filtered = None if smooth is not None else cutoff
        forces = ground_reactions(scaled.mechanism, tracked.time, tracked.q, feet, filtered)
    rates = None if smooth is None else (tracked.qd, tracked.qdd)
    found = dynamics(
        scaled.mechanism,
        tracked.time,
        tracked.q,
        forces,
        cutoff=None if smooth is not None else cutoff,
        feet=feet,
        rates=rates,
    )
    seconds = clock.perf_counter() - began
    return Laboratory(scaled, tracked, with_markers(found, tracked, scaled, seconds, estimated))


def upward(mechanism: Mechanism) -> str:
    """The name of the axis that points up in a mechanism."""
    if not mechanism.gravity.any():
        return "y"
    return "xyz"[int(np.abs(mechanism.gravity).argmax())]


def with_markers(
    found: Result, tracked: Tracked, scaled: ScaledModel, seconds: float, estimated: bool
) -> Result:
    """A result of dynamics together with markers, and how the model was scaled."""
    variables = {name: tuple(x) for name, x in variables_of(found.dataset).items()}
    coordinates: dict[str, Any] = {"marker": (("marker",), list(tracked.markers), "", "marker")}
    if "foot" in found.dataset.coords:
        feet = [str(x) for x in found["foot"].values]
        coordinates["foot"] = (("foot",), feet, "", "body that the ground acts on")
    filtered = replace(tracked, q=np.asarray(found["q"].values))
    made = build_result(
        TASK,
        found.mechanism,
        {"time": tracked.time, **variables, **marker_variables(filtered)},
        coordinates=coordinates,
        audit={**({} if estimated else found.audit), **marker_checks(tracked)},
        not_judged={name: ESTIMATED for name in found.audit} if estimated else {},
        settings={"scale_factors": {name: x.tolist() for name, x in scaled.factors.items()}},
        seconds=seconds,
    )
    return made
