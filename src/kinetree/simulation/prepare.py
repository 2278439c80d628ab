"""The right-hand side of a simulation, made from checked arguments."""

from __future__ import annotations

from collections.abc import Sequence

from kinetree.errors import InputError
from kinetree.model.mechanism import Mechanism, check_open
from kinetree.simulation.called_system import CalledSystem
from kinetree.simulation.ground import Ground
from kinetree.simulation.options import Options, Stops, Trigger
from kinetree.simulation.setup import context_parts
from kinetree.simulation.surroundings import Surroundings
from kinetree.simulation.system import System
from kinetree.simulation.torque import Law
from kinetree.state import Wrench


def new_system(
    mechanism: Mechanism,
    law: Law,
    around: Surroundings,
    options: Options,
    events: Sequence[Trigger] = (),
    lanes: int = 1,
) -> System:
    """A mechanism with everything that acts on it."""
    _check_kinds(around, events)
    if mechanism.n_dof == 0:
        raise InputError(f"mechanism '{mechanism.name}' has no degrees of freedom, so nothing can move")
    check_open(mechanism, "simulate")
    names = around.ground.contact_names(mechanism) if around.ground is not None else ()
    if not runs_compiled(mechanism, law):
        return CalledSystem(mechanism, law, around, options, events, names)
    parts = context_parts(mechanism, law, around, options)
    system = System(mechanism, parts, law.constant, law.function, events, names, lanes)
    system.loads = around.loads
    return system


def _check_kinds(around: Surroundings, events: Sequence[Trigger]) -> None:
    """Every argument is what it should be."""
    for name, value, kind in (("ground", around.ground, Ground), ("stops", around.stops, Stops)):
        if value is not None and not isinstance(value, kind):
            raise InputError(f"{name} must be a {kind.__name__}, got {value!r}")
    for load in around.loads:
        if not isinstance(load, Wrench):
            raise InputError(f"loads must be a Wrench or a list of them, got {load!r} in it")
    for event in events:
        if not isinstance(event, Trigger):
            raise InputError(f"events must be a list of Trigger, got {event!r} in it")


def runs_compiled(mechanism: Mechanism, law: Law) -> bool:
    """Whether compiled code knows all of a simulation's mechanics; a law may still be called back."""
    return mechanism.tree.coupling is None and law.controller is None
