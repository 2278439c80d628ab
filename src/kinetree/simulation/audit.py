"""Energy audit: what went in must be there or have gone out ([Shah2013], appendix C)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.energy import kinetic_and_potential
from kinetree.model.mechanism import Mechanism
from kinetree.result.records import Check
from kinetree.result.variables import Variable
from kinetree.simulation.compiled.context import ACTUATOR, EXTERNAL, GROUND, JOINT, SUMS
from kinetree.simulation.masses import Masses
from kinetree.simulation.settings import FIXED, Options
from kinetree.simulation.torque import FITS, Prescription

ROUNDING = 1e-14
PROJECTED = 100.0  # times the rounding: what is left of it when every step ends with closed loops
LOOSE = 1e-3  # relative error of the balance that no simulation should exceed


@dataclass(frozen=True, eq=False)
class Energies:
    """Energies and work (..., k) in J over the times of simulations; work since their start."""

    kinetic: Array
    potential: Array
    actuator: Array
    ground: Array
    joint: Array
    external: Array
    others: Array  # (..., k, count) work of components, which is not in that of the actuators
    names: tuple[str, ...] = ()
    scale: float = 0.0  # what it takes to lift the mechanism by its size: rounding is a share of it

    @cached_property
    def error(self) -> Array:
        """Energy gained less work done: zero but for the integration's error."""
        energy = self.kinetic + self.potential
        work = self.actuator + self.ground + self.joint + self.external + self.others.sum(axis=-1)
        return _gained(energy) - _gained(work)

    @cached_property
    def exchanged(self) -> Array:
        """The largest amount of energy exchanged (...,), to which the error is relative."""
        works = [self.potential, self.actuator, self.ground, self.joint, self.external]
        works += [self.others[..., k] for k in range(len(self.names))]
        most: Array = np.maximum(_largest(self.kinetic), _furthest(np.array(works)).max(axis=0))
        return most

    @cached_property
    def worst(self) -> Array:
        """The largest size of the error (...,)."""
        return _largest(self.error)

    def relative_error(self, unsure: float = 0.0, further: float = 0.0) -> Array:
        """Worst error (...,), less rounding and an ``unsure`` amount (J), relative to the energy exchanged.

        ``further`` (J): energy that was exchanged between the times and given back.
        """
        rounding = ROUNDING * (self.scale + _largest(np.abs(self.kinetic) + np.abs(self.potential)))
        worst = np.maximum(0.0, self.worst - rounding - unsure)
        exchanged = np.maximum(self.exchanged, further)
        relative: Array = worst / np.where(exchanged > 0.0, exchanged, 1.0)
        return relative

    def variables(self) -> dict[str, Array]:
        """By the names that results have for them."""
        return {
            "kinetic_energy": self.kinetic,
            "potential_energy": self.potential,
            "actuator_work": self.actuator,
            "ground_work": self.ground,
            "joint_work": self.joint,
            "external_work": self.external,
            "energy_error": self.error,
        }

    def of_components(self) -> dict[str, Variable]:
        """The work of components by its names."""
        return {
            name: Variable(("time",), self.others[..., k], "J", name.replace("_", " "))
            for k, name in enumerate(self.names)
        }


def _gained(values: Array) -> Array:
    """Less the first, over the times (..., k)."""
    gained: Array = values - values[..., :1]
    return gained


def _furthest(values: Array) -> Array:
    """The largest size of what was gained since the first, over the times (..., k)."""
    first = values[..., 0]
    furthest: Array = np.maximum(values.max(axis=-1) - first, first - values.min(axis=-1))
    return furthest


def _largest(values: Array) -> Array:
    """The largest size over the times (..., k)."""
    largest: Array = np.abs(values).max(axis=-1)
    return largest


def energies(
    mechanism: Mechanism,
    q: Array,
    qd: Array,
    sums: Array,
    names: tuple[str, ...] = (),
    masses: Masses | None = None,
) -> Energies:
    """From positions and velocities (..., k, n_dof) and the integrated work (..., k, 4 and more).

    Work beyond the first four is that of components, by ``names``; it is part of that of all torques.
    ``masses`` are those of each motion, if they differ.
    """
    assert sums.shape[-1] == SUMS + len(names)
    others = sums[..., SUMS:]
    return Energies(
        *(kinetic_and_potential(mechanism, q, qd) if masses is None else masses.energies(q, qd)),
        sums[..., ACTUATOR] - others.sum(axis=-1),
        sums[..., GROUND],
        sums[..., JOINT],
        sums[..., EXTERNAL],
        others,
        names,
        _lift(mechanism),
    )


def _lift(mechanism: Mechanism) -> float:
    """Mass times gravity times size (J): heights are sums of lengths, which leave their rounding."""
    tree = mechanism.tree
    weight = float(tree.mass.sum() * np.linalg.norm(tree.gravity))
    lift = weight * float(np.linalg.norm(tree.position, axis=-1).sum())
    return PROJECTED * lift if mechanism.loops else lift


def energy_tolerance(options: Options) -> float:
    """Allowed error relative to the energy exchanged: more than the accuracy asked of a step."""
    return min(LOOSE, 1e4 * options.rtol) if options.method not in FIXED else LOOSE


def prescribed_check(prescribed: Prescription, times: Array, q: Array, options: Options) -> Check:
    """The verdict on joints that were to move as prescribed."""
    places, motion = prescribed
    off = float(np.abs(q[:, places] - motion.at(times)).max(initial=0.0))
    allowed = min(LOOSE, max(FITS, 1e3 * options.rtol)) if options.method not in FIXED else LOOSE
    return Check.within(off, allowed, "rad or m", "prescribed joints move as prescribed; worst difference")


def energy_unsure(mechanism: Mechanism, options: Options) -> float:
    """What heights that are accurate to the absolute tolerance leave open of the energy (J)."""
    if options.method in FIXED:
        return 0.0
    tree = mechanism.tree
    return float(options.atol * tree.mass.sum() * np.linalg.norm(tree.gravity))


def energy_check(found: Energies, tolerance: float, unsure: float = 0.0, further: float = 0.0) -> Check:
    """The verdict on the balance, of the worst if there are several motions; see `relative_error`."""
    relative = np.atleast_1d(found.relative_error(unsure, further))
    worst = int(np.argmax(relative))
    apart, play = (float(np.atleast_1d(x)[worst]) for x in (found.worst, found.exchanged))
    play = max(play, further)
    which = "" if len(relative) == 1 else f" in motion {worst} of {len(relative)}"
    sentence = (
        "energy gained equals the work of actuators, ground, joints and loads; "
        f"worst difference {apart:.3g} J of {play:.3g} J exchanged{which}"
    )
    return Check.within(float(relative[worst]), tolerance, "1", sentence)
