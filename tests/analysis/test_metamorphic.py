"""Changes of the description whose effect on the answers is known beforehand."""

from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from kinetree.model.joint_kind import KINDS
from support import trees
from support.cases import assert_close


def scaled_body(body, mass, length):
    i = body.inertia
    return kt.Body(body.name, kt.Inertia(mass * i.mass, length * i.center, mass * length**2 * i.moment))


def scaled(robot, mass=1.0, length=1.0, time=1.0):
    """The same mechanism with masses, lengths and times multiplied."""
    links = [
        replace(
            link,
            body=scaled_body(link.body, mass, length),
            placement=kt.Placement.at(length * link.placement.position, link.placement.rotation),
        )
        for link in robot.links
    ]
    return replace(robot, links=tuple(links), gravity=robot.gravity * length / time**2)


def test_turning_the_world_with_gravity_changes_nothing(robot, rng):
    turn = kt.Placement.at(rotation=trees.rotation(rng))
    links = [replace(x, placement=turn @ x.placement) if x.parent == "world" else x for x in robot.links]
    turned = replace(robot, links=tuple(links), gravity=turn.rotation @ robot.gravity)
    q, qd, qdd = trees.state(robot, rng)
    assert_close(kt.inverse_dynamics(turned, q, qd, qdd), kt.inverse_dynamics(robot, q, qd, qdd))
    assert_close(kt.forward_dynamics(turned, q, qd, qdd), kt.forward_dynamics(robot, q, qd, qdd), 1e-10)
    assert_close(kt.mass_matrix(turned, q), kt.mass_matrix(robot, q))
    assert_close(kt.joint_reactions(turned, q, qd, qdd), kt.joint_reactions(robot, q, qd, qdd))
    assert_close(kt.potential_energy(turned, q), kt.potential_energy(robot, q))
    assert_close(kt.center_of_mass(turned, q), turn.rotation @ kt.center_of_mass(robot, q))
    velocities = kt.body_velocities(robot, q, qd).reshape(-1, 2, 3) @ turn.rotation.T
    assert_close(kt.body_velocities(turned, q, qd), velocities.reshape(-1, 6))


def test_renumbering_bodies_permutes_the_answers(robot, rng):
    links = list(robot.links)
    rng.shuffle(links)
    other = replace(robot, links=tuple(links))
    order = [robot.joint_names.index(name) for name in other.joint_names]
    bodies = [robot.body_names.index(name) for name in other.body_names]
    q, qd, qdd = trees.state(robot, rng)
    theirs = (q[order], qd[order], qdd[order])
    assert_close(kt.inverse_dynamics(other, *theirs), kt.inverse_dynamics(robot, q, qd, qdd)[order])
    assert_close(kt.forward_dynamics(other, *theirs), kt.forward_dynamics(robot, q, qd, qdd)[order], 1e-10)
    assert_close(kt.mass_matrix(other, theirs[0]), kt.mass_matrix(robot, q)[np.ix_(order, order)])
    assert_close(kt.joint_reactions(other, *theirs), kt.joint_reactions(robot, q, qd, qdd)[bodies])
    assert_close(
        kt.forward_kinematics(other, theirs[0]).position, kt.forward_kinematics(robot, q).position[bodies]
    )


def test_splitting_a_body_by_a_weld_changes_nothing(robot, rng):
    part, place = trees.inertia(rng), trees.placement(rng)
    k = int(rng.integers(robot.n_bodies))
    link = robot.links[k]
    whole = replace(link, body=kt.Body(link.body.name, link.body.inertia + part.moved(place)))
    lumped = replace(robot, links=(*robot.links[:k], whole, *robot.links[k + 1 :]))
    weld = kt.model.Link(kt.Body("part", part), kt.Joint.of_kind("weld", "fixed"), link.body.name, place)
    split = replace(robot, links=(*robot.links, weld))
    q, qd, qdd = trees.state(robot, rng)
    assert_close(kt.inverse_dynamics(split, q, qd, qdd), kt.inverse_dynamics(lumped, q, qd, qdd))
    assert_close(kt.forward_dynamics(split, q, qd, qdd), kt.forward_dynamics(lumped, q, qd, qdd), 1e-10)
    assert_close(kt.mass_matrix(split, q), kt.mass_matrix(lumped, q))
    rows = [split.body_names.index(name) for name in robot.body_names]
    assert_close(kt.joint_reactions(split, q, qd, qdd)[rows], kt.joint_reactions(lumped, q, qd, qdd))
    assert_close(kt.kinetic_energy(split, q, qd), kt.kinetic_energy(lumped, q, qd))
    assert_close(kt.momentum(split, q, qd), kt.momentum(lumped, q, qd))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "fixed"])
def test_scaling_mass_length_and_time(kind, rng):
    """Forces go with m l / t^2, moments with m l^2 / t^2."""
    robot = trees.random_tree(rng, 4, (kind, "revolute"))
    mass, length, time = 3.0, 0.4, 2.5
    unit = np.where(robot.tree.turns, 1.0, length)
    q, qd, qdd = trees.state(robot, rng)
    force = mass * length / time**2
    tau = kt.inverse_dynamics(
        scaled(robot, mass, length, time), unit * q, unit * qd / time, unit * qdd / time**2
    )
    assert_close(tau, kt.inverse_dynamics(robot, q, qd, qdd) * force * length / unit)
    energy = kt.kinetic_energy(scaled(robot, mass, length, time), unit * q, unit * qd / time)
    assert_close(energy, kt.kinetic_energy(robot, q, qd) * force * length)


@pytest.mark.parametrize("turns", [1, 159, -159])
def test_angles_of_many_turns(turns, rng):
    robot = trees.random_tree(rng, 8, kinds=("revolute", "spherical", "universal"))
    q, qd, qdd = trees.state(robot, rng)
    far = q + 2 * np.pi * turns
    assert_close(kt.inverse_dynamics(robot, far, qd, qdd), kt.inverse_dynamics(robot, q, qd, qdd), 1e-11)
    assert_close(kt.mass_matrix(robot, far), kt.mass_matrix(robot, q), 1e-11)
    assert_close(kt.forward_dynamics(robot, far, qd, qdd), kt.forward_dynamics(robot, q, qd, qdd), 1e-10)


def walker(rng, kind):
    """A base that can travel, with two limbs."""
    robot = kt.Builder("walker")
    more = {"axis": "x"} if kind == "prismatic" else {}
    base = robot.world.joint("base", kind, rotation=trees.rotation(rng), **more).body(
        "base", trees.inertia(rng)
    )
    for side in ("left", "right"):
        limb = base.spherical(side, at=rng.uniform(-0.3, 0.3, 3)).body(side, trees.inertia(rng))
        limb.revolute(f"{side} knee", at=(0.1, 0.2, 0.3)).body(f"{side} foot", trees.inertia(rng))
    return robot.build()


@pytest.mark.parametrize("kind", ["free", "planar", "prismatic"])
@pytest.mark.parametrize("distance", [1e3, 1e6])
def test_a_base_far_away_keeps_accuracy(kind, distance, rng):
    robot = walker(rng, kind)
    q, qd, qdd = trees.state(robot, rng)
    base = ~robot.tree.turns
    q[base] = np.round(q[base] * 8) / 8  # so that the far position is exact too
    far = q + distance * base
    tau = kt.inverse_dynamics(robot, q, qd, qdd)
    assert_close(kt.inverse_dynamics(robot, far, qd, qdd), tau, 1e-12)
    assert_close(kt.mass_matrix(robot, far), kt.mass_matrix(robot, q), 1e-12)
    assert_close(kt.forward_dynamics(robot, far, qd, tau), qdd, 1e-10)
    assert_close(kt.kinetic_energy(robot, far, qd), kt.kinetic_energy(robot, q, qd))
    assert_close(kt.body_velocities(robot, far, qd), kt.body_velocities(robot, q, qd))
    assert_close(kt.joint_reactions(robot, far, qd, qdd), kt.joint_reactions(robot, q, qd, qdd))


def test_a_floating_base_far_away_solves_for_its_acceleration(rng):
    robot = walker(rng, "free")
    q, qd, qdd = trees.state(robot, rng)
    far = q + np.r_[1e6, -1e6, 1e6, np.zeros(robot.n_dof - 3)]
    base, tau = kt.analysis.floating_base_inverse_dynamics(robot, q, qd, qdd[6:])
    far_base, far_tau = kt.analysis.floating_base_inverse_dynamics(robot, far, qd, qdd[6:])
    assert_close(far_base, base, 1e-10)
    assert_close(far_tau, tau, 1e-10)


def test_a_small_part_on_a_large_body_is_not_singular():
    """The finger's inertia is 1e-18 of the ship's, and its own motion is well defined."""
    robot = kt.Builder("ship")
    ship = robot.world.free("base").body("ship", kt.Inertia.box(1e8, (200, 30, 30)))
    ship.revolute("finger", at=(0, 0, 20)).body("finger", kt.Inertia.box(0.01, (0.01, 0.01, 0.03)))
    tau = np.r_[np.zeros(6), 1e-6]
    qdd = kt.forward_dynamics(robot.build(), np.zeros(7), np.zeros(7), tau)
    assert_close(qdd, [0, 0, -9.81, 0, 0, 0, 1e-6 / (0.01 * 2e-4 / 12)], 1e-10)
