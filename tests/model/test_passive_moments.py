"""Passive moments of relaxed legs against the article's own equations and finite differences."""

import numpy as np
import pytest

import kinetree as kt


def article(hip, knee, ankle):
    """Riener and Edrich (1999) as printed: degrees; plantar flexion of the ankle is positive."""
    exp = np.exp
    return (
        exp(1.4655 - 0.0034 * knee - 0.0750 * hip) - exp(1.3403 - 0.0226 * knee + 0.0305 * hip) + 8.072,
        exp(1.800 - 0.0460 * ankle - 0.0352 * knee + 0.0217 * hip)
        - exp(-3.971 - 0.0004 * ankle + 0.0495 * knee - 0.0128 * hip)
        - 4.820
        + exp(2.220 - 0.150 * knee),
        exp(2.1016 - 0.0843 * ankle - 0.0176 * knee) - exp(-7.9763 + 0.1949 * ankle + 0.0008 * knee) - 1.792,
    )


def test_moments_are_those_of_the_article():
    legs = kt.human.passive_moments()
    rng = np.random.default_rng(0)
    angles = rng.uniform([-25, 0, -30] * 2, [100, 110, 25] * 2, (50, 6))
    found = legs.moments(np.radians(angles))
    assert legs.names[0] == "left_hip.flexion" and legs.names[4] == "right_knee"
    for side in (0, 3):
        hip, knee, ankle = angles[:, side : side + 3].T
        wanted = article(hip, knee, -ankle)
        assert np.allclose(found[:, side : side + 3], np.stack([wanted[0], wanted[1], -wanted[2]], axis=1))


@pytest.mark.parametrize(("knee", "moment"), [(0, 10.42), (60, -4.46), (130, -16.51)])
def test_a_straight_knee_is_bent_and_a_bent_one_extended(knee, moment):
    """With straight hips; figures by hand."""
    found = kt.human.passive_moments(sides="left").moments(np.radians([0.0, knee, 0.0]))
    assert found[1] == pytest.approx(moment, abs=0.01)


def test_muscles_of_two_joints_couple_them():
    """Gastrocnemius lets the ankle go where the knee flexes, rectus femoris pulls extended hips forward."""
    leg = kt.human.passive_moments(sides="right")
    straight, bent = leg.moments(np.radians([[0.0, 5.0, 20.0], [0.0, 80.0, 20.0]]))
    assert straight[2] < bent[2] < 0.0
    assert leg.moments(np.radians([-20.0, 10.0, 0.0]))[0] > 20.0


@pytest.mark.parametrize("far", [False, True], ids=["measured", "beyond"])
def test_derivatives_are_exact(far):
    legs, rng = kt.human.passive_moments(1.6, 55.0), np.random.default_rng(1)
    q, weight = rng.uniform(-0.3, 1.2, (7, 6)), rng.standard_normal((7, 6))
    if far:
        q = 4.0 * q - 1.0
        assert (legs.constants + q @ legs.rates.T > 6.0).any()
    d = 1e-5
    shifts = d * np.eye(6)
    rise = np.stack([(legs.moments(q + x) - legs.moments(q - x)) / (2 * d) for x in shifts], axis=-1)
    assert np.allclose(legs.slopes(q)[:, 0], rise, rtol=1e-6, atol=1e-5)

    def pull(x):
        return np.einsum("mi,mij->mj", weight, legs.slopes(x)[:, 0])

    bent = np.stack([(pull(q + x) - pull(q - x)) / (2 * d) for x in shifts], axis=-1)
    assert np.allclose(legs.bends(q, None, weight)[:, 0], bent, rtol=1e-5, atol=1e-4)


def test_moments_grow_with_size_and_factor_and_stay_finite():
    usual, q = kt.human.passive_moments(), np.full(6, 0.4)
    assert np.allclose(kt.human.passive_moments(1.5, 50.0).moments(q), usual.moments(q) * 75.0 / 131.25)
    assert np.allclose(kt.human.passive_moments(factor=0.5).moments(q), 0.5 * usual.moments(q))
    assert not kt.human.passive_moments(factor=0.0).moments(q).any()
    assert np.isfinite(usual.moments(np.full(6, -100.0))).all()
    assert usual.moments(np.zeros((2, 3, 6))).shape == (2, 3, 6)
    assert usual.slopes(np.zeros((2, 3, 6))).shape == (2, 3, 1, 6, 6)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: kt.human.passive_moments(0.5), "height of a human"),
        (lambda: kt.human.passive_moments(factor=-1.0), "factor of passive moments must be 0 or more"),
        (lambda: kt.human.passive_moments(sides=["middle"]), "unknown side 'middle'"),
        (lambda: kt.human.passive_moments(sides=["left", "left"]), "each once"),
        (lambda: kt.human.passive_moments().moments([0.0, 0.0]), r"shape \(\.\.\., 6\)"),
        (lambda: kt.human.passive_moments().moments([np.nan] * 6), "q"),
    ],
)
def test_bad_input(wrong, message):
    with pytest.raises(kt.errors.InputError, match=message):
        wrong()
