"""DeNOC recursions on other kinds of number: complex, symbolic, counting, known beforehand."""

import numpy as np
import pytest
import sympy

import kinetree as kt
from kinetree.derivations import denoc
from kinetree.derivations.contract import counted_steps
from kinetree.derivations.denoc.entries import ONE, ZERO, Entry, constant
from kinetree.kernels.number import counting
from support import trees
from support.cases import assert_close

TOLERANCE = 1e-10


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


def test_known_numbers_cost_nothing():
    x = Entry(3.0)
    assert constant(0) is ZERO and constant(1.0) is ONE and -constant(-1.0) is ONE and -ZERO is ZERO
    assert ZERO + x is x and x - ZERO is x and x - x is ZERO and x / x is ONE
    assert ONE * x is x and x * ZERO is ZERO and x / ONE is x and (x * -ONE).value == -3.0
    assert (ONE + ONE).value == 2.0 and (ZERO - x).value == -3.0 and repr(x) == "Entry(3.0)"
