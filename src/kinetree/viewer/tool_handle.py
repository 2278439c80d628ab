"""A handle in the scene that is dragged: the joints follow by inverse kinematics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.inverse_kinematics import inverse_kinematics
from kinetree.analysis.kinematics import Poses
from kinetree.analysis.targets import Target
from kinetree.errors import KinetreeError
from kinetree.model.mechanism import Mechanism

NONE = "off"
SIZE = 0.16  # of the handle, beside the mechanism
ITERATIONS, CLOSE = 30, 1e-5  # of a solution while the handle is dragged; m
FARTHEST = 1e3  # sizes of the mechanism from its origin; a page may send anything


class ToolHandle:
    """A choice of a body, and a handle at its origin; ``pose()`` is the pose, ``found(q)`` takes another.

    A free base stays where it is. Where the handle cannot be reached, the joints go as near as they can.
    """

    def __init__(
        self,
        server: Any,
        mechanism: Mechanism,
        size: float,
        pose: Callable[[], Array],
        found: Callable[[Array], None],
        root: str,
    ) -> None:
        self._mechanism, self._size, self._pose, self._found = mechanism, size, pose, found
        self._held = [link.joint.name for link in mechanism.links if link.joint.is_free]
        self.body = server.gui.add_dropdown(
            "Drag a body", (NONE, *reversed(mechanism.body_names)), initial_value=NONE,
            hint="Shows a handle at the body's origin; the joints follow it", visible=mechanism.n_dof > 0,
        )  # fmt: skip
        self.handle = server.scene.add_transform_controls(
            f"{root}/handle", scale=SIZE * size, disable_rotations=True, visible=False
        )
        self.body.on_update(lambda event: self._choose())
        self.handle.on_update(lambda event: self.drag(np.array(self.handle.position, dtype=np.float64)))

    @property
    def wanted(self) -> bool:
        """Whether the handle is shown."""
        return self.body.value in self._mechanism.body_names  # a page may send anything

    def _choose(self) -> None:
        self.handle.visible = self.wanted
        if self.wanted:
            self._found(self._pose())

    def follow(self, poses: Poses) -> None:
        """Put the handle where its body is."""
        if self.wanted:
            index = self._mechanism.body_index(str(self.body.value))
            self.handle.position = tuple(poses.position[index].tolist())

    def drag(self, place: Array) -> None:
        """Move the joints so that the body's origin is at a place (3,), or as near as it can be."""
        if not self.wanted or not np.isfinite(place).all() or np.abs(place).max() > FARTHEST * self._size:
            return
        try:
            answer = inverse_kinematics(
                self._mechanism,
                Target(str(self.body.value), place),
                self._pose(),
                frozen=self._held,
                tolerance=CLOSE,
                max_iterations=ITERATIONS,
                restarts=0,
            )
        except KinetreeError:  # such as a loop that cannot be closed there
            return
        self._found(np.asarray(answer.q, dtype=np.float64))
