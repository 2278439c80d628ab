"""B-splines against SciPy, closed forms of the uniform cubic, and their own identities."""

import numpy as np
import pytest
from scipy.interpolate import BSpline

from kinetree.algebra.bspline import BSplineBasis
from kinetree.errors import InputError
from support.each import each

CASES = {
    "linear": BSplineBasis.uniform(4, degree=1),
    "cubic": BSplineBasis.uniform(6),
    "cubic unclamped": BSplineBasis.uniform(6, clamped=False),
    "quintic own breaks": BSplineBasis.on([0, 0.1, 0.35, 0.36, 0.8, 1], degree=5),
    "double knot": BSplineBasis.on([0, 0.25, 0.5, 0.5, 0.75, 1]),
    "unequal unclamped": BSplineBasis.on([0, 0.1, 0.15, 0.4, 0.7, 1], clamped=False),
    "triple knot unclamped": BSplineBasis.on([0, 0.3, 0.3, 0.3, 1], clamped=False),
    "one segment": BSplineBasis.uniform(1, degree=4),
}


@pytest.fixture(params=CASES)
def basis(request):
    return CASES[request.param]


def test_values_and_derivatives_agree_with_scipy(basis, rng):
    s = np.concatenate([rng.uniform(size=40), basis.breaks])
    points = rng.standard_normal((basis.n_control, 2))
    scipy = BSpline(basis.knots, points, basis.degree, extrapolate=True)
    for k in range(basis.degree + 1):
        inside = s if k < basis.degree else s[s < 1.0]  # SciPy takes the other side of a jump at the end
        expected = scipy(inside, k)
        assert np.allclose(basis.matrix(inside, k) @ points, expected, rtol=1e-11, atol=1e-11 * 20.0**k)


def test_derivatives_beyond_the_degree_are_zero(basis):
    assert basis.matrix([0.2, 0.9], basis.degree + 1).count_nonzero() == 0


def test_partition_of_unity_and_linear_precision(basis, rng):
    s = rng.uniform(size=30)
    assert np.allclose(basis.matrix(s) @ np.ones(basis.n_control), 1.0, atol=1e-14)
    assert np.allclose(basis.matrix(s) @ basis.greville, s, atol=1e-13)
    assert (basis.local(s)[1] >= 0.0).all()


def test_uniform_cubic_has_the_documents_functions():
    """[Xiang2009], section 5: between the knots, the four uniform cubic blending functions."""
    u = np.linspace(0, 0.999, 7)
    first, values = BSplineBasis.uniform(10, clamped=False).local((3 + u) / 10)
    blend = np.stack([(1 - u) ** 3, 3 * u**3 - 6 * u**2 + 4, -3 * u**3 + 3 * u**2 + 3 * u + 1, u**3], 1) / 6
    assert (first == 3).all()
    assert np.allclose(values[:, 0], blend, atol=1e-13)


def test_clamped_ends_are_the_end_points(rng):
    basis = BSplineBasis.uniform(5)
    points = rng.standard_normal(basis.n_control)
    assert np.allclose(basis.matrix([0.0, 1.0]) @ points, points[[0, -1]], atol=1e-14)


def test_knot_insertion_keeps_the_curve(basis, rng):
    new = np.sort(rng.uniform(0.01, 0.99, 5))
    fine, insert = basis.refined(new)
    points = rng.standard_normal(basis.n_control)
    s = rng.uniform(size=50)
    assert fine.n_control == basis.n_control + 5
    for k in range(2):
        old, found = basis.matrix(s, k) @ points, fine.matrix(s, k) @ (insert @ points)
        assert np.allclose(found, old, rtol=1e-10, atol=1e-10)


def test_a_repeated_knot_can_be_inserted_up_to_the_degree(rng):
    basis = BSplineBasis.uniform(4)
    fine, insert = basis.refined([0.5, 0.5])
    points, s = rng.standard_normal(basis.n_control), rng.uniform(size=20)
    assert np.allclose(fine.matrix(s) @ (insert @ points), basis.matrix(s) @ points, atol=1e-12)
    with pytest.raises(InputError, match=r"0\.5 would be repeated more than 3 times"):
        fine.refined([0.5])


def test_a_double_knot_lets_the_second_derivative_jump():
    basis = BSplineBasis.on([0, 0.5, 0.5, 1])
    bend = basis.matrix([0.5 - 1e-9, 0.5], 2).toarray()
    slope = basis.matrix([0.5 - 1e-9, 0.5], 1).toarray()
    assert np.abs(bend[0] - bend[1]).max() > 1.0
    assert np.abs(slope[0] - slope[1]).max() < 1e-6


def test_fit_finds_a_curve_of_the_space(basis, rng):
    points = rng.standard_normal((basis.n_control, 3))
    s = np.linspace(0, 1, 15 * basis.n_control)
    assert np.allclose(basis.fitted(s, basis.matrix(s) @ points), points, atol=1e-8)


@each(
    ("make", "message"),
    [
        (lambda: BSplineBasis.uniform(0), "from 1 to 100000, got 0"),
        (lambda: BSplineBasis.uniform(2.0), "integer"),
        (lambda: BSplineBasis.uniform(2, degree=0), "degree must be .* got 0"),
        (lambda: BSplineBasis.on([0, 0.7, 0.5, 1]), "ascend"),
        (lambda: BSplineBasis.on([0, 0, 0.5, 1]), "neither end repeated"),
        (lambda: BSplineBasis.on([0.1, 1]), "from 0 to 1"),
        (lambda: BSplineBasis.on([0, 0.5, 0.5, 1], degree=1), "at most 1 times"),
        (lambda: BSplineBasis.on([0, np.nan, 1]), "finite"),
        (lambda: BSplineBasis([0, 0, 1, 1], 3), "at least 8 knots"),
        (lambda: BSplineBasis([0, 0.2, 0.4, 1, 1.1], 1), "must be 0 and 1"),
        (lambda: BSplineBasis([0.5, 0, 1, 1], 1), "ascend"),
        (lambda: BSplineBasis.uniform(2).local([1.5]), "from 0 to 1"),
        (lambda: BSplineBasis.uniform(2).local([0.5], -1), "at least 0"),
        (lambda: BSplineBasis.uniform(2).refined([1.0]), "between 0 and 1"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(InputError, match=message):
        make()
