"""Every pair of formulations on every mechanism that both can handle, and the table of them."""

import itertools

import numpy as np
import pytest

import kinetree as kt
from kinetree.derivations import NAMES, able, described, module_of
from kinetree.derivations.contract import ABILITIES, Load
from kinetree.kernels.number import count_operations, counting
from support.cases import assert_close
from support.each import each

MODELS = {
    **{name: kt.zoo.by_name(name) for name in kt.zoo.ZOO if name not in ("humanoid", "random_tree")},
    **{f"tree {seed}": kt.zoo.random_tree(seed, 7) for seed in range(4)},
}
TOLERANCE = 1e-10


def answers(ability, tree, rng):
    """The answer of every formulation that offers one, by name."""
    q, qd, qdd = rng.uniform(-1, 1, (3, tree.n))
    given = {"mass_matrix": (q,), "bias_torque": (q, qd)}.get(ability, (q, qd, qdd))
    found = {}
    for name in able(ability):
        if described(name).refuses(tree) is None:
            found[name] = getattr(module_of(name), ability)(tree, *given)
    return found


@each("model", MODELS)
@each("ability", ["inverse_dynamics", "mass_matrix", "bias_torque", "joint_reactions"])
def test_all_pairs_agree(ability, model, rng):
    found = answers(ability, MODELS[model].tree, rng)
    assert len(found) >= 2, f"only {list(found)} can answer {ability} for {model}"
    for a, b in itertools.combinations(found.values(), 2):
        assert_close(a, b, TOLERANCE)


@each("model", MODELS)
def test_accelerations_agree_where_the_mass_matrix_is_regular(model, rng):
    """Compared through M qdd, which is not blurred by the conditioning of M."""
    tree = MODELS[model].tree
    q, qd, tau = rng.uniform(-1, 1, (3, tree.n))
    M = module_of("spatial").mass_matrix(tree, q)
    h = module_of("spatial").bias_torque(tree, q, qd)
    for name in able("forward_dynamics"):
        if described(name).refuses(tree) is None:
            qdd = module_of(name).forward_dynamics(tree, q, qd, tau)
            assert np.abs(M @ qdd + h - tau).max() < TOLERANCE * max(1.0, np.abs(h).max()), name


@pytest.mark.parametrize("model", ["kuka_kr5", "two_link_prismatic", "quadruped", "tree 1"])
def test_derivatives_agree_with_loads(model, rng):
    tree = MODELS[model].tree
    q, qd, qdd = rng.uniform(-1, 1, (3, tree.n))
    load = Load(tree.n - 1, rng.standard_normal(3), rng.standard_normal(3), rng.standard_normal(3))
    for ability in ("inverse_dynamics_derivatives", "joint_reaction_derivatives"):
        found = {
            name: getattr(module_of(name), ability)(tree, q, qd, qdd, [load])
            for name in able(ability)
            if described(name).refuses(tree) is None
        }
        assert len(found) >= 2
        for (_, a), (_, b) in itertools.combinations(found.items(), 2):
            for x, y in zip(a, b, strict=True):
                if ability == "joint_reaction_derivatives":  # the kernels tell those of axes with bodies
                    x, y = x[tree.body_axis], y[tree.body_axis]
                assert_close(x, y, TOLERANCE)


@pytest.mark.parametrize("name", NAMES)
def test_every_formulation_keeps_its_promise(name):
    formulation, module = described(name), module_of(name)
    assert formulation.name == name and formulation.source and formulation.cost and formulation.can
    for ability in ABILITIES:
        assert (ability in formulation.can) == callable(getattr(module, ability, None)), ability


@pytest.mark.parametrize("name", able("inverse_dynamics"))
def test_every_formulation_can_be_counted(name, rng):
    tree = kt.zoo.puma().tree
    q, qd, qdd = (counting(x) for x in rng.standard_normal((3, tree.n)))
    counts = count_operations(lambda: module_of(name).inverse_dynamics(tree, q, qd, qdd))
    assert counts["multiplications"] > 100 and counts["additions"] > 100


@pytest.mark.parametrize("name", NAMES)
def test_public_calls_take_a_formulation(name, rng):
    arm = kt.zoo.kuka_kr5()
    s = kt.random_state(arm, rng, batch=(2, 3))
    load = kt.Wrench("link6", force=(1, 2, 3), point=(0.1, 0.0, 0.2))
    can = described(name).can
    if "inverse_dynamics" in can:
        tau = kt.inverse_dynamics(arm, s.q, s.qd, s.qdd, load, formulation=name)
        assert_close(tau, kt.inverse_dynamics(arm, s.q, s.qd, s.qdd, load), TOLERANCE)
    if "mass_matrix" in can:
        assert_close(kt.mass_matrix(arm, s.q, formulation=name), kt.mass_matrix(arm, s.q), TOLERANCE)
    if "bias_torque" in can:
        h = kt.bias_torque(arm, s.q, s.qd, load, formulation=name)
        assert_close(h, kt.bias_torque(arm, s.q, s.qd, load), TOLERANCE)
    if "forward_dynamics" in can:
        tau = kt.inverse_dynamics(arm, s.q, s.qd, s.qdd, load)
        assert_close(kt.forward_dynamics(arm, s.q, s.qd, tau, load, formulation=name), s.qdd, 1e-8)


def test_mimic_joints_are_reduced_for_every_formulation(rng):
    robot = kt.Builder("hand")
    rod = kt.Inertia.box(1.0, (0.3, 0.1, 0.2), center=(0.1, 0.0, 0.0))
    palm = robot.world.revolute("palm").body("palm", rod)
    palm.revolute("finger", at=(0.3, 0, 0), axis="y", mimic=kt.model.Mimic("palm", 0.5, 0.1)).body(
        "finger", rod
    )
    hand = robot.build()
    s = kt.random_state(hand, rng, batch=4)
    for name in able("inverse_dynamics"):
        tau = kt.inverse_dynamics(hand, s.q, s.qd, s.qdd, formulation=name)
        assert_close(tau, kt.inverse_dynamics(hand, s.q, s.qd, s.qdd), TOLERANCE)


def test_the_table_prints_and_unknown_names_are_refused():
    table = repr(kt.analysis.formulations())
    assert all(name in table for name in NAMES)
    arm = kt.zoo.two_link()
    with pytest.raises(kt.errors.InputError, match=r"unknown formulation 'denok'.*Did you mean 'denoc'"):
        kt.mass_matrix(arm, [0, 0], formulation="denok")
    with pytest.raises(
        kt.errors.InputError, match=r"'newton_euler' offers no forward_dynamics; these do: spatial"
    ):
        kt.forward_dynamics(arm, [0, 0], [0, 0], [0, 0], formulation="newton_euler")


@pytest.mark.parametrize("name", ["newton_euler", "lagrangian", "closed_form", "plain"])
def test_derivatives_with_loads_that_keep_their_direction(name):
    """Force and moment in world axes at a point of a body, on an arm with welded bodies."""
    arm, rng = kt.zoo.kuka_kr5(), np.random.default_rng(5)
    q, qd, qdd = rng.uniform(-1, 1, (3, 2, arm.n_dof))
    loads = [
        kt.Wrench(arm.body_names[-1], rng.normal(size=(2, 3)), (0.3, -0.2, 0.1), point=(0.1, 0.2, -0.3)),
        kt.Wrench(arm.body_names[2], (1.0, 2.0, -3.0)),
    ]
    wanted = kt.inverse_dynamics_derivatives(arm, q, qd, qdd, loads)
    found = kt.inverse_dynamics_derivatives(arm, q, qd, qdd, loads, formulation=name)
    for part in ("tau", "dtau_dq", "dtau_dqd", "dtau_dqdd"):
        assert getattr(found, part) == pytest.approx(getattr(wanted, part), rel=1e-10, abs=1e-10)
    turning = kt.Wrench(arm.body_names[2], (1.0, 2.0, -3.0), frame="body")
    with pytest.raises(kt.errors.InputError, match="world axes"):
        kt.inverse_dynamics_derivatives(arm, q, qd, qdd, turning, formulation=name)
