"""Distances of capsules and boxes, and motions that keep them, checked by brute force between the samples."""

from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion.options import Search
from kinetree.motion.outcome.passing import passing_instants
from kinetree.motion.outcome.verify import fine_grid, verified
from kinetree.motion.predict import cheaper_start
from kinetree.motion.terms.apart import nearest_of_segments, nearest_to_box, signed_distance
from kinetree.motion.tightening import violation_peaks
from kinetree.terms import Boundary, KeepOut, Time, TorqueLimits

ALONG = np.linspace(0.0, 1.0, 401)


def by_brute_force(a0, a1, b0, b1):
    """The least distance of points of two segments."""
    a = a0 + ALONG[:, None] * (a1 - a0)
    b = b0 + ALONG[:, None] * (b1 - b0)
    return np.linalg.norm(a[:, None] - b[None], axis=2).min()


def outside_box(points, half):
    return np.linalg.norm(np.maximum(np.abs(points) - half, 0.0), axis=-1)


def test_segments_of_all_kinds():
    rng = np.random.default_rng(4)
    P = rng.normal(size=(60, 4, 3))
    P[:10, 3] = P[:10, 2] + 0.5 * (P[:10, 1] - P[:10, 0])  # parallel
    P[10:15, 1] = P[10:15, 0]  # a sphere
    P[15:18, 3] = P[15:18, 2]
    z, free = nearest_of_segments(P, 1e-10)
    p = P[:, 0] + z[:, :1] * (P[:, 1] - P[:, 0]) - P[:, 2] - z[:, 1:] * (P[:, 3] - P[:, 2])
    expected = np.array([by_brute_force(*rows) for rows in P])
    found = np.linalg.norm(p, axis=1)
    assert (found <= expected + 1e-6).all()
    assert np.abs(found - expected).max() < 1e-2  # the grid is coarse where segments nearly meet
    assert free.any() and not free.all()


def test_segments_and_boxes():
    rng = np.random.default_rng(5)
    half = np.array([0.3, 0.5, 0.2])
    y = rng.normal(size=(80, 2, 3))
    t, _ = nearest_to_box(y, half, 1e-10)
    p = y[:, 0] + t[:, None] * (y[:, 1] - y[:, 0])
    value, _, _ = signed_distance(p, half)
    points = y[:, :1] + ALONG[:, None] * (y[:, 1] - y[:, 0])[:, None]
    expected = outside_box(points, half).min(axis=1)
    apart = expected > 0.0
    assert apart.sum() > 20 and (~apart).sum() > 5
    assert np.abs(value[apart] - expected[apart]).max() < 1e-3
    assert (value[apart] <= expected[apart] + 1e-9).all()
    assert (value[~apart] < 0.01).all()


def test_signed_distance_by_differences():
    rng = np.random.default_rng(6)
    half = np.array([0.3, 0.5, 0.2])
    y = rng.uniform(-1, 1, size=(200, 3)) * np.where(rng.uniform(size=(200, 1)) < 0.5, half * 0.97, 1.5)
    y = y[np.abs(np.abs(y) - half).min(axis=1) > 1e-3]
    value, slope, bend = signed_distance(y, half)
    h = 1e-6
    for k, step in enumerate(h * np.eye(3)):
        up, down = signed_distance(y + step, half), signed_distance(y - step, half)
        assert np.abs((up[0] - down[0]) / (2 * h) - slope[:, k]).max() < 1e-6
        assert np.abs((up[1] - down[1]) / (2 * h) - bend[:, :, k]).max() < 1e-3
    inside = (np.abs(y) < half).all(axis=1)
    assert (value[inside] < 0.0).all() and (value[~inside] > 0.0).all()
    assert (np.linalg.eigvalsh(bend) > -1e-7).all()  # convex, so that the nearest point can be bisected
    surface = np.array([[0.3, 0.1, 0.05], [-0.1, 0.5, 0.0], [0.0, 0.0, -0.2]])
    assert np.abs(signed_distance(surface * 0.99999, half)[0]).max() < 1e-5


def planar():
    """Two links of 0.5 and 0.4 m in a horizontal plane."""
    return kt.zoo.two_link(length=(0.5, 0.4))


def problem(*terms, robot=None, **more):
    ends = [kt.terms.Boundary("start", [0.2, -0.4], 0.0), kt.terms.Boundary("end", [1.6, -0.4], 0.0)]
    return kt.Problem(
        planar() if robot is None else robot,
        objective=kt.terms.Time(),
        constraints=[*ends, kt.terms.TorqueLimits(20.0), *terms],
        limits="none",
        **more,
    )


def link_points(robot, q):
    """Points along the second link, (m, 401, 3)."""
    R, p = kt.forward_kinematics(robot, q)["link2"]
    return p[:, None] + (R @ (ALONG[:, None] * [0.4, 0, 0]).T).swapaxes(1, 2)


def test_an_arm_moves_round_a_box():
    robot = planar()
    center, size, radius = np.array([0.22, 0.3, 0.0]), np.array([0.1, 0.1, 0.3]), 0.03
    box = kt.terms.KeepOutBox("link2", center, size, end=(0.4, 0, 0), radius=radius, clearance=0.01)
    free = kt.predict(problem())
    least = outside_box(link_points(robot, free.q) - center, size / 2).min()
    assert least < radius  # it is in the way
    best = kt.predict(problem(box))
    assert best.solved
    assert best.duration > free.duration
    q = best.at(np.linspace(0.0, best.duration, 1500))[0]
    least = outside_box(link_points(robot, q) - center, size / 2).min()
    assert least > radius + 0.01 - 5e-4  # also between the samples
    assert any("keep-out box" in str(x.family) for x in best.active)
    assert best.result.passed


def test_links_of_one_arm_keep_apart():
    robot = planar()
    apart = kt.terms.KeepApart(
        "link2",
        "world",
        end=(0.4, 0, 0),
        radius=0.03,
        of_start=(0.55, 0.5, -0.2),
        of_end=(0.55, 0.5, 0.2),
        of_radius=0.05,
    )
    best = kt.predict(problem(apart))
    assert best.solved
    q = best.at(np.linspace(0.0, best.duration, 1500))[0]
    points = link_points(robot, q)
    assert np.linalg.norm(points[..., :2] - [0.55, 0.5], axis=-1).min() > 0.08 - 5e-4
    assert best.result.passed


def tip(robot, q):
    R, p = kt.forward_kinematics(robot, q)["link2"]
    return p + R @ [0.4, 0, 0]


def crossed(found, center, width):
    """Whether the tip is in the plate at any of very many instants, by forward kinematics alone."""
    q = found.at(np.linspace(0.0, found.duration, 100_001))[0]
    away = np.abs(tip(planar(), q) - center)
    return bool((away < [0.49 * width, 0.149, 0.149]).all(axis=1).any())


@pytest.fixture(scope="module")
def free():
    return kt.predict(problem(segments=8))


@pytest.mark.parametrize("width", [5e-3, 5e-4, 1e-4, 1e-6])
@pytest.mark.parametrize("kind", ["plate", "rod"])
def test_thin_obstacles_are_seen_between_instants(free, kind, width):
    """What the tip crosses at full speed, midway between points of the usual grid."""
    fine = fine_grid(free.problem)
    s = 0.5 * (fine[40] + fine[41])
    x, y, _ = center = tip(planar(), free.at([s * free.duration])[0])[0]
    ends = {"of_start": (x, y, -0.1), "of_end": (x, y, 0.1)}
    if kind == "plate":
        obstacle = kt.terms.KeepOutBox("link2", center, (width, 0.3, 0.3), start=(0.4, 0, 0))
        assert crossed(free, center, width) or width < 1e-5
    else:
        obstacle = kt.terms.KeepApart("link2", start=(0.4, 0, 0), **ends, of_radius=width / 2)
    asked = problem(obstacle, segments=8)
    rows = asked.bounded[-1]
    values = rows.function.values(asked.evaluation(fine, free.x).everywhere)
    assert values.min() > rows.lower  # the grid sees nothing
    check = verified(asked, free.x)
    assert check.anywhere > 0.3 and check.violations[0].family == rows.family
    passed = replace(free, problem=asked, check=check)
    assert passed.solved_at_samples and not passed.solved and passed.exit_code == 3
    assert passed.status.startswith("Solved at the samples only")
    peaks = violation_peaks(passed, 0.01)
    assert np.abs(peaks - s).min() < 1e-4


def test_a_far_obstacle_costs_nothing(free):
    far = kt.terms.KeepApart("link2", start=(0.4, 0, 0), of_start=(-0.5, 0, 0), of_radius=1e-3)
    asked, fine = problem(far, segments=8), fine_grid(free.problem)
    assert len(passing_instants(asked, asked.bounded[-1], free.x, fine)) == len(fine)


@pytest.mark.parametrize("width", [0.02, 1e-3])
def test_what_is_called_solved_does_not_pass_through(width):
    center = [0.55, 0.55, 0.0]
    plate = kt.terms.KeepOutBox("link2", center, (width, 0.3, 0.3), start=(0.4, 0, 0))
    found = kt.predict(problem(plate))
    assert found.solved == (found.max_violation <= 0.01) == found.result.passed
    assert not (found.solved and crossed(found, center, width))
    assert found.solved or found.status.startswith("Solved at the samples only")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: kt.terms.KeepApart("a", "b"), "radius or a clearance"),
        (lambda: kt.terms.KeepApart("a", "b", radius=-0.1), "radius of 'a' must be >= 0"),
        (lambda: kt.terms.KeepApart("a", "a", radius=0.1), "itself"),
        (lambda: kt.terms.KeepApart("a", radius=0.1, end=(0, 1)), "end on 'a'"),
        (lambda: kt.terms.KeepOutBox("a", (0, 0, 0), (1, 0, 1)), "size must be > 0"),
        (lambda: kt.terms.KeepOutBox("a", (0, 0, 0), (1, 1)), "size of the box"),
        (lambda: kt.terms.KeepOutBox("a", (0, 0, 0), (1, 1, 1), rotation=np.ones((3, 3))), "rotation"),
        (lambda: kt.terms.KeepOutBox("a", (0, 0, 0), (1, 1, 1), clearance=np.nan), "clearance"),
        (lambda: kt.terms.KeepOutBox("a", (0, 0, 0), (1, 1, 1), of="a"), "its own|of its own"),
        (lambda: problem(kt.terms.KeepOutBox("link9", (0, 0, 0), (1, 1, 1))).n_constraints, "link9"),
    ],
)
def test_bad_obstacles(make, words):
    with pytest.raises(kt.errors.InputError, match=words):
        make()


def test_the_long_way_around_an_obstacle_is_named():
    """A gantry passes a sphere on its far side, or on its near side, where least time takes half as long."""
    build = kt.Builder("gantry", gravity=(0, 0, 0))
    beam = build.world.prismatic("x", axis="x").body("beam", kt.Inertia.point(1e-6))
    beam.prismatic("y", axis="y").body("tool", kt.Inertia.point(1.0))
    asked = kt.Problem(
        build.build(),
        objective=Time(),
        constraints=[
            Boundary("start", [-1.0, 0.0], 0.0),
            Boundary("end", [1.0, 0.0], 0.0),
            TorqueLimits(1.0),
            KeepOut("tool", (0.0, 1.4, 0.0), 1.5),
        ],
    )
    s = np.linspace(0.0, 1.0, 20)
    ways = [np.stack([2.0 * s - 1.0, height * np.sin(np.pi * s)], axis=1) for height in (-0.3, 3.3)]
    near, far = (kt.predict(asked, start=(4.0 * s, way)) for way in ways)
    assert near.solved and far.solved and far.duration > 1.4 * near.duration
    assert not near.explanation.advice
    (hint,) = far.explanation.advice
    assert "keep-out sphere" in hint and "starts=6" in hint
    other = cheaper_start(asked, far, Search())
    assert other.objective == pytest.approx(near.objective, rel=1e-2) and other.iterations <= 60
    assert near.cheaper is None and far.cheaper is None  # where a start is given, it is meant
    assert cheaper_start(asked, near, Search()) is None
    named = replace(far, cheaper=other).explanation.advice[0]
    assert "from the other side of the obstacles" in named and "cheaper" in named
    assert "starts=6" in str(replace(far, cheaper=other).to_result().messages)
