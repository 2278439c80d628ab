"""``python -m benchmarks.environments``: actions per second of environments, beside gymnasium's with MuJoCo.

CPU time of one thread, interleaved, the best of several rounds. The door is what an environment takes beyond
the steps of its stepper: resets, senses, rewards. Robots of the same name are alike, not the same: a row says
how many steps an action has.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import process_time

import numpy as np
from rich.console import Console
from rich.table import Table

BATCH, ROUNDS, ACTIONS = 1024, 5, 20
PEERS = {
    "Pendulum": "InvertedPendulum-v5",
    "CartPole": "InvertedPendulum-v5",
    "Hopper": "Hopper-v5",
    "Quadruped": "Ant-v5",
}
FEW = 8  # environments of MuJoCo, one after the other: their time does not depend on how many


def main() -> None:
    """Measure and print."""
    table = Table("robot", "actions/s", "steps", "door", "peer", "actions/s", "steps", "ratio")
    for name, peer in PEERS.items():
        table.add_row(*row(name, peer))
    Console(width=100).print(table)


def row(name: str, peer: str) -> list[str]:
    """A robot of ours and one of gymnasium's."""
    import gymnasium

    import kinetree.gym as own

    ours = own.MechanismVectorEnv(name, BATCH, threads=1)
    theirs = [gymnasium.make(peer) for _ in range(FEW)]
    random = np.random.default_rng(0)
    ours.reset(seed=0)
    for env in theirs:
        env.reset(seed=0)
    actions = random.uniform(-0.3, 0.3, (ACTIONS, BATCH, *ours.single_action_space.shape))
    wanted = random.uniform(-0.3, 0.3, (ACTIONS, FEW, *theirs[0].action_space.shape))
    works = (partial(_act, ours, actions), partial(_step, ours, actions), partial(_act_alone, theirs, wanted))
    times = np.array([[_time(work) for work in works] for _ in range(ROUNDS)]).min(axis=0)
    whole, bare, other = times / (ACTIONS * np.array([BATCH, BATCH, FEW]))
    return [
        name, f"{1 / whole:,.0f}", str(ours.task.hold), f"{100 * (whole / bare - 1):.0f} %", peer,
        f"{1 / other:,.0f}", str(theirs[0].unwrapped.frame_skip), f"{other / whole:.1f}",
    ]  # fmt: skip


def _time(work: Callable[[], None]) -> float:
    begin = process_time()
    work()
    return process_time() - begin


def _act(env, actions) -> None:
    for action in actions:
        env.step(action)


def _step(env, actions) -> None:
    """The same actions on the stepper alone."""
    episodes = env._episodes
    command = env.task.act.command(env.task.mechanism, episodes.home)
    for action in actions:
        episodes.stepper.step(**command(action), times=env.task.hold)


def _act_alone(envs, actions) -> None:
    for row in actions:
        for env, action in zip(envs, row, strict=True):
            _, _, ended, cut, _ = env.step(action)
            if ended or cut:
                env.reset()


if __name__ == "__main__":
    main()
