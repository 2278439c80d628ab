"""Equations of motion as formulas: M(q), V(q, qd) and G(q) of a mechanism, simplified and printed.

The closed form of [Xiang2009], section 3 (`closed_form`), evaluated on polynomials instead of floats. Needs
SymPy, the extra ``symbolic``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kinetree.derivations import closed_form
from kinetree.derivations.homogeneous import Numbers, object_array, passive_part
from kinetree.errors import InputError, MissingExtraError, unknown_name
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism, check_open
from kinetree.model.tree import WORLD_AXIS, Tree

if TYPE_CHECKING:
    from kinetree.derivations.symbolic_model import Parameters
    from kinetree.derivations.trigonometric import Follows, TrigonometricRing

CHOICES = ("numbers", "symbols")
LARGEST = 12  # axes; formulas of more fill books
SMALL_DENOMINATOR = 100  # between symbols, fractions with larger ones are printed as decimals


@dataclass(frozen=True, eq=False)
class SymbolicEquations:
    """tau = M(q) qdd + V(q, qd) + G(q) + P(q, qd) of a mechanism, as SymPy matrices of simplified entries.

    M (n, n) mass matrix with armatures, V (n, 1) centrifugal and Coriolis torques, G (n, 1) gravity, P (n, 1)
    springs and friction of the joints. ``q``, ``qd``, ``qdd`` are the symbols of the joints in the order of
    ``joint_names``; ``values`` has the numbers behind symbolic parameters.
    """

    name: str
    joint_names: tuple[str, ...]
    q: tuple[Any, ...]
    qd: tuple[Any, ...]
    qdd: tuple[Any, ...]
    M: Any
    V: Any
    G: Any
    P: Any
    values: dict[Any, float] = field(default_factory=dict)

    @property
    def tau(self) -> Any:
        """M qdd + V + G + P, (n, 1)."""
        return self.M * type(self.M)(self.qdd) + self.V + self.G + self.P

    def function(self) -> Callable[..., Numbers]:
        """A NumPy function tau(q, qd, qdd) -> (n,), with the mechanism's own numbers for all parameters."""
        import sympy

        entries = [entry.subs(self.values) for entry in self.tau]
        evaluate = sympy.lambdify(
            [list(self.q), list(self.qd), list(self.qdd)], entries, modules="numpy", cse=True
        )
        return lambda q, qd, qdd: np.array(evaluate(q, qd, qdd))

    def latex(self) -> str:
        """The equations as an aligned block of LaTeX."""
        import sympy

        names: dict[Any, str] = {}
        for k, (q, qd, qdd) in enumerate(zip(self.q, self.qd, self.qdd, strict=True), start=1):
            names |= {q: f"q_{{{k}}}", qd: rf"\dot{{q}}_{{{k}}}", qdd: rf"\ddot{{q}}_{{{k}}}"}
        rows = [r"\tau &= " + self._sum(r"M \ddot{q}")]
        for letter, place, entry in self._entries():
            rows.append(f"{letter}_{{{place}}} &= {sympy.latex(entry, symbol_names=names)}")
        return "\n".join([r"\begin{aligned}", " \\\\\n".join(rows), r"\end{aligned}"])

    def _repr_latex_(self) -> str:
        """How notebooks show it."""
        return f"${self.latex()}$"

    def __str__(self) -> str:
        import sympy

        joints = ", ".join(f"q{k} = {name}" for k, name in enumerate(self.joint_names, start=1))
        lines = [f"{self.name}: tau = {self._sum('M qdd')}", joints]
        for letter, place, entry in self._entries():
            lines.append(f"{letter}[{place}] = {sympy.sstr(entry, full_prec=False)}")
        return "\n".join(lines)

    def _sum(self, inertial: str) -> str:
        return " + ".join([inertial, "V", "G", *(["P"] if any(self.P) else [])])

    def _entries(self) -> Iterator[tuple[str, str, Any]]:
        """Letter, place and value of every entry, those below M's diagonal left out."""
        n = len(self.q)
        for i in range(n):
            for k in range(i, n):
                yield "M", f"{i + 1},{k + 1}", self.M[i, k]
        for letter, vector in (("V", self.V), ("G", self.G), ("P", self.P)):
            for i in range(n if letter != "P" or any(self.P) else 0):
                yield letter, f"{i + 1}", vector[i]


def equations_of_motion(
    mechanism: Mechanism, parameters: Literal["numbers", "symbols"] = "numbers"
) -> SymbolicEquations:
    """The symbolic equations of motion of a mechanism.

    With ``parameters="symbols"`` every number of the model that is not zero becomes a symbol: masses m_1,
    centers of mass c_1x, inertias about them I_1zz, positions of the joints p_1x, gravity g (bodies are
    numbered from 1), and of the joints armature J_1, friction b_1 and f_1, spring k_1 and rest r_1. Dry
    friction that differs by direction is f_1 + d_1 forwards and f_1 - d_1 backwards. For small mechanisms:
    formulas grow quickly with the number of joints.

    >>> from kinetree.model import zoo
    >>> equations = equations_of_motion(zoo.two_link(), "symbols")
    >>> print(equations.M[1, 1])
    I_2zz + c_2x**2*m_2
    """
    expect_mechanism(mechanism)
    if not isinstance(parameters, str) or parameters not in CHOICES:
        raise InputError(unknown_name("choice of parameters", parameters, CHOICES))
    check_open(mechanism, "equations_of_motion")
    if mechanism.tree.n > LARGEST:
        raise InputError(
            f"equations of motion are derived for at most {LARGEST} axes; '{mechanism.name}' has "
            f"{mechanism.tree.n}"
        )
    sympy = _sympy()
    from kinetree.derivations.symbolic_model import Parameters, symbolic_tree

    known = Parameters(as_symbols=parameters == "symbols")
    tree = symbolic_tree(mechanism, known)
    n = tree.n
    q, qd = (sympy.symbols(f"{name}1:{n + 1}", real=True) for name in ("q", "qd"))
    M, V, G = _simplified(tree, known, q, qd)
    P = sympy.Matrix([passive_part(tree, i, q[i], qd[i]) if tree.passive[i] else 0 for i in range(n)])
    qdd = sympy.symbols(f"qdd1:{n + 1}", real=True)
    equations = SymbolicEquations(mechanism.name, mechanism.joint_names, q, qd, qdd, M, V, G, P, known.values)
    equations = equations if tree.coupling is None else _coupled(equations, tree)
    exact_below = SMALL_DENOMINATOR if known.as_symbols else 1
    parts = {part: getattr(equations, part) for part in "MVGP"}
    return replace(
        equations, **{k: part.applyfunc(lambda x: _decimal(x, exact_below)) for k, part in parts.items()}
    )


def _sympy() -> Any:
    try:
        import sympy
    except ImportError:
        raise MissingExtraError("sympy", "symbolic", "deriving equations of motion") from None
    return sympy


def _simplified(tree: Tree, known: Parameters, q: Any, qd: Any) -> tuple[Any, Any, Any]:
    """M, V and G as SymPy matrices."""
    import sympy

    from kinetree.derivations.trigonometric import TrigonometricRing, largest_coefficient

    turning = [int(i) for i in np.flatnonzero(tree.turns)]
    sliding = [q[i] for i in range(tree.n) if not tree.turns[i]]
    others = [*sliding, *qd, *known.values]
    ring = TrigonometricRing([q[i] for i in turning], others, _follows(tree, turning))
    model = _in_ring(tree, ring)
    state = object_array(
        ring.angle(turning.index(i)) if tree.turns[i] else ring.number(q[i]) for i in range(tree.n)
    )
    rates = object_array(ring.number(x) for x in qd)
    M = closed_form.mass_matrix(model, state)
    V = closed_form.velocity_torque(model, state, rates)
    G = closed_form.gravity_torque(model, state)

    def written(entries: Numbers, groupings: list[Any]) -> list[Any]:
        polynomials = [ring.reduced(p) for p in entries]
        size = largest_coefficient(polynomials)
        shortest = [ring.shortest(p, groupings, size) for p in polynomials]
        return [sympy.factor_terms(x) for x in shortest] if known.as_symbols else shortest

    upper = np.triu_indices(tree.n)
    inertia = sympy.zeros(tree.n, tree.n)
    for i, k, entry in zip(*upper, written(M[upper], [known.inertial]), strict=True):
        inertia[i, k] = inertia[k, i] = entry
    velocity = written(V, [known.inertial, [*known.inertial, *qd]])
    return inertia, sympy.Matrix(velocity), sympy.Matrix(written(G, [known.inertial]))


def _follows(tree: Tree, turning: list[int]) -> list[Follows | None]:
    """For each revolute axis the one it continues: its parent, if that turns about a parallel axis."""
    from kinetree.derivations.trigonometric import Follows

    found: list[Follows | None] = []
    signs: dict[int, int] = {}
    for i in turning:
        parent, along = int(tree.parent[i]), tree.rotation[i][2, 2]
        if parent != WORLD_AXIS and tree.turns[parent] and abs(along) == 1:
            signs[i] = signs[parent] * int(along)
            found.append(Follows(turning.index(parent), signs[i]))
        else:
            signs[i] = 1
            found.append(None)
    return found


def _in_ring(tree: Tree, ring: TrigonometricRing) -> Tree:
    """The tree with its numbers as elements of the ring."""
    arrays: dict[str, Any] = {}
    for name in ("rotation", "position", "mass", "first_moment", "second_moment", "gravity", "armature"):
        values = getattr(tree, name)
        arrays[name] = object_array(ring.number(x) for x in values.ravel()).reshape(values.shape)
    return replace(tree, **arrays)


def _coupled(equations: SymbolicEquations, tree: Tree) -> SymbolicEquations:
    """With mimic joints: q_axes = A q + b, so M becomes A^T M A and torques A^T tau."""
    import sympy

    from kinetree.derivations.symbolic_model import exact

    assert tree.coupling is not None
    A = sympy.Matrix(tree.coupling.matrix).applyfunc(exact)
    b = sympy.Matrix(tree.coupling.offset).applyfunc(exact)
    q, qd, qdd = (sympy.symbols(f"{name}1:{A.shape[1] + 1}", real=True) for name in ("q", "qd", "qdd"))
    of_axes = dict(zip(equations.q, A * sympy.Matrix(q) + b, strict=True))
    of_axes |= dict(zip(equations.qd, A * sympy.Matrix(qd), strict=True))

    def moved(matrix: Any) -> Any:
        return matrix.subs(of_axes, simultaneous=True)

    return replace(
        equations,
        q=q,
        qd=qd,
        qdd=qdd,
        M=A.T * moved(equations.M) * A,
        **{letter: A.T * moved(getattr(equations, letter)) for letter in "VGP"},
    )


def _decimal(expression: Any, exact_below: int) -> Any:
    """The expression with fractions of large denominators as decimal numbers."""
    import sympy

    fractions = [x for x in expression.atoms(sympy.Rational) if x.q > exact_below]
    return expression.xreplace({x: sympy.Float(x, 15) for x in fractions})
