"""What a controller must know of a mechanism: which joints it drives, and whether a model is like it."""

from __future__ import annotations

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, listed
from kinetree.model.mechanism import Link, Mechanism
from kinetree.state import independent_axes


def why_idle(mechanism: Mechanism, place: int) -> str:
    """Why a controller exerts no torque on a degree of freedom, as the end of a sentence."""
    return (
        "has no drive"
        if not mechanism.driven[place]
        else "belongs to the floating base, which has no actuator"
    )


def has_idle_joints(mechanism: Mechanism) -> bool:
    """Whether there are joints without drives besides a floating base."""
    return not mechanism.driven[[not x for x in floating_axes(mechanism)]].all()


def floating_axes(mechanism: Mechanism) -> list[bool]:
    """For each degree of freedom, whether it is one of a free joint on the world."""
    return [x.floats for x in mechanism.links if x.joint.mimic is None for _ in x.joint.dof_names]


def has_floating_base(mechanism: Mechanism) -> bool:
    """Whether the first body hangs on a free joint; free bodies that come later are refused.

    >>> import kinetree as kt
    >>> has_floating_base(kt.zoo.quadruped()), has_floating_base(kt.zoo.kuka_kr5())
    (True, False)
    """
    for link in mechanism.links[1:]:
        if link.floats:
            raise InputError(
                f"'{mechanism.name}' has a free body '{link.body.name}' that is not its first; a model-based "
                "controller needs one floating base, which comes first, or none"
            )
    return mechanism.links[0].floats


def effort_limits(mechanism: Mechanism) -> Array:
    """The mechanism's own limits of torques and forces (n_dof,); infinite where there are none."""
    limits: Array = mechanism.tree.effort_limit[independent_axes(mechanism)]
    return limits


def check_same_structure(mechanism: Mechanism, model: Mechanism) -> None:
    """A controller's model may have other numbers than the mechanism, but the same bodies and joints."""
    if len(mechanism.links) != len(model.links):
        raise InputError(
            f"the controller's model '{model.name}' has {len(model.links)} bodies, "
            f"'{mechanism.name}' has {len(mechanism.links)}; both must have the same structure"
        )
    for ours, theirs in zip(mechanism.links, model.links, strict=True):
        if _identity(ours) != _identity(theirs):
            raise InputError(
                f"the controller's model '{model.name}' has {_in_words(theirs)} where '{mechanism.name}' "
                f"has {_in_words(ours)}; both must have the same structure"
            )


def check_same_loops(mechanism: Mechanism, model: Mechanism) -> None:
    """A controller's model closes the same loops as the mechanism."""
    ours, theirs = ([loop.name for loop in x.loops] for x in (mechanism, model))
    if ours != theirs:
        raise InputError(
            f"the controller's model '{model.name}' has the loops {listed(theirs)}, '{mechanism.name}' has "
            f"{listed(ours)}; both must have the same structure"
        )


def _identity(link: Link) -> tuple[object, ...]:
    return link.body.name, link.parent, link.joint.dof_names, link.joint.kind, link.joint.mimic


def _in_words(link: Link) -> str:
    joint = link.joint
    leaders = () if joint.mimic is None else tuple(f"'{name}'" for name, _ in joint.mimic.leaders)
    follows = f", following {listed(leaders)}" if leaders else ""
    degrees = f" ({', '.join(joint.dof_names)})" if joint.n_dof > 1 else ""
    carried = f"the {joint.kind} joint '{joint.name}'{degrees}{follows}"
    return f"body '{link.body.name}' on '{link.parent}' by {carried}"
