"""Predicted gaits, hops and jumps: closed forms, balances, tracking on the ground, and bad input."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kinetree as kt
from kinetree.analysis.legged_stance import legged_stance
from kinetree.control.whole_body.reference import point_motion
from kinetree.formats.toml_file import mechanism_from_toml
from kinetree.study.new_walker import walker_text
from kinetree.tasks.checks import momentum_rate
from kinetree.tasks.gaits.leap_problem import takeoff_rates
from kinetree.tasks.gaits.leaping import gains
from kinetree.tasks.gaits.problem import gait_problem, planned
from kinetree.tasks.sampled import SampledMotion


@pytest.fixture(scope="module")
def tripod():
    return kt.gaits.gait(kt.zoo.hexapod(), speed=0.3, schedule="tripod", segments=24)


@pytest.fixture(scope="module")
def pace():
    return kt.gaits.gait(kt.zoo.quadruped(), speed=0.4, schedule="pace", segments=24, refine=False)


@pytest.fixture(scope="module")
def biped():
    return kt.gaits.gait(kt.zoo.planar_biped(), speed=0.4, segments=24, acceleration=1e-3)


def test_gaits_are_solved_and_pass_all_checks(tripod, biped):
    assert tripod.passed and biped.passed, f"{tripod}\n{biped}"
    assert {"trunk", "feet", "clearance", "pushing", "friction", "periodic"} <= set(tripod.checks)


def test_mean_force_over_a_cycle_is_the_weight_and_nothing_is_left_forward(biped):
    """A periodic motion gains no momentum: the ground carries the weight and pushes nowhere in the mean."""
    s = np.linspace(0.0, 1.0, 2401)
    cycle = SampledMotion(biped.prediction, s)
    force = sum(cycle.force(foot.body) for foot in biped.plan.who.feet)
    mean = np.trapezoid(force, s, axis=0)
    assert mean[1] == pytest.approx(biped.plan.who.weight, rel=5e-3)
    assert abs(mean[0]) < 5e-3 * mean[1] and abs(mean[2]) < 1e-12


def test_momentum_changes_by_the_forces_that_were_found(tripod):
    """Newton for all bodies, by accelerations of their centers, beside the sum of sought forces."""
    cycle = SampledMotion(tripod.prediction, np.linspace(0.0, 1.0, 25))  # knots
    force = sum(cycle.force(foot.body) for foot in tripod.plan.who.feet)
    rate = momentum_rate(cycle)
    apart = rate - force - cycle.mechanism.mass * cycle.mechanism.gravity
    assert np.abs(apart).max() < 1e-3 * tripod.plan.who.weight


def test_way_and_schedule_are_those_asked_for(biped):
    plan, q = biped.plan, biped.prediction.q
    way = q[-1] - q[0]
    assert way[biped.plan.who.mechanism.joint_index("base.tx")] == pytest.approx(0.4 * plan.period)
    assert plan.schedule.least_support() == 1
    s = np.linspace(0.0, 1.0, 200, endpoint=False)
    cycle = SampledMotion(biped.prediction, s)
    on = plan.schedule.on_ground(s)
    for k, foot in enumerate(plan.who.feet):
        push = cycle.force(foot.body)[:, 1]
        assert np.abs(push[~on[:, k]]).max() < 1e-6 * plan.who.weight
        assert cycle.place(foot.body, foot.points)[~on[:, k]][..., 1].max() > 0.8 * plan.clearance


def test_faster_costs_more():
    robot = kt.zoo.planar_biped()
    slow, fast = (kt.gaits.gait(robot, speed=v, segments=16, period=1.0, refine=False) for v in (0.2, 0.7))
    assert slow.solved and fast.solved and slow.prediction.objective < fast.prediction.objective


def test_tracked_on_the_ground_it_walks(tripod):
    run = tripod.track(cycles=2, times=201)
    steps, speed = tripod.walked(run)
    assert steps == pytest.approx(4.0) and speed == pytest.approx(0.3, rel=0.05)


def test_a_pace_keeps_its_balance_by_its_footholds(pace):
    """On two points of one side it falls sideways: computed torque at the joints alone loses it."""
    run = pace.track(cycles=3, times=201)
    steps, speed = pace.walked(run)
    assert run.audit["walk"].passed and 0.0 < run.statistics["foothold_moved"] < 0.1
    assert steps == pytest.approx(6.0) and speed == pytest.approx(0.4, rel=0.05)


def test_the_law_of_a_gait_exerts_the_predicted_torques_where_all_is_as_predicted(tripod):
    """Inverse dynamics of the prediction at the knots beside the law's own solve for forces."""
    law = tripod.law().law
    cycle = SampledMotion(tripod.prediction, np.linspace(0.0, 1.0, 25))
    who = tripod.plan.who
    driven = [who.mechanism.joint_index(x) for x in who.joints]
    names = tuple(name for foot in who.feet for name in foot.names)
    for k in (5, 6, 7, 17, 18, 19):  # half of the legs swing
        force = np.array([cycle.force(foot.body)[k] for foot in who.feet])
        felt = kt.control.ContactReading(names, force, np.zeros(6), np.zeros((6, 3)))
        law.reset()
        tau = law(k / 24 * tripod.plan.period, cycle.q[k], cycle.qd[k], felt)
        apart = np.abs(tau - cycle.tau[k])[driven].max()
        assert apart < 2e-3 * who.weight * who.leg, (k, apart)


def test_a_foothold_moves_by_the_grown_error_of_the_divergent_component(pace):
    """A push by dv across the line of two feet asks for dv / w exp(w T), T before the touch-down."""
    law, who, period = pace.law().law, pace.plan.who, pace.plan.period
    cycle = SampledMotion(pace.prediction, np.linspace(0.0, 1.0, 33))
    k = 8  # a quarter of the cycle: the left feet stand, the right ones swing
    names = tuple(name for foot in who.feet for name in foot.names)
    force = np.array([cycle.force(foot.body)[k] for foot in who.feet])
    felt = kt.control.ContactReading(names, force, np.zeros(4), np.zeros((4, 3)))
    moved = []
    for dv in (0.0, 0.05):
        law.reset()
        qd = cycle.qd[k].copy()
        qd[who.mechanism.joint_index("base.ty")] += dv
        law(0.25 * period, cycle.q[k], qd, felt)
        moved.append(law.footholds[1])
    height = (
        kt.center_of_mass(who.mechanism, cycle.q)[:, 2]
        - cycle.place(who.feet[0].body, who.feet[0].points)[..., 2].min()
    ).mean()
    w, left = np.sqrt(9.81 / height), 0.25 * period
    assert (moved[1] - moved[0])[1] == pytest.approx(0.05 / w * np.exp(w * left), rel=0.02)


def test_a_trunk_without_a_divergent_error_over_its_feet_is_let_go(biped):
    """With x' = -w x it comes to rest over them by itself: what is asked for is what was predicted."""
    law, who = biped.law().law, biped.plan.who
    cycle = SampledMotion(biped.prediction, np.linspace(0.0, 1.0, 33))
    up = "xyz".index(who.up)
    feet = min(cycle.place(x.body, x.points)[..., up].min() for x in biped.plan.who.feet)
    w = np.sqrt(9.81 / (kt.center_of_mass(who.mechanism, cycle.q)[:, up] - feet).mean())
    wanted, ahead = law.wanted.at(0.25 * biped.plan.period), who.mechanism.joint_index(who.slides("x"))
    on, asked = np.ones(2, dtype=bool), []
    for x, rate in ((0.0, 0.0), (0.03, -0.03 * w), (0.03, 0.0)):
        q, qd = wanted.q.copy(), wanted.qd.copy()
        q[ahead], qd[ahead] = q[ahead] + x, qd[ahead] + rate
        now = point_motion(who, q, qd, np.zeros_like(q))
        sides = law._tasks(q, qd, wanted, now, on, np.zeros(3), now, law._jacobians(q, on))[1]
        asked.append(sides[list(law._moving).index(ahead)])
    assert asked[0] == pytest.approx(wanted.qdd[ahead])
    assert asked[1] - asked[0] == pytest.approx(0.0, abs=0.01 * w**2 * 0.03)
    assert asked[2] - asked[0] == pytest.approx(-4.0 * w**2 * 0.03, rel=0.01)


def test_derivatives_of_the_problem_are_exact():
    who = legged_stance(kt.zoo.quadruped())
    plan = planned(who, kt.gaits.Gait(speed=0.3, schedule="trot", segments=8, limits={"knee1": 30.0}))
    check = gait_problem(plan).check_derivatives()
    assert check.passed, str(check)


def test_jump_is_ballistic_and_lands_at_rest():
    """The flight takes sqrt(8 h / g); its center of mass keeps a constant velocity forward."""
    found = kt.gaits.jump(kt.zoo.planar_biped(), height=0.06)
    assert found.passed, str(found)
    fly = found.prediction.parts[1]
    assert fly.duration == pytest.approx(np.sqrt(8 * 0.06 / 9.81))
    place = kt.center_of_mass(found.who.mechanism, fly.q)
    forward = np.polyfit(fly.t, place[:, 0], 1)
    assert np.abs(place[:, 0] - np.polyval(forward, fly.t)).max() < 1e-3
    fall = np.polyfit(fly.t, place[:, 1], 2)[0]
    assert fall == pytest.approx(-9.81 / 2, rel=5e-3)
    low, high = found.who.ranges(1.5)
    for x in ("knee1", "knee2"):
        bent = found.to_result().q.sel(joint=x).values
        assert low[x] - 1e-6 <= bent.min() and bent.max() <= high[x] + 1e-6 < 0.0
    last = found.prediction.parts[2]
    assert np.abs(last.qd[-1]).max() < 1e-6
    assert np.allclose(last.q[-1], found.who.stance, atol=1e-6)


def test_forward_leap_holds_its_feet_and_lands_on_the_ground():
    """Feet neither slip nor ring before they leave; followed on springy ground it stays upright."""
    robot = kt.zoo.planar_biped()
    found = kt.gaits.jump(robot, height=0.05, distance=0.15)
    assert found.passed, str(found)
    assert found.checks["feet"].value < 1e-4
    check = found.followed().audit["tracked"]
    assert check.passed, str(check)
    run = found.track(times=201)
    assert found.strays(run) < 0.02  # by computed torque at the joints 0.07 m
    turns = [robot.joint_index(name) for name in found.who.turns]
    pitch = np.concatenate([part.q[:, turns] for part in found.prediction.parts])
    leans = np.abs(pitch - pitch[0]).max()  # predicted, so it is no fall
    assert leans > 0.5 and run.audit["tilt"].tolerance == pytest.approx(1.0 + leans, abs=0.01)
    stands = np.asarray(run.time.values) > 0.95 * float(run.time.values[-1])
    q = np.asarray(run.q.values)[stands]
    assert np.abs(q[:, :2] - found.prediction.parts[-1].q[-1, :2]).max() < 0.02


@pytest.mark.parametrize(("limit", "word"), [(18.0, "solved"), (12.0, "solved"), (2.0, "infeasible")])
def test_a_leap_and_its_law_keep_the_effort_limits_of_the_model(limit, word):
    """Without limits the jump takes 15.4 N m, and the law that follows it 22.7 N m."""
    robot = kt.zoo.planar_biped()
    one = [x if x.joint.n_dof > 1 else replace(x, joint=limited(x.joint, limit)) for x in robot.links]
    found = kt.gaits.jump(replace(robot, links=tuple(one)), height=0.08)
    assert found.prediction.word == word
    if word == "solved":
        tau = np.concatenate([part.tau[:, 6:] for part in found.prediction.parts])
        assert np.abs(tau).max() <= 1.01 * limit and found.to_result().audit["model_limits"].passed
    if limit == 18.0:
        run = found.track()
        assert 0.99 * limit < np.abs(run.tau.values[:, 6:]).max() <= limit
        assert run.audit["effort_limits"].passed and found.strays(run) < 0.02


def limited(joint, limit, speed=np.inf):
    return kt.Joint.of_kind(
        joint.name, joint.kind, axis=joint.axes[0], effort_limit=limit, velocity_limit=speed
    )


def test_a_leap_keeps_the_friction_and_the_velocity_limits_that_are_asked_for():
    robot = kt.zoo.planar_biped()
    slower = [x if x.joint.n_dof > 1 else replace(x, joint=limited(x.joint, 50.0, 7.0)) for x in robot.links]
    robot = replace(robot, links=tuple(slower))

    def most(found):
        parts = found.prediction.parts
        pushes = [sum(x.force for x in p.problem.loads_of(p.s, p.x)) for p in (parts[0], parts[2])]
        used = max(np.abs(f[:, 0] / f[:, 1]).max() for f in pushes)
        return used, max(np.abs(p.qd[:, 6:]).max() for p in parts), found.to_result().audit["model_limits"]

    used, speed, check = most(kt.gaits.jump(robot, height=0.08, distance=0.2))
    assert used > 0.17 and speed > 8.0 and not check.passed and 'limits="model" does' in check.sentence
    found = kt.gaits.jump(robot, height=0.08, distance=0.2, friction=0.15, limits="model")
    used, speed, check = most(found)
    assert found.passed and used < 0.152 and speed < 7.07 and check.passed, (used, speed, str(found))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"frictoin": 0.4}, "leap: unknown setting 'frictoin'.* Did you mean 'friction'"),
        ({"friction": 0.0}, "leap: friction must be positive and finite, got 0"),
        ({"limits": "all"}, "gait: limits must map joints to torques, or \"model\", got 'all'"),
        ({"limits": {"knee9": 1.0}}, "gait: limits: unknown joint 'knee9'"),
        ({"limits": {"knee1": -1.0}}, "gait: limits: knee1 must be positive, got -1"),
    ],
)
def test_settings_of_a_leap_that_cannot_be_meant_are_refused(given, message):
    with pytest.raises(kt.errors.InputError, match=message):
        kt.gaits.jump(kt.zoo.planar_biped(), **given)


def test_a_quadruped_hops_with_its_knees_above_the_ground():
    robot = kt.zoo.quadruped()
    found = kt.gaits.hop(robot, height=0.05, distance=0.1)
    assert found.passed, str(found)
    for part in found.prediction.parts:
        poses = kt.forward_kinematics(robot, part.at(np.linspace(0.0, part.duration, 101))[0])
        for point in robot.contact_points:
            R, p = poses[point.body]
            assert (p + R @ point.position)[:, 2].min() > -1e-3, point.name


def test_a_foothold_ahead_of_a_moving_mass_leaves_no_velocity():
    """By numerical integration over a stance whose stiffness varies."""
    t = np.linspace(0.0, 0.4, 2001)
    rate = 4.0 + 3.0 * np.sin(np.pi * t / 0.4)
    place, velocity = gains(t, rate)
    seconds = velocity / place

    def slope(at, y):
        return np.array([y[1], np.interp(at, t, rate) ** 2 * y[0]])

    found = solve_ivp(slope, (0.0, 0.4), [-seconds * 0.7, 0.7], rtol=1e-10, atol=1e-12).y[:, -1]
    assert abs(found[1]) < 1e-4
    found = solve_ivp(slope, (0.0, 0.4), [0.02, 0.0], rtol=1e-10, atol=1e-12).y[:, -1]
    assert found[1] == pytest.approx(0.02 * place, rel=1e-4)
    assert gains(t, np.full(2001, 5.0)) == pytest.approx((5.0 * np.sinh(2.0), np.cosh(2.0)))


def test_a_biped_hops_on_and_on_by_moved_footholds():
    """Six hops on the ground: six distances further, as high as predicted each time."""
    found = kt.gaits.hop(
        mechanism_from_toml(f'name = "biped"\n{walker_text("biped")}'), height=0.04, distance=0.1
    )
    assert found.passed, str(found)
    check = found.followed(6).audit["tracked"]
    assert check.passed and "6 hops" in check.sentence, str(check)
    path = found.trajectory(6)
    assert path.duration == pytest.approx(6 * found.prediction.duration)
    assert path.at(path.duration).q[0] - path.at(0.0).q[0] == pytest.approx(0.6, abs=1e-6)
    with pytest.raises(kt.errors.InputError, match="hops must be an integer"):
        found.track(0)


def test_a_biped_in_space_jumps_with_legs_that_mirror_each_other():
    found = kt.gaits.jump(mechanism_from_toml(f'name = "biped"\n{walker_text("biped")}'), height=0.05)
    assert found.passed, str(found)
    q = found.to_result().q
    for joint, sign in (("hip.ry", 1.0), ("hip.rx", -1.0), ("knee", 1.0), ("ankle.rx", -1.0)):
        left, right = (q.sel(joint=f"{side}_{joint}").values for side in ("left", "right"))
        assert np.abs(left - sign * right).max() < 1e-9
    assert found.checks["trunk"].value < 0.005


def test_a_trunk_that_would_spin_is_refused():
    """Rates of the zoo's biped: feet at rest, center of mass straight up, no angular momentum."""
    robot = kt.zoo.spatial_biped()
    who = legged_stance(robot, "x", 0.8)
    led = [x for x in robot.joint_names if x not in who.twins and x not in (*who.aside, *who.sideways)]
    rates = takeoff_rates(who, led, 0.9)
    center = kt.center_of_mass(robot, who.stance)
    moving = kt.momentum(robot, who.stance, rates, about=center)
    assert np.allclose(moving, [0, 0, 0.9 * robot.mass, 0, 0, 0], atol=1e-6)
    for foot in who.feet:
        for point in foot.points:
            assert np.abs(kt.jacobian(robot, who.stance, foot.body, point)[:3] @ rates).max() < 1e-6
    with pytest.raises(kt.errors.InputError, match=r"'trunk' would have to rotate at 97 rad/s"):
        kt.gaits.jump(robot, height=0.05)


@pytest.mark.parametrize("base", ["free", "planar"])
def test_one_leg_hops_on_and_on(base):
    """Momentum over a period: the ground carries the weight in the mean; one flight is that of ballistics."""
    build = kt.Builder("hopper")
    root = build.world.free("base") if base == "free" else build.world.planar("base", axis="y", driven=False)
    trunk = root.body("trunk", kt.Inertia.box(10.0, (0.3, 0.2, 0.2)))
    thigh = trunk.revolute("hip", axis="y").body("thigh", kt.Inertia.rod(0.8, end=(0, 0, -0.3)))
    shank = thigh.revolute("knee", axis="y", at=(0, 0, -0.3)).body(
        "shank", kt.Inertia.rod(0.5, end=(0, 0, -0.3))
    )
    shank.contact("foot", at=(0, 0, -0.3))
    found = kt.gaits.hop(build.build(), height=0.05, distance=0.2)
    assert found.passed, str(found)
    push, fly = found.prediction.parts
    assert fly.duration == pytest.approx(np.sqrt(8 * 0.05 / 9.81))
    s = np.linspace(0.0, 1.0, 801)
    force = sum(np.asarray(load.force) for load in push.problem.loads_of(s, push.x))
    mean = np.trapezoid(force[:, 2], s * push.duration) / (push.duration + fly.duration)
    assert mean == pytest.approx(found.who.weight, rel=5e-3)
    way = fly.q[-1, 0] - push.q[0, 0]
    assert way == pytest.approx(0.2, abs=1e-6)
    assert found.followed().audit["tracked"].passed
    inner = np.linspace(0.3, 0.7, 9)
    R, p = kt.forward_kinematics(found.who.mechanism, fly.at(inner * fly.duration)[0])["shank"]
    least = 0.005 * (4.0 * inner * (1.0 - inner)) ** 2  # a tenth of the rise
    assert ((p + R @ [0, 0, -0.3])[:, 2] > least - 1e-3).all()
    if base == "planar":
        run = found.track(10)  # on a point that cannot correct anything but by where it lands
        assert run.time.values[-1] == pytest.approx(10 * (push.duration + fly.duration))
        assert found.strays(run) < 0.1 * found.who.leg


def test_knees_stay_bent_on_the_side_they_stand():
    """Straight legs of the planar biped have knees at 0: ranges end 0.15 rad before."""
    who = legged_stance(kt.zoo.planar_biped())
    assert who.knees["knee1"][1] == pytest.approx(-0.15, abs=0.02) and who.knees["knee1"][0] == -np.inf
    assert who.mirrored and legged_stance(kt.zoo.quadruped()).mirrored


def test_a_mesh_that_is_too_coarse_is_refined():
    found = kt.gaits.gait(kt.zoo.planar_biped(), speed=0.6, segments=16, period=1.0)
    assert found.passed and found.plan.task.segments > 16, str(found)


def test_own_schedule_and_best():
    robot = kt.zoo.planar_biped()
    own = {"touchdown": {"foot1": 0.0, "foot2": 0.5}, "duty": 0.7}
    who = legged_stance(robot)
    assert planned(who, kt.gaits.Gait(schedule=own)).schedule.duty == pytest.approx(0.7, abs=0.02)
    assert set(kt.gaits.named_schedules(4)) == {"trot", "pace", "walk"}
    assert kt.gaits.named_schedules(5) == {}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"speed": 9.0}, "beyond reach"),
        ({"speed": 1.0, "period": 4.0}, "ahead of the hips"),
        ({"schedule": "gallop"}, "unknown schedule 'gallop'"),
        ({"schedule": kt.gaits.Schedule("fly", (0.0, 0.5, 0.5, 0.0), 0.3)}, "no support from"),
        ({"schedule": kt.gaits.Schedule("two", (0.0, 0.5), 0.6)}, "has 2 legs, the mechanism 4"),
        ({"schedule": {"touchdown": {"shank1": 0.0}, "duty": 0.6}}, "is missing"),
        ({"schedule": {"touchdown": {"paw": 0.0}, "duty": 0.6}}, "unknown foot 'paw'"),
        ({"speed": float("nan")}, "finite"),
        ({"speed": -1.0}, "not negative"),
        ({"segments": 4}, "from 8 to 80"),
        ({"limits": {"knee9": 3.0}}, "unknown joint"),
        ({"forward": "z"}, "gravity"),
        ({"gear": 3}, "unknown setting"),
    ],
)
def test_bad_input_is_refused(changes, message):
    with pytest.raises(kt.KinetreeError, match=message):
        kt.gaits.gait(kt.zoo.quadruped(), **{"schedule": "trot", **changes})


def test_mechanisms_without_feet_are_refused():
    with pytest.raises(kt.KinetreeError, match=r"contact points|root|leg"):
        kt.gaits.gait(kt.zoo.kuka_kr5())
    with pytest.raises(kt.errors.InputError, match="must be a Mechanism"):
        kt.gaits.gait("robot.urdf")
    with pytest.raises(kt.errors.InputError, match="height must be"):
        kt.gaits.jump(kt.zoo.planar_biped(), height=5.0)


@pytest.mark.parametrize(
    "settings",
    [
        {"speed": None},
        {"speed": 1e300},
        {"friction": None},
        {"range": None},
        {"schedule": [1]},
        {"effort": None},
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings):
    with pytest.raises(kt.errors.InputError, match="gait: "):
        kt.gaits.gait(kt.zoo.quadruped(), **settings)
