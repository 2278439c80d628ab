"""What is asked: a mechanism, an objective, constraints. Checked when made, inspected before it is solved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, number, numbers
from kinetree.algebra.bspline import BSplineBasis
from kinetree.doors import upstairs
from kinetree.errors import InputError, listed, must_be, shown, unknown_name
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism, closed_loops
from kinetree.motion.outcome.conflicts import conflicts
from kinetree.motion.outcome.contradictions import check_contradictions
from kinetree.motion.problem.branch import Branch, closed_profiles, first_pose
from kinetree.motion.problem.instants import AddedSamples, GaussSamples, given_samples
from kinetree.motion.problem.model_limits import Limits, model_terms
from kinetree.motion.problem.profile import Profiles
from kinetree.motion.problem.reaction_axes import own_rows, reaction_body, with_reaction_axes
from kinetree.motion.problem.sampling import quadrature, spread
from kinetree.motion.problem.setting import Setting
from kinetree.motion.problem.unknowns import Curve, Duration, Unknowns
from kinetree.motion.program.check import DerivativeCheck, checked_derivatives
from kinetree.motion.program.evaluation import Evaluation
from kinetree.motion.program.loop_mechanics import mechanics_of
from kinetree.motion.program.program import Program, Weighed
from kinetree.motion.terms.contract import Acting, Constraint, LinearRows, Objective, PointForce, Term
from kinetree.motion.terms.idle import IDLE
from kinetree.motion.terms.undriven import UndrivenJoints
from kinetree.other_names import checks_keywords
from kinetree.state import Wrench

SHORTEST, LONGEST = 1e-3, 1e3  # durations of a motion whose duration is free and not bounded (s)
REGULARIZATION = 1e-7  # price on roughness relative to the objective of the straight motion
TIE_BREAK = 1e-6  # relative to the objective of the optimum, where the duration is free
MOST_SAMPLES = 1_000_000  # of a motion
Samples = int | ArrayLike | GaussSamples | AddedSamples
LoadsGiven = Wrench | Sequence[Wrench] | Callable[[Array], Sequence[Wrench]] | None


@checks_keywords
class Problem:
    """The motion of a mechanism that minimizes an objective and satisfies constraints.

    ``duration`` (s): a number, (lowest, highest) if it is free, or None if it is free and unbounded. Joint
    profiles are B-splines of a ``degree`` with ``segments`` equal segments, or with your own ``breaks`` from
    0 to 1. Constraints hold at ``samples``: a number per segment, values of s = t / T in [0, 1], or
    :class:`GaussSamples` by phase, which are also used to integrate objectives; :class:`AddedSamples` adds
    instants to any of these. ``frozen`` maps joints that do not move to their positions. ``loads`` act
    throughout the motion; a function of s (m,) that returns wrenches with forces (m, 3) makes them vary.
    ``sizes`` maps joints to the scale that solvers use for them (rad, m), such as 0.1 for a prismatic joint
    that moves by centimeters.

    ``limits``: "model" enforces the effort, velocity and position limits of the mechanism for all joints that
    no constraint of the same kind names; "none" waives them; a list such as ["velocity"] enforces these and
    waives the others. If ``limits`` is not given, none is enforced, and the audit fails for those that the
    motion exceeds.

    ``regularization``: a price on the roughness int sum_j (d2q_j/ds2 / size_j)^2 ds of the joint profiles,
    relative to the objective of the straight motion. It decides what the objective leaves open, such as the
    motion of a wrist in least time, or of a light foot; the explanation of a prediction says where it is more
    than 1 % of the objective. Joints with a term such as `SquaredAcceleration`, `Jerk`, `Posture` or
    `Tracking` have no price. Default 1e-7. Where the duration is free, a price from the beginning may lead to
    another motion: there the search ends without, and by default continues from its optimum with 1e-6; the
    smoother motion is kept if its roughness is less than half and its objective at most 0.1 % more.

    In closed loops only the ``independent`` joints have splines, as many as the mobility: those given, or by
    default driven joints first. The others follow on the assembly branch of ``guess`` (n_dof,), by default
    the closed pose nearest to the initial position, or to zero.

    >>> import kinetree as kt
    >>> from kinetree.motion.terms import Boundary, Time, TorqueLimits
    >>> Problem(
    ...     kt.zoo.two_link(),
    ...     objective=[Time()],
    ...     constraints=[
    ...         Boundary("start", position=[0.0, -2.0], velocity=0.0),
    ...         Boundary("end", position=[1.0, -1.0], velocity=0.0),
    ...         TorqueLimits(),
    ...     ],
    ... )
    Problem('two_link': 39 variables, 82 constraints, 20 segments of degree 3)
    """

    def __init__(
        self,
        mechanism: Mechanism,
        *,
        objective: Objective | Sequence[Objective] = (),
        constraints: Constraint | Sequence[Constraint] = (),
        duration: float | tuple[float, float] | None = None,
        segments: int = 20,
        degree: int = 3,
        samples: Samples = 2,
        breaks: ArrayLike | None = None,
        clamped: bool = True,
        frozen: Mapping[str, float] | None = None,
        loads: LoadsGiven = None,
        independent: Sequence[str] | None = None,
        guess: ArrayLike | None = None,
        sizes: Mapping[str, float] | None = None,
        limits: Limits = None,
        regularization: float | None = None,
    ) -> None:
        self.arguments: dict[str, Any] = {name: x for name, x in locals().items() if name != "self"}
        expect_mechanism(mechanism)
        self.mechanism = mechanism
        low, high = duration_bounds(duration)
        self.breaks_ties = regularization is None and low < high
        usual = TIE_BREAK if self.breaks_ties else REGULARIZATION
        self.regularization = usual if regularization is None else number(regularization, "regularization")
        if self.regularization < 0.0:
            raise InputError(must_be("regularization", "0 or more", regularization))
        self.objective = _listed(() if objective is None else objective, Objective, "objective")
        self.constraints = _listed(constraints, Constraint, "constraints")
        if not self.objective:
            raise InputError("the objective is missing: give at least one term to minimize, such as Time()")
        if breaks is None:
            basis = BSplineBasis.uniform(segments, degree, clamped=clamped)
        else:
            basis = BSplineBasis.on(breaks, degree, clamped=clamped)
        still = frozen if isinstance(frozen, Mapping) else ()
        self.constraints[:0] = model_terms(mechanism, limits, self.constraints, still)
        terms: list[Term] = [*self.objective, *self.constraints]
        branch = Branch(independent, first_pose(mechanism, guess, self.constraints))
        self.setting = _setting(mechanism, basis, (low, high), samples, frozen, sizes, terms, branch)
        self.loads = _loads(mechanism, loads)
        self.acting = [load for term in terms for load in term.acting(self.setting)]
        if self.acting and mechanism.loops:
            names = dict.fromkeys(type(x).__name__ for x in terms if x.acting(self.setting))
            raise InputError(f"{closed_loops(mechanism)}: {listed(names)} cannot act on it yet")
        _refuse_further_loads(self.acting)
        integrands = [
            Weighed(term.weight, term.integrand(self.setting), term.of_mean) for term in self.objective
        ]
        carried = {name for term in terms for name in term.carried(mechanism)}
        self.bounded = [rows for term in self.constraints for rows in term.bounded(self.setting)]
        self.bounded += UndrivenJoints(carried, self.bounded).bounded(self.setting)
        check_contradictions(self.setting, self.constraints, self.bounded)
        rough = self._open_joints() if self.regularization else None
        self.program = Program(self.setting, integrands, self.bounded, self.loads, self.acting, rough)
        if self.program.n == 0:
            raise InputError("nothing is left to choose: the boundary conditions fix every control point")

    def _open_joints(self) -> dict[int, float]:
        """Sizes (rad, m) by column of the joints whose profile no term of the objective determines by itself.

        A size is 1 or as given, or the distance between the positions at boundaries if that is more.
        """
        settled = {j for term in self.objective if term.weight for j in term.smooths(self.setting)}
        splines = self.setting.spline_joints(None, "regularization")
        names, given, known = (
            self.mechanism.joint_names,
            self.arguments["sizes"] or {},
            self.known_positions(),
        )
        found = {}
        for joint in (j for j in splines if j not in settled):
            column = self.setting.column[joint]
            positions = [q for _, q in known.get(column, [])] or [0.0]
            found[column] = max(float(given.get(names[joint], 1.0)), max(positions) - min(positions))
        return found

    def changed(self, **arguments: Any) -> Self:
        """This problem with some arguments replaced: ``problem.changed(segments=40)``.

        A subclass returns a problem of its own class and adds its constructor's parameters to ``arguments``.
        """
        return type(self)(**{**self.arguments, **arguments})

    @property
    def basis(self) -> BSplineBasis:
        """The splines of the joint profiles."""
        return self.setting.profiles.basis

    def evaluation(self, s: Array, x: Array) -> Evaluation:
        """Everything that terms read from the unknowns x, at instants s (m,) of any grid."""
        setting = self.setting
        mechanics = mechanics_of(setting, self.loads(s), self.acting)
        return Evaluation(setting.unknowns.at(s), mechanics, x)

    def loads_of(self, s: Array, x: Array) -> list[Wrench]:
        """All loads at instants s (m,), including those that depend on the unknowns x."""
        if not self.acting:
            return list(self.loads(s))
        return [*self.loads(s), *self.evaluation(s, x).pushes]

    @property
    def n_variables(self) -> int:
        """Number of free unknowns, over all blocks."""
        return self.program.n

    @property
    def n_constraints(self) -> int:
        """Number of scalar constraints, without those that only fix control points."""
        return self.program.m

    @cached_property
    def families(self) -> dict[str, int]:
        """Number of scalar conditions of each kind."""
        return {family: len(rows) for family, rows in self.program.families().items()}

    def known_positions(self) -> dict[int, list[tuple[float, float]]]:
        """Positions that boundary conditions give to each moving coordinate: (s, value) pairs by column."""
        found: dict[int, list[tuple[float, float]]] = {}
        for rows in self.bounded:
            if isinstance(rows, LinearRows) and rows.family == "boundary condition":
                for r, label in enumerate(rows.labels):
                    if label.startswith("position"):
                        column = self.setting.unknowns.column(int(rows.columns[r, 0]))
                        found.setdefault(column, []).append((float(rows.s[0]), float(rows.lower[r])))
        return {column: sorted(points) for column, points in found.items()}

    def conflicts(self) -> list[str]:
        """Why the problem is infeasible: unreachable targets, too little time, poses too heavy to hold."""
        return conflicts(self)

    def check_derivatives(self, x: Array | None = None, seed: int = 0) -> DerivativeCheck:
        """Compare all derivatives with finite differences, at x or near a straight motion.

        >>> import kinetree as kt
        >>> from kinetree.motion.terms import Boundary, SquaredTorque
        >>> ends = [Boundary("start", [0, 0], 0.0), Boundary("end", [1, 1], 0.0)]
        >>> Problem(kt.zoo.two_link(), objective=SquaredTorque(), constraints=ends).check_derivatives().passed
        True
        """
        from kinetree.motion.search.start import random_start

        if x is None:
            x = random_start(self, np.random.default_rng(seed))
        return checked_derivatives(self.program, self.program.reduced(x), seed)

    def describe(self) -> str:
        """The problem as text: sizes, terms, families of constraints."""
        low, high = self.setting.duration
        terms = " + ".join(f"{term.weight:g} {term.family}" for term in self.objective)
        time = f"{low:g} s" if low == high else f"free, {low:g} to {high:g} s"
        lines = [repr(self), f"  minimize   {terms}", f"  duration   {time}"]
        lines += [f"  unknown    {x.name} ({', '.join(x.labels)})" for x in self.setting.unknowns.curves]
        lines += [f"  subject to {count:6d}  {family}" for family, count in self.families.items()]
        names = self.mechanism.joint_names
        if self.setting.closure is not None:
            lines.append(f"  splines of {', '.join(self.setting.closure.independent_names)}; others follow")
            idle = [x for rows in self.bounded for x in rows.labels if x.startswith(IDLE)]
            lines += [f"  at rest    {x} about its own line, which nothing turns" for x in idle]
        frozen = [x for j, x in enumerate(names) if j not in self.setting.column]
        return "\n".join(lines + ([f"  frozen     {', '.join(frozen)}"] if frozen else []))

    def __repr__(self) -> str:
        return (
            f"Problem('{self.mechanism.name}': {self.n_variables} variables, "
            f"{self.n_constraints} constraints, {self.basis.segments} segments of degree {self.basis.degree})"
        )

    def _repr_html_(self) -> str:
        return str(upstairs("problem_html")(self))


def _refuse_further_loads(acting: Sequence[Acting]) -> None:
    """An error where a load that carries all that is asked of it meets others that are sought."""
    alone = [load for load in acting if load.alone]
    if alone and (len(alone) > 1 or any(isinstance(load, PointForce) for load in acting)):
        raise InputError(
            "a ground reaction carries the whole load of the motion: it excludes other ground reactions and "
            "unknown forces; make the forces of all feet unknowns instead, or use this one alone"
        )


def _listed(terms: Any, kind: type[Any], what: str) -> list[Any]:
    if isinstance(terms, str):  # as in a study
        terms = [terms]
    found = [terms] if isinstance(terms, kind) else list(terms) if isinstance(terms, Sequence) else [terms]
    for term in found:
        if not isinstance(term, kind):
            name = (
                "an objective term such as kt.terms.Time()"
                if kind is Objective
                else "a constraint such as kt.terms.TorqueLimits()"
            )
            raise InputError(f"{what} must be terms; {term!r} is not {name}")
    return found


def _setting(
    mechanism: Mechanism,
    basis: BSplineBasis,
    duration: tuple[float, float],
    samples: Samples,
    frozen: Mapping[str, float] | None,
    sizes: Mapping[str, float] | None,
    terms: Sequence[Term],
    branch: Branch,
) -> Setting:
    inside = {reaction_body(mechanism, name) for term in terms for name in term.reactions()}
    closed = with_reaction_axes(mechanism, inside)
    extended = closed.opened()
    own, rest = own_rows(extended, mechanism.joint_names), np.zeros(extended.n_dof)
    stays = _checked_frozen(mechanism, frozen)
    for name, value in stays.items():
        rest[own[mechanism.joint_index(name)]] = value
    moving = np.array([k for k, name in zip(own, mechanism.joint_names, strict=True) if name not in stays])
    if not len(moving):
        raise InputError("all joints are frozen; at least one must move")
    curves = [curve for term in terms for curve in term.unknowns(mechanism, basis)]
    _check_names(curves)
    own_sizes = _sizes(mechanism, sizes, [name for name in mechanism.joint_names if name not in stays])
    profiles = Profiles(basis, moving.astype(np.int64), rest, sizes=own_sizes)
    if mechanism.loops:
        if sizes:
            raise InputError(f"{closed_loops(mechanism)}: sizes of joints are for open trees")
        profiles = closed_profiles(mechanism, closed, basis, own, branch, stays, curves)
    unknowns = Unknowns(profiles, Duration(*duration), tuple(curves))
    bases = [basis, *(curve.basis for curve in curves)]
    return Setting(mechanism, extended, unknowns, *_instants(samples, bases))


def _checked_frozen(mechanism: Mechanism, frozen: Mapping[str, float] | None) -> dict[str, float]:
    """Positions of joints that stay where they are, by name."""
    if frozen is not None and not isinstance(frozen, Mapping):
        raise InputError(
            f"frozen maps joints to where they stay, such as {{'joint': 0.0}}, got {shown(frozen)}"
        )
    found: dict[str, float] = {}
    for name, value in (frozen or {}).items():
        if name not in mechanism.joint_names:
            raise InputError(unknown_name("joint", name, mechanism.joint_names).after("frozen: "))
        found[name] = number(value, f"frozen position of joint '{name}'")
    return found


def _check_names(curves: Sequence[Curve]) -> None:
    """An error where two unknowns would have one name in results."""
    for k, curve in enumerate(curves):
        for other in curves[:k]:
            if curve.variable == other.variable and curve.name != other.name:
                raise InputError(
                    f"the unknowns '{other.name}' and '{curve.name}' have the same name in results, "
                    f"{curve.variable}; use names that differ in letters or digits"
                )


def _instants(samples: Samples, bases: Sequence[BSplineBasis]) -> tuple[Array, tuple[Array, Array]]:
    """Samples (m,) of all rows, and nodes and weights of integrals."""
    given = given_samples(samples)
    if isinstance(given, GaussSamples):
        instants, integral = given.s, (given.s, given.weights)
    else:
        instants, integral = _samples(bases, given), quadrature(bases)
    if isinstance(samples, AddedSamples):
        instants = np.union1d(instants, samples.more)
        if isinstance(given, GaussSamples):  # one grid for rows and integrals, added instants without weight
            weights = np.zeros(len(instants))
            weights[np.searchsorted(instants, given.s)] = given.weights
            integral = instants, weights
    return instants, integral


def _sizes(mechanism: Mechanism, sizes: Mapping[str, float] | None, moving: Sequence[str]) -> Array | None:
    """What counts as 1 of the moving coordinates."""
    if not sizes:
        return None
    for name, value in sizes.items():
        if name not in mechanism.joint_names:
            raise InputError(unknown_name("joint", name, mechanism.joint_names).after("sizes: "))
        if number(value, f"size of joint '{name}'") <= 0.0:
            raise InputError(must_be(f"size of joint '{name}'", "positive", value, ""))
    return np.array([float(sizes.get(name, 1.0)) for name in moving])


def duration_bounds(duration: object) -> tuple[float, float]:
    """Lowest and highest duration (s) out of a number, two of them, or None."""
    if duration is None:
        return SHORTEST, LONGEST
    if isinstance(duration, (tuple, list)):
        if len(duration) != 2:
            raise InputError(f"a free duration is (lowest, highest), got {shown(duration)}")
        low, high = (number(x, "duration") for x in duration)
    else:
        low = high = number(duration, "duration")
    if low <= 0.0 or high < low:
        raise InputError(must_be("duration", "positive, and the lowest not above the highest", duration))
    return low, high


def _samples(bases: Sequence[BSplineBasis], samples: int | ArrayLike) -> Array:
    """Samples per segment, the ends of the segments included, or given ones."""
    if isinstance(samples, int) and not isinstance(samples, bool):
        if samples < 1:
            raise InputError(must_be("samples", "at least 1 per segment", samples, ""))
        segments = max(basis.segments for basis in bases)
        if samples * segments > MOST_SAMPLES:
            raise InputError(
                must_be(
                    "samples",
                    f"at most {MOST_SAMPLES // segments} per segment for {segments} segments",
                    samples,
                    "",
                )
            )
        return spread(bases, samples)
    s = finite(numbers(samples, "samples"), "samples")
    if s.ndim != 1 or len(s) < 2 or s[0] < 0.0 or s[-1] > 1.0 or (np.diff(s) <= 0.0).any():
        raise InputError(must_be("samples", "an integer or ascend within [0, 1]", samples))
    return s


def _loads(mechanism: Mechanism, loads: LoadsGiven) -> Callable[[Array], Sequence[Wrench]]:
    if callable(loads):
        wanted = loads

        def checked(s: Array) -> Sequence[Wrench]:
            return _one_for_each(_wrenches(mechanism, wanted(s)), len(s))

        checked(np.linspace(0.0, 1.0, 3))
        return checked
    given = [] if loads is None else [loads] if isinstance(loads, Wrench) else list(loads)
    wrenches = _wrenches(mechanism, given)
    if any(np.ndim(load.force) > 1 or np.ndim(load.moment) > 1 for load in wrenches):
        raise InputError("loads that vary must be given as a function of s (m,) that returns wrenches")
    return lambda s: wrenches


def _one_for_each(loads: list[Wrench], count: int) -> list[Wrench]:
    for load in loads:
        for what, value in (("force", load.force), ("moment", load.moment)):
            shape = np.shape(value)
            if len(shape) > 1 and shape != (count, 3):
                raise InputError(
                    f"loads at {count} instants s: the {what} on '{load.body}' must have shape ({count}, 3) "
                    f"or (3,), got {shape}"
                )
    return loads


def _wrenches(mechanism: Mechanism, loads: Any) -> list[Wrench]:
    found = [loads] if isinstance(loads, Wrench) else list(loads)
    for load in found:
        if not isinstance(load, Wrench):
            raise InputError(must_be("loads", "Wrench objects", load))
        mechanism.body_index(load.body)
    return found
