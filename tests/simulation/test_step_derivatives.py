"""Derivatives of steps against differences of steps, and what is not smooth is said."""

from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from kinetree.simulation import stepper as steps

STEP = 3e-6


@pytest.fixture(autouse=True)
def exact_steps(monkeypatch):
    """Differences need steps that are solved to rounding."""
    monkeypatch.setitem(steps.PRESET, "tolerance", 1e-15)
    monkeypatch.setitem(steps.BUDGET, "late", 40)
    monkeypatch.setitem(steps.BUDGET, "cycles", 40)


def level(friction=0.8, normal=(0, 0, 1)):
    return kt.Ground(kt.simulation.Soil(friction=friction), normal=normal)


def product(a, b):
    """Product of quaternions (..., 4)."""
    w, u, x, v = a[..., :1], a[..., 1:], b[..., :1], b[..., 1:]
    return np.concatenate([w * x - (u * v).sum(-1, keepdims=True), w * v + x * u + np.cross(u, v)], axis=-1)


def moved(q, place, by):
    """Coordinates after small changes (n,) along rates; ``place``: where quaternions are."""
    found, at = np.array(q), 0
    k = 0
    while k < len(by):
        if at in place:
            turn = np.concatenate([[1.0], 0.5 * by[k : k + 3]])
            found[at : at + 4] = product(q[at : at + 4], turn / np.linalg.norm(turn))
            at, k = at + 4, k + 3
        else:
            found[at] += by[k]
            at, k = at + 1, k + 1
    return found


def along_rates(new, old, place):
    """Differences of coordinates (nq,) along rates (n,)."""
    found, at = [], 0
    while at < len(old):
        if at in place:
            conjugate = old[at : at + 4] * [1, -1, -1, -1]
            found += list(2.0 * product(conjugate, new[at : at + 4])[1:])
            at += 4
        else:
            found.append(new[at] - old[at])
            at += 1
    return np.array(found)


def differences(stepper, q, qd, tau, aim):
    """Central differences (2 n, 3 n) of fourth order by all of state and torque, all in one batch."""
    n, place = len(qd), [k for k, name in enumerate(stepper.coordinate_names) if name.endswith(".w")]
    starts = [(q, qd, tau)]
    for column in range(3 * n):
        for size in (2, 1, -1, -2):
            by = np.zeros(3 * n)
            by[column] = size * STEP
            starts.append((moved(q, place, by[:n]), qd + by[n : 2 * n], tau + by[2 * n :]))
    x, v, torque = (np.array(part) for part in zip(*starts, strict=True))
    stepper.reset(x, v)
    stepper.step(torque, target=aim)
    new = np.array([along_rates(x, stepper.q[0], place) for x in stepper.q[1:]])
    after = np.concatenate([new, stepper.qd[1:]], axis=1).reshape(3 * n, 4, 2 * n)
    return ((8 * (after[:, 1] - after[:, 2]) - (after[:, 0] - after[:, 3])) / (12 * STEP)).T


def compared(mechanism, states, coordinates="quaternion", **options):
    """Errors of derivatives at states (q, qd, tau), these, and how many contacts touch."""
    n = mechanism.n_dof
    options["coordinates"] = coordinates
    one = kt.Stepper(mechanism, batch=len(states), **options)
    many = kt.Stepper(mechanism, batch=12 * n + 1, **options)
    q, qd, tau = (np.array(part, dtype=float) for part in zip(*states, strict=True))
    one.reset(q, qd)
    slopes, errors = one.step_derivatives(tau, target=np.zeros(n)), []
    for k in range(len(states)):
        expected = differences(many, q[k], qd[k], tau[k], np.zeros(n))
        error = np.abs(np.concatenate([slopes.by_state[k], slopes.by_torque[k]], axis=1) - expected).max()
        errors.append(error / max(1.0, np.abs(expected).max()))
    touching = (np.abs(one.contact.force).sum(axis=-1) > 0).sum(axis=-1)
    return np.array(errors), slopes, touching


def landed(mechanism, pose, count, speed, times, **options):
    """States that have just landed: poses, rates, torques."""
    rng, n = np.random.default_rng(1), mechanism.n_dof
    stepper = kt.Stepper(mechanism, batch=count, coordinates="quaternion", **options)
    start = kt.Stepper(mechanism, batch=count, **options)
    q = np.tile(pose, (count, 1))
    q[:, 3:] += 0.05 * rng.uniform(-1, 1, q[:, 3:].shape)
    q[:, 2] += 5.0
    start.reset(q)
    up = np.array(options["ground"].normal)
    q[:, 2] -= start.contact.gap.min(axis=1) * np.linalg.norm(up) / up[2]
    start.reset(q, speed + 0.2 * rng.uniform(-1, 1, (count, n)))
    if times:
        start.step(target=pose, times=times)
    rows = start.save()
    width = len(stepper.coordinate_names)
    return [(row[:width], row[width : width + n], rng.uniform(-1, 1, n)) for row in rows]


QUADRUPED = kt.zoo.quadruped()
CROUCHED = np.concatenate([np.zeros(6), np.tile(np.radians([0, -30, 60]), 4)])


def four_feet():
    feet = tuple(point for point in QUADRUPED.contact_points if "foot" in point.name)
    return replace(QUADRUPED, contact_points=feet)


def egg():
    """A body with an ellipsoid, a ball and a corner to touch with."""
    build = kt.Builder("egg")
    body = build.world.free("base").body("egg", kt.Inertia.box(1.0, (0.2, 0.3, 0.1), center=(0.01, 0, 0.02)))
    body.contact("ball", at=(0.2, 0.1, -0.05), radius=0.05)
    body.contact("corner", at=(-0.2, 0.1, -0.1))
    egg = build.build()
    shell = kt.ContactPoint("shell", "egg", (0.0, -0.15, 0.0), half_axes=np.diag([0.2, 0.05, 0.1]))
    return replace(egg, contact_points=(*egg.contact_points, shell))


BOX = kt.Inertia.box(0.3, (0.1, 0.2, 0.3), center=(0.1, 0, 0))
SERVOS = {"kp": 200.0, "kd": 10.0, "stops": False}
DOWN = np.array([0.2, 0, -1.0, 0, 0, 0])


@pytest.mark.parametrize(
    ("mechanism", "pose", "speed", "times", "options"),
    [
        (four_feet(), CROUCHED, np.zeros(1), 4, {"ground": level(), **SERVOS}),
        (
            four_feet(),
            CROUCHED,
            0.6 * np.eye(18)[0],
            4,
            {"ground": level(0.2), "kp": 200.0, "kd": 10.0, "stops": False},
        ),
        (egg(), np.zeros(6), np.zeros(1), 60, {"ground": level(0.3, (0.1, 0.2, 1))}),
        (
            egg(),
            np.zeros(6),
            np.array([0.2, 0, -1.0, 0, 0, 0]),
            0,
            {"ground": level(0.1, (0, 0.1, 1)), "restitution": 0.6},
        ),
    ],
    ids=["sticks", "slides", "rolls", "bounces"],
)
def test_contact(mechanism, pose, speed, times, options):
    states = landed(mechanism, pose, 8, speed, times, **options)
    errors, slopes, touching = compared(mechanism, states, **options)
    inside = slopes.margin > 1e-2  # so far that differences stay in the same state of contact
    assert inside.sum() >= 3 and (touching[inside] > 0).sum() >= 2
    assert errors[inside].max() < 1e-8, (errors, slopes.margin)


def test_without_contact():
    """Servos on a free base and on a ball joint, stops that hold, dry friction, followers."""
    rng = np.random.default_rng(2)
    build = kt.Builder("geared")
    rod = kt.Inertia.rod(1.0, end=(0.5, 0, 0))
    one = build.world.revolute("a", axis="y", coulomb=0.3, lower=-0.5, upper=0.5).body("one", rod)
    two = one.revolute("b", axis="z", at=(0.5, 0, 0), coulomb=8.0, viscous=0.1, stiffness=3.0).body(
        "two", rod
    )
    two.spherical("d", at=(0.5, 0, 0)).body("four", BOX)
    arm = build.build()
    found = []
    for mechanism, start in ((QUADRUPED, np.zeros(18)), (arm, np.zeros(5)), (arm, [0.5, 0, 0, 0, 0])):
        n = mechanism.n_dof
        options = {"kp": np.full(n, 50.0), "kd": np.full(n, 5.0)}
        angles = kt.Stepper(mechanism, batch=2, **options)
        angles.reset(start + 0.4 * rng.uniform(-1, 0, (2, n)), rng.uniform(0, 2, (2, n)))
        angles.step(times=30 if n == 5 else 1)
        inner = kt.Stepper(mechanism, batch=2, coordinates="quaternion", **options)
        width = len(inner.coordinate_names)
        states = [(row[:width], row[width : width + n], rng.uniform(-1, 1, n)) for row in angles.save()]
        errors, slopes, _ = compared(mechanism, states, **options)
        inside = slopes.margin > 1e-2
        found += errors[inside].tolist()
    assert len(found) >= 4 and max(found) < 1e-8, found


def test_followers_are_eliminated():
    """Derivatives by the coordinates of a mechanism with mimic joints, which are fewer than its axes."""
    build = kt.Builder("geared")
    rod = kt.Inertia.rod(1.0, end=(0.5, 0, 0))
    one = build.world.revolute("a", axis="y").body("one", rod)
    two = one.revolute("b", axis="y", at=(0.5, 0, 0), mimic=kt.model.Mimic("a", -2.0, 0.1)).body("two", rod)
    two.revolute("c", axis="y", at=(0.5, 0, 0)).body("three", rod)
    states = [([-1.2, 0.2], [0.5, -0.3], [0.1, 0.2])]
    errors, slopes, _ = compared(build.build(), states, "mechanism")
    assert slopes.by_state.shape == (1, 4, 4) and errors.max() < 1e-8 and bool(slopes.smooth[0])


def test_targets_of_servos():
    arm = kt.zoo.kuka_kr5()
    stepper = kt.Stepper(arm, kp=300.0, kd=20.0, stops=False)
    stepper.reset(np.full(6, 0.2))
    slopes, after = stepper.step_derivatives(target=np.full(6, 0.3)), []
    for sign in (1, -1):
        stepper.reset(np.full(6, 0.2))
        stepper.step(target=np.full(6, 0.3) + sign * 1e-5 * np.eye(6)[1])
        after.append(np.concatenate([stepper.q, stepper.qd]))
    assert slopes.by_target[:, 1] == pytest.approx((after[0] - after[1]) / 2e-5, abs=1e-8)


def test_the_step_is_that_of_step_and_no_state_depends_on_others():
    options = {"ground": level(), "kp": 200.0, "kd": 10.0}
    pose = np.array(CROUCHED)
    pose[2] = 0.52
    rng = np.random.default_rng(3)
    poses = pose + 0.05 * rng.uniform(-1, 1, (7, 18)) * (np.arange(18) >= 6)
    poses[:, 2] += 0.05
    batch, plain = (kt.Stepper(QUADRUPED, batch=7, threads=k, **options) for k in (2, 1))
    for stepper in (batch, plain):
        stepper.reset(poses)
    for _ in range(30):
        slopes = batch.step_derivatives(target=pose)
        plain.step(target=pose)
    assert np.array_equal(batch.save(), plain.save())
    alone = kt.Stepper(QUADRUPED, **options)
    alone.reset(poses[4])
    for _ in range(30):
        one = alone.step_derivatives(target=pose)
    assert np.array_equal(one.by_state, slopes.by_state[4])
    assert np.array_equal(one.by_torque, slopes.by_torque[4]) and one.margin == slopes.margin[4]


def test_what_is_not_smooth_is_said():
    """A quadruped on two corners of every foot, and a state that has blown up."""
    corners = []
    poses = kt.forward_kinematics(QUADRUPED, CROUCHED)
    for point in four_feet().contact_points:
        R = poses.rotation[QUADRUPED.body_index(point.body)]
        for y in (0.02, -0.02):
            place = point.position + R.T @ np.array([0.0, y, 0.0])
            corners.append(kt.ContactPoint(f"{point.name}{y}", point.body, place))
    robot = replace(QUADRUPED, contact_points=tuple(corners))
    options = {"ground": level(), "kp": 200.0, "kd": 10.0, "stops": False, "batch": 2}
    stepper, pose = kt.Stepper(robot, **options), np.array(CROUCHED)
    pose[2] = 5.0
    stepper.reset(pose)
    pose[2] -= stepper.contact.gap.min()
    stepper.reset(pose)
    stepper.step(target=pose, times=20)
    torque = np.zeros((2, 18))
    torque[1, 6] = 1e15
    slopes = stepper.step_derivatives(torque)
    assert not slopes.smooth.any() and np.isfinite(slopes.by_state).all()
    assert np.array_equal(slopes.by_state[1], np.eye(36)) and not slopes.by_torque[1].any()


def test_refused():
    arm = kt.zoo.two_link()
    stepper = kt.Stepper(arm, controller=lambda t, q, qd: -qd)
    with pytest.raises(InputError, match="controller's torques"):
        stepper.step_derivatives()
    with pytest.raises(InputError, match="torque"):
        kt.Stepper(arm).step_derivatives([1.0, np.nan])


def test_slopes_are_those_of_the_derivatives():
    """Through contact that slides, balls, servos and stops: the transpose of the derivatives."""
    rng, options = np.random.default_rng(4), {"ground": level(0.2), "kp": 100.0, "kd": 5.0}
    states = landed(QUADRUPED, CROUCHED, 5, 0.6 * np.eye(18)[0], 4, **options)
    full, back = (kt.Stepper(QUADRUPED, batch=5, coordinates="quaternion", **options) for _ in range(2))
    q, qd, tau = (np.array(part) for part in zip(*states, strict=True))
    full.reset(q, qd)
    back.reset(q, qd)
    seeds = rng.normal(size=(5, 36))
    slopes = full.step_derivatives(tau, target=CROUCHED)
    found = back.pull_back(seeds, tau, target=CROUCHED)
    assert np.array_equal(full.save(), back.save()) and np.array_equal(slopes.margin, found.margin)
    for name in ("by_state", "by_torque", "by_target"):
        expected = np.einsum("ki,kij->kj", seeds, getattr(slopes, name))
        assert getattr(found, name) == pytest.approx(expected, abs=1e-9 * np.abs(expected).max()), name


def test_gradients_of_rollouts_are_those_of_differences():
    """A quadruped that lands and slides: by torques, targets and the start, through checkpoints."""
    options = {"ground": level(0.3), "kp": 100.0, "kd": 5.0, "stops": False}
    pose = np.array(CROUCHED)
    pose[2] = 0.52
    stepper, n = kt.Stepper(QUADRUPED, coordinates="quaternion", **options), 18
    angles = kt.Stepper(QUADRUPED, **options)
    angles.reset(pose + 0.01, 0.3 * np.ones(n))
    start = angles.save()[0]
    rng = np.random.default_rng(5)
    torque, weights = rng.normal(size=(11, n)), rng.normal(size=(12, 2 * n))

    def value(torque, q=start[:19], target=CROUCHED):
        stepper.reset(q, start[19:37])
        run = stepper.rollout(torque, target=target, times=3)
        x = np.concatenate([run.q[:, :3], run.q[:, 7:], run.qd], axis=1)
        rest = np.concatenate([weights[:, :3], weights[:, 6:n], weights[:, n:]], axis=1)
        return (x * rest).sum(), run

    free = weights.copy()
    free[:, 3:6] = 0.0  # so that the function does not depend on the orientation itself
    _, run = value(torque)
    end = stepper.save()
    found = run.gradient(free)
    assert np.array_equal(stepper.save(), end) and found.smooth.all()
    pushed, shifted, turned = np.zeros((11, n)), np.zeros(n), np.zeros(n)
    pushed[4, 9], shifted[8], turned[7] = 1e-4, 1e-5, 1e-6
    for slope, plus, minus, size in (
        (found.by_torque[4, 9], value(torque + pushed), value(torque - pushed), 1e-4),
        (
            found.by_target[:, 8].sum(),
            value(torque, target=CROUCHED + shifted),
            value(torque, target=CROUCHED - shifted),
            1e-5,
        ),
        (
            found.by_start[7],
            value(torque, moved(start[:19], [3], turned)),
            value(torque, moved(start[:19], [3], -turned)),
            1e-6,
        ),
    ):
        assert slope == pytest.approx((plus[0] - minus[0]) / (2 * size), rel=1e-6)


def test_rollouts_refuse_what_does_not_fit():
    stepper = kt.Stepper(kt.zoo.two_link(), batch=2)
    for torque, match in (
        (np.zeros((3, 3)), "shape"),
        (np.full((3, 2), np.nan), "finite"),
        (np.zeros(2), "sh"),
    ):
        with pytest.raises(InputError, match=match):
            stepper.rollout(torque)
    run = stepper.rollout(np.zeros((3, 2)))
    with pytest.raises(InputError, match="slopes must have shape"):
        run.gradient(np.zeros(3))
    free = kt.Stepper(QUADRUPED)
    with pytest.raises(InputError, match="quaternion"):
        free.step_derivatives(np.ones(18))
