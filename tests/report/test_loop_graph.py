"""Pictures of mechanisms as graphs: every body once, every joint a line, cut joints dashed."""

import pytest

import kinetree as kt
from kinetree.report.loop_graph import graph_of


@pytest.mark.parametrize("name", ["robotic_leg", "stewart", "gripper"])
def test_every_body_and_joint_is_drawn_once(name):
    mechanism = kt.zoo.by_name(name)
    figure = graph_of(mechanism)
    figure.canvas.draw()
    ax = figure.axes[0]
    dashed = [line for line in ax.lines if line.get_linestyle() == "--"]
    assert len(dashed) == len(mechanism.loops)
    assert len(ax.lines) - len(dashed) == mechanism.n_bodies
    names = {"world", *mechanism.body_names}
    bodies = {text.get_text(): text.get_position() for text in ax.texts if text.get_text() in names}
    assert bodies.keys() == names
    assert len(set(bodies.values())) == len(names)
    written = [text.get_text() for text in ax.texts]
    for joint in (*(x.joint.name for x in mechanism.links), *(x.name for x in mechanism.loops)):
        assert joint in written


def test_cut_joints_end_at_the_bodies_they_tie():
    mechanism = kt.zoo.four_bar()
    ax = graph_of(mechanism).axes[0]
    at = {text.get_text(): text.get_position() for text in ax.texts}
    (cut,) = (line for line in ax.lines if line.get_linestyle() == "--")
    ends = {tuple(point) for point in cut.get_xydata()[[0, -1]]}
    assert ends == {at["coupler"], at["crank"]}
