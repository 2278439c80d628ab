"""The random mechanisms that identities are checked on: every joint kind, alone and together."""

import numpy as np

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


def assert_close(value, expected, tolerance=1e-12):
    """Same shape, and no entry off by more than the tolerance times the largest expected (or 1)."""
    value, expected = np.asarray(value), np.asarray(expected)
    assert value.shape == expected.shape, (value.shape, expected.shape)
    assert np.isfinite(value).all()
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    error = float(np.abs(value - expected).max(initial=0.0)) / scale
    assert error < tolerance, f"relative error {error:.3g}"
