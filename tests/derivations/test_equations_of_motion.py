"""Equations of motion as formulas: the textbook's two-link arm, other mechanisms, printing, refusals."""

import re
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import sympy

import kinetree as kt
from kinetree.derivations import closed_form
from kinetree.derivations.equations_of_motion import LARGEST, equations_of_motion
from kinetree.derivations.trigonometric import Follows, TrigonometricRing
from support import trees
from support.cases import assert_close
from support.each import each

PAGE = Path(__file__).parents[2] / "docs" / "formulations" / "closed_form.md"


# ---- formulas ------------------------------------------------------------------------------------------
def textbook_arm():
    """[Xiang2009], eqs. 52, 53, 58, 59, 64, 65 without load, in the symbols of the mechanism."""
    names = "m_1 m_2 c_1x c_2x p_2x I_1zz I_2zz g q1 q2 qd1 qd2"
    m1, m2, l1, l2, L1, I1, I2, g, q1, q2, v1, v2 = sympy.symbols(names, real=True)
    c1, c2, s2, c12 = sympy.cos(q1), sympy.cos(q2), sympy.sin(q2), sympy.cos(q1 + q2)
    M12 = I2 + m2 * l2**2 + m2 * L1 * l2 * c2
    return {
        "M11": I1 + I2 + m1 * l1**2 + m2 * (L1**2 + l2**2 + 2 * L1 * l2 * c2),
        "M12": M12,
        "M21": M12,
        "M22": I2 + m2 * l2**2,
        "V1": -m2 * L1 * l2 * s2 * (2 * v1 * v2 + v2**2),
        "V2": m2 * L1 * l2 * s2 * v1**2,
        "G1": m1 * g * l1 * c1 + m2 * g * (L1 * c1 + l2 * c12),
        "G2": m2 * g * l2 * c12,
    }


def entries(equations):
    found = {f"M{i + 1}{k + 1}": equations.M[i, k] for i, k in np.ndindex(equations.M.shape)}
    return found | {f"{x}{i + 1}": getattr(equations, x)[i] for x in "VG" for i in range(len(equations.q))}


def test_two_link_arm_is_written_as_in_the_textbook():
    equations = equations_of_motion(kt.zoo.two_link(gravity=(0, -9.81, 0)), "symbols")
    found, expected = entries(equations), textbook_arm()
    assert found.keys() == expected.keys()
    for key, formula in expected.items():
        assert sympy.expand(found[key] - formula) == 0, key
        assert sympy.count_ops(found[key]) <= sympy.count_ops(formula), key


def test_two_link_arm_of_point_masses_is_written_as_on_the_slides():
    """[NCTU]: with the lengths as centers of mass; massless rods have no I."""
    arm = kt.zoo.two_link_point_masses((2, 3), (0.5, 0.75))
    found = entries(equations_of_motion(arm, "symbols"))
    zero = dict.fromkeys(sympy.symbols("I_1zz I_2zz", real=True), 0)
    for key, formula in textbook_arm().items():
        assert sympy.expand(found[key] - formula.subs(zero)) == 0, key


def test_two_link_arm_with_numbers():
    """[Xiang2009], Table 1 (lifting, section 6.4): exact decimals."""
    found = entries(equations_of_motion(kt.zoo.two_link(gravity=(0, -9.8062, 0))))
    shown = {key: sympy.sstr(x, full_prec=False) for key, x in found.items()}
    assert shown == {
        "M11": "0.08*cos(q2) + 0.32",
        "M12": "0.04*cos(q2) + 0.12",
        "M21": "0.04*cos(q2) + 0.12",
        "M22": "0.12",
        "V1": "-0.04*qd2*(2*qd1 + qd2)*sin(q2)",
        "V2": "0.04*qd1**2*sin(q2)",
        "G1": "2.94186*cos(q1) + 0.98062*cos(q1 + q2)",
        "G2": "0.98062*cos(q1 + q2)",
    }


@cache
def written(make, parameters):
    """The equations of motion of a mechanism, made once."""
    return equations_of_motion(make(), parameters)


def slider():
    return kt.zoo.two_link_prismatic(gravity=(1.0, 2.0, -9.0))


def spatial_arm():
    """Waist about z, shoulder and elbow about y."""
    robot = kt.Builder("spatial arm")
    waist = robot.world.revolute("waist").body("post", kt.Inertia(3.0, (0, 0, 0.1), (0.1, 0.2, 0.3)))
    shoulder = waist.revolute("shoulder", at=(0, 0, 0.3), axis="y")
    upper = shoulder.body("upper", kt.Inertia(2.0, (0.2, 0, 0), (0.1, 0.2, 0.3)))
    elbow = upper.revolute("elbow", at=(0.4, 0, 0), axis="y")
    elbow.body("fore", kt.Inertia(1.0, (0.25, 0, 0), (0.1, 0.2, 0.3)))
    return robot.build()


def test_sums_of_parallel_joints_are_one_angle():
    """m (l2 cos q2 + l3 cos(q2 + q3))^2 about the waist, not products of single sines and cosines."""
    equations = written(spatial_arm, "symbols")
    m, r, p, q2, q3 = sympy.symbols("m_3 c_3x p_3x q2 q3", real=True)
    inertia = sympy.expand(equations.M[0, 0]).coeff(m)
    assert sympy.expand(inertia - (p * sympy.cos(q2) + r * sympy.cos(q2 + q3)) ** 2) == 0
    assert equations.M[0, 1] == equations.M[0, 2] == equations.G[0] == 0


def with_passive_joints():
    robot = kt.Builder("passive", gravity=(0, -9.81, 0))
    hinge = robot.world.revolute("hinge", viscous=0.1, stiffness=2.0, rest=0.3, armature=0.05)
    arm = hinge.body("arm", kt.Inertia(1.0, (0.2, 0, 0), (0.1, 0.2, 0.3)))
    arm.prismatic("slide", axis="x", coulomb=0.2, coulomb_reverse=0.3).body(
        "hand", kt.Inertia(1.0, (0.1, 0.1, 0), (0.1, 0.2, 0.3))
    )
    return robot.build()


def with_mimic_joint():
    robot = kt.Builder("mimic", gravity=(0, -9.81, 0))
    robot.world.revolute("lead").body("a", kt.Inertia(1.0, (0.2, 0.1, 0), (0.1, 0.2, 0.3)))
    follow = kt.model.Mimic("lead", -0.5, 0.25)
    second = kt.Joint.of_kind("follow", "revolute", mimic=follow)
    links = (
        *robot.build().links,
        kt.model.Link(kt.Body("b", kt.Inertia.point(1.0, (0.3, 0, 0))), second, "a"),
    )
    return kt.Mechanism("mimic", links, (0, -9.81, 0))


def with_oblique_axes():
    """Rotations whose sines and cosines are no fractions, and a weld."""
    robot = kt.Builder("oblique", gravity=(1.0, -2.0, 9.0))
    first = robot.world.revolute("a", rpy=(0.3, 0.4, 0.5)).body("a", kt.Inertia.box(1.0, (0.1, 0.2, 0.3)))
    weld = first.fixed("weld", at=(0.1, 0.2, 0.3), rpy=(0.1, 0.2, 0.3)).body("w", kt.Inertia.point(1.0))
    weld.prismatic("b", at=(0.3, 0, 0.1), axis=(1, 2, 3)).body("b", kt.Inertia.box(1.0, (0.1, 0.2, 0.3)))
    return robot.build()


def ball():
    robot = kt.Builder("ball")
    robot.world.spherical("s").body("top", kt.Inertia(1.0, (0.2, 0.1, 0.3), (0.1, 0.2, 0.25)))
    return robot.build()


def open_leg():
    return kt.zoo.robotic_leg().opened()


WRITTEN = [
    (kt.zoo.gripper, "numbers"),
    (kt.zoo.gripper, "symbols"),
    (slider, "symbols"),
    (open_leg, "numbers"),
    (spatial_arm, "symbols"),
    (with_passive_joints, "numbers"),
    (with_passive_joints, "symbols"),
    (with_mimic_joint, "numbers"),
    (with_mimic_joint, "symbols"),
    (with_oblique_axes, "numbers"),
    (ball, "numbers"),
]


@each(("make", "parameters"), WRITTEN)
def test_formulas_agree_with_the_kernels(make, parameters, rng):
    mechanism = make()
    equations = written(make, parameters)
    tau = equations.function()
    assert bool(equations.values) == (parameters == "symbols")
    for _ in range(3):
        state = trees.state(mechanism, rng)
        assert_close(tau(*state), kt.inverse_dynamics(mechanism, *state), 1e-10)
        numbers = {**dict(zip(equations.q, state[0], strict=True)), **equations.values}
        M = np.array(equations.M.subs(numbers), dtype=float)
        assert_close(M, kt.mass_matrix(mechanism, state[0]), 1e-10)


# ---- polynomials in sines and cosines ------------------------------------------------------------------
def angles_ring(follows=()):
    q = sympy.symbols("q1:4", real=True)
    ring = TrigonometricRing(q, sympy.symbols("a b", real=True), follows or [None] * 3)
    functions = [f(x) for x in q for f in (sympy.sin, sympy.cos)]
    return ring, dict(zip(ring.ring.symbols, functions, strict=False))


@pytest.mark.parametrize(
    "formula",
    ["sin(q1 + q2 + q3)", "cos(q1 - q2 + q3)", "sin(3*q1)", "cos(2*q1 + q2)", "sin(q1 + q3)**2", "1"],
)
def test_expanded_functions_are_found_again(formula):
    expected = sympy.sympify(formula, {f"q{k}": sympy.Symbol(f"q{k}", real=True) for k in (1, 2, 3)})
    ring, functions = angles_ring([None, None, Follows(0, 1)])
    unknowns = {function: unknown for unknown, function in functions.items()}
    expanded = sympy.expand(sympy.expand_trig(expected)).subs(unknowns)
    assert ring.shortest(ring.number(expanded), [[]], 1.0) == expected


def test_every_way_of_writing_means_the_same(rng):
    """Random polynomials with powers of all sines and cosines, of angles that are sums or not."""
    for follows in ([None] * 3, [None, Follows(0, 1), Follows(1, -1)]):
        ring, functions = angles_ring(follows)
        powers = rng.integers(0, 4, (5, 8))
        p = ring.ring.from_dict({tuple(map(int, row)): sympy.QQ(k + 1, 7) for k, row in enumerate(powers)})
        expected = p.as_expr().subs(functions)
        values = dict(zip([*ring.angles, *ring.others], rng.uniform(0.5, 1.5, 5), strict=True))
        for symbols in ([], ring.others, ring.others[:1]):
            found = ring.shortest(p, [symbols], 1.0)
            assert_close(float(found.subs(values)), float(expected.subs(values)))


def test_rounding_errors_are_left_out():
    ring, _ = angles_ring()
    a, b = ring.others
    p = ring.number(2 * a + b * sympy.Rational(1, 10**15))
    assert ring.shortest(p, [[]], 2.0) == 2 * a
    assert ring.shortest(p, [[]], 1e-12) == p.as_expr()


# ---- printing and refusals -----------------------------------------------------------------------------
def test_springs_and_friction_stand_apart():
    equations = written(with_passive_joints, "symbols")
    assert [str(x) for x in equations.P] == ["b_1*qd1 + k_1*(q1 - r_1)", "(d_2*sign(qd2) + f_2)*sign(qd2)"]
    assert "tau = M qdd + V + G + P" in str(equations)
    assert "P" not in str(equations_of_motion(kt.zoo.two_link()))


def test_print_and_latex():
    equations = written(kt.zoo.gripper, "numbers")
    lines = str(equations).splitlines()
    assert lines[1] == "q1 = joint1, q2 = joint2, q3 = joint3, q4 = joint4"
    assert "M[4,4] = 0.000166666666666667" in lines
    assert "G[4] = 0.04905*cos(q1 + q4)" in lines
    text = equations.latex()
    assert text.startswith(r"\begin{aligned}") and text.endswith(r"\end{aligned}")
    assert r"V_{4} &= 0.00025 \dot{q}_{1}^{2} \sin{\left(q_{4} \right)}" in text
    assert text.count("&=") == 1 + 10 + 4 + 4
    assert equations._repr_latex_() == f"${text}$"


def test_plain_symbols_go_through_the_formulation():
    """Without the exact ring: SymPy expressions as states, as the contract promises."""
    q, qd, qdd = (np.array(sympy.symbols(f"{name}1:3", real=True)) for name in ("q", "qd", "qdd"))
    arm = kt.zoo.two_link(gravity=(0, -9.81, 0))
    found = closed_form.inverse_dynamics(arm.tree, q, qd, qdd)
    expected = equations_of_motion(arm).tau
    values = dict(zip([*q, *qd, *qdd], np.linspace(-1, 1, 6), strict=True))
    assert_close([float(x.subs(values)) for x in found], [float(x.subs(values)) for x in expected])


def test_sympy_is_asked_for_by_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(kt.errors.MissingExtraError, match=r"\[symbolic\]"):
        equations_of_motion(kt.zoo.two_link())


def test_bad_questions_are_refused():
    with pytest.raises(kt.errors.InputError, match=r"'symbol'.*Did you mean 'symbols'"):
        equations_of_motion(kt.zoo.two_link(), "symbol")
    with pytest.raises(kt.errors.InputError, match=f"at most {LARGEST} axes; 'chain' has 13"):
        equations_of_motion(kt.zoo.chain(13))


# ---- documentation -------------------------------------------------------------------------------------
def test_the_example_of_the_page_runs(capsys):
    text = PAGE.read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    exec(compile(code, PAGE.name, "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out.splitlines()
    shown = [line.strip() for line in text.splitlines() if re.match(r"    [MVG]\[", line)]
    assert len(shown) == 7 and set(shown) <= set(printed)
