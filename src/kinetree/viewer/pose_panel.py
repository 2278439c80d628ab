"""Sliders for the joints of a mechanism, and what gravity does to it in the pose they make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.energy import center_of_mass, potential_energy
from kinetree.analysis.inverse import gravity_torque
from kinetree.errors import InputError
from kinetree.model.mechanism import Mechanism
from kinetree.report.skeleton import gaps, shown_state, skeleton
from kinetree.simulation.standing import can_stand, standing
from kinetree.state import independent_axes
from kinetree.viewer.standing import rest
from kinetree.viewer.words import fixed, paragraph, point, short, table

MANY, IN_FOLDER = 14, 8  # joints from which on their sliders are in several folders, so many in each
STEPS = 400  # at least, from end to end of a slider
SLIDERS = "set by the sliders"  # the state that none of the model's is
FARTHER = 1.5  # than a pose without limits, a slider goes
ROUNDING = 1e-12  # a torque below this part of the largest is none


class Travel(NamedTuple):
    """From where to where the sliders of all coordinates go (n_dof,), and whether each turns."""

    lower: Array
    upper: Array
    turns: np.ndarray


def travel(mechanism: Mechanism, size: float) -> Travel:
    """The joints' limits; without any, half a turn to both sides, or the mechanism's size (m).

    >>> import kinetree as kt
    >>> travel(kt.zoo.two_link_prismatic(), 1.5).upper.round(3).tolist()
    [1.5, 3.142]
    """
    turns = np.asarray(mechanism.tree.turns[independent_axes(mechanism)], dtype=bool)
    free = np.where(turns, np.pi, size)
    lower, upper = _limits(mechanism)
    low = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 2 * free, -free))
    high = np.where(np.isfinite(upper), upper, np.where(np.isfinite(lower), lower + 2 * free, free))
    return Travel(low, high, turns)


def reaching(mechanism: Mechanism, known: Travel, q: Array) -> Travel:
    """The same with sliding coordinates without limits half as far again as a pose q (n_dof,) beyond it."""
    least, most = _limits(mechanism)
    slides, wide = ~known.turns, FARTHER * np.abs(q)
    lower = np.where(slides & np.isinf(least) & (q < known.lower), -wide, known.lower)
    upper = np.where(slides & np.isinf(most) & (q > known.upper), wide, known.upper)
    return Travel(lower, upper, known.turns)


def _limits(mechanism: Mechanism) -> tuple[Array, Array]:
    """The joints' lower and upper limits (n_dof,), infinite where there are none."""
    joints = [link.joint for link in mechanism.links if link.joint.mimic is None]
    lower = np.concatenate([np.zeros(0), *(joint.lower for joint in joints)])
    return lower, np.concatenate([np.zeros(0), *(joint.upper for joint in joints)])


class PosePanel:
    """The sliders; ``moved`` is called whenever the user has changed the pose."""

    def __init__(
        self, gui: Any, readout: Any, mechanism: Mechanism, size: float, moved: Callable[[], None]
    ) -> None:
        """``readout`` is where the values of a pose are written."""
        self.mechanism, self.readout = mechanism, readout
        self.travel = travel(mechanism, size)
        if can_stand(mechanism):
            self.travel = reaching(mechanism, self.travel, rest(mechanism))
        self._moved, self._silent = moved, False
        self.reset_button = gui.add_button("Reset pose", icon="refresh")
        self.reset_button.on_click(lambda event: self.reset())
        names = tuple(mechanism.states)
        self.state = None
        if names:
            self.state = gui.add_dropdown(
                "State", (SLIDERS, *names), initial_value=shown_state(mechanism),
                hint="Named poses of the model",
            )  # fmt: skip
            self.state.on_update(lambda event: self._take_state())
        self.stand_button = gui.add_button(
            "Put on the ground", icon="arrow-bar-to-down", visible=can_stand(mechanism)
        )
        self.stand_button.on_click(lambda event: self.stand())
        self.sliders: list[Any] = []
        self._folders: list[tuple[Any, str, range]] = []
        self.find = gui.add_text(
            "Find a joint", "", visible=mechanism.n_dof > IN_FOLDER,
            hint="Parts of a joint name, separated by spaces; only matching sliders are shown",
        )  # fmt: skip
        self.find.on_update(lambda event: self._search())
        self._nothing = gui.add_html("", visible=False)
        groups = range(0, mechanism.n_dof, IN_FOLDER if mechanism.n_dof > MANY else max(1, mechanism.n_dof))
        for start in groups:
            stop = mechanism.n_dof if len(groups) == 1 else min(start + IN_FOLDER, mechanism.n_dof)
            named = "Joints" if len(groups) == 1 else f"Joints {start + 1} to {stop} of {mechanism.n_dof}"
            folder = gui.add_folder(named, expand_by_default=start == 0)
            with folder:
                self.sliders += [self._slider(gui, k) for k in range(start, stop)]
            self._folders.append((folder, named, range(start, stop)))

    def _slider(self, gui: Any, k: int) -> Any:
        lower, upper = float(self.travel.lower[k]), float(self.travel.upper[k])
        locked = not upper > lower
        end = lower + 1.0 if locked else upper
        span = end - lower
        step = 10.0 ** np.floor(np.log10(span / STEPS))
        unit = "rad" if self.travel.turns[k] else "m"
        start = float(np.clip(0.0, lower, upper))
        slider = gui.add_slider(
            f"{short(self.mechanism.joint_names[k])} ({unit})",
            lower,
            end,
            step,
            start,
            disabled=locked,
            marks=((lower, f"{lower:.3g}"), (end, f"{end:.3g}")),
        )
        slider.on_update(lambda event: self._changed())
        return slider

    def _search(self) -> None:
        """Show the sliders whose joints have every part of the text in their names; folders are open then."""
        asked = str(self.find.value)
        parts = asked.casefold().split()
        names = [name.casefold() for name in self.mechanism.joint_names]
        found = [all(part in name for part in parts) for name in names]
        for slider, wanted in zip(self.sliders, found, strict=True):
            if slider.visible != wanted:
                slider.visible = wanted
        for folder, named, members in self._folders:
            folder.visible = any(found[k] for k in members)
            folder.label = None if parts else named  # a folder without a label cannot be closed
        self._nothing.visible = not any(found)
        if not any(found):
            self._nothing.content = paragraph(f"No joint has '{short(asked)}' in its name.", faint=True)

    def _changed(self) -> None:
        if not self._silent:
            self._forget_state()
            self._moved()

    def _forget_state(self) -> None:
        """The pose is no longer that of a state."""
        if self.state is not None and self.state.value != SLIDERS:
            self._silent = True
            self.state.value = SLIDERS
            self._silent = False

    @property
    def q(self) -> Array:
        """The pose (n_dof,) of the sliders, within their ends whatever a page sent."""
        values = np.array([float(slider.value) for slider in self.sliders])
        safe = np.where(np.isfinite(values), values, 0.0)
        pose: Array = np.clip(safe, self.travel.lower, self.travel.upper)
        return pose

    def put(self, q: Array) -> None:
        """Move the sliders to a pose as far as joints have limits, without telling."""
        self._silent = True
        try:
            self._widen(q)
            for slider, value in zip(
                self.sliders, np.clip(q, self.travel.lower, self.travel.upper), strict=True
            ):
                slider.value = float(value)
        finally:
            self._silent = False

    def _widen(self, q: Array) -> None:
        """Let sliders that end at no limit go as far as a pose needs."""
        before, self.travel = self.travel, reaching(self.mechanism, self.travel, q)
        lower, upper = self.travel.lower, self.travel.upper
        for k in np.flatnonzero((before.lower != lower) | (before.upper != upper)):
            self.sliders[k].min, self.sliders[k].max = float(lower[k]), float(upper[k])

    def reset(self) -> None:
        """Back to the state 'home', or to the allowed pose nearest to zero, on the ground if it can stand."""
        self.put(rest(self.mechanism))
        self._moved()

    def _take_state(self) -> None:
        """To the pose of the state that is chosen."""
        chosen = SLIDERS if self.state is None else str(self.state.value)
        if chosen in self.mechanism.states and not self._silent:
            self.put(self.mechanism.states[chosen].q)
            self._moved()

    def stand(self) -> None:
        """The same pose with the lowest contact point on the ground."""
        self.put(standing(self.mechanism, self.q))
        self._moved()

    def tell(self, q: Array, mechanism: Mechanism | None = None) -> None:
        """Write what holds the pose q against gravity, its energy and its center of mass."""
        mechanism = self.mechanism if mechanism is None else mechanism  # the same, maybe in other gravity
        units = [("rad", "N m") if turns else ("m", "N") for turns in self.travel.turns]
        rows = [
            (name, f"{fixed(value)} {unit}", f"{hold:.4g} {effort}" if hold is not None else "unknown")
            for name, value, hold, (unit, effort) in zip(
                mechanism.joint_names, q, _holding(mechanism, q), units, strict=True
            )
        ]
        self.readout.content = table(("mechanism", "", ""), _whole(mechanism, q)) + table(
            ("joint", "position", "effort against gravity"), rows
        )


def _holding(mechanism: Mechanism, q: Array) -> list[float | None]:
    """What each joint gives against gravity; None where a loop is open, or drives cannot hold it."""
    try:
        torque = gravity_torque(mechanism, q)
    except InputError:
        return [None] * mechanism.n_dof
    held = np.where(np.abs(torque) > ROUNDING * np.abs(torque).max(initial=0.0), torque, 0.0)
    return [float(x) for x in held]


def _whole(mechanism: Mechanism, q: Array) -> list[tuple[str, str, str]]:
    """Facts of the mechanism as a whole."""
    center = point(center_of_mass(mechanism, q))
    rows = [
        ("mass", f"{mechanism.mass:.4g} kg", ""),
        ("potential energy", f"{float(potential_energy(mechanism.opened(), q)):.5g} J", ""),
        ("center of mass", center, ""),
    ]
    if mechanism.loops:
        open_by = gaps(skeleton(mechanism, q))
        rows += [(f"loop {name}", f"open by {1e3 * gap:.3g} mm", "") for name, gap in open_by.items()]
    return rows
