"""The kernels on SymPy symbols give the formulas of the textbooks."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.kernels.energy import ENERGY, KINETIC, POTENTIAL, SIZE
from kinetree.kernels.rnea import RNEA_UNLOADED
from support.interpreted import run

sympy = pytest.importorskip("sympy")
Q = sympy.symbols("q1 q2", real=True)
QD = sympy.symbols("qd1 qd2", real=True)
QDD = sympy.symbols("qdd1 qdd2", real=True)


def rows(*symbols):
    return [np.array(x, dtype=object) for x in symbols]


def exact(expression):
    """The expression with its (binary) decimals as fractions."""
    return sympy.nsimplify(expression, rational=True)


def assert_same_formula(found, expected):
    difference = sympy.simplify(sympy.expand_trig(sympy.expand(exact(found) - exact(expected))))
    assert difference == 0, difference


def two_link(m, L, r, J, g):
    """Planar arm of [Xiang2009]: masses, lengths, places of the centres, inertias about them; gravity
    along -y."""
    arm = kt.Builder("two-link", gravity=(0, -g, 0))
    first = arm.world.revolute("j1").body("a", kt.Inertia(m[0], (r[0], 0, 0), (J[0],) * 3))
    first.revolute("j2", at=(L[0], 0, 0)).body("b", kt.Inertia(m[1], (r[1], 0, 0), (J[1],) * 3))
    return arm.build()


def textbook_torques(m, L, r, J, g):
    """[Xiang2009], eqs. 52-65 without tip load."""
    (q1, q2), (qd1, qd2), (qdd1, qdd2) = Q, QD, QDD
    c1, c2, s2, c12 = sympy.cos(q1), sympy.cos(q2), sympy.sin(q2), sympy.cos(q1 + q2)
    m, L, r, J, g = (exact(sympy.Matrix([x])) for x in (m, L, r, J, [g]))
    h = m[1] * L[0] * r[1]
    M11 = J[0] + m[0] * r[0] ** 2 + J[1] + m[1] * (L[0] ** 2 + r[1] ** 2) + 2 * h * c2
    M12 = J[1] + m[1] * r[1] ** 2 + h * c2
    M22 = J[1] + m[1] * r[1] ** 2
    tau1 = M11 * qdd1 + M12 * qdd2 - h * s2 * (2 * qd1 * qd2 + qd2**2)
    tau1 += g[0] * ((m[0] * r[0] + m[1] * L[0]) * c1 + m[1] * r[1] * c12)
    tau2 = M12 * qdd1 + M22 * qdd2 + h * s2 * qd1**2 + g[0] * m[1] * r[1] * c12
    return tau1, tau2


def test_two_link_arm():
    numbers = ((2.0, 3.0), (0.5, 0.75), (0.25, 0.375), (0.125, 0.0625), 9.75)
    (tau,) = run(RNEA_UNLOADED, two_link(*numbers), rows(Q, QD, QDD), [2])
    for found, expected in zip(tau, textbook_torques(*numbers), strict=True):
        assert_same_formula(found, expected)


def test_two_link_arm_of_point_masses():
    """[NCTU], section 6.1: the centres are the tips, no rotational inertia."""
    numbers = ((2.0, 3.0), (0.5, 0.75), (0.5, 0.75), (0.0, 0.0), 9.75)
    (tau,) = run(RNEA_UNLOADED, two_link(*numbers), rows(Q, QD, QDD), [2])
    for found, expected in zip(tau, textbook_torques(*numbers), strict=True):
        assert_same_formula(found, expected)


def test_torques_are_lagranges_equations():
    """tau = d/dt dL/dqd - dL/dq of the energies of the same mechanism: a hinge that carries a slider."""
    robot = kt.Builder("polar", gravity=(0, -9.75, 0))
    arm = robot.world.revolute("turn").body("arm", kt.Inertia(2.0, (0.5, 0, 0), (0.25, 0.25, 0.25)))
    arm.prismatic("slide", at=(0.25, 0, 0), axis="x").body(
        "hand", kt.Inertia(1.0, (0, 0.5, 0), (0.5, 0.5, 0.5))
    )
    polar = robot.build()
    (tau,) = run(RNEA_UNLOADED, polar, rows(Q, QD, QDD), [2])
    (energy,) = run(ENERGY, polar, rows(Q, QD), [SIZE])
    lagrangian = exact(energy[KINETIC] - energy[POTENTIAL])
    for k in range(2):
        momentum = sympy.diff(lagrangian, QD[k])
        rate = sum(
            sympy.diff(momentum, Q[j]) * QD[j] + sympy.diff(momentum, QD[j]) * QDD[j] for j in range(2)
        )
        assert_same_formula(tau[k], rate - sympy.diff(lagrangian, Q[k]))


def test_friction_of_a_symbol():
    robot = kt.Builder("slide", gravity=(0, 0, 0))
    robot.world.prismatic("x", viscous=0.5, coulomb=0.25, stiffness=2.0, rest=1.0).body(
        "m", kt.Inertia.point(4.0)
    )
    q, qd, qdd = Q[0], QD[0], QDD[0]
    (tau,) = run(RNEA_UNLOADED, robot.build(), rows([q], [qd], [qdd]), [1])
    expected = 4 * qdd + sympy.Rational(1, 2) * qd + sympy.sign(qd) / 4 + 2 * (q - 1)
    assert_same_formula(tau[0], expected)
