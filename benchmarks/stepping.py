"""Steps of Kinetree and MuJoCo in one run: time of a step, creep of what stands, robots that are thrown.

``python -m benchmarks.stepping`` prints four tables; ``--quick`` takes less time for each figure. Times are
those of the processor on one thread, the best of some turns that both take one after the other.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np

import kinetree as kt
from benchmarks.stepping_cases import DT, SLOPED, STANDING, TIMED, Standing, human, quadruped
from kinetree.algebra.arrays import Array

STATES, STEPS, NOISE, DROP = 64, 200, 0.02, 0.008  # of a race: from perturbed standing, 8 mm high
SETTLED = 10.0  # s: creep is measured after
RECIPES: dict[str, dict[str, str]] = {
    "MuJoCo": {},
    "elliptic, impratio 100": {"cone": "elliptic", "impratio": "100"},
    "noslip 10": {"cone": "elliptic", "impratio": "10", "noslip_iterations": "10"},
}


def starts(case: Standing, rng: np.random.Generator) -> tuple[Array, Array]:
    """Perturbed states (STATES, n) near standing."""
    pose = case.placed()
    q = np.tile(pose, (STATES, 1))
    q[:, 6:] += NOISE * rng.normal(size=q[:, 6:].shape)
    q[:, 2] += DROP
    return q, NOISE * rng.normal(size=q.shape)


def best(run: Callable[[], None], begin: Callable[[], None], turns: int) -> float:
    """The shortest processor time (s) of some turns."""
    found = []
    for _ in range(turns):
        begin()
        t = time.process_time()
        run()
        found.append(time.process_time() - t)
    return min(found)


def raced(case: Standing, turns: int) -> list[str]:
    """A row of the table of times (microseconds of a step and state)."""
    import mujoco
    from mujoco import rollout

    q, v = starts(case, np.random.default_rng(0))
    many = case.stepper(STATES)
    many.reset(q, v)
    saved = many.save()
    ours = best(lambda: many.step(times=STEPS), lambda: many.restore(saved), turns)
    one = case.stepper()
    one.reset(q[0], v[0])
    first = one.save()

    def singly() -> None:
        for _ in range(STEPS):
            one.step()

    alone = best(singly, lambda: one.restore(first), turns)
    model = case.mujoco()
    memory = mujoco.MjData(model)
    qpos = np.concatenate([q[:, :3], np.tile([1.0, 0, 0, 0], (STATES, 1)), q[:, 6:]], axis=1)
    if model.nq != qpos.shape[1]:
        qpos = kt.coordinates_to(case.mechanism, "mujoco", q)
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    initial = np.zeros((STATES, size))
    initial[:, 1 : 1 + model.nq + model.nv] = np.concatenate([qpos, v], axis=1)
    theirs = best(lambda: rollout.rollout(model, memory, initial, nstep=STEPS), lambda: None, turns)

    def begin() -> None:
        memory.qpos[:], memory.qvel[:] = qpos[0], v[0]

    def mj_steps() -> None:
        for _ in range(STEPS):
            mujoco.mj_step(model, memory)

    step = best(mj_steps, begin, turns)
    times = [1e6 * x / (STEPS * STATES) for x in (ours, theirs)] + [1e6 * x / STEPS for x in (alone, step)]
    audit = many.audit()
    return [
        case.name,
        *(f"{x:.2f}" for x in times[:2]),
        f"{theirs / ours:.1f}",
        *(f"{x:.2f}" for x in times[2:]),
        f"{alone / step:.2f}",
        f"{100.0 * audit.unsolved.sum() / audit.steps.sum():.3f} %",
    ]


def sloped(case: Standing, turns: int) -> list[str]:
    """A row of the table of derivatives (microseconds of a step and state), MuJoCo's by differences.

    Of ours a step, all its derivatives, and slopes of one function, both with their step; of all of them the
    share of states that have derivatives.
    """
    import mujoco

    q, v = starts(case, np.random.default_rng(0))
    many = case.stepper(STATES)
    many.reset(q, v)
    many.step(times=100)
    saved, seeds = many.save(), np.ones(2 * case.mechanism.n_dof)
    step = best(lambda: many.step(), lambda: many.restore(saved), 4 * turns)
    smooth = many.step_derivatives().smooth.mean()
    full = best(lambda: many.step_derivatives(), lambda: many.restore(saved), turns)
    back = best(lambda: many.pull_back(seeds), lambda: many.restore(saved), turns)
    model = case.mujoco()
    memory, n = mujoco.MjData(model), case.mechanism.n_dof
    pose = case.placed()
    memory.qpos[:3], memory.qpos[7:] = pose[:3], pose[6:]
    for _ in range(100):
        mujoco.mj_step(model, memory)
    A = np.zeros((2 * n, 2 * n))
    differences = best(
        lambda: mujoco.mjd_transitionFD(model, memory, 1e-6, True, A, None, None, None), lambda: None, turns
    )
    own, theirs = [1e6 * x / STATES for x in (step, full, back)], 1e6 * differences
    ratios = [f"{own[1] / own[0]:.1f}", f"{own[2] / own[0]:.1f}"]
    return [case.name, *(f"{x:.2f}" for x in own), *ratios, f"{theirs:.0f}", f"{100.0 * smooth:.0f} %"]


def places(case: Standing, q: Array) -> Array:
    """Where the contact points are (points, 3)."""
    poses, found = kt.forward_kinematics(case.mechanism, q), []
    for point in case.mechanism.contact_points:
        k = case.mechanism.body_index(point.body)
        found.append(poses.rotation[k] @ point.position + poses.position[k])
    return np.array(found)


def creep(case: Standing, duration: float) -> list[str]:
    """A row of the table of creep (m/s): how far points in contact move after settling, by the time."""
    import mujoco

    stepper = case.stepper()
    stepper.step(times=round(SETTLED / DT))
    before = places(case, stepper.q)
    stepper.step(times=round((duration - SETTLED) / DT))
    touching = np.linalg.norm(stepper.contact.force, axis=-1) > 0.0
    moved = np.abs(places(case, stepper.q) - before)[touching].max() / (duration - SETTLED)
    row = [case.name, f"{moved:.0e}"]
    for options in RECIPES.values():
        gravity = " ".join(str(x) for x in case.mechanism.gravity)
        model = case.mujoco(**options, gravity=gravity)
        memory = mujoco.MjData(model)
        pose = case.placed()
        memory.qpos[:3], memory.qpos[7:] = pose[:3], pose[6:]
        spots = []
        for seconds in (SETTLED, duration - SETTLED):
            for _ in range(round(seconds / DT)):
                mujoco.mj_step(model, memory)
            spots.append(memory.geom_xpos[1:].copy())
        low = memory.geom_xpos[1:, 2] < 2e-3
        there = np.abs(spots[1] - spots[0])[low]
        row.append(f"{there.max() / (duration - SETTLED):.0e}" if low.any() else "fell")
    return row


def thrown(case: Standing, seed: int, states: int = 64, steps: int = 1000) -> list[str]:
    """A row of the table of robots that are thrown to the ground in any attitude."""
    rng, n = np.random.default_rng(seed), case.mechanism.n_dof
    stepper = kt.Stepper(
        case.mechanism, DT, batch=states, ground=case.ground, kp=case.kp, kd=case.kd, stops=False,
    )  # fmt: skip
    q, v = np.tile(case.pose, (states, 1)), 0.3 * rng.normal(size=(states, n))
    q[:, 2], v[:, :6] = 1.6, 2.0 * rng.normal(size=(states, 6))
    q[:, 3:6] = rng.uniform(-np.pi, np.pi, (states, 3))
    q[:, 6:] += 0.3 * rng.normal(size=(states, n - 6))
    stepper.step(target=case.pose)
    stepper.reset(q, v)
    stepper.step(times=steps)
    audit = stepper.audit()
    return [
        case.name,
        str(seed),
        str(len(audit.failures)),
        f"{100.0 * audit.unsolved.sum() / audit.steps.sum():.3f} %",
        f"{audit.worst_residual.max():.0e}",
        f"{audit.depth.max():.0e}",
        f"{audit.gain.max():.0e}",
    ]


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="3 turns of each race, creep over 15 s")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore", kt.KinetreeWarning)
    head = ["case", "Kinetree", "mujoco.rollout", "ratio", "one state", "mj_step", "ratio", "not solved"]
    rows = [raced(make(), 3 if quick else 15) for make in TIMED]
    print("## stepping: microseconds of a step and state\n\n" + table(head, rows), flush=True)
    rows = [sloped(make(), 3 if quick else 15) for make in SLOPED]
    head = ["derivatives", "step", "all", "one function", "ratio", "ratio", "mjd_transitionFD", "smooth"]
    print("\n## stepping: microseconds of derivatives\n\n" + table(head, rows), flush=True)
    rows = [creep(make(), 15.0 if quick else 60.0) for make in STANDING]
    print("\n## contact: creep (m/s)\n\n" + table(["case", "Kinetree", *RECIPES], rows), flush=True)
    robots = (quadruped(), human(8), human(16))
    rows = [thrown(case, seed) for case in robots for seed in ((1,) if quick else (1, 2, 3, 4))]
    head = ["thrown", "seed", "failures", "residual > 1e-3 m/s", "worst, m/s", "deepest, m", "energy, J"]
    print("\n## contact: thrown to the ground\n\n" + table(head, rows), flush=True)


if __name__ == "__main__":
    main()
