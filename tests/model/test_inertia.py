"""Inertias against sums over mass elements, and what no body can have."""

import dataclasses

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss

import kinetree as kt
from support.cases import assert_close
from support.each import each
from support.trees import inertia as random_inertia
from support.trees import placement


def from_elements(masses, points):
    """Mass, center and moment about it of a cloud of mass elements."""
    mass = masses.sum()
    center = masses @ points / mass
    r = points - center
    square = np.einsum("ki,ki->k", r, r)
    moment = np.einsum("k,kij->ij", masses, square[:, None, None] * np.eye(3) - r[:, :, None] * r[:, None, :])
    return mass, center, moment


def assert_inertia(found, masses, points, tolerance=1e-12):
    mass, center, moment = from_elements(masses, points)
    assert_close(found.mass, mass, tolerance)
    assert_close(found.center, center, tolerance)
    assert_close(found.moment, moment, tolerance)


def on_line(mass, start, end, order=4):
    """Gauss points of a uniform rod: exact for quadratic moments."""
    x, w = leggauss(order)
    s = (0.5 * (x + 1))[:, None]
    return mass * w / 2, (1 - s) * np.asarray(start, float) + s * np.asarray(end, float)


def product_rule(*rules):
    """Weights and points of a product of one-dimensional rules [(points, weights), ...]."""
    grids = np.meshgrid(*[p for p, _ in rules], indexing="ij")
    weights = np.meshgrid(*[w for _, w in rules], indexing="ij")
    return np.prod([w.ravel() for w in weights], axis=0), np.stack([g.ravel() for g in grids], axis=-1)


def gauss(low, high, order=6):
    x, w = leggauss(order)
    return 0.5 * (high - low) * x + 0.5 * (high + low), 0.5 * (high - low) * w


def round_angle(order=8):
    return np.arange(order) * 2 * np.pi / order, np.full(order, 2 * np.pi / order)


def test_point():
    assert_inertia(kt.Inertia.point(2.0, (1, 2, 3)), np.array([2.0]), np.array([[1.0, 2, 3]]))


def test_rod(rng):
    start, end = rng.uniform(-1, 1, (2, 3))
    assert_inertia(kt.Inertia.rod(1.7, end, start), *on_line(1.7, start, end))


def test_box(rng):
    size, center = rng.uniform(0.1, 1, 3), rng.uniform(-1, 1, 3)
    w, x = product_rule(*[gauss(-s / 2, s / 2) for s in size])
    assert_inertia(kt.Inertia.box(3.0, size, center), 3.0 * w / w.sum(), x + center)


def test_cylinder(rng):
    radius, length, axis = 0.3, 0.8, rng.standard_normal(3)
    w, (r, a, z) = (lambda t: (t[0], t[1].T))(
        product_rule(gauss(0, radius), round_angle(), gauss(-length / 2, length / 2))
    )
    w, local = w * r, np.stack([r * np.cos(a), r * np.sin(a), z], axis=-1)
    unit = axis / np.linalg.norm(axis)
    across = np.linalg.svd(unit[None])[2][1:]
    x = local @ np.vstack([across, unit])
    assert_inertia(kt.Inertia.cylinder(2.0, radius, length, axis), 2.0 * w / w.sum(), x)
    moved = kt.Inertia.cylinder(2.0, radius, length, axis, center=(1, 2, 3))
    assert_inertia(moved, 2.0 * w / w.sum(), x + np.array([1, 2, 3]))


def test_sphere():
    w, x = product_rule(gauss(0, 0.4), round_angle(), gauss(-1, 1))
    r, a, c = x.T
    s = np.sqrt(1 - c**2)
    points = np.stack([r * s * np.cos(a), r * s * np.sin(a), r * c], axis=-1)
    w = w * r**2
    assert_inertia(kt.Inertia.sphere(5.0, 0.4, (1, 0, 2)), 5.0 * w / w.sum(), points + np.array([1, 0, 2]))


@pytest.mark.parametrize(("a", "b"), [(0.4, 0.2), (-0.4, 0.2), (0.3, 0.0), (0.0, -0.5)])
def test_bent_rod(a, b):
    """[Mohan2007]: b along z, then a along x, the same mass per length; a payload at the end."""
    m, payload = 2.0, 0.3
    rho = m / (abs(a) + abs(b))
    w1, x1 = on_line(rho * abs(b), (0, 0, 0), (0, 0, b))
    w2, x2 = on_line(rho * abs(a), (0, 0, b), (a, 0, b))
    masses = np.concatenate([w1, w2, [payload]])
    points = np.concatenate([x1, x2, [[a, 0, b]]])
    assert_inertia(kt.Inertia.bent_rod(m, a, b, payload), masses, points)


def test_hub_of_a_bent_rod_turns_about_z_only():
    plain, hub = kt.Inertia.bent_rod(2.0, 0.4, 0.2), kt.Inertia.bent_rod(2.0, 0.4, 0.2, hub=0.7)
    assert_close(hub.moment - plain.moment, np.diag([0, 0, 0.7]))
    assert hub.mass == plain.mass
    assert_close(kt.Inertia.bent_rod(0.0, 0.0, 0.0, hub=0.7).moment, np.diag([0, 0, 0.7]))


def test_moving_and_adding_are_those_of_the_elements(rng):
    w, x = rng.uniform(0.1, 1, 8), rng.uniform(-1, 1, (8, 3))
    place = placement(rng)
    cloud = sum((kt.Inertia.point(*p) for p in zip(w, x, strict=True)), kt.Inertia())
    assert_inertia(cloud, w, x)
    moved = cloud.moved(place)
    assert_inertia(moved, w, x @ place.rotation.T + place.position)
    both = cloud + moved
    assert_inertia(both, np.tile(w, 2), np.vstack([x, x @ place.rotation.T + place.position]))
    assert cloud + kt.Inertia() == cloud == kt.Inertia() + cloud


def test_moments_about_the_origin(rng):
    body = random_inertia(rng)
    w, x = rng.uniform(0.1, 1, 6), rng.uniform(-1, 1, (6, 3))
    cloud = sum((kt.Inertia.point(*p) for p in zip(w, x, strict=True)), kt.Inertia())
    assert_close(cloud.first_moment, w @ x)
    assert_close(cloud.second_moment, np.einsum("k,ki,kj->ij", w, x, x))
    about = kt.Inertia.about_origin(body.mass, body.center, body.moment_about_origin)
    assert_close(about.moment, body.moment)
    S = cloud.second_moment
    assert_close(cloud.moment_about_origin, np.trace(S) * np.eye(3) - S)


def test_massless_inertia_and_diagonals():
    rotor = kt.Inertia(0.0, moment=(0, 0, 1.0), allow_unphysical=True)
    assert not rotor.is_zero and kt.Inertia().is_zero and not kt.Inertia.point(1.0).is_zero
    assert_close((rotor + kt.Inertia.point(2.0, (1, 0, 0))).moment, np.diag([0, 0, 1.0]))
    assert np.array_equal(kt.Inertia(1.0, moment=(1, 2, 2.5)).moment, np.diag([1, 2, 2.5]))


def test_inertias_are_immutable_values():
    given = np.array([0.1, 0.2, 0.3])
    a, b = kt.Inertia(1.0, given, (1, 1, 1)), kt.Inertia(1.0, (0.1, 0.2, 0.3), np.eye(3))
    given[0] = 7.0
    assert a == b and hash(a) == hash(b) and a.center[0] == 0.1
    assert a != kt.Inertia(1.0, (0.1, 0.2, 0.3), (1, 1, 1.5)) and a != 3
    negative = kt.Inertia(1.0, (-0.0, 0.0, 0.0))
    assert negative == kt.Inertia(1.0) and hash(negative) == hash(kt.Inertia(1.0))
    with pytest.raises(ValueError, match="read-only"):
        a.moment[0, 0] = 5.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        a.mass = 2.0


def test_published_data_may_break_the_triangle_inequality():
    """[Shah2013], Table 6.6, link 6."""
    moment = (3e-6, 1e-6, 1e-6)
    with pytest.raises(
        kt.errors.ModelError, match=r"triangle inequality.*1e-06, 1e-06, 3e-06.*allow_unphysical"
    ):
        kt.Inertia(1.0, moment=moment)
    assert kt.Inertia(1.0, moment=moment, allow_unphysical=True).moment[0, 0] == 3e-6
    turned = kt.Inertia(1.0, moment=moment, allow_unphysical=True).moved(kt.Placement.at(rpy=(1, 2, 3)))
    assert turned.allow_unphysical


def test_rods_are_physical_in_any_direction(rng):
    for _ in range(50):
        rod = kt.Inertia.rod(rng.uniform(1e-6, 1e6), rng.uniform(-100, 100, 3), rng.uniform(-100, 100, 3))
        moved = rod.moved(placement(rng, 100.0))  # a rod has the largest moments a body can have
        assert moved.mass == rod.mass
        assert_close(np.linalg.eigvalsh(moved.moment), np.linalg.eigvalsh(rod.moment), 1e-10)


BAD = {
    "negative mass": (lambda: kt.Inertia(-1.0), "mass must be >= 0 kg, got -1"),
    "nan mass": (lambda: kt.Inertia(np.nan), "mass must be finite"),
    "text mass": (lambda: kt.Inertia("heavy"), "mass must be real numbers, got 'heavy'"),
    "no mass": (lambda: kt.Inertia(None), "mass must be a number, got None"),
    "true mass": (lambda: kt.Inertia(True), "mass must be a number, got True"),
    "masses": (lambda: kt.Inertia([1.0, 2.0]), "mass must be one number"),
    "center of two": (lambda: kt.Inertia(1.0, (0, 0)), "center of mass must be a vector of 3 numbers"),
    "infinite center": (
        lambda: kt.Inertia(1.0, (0, 0, np.inf)),
        "center of mass must be finite, got inf at index 2",
    ),
    "moment of six": (lambda: kt.Inertia(1.0, moment=np.ones(6)), r"3 numbers \(its diagonal\) or a 3 x 3"),
    "asymmetric": (
        lambda: kt.Inertia(1.0, moment=[[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]),
        "symmetric.*0.1",
    ),
    "negative moment": (lambda: kt.Inertia(1.0, moment=(1, 1, -0.1)), "positive semidefinite.*-0.1"),
    "triangle": (lambda: kt.Inertia(1.0, moment=(1, 1, 2.1)), "triangle inequality"),
    "nan moment": (lambda: kt.Inertia(1.0, moment=(1, 1, np.nan)), "inertia must be finite"),
    "negative box": (lambda: kt.Inertia.box(1.0, (1, -1, 1)), "size of the box must be finite and >= 0"),
    "box of two": (lambda: kt.Inertia.box(1.0, (1, 1)), "size of the box must be a vector of 3"),
    "negative sphere": (lambda: kt.Inertia.sphere(1.0, -1.0), "radius of the sphere.*>= 0 m, got"),
    "text sphere": (lambda: kt.Inertia.sphere(1.0, "big"), "radius of the sphere must be"),
    "nan cylinder": (lambda: kt.Inertia.cylinder(1.0, 1.0, np.nan), "radius and length of the cylinder"),
    "text cylinder": (
        lambda: kt.Inertia.cylinder(1.0, "a", 1.0),
        "radius and length of the cylinder must be",
    ),
    "cylinder axis": (lambda: kt.Inertia.cylinder(1.0, 1.0, 1.0, axis=(0, 0, 0)), "axis of the cylinder"),
    "cylinder mass": (lambda: kt.Inertia.cylinder(-1.0, 1.0, 1.0), "mass|positive"),
    "rod end": (lambda: kt.Inertia.rod(1.0, (1, 0)), "end of the rod must be a vector of 3"),
    "bent point": (lambda: kt.Inertia.bent_rod(1.0, 0.0, 0.0), "bent rod of mass 1 kg needs a length"),
    "negative hub": (
        lambda: kt.Inertia.bent_rod(1.0, 1.0, 0.0, hub=-1.0),
        "hub inertia of the bent rod must be >= 0",
    ),
    "far origin": (
        lambda: kt.Inertia.about_origin(1.0, (1, 0, 0), np.zeros((3, 3))),
        "positive semidefinite",
    ),
}


@each("bad", BAD)
def test_what_no_body_has(bad):
    call, message = BAD[bad]
    with pytest.raises(kt.errors.ModelError, match=f"(?s){message}"):
        call()
