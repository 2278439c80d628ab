"""Warnings of simulations, apart from these: commands ignore some of them without loading what simulates."""

from __future__ import annotations

from kinetree.errors import KinetreeWarning


class AccuracyWarning(KinetreeWarning):
    """The energy balance of a simulation is off by more than its tolerance."""


class VerdictWarning(KinetreeWarning):
    """A simulated motion is computed accurately, but the mechanism cannot or should not perform it."""
