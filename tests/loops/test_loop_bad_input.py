"""Wrong mechanisms and wrong questions about loops: refused with the loop and the joint named."""

from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from support.refused import refused


def ladder(third=1.0):
    """A coupler of 2 m on three cranks of 1 m; the third may have another length, which fits only flat."""
    build = kt.Builder("ladder", gravity=(0, -9.81, 0))
    cranks = []
    for k, length in enumerate((1.0, 1.0, third)):
        rod = kt.Inertia.rod(1.0, end=(0, length, 0))
        driven = k == 0
        cranks.append(build.world.revolute(f"crank{k}", at=(k, 0, 0), driven=driven).body(f"bar{k}", rod))
    top = kt.Inertia.rod(1.0, end=(2, 0, 0))
    coupler = cranks[0].revolute("pin", at=(0, 1.0, 0), driven=False).body("coupler", top)
    build.loop("middle", coupler, cranks[1], at_a=(1, 0, 0), at_b=(0, 1, 0))
    build.loop("end", coupler, cranks[2], at_a=(2, 0, 0), at_b=(0, third, 0))
    return build.build()


def driven(mechanism, *names):
    """The same mechanism with other drives."""
    links = [replace(x, joint=replace(x.joint, driven=(x.joint.name in names,))) for x in mechanism.links]
    return replace(mechanism, links=tuple(links))


def test_lengths_that_do_not_fit_name_a_loop_and_its_gap():
    """Three cranks of equal length move; with another third one two of the loops contradict each other."""
    assert kt.loops.mobility(ladder()) == 1
    moved = [0.5, 0.5, 0.5, -0.5]
    with pytest.raises(
        kt.errors.AssemblyError, match=r"loop '(middle|end)' cannot be closed .* with crank0 held"
    ):
        kt.loops.assemble(ladder(1.05), moved, hold=["crank0"])


def test_held_joints_that_contradict_each_other_are_named():
    with pytest.raises(
        kt.errors.AssemblyError, match=r"loop '\w+' cannot be closed .* with crank0, crank1 held"
    ):
        kt.loops.assemble(ladder(), [0.5, 0.5, 0.5, -0.5], hold={"crank0": 0.5, "crank1": 0.6})


def test_a_mechanism_without_drives_has_no_inverse_dynamics():
    mechanism = driven(ladder())
    q, still = np.array([0.5, 0.5, 0.5, -0.5]), np.zeros(4)
    with pytest.raises(
        kt.errors.InputError, match="'ladder': no joint is driven, so nothing can produce this motion"
    ):
        kt.inverse_dynamics(mechanism, q, still, still)
    with pytest.raises(kt.errors.InputError, match="no joint is driven"):
        kt.gravity_torque(mechanism, q)
    free = kt.forward_dynamics(mechanism, q, still, still)  # falls freely, which needs no torque
    assert np.abs(kt.inverse_dynamics(mechanism, q, still, free)).max() == 0.0


def test_drives_that_cannot_move_it_are_named():
    """A platform on two legs with one drive; and a drive that the motion leaves alone."""
    five = driven(kt.zoo.five_bar(), "left_arm_joint")
    zero = np.zeros(five.n_dof)
    with pytest.raises(
        kt.errors.InputError, match=r"\(left_arm_joint\) cannot produce this motion.* mobility is 2"
    ):
        kt.inverse_dynamics(five, zero, zero, zero)
    build = kt.Builder("aside", gravity=(0, -9.81, 0))
    rod = kt.Inertia.rod(1.0, end=(1, 0, 0))
    first = build.world.revolute("first", driven=False).body("bar1", rod)
    second = first.revolute("second", at=(1, 0, 0), driven=False).body("bar2", rod)
    build.loop("cut", "world", second, kind="point_on_line", axis="x", at_b=(1, 0, 0))
    build.world.revolute("alone", axis="z", at=(3, 0, 0), driven=True).body(
        "wheel", kt.Inertia.sphere(1.0, 0.1)
    )
    mechanism = driven(build.build(), "alone")
    q = kt.loops.assemble(mechanism, [0.7, -1.4, 0.0], hold=["first"])
    with pytest.raises(kt.errors.InputError, match=r"the driven joints \(alone\) cannot produce this motion"):
        kt.inverse_dynamics(mechanism, q, np.zeros(3), np.zeros(3))


def test_joints_that_are_not_independent_are_named():
    mechanism = ladder()
    q, still = np.array([0.5, 0.5, 0.5, -0.5]), np.zeros(4)
    for ask in (
        lambda names: kt.loops.mass_matrix(mechanism, q, names),
        lambda names: kt.loops.jacobian(mechanism, q, "coupler", independent=names),
        lambda names: kt.loops.reaction_derivatives(mechanism, q, still, still, names),
        lambda names: kt.loops.forward_dynamics_derivatives(mechanism, q, still, still, names),
    ):
        with pytest.raises(
            kt.errors.InputError, match="mobility 1 here, but 2 independent joints are named: crank0, pin"
        ):
            ask(["crank0", "pin"])
        with refused("joint", "elbow"):
            ask(["elbow"])
        with pytest.raises(kt.errors.InputError, match="independent must be a list of joints"):
            ask("crank0")


def test_a_mechanism_that_cannot_close_says_so_at_once_when_it_is_asked_again(monkeypatch):
    mechanism = kt.zoo.four_bar()
    (loop,) = mechanism.loops
    far = replace(mechanism, loops=(replace(loop, placement_b=kt.Placement.at((3.0, 0.0, 0.0))),))
    with pytest.raises(kt.errors.AssemblyError, match="loops \\('crank_pin'\\) could not be closed") as first:
        kt.loops.mobility(far)
    monkeypatch.setattr("kinetree.dynamics.loops.structure.closest", None)  # no further search
    for ask in (kt.loops.structure, kt.loops.subsystems, lambda x: kt.simulate(x, np.zeros(3))):
        with pytest.raises(kt.errors.AssemblyError) as again:
            ask(far)
        assert str(again.value) == str(first.value)


def test_axes_of_an_unknown_force_are_letters():
    with pytest.raises(kt.errors.InputError, match="axes must be some of x, y and z, each once, got 3"):
        kt.terms.UnknownForce("block", axes=3)
