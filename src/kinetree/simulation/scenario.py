"""What every way to run a simulation shares: mechanism, law, surroundings, options and verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kinetree.algebra.arrays import Array
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.simulation.ground import Ground
from kinetree.simulation.judge import Judge
from kinetree.simulation.loops import check_closed
from kinetree.simulation.settings import Options, Settings, Trigger, read_options, read_settings
from kinetree.simulation.setup import Surroundings, new_system, surroundings
from kinetree.simulation.system import System
from kinetree.simulation.torque import Law, check_prescribed, read_law
from kinetree.verdicts.margins import Verdicts, read_verdicts


@dataclass(frozen=True, eq=False)
class Scenario:
    """A mechanism, the law that drives it, what it meets, how it is integrated and what it is judged by."""

    mechanism: Mechanism
    law: Law
    around: Surroundings
    options: Options
    margins: Verdicts

    @classmethod
    def read(
        cls,
        function: Callable[..., Any],
        mechanism: Mechanism,
        duration: float,
        *,
        torque: Any = None,
        controller: Any = None,
        ground: Ground | None = None,
        settings: Settings | None = None,
        keywords: Mapping[str, Any] | None = None,
        gimbal: str = "error",
        stop_at: Sequence[str] | str = (),
    ) -> Scenario:
        """The scenario in the arguments of a ``function``, whose keywords go before its settings."""
        expect_mechanism(mechanism)
        given = read_settings(function, settings, keywords or {})
        options = read_options(given, duration, gimbal, stop_at)
        law = read_law(mechanism, torque, controller)
        around = surroundings(ground, given.loads, given.stops, options.duration)
        return cls(mechanism, law, around, options, read_verdicts(given.verdicts))

    @property
    def breaks(self) -> tuple[float, ...]:
        """Times (s) at which steps have to end."""
        return self.around.breaks(self.law)

    @property
    def judge(self) -> Judge:
        """The judge of its motions."""
        return Judge(self.margins, self.law, self.around, self.mechanism)

    def check_start(self, q0: Array, qd0: Array) -> None:
        """Raise unless loops are closed at starts (..., n_dof) and prescribed joints begin as they should."""
        check_prescribed(self.mechanism, self.law, q0, qd0, self.options.duration)
        check_closed(self.mechanism, q0, qd0, self.options.baumgarte)

    def system(self, events: Sequence[Trigger] = (), lanes: int = 1, varied: bool = False) -> System:
        """The right-hand side for integrators; ``varied`` if its numbers differ from lane to lane."""
        return new_system(self.mechanism, self.law, self.around, self.options, events, lanes, varied)

    def in_coordinates(self, mechanism: Mechanism, law: Law, events: Sequence[Trigger]) -> System:
        """The right-hand side for the mechanism in other coordinates."""
        return replace(self, mechanism=mechanism, law=law).system(events)
