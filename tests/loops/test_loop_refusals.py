"""What questions about closed loops refuse instead of answering wrongly."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.dynamics.loops.system import constraints


def chain(n, kind, **cut):
    """Planar rods of 1 m from the world's origin, the last of which is tied to the world at (1, 0, 0)."""
    build = kt.Builder("chain", gravity=(0, -9.81, 0))
    rod, handle = kt.Inertia.rod(1.0, end=(1, 0, 0)), build.world
    for k in range(n):
        handle = handle.revolute(f"joint{k + 1}", at=(0 if k == 0 else 1, 0, 0)).body(f"rod{k + 1}", rod)
    build.loop("cut", "world", handle, kind=kind, at_a=(1, 0, 0), at_b=(1, 0, 0), **cut)
    return build.build()


def test_a_weld_is_not_closed_upside_down(rng):
    """The end of four rods is welded with its axes along the world's: the angles sum up to whole turns."""
    mechanism, closed = chain(4, "fixed"), 0
    for _ in range(12):
        try:
            q = kt.loops.assemble(mechanism, rng.uniform(-2.0, 2.0, 4))
        except kt.KinetreeError as error:
            assert "opposite directions" in str(error) or "cannot be closed" in str(error)
            continue
        closed += 1
        assert abs(np.cos(q.sum()) - 1.0) < 1e-12
    assert closed > 2


def test_a_state_that_is_closed_upside_down_is_refused():
    mechanism = chain(2, "prismatic", axis="x")
    q = np.array([0.0, np.pi])  # the second rod points back along the slide
    assert np.abs(constraints(mechanism, q).gap).max() < 1e-12
    with pytest.raises(
        kt.errors.InputError, match="loop 'cut' is closed in the wrong direction in this state"
    ):
        kt.loops.forward_dynamics(mechanism, q, np.zeros(2), np.zeros(2))


@pytest.mark.parametrize(
    ("given", "what"), [({"armature": 3.0}, "armature"), ({"mimic": kt.model.Mimic("joint1")}, "mimic")]
)
def test_what_a_cut_joint_cannot_have_is_refused_when_it_is_built(given, what):
    with pytest.raises(kt.errors.ModelError, match=f"the cut joint 'cut' cannot have {what}"):
        chain(3, "revolute", **given)


def test_a_batch_with_a_singular_position_is_refused_with_its_number():
    mechanism = kt.zoo.n_four_bar(2)
    sign = np.array([-1.0 if "crank" in name else 1.0 for name in mechanism.joint_names])
    q, still = np.outer([0.4, np.pi / 2], sign), np.zeros(5)
    with pytest.raises(kt.errors.SingularityError, match=r"loop 'pin1' .* in a singular position in state 1"):
        kt.loops.forward_dynamics(mechanism, q, still, still)
    for ask in (kt.loops.forward_dynamics, kt.forward_dynamics):
        with pytest.raises(
            kt.errors.SingularityError, match=r"singular position in this state: 2 instead of 4"
        ):
            ask(mechanism, q[1], still, still)
    assert np.isfinite(kt.forward_dynamics(mechanism, q[0], still, still)).all()


def test_mechanisms_without_loops_are_referred_to_the_questions_of_trees():
    arm, still = kt.zoo.gripper(), np.zeros(4)
    for ask in (
        lambda: kt.loops.gap(arm, still),
        lambda: kt.loops.inverse_dynamics(arm, still, still, still),
        lambda: kt.loops.forward_dynamics(arm, still, still, still),
        lambda: kt.loops.subsystems(arm),
    ):
        with pytest.raises(kt.errors.InputError, match="mechanism 'gripper' has no closed loops"):
            ask()


def test_empty_batches_have_empty_answers_and_odd_ones_are_refused():
    mechanism = kt.zoo.four_bar()
    none = np.zeros((0, 3))
    tau, forces = kt.loops.inverse_dynamics(mechanism, none, none, none)
    assert tau.shape == (0, 3) and forces.wrench.shape == (0, 1, 6)
    with pytest.raises(kt.errors.InputError, match="batch axes do not fit"):
        kt.loops.inverse_dynamics(mechanism, np.zeros((2, 3)), np.zeros((3, 3)), np.zeros(3))


def test_names_of_joints_are_lists():
    mechanism = kt.zoo.four_bar()
    q = kt.loops.assemble(mechanism, [0.0, 1.0, 4.3])
    with pytest.raises(kt.errors.InputError, match="independent must be a list of joints"):
        kt.loops.dependent_motion(mechanism, "crank_pivot", [[0.0]], q0=q)


def test_a_loop_of_joints_without_inertia_names_one_of_them():
    build = kt.Builder("needles")
    rod = kt.Inertia.rod(1.0, end=(0, 0, 1))
    a = build.world.spherical("a").body("rod_a", rod)
    b = a.spherical("b", at=(0, 0, 1)).body("rod_b", rod)
    build.loop("cut", "world", b, kind="spherical", at_a=(1, 0, 0), at_b=(0, 0, 1))
    mechanism = build.build()
    q = kt.loops.assemble(mechanism, [0.1, 0.5, 0.2, 0.3, 1.5, 0.1])
    with pytest.raises(kt.errors.SingularityError, match="moves no inertia"):
        kt.simulate(mechanism, q, duration=0.1)


def test_a_loop_that_is_always_closed_constrains_nothing():
    build = kt.Builder("pinned_twice")
    rod = kt.Inertia.rod(1.0, end=(0.4, 0, 0))
    a = build.world.revolute("j1").body("a", rod)
    b = a.revolute("j2", at=(0.4, 0, 0)).body("b", rod)
    build.loop("again", a, b, at_a=(0.4, 0, 0))
    mechanism, still = build.build(), np.zeros(2)
    with pytest.raises(kt.errors.InputError, match=r"its loops \(again\) are closed in every position"):
        kt.forward_dynamics(mechanism, [0.1, 0.2], still, still)


def test_loops_of_mjcf_files_have_no_motors(tmp_path):
    pytest.importorskip("mujoco")
    file = tmp_path / "bars.xml"
    file.write_text(
        "<mujoco><option><flag contact='disable'/></option><worldbody>"
        "<body name='a'><joint name='j' axis='0 1 0'/><geom size='0.1'/>"
        "<body name='b' pos='1 0 0'><joint name='k' axis='0 1 0'/><geom size='0.1'/></body></body>"
        "<body name='c' pos='1 0 1'><joint name='l' axis='0 1 0'/><geom size='0.1'/></body></worldbody>"
        "<equality><connect body1='b' body2='c' anchor='0 0 1'/></equality></mujoco>"
    )
    (loop,) = kt.load(file).loops
    assert not any(loop.joint.driven)


def test_urdf_says_that_it_forgets_drives(tmp_path):
    mechanism = kt.zoo.five_bar().opened()
    with pytest.warns(kt.KinetreeWarning, match=r"joints without drives \(left_rod_joint, right_rod_joint\)"):
        kt.save(mechanism, tmp_path / "arm.urdf")


@pytest.mark.parametrize("at", [1.0, 0.9])
def test_loops_between_bodies_that_are_welded_together(at):
    """No joint moves such a loop: it is closed everywhere, or nowhere."""
    build = kt.Builder("welded")
    rod = build.world.revolute("hinge").body("rod", kt.Inertia.rod(1.0, end=(1, 0, 0)))
    tip = rod.fixed("weld", at=(1, 0, 0)).body("tip", kt.Inertia.point(1.0))
    build.loop("ring", rod, tip, at_a=(at, 0, 0), kind="spherical")
    welded = build.build()
    if at == 1.0:
        assert kt.loops.assemble(welded, [0.3]).tolist() == [0.3]
    else:
        with pytest.raises(kt.errors.AssemblyError, match="'ring' cannot be closed"):
            kt.loops.assemble(welded, [0.3])
