"""Results as tables of numbers that other programs read."""

from __future__ import annotations

import csv
from io import StringIO

import numpy as np

from kinetree.study.demo import Demo


def demo_csv(demo: Demo) -> str:
    """The demo as CSV: one row per time; each column is named with its unit."""
    joints = demo.mechanism.joint_names
    columns = [("time [s]", demo.time)]
    groups = [
        ("driven angle", "rad", demo.driven.q),
        ("driven velocity", "rad/s", demo.driven.qd),
        ("driven acceleration", "rad/s^2", demo.driven.qdd),
        ("driven torque", "N m", demo.torque),
        ("falling angle", "rad", demo.falling.q),
        ("falling velocity", "rad/s", demo.falling.qd),
    ]
    for quantity, unit, values in groups:
        columns += [(f"{quantity} {joint} [{unit}]", values[:, k]) for k, joint in enumerate(joints)]
    columns += [
        ("falling kinetic energy [J]", demo.kinetic),
        ("falling potential energy [J]", demo.potential),
    ]
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([name for name, _ in columns])
    writer.writerows([f"{x:.12g}" for x in row] for row in np.column_stack([x for _, x in columns]))
    return text.getvalue()
