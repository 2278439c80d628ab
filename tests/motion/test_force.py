"""Forces that are sought: against closed forms, differences, other answers of the library; bad input."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion.problem.places import Place
from kinetree.motion.problem.problem import Problem
from kinetree.motion.terms import (
    Boundary,
    CustomObjective,
    PointPosition,
    PointVelocity,
    Power,
    ReactionLimit,
    SquaredForce,
    SquaredReaction,
    SquaredTorque,
    StrengthLimit,
    Time,
    TorqueLimits,
    TorqueRateLimits,
    UnknownForce,
    ZeroMomentPoint,
)
from kinetree.motion.terms.contract import Constraint, Function, PointForce
from kinetree.motion.terms.reach import Position

G, MASS = 9.81, 2.0
ARM = kt.zoo.kuka_kr5()
HAND, UPPER = "link6", "link2"


def slider(axis="x", mass=MASS):
    """A block on a rail, which nothing drives; gravity is along -z."""
    build = kt.Builder("rail", gravity=(0, 0, -G))
    build.world.prismatic("slide", axis=axis).body("block", kt.Inertia.box(mass, (0.1, 0.1, 0.1)))
    return build.build()


def from_rest_to_rest(start, end):
    return [Boundary("start", start, 0.0), Boundary("end", end, 0.0)]


UNDRIVEN = TorqueLimits(0.0, at="knots")


def pushed(objective, duration, mechanism=None, distance=0.3, also=(), **force):
    """A block that a finger moves by a distance from rest to rest."""
    term = UnknownForce("block", **{"name": "finger", "axes": "x", **force})
    constraints = [*from_rest_to_rest(0.0, distance), UNDRIVEN, term, *also]
    return Problem(mechanism or slider(), objective=objective, constraints=constraints, duration=duration)


# ---- closed forms ------------------------------------------------------------------------------------
@pytest.mark.parametrize("solver", ["interior", "ipopt"])
def test_least_squared_force_of_a_push_is_the_closed_form(solver):
    """m x'' = f; the least integral of f^2 from rest to rest is 12 m^2 d^2 / T^3 with f linear in time."""
    d, T = 0.3, 1.5
    found = kt.predict(pushed(SquaredForce("finger"), T, distance=d), solver=solver)
    assert found.solved
    assert found.objective == pytest.approx(12.0 * MASS**2 * d**2 / T**3, rel=1e-6)
    exact = 6.0 * MASS * d / T**2 * (1.0 - 2.0 * found.t / T)
    assert np.allclose(found.curves["force:finger"][:, 0], exact, atol=1e-4)
    assert np.allclose(found.tau, 0.0, atol=1e-5)
    s = found.t / T
    assert np.allclose(found.q[:, 0], d * s**2 * (3.0 - 2.0 * s), atol=1e-6)


def test_shortest_push_with_a_bounded_force_is_bang_bang():
    """T = 2 sqrt(m d / F); the price of the bound is dT/dF = -T / (2 F)."""
    d, F = 0.3, 12.0
    problem = pushed(Time(), (0.05, 5.0), distance=d, lower=-F, upper=F)
    found = kt.predict(problem.changed(segments=60))
    truth = 2.0 * np.sqrt(MASS * d / F)
    assert found.solved and found.duration == pytest.approx(truth, rel=2e-3)
    reached = [bound for bound in found.active if bound.family == "unknown force"]
    assert {bound.side for bound in reached} == {"lower", "upper"}
    assert {bound.label for bound in reached} == {"x of finger"} and reached[0].unit == "N"
    assert sum(bound.price for bound in reached) == pytest.approx(-truth / (2.0 * F), rel=0.03)
    assert max(abs(bound.bound) for bound in reached) == pytest.approx(F)


def test_a_weight_is_held_by_a_contact_that_only_pushes():
    """At rest the force is the weight; its square is least where it is constant: J = (m g)^2 T."""
    T = 0.8
    found = kt.predict(pushed(SquaredForce("finger"), T, slider("z"), 0.0, axes="z", normal=(0, 0, 1)))
    assert found.solved
    assert np.allclose(found.curves["force:finger"], MASS * G, rtol=1e-6)
    assert found.objective == pytest.approx((MASS * G) ** 2 * T, rel=1e-8)


def test_what_only_pushes_cannot_pull_a_block_down():
    """Down by d from rest to rest: free fall first, so that T >= sqrt(2 d / g), never faster."""
    d, T = 0.2, 0.5
    asked = {"mechanism": slider("z"), "distance": -d, "axes": "z", "normal": (0, 0, 1)}
    slow = kt.predict(pushed(SquaredForce("finger"), T, **asked))
    assert slow.solved and slow.curves["force:finger"].min() > -1e-5
    falls = np.sqrt(2.0 * d / G)
    hopeless = kt.predict(pushed(SquaredForce("finger"), 0.9 * falls, **asked))
    assert not hopeless.solved and hopeless.max_violation > 0.5
    assert "too short for the torque limit, unknown force: allow a longer duration" in str(hopeless)
    assert "not driven" not in str(hopeless) and "holding" not in str(hopeless)
    shortest = kt.predict(pushed(Time(), (0.05, 2.0), upper=50.0, **asked).changed(segments=40))
    best = np.sqrt(2.0 * d / G * 50.0 / (50.0 - MASS * G))  # falls, then brakes with all force
    assert shortest.duration == pytest.approx(best, rel=1e-2)


def test_friction_carries_a_block_along():
    """Pressed on a table by its weight, a block slides off if it is accelerated by more than mu g."""
    build = kt.Builder("table", gravity=(0, 0, -G))
    across = build.world.prismatic("x", axis="x").body("carriage", kt.Inertia.point(1e-9))
    across.prismatic("z", axis="z").body("block", kt.Inertia.box(MASS, (0.1, 0.1, 0.1)))
    d, mu = 0.3, 0.5
    force = UnknownForce("block", name="table", axes="xz", normal=(0, 0, 1), friction=mu)
    ends = [Boundary("start", [0.0, 0.0], 0.0), Boundary("end", [d, 0.0], 0.0)]
    flat = Boundary(0.5, {"z": 0.0})
    free = TorqueLimits(0.0, at="knots")
    problem = Problem(
        build.build(), objective=Time(), constraints=[*ends, flat, free, force], segments=40,
        frozen={"z": 0.0}, duration=(0.05, 3.0),
    )  # fmt: skip
    found = kt.predict(problem)
    assert found.solved
    f = found.curves["force:table"]
    assert (np.abs(f[:, 0]) <= mu * f[:, 1] + 1e-4).all()
    assert found.duration == pytest.approx(2.0 * np.sqrt(d / (mu * G)), rel=5e-3)


def test_the_cone_of_two_tangents_is_that_of_one_in_its_plane():
    """The same push across with axes xyz, where the cone is round, and xz, where it is a wedge."""
    times = []
    for axes in ("xz", "xyz"):
        force = UnknownForce("block", axes=axes, normal=(0, 0, 2), friction=0.3, upper={"z": 30.0})
        ends = from_rest_to_rest(0.0, 0.2)
        problem = Problem(
            slider(), objective=Time(), constraints=[*ends, force, UNDRIVEN], duration=(0.1, 3.0)
        )
        found = kt.predict(problem)
        assert found.solved
        times.append(found.duration)
    assert times[1] == pytest.approx(times[0], rel=1e-3)


# ---- against other answers ---------------------------------------------------------------------------
def held_arm(objective, also=(), **changes):
    """An arm with a force at its hand, and one at its upper arm with splines of its own."""
    hand = UnknownForce(HAND, (0.1, 0.0, 0.2), name="hand", size=20.0)
    elbow = UnknownForce(UPPER, (0.0, 0.1, 0.0), name="elbow", axes="zx", size=30.0, segments=2, degree=2)
    arguments = {"segments": 3, "duration": (0.1, 5.0), **changes}
    return Problem(ARM, objective=objective, constraints=[hand, elbow, *also], **arguments)


STRENGTH = 100 + 20 * np.sin(np.arange(20.0).reshape(5, 4))
READERS = {
    "torques": [TorqueLimits(100.0)],
    "torque rates": [TorqueRateLimits(1e3)],
    "reactions": [ReactionLimit(UPPER, 100.0), ReactionLimit("link4", 10.0, "mz")],
    "balance": [ZeroMomentPoint([(-1, -1), (1, -1), (1, 1), (-1, 1)])],
    "strength": [StrengthLimit("joint2", [-2, -1, 0, 1, 2], [-3, -1, 1, 3], STRENGTH)],
    "cone": [UnknownForce("link5", name="cone", normal=(0.2, 0, 1), friction=0.4, size=10.0)],
    "bounds": [UnknownForce("link5", name="box", lower=-3.0, upper=[1.0, 2.0, 3.0])],
}


def own(s, q, qd, qdd, tau):
    return np.cos(q[:, 0]) * tau[:, 1] ** 2


@pytest.mark.parametrize("frozen", [None, {"joint3": 0.3}], ids=["all", "one frozen"])
@pytest.mark.parametrize("duration", [(0.1, 5.0), 0.8], ids=["free", "fixed"])
@pytest.mark.parametrize("name", READERS)
def test_derivatives_of_what_reads_torques_and_forces(name, duration, frozen):
    problem = held_arm(SquaredTorque(), READERS[name], duration=duration, frozen=frozen)
    check = problem.check_derivatives()
    assert max(check.gradient, check.hessian, *check.jacobian.values()) < 1e-6, str(check)


OBJECTIVES = {
    "power": Power(smooth=30.0),
    "reaction": SquaredReaction(UPPER),
    "force": SquaredForce("elbow", {"x": 2.0}),
    "own": CustomObjective(own),
}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_derivatives_of_objectives(name):
    check = held_arm([OBJECTIVES[name], 0.1 * Time()]).check_derivatives()
    assert max(check.gradient, check.hessian) < (1e-4 if name == "own" else 1e-6), str(check)


def test_derivatives_with_coupled_joints():
    build = kt.Builder("coupled")
    rod = kt.Inertia.rod(1.0, end=(0.3, 0, 0))
    upper = build.world.revolute("shoulder", axis="y").body("upper", rod)
    bent = upper.revolute("elbow", at=(0.3, 0, 0), axis="y", mimic=kt.model.Mimic("shoulder", 0.5))
    fore = bent.body("fore", rod)
    fore.revolute("wrist", at=(0.3, 0, 0), axis="z").body("hand", rod)
    force = UnknownForce("hand", (0.3, 0, 0), size=5.0)
    problem = Problem(
        build.build(), objective=SquaredTorque(), constraints=[force, TorqueLimits(9.0)], segments=3
    )
    check = problem.check_derivatives()
    assert max(check.gradient, check.hessian, *check.jacobian.values()) < 1e-6, str(check)


def test_torques_and_reactions_are_those_under_the_same_loads(rng):
    problem = held_arm(SquaredTorque(), [ReactionLimit(UPPER, 1e3)])
    unknowns, s = problem.setting.unknowns, np.linspace(0.0, 1.0, 7)
    x = unknowns.with_duration(rng.standard_normal(unknowns.size), 0.8)
    evaluation = problem.evaluation(s, x)
    own = problem.setting.own
    state = tuple(y[:, own] for y in evaluation.motion[:3])
    hand, elbow = evaluation.curve("force:hand"), evaluation.curve("force:elbow")
    z, x_axis = np.eye(3)[2], np.eye(3)[0]
    wrenches = [
        kt.Wrench(HAND, hand, point=(0.1, 0.0, 0.2)),
        kt.Wrench(UPPER, elbow[:, :1] * z + elbow[:, 1:] * x_axis, point=(0.0, 0.1, 0.0)),
    ]
    assert np.allclose(evaluation.tau[:, own], kt.inverse_dynamics(ARM, *state, wrenches), rtol=1e-10)
    reaction = kt.joint_reactions(ARM, *state, wrenches)[:, 1]
    assert np.allclose(evaluation.tau[:, problem.setting.reaction(UPPER)], reaction, rtol=1e-9, atol=1e-9)
    J = kt.jacobian(ARM, state[0], HAND, (0.1, 0.0, 0.2))[:, :3]
    assert np.allclose(evaluation.torque_curves["force:hand"][:, own], -np.swapaxes(J, 1, 2), atol=1e-12)


class Bungee(Constraint):
    """A spring from a point of a body to a place in the world: a load that depends on the motion."""

    stiffness, rest, point = 40.0, np.array([0.3, -0.2, 0.5]), (0.0, 0.1, 0.2)

    def bounded(self, setting):
        return []

    def acting(self, setting):
        return [PointForce(setting, HAND, self.point, BungeeForce(setting, self))]


class BungeeForce(Function):
    """f = k (rest - x)."""

    size = 3

    def __init__(self, setting, spring):
        self.spring = spring
        self.position = Position(Place(setting.extended, HAND, spring.point), [0, 1, 2])

    def values(self, at):
        return self.spring.stiffness * (self.spring.rest - self.position.values(at))

    def slopes(self, at):
        return -self.spring.stiffness * self.position.slopes(at)

    def bend(self, at, weight):
        self.position.bend(at, -self.spring.stiffness * weight)


def test_loads_may_depend_on_the_motion(rng):
    """Torques under a spring are those under its forces, and all derivatives are exact."""
    problem = held_arm([SquaredTorque(), 0.1 * Time()], [Bungee(), TorqueLimits(100.0)])
    check = problem.check_derivatives()
    assert max(check.gradient, check.hessian, *check.jacobian.values()) < 1e-6, str(check)
    unknowns, s = problem.setting.unknowns, np.linspace(0.0, 1.0, 5)
    x = unknowns.joined(rng.standard_normal((problem.basis.n_control, 6)), 0.8)
    evaluation = problem.evaluation(s, x)
    state = evaluation.motion[:3]
    R, p = kt.forward_kinematics(ARM, state[0])[HAND]
    force = Bungee.stiffness * (Bungee.rest - p - R @ Bungee.point)
    load = kt.Wrench(HAND, force, point=Bungee.point)
    assert np.allclose(evaluation.tau, kt.inverse_dynamics(ARM, *state, load), rtol=1e-10, atol=1e-10)


def test_splines_of_a_force_have_their_own_segments_and_degree():
    problem = held_arm(SquaredTorque(), segments=5, degree=4)
    hand, elbow = problem.setting.unknowns.curves
    assert (hand.basis.segments, hand.basis.degree) == (5, 2)
    assert (elbow.basis.segments, elbow.basis.degree) == (2, 2)
    assert problem.setting.unknowns.size == 9 * 6 + 1 + 7 * 3 + 4 * 2
    assert 0.5 in problem.setting.samples  # a break of the second force, not of the motion
    assert np.isclose(problem.setting.quadrature[1].sum(), 1.0)


# ---- results, starts, meshes, phases -----------------------------------------------------------------
def test_results_have_the_force_and_lead_back(tmp_path):
    problem = pushed(SquaredForce("finger"), 1.5)
    found = kt.predict(problem)
    found.save(tmp_path / "push.nc")
    result = kt.load_result(tmp_path / "push.nc")
    assert result["force_finger"].dims == ("time", "force_finger_component")
    assert result["force_finger"].attrs["units"] == "N"
    assert np.array_equal(result["force_finger"].values, found.curves["force:finger"])
    assert result.settings["constraints"][3]["term"] == "UnknownForce"
    for start in (result, found):
        again = kt.predict(problem, start=start)
        assert again.iterations <= 4 and again.objective == pytest.approx(found.objective, rel=1e-7)
    moved = kt.predict(problem.changed(segments=33), start=found)
    assert moved.solved and moved.objective == pytest.approx(found.objective, rel=1e-6)


def test_a_force_that_another_mesh_has_is_kept():
    from kinetree.motion.search.start import regridded, result_motion

    coarse, problem = kt.predict(pushed(SquaredForce("finger"), 1.5)), pushed(SquaredForce("finger"), 1.5)
    finer = problem.changed(segments=31)
    s = np.linspace(0, 1, 9)
    for x in (regridded(finer, coarse.problem, coarse.x), result_motion(finer, coarse.result)):
        values = finer.evaluation(s, x).curve("force:finger")
        assert np.allclose(values, coarse.problem.evaluation(s, coarse.x).curve("force:finger"), atol=1e-5)


def test_meshes_are_refined_where_the_force_switches():
    d, F = 0.3, 12.0
    force = UnknownForce("block", axes="x", lower=-F, upper=F)
    constraints = [*from_rest_to_rest(0.0, d), force, TorqueLimits(0.0)]
    found = kt.predict(Problem(slider(), objective=Time(), constraints=constraints, duration=(0.05, 5.0)))
    better = kt.motion.tighten(kt.motion.refine(found, rounds=2))
    truth = 2.0 * np.sqrt(MASS * d / F)
    assert found.duration > (1.0 + 1e-3) * truth
    assert better.solved and better.duration == pytest.approx(truth, rel=1e-6)
    assert better.max_violation < 1e-4


def test_a_force_can_do_what_accelerations_can(rng):
    """The default splines of a force contain the second derivatives of the motion's, jumps included."""
    breaks = [0.0, 0.2, 0.5, 0.5, 0.5, 0.5, 0.8, 0.8, 1.0]
    force = UnknownForce("block", axes="x")
    problem = Problem(slider(), objective=Time(), constraints=force, breaks=breaks, degree=5)
    (curve,) = problem.setting.unknowns.curves
    s = np.concatenate([np.linspace(0.0, 1.0, 101), [np.nextafter(0.5, 0.0)]])
    first, values = problem.basis.local(np.sort(s), 2)
    second = np.zeros((len(s), problem.basis.n_control))
    np.put_along_axis(second, first[:, None] + np.arange(6), values[:, 2], axis=1)
    wanted = second @ rng.standard_normal(problem.basis.n_control)
    matrix = curve.basis.matrix(np.sort(s)).toarray()
    assert np.linalg.matrix_rank(matrix) == curve.basis.n_control == problem.basis.n_control - 2
    assert np.allclose(matrix @ np.linalg.lstsq(matrix, wanted, rcond=None)[0], wanted, atol=1e-8)


def test_a_simulation_under_the_force_follows_the_motion():
    found = kt.predict(pushed(SquaredForce("finger"), 1.5))
    assert found.check_by_simulation().check().passed


def test_a_force_acts_in_the_phases_that_have_it(tmp_path):
    """A block is pushed, then slides on by itself: it keeps its speed."""
    rail = slider()
    begin = Problem(
        rail, objective=SquaredForce("finger"), duration=0.5,
        constraints=[Boundary("start", 0.0, 0.0), UnknownForce("block", name="finger", axes="x"), UNDRIVEN],
    )  # fmt: skip
    glide = Problem(rail, objective=0.0 * Time(), constraints=[Boundary("end", 1.0), UNDRIVEN], duration=1.0)
    found = kt.motion.predict_phases([begin, glide])
    assert found.solved
    first, second = found.parts
    assert np.ptp(second.qd) < 1e-5 and "force:finger" not in second.curves
    # x(T1) + v T2 = 1 and the least integral of f^2: f is linear, f = a + b t with the transversality below
    T1, T2, m = 0.5, 1.0, MASS
    t = np.linspace(0, T1, 2001)
    arm = (T1 - t + T2) / m  # what a unit of force at t adds to the final place
    exact = arm / np.trapezoid(arm**2, t)
    assert found.objective == pytest.approx(np.trapezoid(exact**2, t), rel=1e-5)
    assert np.allclose(np.interp(first.t, t, exact), first.curves["force:finger"][:, 0], rtol=1e-3)
    found.save(tmp_path / "phases.nc")
    result = kt.load_result(tmp_path / "phases.nc")
    values = result["force_finger"].values[:, 0]
    assert np.isnan(values).tolist() == (result["phase"].values == 2).tolist()
    again = kt.motion.predict_phases([begin, glide], start=result)
    assert again.objective == pytest.approx(found.objective, rel=1e-6)


def test_a_hopper_stands_pushes_and_flies():
    """A mass on a leg: its foot may push while it stands; it must be h above at the end of the flight."""
    build = kt.Builder("hopper", gravity=(0, 0, -G))
    body = build.world.prismatic("height", axis="z").body("body", kt.Inertia.point(4.0))
    body.prismatic("leg", axis="z").body("foot", kt.Inertia.point(0.5))
    hopper, h = build.build(), 0.2
    base = TorqueLimits(0.0, joints="height", at="knots")
    foot = UnknownForce("foot", axes="z", normal=(0, 0, 1))
    stand = Problem(
        hopper, objective=SquaredTorque("leg"), duration=(0.1, 1.0), segments=16,
        constraints=[
            Boundary("start", [0.5, -0.5], 0.0), base, foot,
            PointPosition("foot", (0, 0, 0), axes="z", at="knots"), TorqueLimits(200.0, joints="leg"),
        ],
    )  # fmt: skip
    fly = Problem(
        hopper, objective=SquaredTorque("leg"), duration=(0.05, 1.0), segments=8,
        constraints=[
            base, PointVelocity("body", (0, 0, 0), axes="z", at="end"),
            PointPosition("foot", (0, 0, h), axes="z", at="end"), Boundary("end", velocity={"leg": 0.0}),
        ],
    )  # fmt: skip
    found = kt.motion.predict_phases([stand, fly])
    assert found.solved, str(found)
    push, flight = found.parts
    force = push.curves["force:foot"][:, 0]
    assert force.min() > -1e-4
    # momentum: the impulse of the foot is what gravity takes until the apex, where all stand still
    impulse = np.trapezoid(force, push.t)
    assert impulse == pytest.approx(4.5 * G * found.duration, rel=2e-3)
    assert flight.q[-1].sum() == pytest.approx(h, abs=1e-5)


def squat(segments):
    """A planar biped on heels and toes goes down and up again; gravity is along -y, the trunk is free."""
    biped, bend, down = kt.zoo.planar_biped(), 0.4, 0.8
    still = {"base.tz": 0.0, "base.ry": 0.0, "base.rx": 0.0}
    base = ["base.tx", "base.ty", "base.rz"]
    legs = [name for name in biped.joint_names if not name.startswith("base")]
    stand = {"base.tx": 0.0, "base.ty": 0.25 + np.cos(bend), "base.rz": -np.pi / 2}
    for leg in "12":
        stand |= {f"hip{leg}": bend, f"knee{leg}": -2.0 * bend, f"ankle{leg}": bend + np.pi / 2}
    constraints = [
        *from_rest_to_rest(stand, stand),
        Boundary(0.5, {"base.ty": 0.25 + np.cos(down)}),
        TorqueLimits(0.0, joints=base, at="knots"),
        TorqueLimits(200.0, joints=legs),
    ]
    feet = [x for x in biped.contact_points if not x.name.startswith(("trunk", "knee"))]
    contacts = {x.name: x for x in feet}
    for name, x in contacts.items():
        push = {"axes": "xy", "normal": (0, 1, 0), "friction": 0.6}
        constraints.append(UnknownForce(x.body, x.position, name=name, **push))
    for leg in "12":
        constraints.append(PointPosition(f"foot{leg}", (0, 0, 0), axes="xy", at="knots"))
        toe = contacts[f"toe{leg}"].position
        constraints.append(PointPosition(f"foot{leg}", (0, 0, 0), point=toe, axes="y", at="knots"))
    effort = [SquaredTorque(legs), *(1e-4 * SquaredForce(name) for name in contacts)]
    return Problem(
        biped, objective=effort, constraints=constraints, duration=1.0, segments=segments, frozen=still
    )


def test_a_biped_squats_on_forces_of_the_ground():
    """Its weight is borne by heels and toes within their cones; what is left on the trunk falls with h^2."""
    assert squat(4).check_derivatives().passed
    left = []
    for segments in (12, 24):
        found = kt.predict(squat(segments))
        assert found.solved_at_samples
        left.append(float(np.abs(found.tau[:, :6]).max()))
    assert left[1] < 0.4 * left[0]
    forces = list(found.curves.values())
    assert len(forces) == 4 and min(f[:, 1].min() for f in forces) > -1e-3
    assert all((np.abs(f[:, 0]) <= 0.6 * f[:, 1] + 1e-2).all() for f in forces)
    impulse = np.trapezoid(sum(forces), found.t, axis=0)
    assert impulse == pytest.approx([0.0, found.problem.mechanism.mass * G], abs=0.3)
    poses = kt.forward_kinematics(found.problem.mechanism, found.q)
    assert np.abs(poses["foot1"][1]).max() < 1e-3


# ---- what is wrong is named --------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"body": "brick"}, "unknown body 'brick'; allowed: block"),
        ({"body": "world"}, "unknown body 'world'"),
        ({"point": (0.0, 1.0)}, r"point of 'block'.*\(2,\)"),
        ({"point": (0.0, np.nan, 0.0)}, "point of 'block'"),
        ({"axes": "xq"}, "axes must be some of x, y and z, each once, got 'xq'"),
        ({"axes": "xx"}, "each once, got 'xx'"),
        ({"axes": ""}, "each once, got ''"),
        ({"lower": 3.0, "upper": 1.0}, "of 'x': lower bound 3 is above upper bound 1"),
        ({"lower": [1.0, 2.0]}, "lower bound of unknown force 'block' must be one number or 3"),
        ({"upper": {"w": 1.0}}, "unknown axis 'w'"),
        ({"upper": np.nan}, "upper bound of unknown force 'block'"),
        ({"normal": (0, 0, 0)}, "normal must not be zero"),
        ({"normal": (0, 0, 1), "axes": "xy"}, "has no component among the axes 'xy'"),
        ({"normal": (0, 0, 1), "friction": -0.1}, "friction must be 0 or more, got -0.1"),
        ({"friction": 0.5}, "friction needs the normal"),
        ({"normal": (0, 0, 1), "friction": 0.5, "axes": "z"}, "friction needs a component normal to"),
        ({"segments": 0}, "segments must be"),
        ({"degree": 0}, "degree"),
        ({"size": 0.0}, "size must be positive, got 0.0"),
        ({"start": np.inf}, "start of unknown force 'block' must be finite"),
        ({"name": ""}, "the name must be a text"),
    ],
)
def test_bad_forces_are_named(arguments, message):
    with pytest.raises(kt.errors.InputError, match=message):
        force = UnknownForce(**{"body": "block", **arguments})
        Problem(slider(), objective=Time(), constraints=force)


def test_forces_that_are_not_there_or_twice_are_named():
    finger = UnknownForce("block", name="finger")
    with pytest.raises(kt.errors.InputError, match="squared force: there is no unknown 'force:finger'"):
        Problem(slider(), objective=SquaredForce("finger"))
    with pytest.raises(kt.errors.InputError, match="Did you mean 'force:finger'"):
        Problem(slider(), objective=SquaredForce("fingr"), constraints=finger)
    with pytest.raises(kt.errors.InputError, match="two terms define the unknown 'force:finger'"):
        Problem(slider(), objective=Time(), constraints=[finger, UnknownForce("block", name="finger")])
    with pytest.raises(
        kt.errors.InputError, match="weights of squared force of 'finger' must be finite and not neg"
    ):
        Problem(slider(), objective=SquaredForce("finger", -1.0), constraints=finger)


def test_names_that_results_cannot_tell_apart_are_refused():
    forces = [kt.terms.UnknownForce("block", axes="x", name=name) for name in ("a b", "a_b")]
    with pytest.raises(
        kt.errors.InputError, match="'force:a b' and 'force:a_b' have the same name in results"
    ):
        kt.Problem(slider(), duration=1.0, objective=kt.terms.SquaredForce("a b"), constraints=forces)
