"""Equal modules evaluated together: `python -m benchmarks.equal_modules` ([Shah2013], section 5.6).

The legs of a walking robot are modules of equal structure. The book proposes to solve modules in parallel and
the links inside them recursively. Here the legs of one state are the lanes of SIMD numbers: each lane has the
numbers of its own leg, and one pass of the recursion serves four of them. The base is a pass of its own,
before and after. Beside it stand the usual ways: one state at a time, and a state in each lane.

All three are compiled from the same recursive Newton-Euler steps, run over the same states in one call, and
are compared with `kinetree.inverse_dynamics`.
"""

from __future__ import annotations

import argparse
import functools
import time
from ctypes import CFUNCTYPE, c_int64, c_void_p
from dataclasses import dataclass
from typing import Any

import numpy as np

import kinetree as kt
from kinetree.algebra.arrays import Array
from kinetree.algebra.memory import aligned
from kinetree.engine.door import INTEGER, NUMBERS, carray, compiled_callback, inline
from kinetree.engine.lanes import fields, row_at
from kinetree.kernels.axes import WORLD, inertia, inward, outward, passive_torque, placement, turn_axes
from kinetree.kernels.model_table import TREE, tree_table
from kinetree.kernels.number import LANES, accumulate, lanewise
from kinetree.kernels.rnea import SLOTS, rnea_unloaded
from kinetree.kernels.vectors import (
    ZERO3,
    ZERO9,
    add_z,
    cross_plus,
    cross_z_plus,
    inertial_force,
    inertial_moment,
    negative,
    spin_matrix,
    times,
    times_plus,
    transposed_times,
)

RUN = INTEGER(INTEGER, NUMBERS, NUMBERS, NUMBERS)
CALL = CFUNCTYPE(c_int64, c_int64, c_void_p, c_void_p, c_void_p)
AGREES = 1e-10  # of the largest torque
ROBOTS = ("quadruped", "hexapod")
ALONE, STATES, MODULES = "one state at a time", "a state in each lane", "a leg in each lane"


@lanewise
def go_out(tree, work, q, qd, qdd):
    """Motions and inertial forces of all axes, from those of the row `WORLD`; as in `kernels.rnea`."""
    turn_axes(tree, work, q)
    for i in outward(len(q)):
        j, k = tree.place[tree.parent[i]], tree.place[i]
        R, p = placement(tree, work, i, q[i])
        work.R[i] = R
        a = work.a[j]
        if tree.offset[i]:
            work.p[i] = p
            a = times_plus(work.U[j], p, a)
        w = transposed_times(R, work.w[j])
        wd = transposed_times(R, work.wd[j])
        a = transposed_times(R, a)
        if tree.revolute[i]:
            wd = add_z(cross_z_plus(w, qd[i], wd), qdd[i])
            w = add_z(w, qd[i])
        else:
            a = add_z(cross_z_plus(w, qd[i] + qd[i], a), qdd[i])
        work.w[k], work.wd[k], work.a[k] = w, wd, a
        if tree.spins[i]:
            U = spin_matrix(w, wd)
            work.U[k] = U
            if tree.massive[i]:
                m, h, S = inertia(tree, i)
                work.f[i] = inertial_force(m, h, U, a)
                work.n[i] = inertial_moment(h, S, U, a)
        if not tree.massive[i]:
            work.f[i], work.n[i] = ZERO3, ZERO3


@lanewise
def come_in(tree, work, q, qd, qdd, tau):
    """Torques of all axes; what the first ones ask of what carries them is added to the row `WORLD`."""
    for i in inward(len(q)):
        j = tree.parent[i]
        f, n = work.f[i], work.n[i]
        if tree.revolute[i]:
            tau[i] = n[2] + tree.armature[i] * qdd[i]
        else:
            tau[i] = f[2] + tree.armature[i] * qdd[i]
        if tree.passive[i]:
            tau[i] = tau[i] + passive_torque(tree, i, q[i], qd[i])
        R = work.R[i]
        f, n = times(R, f), times_plus(R, n, work.n[j])
        if tree.offset[i]:
            n = cross_plus(work.p[i], f, n)
        accumulate(work.f, j, f)
        work.n[j] = n


@functools.cache
def whole_trees(lanes: int) -> Any:
    """run(count, memory, states, torques): whole trees, a state in each of so many lanes."""

    def run(count, memory_, states_, torques_):
        memory, states, torques = carray(memory_, (1,)), carray(states_, (1,)), carray(torques_, (1,))
        tree = fields(memory, TREE, 1, 0)
        n = tree.parent[WORLD]
        work = fields(memory, SLOTS, lanes, (n + 1) * TREE_WIDTH)
        for k in range(0, count, lanes):
            q = row_at(states, k * n, n, lanes)
            qd = row_at(states, (count + k) * n, n, lanes)
            qdd = row_at(states, (2 * count + k) * n, n, lanes)
            rnea_unloaded(tree, work, q, qd, qdd, row_at(torques, k * n, n, lanes))
        return 0

    return compiled_callback(run, RUN, f"whole-trees-{lanes}")


def group_of(lanes: int) -> Any:
    """serve(memory, tables, room, trunk, states, torques, q_at, qd_at, qdd_at, last): legs as so many lanes.

    Their tables and workspace begin at ``tables`` and ``room``; the trunk's motion is in its row ``last``.
    """

    def serve(memory, tables, room, trunk, last, sums, states, torques, at, at_d, at_dd):
        leg, work = fields(memory, TREE, lanes, tables), fields(memory, SLOTS, lanes, room)
        m = leg.parent[WORLD]
        q, qd = row_at(states, at, m, lanes), row_at(states, at_d, m, lanes)
        qdd, tau = row_at(states, at_dd, m, lanes), row_at(torques, at, m, lanes)
        x = 0.0 * q[0]
        work.w[WORLD], work.wd[WORLD] = spread3(trunk.w[last], x), spread3(trunk.wd[last], x)
        work.a[WORLD], work.U[WORLD] = spread3(trunk.a[last], x), spread9(trunk.U[last], x)
        work.f[WORLD], work.n[WORLD] = spread3(ZERO3, x), spread3(ZERO3, x)
        go_out(leg, work, q, qd, qdd)
        come_in(leg, work, q, qd, qdd, tau)
        for i in range(3):
            force, moment = 0.0, 0.0
            for lane in range(lanes):
                force += memory[room + (FORCE + i) * lanes + lane]
                moment += memory[room + (MOMENT + i) * lanes + lane]
            memory[sums + FORCE + i] += force
            memory[sums + MOMENT + i] += moment

    return inline(serve)


@functools.cache
def equal_legs(legs: int) -> Any:
    """The same for a base with equal legs, each of which is a lane: four of them at once, then the rest."""
    first, rest = min(legs, LANES), legs - min(legs, LANES)
    serve, serve_rest = group_of(first), group_of(max(rest, 1))

    def run(count, memory_, states_, torques_):
        memory, states, torques = carray(memory_, (1,)), carray(states_, (1,)), carray(torques_, (1,))
        base = fields(memory, TREE, 1, 0)
        b = base.parent[WORLD]
        tables = (b + 1) * TREE_WIDTH
        m = fields(memory, TREE, first, tables).parent[WORLD]
        others = tables + first * (m + 1) * TREE_WIDTH
        room = others + rest * (m + 1) * TREE_WIDTH
        trunk, n, last = fields(memory, SLOTS, 1, room), b + legs * m, b - 1
        sums, of_first = room + b * WIDTH, room + (b + 1) * WIDTH
        of_rest = of_first + first * (m + 1) * WIDTH
        for k in range(count):
            at, at_d, at_dd = k * n, (count + k) * n, (2 * count + k) * n
            q, qd = row_at(states, at, b, 1), row_at(states, at_d, b, 1)
            qdd, tau = row_at(states, at_dd, b, 1), row_at(torques, at, b, 1)
            trunk.w[WORLD], trunk.wd[WORLD], trunk.U[WORLD] = ZERO3, ZERO3, ZERO9
            trunk.a[WORLD] = negative(base.gravity[WORLD])
            trunk.f[WORLD], trunk.n[WORLD] = ZERO3, ZERO3
            go_out(base, trunk, q, qd, qdd)
            serve(memory, tables, of_first, trunk, last, sums, states, torques, at + b, at_d + b, at_dd + b)
            if rest > 0:
                skip = b + first * m
                serve_rest(
                    memory, others, of_rest, trunk, last, sums, states, torques,
                    at + skip, at_d + skip, at_dd + skip,
                )  # fmt: skip
            come_in(base, trunk, q, qd, qdd, tau)
        return 0

    return compiled_callback(run, RUN, f"equal-legs-{legs}")


@lanewise
def spread3(v, x):
    """A vector for all lanes of a number that is zero."""
    return v[0] + x, v[1] + x, v[2] + x


@lanewise
def spread9(v, x):
    """The same of a matrix."""
    return (
        v[0] + x, v[1] + x, v[2] + x, v[3] + x, v[4] + x, v[5] + x, v[6] + x, v[7] + x, v[8] + x,
    )  # fmt: skip


TREE_WIDTH, WIDTH = TREE.width, SLOTS.width
FORCE, MOMENT = SLOTS.places["f"][0], SLOTS.places["n"][0]


@dataclass(frozen=True, eq=False)
class Parts:
    """A walking robot: a base of ``base`` axes and ``legs`` equal legs of ``axes`` each."""

    table: Array
    base: int
    legs: int
    axes: int

    @classmethod
    def of(cls, mechanism: kt.Mechanism) -> Parts:
        """The parts of a robot whose legs all hang on its base and have axes of the same kinds."""
        tree, table = mechanism.tree, np.array(tree_table(mechanism.tree))
        base = 6
        firsts = [i for i in range(base, tree.n) if tree.parent[i] == base - 1]
        axes = (tree.n - base) // max(len(firsts), 1)
        if not firsts or firsts != list(range(base, tree.n, axes)):
            raise ValueError(f"'{mechanism.name}' is no base with equal legs one after the other")
        kinds = [[TREE.places[name][0] for name in ("revolute", "massive", "offset", "passive", "spins")]]
        rows = table.view(np.int64)[1 + base :].reshape(len(firsts), axes, -1)[..., kinds[0]]
        if not (rows == rows[0]).all():
            raise ValueError(f"the legs of '{mechanism.name}' are of different kinds")
        return cls(table, base, len(firsts), axes)

    def memory(self) -> Array:
        """Tables of the base and of all legs, lane by lane, and room to work in."""
        base = self._cut(0, self.base)
        legs = [self._cut(self.base + k * self.axes, self.axes) for k in range(self.legs)]
        groups = [np.stack(x, axis=-1).ravel() for x in (legs[:LANES], legs[LANES:]) if x]
        tables = np.concatenate([base.ravel(), *groups])
        work = (self.base + 1) * WIDTH + self.legs * (self.axes + 1) * WIDTH
        found = aligned(tables.size + work)
        found[:] = 0.0
        found[: tables.size] = tables
        return found

    def _cut(self, first: int, count: int) -> Array:
        """The rows of some axes as a table of its own, whose world is what carries the first of them."""
        rows = np.concatenate([self.table[:1], self.table[1 + first : 1 + first + count]])
        words, place = (
            rows.view(np.int64),
            {name: TREE.places[name][0] for name in ("parent", "place", "spins")},
        )
        words[1:, place["parent"]] -= first
        words[1:, place["place"]] = np.arange(count)
        words[0, place["parent"]] = count
        words[1, place["parent"]] = WORLD
        words[count, place["spins"]] = 1
        return rows


def contestants(mechanism: kt.Mechanism) -> dict[str, tuple[int, Array]]:
    """Address of the code and its memory, by name."""
    parts, table = Parts.of(mechanism), tree_table(mechanism.tree).ravel()
    found = {}
    for name, lanes in ((ALONE, 1), (STATES, LANES)):
        memory = aligned(table.size + (mechanism.tree.n + 1) * WIDTH * lanes)
        memory[:] = 0.0
        memory[: table.size] = table
        found[name] = (int(whole_trees(lanes).address), memory)
    return found | {MODULES: (int(equal_legs(parts.legs).address), parts.memory())}


def compared(name: str, count: int, repeats: int) -> dict[str, tuple[float, float]]:
    """Microseconds of processor time per state, best of all repeats, and the largest error of each way."""
    mechanism = getattr(kt.zoo, name)()
    rng = np.random.default_rng(5)
    states = rng.uniform(-1.0, 1.0, (3, count, mechanism.n_dof))
    wanted = kt.inverse_dynamics(mechanism, *states)
    times = dict[str, tuple[float, float]]()
    ways = contestants(mechanism)
    for way in ways:
        times[way] = np.inf, 0.0
    for _ in range(repeats):
        for way, (address, memory) in ways.items():
            torques = np.zeros((count, mechanism.n_dof))
            call = CALL(address)
            began = time.process_time()
            call(count, memory.ctypes.data, states.ctypes.data, torques.ctypes.data)
            spent = 1e6 * (time.process_time() - began) / count
            off = float(np.abs(torques - wanted).max() / np.abs(wanted).max())
            times[way] = min(times[way][0], spent), max(times[way][1], off)
    return times


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--states", type=int, default=8192, help="states per call, a multiple of 4")
    parser.add_argument("--repeats", type=int, default=25, help="calls of each way, of which the best counts")
    options = parser.parse_args()
    print(f"inverse dynamics, us of processor time per state, best of {options.repeats} calls")
    for name in ROBOTS:
        found = compared(name, options.states, options.repeats)
        for way, (spent, off) in found.items():
            share = found[ALONE][0] / spent
            print(f"{name:10s} {way:22s} {spent:7.3f} us  {share:5.2f}x  largest error {off:.1e}")
            if not off < AGREES:
                raise SystemExit(f"{name}, {way}: torques are off by {off:.1e}")


if __name__ == "__main__":
    main()
