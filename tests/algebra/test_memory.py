"""Requests that need more memory than there is are refused before any work, as a KinetreeError."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.algebra import memory

FEW, MANY = 10, 20_000_000


def one(count):
    """States that need no memory of their own."""
    return np.broadcast_to(np.zeros(2), (count, 2))


ARM = kt.zoo.two_link()
REQUESTS = {
    "mass matrices": lambda n: kt.mass_matrix(ARM, one(n)),
    "torques": lambda n: kt.inverse_dynamics(ARM, one(n), one(n), one(n)),
    "derivatives": lambda n: kt.inverse_dynamics_derivatives(ARM, one(n), one(n), one(n)),
    "poses": lambda n: kt.forward_kinematics(ARM, one(n)),
    "reactions": lambda n: kt.joint_reactions(ARM, one(n), one(n), one(n)),
    "another formulation": lambda n: kt.mass_matrix(ARM, one(n), formulation="newton_euler"),
    "samples": lambda n: kt.simulate(ARM, [0, 0], duration=0.01, times=min(n, 10_000_000)),
    "motions": lambda n: kt.simulation.simulate_batch(ARM, one(n), duration=0.01, times=100),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_large_requests_are_refused_before_any_work(monkeypatch, name):
    REQUESTS[name](FEW)
    monkeypatch.setattr(memory, "SMALL", 1000)
    monkeypatch.setattr(memory, "available_bytes", lambda: 50_000_000)
    with pytest.raises(kt.errors.SizeError, match=r"needs .* GB of memory .*, 0\.1 GB are available"):
        REQUESTS[name](MANY)


def test_sizes_are_both_kinds_of_errors():
    assert issubclass(kt.errors.SizeError, kt.KinetreeError) and issubclass(kt.errors.SizeError, MemoryError)


def test_available_memory_is_less_than_all():
    found = memory.available_bytes()
    assert found is None or 0 <= found < 1 << 50
