"""Kinds of trajectories and controllers are declared once; events and loads that vary in studies."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import FileError, InputError
from kinetree.study.file import study_schema
from kinetree.study.kinds import CONTROLLERS, TRAJECTORIES
from kinetree.study.motion import MAKERS
from kinetree.study.run import run
from kinetree.study.tables import ControllerTable, TrajectoryTable

FALL = """
[study]
task = "simulate"
duration = 1.0
[mechanism]
zoo = "gripper"
[output]
samples = 11
"""
PUSH = """
[study]
task = "inverse"
[mechanism]
zoo = "gripper"
[trajectory]
kind = "hold"
start = 0.2
duration = 1.0
[output]
samples = 5
"""


HOLD = PUSH.replace('"inverse"', '"control"')
CART = """
[study]
task = "control"
[mechanism]
name = "cart_pole"
[[mechanism.body]]
name = "cart"
mass = 1.0
joint = { name = "slide", kind = "prismatic", axis = "x" }
[[mechanism.body]]
name = "pole"
parent = "cart"
mass = 0.3
center = [0, 0, -0.5]
joint = { name = "pivot", kind = "revolute", axis = "y", driven = false }
[initial]
q = [0.1, 3.3]
[trajectory]
kind = "hold"
start = { pivot = "180 deg" }
duration = 6.0
[output]
samples = 7
"""


def studied(tmp_path, text, **options):
    place = tmp_path / "study.toml"
    place.write_text(text)
    return run(place, **options)


@pytest.mark.parametrize(
    ("kinds", "table", "shared"),
    [(TRAJECTORIES, TrajectoryTable, {"kind", "independent"}), (CONTROLLERS, ControllerTable, {"kind"})],
)
def test_kinds_have_the_keys_of_their_table_and_no_others(kinds, table, shared):
    known = set(table.model_fields)
    said = {key for kind in kinds.values() for key in kind.keys}
    degrees = {f"{key}_degrees" for key in said if f"{key}_degrees" in known}
    assert said | degrees | shared == known
    rules = study_schema()["$defs"][table.__name__]["allOf"]
    needing = [rule["if"]["properties"]["kind"]["const"] for rule in rules]
    assert needing == [kind.name for kind in kinds.values() if kind.needs]


def test_every_kind_of_trajectory_can_be_made():
    assert set(MAKERS) == set(TRAJECTORIES)


def test_events_of_a_study_are_those_of_python(tmp_path):
    event = '[[event]]\nname = "low"\njoint = "joint1"\nposition = "-40 deg"\n'
    event += 'direction = "falling"\nstop = true\n'
    told = studied(tmp_path, FALL + event)
    low = kt.simulation.Trigger("low", lambda t, q, qd: q[0] + np.radians(40), -1, True)
    own = kt.simulate(kt.zoo.gripper(), np.zeros(4), duration=1.0, times=11, events=low, progress=False)
    assert told.stopped_at == own.stopped_at and told.stop_reason == own.stop_reason
    assert told.q.values[-1, 0] == pytest.approx(np.radians(-40), abs=1e-9)


def test_events_by_velocity_and_by_function(tmp_path):
    (tmp_path / "own.py").write_text("def low(t, q, qd):\n    return q[0] + 0.5\n")
    events = (
        '[[event]]\nname = "fast"\njoint = "joint1"\nvelocity = -1.0\n'
        '[[event]]\nname = "low"\nfunction = "own.py:low"\n'
    )
    told = studied(tmp_path, FALL + events, allow_code=["own.py"])
    assert {event.name for event in told.events} >= {"fast", "low"}


def test_loads_that_vary_in_inverse_studies(tmp_path):
    load = '[[load]]\nbody = "link4"\nforce = [[0, 0, 0], [1, 2, 0]]\ntimes = [0.5, 1.0]\n'
    arm = kt.zoo.gripper()
    told = studied(tmp_path, PUSH + load.replace("link4", arm.body_names[-1]))
    share = np.array([0, 0, 0, 0.5, 1.0])[:, None]
    push = kt.Wrench(arm.body_names[-1], force=share * [1.0, 2.0, 0.0])
    still = np.zeros((5, 4))
    assert np.allclose(told.tau.values, kt.inverse_dynamics(arm, still + 0.2, still, still, push), rtol=1e-12)


def test_loads_that_vary_in_simulations_are_those_of_python(tmp_path):
    arm = kt.zoo.gripper()
    load = '[[load]]\nbody = "link4"\nforce = [[0, 0, 0], [0.5, 0, 0], [0.5, 0, 0], [0, 0, 0]]\n'
    told = studied(tmp_path, FALL + load + "times = [0.1, 0.1, 0.3, 0.3]\nframe = 'body'\n")
    push = kt.Wrench("link4", force=[[0, 0, 0], [0.5, 0, 0], [0.5, 0, 0], [0, 0, 0]], frame="body")
    own = kt.simulate(arm, np.zeros(4), duration=1.0, times=11, loads=([0.1, 0.1, 0.3, 0.3], push))
    free = kt.simulate(arm, np.zeros(4), duration=1.0, times=11)
    assert told.passed and np.array_equal(told.q.values, own.q.values)
    assert np.abs(free.q.values[:2] - own.q.values[:2]).max() < 1e-8
    assert np.abs(free.q.values[3] - own.q.values[3]).max() > 0.01


def test_optimal_feedback_keeps_a_pole_upright(tmp_path):
    costs = "q_cost = { slide = 2.0, pivot = 10.0 }\nqd_cost = 0.1\ntau_cost = { slide = 0.1 }\n"
    told = studied(tmp_path, CART + f'[controller]\nkind = "lqr"\n{costs}')
    law = kt.control.LQR(told.mechanism, [0.0, np.pi], [2.0, 10.0], 0.1, 0.1)
    own = kt.simulate(told.mechanism, [0.1, 3.3], duration=6.0, controller=law, times=7)
    assert told.passed and np.abs(told.q.values - own.q.values).max() < 1e-5
    assert np.abs(told.q.values[-1] - [0.0, np.pi]).max() < 0.01
    assert not told.tau.sel(joint="pivot").values.any()


def test_a_bandwidth_is_kp_and_kd(tmp_path):
    arm, pose = kt.zoo.gripper(), np.full(4, 0.2)
    kp, kd = kt.control.gains(5.0, 0.8, arm, pose)
    for kind, p, d in (("pd", kp.tolist(), kd.tolist()), ("computed_torque", 25.0, 8.0)):
        law = f'[controller]\nkind = "{kind}"\n'
        loose = "[verdicts]\nfollowing = false\n"  # so slow a law lets the arm sag
        told = studied(tmp_path, HOLD + law + "bandwidth = 5.0\ndamping = 0.8\n" + loose)
        same = studied(tmp_path, HOLD + law + f"kp = {p}\nkd = {d}\n" + loose)
        assert np.array_equal(told.q.values, same.q.values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (FALL + '[[event]]\nname = "x"\njoint = "joint9"\nposition = 0.0\n', "unknown joint 'joint9'"),
        (
            FALL + '[[event]]\nname = "x"\njoint = "joint1"\n',
            "needs either a joint with a position or a velocity",
        ),
        (FALL + '[[event]]\nname = "x"\nfunction = "own.py:f"\n', "runs only if allowed"),
        (FALL + '[[event]]\nname = "x"\nposition = 1.0\n', "needs either a joint"),
        (FALL + '[[event]]\njoint = "joint1"\nposition = 1.0\n', "name"),
        (FALL + '[[event]]\nname = "x"\njoint = "joint1"\nposition = 1.0\ndirection = "up"\n', "'up'"),
        (FALL + '[[load]]\nbody = "link1"\nforce = [[0, 0, 0], [1, 0, 0]]\n', "varies needs 'times'"),
        (FALL + '[[load]]\nbody = "link1"\nforce = [[0, 0, 0], [1, 0, 0]]\ns = [0, 1]\n', "given by 'times'"),
        (FALL + '[[load]]\nbody = "link1"\nforce = [[0, 0, 0], [1, 0, 0]]\ntimes = [1, 0]\n', "that ascend"),
        (FALL + '[[load]]\nbody = "link1"\nforce = [[0, 0, 0]]\ntimes = [0, 1]\n', "1 rows for 2 instants"),
        (FALL + '[[load]]\nbody = "link1"\nforce = [1, 0, 0]\ntimes = [0, 1]\n', "needs a force or a moment"),
        (CART + '[controller]\nkind = "lqr"\nq_cost = { pivit = 1.0 }\n', "unknown joint 'pivit'"),
        (CART + '[controller]\nkind = "lqr"\ntau_cost = { pivot = 1.0 }\n', "unknown joint 'pivot'"),
        (CART + '[controller]\nkind = "lqr"\ntau_cost = 0.0\n', "tau_cost must be > 0, got 0"),
        (CART + '[controller]\nkind = "lqr"\nkp = 1.0\n', "'lqr' has no key 'kp'"),
        (CART.replace("180 deg", "20 deg") + '[controller]\nkind = "lqr"\n', "'pivot' has no drive, but the"),
        (HOLD + '[controller]\nkind = "pd"\n', "needs the key 'kp', or 'bandwidth' instead"),
        (HOLD + '[controller]\nkind = "pd"\nbandwidth = 5\nkp = 1\n', "either 'bandwidth' and 'damping', or"),
        (HOLD + '[controller]\nkind = "pd"\nkp = 5\ndamping = 1\n', "'damping' belongs to a 'bandwidth'"),
        (HOLD + '[controller]\nkind = "pd"\nbandwidth = -5\n', "bandwidth must be finite and >= 0, got -5"),
        (HOLD + '[controller]\nkind = "pd"\nbandwidth = "fast"\n', "bandwidth"),
        (PUSH.replace("start = 0.2\n", ""), "a trajectory of kind 'hold' needs the key 'start'"),
        (
            PUSH.replace("start = 0.2\n", "start = 0.2\nblend = 0.1\n"),
            "'hold' has no key 'blend'; it has start, ",
        ),
        (PUSH + '[[load]]\nbody = "link1"\nforce = [0, 0]\n', "load"),
        (
            PUSH + '[[event]]\nname = "x"\njoint = "joint1"\nposition = 1.0\n',
            r"\[event\] is for motions that are",
        ),
    ],
)
def test_bad_input(tmp_path, text, message):
    with pytest.raises((FileError, InputError), match=message):
        studied(tmp_path, text)
