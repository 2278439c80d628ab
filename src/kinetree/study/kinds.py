"""Kinds of trajectories and controllers of study files, declared once: what each is, needs and may have.

From these rows come the names that a study may use, the checks of its keys, what editors demand of each kind,
and the tables of the documentation; the keys themselves are described in `study.tables`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from kinetree.errors import InputError, listed


@dataclass(frozen=True)
class Kind:
    """One kind: its name, a line about it, the keys that it needs and those that it may have.

    A key that it needs may also be given in degrees, as ``start_degrees`` for ``start``.
    """

    name: str
    text: str
    needs: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    instead: tuple[tuple[str, str], ...] = ()  # keys that it needs, and one that serves in their place

    @property
    def keys(self) -> tuple[str, ...]:
        """All of them, once."""
        return tuple(dict.fromkeys((*self.needs, *(key for _, key in self.instead), *self.may)))

    def serving(self, key: str) -> tuple[str, ...]:
        """The keys of which one must be given where this one is needed."""
        return (key, f"{key}_degrees", *(other for needed, other in self.instead if needed == key))

    def check(self, what: str, given: Iterable[str]) -> None:
        """Raise for the first key that is missing, or that this kind does not have."""
        has = set(given)
        for key in self.needs:
            if has.isdisjoint(self.serving(key)):
                other = "".join(f", or '{x}' instead" for needed, x in self.instead if needed == key)
                raise InputError(f"a {what} of kind '{self.name}' needs the key '{key}'{other}")
        for key in sorted(has - {*self.keys, *(f"{k}_degrees" for k in self.needs)}):
            raise InputError(f"a {what} of kind '{self.name}' has no key '{key}'; it has {listed(self.keys)}")


_TIMED = ("duration",)
_RATES = ("start_velocity", "end_velocity")
_ENDS = ("start", "end")
_TOOL = (*_TIMED, "orientation", "free_axis", "hold", "speed", "acceleration", "timing", "smoothing")
TOOL_TIMINGS = ("quintic", "cycloid", "cubic", "trapezoidal", "uniform", "fastest")
TRAJECTORIES: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("cycloid", "from rest to rest along a cycloid", _ENDS, _TIMED),
        Kind("half_turn", "every joint by half a revolution, as in [Mohan2007], eq. 38", (), _TIMED),
        Kind("cubic", "a polynomial of degree 3 from one state to another", _ENDS, (*_TIMED, *_RATES)),
        Kind(
            "quintic", "a polynomial of degree 5, with accelerations at both ends", _ENDS,
            (*_TIMED, *_RATES, "start_acceleration", "end_acceleration"),
        ),
        Kind(
            "trapezoidal", "constant acceleration, constant velocity, constant deceleration; without a "
            "duration as fast as velocities and accelerations allow", _ENDS,
            (*_TIMED, "blend", "velocity", "acceleration"),
        ),
        Kind("hold", "a pose", ("start",), _TIMED),
        Kind("bspline", "a B-spline with these control points", ("points",), (*_TIMED, "degree")),
        Kind("interpolate", "a spline through these positions", ("times", "points"), ("degree",)),
        Kind("file", "rows of a CSV file with a header `time, joint1, ...`", ("file",)),
        Kind(
            "gait", "the gait of a walking robot; steps gives their number, default as many as the duration "
                    "needs", (),
            (*_TIMED, "steps", "gait"),
        ),
        Kind(
            "single_support", "one step of `biped_fixed`, or of a similar robot with other lengths "
                              "([Shah2013], section 6.2.3)", (), ("gait",),
        ),
        Kind(
            "follow", "a body, or joints of closed loops, along a circle, through points with times, or "
            "from one point to another", ("along",),
            (
                "start", "start_degrees", *_TIMED, "body", "point", "center", "radius", "turns", "points",
                "times", "degree",
            ),
        ),
        Kind(
            "tool_line", "a tool (body or frame) on a straight line from its initial position, to a position "
                         "or by a displacement", ("tool", "start"), ("to", "by", *_TOOL),
        ),
        Kind(
            "tool_circle", "a tool on a circle about a center, or on an arc through one position to another",
            ("tool", "start"), ("center", "normal", "turns", "via", "to", *_TOOL),
        ),
        Kind(
            "tool_through", "a tool on a smooth curve through points", ("tool", "start", "points"), _TOOL,
        ),
        Kind(
            "fastest", "through joint positions, as fast as the limits of the model allow", ("points",),
            ("acceleration", "smoothing"),
        ),
        Kind("function", "a Python function of t", ("function",), _TIMED),
    )
}  # fmt: skip

_MOTOR = ("time_constant", "torque_constant")
_FOLLOWING = ("kd", "damping", "limits", "period", *_MOTOR)
_GAINS = (("kp", "bandwidth"),)
CONTROLLERS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("pd", "kp e + kd ed", ("kp",), _FOLLOWING, _GAINS),
        Kind("pid", "kp e + kd ed + ki (integral of e)", ("kp",), (*_FOLLOWING, "ki"), _GAINS),
        Kind(
            "computed_torque", "inverse dynamics of the desired acceleration plus error feedback", ("kp",),
            (*_FOLLOWING, "ki", "knows_ground", "model_error"), _GAINS,
        ),
        Kind(
            "feedforward", "torques of the desired motion plus PD", ("kp",),
            (*_FOLLOWING, "torques", "model_error"), _GAINS,
        ),
        Kind(
            "gravity_compensation", "torques against gravity, plus PD about a pose if gains are given", (),
            ("kp", "bandwidth", *_FOLLOWING, "model_error"),
        ),
        Kind(
            "lqr", "torques of the desired motion plus optimal feedback", (),
            ("q_cost", "qd_cost", "tau_cost", "limits", "model_error", *_MOTOR),
        ),
        Kind(
            "walking", "walking on two or more legs, feet placed by the divergent component of motion; "
            "without [initial] the robot starts standing", (),
            ("speed", "heading", "forward", "step_time", "clearance", "width", "height", "period", "limits",
             "delay", "noise", "seed", "model_error"),
        ),
        Kind("function", "a Python function of t, q, qd", ("function",), _MOTOR),
    )
}  # fmt: skip


def for_editors(kinds: dict[str, Kind]) -> Callable[[dict[str, Any]], None]:
    """What a JSON schema demands of each kind: the keys that it needs, and no others than it has."""

    def add(schema: dict[str, Any]) -> None:
        known = schema["properties"]
        rules = []
        for kind in kinds.values():
            needs = [
                {"anyOf": [{"required": [x]} for x in kind.serving(key) if x in known]}
                if len([x for x in kind.serving(key) if x in known]) > 1
                else {"required": [key]}
                for key in kind.needs
            ]
            if needs:
                is_this = {"properties": {"kind": {"const": kind.name}}, "required": ["kind"]}
                rules.append({"if": is_this, "then": {"allOf": needs}})
        schema["allOf"] = rules

    return add
