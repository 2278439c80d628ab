"""Lengths and moment arms of muscles beside OpenSim's, brute-force shortest paths and differences."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

import kinetree as kt
from kinetree.model import Muscle, PathPoint, PathWrap, Wrap
from support.opensim_arm import HIGH, LOW, SHAPES, arm, opensim_arm, path_muscles, wraps

Q = np.random.default_rng(1).uniform(-1.4, 1.4, (60, 2))
ROUNDING = 1e-12


@pytest.fixture(scope="module")
def here():
    return arm(path_muscles(), wraps())


@pytest.fixture(scope="module")
def there():
    pytest.importorskip("opensim")
    return opensim_arm(path_muscles(), wraps())


def test_points_are_where_opensim_has_them(here, there):
    length = kt.muscles.lengths(here, Q)
    for i, name in enumerate(("straight", "conditional", "moving")):
        theirs = [there.length(name, q) for q in Q]
        assert np.abs(length[:, i] - theirs).max() < ROUNDING


def test_moment_arms_are_those_of_opensim(here, there):
    arms = kt.muscles.moment_arms(here, Q)
    for i, name in enumerate(("straight", "conditional")):
        assert np.abs(arms[:, i] - [there.arms(name, q) for q in Q]).max() < ROUNDING


@pytest.mark.parametrize("shape", ["cylinder", "sphere", "ellipsoid"])
def test_wraps_are_never_longer_than_in_opensim(here, there, shape):
    i = [muscle.name for muscle in here.muscles].index(f"around_{shape}")
    more = kt.muscles.lengths(here, Q)[:, i] - [there.length(f"around_{shape}", q) for q in Q]
    assert more.max() < (1e-6 if shape == "ellipsoid" else ROUNDING)  # OpenSim's ends inside the ellipsoid
    assert more.min() > -5e-4


def test_moment_arms_are_slopes_of_lengths(here):
    h, arms = 1e-6, kt.muscles.moment_arms(here, Q)
    for j in range(2):
        ahead, behind = (kt.muscles.lengths(here, Q + s * h * np.eye(2)[j]) for s in (1, -1))
        difference = (ahead - behind) / (2 * h)
        smooth = np.abs(difference) < 1.0  # not across the end of a conditional point's range
        assert smooth.mean() > 0.99
        assert np.abs(difference + arms[:, :, j])[smooth].max() < 1e-8


def test_rates_are_slopes_in_time(here):
    qd = np.array([0.7, -1.1])
    assert np.allclose(
        kt.muscles.rates(here, Q, np.broadcast_to(qd, Q.shape)),
        -kt.muscles.moment_arms(here, Q) @ qd,
        atol=1e-15,
    )


def surface(shape, radii, u, v):
    """A point of the surface of a shape by two numbers."""
    r = radii[0]
    if shape == "cylinder":
        return np.stack([r * np.cos(u), r * np.sin(u), v])
    if shape == "torus":
        rho = radii[1] + r * np.cos(v)
        return np.stack([rho * np.cos(u), rho * np.sin(u), r * np.sin(v)])
    a, b, c = radii if shape == "ellipsoid" else (r, r, r)
    return np.stack([a * np.cos(u) * np.cos(v), b * np.sin(u) * np.cos(v), c * np.sin(v)])


def numbers_of(shape, radii, x):
    """The two numbers of a point of the surface."""
    if shape == "cylinder":
        return np.array([np.arctan2(x[1], x[0]), x[2]])
    if shape == "torus":
        return np.array([np.arctan2(x[1], x[0]), np.arctan2(x[2], np.hypot(x[0], x[1]) - radii[1])])
    a, b, c = radii if shape == "ellipsoid" else radii * 3
    return np.array([np.arctan2(x[1] / b, x[0] / a), np.arcsin(x[2] / c)])


def brute_force(shape, radii, a, b, start, end):
    """The least length of straight, curve, straight, the curve of polynomials of degree 8 on the surface.

    The straight lines may not enter the surface: both points are on the outer side of its planes at the ends.
    """
    x, w = np.polynomial.legendre.leggauss(40)
    x, w = 0.5 * (x + 1), 0.5 * w
    basis = np.polynomial.chebyshev.chebvander(2 * x - 1, 8)
    slope = np.stack(
        [
            2 * np.polynomial.chebyshev.chebval(2 * x - 1, np.polynomial.chebyshev.chebder(e))
            for e in np.eye(9)
        ],
        axis=1,
    )
    ends = np.polynomial.chebyshev.chebvander(np.array([-1.0, 1.0]), 8)
    scale = np.array([1.0, radii[0] if shape == "cylinder" else 1.0])

    def length(z):
        c = z.reshape(9, 2) * scale
        (u, v), (du, dv) = (basis @ c).T, (slope @ c).T
        h = 1e-30
        speed = surface(shape, radii, u + 1j * h * du, v + 1j * h * dv).imag / h
        first, last = surface(shape, radii, *(ends @ c).T).T
        return np.linalg.norm(first - a) + w @ np.linalg.norm(speed, axis=0) + np.linalg.norm(b - last)

    def outside(z):
        c, h = z.reshape(9, 2) * scale, 1e-30
        found = []
        for (u, v), point in zip(ends @ c, (a, b), strict=True):
            by_u = surface(shape, radii, u + 1j * h, v + 0j).imag / h
            by_v = surface(shape, radii, u + 0j, v + 1j * h).imag / h
            normal = np.cross(by_u, by_v)
            found.append(normal / np.linalg.norm(normal) @ (point - surface(shape, radii, u, v)))
        return np.array(found)

    z = np.zeros((9, 2))
    one, two = (numbers_of(shape, radii, p) for p in (start, end))
    two[0] = one[0] + (two[0] - one[0] + np.pi) % (2 * np.pi) - np.pi
    z[0], z[1] = 0.5 * (one + two) / scale, 0.5 * (two - one) / scale
    z[1] *= 0.9  # not where it will end
    only = {"type": "ineq", "fun": lambda z: 1e3 * outside(z)}
    found = minimize(
        length, z.ravel(), method="SLSQP", constraints=only, options={"ftol": 1e-15, "maxiter": 500}
    )
    return found.fun


@pytest.mark.parametrize("shape", list(SHAPES))
def test_no_shorter_path_is_found_by_brute_force(here, shape):
    i = [muscle.name for muscle in here.muscles].index(f"around_{shape}")
    wrap = next(x for x in here.wraps if x.name == shape)
    length, seen = kt.muscles.lengths(here, Q)[:, i], 0
    for q, own in zip(Q, length, strict=True):
        points = kt.muscles.paths(here, q)[f"around_{shape}"]
        if len(points) < 4 or seen == 4:
            continue
        R, p = kt.forward_kinematics(here, q)["upper"]
        local = (points - p) @ R
        a, start, end, b = (local - wrap.placement.position) @ wrap.placement.rotation
        assert brute_force(shape, SHAPES[shape], a, b, start, end) == pytest.approx(own, abs=1e-9)
        seen += 1
    assert seen == 4


def test_two_wraps_do_not_depend_on_their_order():
    far = Wrap("far", "fore", "cylinder", kt.Placement.at((0.03, 0.06, 0.02)), 0.02)
    uses = (PathWrap("cylinder"), PathWrap("far"))
    both = [Muscle("one", (HIGH, LOW), uses), Muscle("other", (HIGH, LOW), uses[::-1])]
    mechanism = arm(both, [*wraps(), far])
    length = kt.muscles.lengths(mechanism, Q)
    assert np.abs(length[:, 0] - length[:, 1]).max() < ROUNDING
    wrapped = [len(kt.muscles.paths(mechanism, q)["one"]) for q in Q]
    assert max(wrapped) == 6  # around both
    h = 1e-6
    for j in range(2):
        ahead, behind = (kt.muscles.lengths(mechanism, Q + s * h * np.eye(2)[j]) for s in (1, -1))
        assert np.abs((ahead - behind) / (2 * h) + kt.muscles.moment_arms(mechanism, Q)[..., j]).max() < 1e-8


def test_a_path_that_flips_over_its_cylinder_is_reported():
    bar = Wrap("bar", "world", "cylinder", kt.Placement.at((0.2, 0.0, 0.0)), 0.03, side="+y")
    path = (PathPoint("world", (0.0, 0.06, 0.0)), PathPoint("link1", (0.4, 0.0, 0.0)))
    mechanism = replace(kt.zoo.two_link(), muscles=[Muscle("flips", path, [PathWrap("bar")])], wraps=[bar])
    q = np.linspace([0.6, 0.0], [-3.0, 0.0], 40)
    found = kt.muscles.jumps(mechanism, q)
    assert [jump.muscle for jump in found] == ["flips"]
    jump = found[0]
    straight = np.linalg.norm(np.array([0.4 * np.cos(jump.q[0]), 0.4 * np.sin(jump.q[0]) - 0.06]))
    before, after = (kt.muscles.lengths(mechanism, jump.q + s * 1e-9 * (q[1] - q[0]))[0] for s in (-1, 1))
    assert after - before == pytest.approx(jump.size, abs=1e-8)
    assert min(abs(before - straight), abs(after - straight)) < 1e-8  # on one side it does not go around


def test_limits_of_a_conditional_point_are_reported(here):
    q = np.linspace([0.0, -1.0], [0.0, 1.0], 30)
    jump = kt.muscles.jumps(here, q)[0]
    assert jump.muscle == "conditional"
    assert jump.q[1] == pytest.approx(-0.5 - 1e-5, abs=1e-9)  # OpenSim's slack


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: kt.muscles.lengths(kt.zoo.gripper(), [0, 0, 0, 0]), "'gripper' has no muscles"),
        (lambda: kt.muscles.lengths(kt.zoo.muscle_arm(), [0, np.nan]), "elbow"),
        (lambda: kt.muscles.moment_arms(kt.zoo.muscle_arm(), [0, 0, 0]), "shape"),
        (lambda: kt.muscles.jumps(kt.zoo.muscle_arm(), [0, 0]), "poses of shape"),
        (lambda: kt.muscles.jumps(kt.zoo.muscle_arm(), [[0, 0]], least=0), "least must be > 0 m"),
        (lambda: kt.muscles.paths(kt.zoo.muscle_arm(), [[0, 0]]), "one pose"),
    ],
)
def test_wrong_input_is_refused(call, said):
    with pytest.raises(kt.errors.InputError, match=said):
        call()
