"""DeNOC recursions of [Shah2013], chapters 6 and 7: against the kernels and reference data; bad input."""

import re
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from kinetree.derivations import denoc
from kinetree.derivations.contract import ABILITIES
from kinetree.dynamics.coupling import coupled, independent
from kinetree.dynamics.evaluate import evaluate
from kinetree.kernels.aba import ABA_UNLOADED
from support import trees
from support.cases import assert_close, zoo_and_random_trees
from support.each import each
from support.on_axes import axis_loads, in_bodies, random_wrenches, state_on_axes
from support.reference import loads as reference_loads
from support.reference import mechanism as reference_mechanism
from support.reference import read

MECHANISMS = zoo_and_random_trees(6)
FLOATING = ("planar_biped", "spatial_biped", "quadruped", "hexapod", "humanoid")
TOLERANCE = 1e-10


@pytest.fixture(params=MECHANISMS)
def mechanism(request):
    return MECHANISMS[request.param]()


# ---- against the kernels -------------------------------------------------------------------------------
def check_everything(robot, rng):
    tree, state = robot.tree, trees.state(robot, rng)
    (q, qd, qdd), pulls = state_on_axes(tree, *state), random_wrenches(robot, rng)
    pushed = axis_loads(robot, pulls, on_world=True)
    tau = denoc.inverse_dynamics(tree, q, qd, qdd, pushed)
    assert_close(independent(tree, tau), kt.inverse_dynamics(robot, *state, pulls), TOLERANCE)
    bias = denoc.bias_torque(tree, q, qd, pushed)
    assert_close(independent(tree, bias), kt.bias_torque(robot, *state[:2], pulls), TOLERANCE)
    assert_close(coupled(tree, denoc.mass_matrix(tree, q)), kt.mass_matrix(robot, state[0]), TOLERANCE)
    assert_close(denoc.forward_dynamics(tree, q, qd, tau, pushed), qdd, 1e-8)  # as well as M is conditioned
    given = 10.0 * qdd
    found = denoc.forward_dynamics(tree, q, qd, given, pushed)
    assert_close(denoc.accelerations(tree, q, given - bias), found, TOLERANCE)
    if tree.coupling is None:
        assert_close(found, kt.forward_dynamics(robot, *state[:2], given, pulls), TOLERANCE)
    jointed = robot.jointed_tree
    reactions = denoc.joint_reactions(
        jointed, *state_on_axes(jointed, *state), axis_loads(robot, pulls, jointed, on_world=True)
    )
    assert_close(in_bodies(jointed, reactions), kt.joint_reactions(robot, *state, pulls), TOLERANCE)


def test_the_zoo_and_random_trees_agree_with_the_kernels(mechanism, rng):
    check_everything(mechanism, rng)


def test_every_joint_kind_with_armature_springs_friction_welds_and_mimics(robot, rng):
    check_everything(robot, rng)


@each("tilt", [0.0, 1e-15, 1e-12, 1e-8, 1e-4, 0.05, 0.0999, 0.1001, 0.5, np.pi - 1e-7])
def test_nearly_parallel_axes_lose_no_digits(tilt, rng):
    """Their common normal may be kilometers away; the frames must not go there."""
    links, parent = [], "world"
    for k in range(5):
        axis = (np.sin(tilt) * (-1) ** k, 0.0, np.cos(tilt))
        joint = kt.Joint.of_kind(f"j{k}", "revolute" if k != 2 else "prismatic", axis=axis)
        place = kt.Placement.at((0.3, 0.2, 0.1))
        links.append(kt.model.Link(kt.Body(f"b{k}", trees.inertia(rng)), joint, parent, place))
        parent = f"b{k}"
    check_everything(kt.Mechanism("tilted", tuple(links), np.array([1.0, 2.0, -9.0])), rng)


def test_without_loads_forward_dynamics_is_that_of_the_compiled_kernel(mechanism, rng):
    tree = mechanism.tree
    q, qd, tau = trees.state(mechanism, rng)
    expected, _ = evaluate(ABA_UNLOADED, tree, [q, qd, tau], [tree.n] * 2)
    assert_close(denoc.forward_dynamics(tree, q, qd, tau), expected, TOLERANCE)


@pytest.mark.parametrize("name", FLOATING)
def test_floating_bases_agree_with_the_kernels(name, rng):
    robot = kt.zoo.by_name(name)
    q, qd, qdd = trees.state(robot, rng)
    pulls = random_wrenches(robot, rng)
    pushed = axis_loads(robot, pulls, on_world=True)
    for loads, listed in (((), None), (pushed, pulls)):
        found = denoc.floating_base_inverse_dynamics(robot.tree, q, qd, qdd[6:], loads)
        expected = kt.analysis.floating_base_inverse_dynamics(robot, q, qd, qdd[6:], listed)
        for value, right in zip(found, expected, strict=True):
            assert_close(value, right, TOLERANCE)


def test_a_floating_base_with_oblique_axes_and_springs_in_its_joints(rng):
    directions = trees.rotation(rng)[[0, 1, 2, 0, 1, 2]] + 0.2 * rng.standard_normal((6, 3))
    base = kt.model.Link(
        kt.Body("base", trees.inertia(rng)), kt.Joint.of_kind("free", "free", axes=directions)
    )
    spring = trees.joint(rng, "hip", "spherical", passive=True)
    leg = kt.model.Link(kt.Body("leg", trees.inertia(rng)), spring, "base", trees.placement(rng))
    slide = trees.joint(rng, "slide", "prismatic", passive=True)
    foot = kt.model.Link(kt.Body("foot", trees.inertia(rng)), slide, "leg", trees.placement(rng))
    robot = kt.Mechanism("oblique", (base, leg, foot), np.array([1.0, 2.0, -9.0]))
    q, qd, qdd = 0.5 * rng.standard_normal((3, robot.n_dof))
    found = denoc.floating_base_inverse_dynamics(robot.tree, q, qd, qdd[6:])
    for value, right in zip(
        found, kt.analysis.floating_base_inverse_dynamics(robot, q, qd, qdd[6:]), strict=True
    ):
        assert_close(value, right, TOLERANCE)


# ---- reference data ------------------------------------------------------------------------------------
def reference_states():
    """(name, mechanism, state) of all trees with a fixed base."""
    for tree in read("random_trees.json")["trees"]:
        robot = reference_mechanism(tree["model"])
        yield from ((f"{tree['name']} {k}", robot, s) for k, s in enumerate(tree["states"]))
    for name in ("gripper", "biped_fixed", "puma_slender"):
        file = read(f"{name}.json")
        robot = reference_mechanism(file["model"])
        yield from ((f"{name} {k}", robot, s) for k, s in enumerate(file["states"]))


@each(("name", "robot", "state"), [pytest.param(*x, id=x[0]) for x in reference_states()])
def test_reference_states(name, robot, state):
    tolerance = 1e-9 if "puma" in name else TOLERANCE
    if state.get("gravity") == "0":
        robot = robot.with_gravity((0.0, 0.0, 0.0))
    tree = robot.tree
    q, qd, qdd, tau = (np.array(state[key]) for key in ("q", "qd", "qdd", "tau_fd"))
    pushed = axis_loads(robot, reference_loads(robot, state.get("external", [])), on_world=True)
    assert_close(denoc.inverse_dynamics(tree, q, qd, qdd, pushed), state["tau"], tolerance)
    assert_close(denoc.bias_torque(tree, q, qd), state["bias"], tolerance)
    assert_close(denoc.mass_matrix(tree, q), state["GIM" if "GIM" in state else "M"], tolerance)
    assert_close(denoc.forward_dynamics(tree, q, qd, tau, pushed), state["qdd_fd"], tolerance)


@pytest.mark.parametrize("name", ["planar_biped", "spatial_biped", "quadruped", "hexapod"])
def test_floating_reference_states(name):
    file = read(f"floating_{name}.json")
    robot = reference_mechanism(file["model"])
    for state in file["states"]:
        q, qd = np.array(state["q"]), np.array(state["qd"])
        pushed = axis_loads(robot, reference_loads(robot, state["external"]), on_world=True)
        given = state["inverse"]["qdd_joints"]
        base, tau = denoc.floating_base_inverse_dynamics(robot.tree, q, qd, given, pushed)
        assert_close(base, state["inverse"]["qdd_base"], TOLERANCE)
        assert_close(tau, state["inverse"]["tau_joints"], TOLERANCE)
        driven = np.array([0.0] * 6 + state["forward"]["tau_joints"])
        found = denoc.forward_dynamics(robot.tree, q, qd, driven, pushed)
        assert_close(found, state["forward"]["qdd"], TOLERANCE)


# ---- bad input -----------------------------------------------------------------------------------------
def test_a_massless_tip_is_named():
    robot = kt.Builder("massless")
    upper = robot.world.revolute("shoulder").body("upper", kt.Inertia.rod(1.0, (0.3, 0, 0)))
    upper.revolute("elbow", at=(0.3, 0, 0)).body("fore")
    tree = robot.build().tree
    with pytest.raises(kt.errors.SingularityError, match=r"joint 'elbow' moves no inertia.*pivot 0"):
        denoc.forward_dynamics(tree, np.zeros(2), np.zeros(2), np.zeros(2))


def test_gimbal_lock_of_the_base_is_named():
    robot = kt.zoo.quadruped()
    q = np.zeros(18)
    q[4] = np.pi / 2
    with pytest.raises(
        kt.errors.SingularityError, match=r"'base.ry', 'base.rx', 'base.rz' are in gimbal lock"
    ):
        denoc.floating_base_inverse_dynamics(robot.tree, q, np.zeros(18), np.zeros(12))


def test_floating_base_inverse_dynamics_refuses_what_is_not_free():
    zeros = np.zeros(18)
    with pytest.raises(kt.errors.InputError, match=r"no floating base.*'joint1'"):
        denoc.floating_base_inverse_dynamics(kt.zoo.gripper().tree, *[np.zeros(4)] * 3)
    with pytest.raises(kt.errors.InputError, match=r"qdd_joints must have shape \(12,\), got \(18,\)"):
        denoc.floating_base_inverse_dynamics(kt.zoo.quadruped().tree, zeros, zeros, zeros)
    robot = kt.Builder("braked")
    base = robot.world.free("base", armature=[0, 0, 0.5, 0, 0, 0]).body("hull", kt.Inertia.sphere(1.0, 0.1))
    base.revolute("hip").body("leg", kt.Inertia.rod(1.0, (0, 0, 1)))
    with pytest.raises(kt.errors.InputError, match=r"'base.tz' has armature 0.5"):
        denoc.floating_base_inverse_dynamics(robot.build().tree, np.zeros(7), np.zeros(7), np.zeros(1))


ROOT = Path(__file__).parents[2]


# ---- the description -----------------------------------------------------------------------------------
def test_the_formulation_can_what_it_says():
    assert denoc.FORMULATION.can <= ABILITIES.keys()
    assert all(callable(getattr(denoc, name)) for name in denoc.FORMULATION.can)
    assert denoc.FORMULATION.refuses(kt.zoo.gripper().tree) is None


@pytest.mark.parametrize("page", ["denoc.md", "denoc_slender.md"])
def test_the_code_of_the_pages_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "formulations" / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert blocks
    names = {"__name__": "__main__"}  # blocks of a page share them
    for code in blocks:
        exec(compile(code, page, "exec"), names)
