"""Mechanisms with closed loops that are timed, and their motions; all contestants get the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.simulation_cases import Case, final_positions
from kinetree.algebra.arrays import Array
from kinetree.model.zoo.linkages import Plane

REFERENCE_TOLERANCE = 1e-13


@dataclass(frozen=True, eq=False)
class LoopCase(Case):
    """A motion of a mechanism with closed loops, from positions q0 (n,) and velocities qd0 (n,)."""

    qd0: Array | None = None
    torque: Mapping[str, float] | None = None

    @property
    def rates(self) -> Array:
        """Velocities at the start."""
        return np.zeros_like(self.q0) if self.qd0 is None else self.qd0

    def reference(self, mechanism: kt.Mechanism | None = None) -> Array:
        """The final positions (n,) at a tight tolerance."""
        simulator = self.simulator(mechanism, method="dop853", rtol=REFERENCE_TOLERANCE)
        return final_positions(simulator.run(self.q0, self.rates))

    def simulator(self, mechanism: kt.Mechanism | None = None, **options: Any) -> kt.simulation.Simulator:
        """A prepared simulation that returns the final state."""
        return super().simulator(mechanism, torque=self.torque, **options)

    def public(self, method: str, tolerance: float) -> Any:
        """The public call with everything that it returns."""
        return kt.simulate(
            self.mechanism,
            self.q0,
            self.rates,
            duration=self.duration,
            torque=self.torque,
            method=method,
            rtol=tolerance,
            atol=tolerance,
            energy_tolerance=1e9,
        )


def four_bar() -> LoopCase:
    """The four-bar of [Shah2013], section 8.2.1."""
    bar = kt.zoo.four_bar()
    q0 = kt.loops.assemble(bar, [1.0, 1.33, 4.18], hold=["crank_pivot"])
    return LoopCase("four-bar", bar, q0, 4.0 / 3.0, "falls 1.33 s from rest, its crank at 1 rad")


def three_rrr() -> LoopCase:
    """The 3-RRR manipulator of [Shah2013], section 8.2.3."""
    robot = kt.zoo.three_rrr()
    start = (1.0472, -0.86507, 3.7334, 1.31276, 2.96258, 4.18879, 5.75959)
    return LoopCase("3-RRR", robot, kt.loops.assemble(robot, start), 1.0, "falls 1 s from the book's pose")


def two_four_bars() -> LoopCase:
    """Problem A02 of the IFToMM library with two four-bars: it passes no singular position within 1 s."""
    ladder = kt.zoo.n_four_bar(2)
    words = "1 s from upright cranks at 1 rad/s"
    return LoopCase("A02, two four-bars", ladder, np.zeros(5), 1.0, words, qd0=-1.0 * ladder_sign(ladder))


def bricard() -> LoopCase:
    """Problem A04 of the IFToMM library."""
    linkage = kt.zoo.bricard()
    return LoopCase("A04, Bricard", linkage, np.zeros(5), 10.0, "falls 10 s from rest at q = 0")


def andrews() -> LoopCase:
    """Problem A03 of the IFToMM library: Andrews' squeezing mechanism (Schiehlen 1990)."""
    beta, gamma, delta = -0.0617138900142764, 0.45527981916307, 0.487364979543843
    phi, epsilon = 0.222668390165886, 1.23054744454982
    start = np.array([beta, 0.0, gamma, delta, phi, epsilon, -phi])
    squeezer = kt.zoo.andrews_squeezer()
    words = "0.03 s from rest under 0.033 N m at its crank, with its spring"
    return LoopCase("A03, Andrews", squeezer, start, 0.03, words, torque={"beta": 0.033})


CASES: dict[str, Callable[[], LoopCase]] = {
    "four_bar": four_bar, "three_rrr": three_rrr, "two_four_bars": two_four_bars, "bricard": bricard,
    "andrews": andrews,
}  # fmt: skip


def ladder_sign(ladder: kt.Mechanism) -> Array:
    """(n,): how all joints of a ladder move with the first crank."""
    return np.array([-1.0 if "coupler" in name else 1.0 for name in ladder.joint_names])


def ladder_states(ladder: kt.Mechanism, count: int) -> tuple[Array, Array, Array]:
    """Positions, velocities and torques of a ladder of four-bars, away from its singular positions."""
    sign, rng = ladder_sign(ladder), np.random.default_rng(0)
    q = np.linspace(0.2, 1.2, count)[:, None] * sign
    return q, 1.3 * np.ones((count, 1)) * sign, rng.standard_normal(q.shape)


def series(count: int) -> kt.Mechanism:
    """Four-bars one on the coupler of the other; closed at q = 0."""
    linkage = Plane(f"series of {count}")
    on, x, y = linkage.ground, 0.0, 0.0
    for k in range(count):
        end = (x + 1.1, y + 0.8)
        crank = linkage.bar(on, f"crank{k}", 1.0, (x, y), (x, y + 0.5), driven=True)
        coupler = linkage.bar(crank, f"coupler{k}", 1.0, (x, y + 0.5), end)
        linkage.pin(f"pin{k}", coupler, linkage.bar(on, f"rocker{k}", 1.0, (x + 1.0, y), end), end)
        on, x, y = coupler, x + 0.3, y + 0.9
    return linkage.build.build()


def closed_chain(links: int) -> kt.Mechanism:
    """A polygon of links in space, hinges about y and z in turns, closed by a ball joint at q = 0."""
    build = kt.Builder(f"closed chain of {links}")
    on, c, s = build.world, math.cos(2 * math.pi / links), math.sin(2 * math.pi / links)
    for k in range(links - 1):
        place: dict[str, Any] = {}
        if k:
            place = {"at": (0.3, 0, 0), "rotation": ((c, -s, 0), (s, c, 0), (0, 0, 1))}
        joint = on.revolute(f"joint{k}", axis="z" if k % 2 else "y", **place)
        on = joint.body(f"link{k}", kt.Inertia(1.0, (0.15, 0, 0), (0.01, 0.03, 0.03)))
    build.loop("ball", build.world, on, at_b=(0.3, 0, 0), kind="spherical")
    return build.build()
