"""Newton-Euler recursion of [Barman2020] on symbols and on counting numbers."""

import numpy as np
import sympy

import kinetree as kt
from kinetree.derivations import newton_euler as ne
from kinetree.derivations.contract import Load, counted_steps
from kinetree.kernels.number import count_operations, counting
from support import trees
from support.cases import assert_close
from support.equal_links import ball_and_hinges, chain, star


def test_symbols_give_the_formula_of_the_slides():
    """[NCTU], section 6.1: the two-link arm of point masses, corrected."""
    q, qd, qdd = (np.array(sympy.symbols(f"{x}1 {x}2"), object) for x in ("q", "qd", "qdd"))
    arm = kt.zoo.two_link_point_masses(mass=(2, 3), length=(0.5, 0.75), gravity=(0, -9.75, 0))
    tau = ne.inverse_dynamics(arm.tree, q, qd, qdd)
    m1, m2, l1, l2, g = (sympy.Rational(x) for x in ("2", "3", "1/2", "3/4", "39/4"))
    c1, c2, s2, c12 = sympy.cos(q[0]), sympy.cos(q[1]), sympy.sin(q[1]), sympy.cos(q[0] + q[1])
    h, D22 = m2 * l1 * l2, m2 * l2**2
    D11, D12 = (m1 + m2) * l1**2 + D22 + 2 * h * c2, D22 + h * c2
    expected = [
        D11 * qdd[0] + D12 * qdd[1] - h * s2 * (2 * qd[0] * qd[1] + qd[1] ** 2),
        D12 * qdd[0] + D22 * qdd[1] + h * s2 * qd[0] ** 2,
    ]
    expected[0] += g * ((m1 + m2) * l1 * c1 + m2 * l2 * c12)
    expected[1] += g * m2 * l2 * c12
    slopes = ne.inverse_dynamics_derivatives(arm.tree, q, qd, qdd)[1]
    pairs = [*zip(tau, expected, strict=True), (slopes[0, 1], sympy.diff(expected[0], q[1]))]
    for found, formula in pairs:
        difference = sympy.expand(sympy.expand_trig(sympy.nsimplify(found, rational=True) - formula))
        squares = {
            sympy.sin(x) ** k: sympy.sin(x) ** (k - 2) * (1 - sympy.cos(x) ** 2) for x in q for k in (2, 3)
        }
        assert sympy.expand(difference.subs(squares)) == 0


# ---- operation counts --------------------------------------------------------------------------------------
VALUES = ["rotations", "forward kinematics", "inertial forces", "external loads", "backward dynamics"]


def counts(function, robot, with_load=True):
    """Operations by step, and all that were done."""
    n = robot.tree.n
    x = [counting(np.linspace(0.1, 1.0, n) + 0.1 * k) for k in range(3)]
    pushed = [Load(n - 1, (1.0, 2.0, 3.0), (0.1, 0.2, 0.3), (0.3, 0.2, 0.1))] if with_load else []
    with counted_steps() as recorded:
        total = count_operations(lambda: function(robot.tree, *x, pushed))
    assert recorded.total == total  # nothing is done outside the steps
    return recorded.steps


def growth(function, lengths):
    """{step: operations of every kind for chains of several lengths}."""
    rows = [counts(function, chain(n)) for n in lengths]
    return {name: np.array([list(row[name].values()) for row in rows]) for name in rows[0]}


def test_torques_grow_linearly_in_every_step():
    table = growth(ne.inverse_dynamics, (2, 4, 6, 8))
    assert set(VALUES) <= table.keys()
    for name, operations in table.items():
        assert (np.diff(operations, 2, axis=0) == 0).all(), name
    assert (np.diff(table["external loads"], axis=0) == 0).all()
    for name in ("rotations", "forward kinematics", "inertial forces", "backward dynamics"):
        assert (np.diff(table[name], axis=0)[:, :2] > 0).all(), name
    assert table["rotations"][:, 3].tolist() == [2, 4, 6, 8]  # one sine and cosine per hinge


def test_sensitivities_grow_quadratically():
    """Not linearly like the recursion: they are n x n numbers."""
    table = growth(ne.joint_reaction_derivatives, (3, 6, 9, 12))
    for name, operations in table.items():
        assert (np.diff(operations, 3, axis=0) == 0).all(), name
    for name in ("kinematics", "inertial forces", "backward dynamics"):
        assert (np.diff(table[f"sensitivities of the {name}"], 2, axis=0)[:, :2] > 0).all(), name
    assert (np.diff(table["sensitivities of the external loads"], 2, axis=0) == 0).all()  # one load: one path


def test_sensitivities_of_a_star_grow_linearly():
    """Axes on different branches do not feel each other."""
    totals = []
    for n in (2, 4, 6):
        steps = counts(ne.inverse_dynamics_derivatives, star(n), with_load=False)
        totals.append(
            [sum(step[kind] for step in steps.values()) for kind in ("multiplications", "additions")]
        )
    assert (np.diff(totals, 2, axis=0) == 0).all()


def test_empty_bodies_cost_less():
    few, many = (counts(ne.inverse_dynamics, robot) for robot in ball_and_hinges())
    for kind in ("multiplications", "additions"):
        assert few["inertial forces"][kind] < 0.4 * many["inertial forces"][kind]


def test_counting_numbers_compute(rng):
    robot = kt.zoo.random_tree(2, 8)
    x = trees.state(robot, rng)
    for function in (ne.inverse_dynamics, ne.joint_reactions):
        found = function(robot.tree, *(counting(value) for value in x))
        assert_close(found.astype(float), function(robot.tree, *x), 1e-14)
