"""Joints with Euler angles come near gimbal lock: rotations, laws, events and results do not notice."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kinetree as kt
from kinetree.algebra.rotation import (
    THREE_AXIS_SEQUENCES,
    euler_angles,
    euler_rate_matrix,
    euler_rates,
    euler_rotation,
    gimbal_distance,
)

BODY = kt.Inertia(
    2.0, center=(0.05, -0.02, -0.3), moment=[[0.05, 0.01, 0], [0.01, 0.07, 0.004], [0, 0.004, 0.035]]
)
ROD = kt.Inertia.rod(1.0, end=(0.0, 0.0, -0.5))
FLOATING = (0.0, 0.0, 0.0)
TIGHT = 1e-11


def one_body(kind, sequence, gravity=FLOATING, inertia=BODY, **parameters):
    """A body on a spherical or free joint."""
    build = kt.Builder("body", gravity=gravity)
    getattr(build.world, kind)("ball", sequence=sequence, **parameters).body("body", inertia)
    return build.build()


def quaternion_motion(inertia, moment, R0, w0, times, gravity=FLOATING):
    """Rotations (k, 3, 3) and angular velocities (k, 3) in the world by Euler's equations and a quaternion.

    ``moment`` (3, 3) of inertia about the point that gravity's moment m c x g is taken about.
    """
    lever = inertia.mass * np.asarray(inertia.center)

    inverse = np.linalg.inv(moment)

    def cross(a, b):
        (x, y, z), (u, v, w) = a.tolist(), b.tolist()
        return np.array([y * w - z * v, z * u - x * w, x * v - y * u])

    def matrix(p):
        s, x, y, z = (p / np.sqrt(p @ p)).tolist()
        half = [
            [0.5 - y * y - z * z, x * y - s * z, x * z + s * y],
            [x * y + s * z, 0.5 - x * x - z * z, y * z - s * x],
            [x * z - s * y, y * z + s * x, 0.5 - x * x - y * y],
        ]
        return 2.0 * np.array(half)

    def rates(_, y):
        p, w = y[:4], y[4:]
        load = cross(lever, matrix(p).T @ gravity)
        pd = 0.5 * np.append(-p[1:] @ w, p[0] * w + cross(p[1:], w))
        return np.concatenate([pd, inverse @ (load - cross(w, moment @ w))])

    angles, vectors = np.linalg.eig(R0)
    axis = np.real(vectors[:, np.argmin(np.abs(angles - 1.0))])
    half = 0.5 * np.arctan2(
        axis @ [R0[2, 1] - R0[1, 2], R0[0, 2] - R0[2, 0], R0[1, 0] - R0[0, 1]], np.trace(R0) - 1
    )
    start = np.concatenate([[np.cos(half)], np.sin(half) * axis, R0.T @ w0])
    np.testing.assert_allclose(matrix(start[:4]), R0, atol=1e-12)
    run = solve_ivp(rates, (0, times[-1]), start, "DOP853", times, rtol=1e-12, atol=1e-13)
    R = np.array([matrix(y[:4]) for y in run.y.T])
    return R, np.einsum("kij,kj->ki", R, run.y[4:].T)


def switches(result):
    return [event for event in result.events if event.kind == "gimbal_switch"]


def body_rotation(result, body=0):
    return kt.forward_kinematics(result.mechanism, result.q.values).rotation[:, body]


def turned(R):
    """Angles (rad) between successive rotations."""
    between = np.swapaxes(R[:-1], -1, -2) @ R[1:]
    return np.arccos(np.clip(0.5 * (np.trace(between, axis1=-2, axis2=-1) - 1.0), -1.0, 1.0))


TUMBLING = [
    ("spherical", "YXZ", [-0.1, 0.9, 0.5], [8.0, 3.0, -2.0]),
    ("free", "YXZ", [-1.2, 0.9, -0.5], [3.0, -9.0, 6.0]),
    ("free", "ZXZ", [-1.0, 0.9, -1.2], [6.0, 1.0, 4.0]),
]


@pytest.mark.parametrize(("kind", "sequence", "angles", "w0"), TUMBLING)
def test_torque_free_tumbling_against_quaternions(kind, sequence, angles, w0):
    mechanism = one_body(kind, sequence)
    moment = BODY.moment if kind == "free" else BODY.moment_about_origin
    R0 = euler_rotation(sequence, angles)
    q0, qd0 = np.zeros(mechanism.n_dof), np.zeros(mechanism.n_dof)
    q0[-3:], qd0[-3:] = angles, euler_rates(sequence, angles, w0)
    if kind == "free":
        qd0[:3] = [0.3, -0.2, 0.5]
    run = kt.simulate(mechanism, q0, qd0, 4.0, rtol=TIGHT, times=401)
    R, w = quaternion_motion(BODY, np.asarray(moment), R0, w0, run.time.values)
    assert run.complete
    assert len(switches(run)) >= 3
    assert run.statistics["gimbal_switches"] == len(switches(run))
    assert f"{len(switches(run))} times" in run.messages[0]
    near = gimbal_distance(sequence, run.q.values[:, -3:])
    assert (near < 0.1).sum() >= 3  # samples where the user's own angles are near their lock
    # the reported angles and rates are those of the body
    assert np.abs(body_rotation(run) - R).max() < 1e-8
    rates = np.einsum("kij,kj->ki", euler_rate_matrix(sequence, run.q.values[:, -3:]), run.qd.values[:, -3:])
    assert np.abs(rates - w).max() < 1e-8
    # rotation is continuous: no step between samples exceeds what the angular velocity allows
    assert turned(body_rotation(run)).max() < 1.02 * np.linalg.norm(w, axis=1).max() * 0.01
    # conservation
    energy = run.kinetic_energy.values
    assert np.ptp(energy) < 1e-8 * energy[0]
    momentum = kt.momentum(mechanism, run.q.values, run.qd.values)
    kept = slice(None) if kind == "free" else slice(3, 6)
    assert np.ptp(momentum[:, kept], axis=0).max() < 1e-7
    assert run.audit["energy_balance"].passed


def plane_pendulum(angle, rate, times):
    """A rod of 0.5 m that turns about x."""
    run = solve_ivp(
        lambda _, y: [y[1], -1.5 * 9.81 / 0.5 * np.sin(y[0])],
        (0, times[-1]), [angle, rate], "DOP853", times, rtol=1e-12, atol=1e-13,
    )  # fmt: skip
    return run.y


def test_pendulum_swings_exactly_through_the_lock_of_yxz():
    mechanism = one_body(
        "spherical", "YXZ", (0, 0, -9.81), kt.Inertia(1.0, (0, 0, -0.25), [1 / 48, 1 / 48, 1e-3])
    )
    run = kt.simulate(mechanism, [0.0, 2.5, 0.0], duration=3.0, rtol=TIGHT)
    angle, rate = plane_pendulum(2.5, 0.0, run.time.values)
    assert np.ptp(angle) > np.pi  # through pi / 2 and - pi / 2
    np.testing.assert_allclose(run.q.values[:, 1], angle, atol=1e-8)
    np.testing.assert_allclose(run.qd.values[:, 1], rate, atol=1e-7)
    np.testing.assert_allclose(run.q.values[:, [0, 2]], 0.0, atol=1e-8)
    assert {event.name for event in switches(run)} == {"ball"}


def test_pendulum_starts_in_the_lock_of_zxz():
    mechanism = one_body(
        "spherical", "ZXZ", (0, 0, -9.81), kt.Inertia(1.0, (0, 0, -0.25), [1 / 48, 1 / 48, 1e-3])
    )
    still = kt.simulate(mechanism, np.zeros(3), duration=0.5, times=5)
    for name in ("q", "qd", "qdd", "tau"):
        np.testing.assert_allclose(still[name].values, 0.0, atol=1e-12)
    assert switches(still)[0].time == 0.0
    assert any("5 samples are in gimbal lock" in message for message in still.messages)
    swing = kt.simulate(mechanism, np.zeros(3), [0, 3.0, 0], duration=2.0, rtol=TIGHT)
    angle, rate = plane_pendulum(0.0, 3.0, swing.time.values)
    np.testing.assert_allclose(swing.q.values, np.outer(angle, [0, 1, 0]), atol=1e-8)
    np.testing.assert_allclose(swing.qd.values[:, 1], rate, atol=1e-7)
    spin = kt.simulate(mechanism, [0.2, 0.0, 0.1], [1.0, 0.0, 3.0], duration=4.0, times=41)
    np.testing.assert_array_equal(spin.q.values[0], [0.2, 0.0, 0.1])
    np.testing.assert_array_equal(spin.qd.values[0], [1.0, 0.0, 3.0])
    np.testing.assert_allclose(spin.q.values[:, [0, 2]].sum(axis=1), 0.3 + 4.0 * spin.time.values, atol=1e-9)
    np.testing.assert_allclose(spin.qd.values[1, [0, 2]], 2.0, atol=1e-9)  # the smallest of all that fit
    np.testing.assert_allclose(spin.qd.values[:, [0, 2]].sum(axis=1), 4.0, atol=1e-7)


def test_all_sequences_tell_the_same_motion():
    gravity = (0, 0, -9.81)
    R0, w0 = euler_rotation("XYZ", [0.5, 1.0, -2.0]), np.array([3.0, -4.0, 2.0])
    times = np.linspace(0.0, 2.0, 41)
    R, w = quaternion_motion(BODY, np.asarray(BODY.moment_about_origin), R0, w0, times, gravity)
    switched = 0
    for sequence in THREE_AXIS_SEQUENCES:
        q0 = euler_angles(sequence, R0)
        mechanism = one_body("spherical", sequence, gravity)
        run = kt.simulate(mechanism, q0, euler_rates(sequence, q0, w0), 2.0, times=times, rtol=TIGHT)
        assert np.abs(body_rotation(run) - R).max() < 1e-8
        rates = np.einsum("kij,kj->ki", euler_rate_matrix(sequence, run.q.values), run.qd.values)
        assert np.abs(rates - w).max() < 1e-7
        switched += len(switches(run)) > 0
    assert switched >= 4


@pytest.mark.parametrize("name", ["quadruped", "spatial_biped"])
def test_legged_machines_tumble_in_flight(name):
    """The legs swing freely: linear momentum grows by m g t, angular momentum about the center stays."""
    mechanism = getattr(kt.zoo, name)()
    q0, qd0 = np.zeros(mechanism.n_dof), np.zeros(mechanism.n_dof)
    q0[6:], qd0[3:6] = 0.1, [0.0, 9.0, 0.0]
    run = kt.simulate(mechanism, q0, qd0, 1.5, rtol=1e-10, times=151, reactions=True)
    assert run.complete
    assert "base" in {event.name for event in switches(run)}
    q, qd, t = run.q.values, run.qd.values, run.time.values
    away = np.abs(np.cos(q[:, 4])) > 1e-3
    momentum = kt.momentum(mechanism, q, qd, kt.center_of_mass(mechanism, q))[away]
    fallen = np.outer(t[away], mechanism.mass * np.asarray(mechanism.gravity))
    assert np.abs(momentum[:, :3] - momentum[0, :3] - fallen).max() < 1e-6
    assert np.ptp(momentum[:, 3:], axis=0).max() < 1e-6
    assert run.audit["energy_balance"].value < 1e-8
    # accelerations and reactions belong to the reported states
    regular = np.flatnonzero(gimbal_distance("YXZ", q[:, 3:6]) > 0.3)
    if name == "spatial_biped":
        regular = [k for k in regular if all(gimbal_distance("ZXY", q[k, i : i + 3]) > 0.3 for i in (6, 12))]
    assert len(regular) > 20
    qdd = run.qdd.values[regular]
    expected = kt.forward_dynamics(mechanism, q[regular], qd[regular], run.tau.values[regular])
    np.testing.assert_allclose(qdd, expected, atol=1e-6 * np.abs(expected).max())
    reaction = kt.joint_reactions(mechanism, q[regular], qd[regular], expected)
    np.testing.assert_allclose(run.reaction.values[regular], reaction, atol=1e-6 * np.abs(reaction).max())


def grazing(law=None, **more):
    """A heavy body on a ball joint that passes its lock at a few degrees: with and without a switch."""
    mechanism = one_body("spherical", "YXZ", (0, 0, -9.81))
    return [
        kt.simulate(
            mechanism, GRAZE[0], GRAZE[1], 1.5, torque=law, rtol=TIGHT, gimbal=gimbal, times=301, **more
        )
        for gimbal in ("error", "switch")
    ]


GRAZE = ([0.3, -0.5, 0.2], [-7.0, -3.0, 1.0])


def test_switching_changes_nothing_that_is_told():
    plain, switched = grazing(reactions=True)
    assert not plain.events
    assert switches(switched)
    distance = gimbal_distance("YXZ", plain.q.values)
    assert np.sin(np.radians(1.0)) < distance.min() < 0.2
    for name in ("q", "qd", "kinetic_energy", "potential_energy", "reaction"):
        scale = np.abs(plain[name].values).max()
        np.testing.assert_allclose(switched[name].values, plain[name].values, atol=1e-7 * scale, err_msg=name)
    np.testing.assert_allclose(
        switched.qdd.values, plain.qdd.values, atol=1e-6 * np.abs(plain.qdd.values).max()
    )


def test_python_laws_and_events_see_the_users_coordinates():
    def law(t, q, qd):
        return np.array(
            [0.4 * np.sin(q[0]) - 0.1 * qd[0], -0.2 * q[1], 0.05 * np.cos(3.0 * t) - 0.02 * q[2] ** 2]
        )

    events = [
        kt.simulation.Trigger("level", lambda t, q, qd: q[0] - 0.7),
        kt.simulation.Trigger("still", lambda t, q, qd: qd[2]),
    ]
    plain, switched = grazing(law, events=events)
    assert switches(switched)
    for name in ("q", "qd", "tau", "actuator_work"):
        scale = np.abs(plain[name].values).max()
        np.testing.assert_allclose(switched[name].values, plain[name].values, atol=1e-7 * scale, err_msg=name)
    seen = [(e.name, e.time) for e in switched.events if e.kind == "event"]
    expected = [(e.name, e.time) for e in plain.events]
    assert len(expected) >= 2
    assert [name for name, _ in seen] == [name for name, _ in expected]
    np.testing.assert_allclose([t for _, t in seen], [t for _, t in expected], atol=1e-7)


def test_user_events_end_a_simulation_after_a_switch():
    mechanism = one_body("spherical", "YXZ", (0, 0, -9.81))
    stop = kt.simulation.Trigger("over", lambda t, q, qd: t - 1.2, stop=True)
    run = kt.simulate(mechanism, *GRAZE, 1.5, rtol=TIGHT, events=[stop])
    assert switches(run)
    assert run.stop_reason == "stopped by event 'over'"
    assert run.time.values[-1] == pytest.approx(1.2, abs=1e-12)


@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_sampled_controllers_and_the_ground_go_on(method):
    """A quadruped thrown on its side, with held torques in its legs, and the same without switching."""
    robot = kt.zoo.quadruped()
    q0, qd0 = np.zeros(18), np.zeros(18)
    q0[2], q0[3:6] = 1.3, [0.1, 0.9, 0.2]
    qd0[3:6] = [0.5, 2.2, 0.3]
    keep = kt.control.PD(np.zeros(18), kp=20.0, kd=1.0, period=0.01)
    ground = kt.Ground(kt.simulation.Soil(stiffness=2e4))
    how = {"rtol": 1e-9, "times": 61, "method": method, "verdicts": False}
    runs = [
        kt.simulate(robot, q0, qd0, 0.6, controller=keep, ground=ground, gimbal=x, **how)
        for x in ("error", "switch")
    ]
    plain, switched = runs
    assert switches(switched)
    assert np.abs(plain.contact_force.values).max() > 10.0
    for name in ("q", "qd", "tau", "contact_force", "ground_work"):
        scale = np.abs(plain[name].values).max()
        np.testing.assert_allclose(switched[name].values, plain[name].values, atol=1e-4 * scale, err_msg=name)


# ---- errors -----------------------------------------------------------------------------------------

THROUGH = ([0.0, 1.2, 0.0], [0.0, 3.0, 0.0])  # straight into the lock of YXZ


def test_error_instead_of_a_switch():
    mechanism = one_body("spherical", "YXZ")
    with pytest.raises(
        kt.errors.SimulationError, match=r"joint 'ball' \(Euler sequence YXZ\) is 1 degrees"
    ) as caught:
        kt.simulate(mechanism, *THROUGH, 1.0, gimbal="error")
    message, partial = str(caught.value), caught.value.result
    for part in ("t = 0.1", "'ball.rx' is 1.55", "gimbal='error'", "choose another sequence"):
        assert part in message
    assert 0.05 < partial.time.values[-1] < 0.2
    assert partial.stopped_at == partial.time.values[-1]
    with pytest.raises(kt.errors.SimulationError, match=r"t = 0 s.*1\.5708 rad"):
        kt.simulate(mechanism, [0.0, np.pi / 2, 0.0], gimbal="error")


@pytest.mark.parametrize(
    ("parameters", "options", "reason"),
    [
        ({"stiffness": 0.1}, {}, "it has a spring"),
        ({"viscous": [0, 0.1, 0]}, {}, "it has friction"),
        ({"armature": 0.01}, {}, "it has armature"),
        ({}, {"torque": [0.0, 0.0, 0.01]}, "constant torques act on it"),
        ({}, {"torque": ([0.0, 1.0], [[0, 0, 0], [0, 0, 0.1]])}, "a torque table acts on it"),
        ({}, {"controller": kt.control.PD(np.zeros(3), kp=0.01)}, "law (PD) follows a motion of its angles"),
        ({"lower": -3.0, "upper": 3.0}, {"stops": kt.simulation.Stops()}, "stops act at its limits"),
    ],
)
def test_joints_that_cannot_be_switched_say_why(parameters, options, reason):
    mechanism = one_body("spherical", "YXZ", **parameters)
    with pytest.raises(kt.errors.SimulationError, match="cannot be switched because") as caught:
        kt.simulate(mechanism, *THROUGH, 1.0, **options)
    assert reason in str(caught.value)
    assert "1 degrees from gimbal lock" in str(caught.value)


def test_joints_that_cannot_be_switched_may_come_near():
    """Eleven degrees are no reason to stop, for a joint with a spring beside one that is switched."""
    build = kt.Builder("two", gravity=FLOATING)
    build.world.spherical("sprung", stiffness=1.0).body("one", BODY)
    build.world.spherical("bare").body("two", BODY)
    q0, qd0 = [0.0, 1.45, 0.0, *THROUGH[0]], [0.0] * 3 + THROUGH[1]
    run = kt.simulate(build.build(), q0, qd0, 0.5)
    assert [event.name for event in switches(run)] == ["bare"]
    assert run.complete


def test_a_law_that_pulls_at_a_lost_axis_is_refused():
    mechanism = one_body("spherical", "YXZ")
    with pytest.raises(
        kt.errors.SimulationError, match=r"torques \[1.0, 0.0, 0.0\] for joint 'ball' at t = 0 s"
    ):
        kt.simulate(mechanism, [0.0, np.pi / 2, 0.0], torque=lambda t, q, qd: [1.0, 0.0, 0.0])


def test_prepared_simulations_and_batches_name_the_lock():
    mechanism = one_body("spherical", "YXZ")
    with pytest.raises(kt.errors.SimulationError, match=r"joint 'ball' .* from gimbal lock at t = 0\.1"):
        kt.simulation.Simulator(mechanism, 1.0).run(*THROUGH)
    for run in (
        kt.simulation.Simulator(mechanism, 1.0).run,
        lambda q0: kt.simulation.simulate_batch(mechanism, [q0]),
    ):
        with pytest.raises(kt.errors.SimulationError, match=r"joint 'ball' .* from gimbal lock at t = 0 s"):
            run([0.0, np.pi / 2, 0.0])
