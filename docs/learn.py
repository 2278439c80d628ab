"""Learn a task of kinetree.gym with stable-baselines3: python docs/learn.py Hopper 2000000"""

# ruff: noqa: D102 - methods are those of VecEnv

import sys

import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecEnv, VecMonitor

import kinetree as kt
import kinetree.gym


class Lanes(VecEnv):
    """All environments of a batch, as stable-baselines3 wants them."""

    def __init__(self, task, count):
        self.env = kt.gym.MechanismVectorEnv(task, count, autoreset="same_step")
        super().__init__(count, self.env.single_observation_space, self.env.single_action_space)

    def reset(self):
        return self.env.reset(seed=self._seeds[0])[0]

    def step_async(self, actions):
        self.actions = actions

    def step_wait(self):
        seen, reward, ended, cut, info = self.env.step(self.actions)
        infos = [{} for _ in range(self.num_envs)]
        for k in np.flatnonzero(ended | cut):
            infos[k] = {"terminal_observation": info["final_obs"][k], "TimeLimit.truncated": bool(cut[k])}
        return seen, reward, ended | cut, infos

    def close(self):
        pass

    def get_attr(self, name, indices=None):
        return [getattr(self.env, name, None)] * self.num_envs

    def set_attr(self, name, value, indices=None):
        raise AttributeError(name)

    def env_method(self, name, *arguments, indices=None, **named):
        raise AttributeError(name)

    def env_is_wrapped(self, wrapper, indices=None):
        return [False] * self.num_envs


if __name__ == "__main__":
    task, actions = sys.argv[1], int(sys.argv[2])
    env = VecMonitor(Lanes(task, 64))
    env.seed(1)
    learner = PPO(
        "MlpPolicy", env, n_steps=64, batch_size=1024, n_epochs=8, learning_rate=1e-3, seed=1, verbose=1
    )
    learner.learn(actions)
    learner.save(task)
    shown = kt.gym.MechanismEnv(task, record=True)
    seen, over = shown.reset(seed=7)[0], False
    while not over:
        action, _ = learner.predict(seen, deterministic=True)
        seen, _, ended, cut, _ = shown.step(action)
        over = ended or cut
    shown.recorded().save(
        f"{task}.nc", force=True
    )  # kinetree show, kinetree report, kinetree export ... .mp4
