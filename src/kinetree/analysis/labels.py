"""Answers as labeled arrays: names of bodies and components instead of places in an array."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinetree.algebra.arrays import Array
from kinetree.model.mechanism import Mechanism
from kinetree.state import COMPONENTS, Frame

if TYPE_CHECKING:
    from xarray import DataArray


def labeled_wrenches(mechanism: Mechanism, values: Array, frame: Frame) -> DataArray:
    """Wrenches (..., n_bodies, 6) with names of bodies and components.

    The axes before are called "state", or "state1", "state2", ... if there are several.
    """
    from xarray import DataArray

    batch = values.ndim - 2
    states = ["state"] if batch == 1 else [f"state{k + 1}" for k in range(batch)]
    return DataArray(
        values,
        dims=[*states, "body", "component"],
        coords={
            "body": list(mechanism.body_names),
            "component": list(COMPONENTS),
            "component_unit": ("component", ["N"] * 3 + ["N m"] * 3),
        },
        name="reaction",
        attrs={
            "units": "N for forces, N m for moments",
            "long_name": f"wrench of the parent on the body, at its origin, in {frame} axes",
        },
    )
