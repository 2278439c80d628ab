"""States of a `Stepper`: what is given, remembered and shown, and that no state depends on another."""

import numpy as np
import pytest

import kinetree as kt

BOX = kt.Inertia.box(1.0, (0.1, 0.2, 0.3))


def level(friction=0.8):
    return kt.Ground(kt.simulation.Soil(friction=friction), normal=(0, 0, 1))


def one(joint, inertia=BOX, gravity=(0, 0, 0), **options):
    """A body on one joint."""
    build = kt.Builder(joint, gravity=gravity)
    getattr(build.world, joint)("joint", **options).body("body", inertia)
    return build.build()


def test_torques_about_angles_do_not_depend_on_how_calls_are_cut():
    """They turn with the body at every step, as in `kt.simulate`; so they do from a controller."""
    box, tau = one("free"), [0.0, 0, 0, 0.001, 0.002, 0.001]
    q, qd = [0, 0, 0, 0.4, 0.5, 0.6], [0, 0, 0, 1.0, 0.4, 0.7]
    exact = kt.simulate(box, q, qd, duration=0.4, torque=tau, rtol=1e-10, atol=1e-12, times=2).q.values[-1]
    at_once, cut = kt.Stepper(box, 0.001), kt.Stepper(box, 0.001)
    law = kt.Stepper(box, 0.001, controller=lambda t, q, qd: tau)
    hidden = kt.Stepper(box, 0.001, controller=lambda t, q, qd: tau, coordinates="quaternion")
    for stepper in (at_once, cut, law):
        stepper.reset(q, qd)
    inner = law.save()[0]
    hidden.reset(inner[:7], inner[7:13])
    at_once.step(tau, times=400)
    for _ in range(400):
        cut.step(tau)
    law.step(times=400)
    hidden.step(times=400)
    assert np.array_equal(at_once.save(), cut.save())
    assert at_once.q == pytest.approx(law.q, abs=1e-12) and at_once.q == pytest.approx(exact, abs=1e-5)
    assert hidden.q[3:] == pytest.approx(law.save()[0, 3:7], abs=1e-12)


def test_rates_may_be_given_without_quaternions():
    stepper = kt.Stepper(one("free"), 0.001, batch=2, coordinates="quaternion")
    rates = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    stepper.reset(qd=rates)
    assert np.array_equal(stepper.qd, [rates, rates])
    assert np.array_equal(stepper.q, [[0, 0, 0, 1, 0, 0, 0]] * 2)


def test_angles_begin_where_a_state_is_put_and_do_not_depend_on_who_reads():
    box, seen = one("free"), []

    def law(t, q, qd):
        seen.append(q[0].copy())
        return np.zeros_like(q)

    spin = [0, 0, 0, 0, 0, 10.0]
    read, unread = kt.Stepper(box, 0.001, batch=2, controller=law), kt.Stepper(box, 0.001, batch=2)
    for stepper in (read, unread):
        stepper.reset(qd=spin)
    read.step(times=100)
    saved, after = read.save(), read.q.copy()
    read.step(times=1400)
    for _ in range(15):
        unread.step(times=100)
    assert read.q[0, 5] == pytest.approx(15.0) and np.abs(read.q - unread.q).max() < 1e-12
    read.reset(where=np.array([True, False]))
    assert np.abs(read.q[0]).max() < 1e-12 and read.q[1, 5] == pytest.approx(15.0)
    read.step()
    assert np.abs(seen[-1]).max() < 1e-12
    read.restore(saved)
    assert np.array_equal(read.q, after)
    read.reset([0, 0, 0, 0, 0, 12.0])
    assert read.q[:, 5] == pytest.approx(12.0)
    hidden = kt.Stepper(box, 0.001, coordinates="quaternion")
    hidden.reset_mechanism(qd=spin)
    assert hidden.mechanism_state()[0].tolist() == [0.0] * 6
    for _ in range(15):
        hidden.step(times=100)
    assert hidden.mechanism_state()[0][5] == pytest.approx(15.0)


def test_effort_is_that_of_the_drives_in_the_coordinates_shown():
    """Servos of a ball joint do the work that the change of energy shows; torques are those given."""
    joint, tau = one("spherical"), np.array([0.1, 0.2, 0.3])
    given = kt.Stepper(joint, 0.001)
    given.reset([0.4, 0.5, 0.2])
    given.step(tau, times=5)
    assert given.effort == pytest.approx(tau, abs=1e-15)
    servo, inner = (
        kt.Stepper(joint, 1e-4, kp=0.5, kd=0.01, coordinates=kind) for kind in ("mechanism", "quaternion")
    )
    servo.reset([0.4, 0.5, 0.2], target=[0.0, 0.1, 0.0])
    state = servo.save()[0]
    inner.reset(state[:4], target=[0.0, 0.1, 0.0])
    before = servo.qd.copy()
    servo.step()
    inner.step()
    accelerations = (servo.qd - before) / 1e-4
    expected = kt.inverse_dynamics(joint, servo.q, servo.qd, accelerations)
    assert servo.effort == pytest.approx(expected, rel=1e-3, abs=1e-5)
    moments_of_inertia = np.array([0.2**2 + 0.3**2, 0.1**2 + 0.3**2, 0.1**2 + 0.2**2]) / 12.0
    assert inner.effort == pytest.approx(moments_of_inertia * inner.qd / 1e-4, rel=1e-3, abs=1e-5)


def test_states_are_restored_with_targets_and_held_torques():
    arm, count = kt.zoo.two_link(), 3
    held = kt.Stepper(arm, 0.001, batch=count, controller=kt.control.PD([0.3, 0.1], kp=30, kd=3, period=0.01))
    servo = kt.Stepper(arm, 0.001, batch=count, kp=50.0, kd=5.0)
    servo.step(target=[0.5, -0.2], times=7)
    held.step(times=7)
    for stepper, other in ((servo, {"target": [1.0, 1.0]}), (held, {})):
        saved = stepper.save()
        stepper.step(times=20)
        after = stepper.save()
        stepper.reset([1.0, 1.0])
        stepper.step(**other, times=3)
        stepper.restore(saved)
        stepper.step(times=20)
        assert np.array_equal(stepper.save(), after)


def test_servos_hold_the_pose_of_a_start_unless_a_target_is_given():
    stepper = kt.Stepper(one("revolute", axis="z"), 0.002, batch=3, kp=100.0, kd=10.0)
    stepper.step(target=[1.0], times=2000)
    stepper.reset([0.3], where=np.array([True, False, False]))
    stepper.reset([0.3], target=[0.6], where=np.array([False, True, False]))
    stepper.step(times=2000)
    assert stepper.q[:, 0] == pytest.approx([0.3, 0.6, 1.0], abs=1e-9)


def test_a_reset_of_some_states_leaves_the_others_as_they_are():
    robots = kt.Stepper(kt.zoo.quadruped(), batch=6, ground=level(), kp=100.0, kd=5.0)
    pose = np.zeros(18)
    pose[6:] = np.tile(np.radians([0, -30, 60]), 4)
    pose[2] = 0.53
    robots.reset(pose)
    robots.step(times=100)
    before = robots.save()
    where = np.array([False, True, False, False, True, False])
    robots.reset(pose, where=where)
    after = robots.save()
    assert np.array_equal(before[~where], after[~where]) and not np.array_equal(before[where], after[where])
    fresh = kt.Stepper(kt.zoo.quadruped(), batch=6, ground=level(), kp=100.0, kd=5.0)
    fresh.reset(pose)
    assert np.array_equal(fresh.save()[where], after[where])
    with pytest.raises(kt.KinetreeError, match="of state 4 would start"):
        robots.reset(pose * (np.arange(18) != 2), where=np.arange(6) == 4)
    assert np.array_equal(robots.save(), after)


def test_what_is_shown_cannot_be_written_to():
    writable = []
    for mechanism in (kt.zoo.two_link(), kt.zoo.quadruped()):
        for batch in (None, 2):
            for kind in ("mechanism", "quaternion"):
                ground = level() if mechanism.contact_points else None
                stepper = kt.Stepper(mechanism, batch=batch, ground=ground, coordinates=kind)
                shown = {"q": stepper.q, "qd": stepper.qd, "force": stepper.contact.force}
                shown |= {"gap": stepper.contact.gap, "time": np.asarray(stepper.time)}
                for name, array in shown.items():
                    alone = name == "time" and batch is None  # a number
                    if array.flags.writeable and not alone:
                        writable.append((mechanism.name, batch, kind, name))
    assert not writable


def test_what_cannot_be_a_state_or_a_setting_is_refused():
    arm, box = kt.zoo.two_link(), one("free")
    stepper, free = kt.Stepper(arm, batch=2), kt.Stepper(box, batch=2)

    class Law:
        def torque(self, mechanism, t, q, qd):
            return 0.0 * q

    def changed(stepper, column, value):
        saved = stepper.save()
        saved[1, column] = value
        stepper.restore(saved)

    sampled = kt.control.SampledLaw(lambda t, q, qd, contact: 0.0 * q, period=0.01)
    clock = stepper._tables.parts["state_audit"].start
    accepted = []
    for expected, call in (
        ("threads must be", lambda: kt.Stepper(arm, threads="x")),  # type: ignore[arg-type]
        ("threads must be", lambda: kt.Stepper(arm, threads=0)),
        ("stops must be", lambda: kt.Stepper(arm, stops="no")),  # type: ignore[arg-type]
        ("pairs must be", lambda: kt.Stepper(arm, pairs=5)),  # type: ignore[arg-type]
        ("controller must be", lambda: kt.Stepper(arm, controller=Law())),
        ("memory of its own", lambda: kt.Stepper(arm, controller=sampled)),
        ("available", lambda: kt.Stepper(arm, batch=10**12)),
        ("finite, got nan in row 1, column 0", lambda: changed(stepper, 0, np.nan)),
        ("row 1 is not", lambda: changed(stepper, slice(clock, clock + 20), -0.5)),
        ("quaternion of joint 'joint'", lambda: changed(free, 3, 7.0)),
        ("target must", lambda: stepper.reset([0.0, 0.0], target=[0.0])),
    ):
        try:
            call()
            accepted.append((expected, "nothing"))
        except kt.KinetreeError as error:
            if expected not in str(error):
                accepted.append((expected, str(error)))
    assert not accepted


def test_contacts_that_cannot_move_are_left_out():
    """A place on the axis of its only joint, the lowest place of a pendulum, two that the world carries."""
    build = kt.Builder("flat", gravity=(0, 0, -9.81))
    for k, name in enumerate(("stand", "post")):
        fixed = build.world.fixed(f"base{k}", at=(0.0, 3.0 + 0.2 * k, 0.0))
        fixed.body(name, kt.Inertia.sphere(1.0, 0.1), [kt.model.Shape("sphere", (0.1,))])
    wheel = build.world.revolute("axle", axis="y").body("wheel", kt.Inertia.sphere(1.0, 0.1))
    wheel.contact("pin")
    arm = build.world.revolute("joint", axis="y", at=(0, 0, 1.0)).body(
        "arm", kt.Inertia.rod(1.0, (0, 0, -1.0))
    )
    arm.contact("hub", radius=1.0)
    arm.contact("tip", at=(0, 0, -1.0))
    mechanism = build.build()
    stepper = kt.Stepper(mechanism, 0.002, batch=4, ground=level(), pairs=[("stand", "post")])
    q = np.array([[0.0], [0.3], [-1.0], [np.pi]]) * [0.0, 1.0]
    stepper.reset(q, [[1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 0.0]])
    free = kt.Stepper(mechanism, 0.002, batch=4)
    free.restore(np.concatenate([stepper.save()[:, :4], free.save()[:, 4:]], axis=1))
    assert stepper.contact.names == ("pin", "hub", "tip", "stand/post")
    stepper.step()
    free.step()
    assert not stepper.audit().failures and stepper.q[0].tolist() == [0.002, 0.0]
    assert stepper.q[2:] == pytest.approx(free.q[2:], abs=1e-12)
    stepper.step(times=500)
    assert not stepper.audit().failures and np.isfinite(stepper.save()).all()


def plank(friction, batch):
    build = kt.Builder("plank", gravity=(0, 0, -9.81))
    body = build.world.free("base").body("body", kt.Inertia.box(1.0, (1.0, 0.05, 0.05)))
    body.contact("tip", at=(0.5, 0, 0))
    body.contact("tail", at=(-0.5, 0, 0))
    return kt.Stepper(build.build(), 0.001, batch=batch, ground=level(friction))


def test_results_do_not_depend_on_neighbors_where_a_contact_may_stick_or_open():
    """With much friction the tip of a plank may do either: beside another one it does what it does alone."""
    rng, count, different = np.random.default_rng(0), 300, []
    for friction in (1.0, 2.0):
        tilt = rng.uniform(0.2, 1.4, count)
        q, qd = np.zeros((count, 6)), np.zeros((count, 6))
        q[:, 2], q[:, 3] = 0.5 * np.sin(tilt), tilt
        qd[:, 0], qd[:, 2] = rng.uniform(-4, 4, count), rng.uniform(-1, 1, count)
        qd[:, 3] = rng.uniform(-6, 6, count)
        alone, beside = plank(friction, 4 * count), plank(friction, 4 * count)
        pressed, down = q - np.array([0, 0, 0.002, 0, 0, 0]), np.tile([0, 0, -1.0, 0, 0, 0], (count, 1))
        high = q + np.array([0, 0, 5.0, 0, 0, 0])
        alone.reset(np.stack([q] + 3 * [high], axis=1).reshape(-1, 6), np.repeat(qd, 4, axis=0))
        beside.reset(
            np.stack([q, pressed, q, q], axis=1).reshape(-1, 6),
            np.stack([qd, down, np.roll(qd, 1, axis=0), down], axis=1).reshape(-1, 6),
        )
        for _ in range(3):
            alone.step()
            beside.step()
            differs = (alone.save()[::4] != beside.save()[::4]).any(axis=1)
            different += [(friction, int(k)) for k in np.flatnonzero(differs)]
    assert not different


def test_joints_that_move_no_inertia_are_named_unless_something_holds_them():
    """As by `kt.simulate`; a servo or a damper makes a step regular."""
    build = kt.Builder("massless", gravity=(0, 0, -9.81))
    arm = build.world.revolute("shoulder", axis="y").body("arm", kt.Inertia.rod(1.0, (1.0, 0, 0)))
    arm.revolute("tip", axis="y", at=(1.0, 0, 0)).body("point", kt.Inertia.point(0.0))
    mechanism = build.build()
    with pytest.raises(kt.errors.SingularityError, match="joint 'tip' moves no inertia"):
        kt.simulate(mechanism, [0.1, 0.0], duration=0.1)
    stepper = kt.Stepper(mechanism, 0.002, batch=3)
    before = stepper.save()
    with pytest.raises(kt.errors.SingularityError, match=r"'tip' moves no inertia in state 1.*armature"):
        stepper.reset([0.1, 0.0], where=np.array([False, True, False]))
    assert np.array_equal(stepper.save(), before)
    stepper.step()
    assert "no inertia" in stepper.audit().failures[2]
    held = kt.Stepper(mechanism, 0.002, batch=3, kp=[0.0, 1.0], kd=[0.0, 0.1])
    held.reset([0.1, 0.0])
    held.step(times=100)
    assert not held.audit().failures
    turned = kt.Stepper(one("free"), 0.002)  # angles in gimbal lock are no matter for steps
    turned.reset([0, 0, 0, 0.0, np.pi / 2, 0.0])
    turned.step()
    assert not turned.audit().failures


def test_friction_that_was_set_is_saved_and_restored():
    """A domain that was drawn for an episode comes back with it."""
    build = kt.Builder("puck")
    build.world.free("base").body("puck", kt.Inertia.sphere(1.0, 0.1)).contact("skin", at=(0, 0, -0.1))
    puck = kt.Stepper(build.build(), batch=2, ground=level(0.5))
    puck.reset([0, 0, 0.1, 0, 0, 0], [1.0, 0, 0, 0, 0, 0])
    puck.set_friction([0.2, 1.0])
    saved = puck.save()
    puck.step(times=10)
    expected = puck.save()
    puck.set_friction(0.0)
    puck.restore(saved)
    puck.step(times=10)
    assert np.array_equal(puck.save(), expected)
    saved[1, -1] = -1.0
    with pytest.raises(kt.errors.InputError, match="row 1"):
        puck.restore(saved)


def test_masses_may_differ_from_state_to_state():
    """Each state moves as a mechanism with these masses does alone, derivatives included."""
    quadruped, rng = kt.zoo.quadruped(), np.random.default_rng(6)
    usual, pose = quadruped.tree.body_mass, np.zeros(18)
    pose[6:] = np.tile(np.radians([0, -30, 60]), 4)
    pose[2] = 0.53
    masses = usual * rng.uniform(0.5, 2.0, (3, len(usual)))
    options = {"ground": level(), "kp": 200.0, "kd": 10.0}
    mixed = kt.Stepper(quadruped, batch=3, **options)
    mixed.set_masses(masses)
    mixed.set_masses(usual, where=[False, True, False])
    masses[1] = usual
    mixed.reset(pose)
    mixed.step(times=100)
    slopes = mixed.step_derivatives()
    for k in range(3):
        own = kt.Stepper(scaled(quadruped, masses[k] / usual), **options)
        own.reset(pose)
        own.step(times=100)
        alone = own.step_derivatives()
        assert mixed.q[k] == pytest.approx(own.q, abs=1e-9)
        assert slopes.by_state[k] == pytest.approx(alone.by_state, abs=1e-6)
    assert mixed.contact.force[2, :, 2].sum() == pytest.approx(masses[2].sum() * 9.81, rel=0.1)
    with pytest.raises(kt.errors.InputError, match="mass of body 'trunk'"):
        mixed.set_masses(0.0 * usual)


def scaled(mechanism, factors):
    """The mechanism with other masses."""
    from dataclasses import replace

    links = []
    for link, factor in zip(mechanism.links, factors, strict=True):
        inertia = link.body.inertia
        heavier = kt.Inertia(inertia.mass * factor, inertia.center, inertia.moment * factor)
        links.append(replace(link, body=replace(link.body, inertia=heavier)))
    return replace(mechanism, links=tuple(links))
