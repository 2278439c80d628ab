"""Chain rule to control points and duration: against SciPy's splines, differences and plain sums."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.interpolate import BSpline

import kinetree as kt
from kinetree.algebra.bspline import BSplineBasis
from kinetree.dynamics.loads import load_moments
from kinetree.engine.run import prepared
from kinetree.kernels.kinematics import KINEMATICS
from kinetree.motion.compiled import assembly

PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


@pytest.fixture(params=["compiled", "interpreted"])
def ask(request):
    """One of the functions, compiled or not."""
    return assembly.compiled if request.param == "compiled" else lambda function: function


@pytest.fixture
def case(rng):
    """A spline of three coordinates, of which five are known in all; its basis at some instants."""
    basis, n, T = BSplineBasis.uniform(4), 3, 0.7
    s = np.array([0.0, 0.1, 0.3, 0.55, 0.9, 1.0])
    first, local = basis.local(s, 2)
    return SimpleNamespace(
        basis=basis, n=n, T=T, s=s, m=len(s), first=first, weights=np.ascontiguousarray(local),
        points=rng.standard_normal((basis.n_control, n)), chosen=np.array([0, 2, 4]), width=local.shape[2],
    )  # fmt: skip


def sampled(ask, x, points=None, T=None):
    moving, full = np.empty((x.m, 3, x.n)), np.full((3, x.m, 5), 9.0)
    points, T = x.points if points is None else points, x.T if T is None else T
    ask(assembly.sample)(points, x.first, x.weights, T, x.chosen, moving, full)
    return moving, full


def test_samples_are_those_of_scipy(ask, case):
    moving, full = sampled(ask, case)
    spline = BSpline(case.basis.knots, case.points, 3)
    for r in range(3):
        expected = (spline.derivative(r) if r else spline)(case.s) / case.T**r
        assert np.allclose(moving[:, r], expected, atol=1e-9)
        assert np.array_equal(full[r][:, case.chosen], moving[:, r])
    assert (full[:, :, [1, 3]] == 9.0).all()


def curved(moving):
    """A scalar at each sample with all mixed second derivatives, for complex numbers too."""
    q, qd, qdd = moving[:, 0], moving[:, 1], moving[:, 2]
    return (np.sin(q) * qdd[:, ::-1] + qd**2 * q[:, ::-1] + q * qd * 0.3 + 0.1 * qdd**2 * qd[:, ::-1]).sum(
        axis=1
    )


def slopes_of(moving):
    """Its derivatives by (q, qd, qdd), (m, 3, n), by complex steps."""
    found, step = np.empty(moving.shape), 1e-30
    for r, i in np.ndindex(*moving.shape[1:]):
        changed = moving.astype(complex)
        changed[:, r, i] += 1j * step
        found[:, r, i] = curved(changed).imag / step
    return found


def half_hessian(moving):
    """Blocks over PAIRS: halved on the diagonal."""
    m, _, n = moving.shape
    half, step = np.empty((m, 6, n, n)), 1e-5
    for k, (r, c) in enumerate(PAIRS):
        for h in range(n):
            up, down = moving.copy(), moving.copy()
            up[:, c, h] += step
            down[:, c, h] -= step
            half[:, k, :, h] = (slopes_of(up)[:, r] - slopes_of(down)[:, r]) / (2 * step)
            half[:, k, :, h] *= 0.5 if r == c else 1.0
    return half


def by_unknowns(ask, x, change_points, change_T):
    """The scalar's change along a direction of control points and duration."""
    moving, _ = sampled(ask, x, x.points + change_points, x.T + change_T)
    return moving


def test_first_derivatives_by_differences(ask, case, rng):
    moving, _ = sampled(ask, case)
    slopes = slopes_of(moving)[:, :, None, :]
    by_point, by_duration = np.empty((case.m, case.width, 1, case.n)), np.empty((case.m, 1))
    ask(assembly.pull)(slopes, moving, case.weights, case.T, by_point, by_duration)
    d, dT, h = rng.standard_normal(case.points.shape), 0.6, 1e-6
    rates = curved(by_unknowns(ask, case, h * d, h * dT)) - curved(by_unknowns(ask, case, -h * d, -h * dT))
    local = d[case.first[:, None] + np.arange(case.width)]
    found = (by_point[:, :, 0] * local).sum(axis=(1, 2)) + by_duration[:, 0] * dT
    assert np.allclose(found, rates / (2 * h), rtol=1e-6, atol=1e-4 * np.abs(rates / (2 * h)).max() * 1e-2)


def test_entries_are_the_same_scaled(ask, case, rng):
    moving, k = sampled(ask, case)[0], 2
    slopes, scale = rng.standard_normal((case.m, 3, k, case.n)), np.array([2.0, 5.0])
    by_point, by_duration = np.empty((case.m, case.width, k, case.n)), np.empty((case.m, k))
    ask(assembly.pull)(slopes, moving, case.weights, case.T, by_point, by_duration)
    keep = rng.random(by_point.shape) < 0.7
    places = np.where(keep, np.cumsum(keep).reshape(keep.shape) - 1, -1)
    count = int(keep.sum())
    entries = np.empty(count + case.m * k)
    ask(assembly.pull_entries)(slopes, moving, case.weights, case.T, scale, places, entries, count)
    assert np.allclose(entries[:count], (by_point / scale[:, None])[keep])
    assert np.allclose(entries[count:], (by_duration / scale).ravel())
    alone = np.full(count, np.nan)
    ask(assembly.pull_entries)(slopes, moving, case.weights, case.T, scale, places, alone, -1)
    assert np.array_equal(alone, entries[:count])


def test_second_derivatives_by_differences(ask, case, rng):
    """Of pulled-back slopes, along a direction of control points and duration."""
    moving, _ = sampled(ask, case)
    points = np.empty((case.m, case.width, case.width, case.n, case.n))
    mixed, twice = np.empty((case.m, case.width, case.n)), np.empty(case.m)
    ask(assembly.pull_twice)(
        half_hessian(moving), slopes_of(moving), moving, case.weights, case.T, np.empty((3, case.n)),
        points, mixed, twice,
    )  # fmt: skip

    def pulled(sign):
        at = by_unknowns(ask, case, sign * h * d, sign * h * dT)
        by_point, by_duration = np.empty((case.m, case.width, 1, case.n)), np.empty((case.m, 1))
        T = case.T + sign * h * dT
        ask(assembly.pull)(slopes_of(at)[:, :, None, :], at, case.weights, T, by_point, by_duration)
        return by_point[:, :, 0], by_duration[:, 0]

    d, dT, h = rng.standard_normal(case.points.shape), 0.6, 1e-5
    (up, up_T), (down, down_T) = pulled(1.0), pulled(-1.0)
    local = d[case.first[:, None] + np.arange(case.width)]
    whole = points + points.transpose(0, 2, 1, 4, 3)
    by_points = np.einsum("mabij,mbj->mai", whole, local) + mixed * dT
    expected = (up - down) / (2 * h)
    assert np.allclose(by_points, expected, rtol=1e-4, atol=1e-6 * np.abs(expected).max())
    by_T, expected = (mixed * local).sum(axis=(1, 2)) + twice * dT, (up_T - down_T) / (2 * h)
    assert np.allclose(by_T, expected, rtol=1e-4, atol=1e-6 * np.abs(expected).max())


def test_gathering_is_a_sum_over_samples(ask, case, rng):
    spans, span = np.unique(case.first, return_inverse=True)
    numbers, size = 10, 12
    points, mixed = rng.standard_normal((case.m, numbers)), rng.standard_normal((case.m, case.width, case.n))
    places = rng.integers(-1, size, (len(spans), numbers))
    factors = rng.standard_normal((len(spans), numbers))
    entries, total = np.ones(size), np.ones(case.basis.n_control * case.n)
    ask(assembly.gather)(points, mixed, case.first, span, places, factors, entries, total)
    expected = np.ones(size)
    for j in range(case.m):
        for e in range(numbers):
            if places[span[j], e] >= 0:
                expected[places[span[j], e]] += factors[span[j], e] * points[j, e]
    assert np.allclose(entries, expected)
    by_point = np.ones((case.basis.n_control, case.n))
    np.add.at(by_point, case.first[:, None] + np.arange(case.width), mixed)
    assert np.allclose(total, by_point.ravel())


def test_weights_and_outer_products(ask, rng):
    m, k, n = 5, 2, 3
    weight, slopes, others = (rng.standard_normal(shape) for shape in ((m, k), (m, 3, k, n), (m, 3, k, n)))
    gradient = np.ones((m, 3, n))
    ask(assembly.weigh)(weight, slopes, gradient)
    assert np.allclose(gradient, 1.0 + np.einsum("mk,mrkn->mrn", weight, slopes))
    half = np.zeros((m, 6, n, n))
    ask(assembly.add_outer)(weight, slopes, others, half)
    whole = np.zeros((m, 3, 3, n, n))
    for block, (r, c) in enumerate(PAIRS):  # Hessian = M + M^T
        whole[:, r, c] += half[:, block]
        whole[:, c, r] += half[:, block].transpose(0, 2, 1)
    expected = np.einsum("mk,mrki,mckj->mrcij", weight, slopes, others)
    expected = (expected + expected.transpose(0, 2, 1, 4, 3)) / 2.0
    assert np.allclose(whole, expected)


def test_torque_blocks_go_to_the_moving_coordinates(ask, rng):
    m, n_dof, chosen = 4, 5, np.array([1, 3, 4])
    blocks, half = rng.standard_normal((4, m, n_dof, n_dof)), np.zeros((m, 6, 3, 3))
    ask(assembly.add_torque_blocks)(blocks, chosen, half)
    some = blocks[:, :, chosen][:, :, :, chosen]
    for k, expected in enumerate([some[0] / 2, some[1], some[3], some[2] / 2, 0 * some[0], 0 * some[0]]):
        assert np.allclose(half[:, k], expected)


@pytest.mark.parametrize(
    "mechanism", [kt.zoo.gripper(), kt.zoo.two_link_prismatic(), kt.zoo.random_tree(4, 9)]
)
def test_load_torques_are_those_of_inverse_dynamics(ask, rng, mechanism):
    tree, m = mechanism.tree, 3
    q = rng.standard_normal((m, mechanism.n_dof))
    names = mechanism.body_names
    loads = [
        kt.Wrench(
            names[-1], force=rng.standard_normal(3), moment=rng.standard_normal(3), point=(0.1, 0.2, 0.3)
        ),
        kt.Wrench(names[0], force=rng.standard_normal(3), point=(0.3, 0, 0.1), frame="body"),
    ]
    moments = np.broadcast_to(load_moments(mechanism, tree, tuple(loads)), (m, assembly.LOAD * tree.n)).copy()
    pose, rates = np.empty((m, 12 * tree.n)), [np.empty((m, 6 * tree.n)) for _ in range(2)]
    still = np.zeros_like(q)
    prepared(KINEMATICS, tree).fill([q, still, still], [pose, *rates])
    tau = np.zeros_like(q)
    ask(assembly.add_load_torques)(pose, tree.parent, tree.turns, moments, tau)
    loaded = kt.inverse_dynamics(mechanism, q, still, still, loads, formulation="newton_euler")
    free = kt.inverse_dynamics(mechanism, q, still, still, formulation="newton_euler")
    assert np.allclose(tau, loaded - free, atol=1e-10)


def test_every_function_is_tested():
    names = {function.__name__ for function in assembly.SIGNATURES}
    text = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in names if f"assembly.{name})" not in text] == []
