"""Motions that go on for ever, in study files: splines that are must not be clamped, Gauss nodes by phase."""

import numpy as np
import pytest

from kinetree.errors import KinetreeError
from kinetree.study.run import run

STUDY = """
[study]
task = "predict"
duration = 1.0

[mechanism]
zoo = "two_link"

[predict]
objective = "terms"
torque_limits = "model"
segments = 8
clamped = false
gauss = { ends = [0.0, 0.4, 1.0], counts = [8, 12] }
sizes = { joint2 = 0.5 }

[[predict.squared_torque]]

[[predict.periodic]]
spline = true

[[predict.joint_limit]]
lower = { joint1 = -1.5 }
upper = { joint1 = 1.5 }
at = "points"

[[predict.boundary]]
at = 0.0
position = { joint1 = 0.5, joint2 = 0.3 }

[[predict.boundary]]
at = 0.5
position = { joint1 = 1.0 }
"""


def test_a_cycle_needs_neither_start_nor_end(tmp_path):
    file = tmp_path / "cycle.toml"
    file.write_text(STUDY)
    found = run(file)
    q, qd = (np.asarray(found[name].values) for name in ("q", "qd"))
    assert found.audit["solved"].passed
    assert np.allclose(q[0], q[-1], atol=1e-9) and np.allclose(qd[0], qd[-1], atol=1e-9)
    assert q[0] == pytest.approx([0.5, 0.3], abs=1e-6)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("counts = [8, 12]", "counts = [8]", "2 phases need as many counts"),
        ("clamped = false", "clamped = true", "must not be clamped"),
        ("joint2 = 0.5 }", "joint9 = 0.5 }", "joint9"),
    ],
)
def test_bad_cycles_are_refused(tmp_path, old, new, message):
    file = tmp_path / "cycle.toml"
    file.write_text(STUDY.replace(old, new, 1))
    with pytest.raises(KinetreeError, match=message):
        run(file)
