"""Motions of tools in study files: the same as in Python, and what is wrong with them by name."""

from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt

HEAD = """
[study]
task = "inverse"

[mechanism]
zoo = "kuka_kr5"

[[mechanism.frame]]
name = "tool"
body = "link6"
at = [0, 0, 0.1]

[trajectory]
tool = "tool"
start = [0.0, 0.5, -0.6, 0.3, 0.8, 0.0]
"""
START = np.array([0.0, 0.5, -0.6, 0.3, 0.8, 0.0])


def arm():
    return kt.zoo.kuka_kr5().with_frame("tool", "link6", (0, 0, 0.1))


def ran(tmp_path, text):
    path = tmp_path / "study.toml"
    path.write_text(HEAD + text)
    return kt.run(path)


def test_line_in_a_study(tmp_path):
    result = ran(tmp_path, 'kind = "tool_line"\nby = [0, 0.2, 0.05]\nduration = 1.5\n')
    line = kt.trajectories.tool_line(arm(), "tool", by=(0, 0.2, 0.05), duration=1.5, q0=START)
    motion = line.at(result.time.values)
    assert np.allclose(result.q.values, motion.q, atol=1e-11)
    assert np.allclose(
        result.tau.values, kt.inverse_dynamics(arm(), motion.q, motion.qd, motion.qdd), atol=1e-9
    )


def test_circle_and_curve_in_a_study(tmp_path):
    x = kt.forward_kinematics(arm(), START)["tool"][1]
    center = [float(x[0]), float(x[1]) + 0.1, float(x[2])]
    found = ran(
        tmp_path,
        f'kind = "tool_circle"\ncenter = {center}\nturns = 0.5\nspeed = 0.2\nacceleration = 1.0\n'
        'orientation = "turn"\n',
    )
    end = kt.forward_kinematics(found.mechanism, found.q.values[-1])["tool"][1]
    assert np.allclose(end, x + np.array([0, 0.2, 0]), atol=1e-9)
    rows = (x + np.array([[0, 0.1, 0.1], [0, 0.2, 0.0]])).tolist()
    found = ran(
        tmp_path,
        f'kind = "tool_through"\npoints = {rows}\nduration = 2\norientation = ["180 deg", -0.9, 0]\n',
    )
    R, p = kt.forward_kinematics(found.mechanism, found.q.values[-1])["tool"]
    assert np.allclose(p, rows[-1], atol=1e-9)
    assert np.allclose(R, kt.Placement.at(rpy=(np.pi, -0.9, 0)).rotation, atol=1e-9)


def test_fastest_timings_in_a_study(tmp_path):
    text = HEAD.replace('zoo = "kuka_kr5"', 'file = "arm.toml"')
    robot = kt.zoo.kuka_kr5()
    limited = [
        replace(x, joint=replace(x.joint, effort_limit=np.array([200.0]), velocity_limit=np.array([2.5])))
        for x in robot.links
    ]
    robot = replace(robot, links=tuple(limited))
    kt.save(robot, tmp_path / "arm.toml")
    path = tmp_path / "study.toml"
    path.write_text(text + 'kind = "tool_line"\nby = [0, 0.3, 0.05]\ntiming = "fastest"\n')
    found = kt.run(path)
    robot = robot.with_frame("tool", "link6", (0, 0, 0.1))
    with pytest.warns(kt.KinetreeWarning, match="velocity limit"):
        line = kt.trajectories.tool_line(robot, "tool", by=(0, 0.3, 0.05), duration=0.1, q0=START)
    fast = kt.fastest_timing(robot, line)
    assert found.time.values[-1] == pytest.approx(fast.duration, rel=1e-9)
    assert np.abs(found.qd.values).max() < 2.5 * (1 + 1e-6)
    head = text.replace('tool = "tool"\nstart = [0.0, 0.5, -0.6, 0.3, 0.8, 0.0]\n', "")
    points = [START.tolist(), (START + 0.3).tolist(), np.add(START, [0.6, 0.1, 0, 0, 0, 0]).tolist()]
    path.write_text(head + f'kind = "fastest"\npoints = {points}\nacceleration = 20.0\n')
    found = kt.run(path)
    assert np.abs(found.qdd.values).max() == pytest.approx(20.0, rel=1e-2)
    path.write_text(text + 'kind = "tool_line"\nby = [0, 0.3, 0]\ntiming = "fastest"\nduration = 1\n')
    with pytest.raises(kt.KinetreeError, match="remove the key 'duration'"):
        kt.run(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('kind = "tool_line"\nby = [0, 2.0, 0]\nduration = 1', "joint"),
        ('kind = "tool_line"\nby = [0, 0.1, 0]', "duration"),
        ('kind = "tool_line"\nby = [0, 0.1, 0]\nduration = 1\nradius = 2', "no key 'radius'"),
        ('kind = "tool_line"\nby = [0, 0.1, 0]\nduration = 1\ntiming = "swift"', "swift"),
        ('kind = "tool_line"\nby = [0, 0.1, 0]\nduration = 1\norientation = "upright"', "upright"),
        ('kind = "tool_line"\nby = [0, 0.1, 0]\nduration = 1\norientation = [0, 1]', "orientation"),
        ('kind = "tool_line"\nby = [0, 0.1, 0]\nspeed = 0.1', "acceleration"),
        ('kind = "tool_circle"\nduration = 1', "center"),
        ('kind = "tool_through"\nduration = 1', "points"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, words):
    with pytest.raises(kt.KinetreeError, match=words) as caught:
        ran(tmp_path, text + "\n")
    assert "study.toml" in str(caught.value)
