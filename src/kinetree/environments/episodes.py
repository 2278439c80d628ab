"""Many episodes of a task, advanced together: observations, rewards, ends."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinetree.algebra.arrays import Array, numbers
from kinetree.environments.moment import Moment, Robot
from kinetree.environments.task import Draw, LearningTask
from kinetree.errors import InputError, listed, must_be
from kinetree.result.build import build_result
from kinetree.result.result import Result
from kinetree.result.variables import ALL, Variable
from kinetree.simulation.stepper import Stepper

Mask = NDArray[np.bool_]
LARGEST = 1e6  # bound of all observations
DRAWS = 20  # of a start that would be inside the ground


@dataclass(frozen=True, eq=False)
class ActionOutcome:
    """What an action led to: ``reward`` (b,), ``ended``, ``cut`` off after the last action, ``failures``."""

    reward: Array
    ended: Mask
    cut: Mask
    failures: dict[int, str]


class Episodes:
    """``count`` episodes of a task, each with its own time.

    ``friction`` = (low, high) draws a factor of friction for each episode, ``masses`` = (low, high) a factor
    for the mass of every body. ``record`` are the numbers of
    episodes that are kept, for :meth:`recorded`.
    """

    def __init__(
        self,
        task: LearningTask,
        count: int,
        *,
        friction: tuple[float, float] | None = None,
        masses: tuple[float, float] | None = None,
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
        self.friction, self.masses = _checked_range(friction, "friction"), _checked_range(masses, "masses")
        if self.masses is not None and self.masses[0] <= 0.0:
            raise InputError(must_be("masses", "two factors above 0", masses))
        self.random = np.random.default_rng()
        self.goal = np.zeros((count, 0))
        self.actions_done = np.zeros(count, dtype=np.int64)
        self._action, self._last = np.zeros((count, self.n_actions)), np.zeros((count, self.n_actions))
        self._past: list[deque[Array]] = [deque(maxlen=self._ticks(x.delay) + 1) for x in task.observe]
        self._kept: dict[int, list[tuple[float, Array, Array, Array]]] = {}
        for k in record:
            if type(k) is not int or not 0 <= k < count:
                raise InputError(must_be("record", f"numbers of episodes from 0 to {count - 1}", k))
            self._kept[k] = []
        self.begin(np.ones(count, dtype=bool))
        self._check_functions()

    def _ticks(self, delay: float) -> int:
        """A delay in actions, of which it must be a multiple."""
        action = self.task.dt * self.task.hold
        count = round(delay / action)
        if abs(count * action - delay) > 1e-6 * action:
            raise InputError(
                f"delay of a sense must be a multiple of an action, which lasts {action:g} s, got {delay:g} s"
            )
        return count

    # ---- starts -------------------------------------------------------------------------------------------
    def begin(self, where: Mask) -> None:
        """Start the episodes of a mask (b,) again."""
        rows = np.flatnonzero(where)
        if not len(rows):
            return
        task = self.task
        if self.masses is not None:
            usual = task.mechanism.tree.body_mass
            self.stepper.set_masses(
                usual * self.random.uniform(*self.masses, (self.count, len(usual))), where
            )
        try:
            self.stepper.reset_mechanism(*self._drawn(rows), where)
        except InputError:  # some are inside the ground: each by itself
            for row in rows:
                self._begin_alone(int(row))
        if self.friction is not None:
            self.stepper.set_friction(self.random.uniform(*self.friction, self.count), where)
        if task.goal is not None:
            self._draw_goals(task.goal, rows)
        self.actions_done[where] = 0
        self._action[where] = self._last[where] = 0.0
        self._last_qd = np.array(self.stepper.qd)
        for number in self._kept:
            if where[number]:
                self._kept[number] = []
        self.moment = self._look()
        self._remember(where)
        self._keep()

    def _drawn(self, rows: NDArray[np.intp]) -> tuple[Array, Array]:
        """States (b, n_dof) near home, within limits, drawn in some rows."""
        task, n = self.task, self.task.mechanism.n_dof
        q, qd = np.tile(self.home, (self.count, 1)), np.zeros((self.count, n))
        q[rows] += task.row("spread") * self.random.uniform(-1.0, 1.0, (len(rows), n))
        qd[rows] += task.row("spread_rates") * self.random.uniform(-1.0, 1.0, (len(rows), n))
        low, high = np.minimum(task.mechanism.lower, self.home), np.maximum(task.mechanism.upper, self.home)
        return np.clip(q, low, high), qd

    def _begin_alone(self, row: int) -> None:
        """One state, drawn again where it would begin inside the ground."""
        alone = np.zeros(self.count, dtype=bool)
        alone[row] = True
        for last in (False,) * (DRAWS - 1) + (True,):
            try:
                self.stepper.reset_mechanism(*self._drawn(np.array([row])), alone)
                return
            except InputError as error:
                if last:
                    raise InputError(f"{DRAWS} starts near home were refused: {error}") from None

    def _draw_goals(self, draw: Draw, rows: NDArray[np.intp]) -> None:
        drawn = numbers(draw(self.random, len(rows)), "what goal returns")
        wide = self.goal.shape[1] or drawn.shape[-1]
        if drawn.shape != (len(rows), wide) or not np.isfinite(drawn).all():
            raise InputError(
                f"goal must return finite numbers of shape ({len(rows)}, {wide}), a row for each episode, "
                f"got shape {drawn.shape}"
            )
        if self.goal.shape[1] != wide:
            self.goal = np.zeros((self.count, wide))
        self.goal[rows] = drawn

    # ---- steps --------------------------------------------------------------------------------------------
    def advance(self, actions: ArrayLike, idle: Mask | None = None) -> ActionOutcome:
        """Take an action (b, k) from -1 to 1 in every episode; ``idle`` ones are not counted."""
        given = numbers(actions, "actions")
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
        for k in np.flatnonzero(~np.isfinite(self._seen()).all(axis=1)).tolist():
            failures.setdefault(k, "an observation is not a number")
        reward = self._row(self.task.reward(self.moment), "reward")
        ended = np.zeros(self.count, dtype=bool)
        if self.task.ends is not None:
            ended |= self._row(self.task.ends(self.moment), "ends") != 0.0
        for k in np.flatnonzero(~np.isfinite(reward)).tolist():
            failures.setdefault(k, f"the reward is {reward[k]}")
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

    def _remember(self, fresh: Mask) -> None:
        """Read all senses; in episodes that begin, earlier readings are as this one."""
        for sense, past, size in zip(self.task.observe, self._past, self._sizes, strict=True):
            values = numbers(sense.read(self.moment), type(sense).__name__).copy()
            if values.shape != (self.count, size):
                raise InputError(
                    f"{type(sense).__name__} must read {(self.count, size)} numbers, one row for each "
                    f"episode, got shape {values.shape}"
                )
            if sense.noise:
                values += sense.noise * self.random.standard_normal(values.shape)
            if past and fresh.any():
                for old in past:
                    old[fresh] = values[fresh]
            else:
                past.append(values)

    def observed(self) -> NDArray[np.float32]:
        """What the robots observe now, (b, k)."""
        clipped = np.clip(np.nan_to_num(self._seen()), -LARGEST, LARGEST)
        found: NDArray[np.float32] = clipped.astype(np.float32)
        return found

    def _seen(self) -> Array:
        return np.concatenate([past[0] for past in self._past], axis=1)

    # ---- records ------------------------------------------------------------------------------------------
    def _keep(self) -> None:
        if not self._kept:
            return
        q, qd = self.stepper.mechanism_state()
        for k, rows in self._kept.items():
            time = float(self.stepper.time[k])
            if not rows or time > rows[-1][0]:
                rows.append((time, q[k], qd[k], self._action[k].copy()))

    def recorded(self, number: int) -> Result:
        """The present episode of a number as a result, to be saved, drawn, shown and reported."""
        if number not in self._kept:
            raise InputError(f"episode {number} is not recorded; pass record=({number},)")
        time, q, qd, action = (np.array(column) for column in zip(*self._kept[number], strict=True))
        numbers = Variable(("action_number",), np.arange(action.shape[1]), "1", "number of an action")
        taken = Variable(("time", "action_number"), action, "1", "action from -1 to 1")
        return build_result(
            "simulate",
            self.task.mechanism,
            {"time": time, "q": q, "qd": qd, "action": taken},
            coordinates={"action_number": numbers},
            settings={"dt": self.task.dt, "hold": self.task.hold},
            not_judged={ALL: "an episode of learning is judged by its reward"},
        )


def _checked_range(given: Any, what: str) -> tuple[float, float] | None:
    """The least and the largest factor."""
    if given is None:
        return None
    ends = numbers(given, what)
    if ends.shape != (2,) or not 0.0 <= ends[0] <= ends[1] < np.inf:
        raise InputError(must_be(what, "two factors, 0 <= low <= high", given))
    return float(ends[0]), float(ends[1])
