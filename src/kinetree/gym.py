"""Environments of gymnasium: tasks that come along by name, and your own from any mechanism.

>>> import gymnasium
>>> import kinetree.gym
>>> env = gymnasium.make("kinetree/CartPole-v0")
>>> observation, info = env.reset(seed=1)
>>> observation.shape, env.action_space.shape
((4,), (1,))
>>> many = gymnasium.make_vec("kinetree/Pendulum-v0", num_envs=64)
>>> many.reset(seed=1)[0].shape
(64, 3)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kinetree.environments.episodes import LARGEST, Episodes
from kinetree.environments.library import TASKS
from kinetree.environments.moment import Moment as Moment
from kinetree.environments.task import LearningTask as LearningTask
from kinetree.errors import InputError, MissingExtraError, expect, must_be, unknown_name
from kinetree.formats.files import load
from kinetree.formats.regular_file import PathLike
from kinetree.model.mechanism import Mechanism
from kinetree.result.result import Result

try:
    import gymnasium
    from gymnasium.spaces import Box
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError as error:
    raise MissingExtraError("gymnasium", "gym", "kinetree.gym") from error

Numbers = NDArray[Any]
NAMESPACE, VERSION = "kinetree", "v0"
OF_DOOR = ("friction", "masses", "record", "autoreset", "threads")  # settings that are not those of a task
MODES = {
    "next_step": AutoresetMode.NEXT_STEP,
    "same_step": AutoresetMode.SAME_STEP,
    "disabled": AutoresetMode.DISABLED,
}


class MechanismEnv(gymnasium.Env[Numbers, Numbers]):
    """One episode of a task at a time, as gymnasium wants it.

    ``friction`` and ``masses`` = (low, high) draw a factor of friction, and one for the mass of every body,
    for each episode; ``info["failure"]`` says why an episode ended that blew up.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(
        self,
        task: LearningTask | str,
        *,
        friction: tuple[float, float] | None = None,
        masses: tuple[float, float] | None = None,
        record: bool = False,
    ) -> None:
        self.task = expect_task(task)
        kept = (0,) if record else ()
        self._episodes = Episodes(self.task, 1, friction=friction, masses=masses, record=kept)
        self.observation_space = _observations(self._episodes)
        self.action_space = _actions(self._episodes)

    @property
    def observation_names(self) -> tuple[str, ...]:
        """What the numbers of an observation are."""
        return self._episodes.names

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Numbers, dict[str, Any]]:
        """Start an episode."""
        super().reset(seed=seed)
        self._episodes.random = self.np_random
        self._episodes.begin(np.ones(1, dtype=bool))
        return self._episodes.observed()[0], {}

    def step(self, action: Numbers) -> tuple[Numbers, float, bool, bool, dict[str, Any]]:
        """Take an action from -1 to 1."""
        found = self._episodes.advance(np.asarray(action, dtype=np.float64)[None])
        info = {"failure": found.failures[0]} if found.failures else {}
        observation = self._episodes.observed()[0]
        return observation, float(found.reward[0]), bool(found.ended[0]), bool(found.cut[0]), info

    def recorded(self) -> Result:
        """The present episode as a result."""
        return self._episodes.recorded(0)


class MechanismVectorEnv(VectorEnv[Numbers, Numbers, Numbers]):
    """Many episodes of a task at once, stepped together in the lanes of the processor.

    ``autoreset``: "next_step" (gymnasium's default), "same_step" or "disabled". ``record`` are the numbers
    of episodes that :meth:`recorded` returns; ``threads`` those of the steps.
    """

    def __init__(
        self,
        task: LearningTask | str,
        num_envs: int = 1,
        *,
        autoreset: str = "next_step",
        friction: tuple[float, float] | None = None,
        masses: tuple[float, float] | None = None,
        record: tuple[int, ...] = (),
        threads: int | None = None,
    ) -> None:
        if autoreset not in MODES:
            raise InputError(unknown_name("autoreset", autoreset, MODES))
        self.task, self.num_envs, self._mode = expect_task(task), num_envs, autoreset
        self.metadata = {"autoreset_mode": MODES[autoreset], "render_modes": []}
        self._episodes = Episodes(
            self.task, num_envs, friction=friction, masses=masses, record=record, threads=threads
        )
        self.single_observation_space = _observations(self._episodes)
        self.single_action_space = _actions(self._episodes)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._over = np.zeros(num_envs, dtype=bool)
        self._np_random: np.random.Generator | None = None

    @property
    def observation_names(self) -> tuple[str, ...]:
        """What the numbers of an observation are."""
        return self._episodes.names

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Numbers, dict[str, Any]]:
        """Start all episodes, or those of ``options["reset_mask"]`` (num_envs,)."""
        if isinstance(seed, list):  # one for each environment; together they seed the one generator
            self._np_random = np.random.default_rng([0 if x is None else x + 1 for x in seed])
        elif seed is not None or self._np_random is None:
            self._np_random, self._np_random_seed = gymnasium.utils.seeding.np_random(seed)
        self._episodes.random = self._np_random
        if options is not None and not isinstance(options, Mapping):
            raise InputError(must_be("options", "a dictionary", options))
        where = np.asarray((options or {}).get("reset_mask", np.ones(self.num_envs, dtype=bool)))
        if where.dtype != np.bool_ or where.shape != (self.num_envs,):
            raise InputError(
                f"reset_mask must be {self.num_envs} truth values, got {where.dtype} {where.shape}"
            )
        self._episodes.begin(where)
        self._over[where] = False
        return self._episodes.observed(), {}

    def step(self, actions: Numbers) -> tuple[Numbers, Numbers, Numbers, Numbers, dict[str, Any]]:
        """Take actions (num_envs, k) from -1 to 1; episodes that were over begin again instead."""
        fresh = self._over.copy() if self._mode == "next_step" else np.zeros(self.num_envs, dtype=bool)
        found = self._episodes.advance(actions, idle=fresh)
        reward, ended, cut = found.reward, found.ended, found.cut
        if fresh.any():
            self._episodes.begin(fresh)
            reward, ended, cut = np.where(fresh, 0.0, reward), ended & ~fresh, cut & ~fresh
        self._over = ended | cut
        info: dict[str, Any] = {}
        for k, why in found.failures.items():
            if not fresh[k]:
                info = self._add_info(info, {"failure": why}, k)
        observation = self._episodes.observed()
        if self._mode == "same_step" and self._over.any():
            last = np.full(self.num_envs, None, dtype=object)
            for k in np.flatnonzero(self._over).tolist():
                last[k] = observation[k]
            info |= {"final_obs": last, "_final_obs": self._over.copy()}
            self._episodes.begin(self._over)
            observation = self._episodes.observed()
            self._over = np.zeros(self.num_envs, dtype=bool)
        return observation, reward, ended, cut, info

    def recorded(self, number: int) -> Result:
        """The present episode of an environment as a result."""
        return self._episodes.recorded(number)


def make(
    mechanism: Mechanism | PathLike,
    reward: Callable[[Moment], Numbers],
    *,
    num_envs: int | None = None,
    **settings: Any,
) -> MechanismEnv | MechanismVectorEnv:
    """An environment from a mechanism or its file, and a reward (b,) of a :class:`Moment`.

    Of ``settings`` those of a :class:`LearningTask` describe it; ``friction``, ``masses``, ``record``,
    ``autoreset`` and ``threads`` are those of the environment. With ``num_envs`` it is a
    `MechanismVectorEnv`.

    >>> import numpy as np
    >>> import kinetree as kt
    >>> env = make(kt.zoo.two_link(), lambda moment: -np.abs(moment.velocity("joint2")), limit=100)
    >>> env.observation_names
    ('joint1', 'joint2', 'joint1_rate', 'joint2_rate')
    """
    if not isinstance(mechanism, Mechanism):
        mechanism = load(mechanism)
    own = {name: settings.pop(name) for name in OF_DOOR if name in settings}
    for name in settings:
        if name not in LearningTask.__dataclass_fields__:
            raise InputError(unknown_name("setting", name, [*LearningTask.__dataclass_fields__, *OF_DOOR]))
    for name in ("autoreset", "threads"):
        if num_envs is None and name in own:
            raise InputError(f"{name} is for many environments: give num_envs, too")
    task = LearningTask(mechanism, reward, **settings)
    return MechanismEnv(task, **own) if num_envs is None else MechanismVectorEnv(task, num_envs, **own)


def expect_task(task: Any) -> LearningTask:
    """The task of a name such as "Hopper", or the task itself."""
    if isinstance(task, str):
        if task not in TASKS:
            raise InputError(unknown_name("environment", task, TASKS))
        return TASKS[task]()
    expect(task, LearningTask, "task", "a LearningTask or the name of one")
    return task


def _observations(episodes: Episodes) -> Box:
    return Box(-LARGEST, LARGEST, (len(episodes.names),), np.float32)


def _actions(episodes: Episodes) -> Box:
    return Box(-1.0, 1.0, (episodes.n_actions,), np.float32)


def _single(name: str) -> Callable[..., MechanismEnv]:
    return lambda **settings: MechanismEnv(TASKS[name](), **settings)


def _vector(name: str) -> Callable[..., MechanismVectorEnv]:
    return lambda num_envs=1, **settings: MechanismVectorEnv(TASKS[name](), num_envs, **settings)


def _register() -> None:
    for name in TASKS:
        known = f"{NAMESPACE}/{name}-{VERSION}"
        if known not in gymnasium.registry:
            gymnasium.register(known, entry_point=_single(name), vector_entry_point=_vector(name))


_register()
