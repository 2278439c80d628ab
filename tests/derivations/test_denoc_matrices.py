"""The DeNOC matrices of [Shah2013], chapters 4 and 5: sizes, products, factors, sparsity, names, pictures."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import kinetree as kt
from kinetree.derivations.denoc.labels import OF_AXES, OF_MODULES, PAIRS, WHOLE, labeled, sides
from kinetree.derivations.denoc.matrices import denoc_matrices
from kinetree.report.sparsity import TITLES, draw_sparsity, sparsity_figure
from support import trees
from support.cases import assert_close
from support.comparison import upper_pivots
from support.each import each
from support.reference import mechanism as reference_mechanism
from support.reference import read
from support.refused import refused

PRINTED = {  # sizes in [Shah2013], sections 4.4 and 5.5; the numbers of modules with their parents
    "gripper": ((24, 24), (24, 4), {1: None, 2: 1, 3: 1}),
    "planar_biped": ((42, 42), (42, 12), {0: None, 1: 0, 2: 0}),
    "spatial_biped": ((78, 78), (78, 18), {0: None, 1: 0, 2: 0}),
    "quadruped": ((78, 78), (78, 18), {0: None, 1: 0, 2: 0, 3: 0, 4: 0}),
    "hexapod": ((78, 78), (78, 18), {0: None, 1: 0, 2: 0, 3: 0, 4: 0, 5: 0, 6: 0}),
}
PARTITIONS = (None, "links", "axes")
FELT = ("human", "andrews_squeezer", "flyball_governor", "jansen_walker")  # springs, friction: not in 5.12
OPEN = [name for name in kt.zoo.ZOO if name not in ("humanoid", *FELT)]


@pytest.fixture(params=OPEN)
def mechanism(request):
    return kt.zoo.by_name(request.param).opened()


@pytest.fixture(params=PARTITIONS, ids=str)
def partition(request):
    return request.param


def at_random(robot, rng, modules=None):
    return denoc_matrices(robot, trees.state(robot, rng)[0], modules)


def ordered(matrices, values):
    """A matrix in q's order, in the order of the modules."""
    return values[np.ix_(matrices.axes, matrices.axes)]


# ---- kinematics: chapter 4 -----------------------------------------------------------------------------
@pytest.mark.parametrize("name", PRINTED)
def test_printed_sizes_and_modules(name, rng):
    d = at_random(kt.zoo.by_name(name), rng)
    N_l, N_d, parents = PRINTED[name]
    assert (d.N_l.shape, d.N_d.shape) == (N_l, N_d)
    assert {block.number: block.parent for block in d.blocks} == parents


def test_propagation_matrices(rng):
    """A_ij A_jk = A_ik, A_ii = 1, A_ij^-1 = A_ji (4.5; [Mohan2007], eq. 6 corrected)."""
    d = at_random(kt.zoo.kuka_kr5(), rng)
    assert_close(d.A(4, 2) @ d.A(2, 1), d.A(4, 1), 1e-14)
    assert_close(d.A(3, 3), np.eye(6), 1e-15)
    assert_close(np.linalg.inv(d.A(5, 1)), d.A(1, 5), 1e-13)
    assert np.linalg.norm(d.p(2)[:3]) == pytest.approx(1.0) and not d.p(2)[3:].any()
    slider = at_random(kt.zoo.two_link_prismatic(), rng).p(0)
    assert_close(slider, [0, 0, 0, 0, 0, 1], 1e-15)


def test_module_propagation_skips_no_module_on_the_way(rng):
    """A_jh A_hi = A_ji for modules in line, zero between branches (4.23, 4.29)."""
    d = at_random(kt.zoo.random_tree(3, 12), rng, "links")
    lines = [(j, d.block(j).parent) for j in (block.number for block in d.blocks) if d.block(j).parent]
    checked = 0
    for j, h in lines:
        i = d.block(h).parent
        if i is not None:
            assert_close(d.A_bar(j, h) @ d.A_bar(h, i), d.A_bar(j, i), 1e-13)
            checked += 1
    assert checked > 2


def test_twists_are_those_of_the_bodies(mechanism, partition, rng):
    """t = N_l N_d qd."""
    q, qd, _ = trees.state(mechanism, rng)
    d = denoc_matrices(mechanism, q, partition)
    twists = (d.N @ qd[list(d.axes)]).reshape(-1, 6)
    rows = [k for block in d.blocks for k in block.rows]
    assert_close(d.N, d.N_l @ d.N_d, 1e-15)
    expected = kt.body_velocities(mechanism, q, qd)
    tree, checked = mechanism.tree, 0
    rotation = kt.forward_kinematics(mechanism, q).rotation
    for body, axis in enumerate(tree.body_axis):
        if axis in rows:
            w, v = np.split(twists[rows.index(axis)], 2)
            R = rotation[body] @ tree.body_rotation[body].T
            assert_close(w, expected[body, 3:], 1e-12)
            assert_close(v + np.cross(w, R @ tree.body_position[body]), expected[body, :3], 1e-12)
            checked += 1
    assert checked


def test_partitions_have_the_same_complement(rng):
    """N is unique, its decoupling is not (section 4.3)."""
    robot = kt.zoo.gripper()
    q = trees.state(robot, rng)[0]
    levels = [
        denoc_matrices(robot, q, p) for p in (*PARTITIONS, robot.partition([[b] for b in robot.body_names]))
    ]
    for d in levels[1:]:
        assert_close(d.N, levels[0].N, 1e-15)
    assert np.abs(levels[0].N_l - levels[1].N_l).max() > 0.01


# ---- mass matrices and the generalized inertia matrix --------------------------------------------------
def test_generalized_inertia_matrix(mechanism, partition, rng):
    d = at_random(mechanism, rng, partition)
    expected = ordered(d, kt.mass_matrix(mechanism, d.q))
    armature = np.diag(mechanism.tree.armature[list(d.axes)])
    assert_close(d.I, expected, 1e-12)
    assert_close(d.N.T @ d.M @ d.N + armature, expected, 1e-12)
    assert_close(d.M_composite, d.N_l.T @ d.M @ d.N_l, 1e-12)


def test_every_joint_kind_with_armature(robot, rng):
    if robot.tree.coupling is not None:
        with pytest.raises(kt.errors.InputError, match="mimic joints"):
            at_random(robot, rng)
        return
    d = at_random(robot, rng)
    expected = ordered(d, kt.mass_matrix(robot, d.q))
    assert_close(d.I, expected, 1e-12)
    assert_close(d.U @ d.D @ d.U.T, expected, 1e-12)
    assert_close(d.I_inv @ expected, np.eye(robot.n_dof), 1e-9)


def test_composite_module_is_the_sum_over_all_modules_upstream(rng):
    """5.18, where the sum must not contain module i itself (errata), and 5.19."""
    d = at_random(kt.zoo.random_tree(5, 12), rng)
    i = next(block.number for block in d.blocks if any(other.parent == block.number for other in d.blocks))
    above = [block.number for block in d.blocks if d.upstream(block.number, i) and block.number != i]
    total = d.M_bar(i) + sum(d.A_bar(j, i).T @ d.M_bar(j) @ d.A_bar(j, i) for j in above)
    assert_close(d.M_tilde(i), total, 1e-12)
    assert np.abs(d.M_tilde(i) - total - d.M_bar(i)).max() > 0.1


def test_equations_of_motion_with_the_convective_matrix(mechanism, rng):
    """I qdd + C qd = tau (5.12), without gravity."""
    q, qd, qdd = trees.state(mechanism, rng)
    d = denoc_matrices(mechanism, q)
    axes = list(d.axes)
    tau = kt.inverse_dynamics(mechanism.with_gravity((0.0, 0.0, 0.0)), q, qd, qdd)
    assert_close(d.I @ qdd[axes] + d.C(qd) @ qd[axes], tau[axes], 1e-11)


# ---- factors and inverse -------------------------------------------------------------------------------
def numpy_factors(M, sizes):
    """Block U and D of M = U D U^T by plain elimination from the last block."""
    ends = np.cumsum([0, *sizes])
    A, U, D = M.copy(), np.eye(len(M)), np.zeros_like(M)
    for k in reversed(range(len(sizes))):
        own, rest = slice(ends[k], ends[k + 1]), slice(0, ends[k])
        D[own, own] = A[own, own]
        U[rest, own] = A[rest, own] @ np.linalg.inv(A[own, own])
        A[rest, rest] -= U[rest, own] @ A[own, rest]
    return U, D


def test_factors_are_those_of_elimination(mechanism, partition, rng):
    d = at_random(mechanism, rng, partition)
    M = ordered(d, kt.mass_matrix(mechanism, d.q))
    U, D = numpy_factors(M, [len(block.columns) for block in d.blocks])
    found = d.reverse_elimination()
    for value, expected in ((d.U, U), (d.D, D), (found.U, U), (found.D, D), (d.U @ d.D @ d.U.T, M)):
        assert_close(value, expected, 1e-10)
    B = np.eye(len(M))
    for elementary in reversed(found.B.values()):  # B = B_1 ... B_s; the last module was eliminated first
        B = B @ elementary
    assert_close(B @ d.I, found.L, 1e-10)
    assert_close(found.L, D @ U.T, 1e-10)


def test_inverse_from_analytical_blocks(mechanism, partition, rng):
    d = at_random(mechanism, rng, partition)
    M = ordered(d, kt.mass_matrix(mechanism, d.q))
    identity, scale = np.eye(len(M)), np.sqrt(np.diag(M))
    assert_close(d.U_inv @ d.U, identity, 1e-9)
    assert_close(d.D_inv @ d.D, identity, 1e-9)
    scaled = d.I_inv * scale[:, None] * scale
    assert_close(scaled @ (M / scale[:, None] / scale), identity, 1e-8)
    assert_close(scaled, np.linalg.inv(M / scale[:, None] / scale), 1e-9)


def test_articulated_propagation_needs_the_transpose(rng):
    """5.45 as printed, A^_ji = A^_jh Phi_h A^_hi, does not give the inverse of U."""
    d = at_random(kt.zoo.kuka_kr5("midpoint"), rng, "links")

    def printed(j, i):
        h = d.block(j).parent
        return d.A_bar(j, i) if h == i else d.A_bar(j, h) @ d.Phi(h) @ printed(h, i)

    wrong = d.U_inv.copy()
    for i in range(6):
        for j in range(i + 1, 6):
            wrong[i, j] = (-d.N_bar(i + 1).T @ printed(j + 1, i + 1).T @ d.Psi(j + 1)).item()
    assert_close(d.U_inv @ d.U, np.eye(6), 1e-12)
    assert np.abs(wrong @ d.U - np.eye(6)).max() > 0.1


def reference_pivots():
    for tree in read("random_trees.json")["trees"]:
        yield tree["name"], tree["model"], tree["states"]
    for name in ("gripper", "puma_slender"):
        file = read(f"{name}.json")
        yield name, file["model"], file["states"]


@each(("name", "model", "states"), [pytest.param(*x, id=x[0]) for x in reference_pivots()])
def test_pivots_of_the_reference(name, model, states):
    robot = reference_mechanism(model)
    for state in states:
        d = denoc_matrices(robot, state["q"], "axes")
        assert d.axes == tuple(range(robot.n_dof))
        assert_close(np.diag(d.D), state["udu_D"], 1e-10)
        assert_close(np.diag(d.D), upper_pivots(kt.mass_matrix(robot, state["q"])), 1e-10)


# ---- sparsity ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", PRINTED)
def test_branches_leave_exact_zeros(name, rng):
    """The zeros of I between modules on different branches stay in U, U^-1 and N_l (5.47-5.60)."""
    d = at_random(kt.zoo.by_name(name), rng)
    zeros = 0
    for i in (block.number for block in d.blocks):
        for j in (block.number for block in d.blocks):
            apart = not d.upstream(i, j) and not d.upstream(j, i)
            zeros += apart
            assert bool(d.I_bar(i, j).any()) != apart
            assert bool(d.U_bar(i, j).any()) == d.upstream(j, i) == bool(d.U_inv_bar(i, j).any())
            assert bool(d.A_bar(j, i).any()) == d.upstream(j, i)
    legs = len(d.blocks) - 1
    assert zeros == legs * (legs - 1)


def test_pictures(rng):
    d = at_random(kt.zoo.quadruped(), rng)
    figure = sparsity_figure(d, ("N_l", "N_d", "I", "U"))
    titles = [ax.get_title() for ax in figure.axes]
    assert titles[2].startswith("$I = N^T M N$: 18 x 18") and titles[0].startswith("$N_l$: 78 x 78")
    pixels = np.asarray(figure.axes[2].images[0].get_array())
    white = (pixels == 1.0).all(axis=-1)
    modules = np.array(sides(d, "I")[0].modules)
    apart = (modules[:, None] != modules) & (modules[:, None] != 0) & (modules != 0)
    assert (white == apart).all()
    names = [label.get_text() for label in figure.axes[2].get_yticklabels()]
    assert names == [kt.zoo.quadruped().joint_names[k] for k in d.axes]


@each("name", WHOLE)
def test_every_whole_matrix_can_be_drawn(name, rng):
    d = at_random(kt.zoo.gripper(), rng)
    ax = draw_sparsity(d, name, Figure().add_subplot())
    assert ax.get_title().startswith(TITLES[name])
    assert ax.images[0].get_array().shape[:2] == getattr(d, name).shape


# ---- names ---------------------------------------------------------------------------------------------
def test_labeled_matrices_are_addressed_by_name(rng):
    robot = kt.zoo.gripper()
    d = at_random(robot, rng)
    inertia, M = labeled(d, "I"), kt.mass_matrix(robot, d.q)
    for i, row in enumerate(robot.joint_names):
        for j, column in enumerate(robot.joint_names):
            assert float(inertia.sel(joint_row=row, joint_column=column)) == pytest.approx(M[i, j], abs=1e-15)
    assert inertia.coords["module_of_row"].values.tolist() == [1, 2, 2, 3]
    N = labeled(d, "N")
    assert N.sel(joint_column="joint1", twist_row="joint3.wz") == pytest.approx(1.0)
    printed = labeled(d, "A_bar", 3, 1).to_pandas().to_string()
    assert "joint4.vy" in printed and "joint1.wz" in printed


def test_every_matrix_has_names_for_every_row_and_column(rng):
    d = at_random(kt.zoo.random_tree(2, 7), rng)
    i, j = d.blocks[-1].parent or d.blocks[0].number, d.blocks[-1].number
    for name in WHOLE:
        assert labeled(d, name).shape == getattr(d, name).shape
    for name in OF_MODULES:
        where = (j, i) if name in PAIRS else (j,)
        assert labeled(d, name, *where).shape == getattr(d, name)(*where).shape
    for name in OF_AXES:
        where = (1, 0) if name in PAIRS else (1,)
        array = labeled(d, name, *where)
        assert array.shape == getattr(d, name)(*where).shape
        assert array.coords["twist_row"].values[0] == f"{d.tree.axis_names[1]}.wx"


# ---- bad input -----------------------------------------------------------------------------------------
def test_bad_input_is_named(rng):
    robot = kt.zoo.gripper()
    d = at_random(robot, rng)
    with refused("matrix", "V"):
        labeled(d, "V")
    with pytest.raises(kt.errors.InputError, match=r"matrix 'A_bar' belongs to 2 modules, got 1"):
        labeled(d, "A_bar", 1)
    with pytest.raises(kt.errors.InputError, match=r"unknown module '7'; allowed: 1, 2, 3"):
        d.M_hat(7)
    with pytest.raises(kt.errors.InputError, match=r"unknown partition 'bodies'; allowed: links, axes"):
        denoc_matrices(robot, d.q, "bodies")
    with pytest.raises(kt.errors.InputError, match=r"one state, got q of shape \(2, 4\)"):
        denoc_matrices(robot, np.zeros((2, 4)))
    with pytest.raises(kt.errors.InputError, match=r"q must be finite, got nan for joint 'joint2'"):
        denoc_matrices(robot, [0.0, np.nan, 0.0, 0.0])
    with pytest.raises(kt.errors.InputError, match=r"not a partition of 'gripper'"):
        denoc_matrices(robot, d.q, robot.modules[:2])


def test_a_massless_module_is_named(rng):
    robot = kt.Builder("massless")
    upper = robot.world.revolute("shoulder").body("upper", kt.Inertia.rod(1.0, (0.3, 0, 0)))
    upper.revolute("elbow", at=(0.3, 0, 0)).body("fore")
    d = at_random(robot.build(), rng, "links")
    assert d.I.shape == (2, 2)
    for factors in (lambda: d.U, d.reverse_elimination):
        with pytest.raises(
            kt.errors.SingularityError, match=r"joints \['elbow'\] of module 2 move no inertia"
        ):
            factors()
