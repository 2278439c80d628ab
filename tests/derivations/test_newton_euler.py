"""Newton-Euler recursion of [Barman2020]: against the kernels, complex steps, reference data and
mechanics."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.derivations import newton_euler as ne
from kinetree.derivations import newton_euler_recursion as recursion
from kinetree.derivations import newton_euler_sensitivity as sensitivity
from kinetree.derivations.contract import ABILITIES
from kinetree.dynamics.coupling import all_axes, coupled, independent
from kinetree.model.tree import WORLD_AXIS
from support import trees
from support.cases import assert_close, zoo_and_random_trees
from support.comparison import distal_load
from support.distal_dh import chain as distal_chain
from support.distal_dh import distal_frame, two_link_pr, two_link_rr
from support.each import each
from support.on_axes import axis_loads, in_bodies, random_wrenches, state_on_axes
from support.reference import read, relative_error

STEP = 1e-30
MECHANISMS = zoo_and_random_trees(4)


@pytest.fixture(params=MECHANISMS)
def mechanism(request):
    return MECHANISMS[request.param]()


# ---- against the kernels ------------------------------------------------------------------------------
def test_torques_and_mass_matrix_agree_with_the_kernels(mechanism, rng):
    tree, state = mechanism.tree, trees.state(mechanism, rng)
    x, pulls = state_on_axes(tree, *state), random_wrenches(mechanism, rng)
    pushed = axis_loads(mechanism, pulls)
    assert pushed
    tau = independent(tree, ne.inverse_dynamics(tree, *x, pushed))
    assert_close(tau, kt.inverse_dynamics(mechanism, *state, pulls))
    bias = independent(tree, ne.bias_torque(tree, *x[:2], pushed))
    assert_close(bias, kt.bias_torque(mechanism, *state[:2], pulls))
    assert_close(coupled(tree, ne.mass_matrix(tree, x[0])), kt.mass_matrix(mechanism, state[0]))


def test_torque_derivatives_agree_with_the_kernels(mechanism, rng):
    tree, state, pulls = mechanism.tree, trees.state(mechanism, rng), random_wrenches(mechanism, rng)
    pushed = axis_loads(mechanism, pulls)
    tau, *slopes = ne.inverse_dynamics_derivatives(tree, *state_on_axes(tree, *state), pushed)
    d = kt.inverse_dynamics_derivatives(mechanism, *state, pulls)
    assert_close(independent(tree, tau), d.tau)
    for found, expected in zip(slopes, (d.dtau_dq, d.dtau_dqd, d.dtau_dqdd), strict=True):
        assert_close(coupled(tree, found), expected)


def test_reactions_and_their_derivatives_agree_with_the_kernels(mechanism, rng):
    tree, state, pulls = mechanism.jointed_tree, trees.state(mechanism, rng), random_wrenches(mechanism, rng)
    x = state_on_axes(tree, *state)
    w = ne.joint_reactions(tree, *x, axis_loads(mechanism, pulls, tree))
    assert_close(in_bodies(tree, w), kt.joint_reactions(mechanism, *state, pulls))
    w, *slopes = ne.joint_reaction_derivatives(tree, *x)
    d = kt.analysis.joint_reaction_derivatives(mechanism, *state)
    assert_close(in_bodies(tree, w), d.reaction)
    for found, expected in zip(slopes, (d.dreaction_dq, d.dreaction_dqd, d.dreaction_dqdd), strict=True):
        found = in_bodies(tree, found)
        assert_close(found if tree.coupling is None else found @ tree.coupling.matrix, expected)


def test_every_joint_kind_with_springs_friction_welds_and_mimics(robot, rng):
    tree, state, pulls = robot.tree, trees.state(robot, rng), random_wrenches(robot, rng)
    pushed = axis_loads(robot, pulls)
    tau, *slopes = ne.inverse_dynamics_derivatives(tree, *state_on_axes(tree, *state), pushed)
    d = kt.inverse_dynamics_derivatives(robot, *state, pulls)
    assert_close(independent(tree, tau), kt.inverse_dynamics(robot, *state, pulls))
    for found, expected in zip(slopes, (d.dtau_dq, d.dtau_dqd, d.dtau_dqdd), strict=True):
        assert_close(coupled(tree, found), expected)
    M = coupled(tree, ne.mass_matrix(tree, all_axes(tree, state[0])))
    assert_close(M, kt.mass_matrix(robot, state[0]))


# ---- complex steps on the same code --------------------------------------------------------------------
STEPPED = {
    "turning": lambda rng: trees.random_tree(rng, 5, ("revolute", "spherical"), passive=True),
    "sliding": lambda rng: trees.random_tree(rng, 6, ("prismatic", "revolute"), branching=0.0, passive=True),
    "branched": lambda rng: trees.random_tree(rng, 6, ("cylindrical", "prismatic", "universal", "fixed")),
    "floating": lambda rng: trees.random_tree(rng, 3, ("free", "planar")),
}


def quantities(tree, q, qd, qdd, pushed):
    """Everything whose sensitivities are known, by name; the first axis runs over links."""
    at = recursion.frames(tree, q)
    motion = recursion.forward_kinematics(tree, at, qd, qdd)
    internal = ne.joint_forces(tree, q, qd, qdd, pushed)
    found = {name: getattr(motion, name)[: tree.n] for name in ("omega", "omegad", "xdd", "xdd_G")}
    found |= {"R_0": at.R_0[: tree.n], **internal._asdict()}
    found["tau"] = ne.inverse_dynamics(tree, q, qd, qdd, pushed)
    found["w"] = ne.joint_reactions(tree, q, qd, qdd, pushed)
    return found


def complex_steps(tree, x, pushed):
    """{quantity: derivatives [kind, i, j, ...]} by every q_i, qd_i and qdd_i."""
    rows = []
    for kind in range(3):
        for i in range(tree.n):
            moved = [value.astype(complex) for value in x]
            moved[kind][i] += 1j * STEP
            rows.append(quantities(tree, *moved, pushed))
    shape = (3, tree.n)
    return {
        name: np.reshape([row[name].imag / STEP for row in rows], shape + value.shape)
        for name, value in rows[0].items()
    }


def spread(tree, rows):
    """Sensitivities along the path of each link as [kind, i, j, ...]."""
    path = sensitivity.paths(tree)
    found = np.zeros((3, tree.n, tree.n, *rows[0].shape[2:]))
    for j in np.flatnonzero([row.shape[1] > 0 for row in rows[: tree.n]]):
        found[: len(rows[j]), path[j], j] = rows[j]
    return found


@pytest.mark.parametrize("case", STEPPED)
def test_all_sensitivities_are_complex_steps(case, rng):
    """Kinematics, internal forces of both sides, torques; the loads keep their directions in the world."""
    robot = STEPPED[case](rng)
    tree, x = robot.tree, trees.state(robot, rng)
    pushed = axis_loads(robot, random_wrenches(robot, rng))
    expected = complex_steps(tree, x, pushed)
    at = recursion.frames(tree, x[0])
    motion = recursion.forward_kinematics(tree, at, *x[1:])
    d = sensitivity.motion_sensitivity(tree, at, motion, x[1])
    for name in ("omega", "omegad", "xdd", "xdd_G"):
        assert_close(spread(tree, getattr(d, name)), expected[name])
    assert_close(spread(tree, [row[None] for row in d.R_0]), expected["R_0"])
    for name, slopes in ne.joint_force_sensitivities(tree, *x, pushed)[1]._asdict().items():
        assert_close(np.moveaxis(slopes, 0, 2), expected[name])
    for name, function in (
        ("tau", ne.inverse_dynamics_derivatives),
        ("w", ne.joint_reaction_derivatives),
    ):
        value, *slopes = function(tree, *x, pushed)
        assert_close(value, quantities(tree, *x, pushed)[name], 1e-15)
        assert_close(np.array(slopes), np.moveaxis(expected[name], 1, -1))


def test_derivatives_by_a_load_are_complex_steps_too(rng):
    """Numbers of the loads may be of any kind: torques fall by J^T times the change of the force."""
    robot = trees.random_tree(rng, 8)
    tree, x = robot.tree, trees.state(robot, rng)
    direction, point = rng.uniform(-1, 1, (2, 3))
    body = robot.body_names[-1]
    pushed = axis_loads(robot, [kt.Wrench(body, (0, 0, 0), point=point)])
    moved = [pushed[0]._replace(force=1j * STEP * direction)]
    J = kt.jacobian(robot, x[0], body, point)[:3]
    assert_close(ne.inverse_dynamics(tree, *x, moved).imag / STEP, -J.T @ direction)


# ---- reference data in distal DH frames -----------------------------------------------------------------
def in_distal_frames(links, q, reaction, slopes):
    """F, N (n, 3) and, for each kind, dF, dN [j, i] in frame j of [Barman2020], moments about O_(j-1)."""
    q, e_z = np.asarray(q), np.array([0.0, 0.0, 1.0])
    force, moment = reaction[:, :3], reaction[:, 3:]
    dforce, dmoment = ([np.swapaxes(x[:, part], 1, 2) for x in slopes] for part in (slice(0, 3), slice(3, 6)))
    slide = (
        np.array([link["type"] == "P" for link in links])[:, None] * e_z
    )  # the frame slid by q_j from O_(j-1)
    arm = slide * q[:, None]
    dmoment = [dn + np.cross(arm[:, None], df) for df, dn in zip(dforce, dmoment, strict=True)]
    own = np.arange(len(links))
    dmoment[0][own, own] += np.cross(slide, force)
    turn = np.array([distal_frame(link).rotation for link in links])

    def turned(x):
        return np.einsum("jab,j...a->j...b", turn, x)

    found = {"F": turned(force), "N": turned(moment + np.cross(arm, force))}
    for kind, df, dn in zip(("dq", "dqd", "dqdd"), dforce, dmoment, strict=True):
        found |= {f"dF_{kind}": turned(df), f"dN_{kind}": turned(dn)}
    return found


def reference_errors(links, gravity, case):
    robot = distal_chain(links, gravity)
    tree, x = robot.tree, [np.asarray(case[key], float) for key in ("q", "qd", "qdd")]
    assert_close(tree.body_rotation, np.tile(np.eye(3), (tree.n, 1, 1)))
    pull = distal_load(links, case)
    pushed = () if pull is None else axis_loads(robot, [pull])
    names = ("tau", "dtau_dq", "dtau_dqd", "dtau_dqdd")
    found = dict(zip(names, ne.inverse_dynamics_derivatives(tree, *x, pushed), strict=True))
    w, *slopes = ne.joint_reaction_derivatives(tree, *x, pushed)
    found |= in_distal_frames(links, case["q"], w, slopes)
    return {key: relative_error(value, case[key]) for key, value in found.items() if key in case}


@each("case", read("chain_sensitivity.json")["cases"], ids=lambda case: case["types"])
def test_chain_of_the_reference(case):
    errors = reference_errors(case["links"], case["gravity"], case)
    assert len(errors) == 12 and max(errors.values()) < 1e-11, errors


def test_two_link_arms_of_the_reference():
    """[Barman2020], sections 4.1 and 4.2."""
    for case in read("twolink_rr.json")["cases"]:
        links, gravity = two_link_rr(case["params"])
        tip = {"link": 2, "moment_world": (0, 0, 0), "point_in_dh_frame": (0, 0, 0)}
        tip["force_world"] = (0, -case["params"]["f"], 0)
        errors = reference_errors(links, gravity, case | {"external": tip})
        assert {"tau", "dtau_dq", "dtau_dqd", "dtau_dqdd", "F"} <= errors.keys()
        assert max(errors.values()) < 1e-11, errors
    for case in read("twolink_pr.json")["cases"]:
        errors = reference_errors(two_link_pr(case["params"]), case["gravity"], case)
        assert {"tau", "dtau_dq", "dtau_dqd", "F", "N", "dF_dq", "dF_dqd", "dF_dqdd"} <= errors.keys()
        assert max(errors.values()) < 1e-11, errors


# ---- mechanics ---------------------------------------------------------------------------------------------
def test_the_base_carries_the_weight(rng):
    """At rest the distal forces of the world balance weight and loads, in world axes."""
    robot = kt.zoo.random_tree(5, 10)
    tree, q = robot.tree, trees.state(robot, rng)[0]
    pull = kt.Wrench("body7", rng.uniform(-5, 5, 3), rng.uniform(-2, 2, 3), rng.uniform(-1, 1, 3))
    internal = ne.joint_forces(tree, q, 0 * q, 0 * q, axis_loads(robot, [pull]))
    at, roots = recursion.frames(tree, q), tree.parent == WORLD_AXIS
    R, p = kt.forward_kinematics(robot, q)["body7"]
    weight = tree.mass.sum() * robot.gravity
    assert_close(internal.F_d[roots].sum(axis=0), -weight - pull.force)
    moment = (internal.tau_d + np.cross(at.dx, internal.F_d))[roots].sum(axis=0)
    pulled = pull.moment + np.cross(p + R @ pull.point, pull.force)
    assert_close(moment, -np.cross(kt.center_of_mass(robot, q), weight) - pulled)


# ---- contract --------------------------------------------------------------------------------------------
def test_it_can_what_it_says():
    assert ne.FORMULATION.can == {name for name in ABILITIES if hasattr(ne, name)}
    assert ne.FORMULATION.refuses(kt.zoo.gripper().tree) is None


def test_lists_are_states_too():
    arm = kt.zoo.gripper()
    q, qd, qdd = [0.1, 0.2, 0.3, 0.4], [1, 2, 3, 4], [0, 0, 1, 0]
    assert_close(ne.inverse_dynamics(arm.tree, q, qd, qdd), kt.inverse_dynamics(arm, q, qd, qdd))
    assert_close(ne.inverse_dynamics_derivatives(arm.tree, q, qd, qdd)[3], ne.mass_matrix(arm.tree, q))
    assert_close(ne.bias_torque(arm.tree, q, qd), kt.bias_torque(arm, q, qd))
