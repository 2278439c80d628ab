"""Sharing of torques among muscles: optimality, prices, bounds, shortages, contact forces."""

import numpy as np
import pytest
from scipy.optimize import minimize

import kinetree as kt

ARM = kt.zoo.muscle_arm()
T = np.linspace(0.0, 1.0, 40)
Q = np.stack([0.3 * np.sin(3 * T), 1 + 0.6 * np.sin(5 * T)], axis=1)
QD = np.stack([0.9 * np.cos(3 * T), 3 * np.cos(5 * T)], axis=1)
QDD = np.stack([-2.7 * np.sin(3 * T), -15 * np.sin(5 * T)], axis=1)
LOAD = kt.Wrench("fore", (0.0, -60.0, 0.0), point=(0.3, 0.0, 0.0))
TAU = kt.inverse_dynamics(ARM, Q, QD, QDD, [LOAD])


def moments(f, activation):
    """Torques of the muscles at a frame with rigid tendons, from forces alone."""
    from dataclasses import replace

    stiff = replace(ARM, muscles=[replace(x, rigid_tendon=True) for x in ARM.muscles])
    return kt.muscles.torques(stiff, Q[f], QD[f], activation)


@pytest.mark.parametrize("exponent", [1.5, 2.0, 3.0])
def test_muscles_and_reserves_make_the_torques(exponent):
    found = kt.muscles.share(ARM, Q, QD, TAU, exponent=exponent)
    assert found.residual.max() < 1e-9
    for f in (0, 17, 39):
        assert np.allclose(moments(f, found.activation[f]) + found.reserve[f], TAU[f], atol=1e-9)
    assert found.activation.min() >= 0.01
    assert found.activation.max() <= 1.0


@pytest.mark.parametrize("exponent", [2.0, 3.0])
def test_no_cheaper_activations_are_found(exponent):
    found = kt.muscles.share(ARM, Q, QD, TAU, exponent=exponent, reserve=5.0)
    for f in (3, 21):

        def cost(a, f=f):
            left = TAU[f] - moments(f, np.clip(a, 0, 1))
            return (a**exponent).sum() + ((left / 5.0) ** 2).sum()

        other = minimize(
            cost,
            np.full(6, 0.3),
            bounds=[(0.01, 1.0)] * 6,
            method="L-BFGS-B",
            options={"ftol": 1e-15, "gtol": 1e-9},
        )
        assert found.cost[f] <= other.fun + 1e-12
        assert found.cost[f] == pytest.approx(other.fun, rel=1e-5)


def test_price_is_what_one_more_newton_meter_costs():
    found, h = kt.muscles.share(ARM, Q, QD, TAU, exponent=3.0), 1e-4
    for j in range(2):
        ahead, behind = (
            kt.muscles.share(ARM, Q, QD, TAU + s * h * np.eye(2)[j], exponent=3.0).cost for s in (1, -1)
        )
        assert np.allclose((ahead - behind) / (2 * h), found.price[:, j], rtol=1e-5, atol=1e-8)


def test_weights_and_passive_forces_count():
    plain = kt.muscles.share(ARM, Q, QD, TAU)
    spared = kt.muscles.share(ARM, Q, QD, TAU, weights={"biceps": 50.0})
    assert spared["biceps"].mean() < 0.5 * plain["biceps"].mean()
    without = kt.muscles.share(ARM, Q, QD, TAU, passive=False)
    assert not np.allclose(without.activation, plain.activation, atol=1e-4)


def test_activations_change_no_faster_than_excitations_allow():
    quick = 0.05 * T
    found = kt.muscles.share(ARM, Q, QD, TAU, times=quick)
    assert found.residual.max() < 1e-9
    a, dt = found.activation, np.diff(quick)
    for f in range(len(dt)):
        up = a[f] + dt[f] * (1.0 - a[f]) / (0.015 * (0.5 + 1.5 * a[f]))  # straight: above the curve
        down = a[f] - dt[f] * (a[f] - 0.01) * (0.5 + 1.5 * a[f]) / 0.06
        assert (a[f + 1] <= up + 1e-9).all()
        assert (a[f + 1] >= down - 1e-9).all()
    free = kt.muscles.share(ARM, Q, QD, TAU)
    assert found.cost.sum() > free.cost.sum()


def test_too_large_torques_are_named():
    found = kt.muscles.share(ARM, Q, QD, 10.0 * TAU, reserve={"elbow": 1.0, "shoulder": 1.0})
    worst = found.shortages()[0]
    assert worst.joint in ("shoulder", "elbow")
    f, j = worst.frame, found.joints.index(worst.joint)
    assert worst.moment == found.reserve[f, j]
    assert worst.price == pytest.approx(2.0 * worst.moment)
    assert found.residual.max() < 1e-9


def test_contact_forces_of_joints_carry_no_muscle_moment():
    found = kt.muscles.share(ARM, Q, QD, TAU)
    loads = [*kt.muscles.wrenches(ARM, Q, found.force), LOAD]
    left = kt.inverse_dynamics(ARM, Q, QD, QDD, loads)
    assert np.allclose(left, found.reserve, atol=1e-9)
    net, contact = (kt.joint_reactions(ARM, Q, QD, QDD, x) for x in ([LOAD], loads))
    assert np.linalg.norm(contact[:, 1, :3], axis=1).mean() > 2 * np.linalg.norm(net[:, 1, :3], axis=1).mean()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"joints": ["wrist"]}, "unknown joint 'wrist'"),
        ({"exponent": 1.0}, "exponent must be above 1"),
        ({"weights": {"bicep": 2.0}}, "unknown muscle 'bicep'"),
        ({"weights": {"biceps": -2.0}}, "weight of muscle 'biceps' must be > 0, got -2"),
        ({"reserve": 0.0}, "reserve of joint 'shoulder' must be > 0"),
        ({"times": T[::-1]}, "times must ascend"),
        ({"times": T[:3]}, "times must have shape"),
    ],
)
def test_wrong_input_is_refused(more, said):
    with pytest.raises(kt.errors.InputError, match=said):
        kt.muscles.share(ARM, Q, QD, TAU, **more)


def test_a_joint_without_muscles_is_named():
    from dataclasses import replace

    shoulder = replace(ARM, muscles=ARM.muscles[:2])
    with pytest.raises(
        kt.errors.InputError, match="no muscle of 'muscle_arm' spans joint 'elbow'; muscles span shoulder"
    ):
        kt.muscles.share(shoulder, Q, QD, TAU, joints=["elbow"])


def test_torques_must_be_numbers():
    with pytest.raises(kt.errors.InputError, match="elbow"):
        kt.muscles.share(ARM, Q, QD, np.where(np.arange(2) == 1, np.nan, TAU))
