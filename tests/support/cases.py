"""The random mechanisms that identities are checked on: every joint kind, alone and together."""

from dataclasses import replace

import numpy as np

import kinetree as kt
from support import trees

CASES = {
    kind: lambda rng, kind=kind: trees.random_tree(rng, 3, (kind,)) for kind in trees.KINDS if kind != "fixed"
}
CASES |= {
    "all kinds": lambda rng: trees.random_tree(rng, 12),
    "chain": lambda rng: trees.random_tree(rng, 8, branching=0.0),
    "passive": lambda rng: trees.random_tree(rng, 10, passive=True),
    "welded": trees.welded_tree,
    "mimic": trees.mimic_tree,
}


def random_trees(seeds, n_bodies=9):
    """Makers of the zoo's random trees by name, one for each of the first seeds."""
    return {
        f"random_tree {seed}": lambda seed=seed: kt.zoo.random_tree(seed, n_bodies) for seed in range(seeds)
    }


def zoo_and_random_trees(seeds):
    """Makers of all mechanisms of the zoo, without loops and springs, and of some random trees, by name."""
    zoo = {name: lambda make=make: replace(make().opened(), springs=()) for name, make in kt.zoo.ZOO.items()}
    return zoo | random_trees(seeds)


def assert_close(value, expected, tolerance=1e-12):
    """Same shape, and no entry off by more than the tolerance times the largest expected (or 1)."""
    value, expected = np.asarray(value), np.asarray(expected)
    assert value.shape == expected.shape, (value.shape, expected.shape)
    assert np.isfinite(value).all()
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    error = float(np.abs(value - expected).max(initial=0.0)) / scale
    assert error < tolerance, f"relative error {error:.3g}"
