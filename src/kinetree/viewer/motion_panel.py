"""Playing the motion of a result: start, stop, speed, any time, with its forces as arrows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.report.arrows import force_arrows
from kinetree.report.frames import frames, motion_names, positions
from kinetree.result.result import Result
from kinetree.viewer.stage import Stage
from kinetree.viewer.subject import FAR, level_places, travel
from kinetree.viewer.words import paragraph, short, table

RATE = 30.0  # pictures per second
PLOT_EVERY = 0.2  # s
SPEEDS = {"1/20": 0.05, "1/10": 0.1, "1/4": 0.25, "1/2": 0.5, "1": 1.0, "2": 2.0, "4": 4.0}
MOST_FRAMES = 4000
LONGEST_ARROW = 0.4  # of the mechanism's size
KINDS = {"contact": "Contact forces", "reaction": "Joint reactions"}


class MotionPanel:
    """The controls of a result's motion; ``shown(t)`` is called whenever another time is shown."""

    def __init__(
        self, gui: Any, result: Result, stage: Stage, lock: Any, shown: Callable[[float], None]
    ) -> None:
        self.result, self._stage, self._lock, self._shown = result, stage, lock, shown
        self._silent, self._stop = False, threading.Event()
        self._thread: threading.Thread | None = None
        self._turn = threading.RLock()  # play and pause come from several threads
        names = motion_names(result)
        self._load(0)
        self._followed: Array = self._level[0]
        self.t = float(self.frames.time[0])
        begin, end = float(result.time.values[0]), float(result.time.values[-1])
        span = end - begin if end > begin else 1.0
        self.play_button = gui.add_button("Play", icon="player-play", disabled=not end > begin)
        self.time = gui.add_slider(
            "Time (s)", begin, begin + span, span / 2000, begin, disabled=not end > begin
        )
        self.speed = gui.add_dropdown("Speed", tuple(SPEEDS), initial_value="1")
        self.repeat = gui.add_checkbox("Repeat", True)
        travels = travel(self.frames, stage.scene) > FAR * stage.size
        self.follow = gui.add_checkbox("Follow", travels, visible=not stage.scene.grounded)
        self.motion = gui.add_dropdown("Motion", names, visible=len(names) > 1)
        self.arrows = {
            kind: gui.add_checkbox(
                label, kind == "contact", visible=any(x.kind == kind for x in self._forces)
            )
            for kind, label in KINDS.items()
        }
        self.readout = gui.add_html("")
        gui.add_html(_described(result))
        self.play_button.on_click(lambda event: self.toggle())
        self.time.on_update(lambda event: None if self._silent else self.show(float(self.time.value)))
        self.motion.on_update(lambda event: self._choose())
        for box in (self.follow, *self.arrows.values()):
            box.on_update(lambda event: self.show(self.t))

    def _load(self, motion: int) -> None:
        self.frames = frames(self.result, motion, most=MOST_FRAMES)
        self.q: Array = positions(self.result, motion)[self.frames.rows]
        self._level = level_places(self.frames, self._stage.scene)
        self._forces = force_arrows(self.frames, LONGEST_ARROW * self._stage.size)

    def _choose(self) -> None:
        with self._lock:
            names = motion_names(self.result)
            if self.motion.value in names:  # a page may send anything
                self._load(names.index(self.motion.value))
                self.show(self.t)

    def look_back(self) -> None:
        """Look at where the motion begins again."""
        self._go_along(0)

    def _go_along(self, k: int) -> None:
        """Let the view go as far as the mechanism has moved since it went along last."""
        if self.follow.value:
            self._stage.shift_view(self._level[k] - self._followed)
            self._followed = self._level[k]

    @property
    def pose(self) -> Array:
        """The positions q (n_dof,) that are shown."""
        pose: Array = self.q[self._frame(self.t)]
        return pose

    def _frame(self, t: float) -> int:
        return int(np.abs(self.frames.time - t).argmin())

    def show(self, t: float) -> None:
        """Show the frame nearest to a time (s)."""
        with self._lock:
            self.t = float(np.clip(t, self.frames.time[0], self.frames.time[-1]))
            k, motion = self._frame(self.t), self.frames
            with self._stage.server.atomic():  # what goes along must not tremble
                self._stage.pose(motion.position[k], motion.quaternion[k], motion.center_of_mass[k])
                self._go_along(k)
            for x in self._forces:
                if self.arrows[x.kind].value:
                    self._stage.arrows(x.kind, x.at[k], x.vector[k], x.color)
                else:
                    self._stage.hide_arrows(x.kind)
            self._tell(k)
        self._shown(self.t)

    def _tell(self, k: int) -> None:
        """The values of a frame."""
        rows = [("time", f"{self.frames.time[k]:.3f} s")]
        energies = {
            name: float(self.result[name].values[self.frames.rows[k]])
            for name in ("kinetic_energy", "potential_energy", "energy_error")
            if name in self.result and self.result[name].dims == ("time",)
        }
        if {"kinetic_energy", "potential_energy"} <= energies.keys():
            energies["total_energy"] = energies["kinetic_energy"] + energies.pop("potential_energy")
        rows += [(name.replace("_", " "), f"{value:.5g} J") for name, value in energies.items()]
        for x in self._forces:
            if x.per_newton > 0.0 and self.arrows[x.kind].value:
                rows.append((f"0.1 m of arrow ({x.kind})", f"{0.1 / x.per_newton:.4g} N"))
        self.readout.content = table(("now", ""), rows)

    # ---- playing --------------------------------------------------------------------------------------

    @property
    def playing(self) -> bool:
        """Whether time runs."""
        return self._thread is not None and self._thread.is_alive() and not self._stop.is_set()

    def toggle(self) -> None:
        """Play or pause."""
        if self.playing:
            self.pause()
        else:
            self.play()

    def play(self) -> None:
        """Let time run, from the beginning if it is at the end."""
        with self._turn:
            self.pause()
            if self.t >= float(self.frames.time[-1]) - 1e-9:
                self._move(float(self.frames.time[0]))
            self._stop = threading.Event()
            self._thread = threading.Thread(target=self._run, args=(self._stop,), daemon=True)
            self.play_button.label, self.play_button.icon = "Pause", "player-pause"
            self._thread.start()

    def pause(self) -> None:
        """Stop time."""
        with self._turn:
            self._stop.set()
            thread = self._thread
            if thread is not None and thread is not threading.current_thread():
                thread.join(timeout=2.0)
            self.play_button.label, self.play_button.icon = "Play", "player-play"

    def _run(self, stop: threading.Event) -> None:
        last = perf_counter()
        while not stop.wait(1.0 / RATE):
            now = perf_counter()
            t, last = self.t + SPEEDS.get(self.speed.value, 1.0) * (now - last), now
            end = float(self.frames.time[-1])
            if t >= end and not self.repeat.value:
                self._move(end)
                stop.set()
                self.play_button.label, self.play_button.icon = "Play", "player-play"
                return
            self._move(t if t < end else float(self.frames.time[0]))

    def _move(self, t: float) -> None:
        """Show a time and put the slider there."""
        self.show(t)
        self._silent = True
        try:
            self.time.value = self.t
        finally:
            self._silent = False


def _described(result: Result) -> str:
    """How the result came out, as HTML."""
    lines = [f"{result.task} of '{short(result.mechanism.name)}', {len(result.time)} samples"]
    if not result.complete:
        lines.append(f"ended early at {result.stopped_at:g} s: {result.stop_reason}")
    checks = [f"{'✓' if check.passed else '✗'} {name} {check}" for name, check in result.audit.items()]
    bad = not result.passed
    return paragraph("\n".join(lines), alert=not result.complete) + paragraph("\n".join(checks), alert=bad)
