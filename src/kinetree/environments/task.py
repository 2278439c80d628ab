"""A task for learning: a robot, what it senses and does, how episodes begin and end, what is good."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinetree.algebra.arrays import Array
from kinetree.environments.actions import Action, Torques
from kinetree.environments.moment import Moment
from kinetree.environments.senses import JointPositions, JointVelocities, Sense
from kinetree.errors import InputError, expect, must_be, unknown_name
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.simulation.ground import Ground
from kinetree.state import coordinates

Of = Callable[[Moment], NDArray[Any]]
Draw = Callable[[np.random.Generator, int], ArrayLike]


USUAL = Torques()


@dataclass(frozen=True)
class LearningTask:
    """What gymnasium calls an environment, for many episodes at once.

    ``reward(moment)`` returns (b,) numbers for b episodes, ``ends(moment)`` (b,) truth values: the robot has
    fallen, say. Every action lasts ``hold`` steps of ``dt`` (s), and after ``limit`` actions an episode is
    truncated. Episodes begin at ``home`` (n_dof,), at rest, with uniform deviations up to ``spread`` (one
    number or (n_dof,)) in positions and ``spread_rates`` in rates. ``goal(random, b)`` draws numbers (b, m)
    for each episode. ``restitution`` is that of contacts.
    """

    mechanism: Mechanism
    reward: Of
    observe: Sequence[Sense] = (JointPositions(), JointVelocities())
    act: Action = USUAL
    ends: Of | None = None
    home: ArrayLike | None = None
    spread: ArrayLike = 0.0
    spread_rates: ArrayLike = 0.0
    goal: Draw | None = None
    ground: Ground | None = None
    dt: float = 0.005
    hold: int = 4
    limit: int = 500
    restitution: float = 0.0

    def __post_init__(self) -> None:
        expect_mechanism(self.mechanism)
        expect(self.act, Action, "act", "an Action such as Torques()")
        if isinstance(self.observe, Sense) or not isinstance(self.observe, Sequence) or not self.observe:
            raise InputError(must_be("observe", "a list of senses such as JointPositions()", self.observe))
        for sense in self.observe:
            expect(sense, Sense, "observe", "a list of senses such as JointPositions()")
        for name in ("hold", "limit"):
            x = getattr(self, name)
            if type(x) is not int or x < 1:
                raise InputError(must_be(name, "an integer of at least 1", x))
        for name, of in (("reward", "a moment"), ("ends", "a moment"), ("goal", "(random, b)")):
            given = getattr(self, name)
            if not callable(given) and (given is not None or name == "reward"):
                raise InputError(must_be(name, f"a function of {of}", given))
        self.act.scales(self.mechanism)
        for name in ("home", "spread", "spread_rates"):
            values = self.row(name)
            if name != "home" and (values < 0.0).any():
                raise InputError(must_be(name, ">= 0", values.min(), "g"))

    def row(self, name: str) -> Array:
        """``home``, ``spread`` or ``spread_rates`` as (n_dof,)."""
        given, n = getattr(self, name), self.mechanism.n_dof
        values = 0.0 if given is None else given
        found = coordinates(self.mechanism, np.full(n, values) if np.ndim(values) == 0 else values, name)
        if found.shape != (n,):
            raise InputError(f"{name} must have shape ({n},), got {found.shape}")
        return found

    def changed(self, **settings: Any) -> LearningTask:
        """The task with other settings."""
        for name in settings:
            if name not in self.__dataclass_fields__:
                raise InputError(unknown_name("setting", name, self.__dataclass_fields__).after("task: "))
        return replace(self, **settings)
