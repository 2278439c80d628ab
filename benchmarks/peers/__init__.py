"""Peers: whoever is installed, agrees with Kinetree and can answer the same question."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

import kinetree as kt
from benchmarks.kinetree_calls import CHECKED, answers
from benchmarks.mechanisms import padded
from benchmarks.states import States, random_states
from benchmarks.timing import Contestant
from kinetree.algebra.arrays import Array

TOLERANCE = 1e-9  # relative to the largest entry


class Peer(Protocol):
    """Another library that holds the same mechanism and the same states."""

    name: str

    def answers(self, quantities: Collection[str]) -> dict[str, Array]:
        """Those of the quantities that it answers in Kinetree's coordinates, for all states."""

    def contestants(self, quantity: str, batch: int | None) -> list[Contestant]:
        """Calls that answer a quantity for one state (batch None) or a batch; none if it cannot."""


Maker = Callable[[kt.Mechanism, States], Peer]


@dataclass
class Field:
    """The peers that race, how far their answers are from Kinetree's, and who was left out and why."""

    peers: list[Peer] = field(default_factory=list)
    agreement: list[dict[str, Any]] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)


def field_of(
    mechanism: kt.Mechanism, states: States, quantities: Collection[str] = CHECKED, only: Collection[str] = ()
) -> Field:
    """Every peer that is installed and agrees; ``only`` limits them by name."""
    found = Field()
    for name, make in _makers():
        if only and name not in only:
            continue
        try:
            peer = make(mechanism, states)
        except ModuleNotFoundError as missing:
            found.left_out[name] = f"not installed ({missing.name})"
            continue
        except Exception as reason:  # a peer that cannot hold this mechanism is no reason to stop
            found.left_out[name] = f"cannot hold {mechanism.name}: {reason}"
            continue
        _judge(found, peer, mechanism, states, quantities)
    return found


def _judge(
    found: Field, peer: Peer, mechanism: kt.Mechanism, states: States, quantities: Collection[str]
) -> None:
    """Let the peer race if all its answers agree."""
    if peer.name == "mujoco":
        mechanism = padded(mechanism)
        states = random_states(mechanism, len(states))
    theirs = peer.answers(quantities)
    if "forward dynamics" in theirs:  # the torque that the acceleration needs: M may be ill-conditioned
        theirs["forward dynamics"] = kt.inverse_dynamics(
            mechanism, states.q, states.qd, theirs["forward dynamics"]
        )
    ours = answers(mechanism, states, theirs) | {"forward dynamics": states.tau}
    errors = {name: relative_error(x, ours[name]) for name, x in theirs.items()}
    for name, error in errors.items():
        found.agreement.append({"model": mechanism.name, "peer": peer.name, "quantity": name, "error": error})
    wrong = {name: error for name, error in errors.items() if not error < TOLERANCE}
    if wrong:
        found.left_out[peer.name] = f"disagrees on {mechanism.name}: {wrong}"
    else:
        found.peers.append(peer)


def relative_error(value: Array, expected: Array) -> float:
    """The largest difference beside the largest entry."""
    return float(np.abs(value - expected).max() / np.abs(expected).max())


def _makers() -> Iterable[tuple[str, Maker]]:
    yield "pinocchio", _pinocchio
    yield "pinocchio 1-DOF", _pinocchio_one_axis
    yield "mujoco", _mujoco
    yield "drake", _drake
    yield "opensim", _opensim
    yield "robotics-toolbox", _toolbox


def _pinocchio(mechanism: kt.Mechanism, states: States) -> Peer:
    from benchmarks.peers.pinocchio import Pinocchio

    return Pinocchio(mechanism, states)


def _pinocchio_one_axis(mechanism: kt.Mechanism, states: States) -> Peer:
    from benchmarks.peers.pinocchio import Pinocchio

    return Pinocchio(mechanism, states, one_axis=True)


def _mujoco(mechanism: kt.Mechanism, states: States) -> Peer:
    from benchmarks.peers.mujoco import MuJoCo

    filled = padded(mechanism)
    return MuJoCo(filled, random_states(filled, len(states)))


def _drake(mechanism: kt.Mechanism, states: States) -> Peer:
    from benchmarks.peers.drake import Drake

    return Drake(mechanism, states)


def _opensim(mechanism: kt.Mechanism, states: States) -> Peer:
    from benchmarks.peers.opensim import OpenSim

    return OpenSim(mechanism, states)


def _toolbox(mechanism: kt.Mechanism, states: States) -> Peer:
    from benchmarks.peers.toolbox import Toolbox

    return Toolbox(mechanism, states)
