"""Coulomb friction that differs by direction: input, files, torques."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import KinetreeWarning, ModelError
from kinetree.model.variants import without_parameters

# Tc (N m, on the side of the motors) and gear ratios G of the model Puma560 of robotics-toolbox
PUMA_TC = [(0.395, -0.435), (0.126, -0.071), (0.132, -0.105), (11.2e-3, -16.9e-3), (9.26e-3, -14.5e-3)]
PUMA_TC += [(3.96e-3, -10.5e-3)]
ABLE = [f.name for f in kt.analysis.formulations() if "inverse_dynamics" in f.can]
PUMA_G = np.abs([-62.6111, 107.815, -53.7063, 76.0364, 71.923, 76.686])


def puma():
    """Axes of the Puma 560 without bodies of note: what is left of the torques is friction."""
    twists, lengths = np.pi / 2 * np.array([1, 0, -1, 1, -1, 0]), (0, 0.4318, 0.0203, 0, 0, 0)
    rows = [
        {"alpha": twist, "a": a, "coulomb": g * tc[0], "coulomb_reverse": -g * tc[1], "mass": 1e-9}
        for twist, a, g, tc in zip(twists, lengths, PUMA_G, PUMA_TC, strict=True)
    ]
    return kt.from_dh(rows, convention="classic", name="puma")


def cart(**joint):
    build = kt.Builder("cart", gravity=(0, 0, 0))
    build.world.prismatic("rail", axis="x", **joint).body("cart", kt.Inertia.point(2.0))
    return build.build()


@pytest.mark.parametrize("formulation", [None, *ABLE])
def test_friction_of_the_puma_in_both_directions(formulation):
    arm, still = puma(), np.zeros(6)
    chosen = {} if formulation is None else {"formulation": formulation}
    for way, column in ((1.0, 0), (-1.0, 1)):
        tau = kt.inverse_dynamics(arm, still, np.full(6, way), still, **chosen)
        np.testing.assert_allclose(tau, PUMA_G * np.array(PUMA_TC)[:, column], atol=1e-6)
    np.testing.assert_allclose(kt.inverse_dynamics(arm, still, still, still, **chosen), 0.0, atol=1e-6)


def test_torques_and_accelerations_by_hand():
    robot = cart(coulomb=4.0, coulomb_reverse=1.0)
    for velocity, force in ((0.3, 4.0), (-0.3, -1.0), (0.0, 0.0)):
        assert kt.inverse_dynamics(robot, [0.0], [velocity], [0.5]) == pytest.approx(force + 1.0)
        assert kt.forward_dynamics(robot, [0.0], [velocity], [0.0]) == pytest.approx(-force / 2.0)
        slopes = kt.forward_dynamics_derivatives(robot, [0.0], [velocity], [0.0])
        assert slopes.dqdd_dqd == pytest.approx(0.0)


def test_the_default_is_the_same_in_both_directions():
    joint = cart(coulomb=4.0).links[0].joint
    assert joint.coulomb_reverse.tolist() == [4.0] and set(joint.parameters()) == {"coulomb"}
    assert cart(coulomb=4.0, coulomb_reverse=4.0).links[0].joint == joint
    assert cart(coulomb=4.0).tree.coulomb_bias.tolist() == [0.0]
    one_way = cart(coulomb_reverse=2.0)
    assert one_way.tree.passive.all() and set(one_way.links[0].joint.parameters()) == {"coulomb_reverse"}
    assert not without_parameters(one_way, "coulomb").tree.passive.any()


@pytest.mark.parametrize("joint", [{"coulomb": 4.0, "coulomb_reverse": 0.0}, {"coulomb_reverse": 0.1}, {}])
def test_files_keep_it(joint, tmp_path):
    robot = cart(**joint)
    kt.save(robot, tmp_path / "cart.toml")
    assert kt.load(tmp_path / "cart.toml").links[0].joint == robot.links[0].joint
    assert ("coulomb_reverse" in (tmp_path / "cart.toml").read_text()) == bool(joint)


@pytest.mark.parametrize("kind", ["urdf", "xml"])
def test_other_formats_have_the_mean_and_say_so(kind, tmp_path):
    path = tmp_path / f"cart.{kind}"
    with pytest.warns(KinetreeWarning, match="direction-dependent friction, written as its mean .*rail"):
        kt.save(cart(coulomb=4.0, coulomb_reverse=1.0, lower=-1.0, upper=1.0), path)
    assert 'friction="2.5"' in path.read_text() or 'frictionloss="2.5"' in path.read_text()


def test_bad_values_are_refused():
    for value, message in ((-0.435, ">= 0, got -0.435"), (np.nan, "finite"), ([1.0, 2.0], "one number")):
        with pytest.raises(ModelError, match=f"joint 'rail': coulomb_reverse.*{message}"):
            cart(coulomb=0.395, coulomb_reverse=value)
