"""The view goes along with what walks, flies or rolls away."""

import numpy as np

import kinetree as kt
from kinetree.report.frames import frames


def opened(shown):
    return kt.view(shown, port=0, open_browser=False, wait=False)


def gone(page):
    """How far (3,) the scene has been moved under the eyes of the pages, which stay where they are."""
    return -np.array(page.stage._whole.position)


def test_the_view_goes_along_with_what_travels():
    """It keeps its distance from the center of mass, heights apart, until that is turned off."""
    robot = kt.zoo.planar_biped()
    q0, qd0 = np.zeros((2, robot.n_dof))
    qd0[:2] = 5.0, 2.0
    flight = kt.simulate(robot, q0, qd0, duration=0.5, times=11)
    moved = frames(flight).center_of_mass - frames(flight).center_of_mass[0]
    moved[:, 1] = 0.0
    with opened(flight) as page:
        page.motion.pause()
        assert page.motion.follow.visible and page.motion.follow.value
        for k in (4, 10, 2):
            page.motion.time.value = float(flight.time.values[k])
            np.testing.assert_allclose(gone(page), moved[k], atol=1e-9)
        page.motion.follow.value = False
        page.motion.time.value = 0.5
        np.testing.assert_allclose(gone(page), moved[2], atol=1e-9)
        page.motion.follow.value = True
        np.testing.assert_allclose(gone(page), moved[10], atol=1e-9)
        page.show_result(None)
        np.testing.assert_allclose(gone(page), 0.0, atol=1e-9)


def test_the_view_does_not_drift_while_a_motion_repeats():
    """Pages report late where their eyes are; what goes along must not depend on it."""
    robot = kt.zoo.planar_biped()
    q0, qd0 = np.zeros((2, robot.n_dof))
    qd0[0] = 5.0
    flight = kt.simulate(robot, q0, qd0, duration=0.1, times=11)
    with opened(flight) as page:
        page.motion.pause()
        for _ in range(5):
            for t in (0.02, 0.06, 0.1):
                page.motion.show(t)
        page.motion.show(0.0)
        np.testing.assert_allclose(gone(page), 0.0, atol=1e-12)


def test_a_body_is_pulled_where_it_is_though_the_view_went_along():
    with opened("quadruped") as page:
        page.stage.shift_view(np.array([2.0, 0.0, 0.0]))
        event = type("Event", (), {"phase": "start", "start_position": (0, 0, 1), "end_position": (0, 1, 1)})
        page.live._dragged(0, event)
        np.testing.assert_allclose(page.live._grab.taken, [2.0, 0.0, 1.0])
        np.testing.assert_allclose(page.live._grab.target, [2.0, 1.0, 1.0])


def test_what_stands_is_not_followed():
    with opened(kt.simulate(kt.zoo.gripper(), [-1.0, 0, 0, 0], duration=0.1, times=3)) as page:
        assert not page.motion.follow.visible and not page.motion.follow.value
