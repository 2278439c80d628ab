"""DeNOC recursions of 004, chapters 6 and 7: against kernels, reference data, other numbers, misprints."""

import re
from pathlib import Path

import numpy as np
import pytest
import sympy

import kinetree as kt
from kinetree.analysis.evaluate import all_axes, all_rates, coupled, evaluate, independent
from kinetree.formulations import denoc
from kinetree.formulations.contract import ABILITIES, Load, counted_steps
from kinetree.formulations.denoc_entries import ONE, ZERO, Entry, constant, variables
from kinetree.formulations.denoc_frames import dh_tree, placed
from kinetree.formulations.denoc_screws import Articulated, Composite, Screw, Turn, vector_to_parent
from kinetree.kernels.aba import ABA_UNLOADED
from kinetree.kernels.number import count_operations, counting
from kinetree.model.tree import WORLD_AXIS
from support import trees
from support.cases import assert_close
from support.reference import loads as reference_loads
from support.reference import mechanism as reference_mechanism
from support.reference import read

ROOT = Path(__file__).parents[2]
RANDOM = {f"random_tree {seed}": lambda seed=seed: kt.zoo.random_tree(seed, 9) for seed in range(6)}
MECHANISMS = dict(kt.zoo.ZOO) | RANDOM
FLOATING = ("planar_biped", "spatial_biped", "quadruped", "hexapod", "humanoid")
TOLERANCE = 1e-10


@pytest.fixture(params=MECHANISMS)
def mechanism(request):
    return MECHANISMS[request.param]()


def wrenches(rng, robot):
    """Loads on every other body, at random points, in world axes; two on the last one."""
    bodies = [*robot.body_names[::2], robot.body_names[-1]]
    return [kt.Wrench(b, rng.uniform(-5, 5, 3), rng.uniform(-2, 2, 3), rng.uniform(-1, 1, 3)) for b in bodies]


def on_axes(robot, tree, listed):
    """The same loads on the axes that carry the bodies; those on the world are passed on too."""
    found = []
    for w in listed:
        k = robot.body_index(w.body)
        point = tree.body_rotation[k] @ w.point + tree.body_position[k]
        found.append(Load(int(tree.body_axis[k]), w.force, w.moment, point))
    return found


def in_bodies(tree, reactions):
    """Rows of axes (n, 6) as rows of bodies, in body axes."""
    halves = reactions.reshape(-1, 2, 3)[tree.body_axis]
    return np.einsum("bji,bkj->bki", tree.body_rotation, halves).reshape(-1, 6)


def axes_of(tree, q, qd, qdd):
    return all_axes(tree, q), all_rates(tree, qd), all_rates(tree, qdd)


# ---- against the kernels -------------------------------------------------------------------------------
def check_everything(robot, rng):
    tree, state = robot.tree, trees.state(robot, rng)
    (q, qd, qdd), pulls = axes_of(tree, *state), wrenches(rng, robot)
    pushed = on_axes(robot, tree, pulls)
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
    reactions = denoc.joint_reactions(jointed, *axes_of(jointed, *state), on_axes(robot, jointed, pulls))
    assert_close(in_bodies(jointed, reactions), kt.joint_reactions(robot, *state, pulls), TOLERANCE)


def test_the_zoo_and_random_trees_agree_with_the_kernels(mechanism, rng):
    check_everything(mechanism, rng)


def test_every_joint_kind_with_armature_springs_friction_welds_and_mimics(robot, rng):
    check_everything(robot, rng)


def test_without_loads_forward_dynamics_is_that_of_the_compiled_kernel(mechanism, rng):
    tree = mechanism.tree
    q, qd, tau = trees.state(mechanism, rng)
    expected, _ = evaluate(ABA_UNLOADED, tree, [q, qd, tau], [tree.n] * 2)
    assert_close(denoc.forward_dynamics(tree, q, qd, tau), expected, TOLERANCE)


@pytest.mark.parametrize("name", FLOATING)
def test_floating_bases_agree_with_the_kernels(name, rng):
    robot = kt.zoo.by_name(name)
    q, qd, qdd = trees.state(robot, rng)
    pulls = wrenches(rng, robot)
    pushed = on_axes(robot, robot.tree, pulls)
    for loads, listed in (((), None), (pushed, pulls)):
        found = denoc.floating_base_inverse_dynamics(robot.tree, q, qd, qdd[6:], loads)
        expected = kt.floating_base_inverse_dynamics(robot, q, qd, qdd[6:], listed)
        for value, right in zip(found, expected, strict=True):
            assert_close(value, right, TOLERANCE)


def test_a_floating_base_with_oblique_axes_and_springs_in_its_joints(rng):
    directions = trees.rotation(rng)[[0, 1, 2, 0, 1, 2]] + 0.2 * rng.standard_normal((6, 3))
    base = kt.Link(kt.Body("base", trees.inertia(rng)), kt.Joint.of_kind("free", "free", axes=directions))
    spring = trees.joint(rng, "hip", "spherical", passive=True)
    leg = kt.Link(kt.Body("leg", trees.inertia(rng)), spring, "base", trees.placement(rng))
    slide = trees.joint(rng, "slide", "prismatic", passive=True)
    foot = kt.Link(kt.Body("foot", trees.inertia(rng)), slide, "leg", trees.placement(rng))
    robot = kt.Mechanism("oblique", (base, leg, foot), np.array([1.0, 2.0, -9.0]))
    q, qd, qdd = 0.5 * rng.standard_normal((3, robot.n_dof))
    found = denoc.floating_base_inverse_dynamics(robot.tree, q, qd, qdd[6:])
    for value, right in zip(found, kt.floating_base_inverse_dynamics(robot, q, qd, qdd[6:]), strict=True):
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


@pytest.mark.parametrize(("name", "robot", "state"), [pytest.param(*x, id=x[0]) for x in reference_states()])
def test_reference_states(name, robot, state):
    tolerance = 1e-9 if "puma" in name else TOLERANCE
    if state.get("gravity") == "0":
        robot = robot.with_gravity((0.0, 0.0, 0.0))
    tree = robot.tree
    q, qd, qdd, tau = (np.array(state[key]) for key in ("q", "qd", "qdd", "tau_fd"))
    pushed = on_axes(robot, tree, reference_loads(robot, state.get("external", [])))
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
        pushed = on_axes(robot, robot.tree, reference_loads(robot, state["external"]))
        given = state["inverse"]["qdd_joints"]
        base, tau = denoc.floating_base_inverse_dynamics(robot.tree, q, qd, given, pushed)
        assert_close(base, state["inverse"]["qdd_base"], TOLERANCE)
        assert_close(tau, state["inverse"]["tau_joints"], TOLERANCE)
        driven = np.array([0.0] * 6 + state["forward"]["tau_joints"])
        found = denoc.forward_dynamics(robot.tree, q, qd, driven, pushed)
        assert_close(found, state["forward"]["qdd"], TOLERANCE)


# ---- modules -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["gripper", "biped_fixed", "quadruped", "humanoid", "three_rrr"])
def test_answers_do_not_depend_on_the_partition(name, rng):
    robot = kt.zoo.by_name(name)
    tree, (q, qd, qdd) = robot.tree, trees.state(robot, rng)
    base = set(robot.modules[0].bodies)
    links = robot.partition([[body] for body in robot.body_names if body not in base])
    assert len(links) > len(robot.modules)
    for function, arguments in (
        (denoc.inverse_dynamics, (q, qd, qdd)),
        (denoc.forward_dynamics, (q, qd, qdd)),
        (denoc.mass_matrix, (q,)),
    ):
        alone = function(tree, *arguments)
        for modules in (robot.modules, links):
            assert_close(function(tree, *arguments, modules=modules), alone, 1e-14)


@pytest.mark.parametrize("name", ["gripper", "quadruped", "biped_fixed", "humanoid", "robotic_leg"])
def test_the_tree_finds_the_modules_of_the_mechanism(name):
    robot = kt.zoo.by_name(name)
    dh = dh_tree(robot.tree)
    assert dh.modules == dh.order(robot.modules)
    assert sorted(j for module in dh.modules for joint in module for j in joint) == list(range(robot.tree.n))


def test_modules_of_another_mechanism_are_refused():
    robot, zeros = kt.zoo.gripper(), np.zeros(4)
    for modules in (robot.modules[:2], kt.zoo.kuka_kr5().modules, robot.modules[::-1]):
        with pytest.raises(kt.InputError, match=r"modules \[.*'link1'.*\] are no partition of the bodies"):
            denoc.inverse_dynamics(robot.tree, zeros, zeros, zeros, modules=modules)


# ---- other kinds of number -----------------------------------------------------------------------------
def test_complex_steps_give_the_derivatives(rng):
    robot = kt.zoo.spatial_biped()
    tree, (q, qd, qdd) = robot.tree, trees.state(robot, rng)
    expected = kt.inverse_dynamics_derivatives(robot, q, qd, qdd)
    for k in (1, 4, 7, 17):
        moved = q.astype(complex)
        moved[k] += 1e-30j
        slope = denoc.inverse_dynamics(tree, moved, qd, qdd).imag / 1e-30
        assert_close(slope, expected.dtau_dq[:, k], TOLERANCE)
        driven = denoc.forward_dynamics(tree, moved, qd, expected.tau)
        assert_close(driven.real, qdd, 1e-8)
        assert_close(
            driven.imag / 1e-30,
            kt.forward_dynamics_derivatives(robot, q, qd, expected.tau).dqdd_dq[:, k],
            1e-8,
        )


def test_symbols_give_the_equations_of_motion():
    robot = kt.zoo.two_link_prismatic(gravity=(0.0, -9.81, 0.0))
    symbols = sympy.symbols("q1 q2 v1 v2 a1 a2")
    q, qd, qdd = (np.array(symbols[k : k + 2], object) for k in (0, 2, 4))
    values = dict(zip(symbols, (0.3, 0.4, -0.5, 0.6, 0.7, -0.8), strict=True))
    numbers = [np.array([values[x] for x in row]) for row in (q, qd, qdd)]
    for function in (denoc.inverse_dynamics, denoc.forward_dynamics):
        formulas = function(robot.tree, q, qd, qdd)
        found = [float(formula.subs(values)) for formula in formulas]
        assert_close(found, function(robot.tree, *numbers), 1e-12)
    assert denoc.mass_matrix(robot.tree, q)[0, 0] == pytest.approx(1.0)  # the slider lifts both links


def test_counting_numbers_compute_and_cost_does_not_depend_on_the_state(rng):
    robot = kt.zoo.quadruped()
    counts = []
    for scale in (1.0, 0.0):
        state = [scale * x for x in trees.state(robot, rng)]
        with counted_steps() as steps:
            tau = denoc.inverse_dynamics(robot.tree, *(counting(x) for x in state))
        assert_close([float(x) for x in tau], kt.inverse_dynamics(robot, *state), TOLERANCE)
        counts.append(steps.steps)
    assert counts[0] == counts[1]
    assert counts[0]["joint angles"]["sincos"] == 15


# ---- DH frames -----------------------------------------------------------------------------------------
def world_poses(tree, q):
    """Rotation and origin of every DH frame in the world, from its screws."""
    dh = dh_tree(tree)
    at, poses = placed(dh, q), {WORLD_AXIS: (np.eye(3), np.zeros(3))}
    for j, axis in enumerate(dh.axes):
        R, o = poses[axis.parent]
        columns = [vector_to_parent(at.screws[j], tuple(variables(e, 3))) for e in np.eye(3)]
        turn = np.array([[entry.value for entry in column] for column in columns]).T
        arm = np.array([entry.value for entry in at.arms[j]])
        poses[j] = R @ turn, o + R @ arm
    return dh, poses


def test_dh_frames_move_with_the_axes_of_the_tree(robot, rng):
    """Same axes, origins on them, and x on the common normal to the first axis that follows."""
    tree = robot.tree
    q = all_axes(tree, trees.state(robot, rng)[0])
    dh, poses = world_poses(tree, q)
    R, o = np.zeros((tree.n, 3, 3)), np.zeros((tree.n, 3))
    for i, j in enumerate(tree.parent):
        Rj, oj = (np.eye(3), np.zeros(3)) if j < 0 else (R[j], o[j])
        R[i], o[i] = Rj @ tree.rotation[i], oj + Rj @ tree.position[i]
        if tree.turns[i]:
            R[i] = R[i] @ kt.Placement.at((0, 0, 0), rotation_z(q[i])).rotation
        else:
            o[i] += R[i][:, 2] * q[i]
    for i, axis in enumerate(dh.axes):
        c, s = axis.phi
        assert_close(poses[i][0], R[i] @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]]), 1e-12)
        assert_close(poses[i][1], o[i] + axis.d * R[i][:, 2], 1e-12)
    for i, axis in enumerate(dh.axes):
        if axis.parent != WORLD_AXIS and i == np.flatnonzero(tree.parent == axis.parent)[0]:
            x = poses[axis.parent][0][:, 0]
            normal = np.cross(R[axis.parent][:, 2], R[i][:, 2])
            assert np.linalg.norm(np.cross(x, normal)) < 1e-9
            assert len(axis.fixed) <= 2


def rotation_z(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])


@pytest.mark.parametrize("tilt", [0.0, 1e-15, 1e-12, 1e-8, 1e-4, 0.05, 0.0999, 0.1001, 0.5, np.pi - 1e-7])
def test_nearly_parallel_axes_lose_no_digits(tilt, rng):
    """Their common normal may be kilometres away; the frames must not go there."""
    links, parent = [], "world"
    for k in range(5):
        axis = (np.sin(tilt) * (-1) ** k, 0.0, np.cos(tilt))
        joint = kt.Joint.of_kind(f"j{k}", "revolute" if k != 2 else "prismatic", axis=axis)
        place = kt.Placement.at((0.3, 0.2, 0.1))
        links.append(kt.Link(kt.Body(f"b{k}", trees.inertia(rng)), joint, parent, place))
        parent = f"b{k}"
    check_everything(kt.Mechanism("tilted", tuple(links), np.array([1.0, 2.0, -9.0])), rng)


# ---- planar screws: the formulas of appendix A, and where they are misprinted --------------------------
def entries(matrix):
    return tuple(tuple(Entry(x) for x in row) for row in matrix)


def values(rows):
    return np.array([[entry.value for entry in row] for row in rows])


def six(M):
    """The 6 x 6 matrix of a composite or articulated mass matrix."""
    M = M.articulated if isinstance(M, Composite) else M
    J, F, G = values(M.J), values(M.F), values(M.G)
    return np.block([[J, F.T], [F, G]])


def tensor(a):
    return np.cross(np.eye(3), a)


def propagation(axis, angle, shift):
    """A (6, 6) of eq. A.45, from the outer frame to the inner, and its rotation."""
    a, b = (axis + 1) % 3, (axis + 2) % 3
    Q = np.eye(3)
    Q[a, a] = Q[b, b] = np.cos(angle)
    Q[a, b], Q[b, a] = -np.sin(angle), np.sin(angle)
    r = tensor(-shift * np.eye(3)[axis])
    return np.block([[Q.T, np.zeros((3, 3))], [Q.T @ r, Q.T]]), Q


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("constant_angle", [True, False])
def test_mass_matrices_are_moved_as_their_matrices_are(axis, constant_angle, rng):
    angle, shift = rng.uniform(-3, 3), rng.uniform(-1, 1)
    A, _ = propagation(axis, angle, shift)
    turn = Turn(axis, Entry(np.cos(angle)), Entry(np.sin(angle)), constant_angle)
    full = rng.standard_normal((6, 6))
    full = full + full.T
    moved = Articulated(entries(full[:3, :3]), entries(full[3:, :3]), entries(full[3:, 3:]))
    assert_close(six(moved.to_parent([Screw(turn, Entry(shift))])), A.T @ full @ A, 1e-13)
    J = full[:3, :3]
    rigid = Composite(entries(J), tuple(Entry(x) for x in rng.standard_normal(3)), Entry(1.7))
    assert_close(six(rigid.to_parent([Screw(turn, Entry(shift))])), A.T @ six(rigid) @ A, 1e-13)


def test_quarter_turns_cost_nothing(rng):
    counted = entries(counting(rng.standard_normal((3, 3))))
    M = Articulated(counted, counted, counted)
    for c, s in ((ZERO, ONE), (ZERO, -ONE), (-ONE, ZERO), (ONE, ZERO)):
        screws = [Screw(Turn(0, c, s))]
        assert not any(count_operations(lambda screws=screws: M.to_parent(screws)).values())
    screws = [Screw(Turn(0, Entry(0.6), Entry(0.8)))]
    assert any(count_operations(lambda: M.to_parent(screws)).values())


@pytest.mark.parametrize(("d", "printed"), [(0.7, "A.37"), (0.7, "A.49")])
def test_the_misprints_of_appendix_a_matter(d, printed, rng):
    """c_2 = (c_1 + rho_3) b of A.37, and f_12 in the first entry of A.49, give other matrices."""
    full = rng.standard_normal((6, 6))
    full = full + full.T
    J, F, G = full[:3, :3], full[3:, :3], full[3:, 3:]
    if printed == "A.37":
        rho, m = rng.standard_normal(3), 1.3
        moved = Composite(entries(J), tuple(Entry(x) for x in rho), Entry(m)).to_parent(
            [Screw(Turn(2), Entry(d))]
        )
        wrong = J[0, 0] + (m * d - rho[2] + rho[2]) * d
    else:
        moved = Articulated(entries(J), entries(F), entries(G)).to_parent([Screw(Turn(2), Entry(d))])
        wrong = J[0, 0] - (F[1, 0] - d * G[1, 1] + F[0, 1]) * d
    assert abs(values(moved.J)[0, 0] - wrong) > 1e-3


def test_known_numbers_cost_nothing():
    x = Entry(3.0)
    assert constant(0) is ZERO and constant(1.0) is ONE and -constant(-1.0) is ONE and -ZERO is ZERO
    assert ZERO + x is x and x - ZERO is x and x - x is ZERO and x / x is ONE
    assert ONE * x is x and x * ZERO is ZERO and x / ONE is x and (x * -ONE).value == -3.0
    assert (ONE + ONE).value == 2.0 and (ZERO - x).value == -3.0 and repr(x) == "Entry(3.0)"


# ---- bad input -----------------------------------------------------------------------------------------
def test_a_massless_tip_is_named():
    robot = kt.Builder("massless")
    upper = robot.world.revolute("shoulder").body("upper", kt.Inertia.rod(1.0, (0.3, 0, 0)))
    upper.revolute("elbow", at=(0.3, 0, 0)).body("fore")
    tree = robot.build().tree
    with pytest.raises(kt.SingularityError, match=r"joint 'elbow' moves no inertia.*pivot 0"):
        denoc.forward_dynamics(tree, np.zeros(2), np.zeros(2), np.zeros(2))


def test_gimbal_lock_of_the_base_is_named():
    robot = kt.zoo.quadruped()
    q = np.zeros(18)
    q[4] = np.pi / 2
    with pytest.raises(kt.SingularityError, match=r"'base.ry', 'base.rx', 'base.rz' are in gimbal lock"):
        denoc.floating_base_inverse_dynamics(robot.tree, q, np.zeros(18), np.zeros(12))


def test_floating_base_inverse_dynamics_refuses_what_is_not_free():
    zeros = np.zeros(18)
    with pytest.raises(kt.InputError, match=r"no floating base.*'joint1'"):
        denoc.floating_base_inverse_dynamics(kt.zoo.gripper().tree, *[np.zeros(4)] * 3)
    with pytest.raises(kt.InputError, match=r"qdd_joints must have shape \(12,\), got \(18,\)"):
        denoc.floating_base_inverse_dynamics(kt.zoo.quadruped().tree, zeros, zeros, zeros)
    robot = kt.Builder("braked")
    base = robot.world.free("base", armature=[0, 0, 0.5, 0, 0, 0]).body("hull", kt.Inertia.sphere(1.0, 0.1))
    base.revolute("hip").body("leg", kt.Inertia.rod(1.0, (0, 0, 1)))
    with pytest.raises(kt.InputError, match=r"'base.tz' has armature 0.5"):
        denoc.floating_base_inverse_dynamics(robot.build().tree, np.zeros(7), np.zeros(7), np.zeros(1))


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
    for code in blocks:
        exec(compile(code, page, "exec"), {"__name__": "__main__"})
