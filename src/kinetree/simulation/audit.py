"""Energy audit: what went in must be there or have gone out (004, appendix C)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.energy import kinetic_energy, potential_energy
from kinetree.kernels.context import ACTUATOR, EXTERNAL, GROUND, JOINT, SUMS
from kinetree.model.mechanism import Mechanism
from kinetree.result.records import Check
from kinetree.simulation.options import FIXED, Options

ROUNDING = 1e-14
LOOSE = 1e-3  # relative error of the balance that no simulation should exceed


@dataclass(frozen=True, eq=False)
class Energies:
    """Energies and work (k,) in J over a simulation; work since its start."""

    kinetic: Array
    potential: Array
    actuator: Array
    ground: Array
    joint: Array
    external: Array

    @cached_property
    def error(self) -> Array:
        """Energy gained less work done: zero but for the integration's error."""
        energy = self.kinetic + self.potential
        work = self.actuator + self.ground + self.joint + self.external
        balance: Array = (energy - energy[0]) - (work - work[0])
        return balance

    @cached_property
    def exchanged(self) -> float:
        """The largest amount of energy in play, beside which the error is to be seen."""
        parts = (
            self.kinetic,
            self.potential - self.potential[0],
            *(x - x[0] for x in (self.actuator, self.ground, self.joint, self.external)),
        )
        return max(float(np.abs(part).max()) for part in parts)

    @property
    def relative_error(self) -> float:
        """Worst error, less what rounding makes of such energies, beside the energy in play."""
        rounding = ROUNDING * float((np.abs(self.kinetic) + np.abs(self.potential)).max())
        worst = max(0.0, float(np.abs(self.error).max()) - rounding)
        return worst / self.exchanged if self.exchanged > 0.0 else worst


def energies(mechanism: Mechanism, q: Array, qd: Array, sums: Array) -> Energies:
    """From positions and velocities (k, n_dof) and the integrated work (k, 4)."""
    assert sums.shape[-1] == SUMS
    return Energies(
        kinetic_energy(mechanism, q, qd),
        potential_energy(mechanism, q),
        sums[:, ACTUATOR],
        sums[:, GROUND],
        sums[:, JOINT],
        sums[:, EXTERNAL],
    )


def energy_tolerance(options: Options) -> float:
    """What the balance may be off by, beside the energy in play: more than the accuracy asked of a step."""
    return min(LOOSE, 1e4 * options.rtol) if options.method not in FIXED else LOOSE


def energy_check(found: Energies, tolerance: float) -> Check:
    """The verdict on the balance."""
    sentence = (
        "energy gained equals the work of actuators, ground, joints and loads; "
        f"worst difference {np.abs(found.error).max():.3g} J of {found.exchanged:.3g} J in play"
    )
    return Check.within(found.relative_error, tolerance, "1", sentence)
