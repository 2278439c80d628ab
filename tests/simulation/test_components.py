"""The contract of components, with one that nothing in the package knows: a spring behind a damper."""

import numpy as np
import pytest
from numba import carray, cfunc
from scipy.linalg import expm

import kinetree as kt
from kinetree.simulation import setup
from kinetree.simulation.compiled.component import Component, StateLayout, Watched
from kinetree.simulation.compiled.context import HEADER
from kinetree.simulation.compiled.rates import OF_COMPONENT

MASS, K, C, LEVEL = 2.0, 50.0, 4.0, 0.05
TAU = HEADER.places["tau"][0]
TIMES = np.linspace(0.0, 1.0, 21)


@cfunc(OF_COMPONENT)
def pull(t, y, dy, context, own):
    """tau -= k (q - x), c x' = k (q - x); own: places of x and of the work."""
    tau = int(carray(context, (TAU + 1,)).view(np.int64)[TAU])
    x, work = int(own[0]), int(own[1])
    force = K * (y[0] - y[x])
    context[tau] -= force
    dy[x] = force / C
    dy[work] = -force * y[1]
    return 0


@cfunc(OF_COMPONENT)
def slopes(t, y, J, context, own):
    """Lines of tau and of x', by q, qd and x."""
    J[0], J[2] = J[0] - K, J[2] + K
    J[3], J[4], J[5] = K / C, 0.0, -K / C
    return 0


@cfunc(OF_COMPONENT)
def passed(t, y, g, context, own):
    """How far the damper is from a level."""
    g[0] = LEVEL - y[int(own[0])]
    return 0


class Maxwell(Component):
    """A spring and a damper in a row between the first axis and the world."""

    name = "creep"
    n_state = 1
    works = ("creep_work",)
    watched = (Watched("creep_limit", "spring", -1),)
    is_sloped = True
    has_slopes = True

    def numbers(self, parts):
        return np.array([parts.at.places[self.name].start, parts.works_at(self).start], float)

    def address(self, function, lanes):
        known = {"rates": pull, "slopes": slopes, "events": passed}
        return known[function].address if function in known else 0

    def start(self):
        return np.array([-0.1])

    def variables(self, states):
        return {"creep": (("time",), states[..., 0], "m", "way of the damper")}


@pytest.fixture
def spring(monkeypatch):
    """A slider with the component, in every simulation of the test."""
    monkeypatch.setattr(setup, "components", lambda *given: (Maxwell(),))
    build = kt.Builder("slider", gravity=(0, 0, 0))
    build.world.prismatic("rail", axis="x").body("mass", kt.Inertia(MASS))
    return build.build()


def exactly(t, q=0.0, qd=1.0, x=-0.1):
    A = np.array([[0, 1, 0], [-K / MASS, 0, K / MASS], [K / C, 0, -K / C]])
    return np.array([expm(A * s) @ [q, qd, x] for s in np.atleast_1d(t)])


@pytest.mark.parametrize("method", ["dop853", "dopri5", "radau"])
def test_it_moves_has_a_state_an_event_and_work_of_its_own(spring, method):
    run = kt.simulate(spring, [0.0], [1.0], 1.0, times=TIMES, method=method, rtol=1e-9)
    expected = exactly(TIMES)
    assert run.q.values[:, 0] == pytest.approx(expected[:, 0], abs=1e-8)
    assert run.qd.values[:, 0] == pytest.approx(expected[:, 1], abs=1e-8)
    assert run.creep.values == pytest.approx(expected[:, 2], abs=1e-8)
    assert run.creep.attrs["units"] == "m"
    assert run.creep_work.values == pytest.approx(0.5 * MASS * (expected[:, 1] ** 2 - 1.0), abs=1e-7)
    assert np.abs(run.actuator_work.values).max() < 1e-12
    assert run.audit["energy_balance"].passed
    (event,) = run.events
    assert (event.kind, event.name) == ("creep_limit", "spring")
    assert exactly(event.time)[0, 2] == pytest.approx(LEVEL, abs=1e-8)


def test_batches_show_it(spring):
    run = kt.simulation.simulate_batch(
        spring, [[0.0], [0.1]], [[1.0], [0.0]], 1.0, times=TIMES, method="radau", rtol=1e-9
    )
    assert run.creep.dims == run.creep_work.dims == ("rollout", "time")
    assert run.creep.values[1] == pytest.approx(exactly(TIMES, 0.1, 0.0)[:, 2], abs=1e-8)
    assert run.audit["energy_balance"].passed


def test_its_event_can_stop_a_simulation(spring):
    run = kt.simulate(spring, [0.0], [1.0], 1.0, stop_at="creep_limit")
    assert run.stop_reason == "stopped by creep_limit of 'spring'"
    assert exactly(run.stopped_at)[0, 2] == pytest.approx(LEVEL, abs=1e-7)


def test_the_place_of_every_part_is_looked_up():
    at = StateLayout(3, {"current": 2}, {"integral": 3}, 4)
    assert [at.places[name] for name in ("q", "qd", "current", "integral", "work")] == [
        slice(0, 3),
        slice(3, 6),
        slice(6, 8),
        slice(8, 11),
        slice(11, 15),
    ]
    assert (at.size, at.n_more, at.n_moving) == (15, 2, 8)
