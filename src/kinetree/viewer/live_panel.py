"""A simulation that runs while it is watched: bodies are pulled with the mouse."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.rotation_vector import quaternion
from kinetree.analysis.energy import center_of_mass
from kinetree.analysis.kinematics import Poses, forward_kinematics
from kinetree.errors import KinetreeError
from kinetree.report.palette import FORCE_COLOR, MODULE_COLORS
from kinetree.simulation.live import LiveSimulation
from kinetree.viewer.pushed import SUNK, sunk
from kinetree.viewer.stage import Stage
from kinetree.viewer.words import paragraph, table

RATE = 30.0  # pictures per second
PIECE = 1.0 / 120.0  # s that are simulated between two looks at the clock
BEHIND = 0.1  # s of simulated time that are dropped where the machine is too slow
TOLD_EVERY = 0.25  # s
STRENGTHS = {"gentle": 0.3, "normal": 1.0, "strong": 4.0}
LONGEST = 0.4  # of a contact force's arrow, beside the mechanism's size, where it is the weight
FARTHEST = 1e3  # sizes of the mechanism from its origin; a page may send anything
PULL_COLOR = MODULE_COLORS[5]
HOW = (
    "Press Start, then drag a body with the left mouse button: a spring pulls it. Drag the background to "
    "rotate the view. Set gravity and ground in the Simulate tab."
)


class Grab(NamedTuple):
    """The body that is dragged, where it was taken (3,) and where the mouse is (3,), in the world."""

    body: int
    taken: Array
    target: Array


class LivePanel:
    """Start, pause and reset of a simulation that runs while it is shown.

    ``prepared()`` makes the simulation from what the page asks for; ``begins()`` is called before it runs,
    ``shown(q)`` now and then with the pose (n_dof,), ``moved(q)`` when it comes to rest, ``failed(message)``
    where it cannot go on.
    """

    def __init__(
        self,
        gui: Any,
        stage: Stage,
        lock: Any,
        laws: Sequence[str],
        prepared: Callable[[], LiveSimulation],
        begins: Callable[[], None],
        shown: Callable[[Array], None],
        moved: Callable[[Array], None],
        failed: Callable[[str], None],
    ) -> None:
        self._stage, self._lock = stage, lock
        self._prepared, self._begins = prepared, begins
        self._shown, self._moved, self._failed = shown, moved, failed
        self.simulation: LiveSimulation | None = None
        self._thread: threading.Thread | None = None
        self._stop, self._turn = threading.Event(), threading.RLock()
        self._grab: Grab | None = None
        self._held: Grab | None = None  # whose spring is tied
        self._shift: Array | None = None
        gui.add_html(paragraph(HOW, faint=True))
        self.button = gui.add_button("Start", icon="player-play", color="green")
        self.reset_button = gui.add_button("Reset", icon="refresh")
        self.law = gui.add_dropdown("Torque", tuple(laws), initial_value=laws[0])
        self.strength = gui.add_dropdown("Pull strength", tuple(STRENGTHS), initial_value="normal")
        self.follow = gui.add_checkbox("Follow", not stage.scene.grounded, visible=not stage.scene.grounded)
        self.readout = gui.add_html("")
        self.button.on_click(lambda event: self.toggle())
        self.reset_button.on_click(lambda event: self.reset())
        self.law.on_update(lambda event: self._begin_again())

    @property
    def running(self) -> bool:
        """Whether time goes on."""
        return self._thread is not None and self._thread.is_alive() and not self._stop.is_set()

    def toggle(self) -> None:
        """Start or pause."""
        if self.running:
            self.pause()
        else:
            self.start()

    def start(self) -> None:
        """Go on, or begin from the pose of the sliders."""
        with self._turn:
            self.pause()
            self._begins()
            if self.simulation is None:
                try:
                    self.simulation = self._prepared()
                except KinetreeError as error:
                    self._failed(str(error))
                    return
                self._shift = None
            self._stop = threading.Event()
            self._thread = threading.Thread(target=self._run, args=(self._stop, self.simulation), daemon=True)
            self._label("Pause", "player-pause")
            self._stage.grab(self._dragged)
            self._thread.start()

    def pause(self) -> None:
        """Stop time; the pose goes to the sliders."""
        if self._halt() and self.simulation is not None:
            self._moved(self.simulation.q)

    def _halt(self) -> bool:
        """Stop time; whether it was running."""
        with self._turn:
            was_running = self.running
            self._stop.set()
            thread = self._thread
            if thread is not None and thread is not threading.current_thread():
                thread.join(timeout=2.0)
            if was_running:
                self._rest()
            return was_running

    def reset(self) -> None:
        """Back to where it began, at rest."""
        with self._turn:
            self.pause()
            if self.simulation is not None:
                self.simulation.reset()
                first, self.simulation = self.simulation.q, None
                self._moved(first)
            self.readout.content = ""

    def _begin_again(self) -> None:
        """Another law: from here on, at rest."""
        was_running = self.running
        self.pause()
        self.simulation = None
        if was_running:
            self.start()

    def forget(self) -> None:
        """Stop, and begin from the sliders next time: they were moved, or something else is shown."""
        self._halt()
        self.simulation = None

    def _rest(self) -> None:
        with suppress(RuntimeError):  # the page may show something else by now, without this panel
            self._grab = self._held = None
            self._stage.let_go()
            self._stage.hide_arrows()
            self._label("Start", "player-play")

    def _label(self, text: str, icon: str) -> None:
        self.button.label, self.button.icon = text, icon

    # ---- the mouse --------------------------------------------------------------------------------------

    def _dragged(self, body: int, event: Any) -> None:
        """The mouse has taken a body, moved, or let go."""
        if event.phase == "end":
            self._grab = None
            return
        taken, target = (np.array(x, dtype=np.float64) for x in (event.start_position, event.end_position))
        far = FARTHEST * self._stage.size
        if not np.isfinite([taken, target]).all() or max(np.abs(taken).max(), np.abs(target).max()) > far:
            return  # a page may send anything
        taken, target = taken + self._stage.shifted, target + self._stage.shifted
        known = self._grab
        if event.phase == "start" or known is None or known.body != body:
            self._grab = Grab(body, taken, target)
        else:
            self._grab = known._replace(target=target)

    def _tie(self, live: LiveSimulation) -> None:
        """Let the spring be where the mouse is."""
        grab, held = self._grab, self._held
        if grab is None:
            if held is not None:
                live.release()
        elif held is not None and held.body == grab.body and held.taken is grab.taken:
            live.move_target(grab.target)
        else:
            poses = forward_kinematics(live.mechanism, live.q)
            point = poses.rotation[grab.body].T @ (grab.taken - poses.position[grab.body])
            live.pull(live.mechanism.body_names[grab.body], point, grab.target)
            if live.pulled is not None:
                strength = STRENGTHS.get(str(self.strength.value), 1.0)
                k, c = live.pulled.stiffness * strength, live.pulled.damping * strength**0.5
                live.pulled = live.pulled._replace(stiffness=k, damping=c)
        self._held = grab

    # ---- going on ---------------------------------------------------------------------------------------

    def _run(self, stop: threading.Event, live: LiveSimulation) -> None:
        last, told, since, done = perf_counter(), 0.0, perf_counter(), 0.0
        try:
            while not stop.is_set():
                begin = perf_counter()
                due, last = min(begin - last, BEHIND), begin
                while due > 0.0 and perf_counter() - begin < BEHIND and not stop.is_set():
                    self._tie(live)
                    live.advance(min(due, PIECE))
                    due, done = due - PIECE, done + min(due, PIECE)
                self._show(live)
                if sunk(live):
                    stop.set()
                    self._rest()
                    self._failed(SUNK)
                now = perf_counter()
                if now - told > TOLD_EVERY:
                    self._tell(live, done / max(now - since, 1e-9))
                    told = since = now
                    done = 0.0
                stop.wait(max(0.0, 1.0 / RATE - (perf_counter() - begin)))
        except KinetreeError as error:
            stop.set()
            self.simulation = None
            self._rest()
            self._failed(str(error))
        except RuntimeError:  # the page shows something else by now
            stop.set()

    def _show(self, live: LiveSimulation) -> None:
        """Draw the present state, the pull and the forces of the ground."""
        stage, poses = self._stage, forward_kinematics(live.mechanism, live.q)
        center = center_of_mass(live.mechanism, live.q)
        with self._lock:
            stage.pose(poses.position, quaternion(poses.rotation), center)
            grip = live.grip
            if live.pulled is not None and grip is not None:
                stage.arrows("pull", grip[None], (live.pulled.target - grip)[None], PULL_COLOR)
            else:
                stage.hide_arrows("pull")
            self._show_contact(live, poses)
            if self.follow.value and self._held is None:
                level = center - (center @ stage.scene.up) * stage.scene.up
                if self._shift is not None:
                    stage.shift_view(level - self._shift)
                self._shift = level
            elif self._held is not None:
                self._shift = None

    def _show_contact(self, live: LiveSimulation, poses: Poses) -> None:
        forces = live.contact_forces
        weight = live.mechanism.mass * float(np.linalg.norm(live.mechanism.gravity))
        if not forces or weight == 0.0:
            return
        points = {point.name: point for point in live.mechanism.contact_points}
        at = []
        for name in forces:
            body = live.mechanism.body_index(points[name].body)
            at.append(poses.position[body] + poses.rotation[body] @ points[name].position)
        vector = LONGEST * self._stage.size / weight * np.array(list(forces.values()))
        self._stage.arrows("contact", np.array(at), vector, FORCE_COLOR)

    def _tell(self, live: LiveSimulation, speed: float) -> None:
        rows = [("time", f"{live.t:.2f} s"), ("speed", f"{min(speed, 1.0):.2f} of real time")]
        if live.pulled is not None:
            rows.append((f"pull at {live.pulled.body}", f"{np.linalg.norm(live.force):.3g} N"))
        self.readout.content = table(("now", ""), rows)
        self._shown(live.q)
