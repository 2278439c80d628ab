"""Torques, reactions and places along a motion against the library's other answers and differences."""

from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from kinetree.algebra.bspline import BSplineBasis
from kinetree.motion.problem.places import AxisFrames, Place
from kinetree.motion.problem.profile import PAIRS, Profiles
from kinetree.motion.problem.reaction_axes import own_rows, reaction_rows, with_reaction_axes
from kinetree.motion.problem.unknowns import Unknowns
from kinetree.motion.program.mechanics import Mechanics


def welded():
    build = kt.Builder("welded")
    arm = build.world.revolute("turn", axis="y").body("arm", kt.Inertia.rod(1.0, end=(0.5, 0, 0)))
    tool = arm.fixed("weld", at=(0.5, 0, 0)).body("tool", kt.Inertia.box(0.3, (0.1, 0.2, 0.3)))
    tool.prismatic("slide", axis="x").body("tip", kt.Inertia.sphere(0.2, 0.05, center=(0.1, 0, 0)))
    return build.build()


def mimicking():
    build = kt.Builder("mimicking")
    rod = kt.Inertia.rod(1.0, end=(0.3, 0.1, 0))
    upper = build.world.revolute("a", axis="y").body("upper", rod)
    fore = upper.revolute("b", at=(0.3, 0, 0), axis="z").body("fore", rod)
    fore.revolute("c", at=(0.3, 0, 0), axis="y", mimic=kt.model.Mimic("b", 0.5, 0.1)).body("hand", rod)
    return build.build()


MECHANISMS = {"kuka": kt.zoo.kuka_kr5, "gripper": kt.zoo.gripper, "welded": welded, "mimicking": mimicking}


@pytest.fixture(params=MECHANISMS)
def mechanism(request):
    return MECHANISMS[request.param]()


def motion_of(grid, x):
    """The motion of unknowns x = (control points; T) at the samples of a grid."""
    return Unknowns(grid.profiles).at(grid.s).motion(x)


def moved(mechanism, rng, frozen=()):
    """A random motion of all coordinates but the frozen ones; reaction axes stay at zero."""
    own = [k for k, name in enumerate(mechanism.joint_names) if "(reaction)" not in name and k not in frozen]
    profiles = Profiles(BSplineBasis.uniform(3), np.array(own), np.zeros(mechanism.n_dof))
    grid = profiles.at(rng.uniform(size=6))
    x = Unknowns(profiles).joined(rng.standard_normal((profiles.basis.n_control, len(own))), 0.9)
    return profiles, grid, x


@pytest.mark.parametrize("body", ["first", "last"])
def test_forces_of_reaction_axes_are_joint_reactions(mechanism, rng, body):
    name = mechanism.body_names[0 if body == "first" else -1]
    extended = with_reaction_axes(mechanism, [name])
    _, grid, x = moved(extended, rng)
    motion = motion_of(grid, x)
    tau = Mechanics(extended, np.arange(extended.n_dof)).torques(motion)
    own = own_rows(extended, mechanism.joint_names)
    state = motion.q[:, own], motion.qd[:, own], motion.qdd[:, own]
    expected = kt.joint_reactions(mechanism, *state)[:, mechanism.body_index(name)]
    assert np.allclose(tau[:, reaction_rows(extended, name)], expected, rtol=1e-11, atol=1e-10)
    assert np.allclose(tau[:, own], kt.inverse_dynamics(mechanism, *state), rtol=1e-11, atol=1e-10)


def test_forces_below_all_roots_are_the_change_of_momentum(rng):
    robot = kt.zoo.planar_biped()
    extended = with_reaction_axes(robot, ["world"])
    _, grid, x = moved(extended, rng)
    motion, h = motion_of(grid, x), 1e-6
    tau = Mechanics(extended, np.arange(extended.n_dof)).torques(motion)
    own = own_rows(extended, robot.joint_names)
    q, qd, qdd = (y[:, own] for y in motion[:3])

    def momentum(dt):
        return kt.momentum(robot, q + dt * qd + dt**2 / 2 * qdd, qd + dt * qdd)

    rate = (momentum(h) - momentum(-h)) / (2 * h)
    weight = robot.mass * robot.gravity
    moment = np.cross(kt.center_of_mass(robot, q), weight)
    ground = tau[:, reaction_rows(extended, "world")]
    assert np.allclose(ground[:, :3], rate[:, :3] - weight, rtol=1e-6, atol=1e-5)
    assert np.allclose(ground[:, 3:], rate[:, 3:] - moment, rtol=1e-6, atol=1e-5)


def sprung():
    """An arm with springs between its bodies and to the ground, and a frame at its tip."""
    build = kt.Builder("sprung")
    rod = kt.Inertia.rod(0.5, end=(0.4, 0, 0))
    upper = build.world.revolute("shoulder", axis="z").body("upper", rod)
    fore = upper.revolute("elbow", axis="y", at=(0.4, 0, 0)).body("fore", rod)
    build.spring("muscle", upper, fore, stiffness=80.0, at_a=(0.1, 0.05, 0), at_b=(0.1, 0, 0), damping=2.0)
    build.spring("tie", build.world, fore, stiffness=50.0, at_a=(0, 0.5, 0), at_b=(0.4, 0, 0), rest=0.2)
    return build.build()


@pytest.mark.parametrize("name", ["upper", "fore"])
def test_springs_between_bodies_are_part_of_reactions_and_torques(rng, name):
    arm = sprung()
    extended = with_reaction_axes(arm, [name])
    _, grid, x = moved(extended, rng)
    motion = motion_of(grid, x)
    tau = Mechanics(extended, np.arange(extended.n_dof)).torques(motion)
    own = own_rows(extended, arm.joint_names)
    state = motion.q[:, own], motion.qd[:, own], motion.qdd[:, own]
    expected = kt.joint_reactions(arm, *state)[:, arm.body_index(name)]
    assert np.allclose(tau[:, reaction_rows(extended, name)], expected, rtol=1e-10, atol=1e-9)
    assert np.allclose(tau[:, own], kt.inverse_dynamics(arm, *state), rtol=1e-10, atol=1e-9)


def test_the_ground_carries_springs_that_end_on_it(rng):
    """All that the world does to the arm, its spring included, is the rate of momentum less the weight."""
    arm = sprung()
    extended = with_reaction_axes(arm, ["world"])
    _, grid, x = moved(extended, rng)
    motion, h = motion_of(grid, x), 1e-6
    own = own_rows(extended, arm.joint_names)
    q, qd, qdd = (y[:, own] for y in motion[:3])
    tau = Mechanics(extended, np.arange(extended.n_dof)).torques(motion)
    assert np.allclose(tau[:, own], kt.inverse_dynamics(arm, q, qd, qdd), rtol=1e-10, atol=1e-9)
    after, before = (kt.momentum(arm, q + dt * qd + dt**2 / 2 * qdd, qd + dt * qdd)[:, :3] for dt in (h, -h))
    ground = tau[:, reaction_rows(extended, "world")][:, :3]
    assert np.allclose(ground, (after - before) / (2 * h) - arm.mass * arm.gravity, rtol=1e-6, atol=1e-5)


def test_predictions_with_reaction_limits_keep_their_springs():
    """Torques of a prediction whose reactions are limited are those of the mechanism with its springs."""
    arm = sprung()
    terms = [
        kt.terms.Boundary("start", [0.0, 0.2], 0.0),
        kt.terms.Boundary("end", [0.6, -0.4], 0.0),
        kt.terms.ReactionLimit("fore", 500.0),
        kt.terms.ReactionLimit("world", 500.0),
    ]
    problem = kt.Problem(arm, objective=kt.terms.SquaredTorque(), constraints=terms, duration=0.8, segments=5)
    found = kt.predict(problem)
    q, qd, qdd = found.at(found.result.time.values)
    tau = kt.inverse_dynamics(arm, q, qd, qdd)
    assert np.allclose(found.result.tau.values, tau, rtol=1e-8, atol=1e-8)
    bare = replace(arm, springs=())
    assert np.abs(tau - kt.inverse_dynamics(bare, q, qd, qdd)).max() > 1.0


LOADS = {
    "none": lambda body: (),
    "world": lambda body: (kt.Wrench(body, (1, -2, 3), (0.3, 0.2, -0.1), point=(0.1, 0.2, -0.3)),),
    "body": lambda body: (kt.Wrench(body, (1, -2, 3), (0.3, 0.2, -0.1), (0.1, 0.2, 0), frame="body"),),
    "varying": lambda body: (kt.Wrench(body, np.arange(18.0).reshape(6, 3)),),
}


@pytest.mark.parametrize("kind", LOADS)
def test_slopes_and_curvature_by_differences(mechanism, rng, kind):
    loads = LOADS[kind](mechanism.body_names[-1])
    profiles, grid, x = moved(mechanism, rng, frozen=(0,))
    mechanics = Mechanics(mechanism, profiles.moving, loads)
    motion = motion_of(grid, x)
    tau, slopes = mechanics.slopes(motion)
    assert np.allclose(
        tau, kt.inverse_dynamics(mechanism, *motion[:3], loads or None), rtol=1e-10, atol=1e-10
    )
    weight = rng.standard_normal(tau.shape)
    half = np.zeros((6, 6, profiles.n, profiles.n))
    mechanics.bend(motion, weight, half)
    h = 1e-5
    for k in range(3):
        for j in range(profiles.n):
            step = np.zeros(mechanism.n_dof)
            step[profiles.moving[j]] = h

            def at(sign, k=k, step=step):
                changed = motion._replace(**{("q", "qd", "qdd")[k]: motion[k] + sign * step})
                return mechanics.slopes(changed)

            up, down = at(1), at(-1)
            assert np.allclose((up[0] - down[0]) / (2 * h), slopes[:, k, :, j], rtol=1e-6, atol=1e-6)
            column = np.einsum("mi,mlij->mlj", weight, (up[1] - down[1]) / (2 * h))
            assert np.allclose(full(half)[:, :, :, k, j], column, rtol=1e-6, atol=1e-5)


def full(half):
    """The whole Hessian (m, 3, n, 3, n) from half of it."""
    m, _, n, _ = half.shape
    H = np.zeros((m, 3, n, 3, n))
    for block, (k, j) in zip(np.swapaxes(half, 0, 1), PAIRS, strict=True):
        H[:, k, :, j] += block
        H[:, j, :, k] += np.swapaxes(block, 1, 2)
    return H


@pytest.mark.parametrize("direction", [False, True])
def test_places_and_their_derivatives(mechanism, rng, direction):
    body = mechanism.body_names[-1]
    q = rng.standard_normal((4, mechanism.n_dof))
    moving = np.arange(mechanism.n_dof)
    place = Place(mechanism, body, (0.1, -0.2, 0.3), direction=direction)

    def frames(at):
        return AxisFrames(mechanism, moving, at, np.zeros_like(at))

    R, p = kt.forward_kinematics(mechanism, q)[body]
    expected = R @ place.local + (0.0 if direction else 1.0) * p
    assert np.allclose(place.position_of(frames(q)), expected, atol=1e-12)
    if not direction:
        J = kt.jacobian(mechanism, q, body, place.local)[:, :3]
        assert np.allclose(place.slopes(frames(q)), J, atol=1e-12)
    weight, h = rng.standard_normal((4, 3)), 1e-6
    H = place.bend(frames(q), weight)
    for j in range(mechanism.n_dof):
        step = h * np.eye(mechanism.n_dof)[j]
        up, down = frames(q + step), frames(q - step)
        slope = (place.position_of(up) - place.position_of(down)) / (2 * h)
        assert np.allclose(place.slopes(frames(q))[:, :, j], slope, atol=1e-8)
        column = np.einsum("mi,mij->mj", weight, (place.slopes(up) - place.slopes(down)) / (2 * h))
        assert np.allclose(H[:, :, j], column, atol=1e-8)
