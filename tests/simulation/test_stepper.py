"""Steps at the level of velocities: closed forms, laws of contact, other formulations, bad input."""

from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt

G = 9.81
DEGREE = np.pi / 180.0


def level(friction=0.8, **others):
    """Level ground."""
    return kt.Ground(kt.simulation.Soil(friction=friction), normal=(0, 0, 1), **others)


def tilted(slope):
    """Gravity on a slope that descends along x."""
    return G * np.sin(slope), 0.0, -G * np.cos(slope)


def body(inertia, points, slope=0.0):
    """A free body with contact points (place, radius)."""
    build = kt.Builder("thing", gravity=tilted(slope))
    handle = build.world.free("base").body("thing", inertia)
    for k, (place, radius) in enumerate(points):
        handle.contact(f"p{k}", at=place, radius=radius)
    return build.build()


def block(slope=0.0):
    corners = [((x, y, -0.05), 0.0) for x in (0.1, -0.1) for y in (0.1, -0.1)]
    return body(kt.Inertia.box(1.0, (0.2, 0.2, 0.1)), corners, slope)


def ball():
    return body(kt.Inertia.sphere(1.0, 0.1), [((0, 0, 0), 0.1)])


def order(steps, errors):
    """Slope of the errors over the steps, both as logarithms."""
    return np.polyfit(np.log(steps), np.log(np.abs(errors)), 1)[0]


def test_sliding_and_rolling_are_as_in_closed_form():
    """A block that slides to rest, a ball that slides, then rolls (mu = 0.3 and 0.2)."""
    steps, slid, rolled = (5e-3, 2e-3, 1e-3, 2e-4), [], []
    for dt in steps:
        stepper = kt.Stepper(block(), dt, ground=level(0.3))
        stepper.reset([0, 0, 0.05, 0, 0, 0], [2.0, 0, 0, 0, 0, 0])
        stepper.step(times=round(1.0 / dt))
        slid.append(stepper.q[0] - 2.0**2 / (2 * 0.3 * G))
        assert np.abs(stepper.qd).max() < 1e-12

        stepper = kt.Stepper(ball(), dt, ground=level(0.2))
        stepper.reset([0, 0, 0.1, 0, 0, 0], [1.0, 0, 0, 0, 0, 0])
        stepper.step(times=round(1.0 / dt))
        speed, until = 5.0 / 7.0, 2.0 / 7.0 / (0.2 * G)
        rolled.append(stepper.q[0] - (until - 0.1 * G * until**2 + speed * (1.0 - until)))
        assert stepper.qd[0] == pytest.approx(speed, abs=1e-12)
    print(f"orders: sliding {order(steps, slid):.2f}, rolling {order(steps, rolled):.2f}")
    assert order(steps, slid) > 1.3 and max(np.abs(slid)) < 5e-6
    assert order(steps, rolled) > 1.6 and max(np.abs(rolled)) < 5e-6


def test_smooth_motion_has_second_order():
    chain, start = kt.zoo.chain(3), [0.5, 0.3, -0.2]
    exact = np.asarray(kt.simulate(chain, start, duration=1.0, times=2, rtol=1e-11, atol=1e-12).q)[-1]
    steps, errors = (4e-3, 2e-3, 1e-3), []
    for dt in steps:
        stepper = kt.Stepper(chain, dt, stops=False)
        stepper.reset(start)
        stepper.step(times=round(1.0 / dt))
        errors.append(np.abs(stepper.q - exact).max())
    assert order(steps, errors) == pytest.approx(2.0, abs=0.1)


def test_free_turning_keeps_energy_and_the_length_of_quaternions():
    """A brick turned about its middle axis tumbles; no angle can lock."""
    brick = body(kt.Inertia.box(1.0, (0.1, 0.2, 0.3)), []).with_gravity((0, 0, 0))
    moment = np.array([0.13, 0.10, 0.05]) / 12.0
    stepper = kt.Stepper(brick, 2e-3, coordinates="quaternion")
    w = np.array([1e-3, 5.0, 1e-3])
    stepper.reset([0, 0, 0, 1, 0, 0, 0], [0, 0, 0, *w])
    lowest = 5.0
    for _ in range(10):
        stepper.step(times=500)
        lowest = min(lowest, float(stepper.qd[4]))
    assert lowest < 0.0, "it should have turned over"
    assert (moment * stepper.qd[3:] ** 2).sum() == pytest.approx((moment * w**2).sum(), rel=1e-6)
    assert np.linalg.norm(stepper.q[3:]) == pytest.approx(1.0, abs=1e-14)


def test_steps_agree_with_accurate_simulations():
    """A ball joint and a mimic joint, beside the adaptive integrator."""
    build = kt.Builder("ball")
    build.world.spherical("j").body("b", kt.Inertia.box(1.0, (0.1, 0.2, 0.3), center=(0.2, 0.1, 0)))
    spherical = build.build()
    build = kt.Builder("geared")
    rod = kt.Inertia.rod(1.0, end=(0.5, 0, 0))
    one = build.world.revolute("a", axis="y").body("one", rod)
    mimic = kt.model.Mimic("a", -2.0, 0.1)
    two = one.revolute("b", axis="y", at=(0.5, 0, 0), mimic=mimic).body("two", rod)
    two.revolute("c", axis="y", at=(0.5, 0, 0)).body("three", rod)
    wrong = []
    for mechanism, q0, qd0 in (
        (spherical, [0.3, 0.2, -0.4], [1.0, 0.5, 2.0]),
        (build.build(), [-1.2, 0.2], [0.0, 0.0]),
    ):
        run = kt.simulate(mechanism, q0, qd0, duration=0.3, times=2, rtol=1e-10)
        stepper = kt.Stepper(mechanism, 2.5e-4)
        stepper.reset(q0, qd0)
        stepper.step(times=1200)
        off = np.abs(stepper.q - np.asarray(run.q)[-1]).max()
        if off > 1e-5:
            wrong.append((mechanism.name, off))
    assert not wrong


def standing():
    """Robots on their feet: mechanism, pose, gains."""
    quadruped, pose = kt.zoo.quadruped(), np.zeros(18)
    pose[6:] = np.tile([0.0, -30 * DEGREE, 60 * DEGREE], 4)
    feet = [point for point in quadruped.contact_points if "foot" in point.name]
    poses, soles = kt.forward_kinematics(quadruped, pose), []
    for point in feet:
        R = poses.rotation[quadruped.body_index(point.body)]
        for x, y in ((0.02, 0.02), (0.02, -0.02), (-0.02, 0.02), (-0.02, -0.02)):
            place = point.position + R.T @ np.array([x, y, 0.0])
            soles.append(kt.ContactPoint(f"{point.name}{x}{y}", point.body, place))
    biped, knees = kt.zoo.spatial_biped(), np.zeros(18)
    knees[6:] = np.tile([0.0, 0.0, -20 * DEGREE, 40 * DEGREE, -20 * DEGREE, 0.0], 2)
    four, sixteen = (replace(quadruped, contact_points=tuple(x)) for x in (feet, soles))
    return {
        "block at 25 degrees": (block(25 * DEGREE), np.zeros(6), 0.0, 0.0),
        "quadruped, 4 points": (four, pose, 200.0, 10.0),
        "quadruped, 4 points, 10 degrees": (four.with_gravity(tilted(10 * DEGREE)), pose, 200.0, 10.0),
        "quadruped, 16 points, 10 degrees": (sixteen.with_gravity(tilted(10 * DEGREE)), pose, 200.0, 10.0),
        "biped": (biped, knees, 1000.0, 30.0),
        "human": (kt.zoo.human(), np.zeros(55), 1000.0, 50.0),
        "hexapod": (kt.zoo.hexapod(), np.zeros(kt.zoo.hexapod().n_dof), 200.0, 10.0),
    }


def on_the_ground(mechanism, pose, kp, kd, friction=0.8, **others):
    """A stepper with the lowest contact points at height 0."""
    stepper = kt.Stepper(mechanism, ground=level(friction), kp=kp, kd=kd, stops=False, **others)
    pose = np.array(pose)
    pose[2] += 5.0
    stepper.reset(pose)
    pose[2] -= stepper.contact.gap.min()
    stepper.reset(pose)
    stepper.step(target=pose)
    return stepper


def test_what_stands_does_not_creep():
    creeping = []
    for name, (mechanism, pose, kp, kd) in standing().items():
        stepper = on_the_ground(mechanism, pose, kp, kd, 0.5 if "block" in name else 0.8)
        stepper.step(times=2000)
        before = stepper.q.copy()
        stepper.step(times=1000)
        creep, audit = np.abs(stepper.q - before).max() / 2.0, stepper.audit()
        weight = mechanism.mass * mechanism.gravity
        held = np.abs(stepper.contact.force.sum(axis=0) + weight).max() / np.linalg.norm(weight)
        if creep > 1e-9 or held > 1e-3 or audit.unsolved[0] or audit.depth[0] > 1e-6:
            creeping.append((name, creep, held, audit))
    assert not creeping


def test_friction_and_gains_may_differ_from_state_to_state():
    """Blocks at 25 degrees, friction 0.5: one keeps it and stays, the other has half of it and slides."""
    slope = 25 * DEGREE
    stepper = kt.Stepper(block(slope), batch=2, ground=level(0.5), friction=[1.0, 0.5])
    stepper.reset([0, 0, 0.05, 0, 0, 0])
    stepper.step(times=500)
    assert stepper.qd[:, 0] == pytest.approx([0.0, G * (np.sin(slope) - 0.25 * np.cos(slope))], abs=1e-6)
    arm = kt.zoo.two_link()
    stepper = kt.Stepper(arm, batch=2, kp=[[0, 0], [1e5, 1e5]], kd=[[0, 0], [1e3, 1e3]], stops=False)
    stepper.reset([0.5, 0.2])
    stepper.step([1.0, 0.0], target=[0.5, 0.2], times=200)
    assert np.abs(stepper.q[1] - [0.5, 0.2]).max() < 1e-3 < np.abs(stepper.q[0] - [0.5, 0.2]).max()


def test_the_friction_angle_is_sharp():
    angle = np.arctan(0.5)
    below, above = (on_the_ground(block(angle + d), np.zeros(6), 0.0, 0.0, 0.5) for d in (-1e-9, 1e-9))
    for stepper in (below, above):
        stepper.step(times=100)
    before = np.array([below.qd[0], above.qd[0]])
    below.step(times=5000)
    above.step(times=5000)
    gained = np.array([below.qd[0], above.qd[0]]) - before
    assert gained[0] <= 0.0 < gained[1]
    firm = on_the_ground(block(angle - 1e-6), np.zeros(6), 0.0, 0.0, 0.5)
    firm.step(times=500)
    assert np.abs(firm.qd).max() < 1e-12


def test_joints_stop_at_limits_and_dry_friction_holds():
    rod, torque = kt.Inertia.rod(1.0, end=(0.5, 0, 0)), 0.25 * G
    found = []
    for friction in (torque * (1 + 1e-9), torque * (1 - 1e-6)):
        build = kt.Builder("pendulum")
        build.world.revolute("hinge", axis="y", coulomb=friction).body("rod", rod)
        stepper = kt.Stepper(build.build())
        stepper.step(times=250)
        found.append(abs(float(stepper.qd[0])))
    assert found[0] < 1e-12 < 1e-6 < found[1]
    build = kt.Builder("stopped")
    build.world.revolute("hinge", axis="y", lower=-1.0, upper=0.7).body("rod", rod)
    stepper = kt.Stepper(build.build())
    stepper.step(times=2000)
    assert stepper.q[0] == pytest.approx(0.7, abs=1e-9) and abs(stepper.qd[0]) < 1e-9
    free = kt.Stepper(build.build(), stops=False)
    free.step(times=400)
    assert free.q[0] > 0.8


def test_stiff_servos_are_stable_and_controllers_drive():
    arm, motion = kt.zoo.two_link(), kt.trajectories.cycloid([0, 0], [1, 0.5], duration=1.0)
    wrong = []
    for law in (
        kt.control.PD(motion, kp=1e8, kd=1e5),
        kt.control.ComputedTorque(motion, kp=400.0, kd=40.0),
        kt.control.ComputedTorque(motion, kp=400.0, kd=40.0, period=0.004),
    ):
        stepper = kt.Stepper(arm, controller=law, stops=False)
        stepper.step(times=250)
        off = np.abs(stepper.q - motion.at(0.5).q).max()
        if off > 5e-3:
            wrong.append((law, off))
    assert not wrong

    def brake(t, q, qd):
        assert t.shape == (3,) and q.shape == qd.shape == (3, 2)
        return -3.0 * qd

    stepper = kt.Stepper(arm.with_gravity((0, 0, 0)), batch=3, controller=brake, stops=False)
    stepper.reset([0.1, 0.2], [1.0, -1.0])
    stepper.step(times=5000)
    assert np.abs(stepper.qd).max() < 1e-3


def thrown(n, seed=0, **others):
    """Quadrupeds thrown at the ground in any attitude."""
    rng, pose = np.random.default_rng(seed), np.zeros(18)
    pose[6:] = np.tile([0.0, -30 * DEGREE, 60 * DEGREE], 4)
    stepper = kt.Stepper(
        kt.zoo.quadruped(), batch=n, ground=level(0.7), kp=50.0, kd=2.0, coordinates="quaternion",
        stops=False, **others,
    )  # fmt: skip
    u = rng.normal(size=(n, 4))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    joints = pose[6:] + 0.3 * rng.normal(size=(n, 12))
    q = np.concatenate([np.tile([0.0, 0.0, 1.2], (n, 1)), u, joints], axis=1)
    return stepper, q, rng.normal(size=(n, 18))


def test_thrown_robots_stay_finite_and_are_solved():
    stepper, q, qd = thrown(32)
    stepper.reset(q, qd)
    stepper.step(times=600)
    audit = stepper.audit()
    assert np.isfinite(stepper.q).all() and not audit.failures
    assert audit.unsolved.sum() < 1e-3 * audit.steps.sum()
    assert audit.gain.max() < 1e-6 and audit.depth.max() < 1e-3


def test_results_do_not_depend_on_other_states_threads_or_interruptions():
    many, q, qd = thrown(13, threads=1)
    few, _, _ = thrown(3, threads=1)
    two, _, _ = thrown(13, threads=2)
    some = [2, 7, 12]
    many.reset(q, qd)
    two.reset(q, qd)
    few.reset(q[some], qd[some])
    many.step(times=400)
    two.step(times=400)
    for _ in range(4):
        few.step(times=100)
    assert np.array_equal(many.q[some], few.q) and np.array_equal(many.qd[some], few.qd)
    assert np.array_equal(many.save(), two.save())
    saved = many.save()
    many.step(times=20)
    after = many.save()
    many.restore(saved)
    many.step(times=20)
    assert np.array_equal(many.save(), after)


def test_a_state_that_blows_up_stands_still_and_is_named():
    arm = kt.zoo.two_link()
    stepper, alone = kt.Stepper(arm, batch=3, stops=False), kt.Stepper(arm, batch=3, stops=False)
    torque = np.zeros((3, 2))
    torque[1] = 1e12, -1e12
    stepper.step(torque, times=10)
    alone.step(times=10)
    audit = stepper.audit()
    assert list(audit.failures) == [1] and "1e6" in audit.failures[1]
    assert np.array_equal(stepper.q[[0, 2]], alone.q[[0, 2]])
    assert stepper.time[1] < stepper.time[0] == pytest.approx(0.02)
    stepper.reset(where=np.array([False, True, False]))
    assert not stepper.audit().failures


def test_memory_is_shown_without_copies_and_masks_choose_states():
    stepper = kt.Stepper(kt.zoo.two_link(), batch=5)
    q, time = stepper.q, stepper.time
    stepper.reset([0.1, 0.2])
    stepper.step([1.0, 0.0], times=3)
    assert np.shares_memory(q, stepper.q) and np.array_equal(q, stepper.q) and time[0] > 0.0
    mask = np.array([True, False, False, True, False])
    stepper.reset([0.5, 0.5], where=mask)
    assert (stepper.q[mask] == 0.5).all() and (stepper.time > 0).tolist() == (~mask).tolist()
    single = kt.Stepper(kt.zoo.two_link())
    assert single.q.shape == (2,) and np.shape(single.time) == ()


def test_steps_and_heights_of_the_ground_hold():
    """A ball on a stair rests at its height; on a bowl it rolls to the lowest place of it."""
    stair = level(regions=[kt.simulation.Region(forward=(1.0, np.inf), height=0.2)])
    x = np.linspace(-2.0, 2.0, 41)
    heights = 0.1 * (x[:, None] ** 2 + x[None, :] ** 2)
    bowl = kt.Ground(
        kt.simulation.Soil(friction=0.8), normal=(0, 0, 1),
        terrain=kt.model.HeightField(forward=(-2, 2), side=(-2, 2), heights=heights),
    )  # fmt: skip
    stepper = kt.Stepper(ball(), ground=stair)
    stepper.reset([1.5, 0, 0.35, 0, 0, 0])
    stepper.step(times=500)
    assert stepper.q[2] == pytest.approx(0.3, abs=1e-6)
    stepper = kt.Stepper(ball(), ground=bowl)
    stepper.reset([0.5, 0.3, 0.2, 0, 0, 0])
    gaps = []
    for _ in range(20):
        stepper.step(times=50)
        gaps.append(float(stepper.contact.gap[0]))
    assert np.abs(gaps[5:]).max() < 1e-4
    energy = 0.5 * 1.4 * (stepper.qd[:3] ** 2).sum() + G * stepper.q[2]
    assert energy < G * 0.2


def test_a_ball_bounces_as_often_as_it_may():
    """Height of the third flight of a ball with restitution 0.8: e^6 of the first, to the order of a step."""
    stepper = kt.Stepper(ball(), 1e-3, ground=level(0.0), restitution=0.8)
    stepper.reset([0, 0, 1.1, 0, 0, 0])
    flight = np.sqrt(2.0 / G)
    stepper.step(times=int((flight * (1 + 2 * 0.8 + 2 * 0.64 + 0.512)) / 1e-3))
    energy = 0.5 * stepper.qd[2] ** 2 + G * (stepper.q[2] - 0.1)
    assert energy / G == pytest.approx(0.8**6, abs=3e-3)


def bodies(places, shape, inertia, gravity=G, rounds=()):
    """Free bodies with one shape each, which touch the ground with spheres."""
    build = kt.Builder("bodies", gravity=(0, 0, -gravity))
    for k in range(len(places)):
        handle = build.world.free(f"j{k}").body(f"b{k}", inertia, [shape])
        for n, (place, radius) in enumerate(rounds):
            handle.contact(f"c{k}_{n}", at=place, radius=radius)
    q = np.zeros(6 * len(places))
    for k, place in enumerate(places):
        q[6 * k : 6 * k + len(place)] = place
    return build.build(), q


def every_pair(mechanism, friction):
    names = mechanism.body_names
    return [kt.simulation.BodyPair(a, b, friction) for k, a in enumerate(names) for b in names[k + 1 :]]


def test_balls_pass_on_their_speed():
    """Newton's cradle with gaps; a chain of touching balls is solved at once and shares it instead."""
    sphere, inertia = kt.model.Shape("sphere", (0.05,)), kt.Inertia.sphere(1.0, 0.05)
    for gap, expected in ((1e-3, [0, 0, 0, 0, 1]), (0.0, [-0.6, 0.4, 0.4, 0.4, 0.4])):
        places = [[k * (0.1 + gap) - 0.05 * (k == 0), 0, 1] for k in range(5)]
        cradle, q = bodies(places, sphere, inertia, gravity=0.0)
        stepper = kt.Stepper(cradle, 1e-3, pairs=every_pair(cradle, 0.0), restitution=1.0, stops=False)
        speed = np.zeros(30)
        speed[0] = 1.0
        stepper.reset(q, speed)
        stepper.step(times=400)
        assert stepper.qd[::6] == pytest.approx(expected, abs=1e-9)


def test_piles_stand_and_collapse_by_their_friction():
    """A pyramid of five balls; four layers of crossed capsules."""
    sphere, inertia = kt.model.Shape("sphere", (0.05,)), kt.Inertia.sphere(1.0, 0.05)
    base = [[x, y, 0.05] for x in (0, 0.1) for y in (0, 0.1)]
    pyramid, q = bodies(
        [*base, [0.05, 0.05, 0.05 + 0.05 * np.sqrt(2.0)]], sphere, inertia, rounds=[((0, 0, 0), 0.05)]
    )
    sunk = []
    for friction in (0.2, 0.5):
        stepper = kt.Stepper(
            pyramid, 1e-3, pairs=every_pair(pyramid, friction), ground=level(friction), stops=False
        )
        stepper.reset(q)
        stepper.step(times=1000)
        sunk.append(q[26] - stepper.q[26])
    assert sunk[0] > 0.05 and abs(sunk[1]) < 1e-9

    capsule = kt.model.Shape(
        "capsule", (0.03, 0.3), kt.Placement(np.array([[0, 0, 1.0], [1, 0, 0], [0, 1, 0]]), np.zeros(3))
    )
    turn = np.pi / 2
    places = []
    for layer in range(4):
        for side in (-0.1, 0.1):
            places.append(
                [0, side, 0.03 + 0.06 * layer, 0, 0, 0]
                if layer % 2 == 0
                else [side, 0, 0.03 + 0.06 * layer, 0, 0, turn]
            )
    logs, q = bodies(
        places, capsule, kt.Inertia.box(1.0, (0.36, 0.06, 0.06)),
        rounds=[((0.15, 0, 0), 0.03), ((-0.15, 0, 0), 0.03)],
    )  # fmt: skip
    stepper = kt.Stepper(logs, pairs=every_pair(logs, 0.5), ground=level(0.5), stops=False)
    stepper.reset(q)
    stepper.step(times=1000)
    assert np.abs(stepper.q - q).max() < 1e-9
    on_ground = stepper.contact.force[:16].sum(axis=0)
    assert on_ground == pytest.approx([0, 0, 8 * G], abs=1e-6)


def pile(sizes, solids=()):
    """Boxes on one another, the first on the ground with its corners, and other shapes with their places."""
    build, q, height = kt.Builder("pile", gravity=(0, 0, -G)), [], 0.0
    for k, size in enumerate(sizes):
        shape = kt.model.Shape("box", size)
        handle = build.world.free(f"j{k}").body(f"box{k}", kt.Inertia.box(1.0, size), [shape])
        for n in range(4) if k == 0 else ():
            x, y = size[0] * (0.5 - n % 2), size[1] * (0.5 - n // 2)
            handle.contact(f"corner{n}", at=(x, y, -0.5 * size[2]))
        q += [0, 0, height + 0.5 * size[2], 0, 0, 0]
        height += size[2]
    for k, (shape, place) in enumerate(solids):
        build.world.free(f"s{k}").body(f"solid{k}", kt.Inertia.box(1.0, (0.06, 0.06, 0.2)), [shape])
        q += place
    return build.build(), np.array(q, float)


def test_boxes_stand_on_boxes_and_carry_round_bodies():
    brick, plate, post = (0.2, 0.2, 0.1), (0.5, 0.4, 0.05), (0.1, 0.1, 0.2)
    sphere, capsule = kt.model.Shape("sphere", (0.05,)), kt.model.Shape("capsule", (0.03, 0.2))
    carried = [(sphere, [0.1, 0.1, 0.1, 0, 0, 0]), (capsule, [-0.1, 0, 0.08, 0, np.pi / 2, 0])]
    fallen = []
    for sizes, solids in (
        ([brick] * 4, []),
        ([plate, post], []),  # corners of the second on the first
        ([post, plate], []),  # and the reverse
        ([plate], carried),
    ):
        mechanism, q = pile(sizes, solids)
        pairs = [("box0", f"solid{k}") for k in range(len(solids))]
        pairs += [(f"box{k}", f"box{k + 1}") for k in range(len(sizes) - 1)]
        stepper = kt.Stepper(mechanism, ground=level(0.6), pairs=pairs, stops=False)
        stepper.reset(q)
        stepper.step(times=1000)
        moved, audit = np.abs(stepper.q - q).max(), stepper.audit()
        held = stepper.contact.force[:4].sum(axis=0) - [0, 0, mechanism.mass * G]
        if moved > 2e-5 or np.abs(held).max() > 1e-2 or audit.unsolved[0] or audit.depth[0] > 1e-5:
            fallen.append((sizes, moved, held, audit))
    assert not fallen


def test_a_box_that_hangs_over_falls():
    mechanism, q = pile([(0.2, 0.2, 0.1)] * 2)
    q[6] = 0.12
    stepper = kt.Stepper(mechanism, ground=level(0.6), pairs=[("box0", "box1")], stops=False)
    stepper.reset(q)
    stepper.step(times=150)
    assert stepper.q[8] < 0.14
    assert not stepper.audit().failures


def test_pairs_of_a_robot_are_found_and_act():
    """Arms that could cross stop at one another; neighbors and what touches at home are left out."""
    build = kt.Builder("arms", gravity=(0, 0, 0))
    bar = kt.model.Shape("capsule", (0.02, 0.3), kt.Placement.at((0, 0, 0.2)))
    rod = kt.Inertia.box(1.0, (0.05, 0.05, 0.4), center=(0, 0, 0.2))
    for name, x in (("left", -0.1), ("right", 0.1)):
        arm = build.world.revolute(f"{name}_joint", axis="y", at=(x, 0, 0)).body(name, rod, [bar])
        arm.revolute(f"{name}_elbow", axis="y", at=(0, 0, 0.4)).body(f"{name}_fore", rod, [bar])
    arms = build.build()
    found = {(pair.body, pair.other) for pair in kt.simulation.body_pairs(arms)}
    crossing = {(a, b) for a in ("left", "left_fore") for b in ("right", "right_fore")}
    assert found == crossing
    free = kt.Stepper(arms, stops=False)
    stepper = kt.Stepper(arms, stops=False, pairs=kt.simulation.body_pairs(arms))
    for each in (free, stepper):
        each.reset(np.zeros(4), [1.0, 0.0, -1.0, 0.0])
        each.step(times=500)
    assert free.q[0] > 0.7
    assert stepper.contact.gap.min() > -1e-4 and stepper.q[0] < 0.7
    assert "left/right" in stepper.contact.names


def test_simulations_over_rigid_ground_are_steps():
    """The result has forces on every foot, an audit, and joints within their limits."""
    mechanism, pose, kp, kd = standing()["quadruped, 4 points"]
    rigid = kt.Ground(kt.simulation.Soil(friction=0.8), normal=(0, 0, 1), contact="rigid")
    pose[2] = on_the_ground(mechanism, pose, kp, kd).q[2]
    law = kt.control.PD(pose, kp=kp, kd=kd)
    result = kt.simulate(mechanism, pose, duration=1.0, controller=law, ground=rigid, times=11)
    stepper = kt.Stepper(mechanism, 0.002, ground=rigid, controller=law)
    stepper.reset(pose)
    stepper.step(times=500)
    assert np.array_equal(result.q.values[-1], stepper.q)
    assert result.ground_force.values[-1].sum(axis=0) == pytest.approx(
        [0, 0, mechanism.mass * G], rel=1e-2, abs=1.0
    )
    assert (result.touching.values[-1]).all() and all(check.passed for check in result.audit.values())
    hold = kt.inverse_dynamics(
        mechanism, stepper.q, np.zeros(18), np.zeros(18), wrenches=_on_feet(mechanism, stepper)
    )
    assert np.abs(hold - stepper.effort)[6:].max() < 0.5
    accepted = []
    for expected, others in (
        ("no loads", {"loads": [kt.Wrench("trunk", (1, 0, 0))]}),
        ("no step, method", {"method": "rk4", "step": 1e-3}),
        ("no stop_at", {"stop_at": "touch_down"}),
        ("max_step", {"max_step": -1.0}),
        ("not both", {"torque": lambda t, q, qd: 0 * q}),
        ("not a table", {"torque": ([0.0, 1.0], np.zeros((2, 18)))}),
    ):
        try:
            kt.simulate(mechanism, pose, controller=law, ground=rigid, **others)
            accepted.append(expected)
        except kt.KinetreeError as error:
            if expected not in str(error):
                accepted.append((expected, str(error)))
    assert not accepted
    with pytest.raises(kt.KinetreeError, match="rigid contact"):
        kt.simulation.simulate_batch(mechanism, [pose], ground=rigid)


def _on_feet(mechanism, stepper):
    """The forces on the contact points as wrenches."""
    points = {point.name: point for point in mechanism.contact_points}
    return [
        kt.Wrench(points[name].body, force, point=points[name].position)
        for name, force in zip(stepper.contact.names, stepper.contact.force, strict=True)
    ]


def test_bad_input_is_refused_before_any_work():
    arm, nan = kt.zoo.two_link(), float("nan")
    stepper = kt.Stepper(arm, batch=3)
    stepper.reset([0.1, 0.2])
    before = stepper.save()
    robot = kt.Stepper(ball(), ground=level(), batch=2)
    accepted = []
    for expected, call in (
        ("dt must be between", lambda: kt.Stepper(arm, 0.0)),
        ("got 1", lambda: kt.Stepper(arm, 1.0)),
        ("got nan", lambda: kt.Stepper(arm, nan)),
        ("batch must be", lambda: kt.Stepper(arm, batch=0)),
        ("restitution", lambda: kt.Stepper(arm, restitution=1.5)),
        ("friction must", lambda: kt.Stepper(arm, batch=2, friction=[1.0, -1.0])),
        ("friction must be a factor", lambda: kt.Stepper(arm, batch=2, friction=np.ones(3))),
        ("coordinates", lambda: kt.Stepper(arm, coordinates="euler")),  # type: ignore[arg-type]
        ("ground must be", lambda: kt.Stepper(arm, ground=1.0)),  # type: ignore[arg-type]
        ("kp must be >= 0", lambda: kt.Stepper(arm, kp=-1.0)),
        ("unknown body 'nose'", lambda: kt.Stepper(arm, pairs=[("nose", "link1")])),
        ("has no sphere or capsule or box", lambda: kt.Stepper(arm, pairs=[arm.body_names[:2]])),
        ("pairs must be", lambda: kt.Stepper(arm, pairs=["link1"])),  # type: ignore[list-item]
        ("closed loops", lambda: kt.Stepper(kt.zoo.four_bar())),
        ("joint 'joint2' in state 1", lambda: stepper.step([[0, 0], [0, nan], [0, 0]])),
        ("torque must have shape (2,) or (3, 2)", lambda: stepper.step(np.zeros((2, 2)))),
        ("target must be finite", lambda: stepper.step(target=[nan, 0])),
        ("times must be", lambda: stepper.step(times=0)),
        ("mask of shape (3,)", lambda: stepper.reset(where=np.ones(2, bool))),
        ("mask of shape (3,)", lambda: stepper.reset(where=np.ones(3))),
        ("q must", lambda: stepper.reset([nan, 0])),
        ("saved must be", lambda: stepper.restore(np.zeros((2, 2)))),
        ("contact point 'p0' of state 1", lambda: robot.reset([[0, 0, 0.2, 0, 0, 0], [0] * 6])),
    ):
        try:
            call()
            accepted.append((expected, "nothing"))
        except kt.KinetreeError as error:
            if expected not in str(error):
                accepted.append((expected, str(error)))
    assert not accepted
    assert np.array_equal(stepper.save(), before)


def test_outputs_of_simulations_over_rigid_ground_are_where_they_are_asked_for():
    robot, ground = kt.zoo.quadruped(), kt.Ground(contact="rigid")
    start = np.zeros(18)
    start[2] = 0.7
    fine = kt.simulate(robot, start, duration=0.1, ground=ground, times=101)
    assert np.allclose(fine.time, np.linspace(0.0, 0.1, 101)) and fine.settings["step"] == pytest.approx(1e-3)
    some = kt.simulate(robot, start, duration=0.1, ground=ground, times=[0.0, 0.01, 0.1])
    assert np.allclose(some.time, [0.0, 0.01, 0.1])
    for settings, words in (({"times": [0.0, 0.0013]}, "multiples of the step"), ({"rtol": 1e-3}, "no rtol")):
        with pytest.raises(kt.KinetreeError, match=words):
            kt.simulate(robot, start, duration=0.1, ground=ground, **settings)


def test_simulators_take_rigid_ground():
    """The same motion and verdicts as `simulate`, and again from another state."""
    robot, pose = kt.zoo.quadruped(), np.zeros(18)
    pose[6:] = np.tile(np.radians([0, -30, 60]), 4)
    pose[2] = 0.52
    ground = level(0.8, contact="rigid")
    law = {"controller": kt.control.PD(pose, kp=200.0, kd=10.0), "ground": ground, "times": 11}
    simulator = kt.simulation.Simulator(robot, 0.5, **law)
    found, whole = simulator.run(pose), kt.simulate(robot, pose, duration=0.5, **law)
    assert np.array_equal(found.q, whole.q.values) and found.time == pytest.approx(whole.time.values)
    audit = simulator.audit()
    assert {name: check.sentence for name, check in audit.items()} == {
        name: check.sentence for name, check in whole.audit.items()
    }
    pose[2] += 0.1
    assert simulator.run(pose).q[0, 2] == pose[2] and "steps" in repr(simulator)
    with pytest.raises(kt.KinetreeError, match="inside the ground"):
        simulator.run(np.zeros(18))
