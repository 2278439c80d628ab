"""The page: a mechanism moved by sliders, the motion of a result, simulations, and what to open next."""

from __future__ import annotations

import sys
import threading
import webbrowser
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from traceback import print_exc
from typing import Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.rotation_vector import quaternion
from kinetree.analysis.energy import center_of_mass
from kinetree.analysis.kinematics import forward_kinematics
from kinetree.errors import KinetreeError
from kinetree.report.frames import floor_plane, ground_plane, motion_names
from kinetree.report.scene import Scene, scene
from kinetree.report.skeleton import skeleton
from kinetree.result.result import Result
from kinetree.simulation.ground import Ground
from kinetree.simulation.live import LiveSimulation
from kinetree.viewer.address import page_address
from kinetree.viewer.files_panel import OpenPanel, SavePanel
from kinetree.viewer.gate import WORD
from kinetree.viewer.live_panel import LivePanel
from kinetree.viewer.motion_panel import PLOT_EVERY, MotionPanel
from kinetree.viewer.plot_panel import PlotPanel
from kinetree.viewer.pose_panel import PosePanel
from kinetree.viewer.pushed import FALLS, LAWS, falls_freely, pushed
from kinetree.viewer.run_panel import Given, RunPanel, first_laws, ground_of
from kinetree.viewer.server import start_server, stop_server
from kinetree.viewer.stage import Stage
from kinetree.viewer.subject import Subject, first_pose, places, subject_of
from kinetree.viewer.tool_handle import ToolHandle
from kinetree.viewer.words import paragraph

PLOT_WIDTH = 420  # pixels
TABLE_WIDTH = 380
FEW = 3  # sliders that have room above the table of values
FIELD = np.radians(40.0)  # of view, from the top to the bottom of the picture
AIR = 1.3  # the picture's height beside that of what it shows
FROM = (0.55, -0.85, 0.42)  # to the eye, beside up: across, along and up


class Camera(NamedTuple):
    """Where the eye is, what it looks at and what is up, each (3,)."""

    position: Array
    look_at: Array
    up: Array


def camera(scene: Scene, low: Array, high: Array) -> Camera:
    """The view that shows all between two corners (3,): along the normal if planar, else from the front."""
    middle = 0.5 * (low + high)
    radius = max(0.5 * float(np.linalg.norm(high - low)), 1e-3)
    distance = AIR * radius / np.tan(FIELD / 2.0)
    if scene.normal is not None:
        up = scene.up if abs(scene.up @ scene.normal) < 0.5 else np.roll(scene.normal, -1)
        towards = _facing(scene.normal)
    else:
        up = scene.up
        across, along = _level(up)
        towards = FROM[0] * across + FROM[1] * along + FROM[2] * up
    return Camera(middle + distance * towards / np.linalg.norm(towards), middle, up)


def _facing(normal: Array) -> Array:
    """The side of a plane that is looked at: x to the right where that can be."""
    along = int(np.argmax(np.abs(normal)))
    return -np.abs(normal) if along == 1 else np.abs(normal)


def _level(up: Array) -> tuple[Array, Array]:
    """Two level directions: x to the right and y away where up is z."""
    right = np.eye(3)[0] if abs(up[0]) < 0.9 else np.eye(3)[1]
    right = right - (right @ up) * up
    right = right / np.linalg.norm(right)
    return right, np.cross(up, right)


class Viewer:
    """A page that is being served; made by :func:`view`.

    ``url`` is its address. Its panels are ``pose``, ``motion`` (None without a result), ``simulation``,
    ``live``, ``opening`` and ``plots``.
    """

    def __init__(
        self, server: Any, host: str, subject: Subject, *, public: bool = False, token: str = ""
    ) -> None:
        self.server, self.url = server, page_address(host, server.get_port())
        if token:
            self.url += f"/?{WORD}={token}"
        self._public, self._lock, self._closed = public, threading.RLock(), threading.Event()
        self._containers: dict[str, Any] = {}
        self._plotted, self._count = 0.0, 0
        self.motion: MotionPanel | None = None
        self.plots: PlotPanel | None = None
        gui = server.gui
        gui.main_panel.dock_right()
        self.message = gui.add_html("")
        tabs = gui.add_tab_group()
        names = {
            "pose": "Pose", "motion": "Motion", "simulation": "Simulate", "live": "Push", "opening": "Open",
        }  # fmt: skip
        if subject.result is not None:  # the first tab is the one that is open
            names = {"motion": names["motion"]} | names
        self._places = {key: tabs.add_tab(name) for key, name in names.items()}
        self._beside: Any = None
        self._table = gui.add_panel()
        with self._table.add_tab("Values", "table"):
            self.values = gui.add_html("")
        with self._places["opening"]:
            self.opening = OpenPanel(gui, lambda text: self._attempt(lambda: self.open(text)), public=public)
        self.show(subject)

    # ---- what is shown ----------------------------------------------------------------------------------

    def open(self, text: str) -> None:
        """Show a file or a mechanism of the zoo."""
        self.show(subject_of(text))
        self.tell("")
        self.play()

    def play(self) -> None:
        """Let the motion of a result run, if there is one."""
        if self.motion is not None and len(self.motion.frames.time) > 1:
            self.motion.play()

    def show(self, subject: Subject) -> None:
        """Show another mechanism, with its motion if there is one."""
        found = scene(subject.mechanism, subject.meshes)
        first = skeleton(subject.mechanism, first_pose(subject), found.looks)
        points = np.concatenate([first.points, first.corners])
        self._rest()
        with self._lock, self.server.atomic():
            if self._count:
                self.simulation.cancel()
                self.motion = None  # of the stage that goes
                self.stage.remove()
            self.subject = subject
            self._count += 1
            self.stage: Stage = Stage(self.server, found, found.size, f"/mechanism{self._count}")
            self._low = 0.0 if found.grounded else float((points @ found.up).min())
            self._look(np.concatenate([points, places(subject, found)]))
            with self._fresh("pose"):
                gui = self.server.gui
                self.names = gui.add_checkbox("Joint names", False)
                self.names.on_update(lambda event: self.stage.labels(bool(self.names.value)))
                self.see_through = gui.add_checkbox("Transparent bodies", subject.result is not None)
                self.see_through.on_update(lambda event: self._show_inside())
                self.handle = ToolHandle(
                    self.server,
                    subject.mechanism,
                    found.size,
                    lambda: self.pose.q,
                    self._dragged,
                    self.stage.root,
                )
                self.pose = PosePanel(gui, self.values, subject.mechanism, found.size, self._moved)
            with self._fresh("simulation"):
                self.simulation: RunPanel = RunPanel(
                    self.server.gui,
                    subject.mechanism,
                    lambda: self.pose.q,
                    lambda result: self._simulated(result, subject),
                    lambda text: self._complain(text) if self.subject is subject else None,
                    Given(subject.controller, subject.ground),
                )
            with self._fresh("live"):
                self.live: LivePanel = LivePanel(
                    self.server.gui,
                    self.stage,
                    self._lock,
                    (*first_laws(subject.mechanism, self.simulation.given), *LAWS),
                    self._prepared,
                    self._begin_live,
                    lambda q: self.pose.tell(q),
                    self._come_to_rest,
                    lambda text: self._complain(text) if self.subject is subject else None,
                )
            self._show_inside()
            self.pose.put(first_pose(subject))
        self.show_result(subject.result)

    def show_result(self, result: Result | None) -> None:
        """Show the motion of a result of the mechanism that is shown; None: only its pose."""
        self._rest()
        gui = self.server.gui
        with self._lock:
            self.stage.hide_arrows()
            moving = result is not None and bool(motion_names(result))
            with self._fresh("motion"):
                self.motion, self.plots = None, None
                if result is None:
                    gui.add_html(paragraph("Run a simulation, or open a result (.nc).", faint=True))
                elif moving:
                    self.motion = MotionPanel(gui, result, self.stage, self._lock, self._time_shown)
                    self.take_pose = gui.add_button("Copy the pose to the sliders", icon="adjustments")
                    self.take_pose.on_click(lambda event: self._take_pose())
                else:
                    gui.add_html(paragraph(f"The {result.task} result has no motion to play.", faint=True))
                if result is not None:
                    self.saving = SavePanel(gui, result, self.tell, self._attempt, public=self._public)
            self._plot(result)
            shown = self.motion.frames.ground if self.motion else None
            self.stage.ground(shown or floor_plane(self.subject.mechanism), self._low)
            self.stage.obstacles(self.motion.frames.obstacles if self.motion else ())
        if self.motion is not None:
            self.motion.show(self.motion.t)
        else:
            self._moved()

    def _plot(self, result: Result | None) -> None:
        """The plots of a result in a panel of their own."""
        if self._beside is not None:
            self._beside.remove()
            self._beside = None
        if result is None or not any("time" in result[name].dims for name in result.variables):
            if self.subject.mechanism.n_dof > FEW:  # their sliders need the whole height on the right
                self._table.dock_left()
                self._table.set_width(TABLE_WIDTH)
            else:
                self._table.dock_below(self.server.gui.main_panel)
            return
        self._beside = self.server.gui.add_panel()
        with self._beside.add_tab("Plots", "chart-line"):
            self.plots = PlotPanel(self.server.gui, result)
        self._beside.dock_left()
        self._beside.set_width(PLOT_WIDTH)
        self._table.dock_below(self.server.gui.main_panel)

    def _look(self, points: Array) -> None:
        """Put the eyes of all pages where they see these points."""
        view = camera(self.stage.scene, points.min(axis=0), points.max(axis=0))
        up, position, middle = (tuple(x.tolist()) for x in (view.up, view.position, view.look_at))
        self.server.scene.set_up_direction(up)
        first = self.server.initial_camera
        first.up, first.fov, first.position, first.look_at = up, FIELD, position, middle
        for client in self.server.get_clients().values():
            eye = client.camera
            eye.up_direction, eye.fov, eye.position, eye.look_at = up, FIELD, position, middle

    def _fresh(self, key: str) -> Any:
        """An empty container in one of the tabs, in place of the one before."""
        if key in self._containers:
            self._containers[key].remove()
        with self._places[key]:
            self._containers[key] = self.server.gui.add_folder(None)
        return self._containers[key]

    # ---- what happens -----------------------------------------------------------------------------------

    def _moved(self) -> None:
        """A slider was moved: show the pose, and what gravity does to it."""
        self.live.forget()
        if self.motion is not None and self.motion.playing:
            self.motion.pause()
        self._draw(self.pose.q)

    def _draw(self, q: Array) -> None:
        """Show a pose (n_dof,), and what gravity does to it."""
        with self._lock:
            mechanism = self.subject.mechanism
            poses = forward_kinematics(mechanism, q)
            self.stage.hide_arrows()
            self.stage.pose(poses.position, quaternion(poses.rotation), center_of_mass(mechanism, q))
            self.handle.follow(poses)
            self.pose.tell(q)

    def _dragged(self, q: Array) -> None:
        """The handle asks for a pose (n_dof,)."""
        self.pose.put(q)
        self._moved()

    def _prepared(self) -> LiveSimulation:
        """The simulation to be pulled at, as the tab Simulate has it, from the pose of the sliders."""
        panel = self.simulation
        return pushed(
            self.subject.mechanism, self.pose.q, panel.request, str(self.live.law.value), panel.given
        )

    def _begin_live(self) -> None:
        """A simulation is about to run: nothing else moves, and the ground is where it will be."""
        if self.motion is not None:
            if self.live.simulation is None:
                self.pose.put(self.motion.pose)
            self.motion.pause()
        self.tell(FALLS if falls_freely(self.subject.mechanism) else "")
        self.stage.hide_arrows()
        ground = ground_of(self.subject.mechanism, self.simulation.request, self.simulation.given)
        stated = {} if ground is None else {"ground": ground.settings(self.subject.mechanism)}
        self.stage.ground(ground_plane(stated) or floor_plane(self.subject.mechanism), self._low)

    def _come_to_rest(self, q: Array) -> None:
        """A simulation has stopped at a pose (n_dof,): the sliders and the scene show it."""
        self.pose.put(q)
        self._draw(q)

    def _show_inside(self) -> None:
        self.stage.see_through(bool(self.see_through.value))

    def _take_pose(self) -> None:
        """The pose of the motion becomes that of the sliders."""
        if self.motion is not None:
            self.motion.pause()
            self.pose.put(self.motion.pose)
            self._moved()

    def _time_shown(self, t: float) -> None:
        """The scene shows another time of the motion: so do plots and values, less often while it plays."""
        now = perf_counter()
        if self.motion is None or (self.motion.playing and now - self._plotted < PLOT_EVERY):
            return
        self._plotted = now
        self.pose.tell(self.motion.pose, self.motion.result.mechanism)
        if self.plots is not None:
            self.plots.show_time(t)

    def _simulated(self, result: Result, subject: Subject) -> None:
        """A simulation has ended; if another mechanism is shown by now, it is dropped."""
        if self.subject is not subject:
            return
        self._attempt(lambda: self.show_result(result))
        if not result.passed:
            self._complain("The simulation ended early or failed its audit; see the Motion tab.")
        elif self.motion is not None:
            self.tell("The simulation is done: see the Motion tab.")
            self.motion.play()

    def _attempt(self, action: Callable[[], None]) -> None:
        """Do something, and say on the page why it could not be done."""
        try:
            action()
        except KinetreeError as error:
            self._complain(str(error))
        except Exception as error:
            print_exc(file=sys.stderr)
            self._complain(f"unexpected error: {type(error).__name__}: {error}")

    def tell(self, text: str) -> None:
        """Write a line at the top of the page."""
        self.message.content = paragraph(text) if text else ""

    def _complain(self, text: str) -> None:
        self.message.content = paragraph(text, alert=True)

    # ---- the end ----------------------------------------------------------------------------------------

    def _rest(self) -> None:
        """End what runs in the background for the present mechanism's motion, and look at where it began."""
        if self._count:
            self.live.forget()
        if self.motion is not None:
            self.motion.pause()
            self.motion.look_back()

    def wait(self) -> None:
        """Serve the page until Ctrl-C or :meth:`close`."""
        try:
            while not self._closed.wait(0.5):
                pass
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """End the page; a simulation that runs is given up."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._rest()
        self.simulation.cancel(wait=2.0)
        stop_server(self.server)

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()


def view(
    shown: Any,
    host: str = "127.0.0.1",
    port: int = 8080,
    open_browser: bool = True,
    *,
    public: bool = False,
    wait: bool | None = None,
    play: bool = True,
    controller: Any = None,
    ground: Ground | None = None,
) -> Viewer:
    """Show a mechanism or a result on a page in the browser (needs the extra ``view``).

    ``shown``: a mechanism, a result, a prediction, the path of a file or a name of the zoo. The page has
    sliders for the joints with the torques that hold them against gravity, plays and plots results, runs
    simulations, and in its tab Push a live simulation in which bodies are pulled with the mouse; both use
    ``controller`` and ``ground``, as in :func:`kinetree.simulate`, if they are given. The page is served only
    to this machine; another ``host`` needs ``public=True``, and the page then neither reads nor writes files
    by path. ``port`` 0 takes any free one. ``wait``: serve until Ctrl-C; the default in scripts, while
    interactive sessions get the viewer at once; close it with ``close()``. ``play`` starts the motion of a
    result at once.

    >>> import kinetree as kt
    >>> with kt.view(kt.zoo.gripper(), port=0, open_browser=False, wait=False) as viewer:
    ...     viewer.pose.sliders[0].label
    'joint1 (rad)'
    """
    subject = subject_of(shown)
    if controller is not None or ground is not None:
        subject = replace(subject, controller=controller, ground=ground)
    server, gate = start_server(host, port, public=public)
    try:
        viewer = Viewer(server, host, subject, public=public, token=gate.token)
    except BaseException:
        stop_server(server)
        raise
    if play:
        viewer.play()
    if open_browser:
        webbrowser.open(viewer.url)
    if wait if wait is not None else not hasattr(sys, "ps1"):
        viewer.wait()
    return viewer
