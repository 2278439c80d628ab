"""The table of a new study that lets joint limits act."""

from __future__ import annotations

import numpy as np

from kinetree.model.mechanism import Mechanism
from kinetree.state import independent_axes


def stop_lines(mechanism: Mechanism) -> list[str]:
    """Springs at the limits of joints, as firm as the weight needs: simulators of other formats have them."""
    axes = independent_axes(mechanism)
    limits = mechanism.tree.lower[axes], mechanism.tree.upper[axes]
    if not np.isfinite(limits).any():
        return []
    stiffness = float(f"{max(100.0, 50.0 * mechanism.mass):.1g}")
    return [
        "[stops]  # springs at the limits of joints",
        f"stiffness = {stiffness:g}  # N m/rad, N/m",
        f"damping = {stiffness / 100.0:g}  # N m s/rad, N s/m",
        "",
    ]
