"""The integrations of one simulation: a stiff one goes on with another method, and all look like one."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.integrate.integration import EventRecord, Integration, IntegrationStatus
from kinetree.simulation.settings import AUTO, Options
from kinetree.simulation.stiffness import is_stiff
from kinetree.simulation.system import System

PATIENCE = 200  # steps before the first look at stiffness; twice as many before every other


class Continued(Integration):
    """An integration that goes on where another one is; torques held since the last sample stay."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._set(pending_sample=0)
        self._first = self._bytes.copy()


class SwitchingIntegration:
    """An integration with a method that may change; see :class:`Integration` for what it can be asked.

    ``continued(method, t, y, times)`` makes the integration that takes over.
    """

    def __init__(self, integration: Integration, method: str, options: Options, continued: Any) -> None:
        self.method, self.options, self.messages = method, options, list[str]()
        self._continued, self._now = continued, integration
        self._before: list[Integration] = []
        self._looked_at, self._patience = (0, integration.t), PATIENCE

    # ---- like an integration ----------------------------------------------------------------------------
    def advance(self, max_steps: int) -> IntegrationStatus:
        """Take up to that many steps, but not past the next look at stiffness."""
        if self._is_watched:
            max_steps = max(1, min(max_steps, self._patience - self._steps_since_look()))
        return self._now.advance(max_steps)

    def flush(self) -> None:
        """Hand the latest steps over to the trace."""
        self._now.flush()

    def restart(self, y: Array | None = None, context: Array | None = None) -> None:
        """Go on from another state; outputs already written stay."""
        self._now.restart(y=y, context=context)

    @property
    def t(self) -> float:
        """The present time."""
        return self._now.t

    @property
    def y(self) -> Array:
        """The present state (lanes, size), a copy."""
        return self._now.y

    @property
    def times(self) -> Array:
        """All times of the output."""
        if not self._before:
            return self._now.times
        return np.concatenate([*(x.times[: x.n_out] for x in self._before), self._now.times])

    @property
    def out(self) -> Array:
        """The states at the times, (times, lanes, size); the first n_out are written."""
        if not self._before:
            return self._now.out
        return np.concatenate([*(x.out[: x.n_out] for x in self._before), self._now.out])

    @property
    def n_out(self) -> int:
        """How many of the times have been reached."""
        return sum(x.n_out for x in (*self._before, self._now))

    @property
    def event_log(self) -> list[EventRecord]:
        """All that happened."""
        return [happening for x in (*self._before, self._now) for happening in x.event_log]

    @property
    def cuts(self) -> int:
        """How many steps were ended by events."""
        return sum(x.cuts for x in (*self._before, self._now))

    @property
    def busiest_event(self) -> int:
        """The event since which the state has moved least."""
        return self._now.busiest_event

    @property
    def statistics(self) -> dict[str, int]:
        """Sums over all methods."""
        every = [x.statistics for x in (*self._before, self._now)]
        return {name: sum(one[name] for one in every) for name in every[0]}

    # ---- stiffness ----------------------------------------------------------------------------------------
    @property
    def _is_watched(self) -> bool:
        return self.options.method == AUTO and self.method != "radau"

    def _steps_since_look(self) -> int:
        return self._now.statistics["steps"] - self._looked_at[0]

    def consider(self, system: System) -> None:
        """Change to radau if the steps since the last look were short for stability's sake alone."""
        if not self._is_watched:
            return
        count, t = self._steps_since_look(), self._now.t
        if count < self._patience:
            return
        mean = (t - self._looked_at[1]) / count
        self._looked_at, self._patience = (self._now.statistics["steps"], t), 2 * self._patience
        if is_stiff(system, self.options, self.method, t, self._now.y[0], mean):
            self.messages.append(
                f"the system is stiff: from t = {t:.6g} s on, method '{self.method}' took steps of "
                f"{mean:.2g} s only for stability, so the simulation continued with 'radau'"
            )
            self.change("radau", system)

    def change(self, method: str, system: System) -> None:
        """Go on with another method from here."""
        before = self._now
        before.flush()
        self._before.append(before)
        self.method = method
        self._now = self._continued(method, before.t, before.y, before.times[before.n_out :])
        self._now.restart(context=system.context.memory)
