"""Fatigue that acts: compartments against an integrator of all three, lifts until one is impossible."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kinetree as kt
from kinetree.human import COMPARTMENT_RATES, CompartmentRates, endurance, fatigued_share

ELBOW, GENERAL = COMPARTMENT_RATES["elbow"], COMPARTMENT_RATES["general"]
DRIVE = 10.0  # 1/s: how fast compartments are activated and relaxed (Xia and Frey Law 2008)


def three(t, load, rates):
    """The fatigued share by all three compartments, integrated: active, fatigued, resting."""

    def slope(s, y):
        active, tired = y
        wanted = np.interp(s, t, load)
        resting = 1.0 - active - tired
        drive = DRIVE * (min(wanted - active, resting) if active < wanted else wanted - active)
        back = rates.recovery * (rates.rest if wanted == 0.0 else 1.0)
        return drive - rates.fatigue * active, rates.fatigue * active - back * tired

    return solve_ivp(slope, (t[0], t[-1]), [load[0], 0.0], t_eval=t, rtol=1e-7, atol=1e-9, max_step=0.05).y[1]


def test_the_fatigued_share_is_that_of_three_compartments():
    t = np.linspace(0.0, 60.0, 1201)
    load = np.where(t % 12 < 8, 0.5 + 0.3 * np.sin(t), 0.0)
    found = fatigued_share(t, load[:, None], ELBOW)[:, 0]
    assert found.max() > 0.15
    assert np.abs(found - three(t, load, ELBOW)).max() < 2e-3


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_endurance_is_where_the_load_meets_what_is_left(share):
    t = np.linspace(0.0, 1.2 * float(endurance(share)), 20001)
    left = 1.0 - fatigued_share(t, np.full((len(t), 1), share))[:, 0]
    assert t[np.argmax(left < share)] == pytest.approx(float(endurance(share)), rel=1e-3)


def test_what_recovery_keeps_pace_with_is_held_for_ever():
    balance = GENERAL.recovery / (GENERAL.recovery + GENERAL.fatigue)  # m settles at F f / R
    assert np.isinf(endurance(0.99 * balance)) and np.isfinite(endurance(1.01 * balance))


@pytest.fixture(scope="module")
def tired():
    quick = CompartmentRates(0.1, 0.001)
    return kt.lifting.lift_until_exhausted(
        box=20.0, shelf=0.9, rest=0.5, most=6, rates=quick, max_iterations=40
    )


def test_lifts_cost_more_until_one_is_impossible(tired):
    """Each is optimal for the strength that is left; a fresh person could go on."""
    assert 1 <= tired.count < 6 and tired.failed is not None and not tired.failed.passed
    cost = [lift.prediction.objective for lift in tired.lifts]
    assert (np.diff(cost) > 0.0).all()
    assert (np.diff(tired.fatigued, axis=0) > 0.0).any(axis=1).all()
    assert f"lift {tired.count + 1} is not possible" in tired.reason
    for lift, share in zip(tired.lifts, tired.fatigued[:-1], strict=True):
        for name, m in zip(tired.joints, share, strict=True):
            low, high = tired.strength[name]
            torque = lift.course.active[:, lift.course.column(name)]
            assert (1 - m) * low * 1.01 <= torque.min() and torque.max() <= (1 - m) * high * 1.01


def test_the_result_has_all_lifts_and_the_fatigue_of_joints(tired):
    result = tired.to_result()
    share = result["fatigued_share"].values
    assert share.shape == (len(result.time), len(tired.joints))
    before_last = np.searchsorted(
        result.time.values, result.time.values[-1] - tired.lifts[-1].prediction.duration
    )
    assert share[before_last] == pytest.approx(tired.fatigued[-2], abs=2e-3)
    assert tired.reason in result.messages


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: CompartmentRates(0.0, 0.1), "fatigue must be positive"),
        (lambda: fatigued_share([0, 1], [[0.5], [0.5]], [GENERAL, GENERAL]), "one or 1 of them, got 2"),
        (lambda: fatigued_share([0, 1], [[0.5], [0.5]], GENERAL, 1.5), "start must be a share"),
        (lambda: endurance([0.5, 1.2]), "up to 1"),
        (lambda: kt.lifting.lift_until_exhausted(3), "needs a Lifting"),
        (lambda: kt.lifting.lift_until_exhausted(rest=100.0), "rest between repetitions"),
        (lambda: kt.lifting.lift_until_exhausted(most=0), "repetitions must be an integer"),
    ],
)
def test_refused(call, said):
    with pytest.raises(kt.KinetreeError, match=said):
        call()
