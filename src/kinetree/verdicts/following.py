"""Whether a law does what it is for: joints near the motion that it follows."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Flags
from kinetree.result.variables import CONTROL
from kinetree.state import independent_axes
from kinetree.verdicts.finding import Finding, Findings
from kinetree.verdicts.margins import Verdicts

SMALL = 0.25, 0.1  # rad, m: an error below this is not large, whatever the motion
NEARER = 0.05  # of its progress that an error must make in the last quarter to be on its way
WIDE = 4.0  # times that, by which an error from a fixed goal may grow on the way
LESS = 0.01  # by which swings about zero must have become smaller


class FollowedLaw(Protocol):
    """What a verdict must know of a law."""

    def followed(self, mechanism: Mechanism, times: Array) -> tuple[Array, Flags] | None:
        """Positions (k, n_dof) to reach at times (k,), and which joints are pulled there; None if none."""

    def walked(self) -> tuple[bool, str] | None:
        """Whether a robot is on its feet, in words, too; None if its law does not know."""


def control_findings(
    mechanism: Mechanism, margins: Verdicts, wanted: Array, pulled: Flags, times: Array, q: Array
) -> Findings:
    """The verdict on errors |q - wanted| of pulled joints, (m, k, n_dof) and (k, n_dof), at times (k,).

    Where the reference moves, the error may at no time exceed that at the start by more than half of the
    reference motion of the joint; where it rests, by more than 1 rad or 0.4 m. In the last quarter it may not
    exceed half of the motion, or of the error at the start, unless it is still on its way: smaller than ever
    and falling, or swinging about zero ever less. Errors below 0.25 rad or 0.1 m are never large.
    """
    if margins.following is None:
        return {}
    columns = np.flatnonzero(pulled)
    signed = q[..., columns] - wanted[:, columns]
    error = np.abs(signed)
    turns = mechanism.tree.turns[independent_axes(mechanism)][columns]
    small = np.where(turns, *SMALL)
    moved = np.ptp(wanted[:, columns], axis=0)
    start = error[:, 0]  # (m, c)
    wide = np.where(moved > small, small, WIDE * small)  # a fixed goal is judged by its end
    at_once = (error - start[:, None]) / np.maximum(margins.following * moved, wide)
    quarter = times[0] + 0.75 * (times[-1] - times[0])
    late = times >= quarter
    scale = np.maximum(margins.following * np.maximum(moved, start), small)
    at_end = np.where(late[:, None], error / scale[:, None], 0.0)
    k = min(max(int(np.searchsorted(times, quarter)), 1), len(times) - 1)
    share = (quarter - times[k - 1]) / max(times[k] - times[k - 1], 1e-300)
    fell = (1.0 - share) * error[:, k - 1] + share * error[:, k] - error[:, -1]
    nearing = (error[:, -1] <= 1.001 * error.min(axis=1)) & (fell > NEARER * (start - error[:, -1]))
    settling = _settles(signed, late, times)
    at_end = np.where(((nearing & (error[:, -1] < start)) | settling)[:, None], 0.0, at_end)
    worst = np.maximum(at_once, at_end)  # 1 is allowed
    flat = worst.reshape(len(worst), -1)
    names = np.array(mechanism.joint_names)[columns]

    def words(m: int) -> str:
        k, c = np.unravel_index(int(np.argmax(flat[m])), worst.shape[1:])
        unit = "rad" if turns[c] else "m"
        size = f"{error[m, k, c]:.3g} {unit} at t = {times[k]:.4g} s"
        if flat[m].max() <= 1.0:
            k, c = np.unravel_index(int(np.argmax(error[m])), worst.shape[1:])
            unit = "rad" if turns[c] else "m"
            largest = f"joint '{names[c]}', {error[m, k, c]:.3g} {unit} at t = {times[k]:.4g} s"
            return f"joints follow the reference motion; largest error: {largest}"
        what = f"its reference moves by {moved[c]:.3g} {unit}" if moved[c] > 0.0 else "its reference rests"
        return (
            f"joint '{names[c]}' does not follow: its error is {size}, {start[m, c]:.3g} {unit} at the "
            f"start; {what}"
        )

    values = flat.max(axis=1)
    return {CONTROL: Finding(values, 1.0, "1", words)}


def _settles(signed: Array, late: Flags, times: Array) -> Flags:
    """Which errors (m, k, c) swing about zero, less in the last quarter than in the first: flags (m, c)."""
    early = times <= times[0] + 0.25 * (times[-1] - times[0])
    size = np.abs(signed)
    less = size[:, late].max(axis=1) < (1.0 - LESS) * size[:, early].max(axis=1)
    half = signed[:, times >= times[0] + 0.5 * (times[-1] - times[0])]
    swings: Flags = (half.max(axis=1) > 0.0) & (half.min(axis=1) < 0.0) & less
    return swings
