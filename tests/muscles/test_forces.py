"""Forces, activation and energy of muscles beside OpenSim's, and what equilibrium and power say."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.algebra.bezier import BezierCurve
from kinetree.dynamics.muscles.curves import KINDS
from kinetree.dynamics.muscles.hill import fibers_along, hill_tables
from kinetree.model import Muscle, PathPoint
from kinetree.model.muscle import CURVES
from support.opensim_arm import KINDS as CLASSES
from support.opensim_arm import LOW, arm, opensim_arm

HIGH = PathPoint("upper", (0.05, 0.05, 0.01))
OPENSIM = 1e-8


def one(kind, rigid=False):
    given = {"max_isometric_force": 1200.0, "optimal_fiber_length": 0.11, "tendon_slack_length": 0.25}
    more = {"pennation_angle": 0.3, "max_contraction_velocity": 9.0, "slow_twitch": 0.45}
    return [Muscle("m", (HIGH, LOW), kind=kind, rigid_tendon=rigid, **given, **more)]


def states(rng, still=False):
    for _ in range(25):
        q, qd = rng.uniform(-0.9, 0.9, 2), rng.uniform(-3, 3, 2) * (not still)
        yield q, qd, rng.uniform(0.05, 1.0), rng.uniform(0.05, 1.0)


def set_up(peer, osim, kind, q, qd, a, u):
    state, muscle = peer.pose(q, qd), peer.muscle("m")
    own = getattr(osim, CLASSES[kind]).safeDownCast(muscle)
    own.setActivation(state, a)
    muscle.setControls(osim.Vector(1, u), peer.model.updControls(state))
    peer.model.markControlsAsValid(state)
    return state, muscle, own


@pytest.mark.parametrize(
    ("kind", "rigid"), [("degroote2016", True), ("millard2012", True), *((kind, False) for kind in KINDS)]
)
def test_forces_are_those_of_opensim(kind, rigid):
    osim = pytest.importorskip("opensim")
    muscles = one(kind, rigid)
    here, peer = arm(muscles), opensim_arm(muscles)
    for q, qd, a, u in states(np.random.default_rng(2), still=not rigid):
        state, muscle, _ = set_up(peer, osim, kind, q, qd, a, u)
        if not rigid:
            muscle.computeEquilibrium(state)
        peer.model.realizeDynamics(state)
        own = kt.muscles.forces(here, q, qd, a)
        assert own.tendon_force[0] == pytest.approx(muscle.getTendonForce(state), abs=OPENSIM * 1200.0)


@pytest.mark.parametrize("kind", ["millard2012", "thelen2003"])
def test_fibers_at_their_speeds_pull_as_their_tendons_in_opensim(kind):
    osim = pytest.importorskip("opensim")
    muscles = one(kind)
    here, peer, rng = arm(muscles), opensim_arm(muscles), np.random.default_rng(5)
    for q, qd, a, u in states(rng):
        state, muscle, own = set_up(peer, osim, kind, q, qd, a, u)
        own.setFiberLength(state, rng.uniform(0.08, 0.13))
        peer.model.realizeDynamics(state)
        rate = muscle.getFiberVelocity(state) / muscle.getCosPennationAngle(state)
        along = muscle.getFiberLengthAlongTendon(state)
        found = fibers_along(hill_tables(here), *(np.array([x]) for x in (0.0, rate, a, along)))
        force = muscle.getTendonForce(state)
        assert found.tendon_force[0] == pytest.approx(force, abs=OPENSIM * max(1200.0, force))


@pytest.mark.parametrize("kind", list(KINDS))
def test_rates_of_activation_are_those_of_opensim(kind):
    osim = pytest.importorskip("opensim")
    muscles = one(kind)
    here, peer = arm(muscles), opensim_arm(muscles)
    for q, qd, a, u in states(np.random.default_rng(3), still=True):
        state, muscle, _ = set_up(peer, osim, kind, q, qd, a, u)
        muscle.computeEquilibrium(state)
        peer.model.realizeAcceleration(state)
        rate = muscle.getStateVariableDerivativeValue(state, "activation")
        assert kt.muscles.activation_rate(here, u, a)[0] == pytest.approx(rate, abs=1e-12)


def test_metabolic_rates_are_those_of_opensim():
    osim = pytest.importorskip("opensim")
    muscles = one("millard2012", rigid=True)
    probe = osim.Bhargava2004MuscleMetabolicsProbe(True, True, True, False, True)
    probe.addMuscle("m", 0.45, 40, 133, 74, 111)
    probe.set_use_force_dependent_shortening_prop_constant(True)
    probe.setOperation("value")
    here, peer = arm(muscles), opensim_arm(muscles, probes=[probe])
    for q, qd, a, u in states(np.random.default_rng(4)):
        state, _, _ = set_up(peer, osim, "millard2012", q, qd, a, u)
        peer.model.realizeAcceleration(state)
        rate = kt.muscles.metabolic_rate(here, q, qd, a, u)[0]
        assert rate == pytest.approx(probe.computeProbeInputs(state).get(0), abs=1e-9)


@pytest.mark.parametrize("kind", list(KINDS))
def test_elastic_tendons_are_in_equilibrium(kind):
    here, rng = arm(one(kind)), np.random.default_rng(6)
    q, qd, a = rng.uniform(-0.9, 0.9, (300, 2)), rng.uniform(-3, 3, (300, 2)), rng.uniform(0.0, 1.0, (300, 1))
    found = kt.muscles.forces(here, q, qd, a)
    fibers = (found.active + found.passive) * np.cos(found.pennation)
    x = found.fiber_length * np.cos(found.pennation)
    curves = KINDS[kind](CURVES[kind])
    tendon = 1200.0 * curves.tendon((kt.muscles.lengths(here, q) - x) / 0.25)[0]
    assert np.abs(found.tendon_force - fibers).max() < 1e-10
    assert np.abs(fibers - tendon).max() < 1e-10 * 1200.0


@pytest.mark.parametrize("kind", list(KINDS))
def test_slopes_of_curves_are_differences(kind):
    curves, h = KINDS[kind](CURVES[kind]), 1e-6
    x = np.random.default_rng(7).uniform(0.45, 1.8, 200)
    v = np.random.default_rng(8).uniform(-1.2, 1.2, 200)
    a = np.full(200, 0.6)
    for f, at in (
        (curves.active, x),
        (curves.passive, x),
        (curves.tendon, 0.9 + 0.1 * x),
        (lambda s: curves.velocity(s, a), v),
    ):
        difference = (f(at + h)[0] - f(at - h)[0]) / (2 * h)
        assert np.abs(difference - f(at)[1]).max() < 1e-5 * (1.0 + np.abs(difference).max())


def test_power_of_muscles_is_that_of_their_torques():
    here, rng = kt.zoo.muscle_arm(), np.random.default_rng(9)
    q, qd, a = rng.uniform(0.1, 2.0, (50, 2)), rng.uniform(-3, 3, (50, 2)), rng.uniform(0, 1, (50, 6))
    power = (kt.muscles.torques(here, q, qd, a) * qd).sum(axis=1)
    pulled = -(kt.muscles.forces(here, q, qd, a).tendon_force * kt.muscles.rates(here, q, qd)).sum(axis=1)
    assert np.allclose(power, pulled, rtol=1e-12)


def test_a_slack_muscle_does_not_pull():
    slack = [Muscle("m", (HIGH, LOW), tendon_slack_length=1.0, rigid_tendon=True)]
    assert kt.muscles.forces(arm(slack), [0, 0], [0, 0], 1.0).tendon_force.tolist() == [0.0]


def test_a_curve_without_corners_is_a_line():
    line = BezierCurve.bent([(0.0, 1.0, 2.0), (1.0, 3.0, 2.0)], [0.5])
    x = np.linspace(-1, 2, 31)
    assert np.allclose(line.at(x), [1 + 2 * x, np.full(31, 2.0)], atol=1e-14)


@pytest.mark.parametrize(
    ("activation", "said"),
    [
        (np.nan, "activation of muscle 'deltoid' must be between 0 and 1, got nan"),
        ({"biceps": 1.5}, "activation of muscle 'biceps' must be between 0 and 1, got 1.5"),
        ({"bicep": 0.5}, "unknown muscle 'bicep'"),
        ([0.1, 0.2], "one value for each muscle"),
    ],
)
def test_wrong_activations_are_refused(activation, said):
    with pytest.raises(kt.errors.InputError, match=said):
        kt.muscles.torques(kt.zoo.muscle_arm(), [0, 1], [0, 0], activation)
