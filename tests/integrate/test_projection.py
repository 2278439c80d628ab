"""The hook after an accepted step: a state that is moved back onto what must hold."""

import numpy as np
import pytest
from numba import cfunc, types

from kinetree.integrate.integration import Events, IntegrationStatus
from support.odes import ADAPTIVE, POINTER, SIGNATURE, integration, pendulum_angle, python_callback, solved

TIMES = np.linspace(0.0, 6.0, 41)
AMPLITUDE = 2.0
START = [np.sin(AMPLITUDE), -np.cos(AMPLITUDE), 0.0, 0.0]
LOOSE = {"rtol": 1e-4, "atol": 1e-4, "step": 0.05, "n": 2}


@cfunc(SIGNATURE)
def bead(t, y, dy, context):
    """A bead on a circle of radius 1 under gravity, in Cartesian coordinates: the force keeps it there."""
    force = (y[2] ** 2 + y[3] ** 2 - y[1]) / (y[0] ** 2 + y[1] ** 2)
    dy[0], dy[1] = y[2], y[3]
    dy[2], dy[3] = -force * y[0], -force * y[1] - 1.0
    return 0


@cfunc(types.int64(types.float64, POINTER, POINTER, POINTER, POINTER))
def onto_circle(t, y, dy, plan, context):
    """Back to radius 1, the velocity along the circle; counts its calls."""
    context[0] += 1.0
    r = np.sqrt(y[0] ** 2 + y[1] ** 2)
    y[0], y[1] = y[0] / r, y[1] / r
    out = y[0] * y[2] + y[1] * y[3]
    y[2], y[3] = y[2] - out * y[0], y[3] - out * y[1]
    return 1


def drift(run):
    """How far the positions at the ends of steps are off the circle."""
    return abs(np.hypot(run.y[0, 0], run.y[0, 1]) - 1.0)


@pytest.mark.parametrize("method", [*ADAPTIVE, "rk4"])
def test_a_projection_keeps_an_invariant(method):
    free = solved(method, bead, START, 6.0, TIMES, **LOOSE)
    held = solved(method, bead, START, 6.0, TIMES, project=onto_circle.address, **LOOSE)
    assert drift(held) < 1e-15 < 1e-9 < drift(free)
    exact = pendulum_angle(AMPLITUDE, TIMES)
    wrong = [np.abs(run.out[:, 0, 0] - np.sin(exact)).max() for run in (free, held)]
    assert wrong[1] < 2 * wrong[0] + 1e-6 and wrong[1] < 0.05
    assert held.context[0] == held.statistics["steps"]


@pytest.mark.parametrize("method", ADAPTIVE)
def test_a_projection_that_moves_nothing_changes_nothing(method):
    @cfunc(types.int64(types.float64, POINTER, POINTER, POINTER, POINTER))
    def idle(t, y, dy, plan, context):
        return 0

    plain = solved(method, bead, START, 6.0, TIMES, **LOOSE)
    looked = solved(method, bead, START, 6.0, TIMES, project=idle.address, **LOOSE)
    np.testing.assert_array_equal(looked.out, plain.out)
    assert looked.statistics == plain.statistics


@pytest.mark.parametrize("method", ADAPTIVE)
def test_events_are_found_beside_a_projection(method):
    """The lowest point is passed as often, and at the same times, as by the exact pendulum."""
    low = python_callback(lambda t, y, _: [y[0]], 4, 1)
    run = integration(
        method,
        bead,
        START,
        6.0,
        project=onto_circle.address,
        events=Events(low.address, 1, 1),
        n=2,
        rtol=1e-9,
        atol=1e-9,
    )
    assert run.advance(10**6) is IntegrationStatus.DONE
    fine = np.linspace(0.0, 6.0, 200001)
    angle = pendulum_angle(AMPLITUDE, fine)
    k = np.flatnonzero(np.sign(angle[1:]) != np.sign(angle[:-1]))
    exact = fine[k] - angle[k] * (fine[k + 1] - fine[k]) / (angle[k + 1] - angle[k])
    assert [event.t for event in run.event_log] == pytest.approx(exact.tolist(), abs=1e-6)


def test_a_projection_can_stop():
    @cfunc(types.int64(types.float64, POINTER, POINTER, POINTER, POINTER))
    def refuse(t, y, dy, plan, context):
        return -1

    run = integration("dopri5", bead, START, 6.0, project=refuse.address, **LOOSE)
    assert run.advance(10**6) is IntegrationStatus.CALLBACK


@pytest.mark.parametrize("method", ADAPTIVE)
def test_a_projection_can_plan_steps(method):
    """Steps of a planned length are taken, whether their error is asked for or not; it sees rates."""

    @cfunc(types.int64(types.float64, POINTER, POINTER, POINTER, POINTER))
    def planned(t, y, dy, plan, context):
        if abs(dy[0] - y[2]) > 1e-2 or plan[0] <= 0.0 or not 0.0 < plan[1] < 1.0:
            return -1
        context[1] = max(context[1], abs(t - context[2] - 0.01)) if context[2] > 0.0 else 0.0
        context[2] = t
        plan[2], plan[3] = 0.01, context[0]
        return 0

    for accepted in (0.0, 1.0):
        context = np.array([accepted, 0.0, 0.0])
        run = integration(method, bead, START, 1.0, project=planned.address, context=context, **LOOSE)
        assert run.advance(10**6) is IntegrationStatus.DONE
        assert run.statistics["steps"] > 80
        assert context[1] < 0.01  # but for the last, which ends where it has to
