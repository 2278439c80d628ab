"""Perturbed models: other numbers, the same structure, still physical."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.control import ComputedTorque, perturb
from kinetree.errors import InputError, KinetreeError

MODELS = ("gripper", "kuka_kr5", "puma", "quadruped", "spatial_biped", "two_link_point_masses", "humanoid")


def second_moments(inertia):
    """Principal second moments about the center of mass, all >= 0 for a body that can exist."""
    return np.linalg.eigvalsh(0.5 * np.trace(inertia.moment) * np.eye(3) - inertia.moment)


@pytest.mark.parametrize("name", MODELS)
def test_bodies_stay_physical_and_within_the_ranges(name):
    robot = getattr(kt.zoo, name)()
    for seed in range(5):
        wrong = perturb(robot, seed, mass=0.9, inertia=0.9, center=0.05, tilt=1.0)
        for ours, theirs in zip(robot.links, wrong.links, strict=True):
            a, b = ours.body.inertia, theirs.body.inertia
            assert 0.1 * a.mass - 1e-15 <= b.mass <= 1.9 * a.mass
            assert np.abs(b.center - a.center).max() <= 0.05
            if not a.allow_unphysical:
                before, after = second_moments(a), second_moments(b)
                scale = max(1e-300, before[-1])
                assert after[0] >= -1e-9 * scale
                assert (after <= 1.9 * before[-1] + 1e-9 * scale).all()
                kt.Inertia(b.mass, b.center, b.moment)  # its own checks agree
            if a.is_zero:
                assert a == b


def test_every_kind_of_error_is_made_and_only_where_asked():
    arm = kt.zoo.kuka_kr5()
    none = {"mass": 0.0, "inertia": 0.0, "center": 0.0}
    same = perturb(arm, 1, **none)
    for ours, theirs in zip(arm.links, same.links, strict=True):
        assert theirs.body.inertia.mass == ours.body.inertia.mass
        assert (theirs.body.inertia.center == ours.body.inertia.center).all()
        assert np.allclose(theirs.body.inertia.moment, ours.body.inertia.moment, rtol=1e-12, atol=1e-18)
        assert theirs.joint == ours.joint and theirs.placement == ours.placement
    for kind, attribute in (
        ("mass", "mass"),
        ("inertia", "moment"),
        ("center", "center"),
        ("tilt", "moment"),
    ):
        wrong = perturb(arm, 1, **{**none, kind: 0.1})
        for ours, theirs in zip(arm.links[:-1], wrong.links[:-1], strict=True):
            for name in ("mass", "center", "moment"):
                a, b = (getattr(x.body.inertia, name) for x in (ours, theirs))
                assert np.allclose(a, b, rtol=1e-9, atol=1e-18) == (name != attribute), (kind, name)


def test_friction_of_joints():
    robot = kt.Builder("rubbing")
    part = robot.world.revolute("hip", axis="y", viscous=2.0, coulomb=1.0, coulomb_reverse=0.5).body(
        "leg", kt.Inertia(1.0)
    )
    part.revolute("knee", axis="y").body("shank", kt.Inertia(1.0))
    wrong = perturb(robot.build(), 0, friction=0.5)
    hip, knee = (link.joint for link in wrong.links)
    assert 1.0 <= hip.viscous[0] <= 3.0 and hip.viscous[0] != 2.0
    assert 0.5 <= hip.coulomb[0] <= 1.5 and hip.coulomb[0] != 1.0
    assert hip.coulomb_reverse[0] == 0.5 * hip.coulomb[0]
    assert not knee.viscous.any() and not knee.coulomb.any()


def test_seeds():
    arm = kt.zoo.gripper()
    assert perturb(arm, 3) == perturb(arm, 3) == perturb(arm, np.random.default_rng(3))
    assert perturb(arm, 3) != perturb(arm, 4)
    rng = np.random.default_rng(0)
    assert perturb(arm, rng) != perturb(arm, rng)


def test_changes_are_even():
    """Masses of many draws spread evenly over their range."""
    arm = kt.zoo.gripper()
    rng = np.random.default_rng(1)
    draws = np.array([perturb(arm, rng, mass=0.2).links[0].body.inertia.mass for _ in range(400)])
    part = draws / arm.links[0].body.inertia.mass - 1.0
    assert abs(part.mean()) < 0.02 and abs(part.std() - 0.2 / np.sqrt(3.0)) < 0.01


def test_a_model_of_the_same_structure_is_accepted_and_others_are_not():
    arm, q = kt.zoo.gripper(), np.zeros(4)
    ComputedTorque(q, 1.0, model=perturb(arm, 1)).law_parts(arm)
    with pytest.raises(InputError, match="'kuka_kr5' has 6 bodies, 'gripper' has 4"):
        ComputedTorque(q, 1.0, model=kt.zoo.kuka_kr5()).torque(arm, 0.0, q, q)
    links = list(arm.links)
    links[2] = kt.model.Link(links[2].body, kt.Joint.of_kind("joint3", "prismatic"), links[2].parent)
    other = kt.Mechanism("other", tuple(links))
    with pytest.raises(InputError, match=r"prismatic joint 'joint3'.*revolute joint 'joint3'"):
        ComputedTorque(q, 1.0, model=other).law_parts(arm)
    with pytest.raises(InputError, match="model must be a Mechanism, got 'gripper'"):
        ComputedTorque(q, 1.0, model="gripper")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mass": 1.0}, "mass must be a fraction from 0 to below 1, got 1"),
        ({"inertia": -0.1}, "inertia must be a fraction from 0 to below 1, got -0.1"),
        ({"center": -1.0}, "center must be >= 0 m, got -1"),
        ({"tilt": np.nan}, "tilt must be finite, got nan"),
        ({"friction": 2.0}, "friction must be a fraction"),
        ({"seed": -1}, "seed must be an integer >= 0 or a random generator, got -1"),
        ({"seed": 0.5}, "seed must be an integer"),
    ],
)
def test_bad_ranges(options, message):
    seed = options.pop("seed", 0)
    with pytest.raises(KinetreeError, match=message):
        perturb(kt.zoo.gripper(), seed, **options)
