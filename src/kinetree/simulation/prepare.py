"""The right-hand side of a simulation, made from checked arguments."""

from __future__ import annotations

from collections.abc import Sequence

from kinetree.errors import InputError
from kinetree.model.mechanism import Mechanism
from kinetree.simulation.ground import Ground
from kinetree.simulation.options import Options, Stops, Trigger
from kinetree.simulation.setup import context_parts
from kinetree.simulation.system import System
from kinetree.simulation.torque import Law
from kinetree.state import Wrench


def new_system(
    mechanism: Mechanism,
    law: Law,
    ground: Ground | None,
    loads: Sequence[Wrench],
    stops: Stops | None,
    options: Options,
    events: Sequence[Trigger] = (),
    lanes: int = 1,
) -> System:
    """A mechanism with everything that acts on it."""
    if mechanism.tree.coupling is not None:
        raise InputError(f"mechanism '{mechanism.name}' has mimic joints, which cannot be simulated yet")
    if mechanism.n_dof == 0:
        raise InputError(f"mechanism '{mechanism.name}' has no degrees of freedom, so nothing can move")
    parts = context_parts(mechanism, law, ground, loads, stops, options)
    names = ground.contact_names(mechanism) if ground is not None else ()
    system = System(mechanism, parts, law.constant, law.function, events, names, lanes)
    system.loads = tuple(loads)
    return system
