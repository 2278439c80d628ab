"""Muscles in predictions: fitted lengths, least cost and derivatives, the human who walks with them."""

from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from kinetree.dynamics.muscles.paths import path_geometry
from kinetree.dynamics.muscles.polynomials import length_polynomials
from kinetree.model.human.muscle_data import MUSCLES
from kinetree.motion.terms.muscles import spanned

ARM = kt.zoo.muscle_arm()
RANGES = {"shoulder": (-1.0, 2.0), "elbow": (0.0, 2.4)}


def problem(duration=0.8, more=()):
    terms = kt.terms
    return kt.Problem(
        ARM,
        objective=[terms.MuscleCost(ranges=RANGES), *more],
        constraints=[
            terms.Boundary("start", [0.0, 0.3], [0.0, 0.0]),
            terms.Boundary("end", [1.0, 1.8], [0.0, 0.0]),
            terms.TorqueLimits(60.0),
        ],
        duration=duration,
        segments=8,
    )


def test_errors_of_fitted_lengths_hold_at_other_poses():
    fitted = length_polynomials(ARM, list(RANGES), list(RANGES.values()))
    q = np.random.default_rng(1).uniform(*np.array(list(RANGES.values())).T, (500, 2))
    exact = path_geometry(ARM, q)
    for i in range(6):
        own, E = fitted.span[i, : fitted.dims[i]], fitted.exponents[i, : fitted.terms[i], : fitted.dims[i]]
        length = (q[:, own][:, None] ** E).prod(axis=2) @ fitted.coefficients[i, : fitted.terms[i]]
        off = np.abs(length - exact.length[:, i])
        assert off.max() < 2.0 * fitted.length_error[i] + 1e-5
    assert fitted.length_error.max() < 1e-3
    assert fitted.arm_error.max() < 3e-3


@pytest.mark.parametrize("duration", [0.8, (0.5, 2.0)])
def test_derivatives_are_exact(duration):
    more = [] if isinstance(duration, float) else [kt.terms.Time()]
    found = problem(duration, more).check_derivatives()
    assert found.gradient < 1e-7
    assert found.hessian < 1e-5


def test_blocks_and_entries_give_one_hessian():
    program = problem().program
    assert program.structure is not None
    rng = np.random.default_rng(0)
    z, y = 0.3 * rng.normal(size=program.n) + 0.5, rng.normal(size=program.m)
    H = np.tril(program.whole_hessian(z, 1.0, y))
    other = np.zeros((program.n, program.n))
    other[program.hessian_rows, program.hessian_columns] = program.hessian(z, 1.0, y)
    assert np.allclose(H, np.tril(other), atol=1e-10 * np.abs(H).max())
    step = 1e-6 * rng.normal(size=program.n)
    full = H + np.tril(H, -1).T
    slope = [program.gradient(x) + program.transposed_times(x, y) for x in (z + step, z - step)]
    assert np.allclose(full @ step, 0.5 * (slope[0] - slope[1]), atol=1e-6 * np.abs(full @ step).max())


def test_the_cost_is_that_of_static_optimization():
    """With hardly any floor, and muscles whose lengths are polynomials within 0.1 mm."""
    straight = replace(ARM, muscles=[replace(x, minimum_activation=0.0) for x in ARM.muscles])
    cost = kt.terms.MuscleCost(smoothing=1e-9, reserve=1.0, ranges=RANGES)
    t = np.linspace(0.0, 1.0, 30)
    q = np.stack([0.3 + 0.3 * np.sin(3 * t), 1.2 + 0.5 * np.sin(5 * t)], axis=1)
    qd = np.stack([0.9 * np.cos(3 * t), 2.5 * np.cos(5 * t)], axis=1)
    tau = kt.inverse_dynamics(straight, q, qd, 0.0 * q) + np.array([10.0, 5.0])
    mine = cost.activations(straight, q, qd, tau)
    found = kt.muscles.share(straight, q, qd, tau, weights=0.5, reserve=1.0, passive=False)
    for name in found.muscles:
        assert np.abs(mine[name] - found[name]).max() < 0.02


def test_a_reach_by_muscles_is_solved():
    found = kt.predict(problem())
    assert found.solved_at_samples
    a = kt.terms.MuscleCost(ranges=RANGES).activations(ARM, found.q, found.qd, found.tau)
    assert 0.05 < max(x.max() for x in a.values()) < 1.0


def test_the_human_has_the_muscles_of_rajagopal_2016():
    """Retyped from the file of nimblephysics (MIT license): 40 muscles a leg, together 49.8 kN."""
    assert len(MUSCLES) == 40
    assert sum(row[1] for row in MUSCLES) == pytest.approx(49782.8, abs=0.1)
    person = kt.human.with_leg_muscles(kt.zoo.human())
    assert len(person.muscles) == 80
    joints = ("hip.flexion", "hip.adduction", "hip.rotation", "knee", "ankle.flexion", "ankle.inversion")
    assert set(spanned(person)) == {f"{side}_{name}" for side in ("left", "right") for name in joints}


def test_both_legs_are_mirror_images():
    person = kt.human.with_leg_muscles(kt.zoo.human())
    rng = np.random.default_rng(2)
    names = ("hip.flexion", "hip.adduction", "hip.rotation", "knee", "ankle.flexion", "ankle.inversion")
    q = np.zeros(person.n_dof)
    for name in names:
        value = rng.uniform(0.0, 0.4)
        for side in ("right", "left"):
            q[person.joint_index(f"{side}_{name}")] = value
    length = kt.muscles.lengths(person, q)
    assert np.abs(length[:40] - length[40:]).max() < 1e-12


def test_tall_and_heavy_people_have_longer_and_stronger_muscles():
    small = kt.human.with_leg_muscles(kt.zoo.human(height=1.6, mass=55.0)).muscles[33]
    large = kt.human.with_leg_muscles(kt.zoo.human(height=1.9, mass=90.0)).muscles[33]
    assert large.optimal_fiber_length / small.optimal_fiber_length == pytest.approx(1.9 / 1.6, rel=0.03)
    volume = [x.max_isometric_force * x.optimal_fiber_length for x in (small, large)]
    assert volume[1] / volume[0] == pytest.approx(90.0 * 1.9 / (55.0 * 1.6), rel=0.03)


def test_arms_of_the_human_pull_where_anatomy_says():
    person = kt.human.with_leg_muscles(kt.zoo.human())
    arms = kt.muscles.moment_arms(person, {"right_knee": 0.3})
    names = [muscle.name for muscle in person.muscles]
    for muscle, joint, sign in (
        ("soleus", "ankle.flexion", -1), ("tibant", "ankle.flexion", 1), ("vaslat", "knee", -1),
        ("semimem", "knee", 1), ("semimem", "hip.flexion", -1), ("iliacus", "hip.flexion", 1),
        ("recfem", "hip.flexion", 1), ("recfem", "knee", -1), ("glmed2", "hip.adduction", -1),
        ("addlong", "hip.adduction", 1), ("tibpost", "ankle.inversion", 1),
        ("perlong", "ankle.inversion", -1),
    ):  # fmt: skip
        arm = arms[names.index(f"right_{muscle}"), person.joint_index(f"right_{joint}")]
        assert sign * arm > 0.005, muscle


def test_a_person_walks_with_muscles():
    step = kt.walking.walk(kt.walking.Walking(muscles=1.0))
    assert step.prediction.solved_at_samples
    result = step.to_result()
    assert all(check.passed for check in result.audit.values())
    a = step.activations
    assert result["activation"].shape == (len(result["time"]), 80)
    assert 0.0 < min(x.min() for x in a.values())
    assert max(x.max() for x in a.values()) < 1.0
    soleus = np.concatenate([a["right_soleus"], a["left_soleus"]])
    at = np.concatenate([step.prediction.s, 1.0 + step.prediction.s])[soleus.argmax()]
    assert 40.0 < 50.0 * at < 55.0  # % of the gait cycle: push-off


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: kt.terms.MuscleCost(exponent=1.5), "exponent of muscle cost must be 2 or more"),
        (lambda: kt.terms.MuscleCost(smoothing=0.0), "smoothing of muscle cost must be > 0"),
        (lambda: kt.terms.MuscleCost().table(kt.zoo.gripper()), "has no muscles"),
        (lambda: kt.terms.MuscleCost(ranges={"wrist": (0, 1)}).table(ARM), "unknown joint 'wrist'"),
        (lambda: kt.human.with_leg_muscles(ARM), "is no digital human"),
    ],
)
def test_wrong_input_is_refused(make, said):
    with pytest.raises(kt.errors.InputError, match=said):
        make()
