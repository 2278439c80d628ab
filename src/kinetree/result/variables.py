"""The arrays of a result: which dimensions, which unit, what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from kinetree.model.mechanism import Mechanism
from kinetree.state import COMPONENTS, independent_axes

Dims = tuple[str, ...]
POSITION, VELOCITY, EFFORT = "position_limits", "velocity_limits", "effort_limits"
TILT, HEIGHT, ABOVE, CONTROL = "tilt", "base_height", "above_ground", "control_error"
DRIFT, SLIP, SINKING = "drift", "slip", "sinking"
WALK = "walk"  # whether a robot under a walking law stays on its feet
MODEL_LIMITS = "model_limits"  # of predictions, those that no constraint enforces


VERDICTS = (
    WALK, TILT, HEIGHT, CONTROL, DRIFT, SLIP, SINKING, ABOVE, POSITION, VELOCITY, EFFORT, MODEL_LIMITS,
)  # fmt: skip
ALL = "all verdicts"  # the name in what was not judged where verdicts are switched off


class Variable(NamedTuple):
    """An array with the names of its dimensions, its unit and its meaning.

    A unit that differs from joint to joint or between forces and moments names the coordinate that says it:
    "{q_unit}/s" is rad/s for revolute and m/s for prismatic joints. Entries may be NaN, for "there is none",
    only if the variable ``may_be_missing``.
    """

    dims: Dims
    values: Any
    unit: str
    long_name: str
    may_be_missing: bool = False


class KnownVariable(NamedTuple):
    """A variable that is known by name: all but its values."""

    dims: Dims
    unit: str
    long_name: str
    may_be_missing: bool = False


TIME, JOINT, WRENCH = ("time",), ("time", "joint"), ("time", "body", "component")
AT_JOINT, NET_REACTION, NET_FORCE = "at_joint", "net_joint_reaction", "net_joint_force"
CONTACT, CONTACT_VECTOR = ("time", "contact"), ("time", "contact", "axis")

KNOWN: dict[str, KnownVariable] = {
    "q": KnownVariable(JOINT, "{q_unit}", "position"),
    "qd": KnownVariable(JOINT, "{q_unit}/s", "velocity"),
    "qdd": KnownVariable(JOINT, "{q_unit}/s^2", "acceleration"),
    "tau": KnownVariable(JOINT, "{tau_unit}", "torque or force of the joints' actuators"),
    "tau_passive": KnownVariable(JOINT, "{tau_unit}", "torque or force in the joints beside their actuators"),
    "tau_active": KnownVariable(JOINT, "{tau_unit}", "torque or force without what relaxed joints give"),
    "activation": KnownVariable(("time", "muscle"), "", "activation of the muscles"),
    "current": KnownVariable(JOINT, "A", "current of the joints' actuators"),
    "q_reference": KnownVariable(JOINT, "{q_unit}", "reference position"),
    "qd_reference": KnownVariable(JOINT, "{q_unit}/s", "reference velocity"),
    "qdd_reference": KnownVariable(JOINT, "{q_unit}/s^2", "reference acceleration"),
    "reaction": KnownVariable(
        WRENCH, "{component_unit}", "wrench of the parent on the body, at its origin", True
    ),
    NET_REACTION: KnownVariable(
        ("time", AT_JOINT, "component"),
        "{component_unit}",
        "wrench of the proximal on the distal body at the joint, without muscle forces, in world axes",
    ),
    NET_FORCE: KnownVariable(
        ("time", AT_JOINT), "N", "magnitude of the net joint force, without muscle forces"
    ),
    "wrench": KnownVariable(WRENCH, "{component_unit}", "external wrench on the body, at its origin"),
    "body_position": KnownVariable(("time", "body", "axis"), "m", "origin of the body in the world"),
    "center_of_mass": KnownVariable(("time", "axis"), "m", "center of mass of the whole mechanism"),
    "linear_momentum": KnownVariable(("time", "axis"), "kg m/s", "linear momentum"),
    "angular_momentum": KnownVariable(("time", "axis"), "kg m^2/s", "angular momentum"),
    "contact_force": KnownVariable(CONTACT_VECTOR, "N", "ground force on the contact point"),
    "ground_force": KnownVariable(
        ("time", "body", "axis"), "N", "ground force on the body, the sum over its contact points"
    ),
    "contact_position": KnownVariable(CONTACT_VECTOR, "m", "contact point in the world"),
    "slip_velocity": KnownVariable(
        CONTACT_VECTOR, "m/s", "tangential velocity of a touching contact point", True
    ),
    "penetration": KnownVariable(CONTACT, "m", "penetration of the contact point into the ground"),
    "touching": KnownVariable(CONTACT, "1", "whether the contact point touches the ground"),
    "center_of_pressure": KnownVariable(("time", "axis"), "m", "center of pressure on the ground", True),
    "loop_error": KnownVariable(("time", "loop"), "m", "distance between the two sides of the loop's joint"),
    "loop_force": KnownVariable(
        ("time", "loop", "component"),
        "{component_unit}",
        "wrench of body b on body a at the cut joint",
        True,
    ),
    "kinetic_energy": KnownVariable(TIME, "J", "kinetic energy"),
    "potential_energy": KnownVariable(TIME, "J", "potential energy of gravity and springs"),
    "actuator_work": KnownVariable(TIME, "J", "work of the actuators since the start"),
    "ground_work": KnownVariable(TIME, "J", "work of the ground since the start"),
    "joint_work": KnownVariable(TIME, "J", "work of friction in the joints since the start"),
    "external_work": KnownVariable(TIME, "J", "work of external wrenches since the start"),
    "energy_error": KnownVariable(TIME, "J", "energy gained minus work done"),
}
REQUIRED: dict[str, tuple[str, ...]] = {
    "simulate": ("q", "qd"),
    "inverse": ("q", "qd", "qdd", "tau"),
    "hybrid": ("q", "qd", "qdd", "tau"),
    "predict": ("q", "qd", "qdd", "tau"),
}


def mechanism_coordinates(mechanism: Mechanism) -> dict[str, Variable]:
    """The labels and the units along the dimensions that a mechanism names."""
    turns = mechanism.tree.turns[independent_axes(mechanism)]
    labels: dict[str, tuple[tuple[str, ...], str]] = {
        "joint": (mechanism.joint_names, "degree of freedom"),
        "body": (mechanism.body_names, "body"),
        "contact": (tuple(point.name for point in mechanism.contact_points), "contact point"),
        "loop": (tuple(loop.name for loop in mechanism.loops), "loop"),
        "axis": (("x", "y", "z"), "axis of the world"),
        "component": (COMPONENTS, "component of force and moment"),
    }
    units = {
        "q_unit": ("joint", np.where(turns, "rad", "m"), "unit of the joint's position"),
        "tau_unit": ("joint", np.where(turns, "N m", "N"), "unit of the joint's torque or force"),
        "component_unit": ("component", ["N"] * 3 + ["N m"] * 3, "unit of the component"),
    }
    found = {dim: Variable((dim,), _texts(names), "", what) for dim, (names, what) in labels.items()}
    return found | {
        name: Variable((dim,), _texts(texts), "", what) for name, (dim, texts, what) in units.items()
    }


def units_along(template: str, dims: Dims, coordinates: Mapping[str, Variable]) -> np.ndarray:
    """The unit of every entry, as texts that broadcast over the dimensions: (1, n) or (1, 1) for (time, n).

    >>> import kinetree as kt
    >>> labels = mechanism_coordinates(kt.zoo.two_link_prismatic())
    >>> units_along("{q_unit}/s", ("time", "joint"), labels).tolist()
    [['m/s', 'rad/s']]
    """
    names = [name for name in coordinates if f"{{{name}}}" in template]
    if not names:
        return np.full([1] * len(dims), template)
    label = coordinates[names[0]]
    texts = [template.replace(f"{{{names[0]}}}", str(unit)) for unit in label.values]
    shape = [len(texts) if dim == label.dims[0] else 1 for dim in dims]
    return _texts(texts).reshape(shape)


def unit_in_words(template: str, dims: Dims, coordinates: Mapping[str, Variable]) -> str:
    """The unit, or the units where they differ: "rad or m"."""
    return " or ".join(dict.fromkeys(units_along(template, dims, coordinates).ravel().tolist()))


def _texts(values: Any) -> np.ndarray:
    array = np.array(values, dtype=np.str_)
    array.setflags(write=False)
    return array
