"""The eye of the viewer goes along with what walks, flies or rolls away."""

import numpy as np

import kinetree as kt
from kinetree.report.frames import frames


def opened(shown):
    return kt.view(shown, port=0, open_browser=False, wait=False)


class Eye:
    """The camera of a page that is open somewhere."""

    def __init__(self):
        self.camera, self.position = self, np.array([3.0, -4.0, 2.0])


def test_the_eye_goes_along_with_what_travels(monkeypatch):
    """It keeps its distance from the centre of mass, heights apart, until it is told not to."""
    robot = kt.zoo.planar_biped()
    q0, qd0 = np.zeros((2, robot.n_dof))
    qd0[:2] = 5.0, 2.0
    flight = kt.simulate(robot, q0, qd0, duration=0.5, times=11)
    moved = frames(flight).center_of_mass - frames(flight).center_of_mass[0]
    moved[:, 1] = 0.0
    with opened(flight) as page:
        eye = Eye()
        monkeypatch.setattr(page.server, "get_clients", lambda: {0: eye})
        before = eye.position
        assert page.motion.follow.visible and page.motion.follow.value
        for k in (4, 10, 2):
            page.motion.time.value = float(flight.time.values[k])
            np.testing.assert_allclose(eye.position - before, moved[k], atol=1e-9)
        page.motion.follow.value = False
        page.motion.time.value = 0.5
        np.testing.assert_allclose(eye.position - before, moved[2], atol=1e-9)
        page.motion.follow.value = True
        np.testing.assert_allclose(eye.position - before, moved[10], atol=1e-9)
        page.show_result(None)
        np.testing.assert_allclose(eye.position, before, atol=1e-9)


def test_what_stands_is_not_followed():
    with opened(kt.simulate(kt.zoo.gripper(), [-1.0, 0, 0, 0], duration=0.1, times=3)) as page:
        assert not page.motion.follow.visible and not page.motion.follow.value
