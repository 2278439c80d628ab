"""Bodies that are pulled with the mouse while a simulation runs, asked of the panel."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

import kinetree as kt
from kinetree.viewer.pushed import moved_inertia


def opened(shown, **options):
    return kt.view(shown, port=0, open_browser=False, wait=False, **options)


def waited(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def drag(page, body, phase, start, end):
    """What the mouse does to a body."""
    page.live._dragged(body, SimpleNamespace(phase=phase, start_position=start, end_position=end))


@pytest.fixture(scope="module")
def arm_page():
    with opened("two_link") as page:
        yield page


def test_a_dragged_body_follows_the_mouse_and_comes_back(arm_page):
    page = arm_page
    page.live.start()
    assert waited(lambda: page.live.simulation.t > 0.05)
    tip = kt.forward_kinematics(page.subject.mechanism, page.pose.q).position[1]
    target = tip + np.array([0.0, 0.3, 0.0])
    drag(page, 1, "start", tip, tip)
    drag(page, 1, "update", tip, target)
    assert waited(lambda: page.live.simulation.pulled is not None)
    assert waited(
        lambda: page.live.simulation.grip is not None and page.live.simulation.grip[1] > tip[1] + 0.03
    )
    assert waited(lambda: page.stage._arrows["pull"].visible)
    drag(page, 1, "end", tip, target)
    assert waited(lambda: page.live.simulation.pulled is None)
    assert waited(lambda: not page.stage._arrows["pull"].visible)
    page.live.pause()
    shown = np.array([frame.position for frame in page.stage._bodies])
    np.testing.assert_allclose(
        shown, kt.forward_kinematics(page.subject.mechanism, page.pose.q).position, atol=1e-9
    )
    page.live.reset()
    np.testing.assert_allclose(page.pose.q, [0.0, 0.0], atol=1e-12)


def test_what_a_page_sends_is_checked(arm_page):
    page = arm_page
    page.live.start()
    for bad in ((np.nan, 0, 0), (1e9, 0, 0)):
        drag(page, 0, "start", (0, 0, 0), bad)
        assert page.live._grab is None
    page.live.law.value = "by the page"
    assert waited(lambda: page.live.simulation is not None)
    page.live.law.value = "hold the pose"
    page.live.forget()


def test_moving_a_slider_ends_it(arm_page):
    page = arm_page
    page.live.start()
    assert page.live.running
    page.pose.sliders[0].value = 0.4
    assert not page.live.running and page.live.simulation is None
    assert page.pose.q[0] == pytest.approx(0.4)
    page.live.start()
    assert page.live.simulation._start[0][0] == pytest.approx(0.4)
    page.open("gripper")
    assert not page.live.running


def test_a_given_controller_and_ground_are_used():
    robot = kt.zoo.quadruped()
    calls = []

    def law(t, q, qd):
        calls.append(t)
        return np.zeros(18)

    ground = kt.Ground(origin=(0, 0, -0.1))
    with opened(robot, controller=law, ground=ground) as page:
        page.live.start()
        assert waited(lambda: calls and max(calls) > 0.02)
        assert page.live.simulation.ground is ground
        page.live.pause()


def test_a_walker_that_holds_its_pose_stands():
    robot = kt.zoo.quadruped()
    with opened(robot) as page:
        live = page._prepared()
        height = live.q[2]
        live.advance(1.0)
        assert live.q[2] == pytest.approx(height, abs=0.02)
        inertia = moved_inertia(robot, live.q)
        assert (inertia[6:] > np.diagonal(kt.mass_matrix(robot, live.q))[6:]).all()


def test_what_has_nothing_to_stand_on_says_so():
    build = kt.Builder("brick")
    build.world.free("base").body("brick", kt.Inertia.box(2.0, (0.1, 0.2, 0.4)))
    with opened(build.build()) as page:
        page.live.start()
        page.live.pause()
        assert "no contact points" in page.message.content


def test_a_robot_that_sinks_into_the_ground_ends_the_push():
    """A rod on one contact point tips over: the rest of it cannot lie on the ground."""
    build = kt.Builder("rod")
    rod = build.world.free("base").body("rod", kt.Inertia.rod(2.0, end=(0, 0, 1.0)))
    rod.contact("foot", at=(0, 0, 0))
    with opened(build.build()) as page:
        page.pose.sliders[4].value = 0.5  # tilted
        page.live.start()
        assert waited(lambda: "below the ground" in page.message.content)
        assert not page.live.running
        live = page.live.simulation
        assert kt.center_of_mass(live.mechanism, live.q)[2] < 0.0
        page.live.reset()
        assert page.pose.q[4] == pytest.approx(0.5)
