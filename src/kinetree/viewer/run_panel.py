"""Simulations from the page: the mechanism is let go from the pose of the sliders, in the background."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.control.feedback import PD
from kinetree.control.model_actuators import ModelActuators
from kinetree.control.model_based import GravityCompensation
from kinetree.errors import InputError, KinetreeError, SimulationError, must_be, unknown_name
from kinetree.model.mechanism import Mechanism
from kinetree.result.result import Result
from kinetree.simulation.ground import Ground, firm_soil
from kinetree.simulation.simulate import simulate
from kinetree.viewer.words import paragraph

FREE, HOLD, HOLD_WITH_GRAVITY = "none", "hold the pose (PD)", "hold the pose (PD + gravity compensation)"
GIVEN, OWN = "the given controller", "the model's actuators"
LAWS = (FREE, HOLD, HOLD_WITH_GRAVITY)
SAMPLES_PER_SECOND, FEWEST, MOST = 100.0, 101, 4001
LONGEST = 1e4  # s
FRICTION = 0.7


@dataclass(frozen=True)
class Request:
    """What is to be simulated: duration (s), gravity (3,) in m/s^2, the law and its gains, the ground."""

    duration: float
    gravity: tuple[float, float, float]
    law: str = FREE
    kp: float = 100.0
    kd: float = 20.0
    ground: bool = False
    stiffness: float = 2000.0
    friction: float = 0.7
    reactions: bool = True


class Given(NamedTuple):
    """A controller and a ground that came with what is shown."""

    controller: Any = None
    ground: Ground | None = None


NONE_GIVEN = Given()


def run_request(
    mechanism: Mechanism,
    q0: Array,
    request: Request,
    progress: Callable[[float], None] | None = None,
    given: Given = NONE_GIVEN,
) -> Result:
    """The simulation from rest in the pose q0 (n_dof,); ``progress`` is called with the simulated time (s).

    >>> import kinetree as kt
    >>> fall = run_request(kt.zoo.gripper(), np.zeros(4), Request(0.1, (0.0, 0.0, 0.0)))
    >>> float(np.abs(fall.q.values).max())
    0.0
    """
    if not 0.0 < request.duration <= LONGEST:
        raise InputError(must_be("the duration", f"> 0 and at most {LONGEST:g} s", request.duration, "g"))
    samples = int(np.clip(round(request.duration * SAMPLES_PER_SECOND) + 1, FEWEST, MOST))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the audit shows it
        return simulate(
            mechanism.with_gravity(request.gravity),
            q0,
            duration=request.duration,
            controller=_law(mechanism, q0, request, given),
            ground=ground_of(mechanism, request, given),
            times=samples,
            rtol=1e-6,
            reactions=request.reactions,
            progress=progress if progress is not None else False,
        )


def first_laws(mechanism: Mechanism, given: Given) -> tuple[str, ...]:
    """What drives a mechanism by itself: a controller that came with it, its own actuators."""
    own = (OWN,) if mechanism.actuators else ()
    return own if given.controller is None else (GIVEN, *own)


def _law(mechanism: Mechanism, q0: Array, request: Request, given: Given) -> Any:
    """The controller that is asked for, or none."""
    known = (*first_laws(mechanism, given), *LAWS)
    if request.law not in known:
        raise InputError(unknown_name("law", request.law, known))
    if request.law == GIVEN:
        return given.controller
    if request.law == OWN:
        return ModelActuators.holding(mechanism, q0)
    if request.law == FREE:
        return None
    return (PD if request.law == HOLD else GravityCompensation)(q0, request.kp, request.kd)


def ground_of(mechanism: Mechanism, request: Request, given: Given) -> Ground | None:
    """The ground that is asked for, or none."""
    if not request.ground:
        return None
    if given.ground is not None:
        return given.ground
    soil = firm_soil(mechanism.with_gravity(request.gravity))
    return Ground.of(mechanism, replace(soil, stiffness=request.stiffness, friction=request.friction))


class RunPanel:
    """The inputs, the run in the background, its progress and its end.

    ``pose()`` gives the pose to begin with; ``finished(result)`` and ``failed(message)`` are called at the
    end, from another thread.
    """

    def __init__(
        self,
        gui: Any,
        mechanism: Mechanism,
        pose: Callable[[], Array],
        finished: Callable[[Result], None],
        failed: Callable[[str], None],
        given: Given = NONE_GIVEN,
    ) -> None:
        self.given = given
        self._mechanism, self._pose, self._finished, self._failed = mechanism, pose, finished, failed
        self._thread: threading.Thread | None = None
        self._cancelled = threading.Event()
        gui.add_html(paragraph("Starts at rest in the pose of the sliders.", faint=True))
        self.duration = gui.add_number("Duration (s)", 2.0, min=0.001, max=LONGEST, step=0.001)
        self.gravity = gui.add_vector3("Gravity (m/s²)", tuple(mechanism.gravity.tolist()), step=0.01)
        laws = (*first_laws(mechanism, given), *LAWS)
        self.law = gui.add_dropdown("Torque", laws, initial_value=laws[0])
        self.kp = gui.add_number("kp", 100.0, min=0.0, step=0.1, visible=False)
        self.kd = gui.add_number("kd", 20.0, min=0.0, step=0.1, visible=False)
        touching = bool(mechanism.contact_points)
        floor = mechanism.floor
        friction = FRICTION if floor is None else floor.friction
        level = "A level plane at height zero" if floor is None else "The floor of the model's scene"
        self.ground = gui.add_checkbox(
            "Ground", touching, disabled=not touching,
            hint=level if touching else "The mechanism has no contact points",
        )  # fmt: skip
        soil = touching and given.ground is None
        firm = float(f"{firm_soil(mechanism).stiffness:.2g}")
        self.stiffness = gui.add_number("Stiffness (N/m)", firm, min=1.0, step=1.0, visible=soil)
        self.friction = gui.add_number("Friction", friction, min=0.0, step=0.01, visible=soil)
        self.run_button = gui.add_button("Run", icon="player-play", color="green")
        self.cancel_button = gui.add_button("Cancel", icon="x", color="red", visible=False)
        self.bar = gui.add_progress_bar(0.0, visible=False, animated=True)
        self.status = gui.add_html("")
        self.law.on_update(lambda event: self._show_gains())
        self.ground.on_update(lambda event: self._show_soil())
        self.run_button.on_click(lambda event: self.start())
        self.cancel_button.on_click(lambda event: self.cancel())

    def _show_gains(self) -> None:
        self.kp.visible = self.kd.visible = self.law.value in (HOLD, HOLD_WITH_GRAVITY)

    def _show_soil(self) -> None:
        self.stiffness.visible = self.friction.visible = bool(self.ground.value) and self.given.ground is None

    @property
    def request(self) -> Request:
        """What the inputs say."""
        x, y, z = (float(v) for v in self.gravity.value)
        return Request(
            float(self.duration.value), (x, y, z), str(self.law.value), float(self.kp.value),
            float(self.kd.value), bool(self.ground.value), float(self.stiffness.value),
            float(self.friction.value),
        )  # fmt: skip

    @property
    def running(self) -> bool:
        """Whether a simulation is under way."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Begin a run unless one is under way."""
        if self.running:
            return
        self._cancelled = threading.Event()
        self._thread = threading.Thread(
            target=self._work, args=(self._pose(), self.request, self._cancelled), daemon=True
        )
        self.run_button.disabled, self.cancel_button.visible = True, True
        self.bar.value, self.bar.visible = 0.0, True
        self.status.content = paragraph("Preparing (the first run compiles the algorithms) …", faint=True)
        self._thread.start()

    def cancel(self, wait: float = 0.0) -> None:
        """End the run at the next occasion; what was computed is shown."""
        self._cancelled.set()
        if self._thread is not None and wait > 0.0:
            self._thread.join(timeout=wait)

    def _work(self, q0: Array, request: Request, cancelled: threading.Event) -> None:
        def progress(t: float) -> None:
            if cancelled.is_set():
                raise KeyboardInterrupt
            with suppress(RuntimeError):  # as in _end
                self.bar.value = float(np.clip(100.0 * t / request.duration, 0.0, 100.0))
                self.status.content = paragraph(f"t = {t:.3f} s of {request.duration:g} s", faint=True)

        try:
            result = run_request(self._mechanism, q0, request, progress, self.given)
        except SimulationError as error:
            self._end("")
            if error.result is not None:
                self._finished(error.result)
            self._failed(str(error))
        except KinetreeError as error:
            self._end("")
            self._failed(str(error))
        except KeyboardInterrupt:
            self._end("Canceled.")
        else:
            self._end("Done." if result.complete else f"Canceled at t = {result.stopped_at:.3f} s.")
            self._finished(result)

    def _end(self, text: str) -> None:
        with suppress(RuntimeError):  # the page may show something else by now, without this panel
            self.run_button.disabled, self.cancel_button.visible, self.bar.visible = False, False, False
            self.status.content = paragraph(text, faint=True) if text else ""
