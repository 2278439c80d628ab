"""Many episodes of a task, advanced together: observations, rewards, ends."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinetree.algebra.arrays import Array
from kinetree.analysis.peer_coordinates import coordinates_from, coordinates_to
from kinetree.environments.moment import Moment, Robot
from kinetree.environments.task import LearningTask
from kinetree.errors import InputError, listed
from kinetree.result.build import build_result
from kinetree.result.result import Result
from kinetree.result.variables import Variable
from kinetree.simulation.stepper import Stepper

Mask = NDArray[np.bool_]
LARGEST = 1e6  # bound of all observations


@dataclass(frozen=True, eq=False)
class ActionOutcome:
    """What an action led to: ``reward`` (b,), ``ended``, ``cut`` off after the last action, ``failures``."""

    reward: Array
    ended: Mask
    cut: Mask
    failures: dict[int, str]


class Episodes:
    """``count`` episodes of a task, each with its own time.

    ``friction`` = (low, high) draws a factor of friction for each episode. ``record`` are the numbers of
    episodes that are kept, for :meth:`recorded`.
    """

    def __init__(
        self,
        task: LearningTask,
        count: int,
        *,
        friction: tuple[float, float] | None = None,
        record: tuple[int, ...] = (),
        threads: int | None = None,
    ) -> None:
        self.task, self.count = task, count
        gains: dict[str, Any] = task.act.gains(task.mechanism)
        self.stepper = Stepper(
            task.mechanism, task.dt, batch=count, ground=task.ground, coordinates="quaternion",
            restitution=task.restitution, threads=threads, **gains,
        )  # fmt: skip
        self.robot = Robot(self.stepper, task.ground)
        self.home = task.row("home")
        self.n_actions = len(task.act.driven(task.mechanism))
        self._command = task.act.command(task.mechanism, self.home)
        labels = [sense.names(self.robot) for sense in task.observe]
        self.names = tuple(name for names in labels for name in names)
        self._sizes = [len(names) for names in labels]
        self.friction = friction
        self.random = np.random.default_rng()
        self.goal = np.zeros((count, 0))
        self.actions_done = np.zeros(count, dtype=np.int64)
        self._action, self._last = np.zeros((count, self.n_actions)), np.zeros((count, self.n_actions))
        self._past: list[deque[Array]] = [deque(maxlen=self._ticks(x.delay) + 1) for x in task.observe]
        self.record = record
        self._kept: dict[int, list[tuple[float, Array, Array, Array]]] = {k: [] for k in record}
        for k in record:
            if not 0 <= k < count:
                raise InputError(f"record: there is no episode {k}; there are {count}, from 0")
        self.begin(np.ones(count, dtype=bool))
        self._check_functions()

    def _ticks(self, delay: float) -> int:
        return round(delay / (self.task.dt * self.task.hold))

    # ---- starts -------------------------------------------------------------------------------------------
    def begin(self, where: Mask) -> None:
        """Start the episodes of a mask (b,) again."""
        task, n, k = self.task, self.task.mechanism.n_dof, int(where.sum())
        q, qd = np.tile(self.home, (self.count, 1)), np.zeros((self.count, n))
        q[where] += task.row("spread") * self.random.uniform(-1.0, 1.0, (k, n))
        qd[where] += task.row("spread_rates") * self.random.uniform(-1.0, 1.0, (k, n))
        x, v = coordinates_to(task.mechanism, "mujoco", q, qd)
        self.stepper.reset(x, v, where=where)
        if task.goal is not None:
            drawn = np.asarray(task.goal(self.random, k), dtype=np.float64).reshape(k, -1)
            if self.goal.shape[1] != drawn.shape[1]:
                self.goal = np.zeros((self.count, drawn.shape[1]))
            self.goal[where] = drawn
        self.actions_done[where] = 0
        self._action[where] = self._last[where] = 0.0
        self._last_qd = np.array(self.stepper.qd)
        for number in np.flatnonzero(where):
            if int(number) in self._kept:
                self._kept[int(number)] = []
        self.moment = self._look()
        self._remember(where)
        self._keep()

    # ---- steps --------------------------------------------------------------------------------------------
    def advance(self, actions: ArrayLike, idle: Mask | None = None) -> ActionOutcome:
        """Take an action (b, k) from -1 to 1 in every episode; ``idle`` ones are not counted."""
        given = np.asarray(actions, dtype=np.float64)
        if given.shape != (self.count, self.n_actions):
            raise InputError(f"actions must have shape {(self.count, self.n_actions)}, got {given.shape}")
        wrong = np.flatnonzero(~np.isfinite(given).all(axis=1))
        if len(wrong):
            raise InputError(f"actions must be finite; those of {listed(wrong)} are not")
        self._last, self._action = self._action, np.clip(given, -1.0, 1.0)
        self._last_qd = np.array(self.stepper.qd)
        task = self.task
        self.stepper.step(**self._command(self._action), times=task.hold)
        self.actions_done += 1
        if idle is not None:
            self.actions_done[idle] = 0
        self.moment = self._look()
        self._remember(np.zeros(self.count, dtype=bool))
        self._keep()
        return self._judged()

    def _judged(self) -> ActionOutcome:
        """Rewards and ends; an episode that blew up or whose reward is not a number ends."""
        failures = dict(self.stepper.audit().failures)
        reward = self._row(self.task.reward(self.moment), "reward")
        ended = np.zeros(self.count, dtype=bool)
        if self.task.ends is not None:
            ended |= self._row(self.task.ends(self.moment), "ends") != 0.0
        for k in np.flatnonzero(~np.isfinite(reward)):
            failures.setdefault(int(k), f"the reward is {reward[k]}")
        reward = np.where(np.isfinite(reward), reward, 0.0)
        ended[list(failures)] = True
        return ActionOutcome(reward, ended, (self.actions_done >= self.task.limit) & ~ended, failures)

    def _row(self, given: Any, what: str) -> Array:
        found = np.asarray(given, dtype=np.float64)
        if found.shape != (self.count,):
            raise InputError(
                f"{what} must return one number for each of the {self.count} episodes, shape "
                f"({self.count},), got {found.shape}"
            )
        return found

    def _check_functions(self) -> None:
        reward = self._row(self.task.reward(self.moment), "reward")
        if not np.isfinite(reward).all():
            raise InputError(
                f"reward must return finite numbers, got {reward[~np.isfinite(reward)][0]} at the start"
            )
        if self.task.ends is not None:
            self._row(self.task.ends(self.moment), "ends")

    # ---- observations -------------------------------------------------------------------------------------
    def _look(self) -> Moment:
        stepper = self.stepper
        contact = stepper.contact
        arrays = {
            "q": stepper.q,
            "qd": stepper.qd,
            "time": stepper.time,
            "action": self._action,
            "last_action": self._last,
            "goal": self.goal,
            "force": contact.force,
            "gap": contact.gap,
            "last_qd": self._last_qd,
        }
        views = {name: array.view() for name, array in arrays.items()}
        for view in views.values():
            view.setflags(write=False)
        return Moment(self.robot, elapsed=self.task.dt * self.task.hold, **views)

    def _remember(self, anew: Mask) -> None:
        """Read all senses; in episodes that begin, earlier readings are as this one."""
        for sense, past, size in zip(self.task.observe, self._past, self._sizes, strict=True):
            values = np.array(sense.read(self.moment))
            if values.shape != (self.count, size):
                raise InputError(
                    f"{type(sense).__name__} must read {(self.count, size)} numbers, one row for each "
                    f"episode, got shape {values.shape}"
                )
            if sense.noise:
                values += sense.noise * self.random.standard_normal(values.shape)
            if past and anew.any():
                for old in past:
                    old[anew] = values[anew]
            else:
                past.append(values)

    def observed(self) -> NDArray[np.float32]:
        """What the robots observe now, (b, k)."""
        found = np.concatenate([past[0] for past in self._past], axis=1)
        clipped: NDArray[np.float32] = np.clip(found, -LARGEST, LARGEST).astype(np.float32)
        return clipped

    # ---- records ------------------------------------------------------------------------------------------
    def _keep(self) -> None:
        stepper = self.stepper
        for k, rows in self._kept.items():
            time = float(stepper.time[k])
            if not rows or time > rows[-1][0]:
                rows.append((time, stepper.q[k].copy(), stepper.qd[k].copy(), self._action[k].copy()))

    def recorded(self, number: int) -> Result:
        """The present episode of a number as a result, to be saved, drawn, shown and reported."""
        if number not in self._kept:
            raise InputError(f"episode {number} is not recorded; pass record=({number},)")
        time, x, v, action = (np.array(column) for column in zip(*self._kept[number], strict=True))
        q, qd = coordinates_from(self.task.mechanism, "mujoco", x, v)
        numbers = Variable(("action_number",), np.arange(action.shape[1]), "1", "number of an action")
        taken = Variable(("time", "action_number"), action, "1", "action from -1 to 1")
        return build_result(
            "simulate",
            self.task.mechanism,
            {"time": time, "q": q, "qd": qd, "action": taken},
            coordinates={"action_number": numbers},
            settings={"dt": self.task.dt, "hold": self.task.hold},
            not_judged={"motion": "an episode of learning is judged by its reward"},
        )
