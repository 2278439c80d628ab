"""Makes the pictures of the README: ``python docs/make_images.py``; make_stability.py makes that one."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from kinetree.model import zoo
from kinetree.model.mechanism import Mechanism
from kinetree.report.draw import draw
from kinetree.report.output import picture_bytes, write_file
from kinetree.report.plots import demo_figure
from kinetree.study.demo import run_demo

IMAGES = Path(__file__).parent / "images"
COLUMNS = 4
THREE_RRR = (
    1.0471975511966, -0.865071873193253, 3.7334035421686, 1.31275707423612, 2.96258012121735,
    4.18879020478639, 5.75958653158129,
)  # fmt: skip
ROBOTIC_LEG = (
    0.0, -0.927295218001612, 1.85459043600322, -0.56484024826748, -2.11764727749084, -2.11764727749084,
    5.25923993108063,
)  # fmt: skip
POSES: dict[str, Any] = {
    "kuka_kr5": {"joint1": 0.3, "joint2": 1.2, "joint3": -0.3, "joint4": 0.2, "joint5": 0.5},
    "three_rrr": THREE_RRR,
    "robotic_leg": ROBOTIC_LEG,
    "hexapod": {
        **{f"hip{leg}": -0.4 for leg in (1, 4, 5)},
        **{f"knee{leg}": 0.8 for leg in (1, 4, 5)},
        **{f"hip{leg}": 0.15 for leg in (2, 3, 6)},
        **{f"knee{leg}": 0.2 for leg in (2, 3, 6)},
    },
    "quadruped": {
        **{f"hip{leg}.ry": -0.5 for leg in (1, 4)},
        **{f"knee{leg}": 0.9 for leg in (1, 4)},
        **{f"hip{leg}.ry": 0.1 for leg in (2, 3)},
        **{f"knee{leg}": 0.3 for leg in (2, 3)},
    },
    "spatial_biped": {"hip1.ry": -0.5, "knee1": 0.6, "hip2.ry": 0.2, "knee2": 0.3, "ankle1.ry": -0.1},
    "gripper": {"joint1": 0.5, "joint2": 0.5, "joint3": 0.6, "joint4": 1.5},
    "humanoid": {
        "left_hip.ry": -0.4, "left_knee.ry": 0.3, "right_hip.ry": 0.3, "right_knee.ry": 0.3,
        "left_shoulder.ry": 0.4, "right_shoulder.ry": -0.4, "left_elbow.ry": -0.4, "right_elbow.ry": -0.5,
    },
}  # fmt: skip


def main() -> None:
    """Write demo.png and zoo.png."""
    write_file(IMAGES / "demo.png", picture_bytes(demo_figure(run_demo())))
    write_file(IMAGES / "zoo.png", picture_bytes(gallery()))


def gallery() -> Figure:
    """Eight mechanisms of the zoo side by side."""
    rows = -(-len(POSES) // COLUMNS)
    figure = Figure(figsize=(10.0, 10.0 / COLUMNS * rows * 1.08))
    for k, (name, given) in enumerate(POSES.items()):
        row, column = divmod(k, COLUMNS)
        box = (column / COLUMNS, 1 - (row + 1) / rows, 1 / COLUMNS, 0.92 / rows)
        mechanism = zoo.by_name(name)
        draw(mechanism, pose(mechanism, given), figure.add_axes(box, projection="3d"), legend=False)
    return figure


def pose(mechanism: Mechanism, given: Any) -> Any:
    """The coordinates from their names; those not named are zero."""
    if not isinstance(given, dict):
        return given
    q = np.zeros(mechanism.n_dof)
    for joint, value in given.items():
        q[mechanism.joint_index(joint)] = value
    return q


if __name__ == "__main__":
    main()
