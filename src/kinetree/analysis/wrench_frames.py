"""Wrenches seen from other frames of their bodies, such as the distal ones of Denavit and Hartenberg."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, numbers
from kinetree.algebra.placement import Placement
from kinetree.errors import InputError, expect, must_be


def wrenches_in_frames(wrenches: ArrayLike, frames: Sequence[Placement]) -> Array:
    """Wrenches (..., k, 6) about and in k other frames, each placed in the frame of its wrench.

    With the frame's origin at p and its axes R: f' = R^T f, n' = R^T (n - p x f); force before moment. Joint
    reactions in distal Denavit-Hartenberg frames, as [Barman2020] and [Xiang2009] have them, are those of
    :func:`kinetree.joint_reactions` in the frames of :func:`kinetree.model.distal_frames`.

    >>> import kinetree as kt
    >>> rows = [{"a": 0.5, "mass": 2.0, "center": (-0.25, 0, 0), "inertia": (0, 0.04, 0.04)}]
    >>> arm = kt.from_dh(rows, convention="classic", gravity=(0, -9.81, 0))
    >>> reactions = kt.joint_reactions(arm, [0.0], [0.0], [0.0])
    >>> far = kt.analysis.wrenches_in_frames(reactions, kt.model.distal_frames(rows, "classic"))
    >>> far.round(3).tolist()  # the joint carries 19.62 N at 0.5 m from the far end
    [[0.0, 19.62, 0.0, 0.0, 0.0, -4.905]]
    """
    given = finite(numbers(wrenches, "wrenches"), "wrenches")
    if given.ndim < 2 or given.shape[-1] != 6:
        raise InputError(f"wrenches must have shape (..., k, 6), got {given.shape}")
    expect(frames, Sequence, "frames", "a list of placements")
    for frame in frames:
        if not isinstance(frame, Placement):
            raise InputError(must_be("frames", "placements", frame))
    if len(frames) != given.shape[-2]:
        raise InputError(f"{given.shape[-2]} wrenches need as many frames, got {len(frames)}")
    R = np.array([frame.rotation for frame in frames]).reshape(-1, 3, 3)
    p = np.array([frame.position for frame in frames]).reshape(-1, 3)
    force, moment = given[..., :3], given[..., 3:] - np.cross(p, given[..., :3])
    turned = (np.einsum("kji,...kj->...ki", R, part) for part in (force, moment))
    return np.concatenate(list(turned), axis=-1)
