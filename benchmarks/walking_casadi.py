"""The walking step in CasADi: its automatic derivatives beside Kinetree's own, and its IPOPT.

    OMP_NUM_THREADS=1 python -m benchmarks.walking_casadi [--limit 300] [--runs 5] [--no-solve]

The same nonlinear program, all unknowns, rows and parts of the objective, with the same splines, instants and
scales: what is linear in the unknowns is taken over as matrices, all mechanics is written again
(`peers/casadi_tree.py`) and differentiated by CasADi. Values and derivatives are compared first. Then CPU
seconds of each evaluation, of set-up, and of `nlpsol` with IPOPT from q = 0, with exact second derivatives
and with the limited-memory approximation that gait predictions with CasADi usually take.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.peers import casadi_tree
from kinetree.model.human.passive import STEEPEST
from kinetree.motion.predict import predict
from kinetree.motion.problem.places import BodySpin
from kinetree.motion.program.evaluation import Evaluation
from kinetree.motion.program.program import Program
from kinetree.motion.terms.functions import MotionSquares, Torque, TorquePower, TorqueSum
from kinetree.motion.terms.reach import PlaceComponents, Position
from kinetree.motion.terms.speed import Velocity
from kinetree.tasks.walking.search import GENTLE, QUICK
from kinetree.walking import Walking, walker, walking_problem

AS_WALK: dict[str, Any] = {"solver": QUICK, "options": GENTLE}  # as walks are sought
TOLERANCE, MOST = 1e-3, 3000
WAYS = ("chain rule by hand", "limited-memory", "automatic")
SPREAD = 0.1  # of the free unknowns, around the solution: where values are compared


def affine(program: Program, function: Callable[[Evaluation], Any]) -> tuple[Any, Any]:
    """Constant and sparse matrix of what is affine in the free unknowns, by unit vectors."""

    def at(z: Any) -> Any:
        found = Evaluation(program.instants, program.mechanics, program.unknowns(z), program.dynamic)
        return np.asarray(function(found)).ravel()

    zero = at(np.zeros(program.n))
    columns = [sparse.csc_array((at(e) - zero)[:, None]) for e in np.eye(program.n)]
    matrix = sparse.hstack(columns, format="csc")
    matrix.data[np.abs(matrix.data) < 1e-14 * np.abs(matrix.data).max(initial=1.0)] = 0.0
    matrix.eliminate_zeros()
    return zero, matrix


def passive(ca: Any, law: Any, q: Any) -> Any:
    """Passive moments of joints at angles q, as :class:`kinetree.human.PassiveMoments` has them."""
    exponent = ca.DM(law.constants) + ca.DM(law.rates) @ q
    over = ca.fmax(exponent - STEEPEST, 0.0)
    grown = ca.exp(ca.fmin(exponent, STEEPEST)) * (1.0 + over + 0.5 * over * over)
    return ca.DM(law.offsets) + ca.DM(law.amplitudes.T) @ grown


class Walk:
    """f(z) and g(z) of a program as CasADi expressions."""

    def __init__(self, ca: Any, program: Program) -> None:
        self.ca, self.program = ca, program
        self.z, self.y = ca.MX.sym("z", program.n), ca.MX.sym("y", program.m)
        tree, acting = program.setting.extended.tree, program.mechanics.acting
        loads = [load for load in acting if not load.in_joints]
        relaxed = [(load.rows.tolist(), load.law) for load in acting if load.in_joints]
        turns = [isinstance(load.place, BodySpin) for load in loads]
        assert turns == sorted(turns), "forces come before moments"
        inside = [load.place.rotation @ load.place.local + load.place.position for load in loads]
        pushes = [
            (load.place.axis, x) for load, x, turn in zip(loads, inside, turns, strict=True) if not turn
        ]
        twists = [load.place.axis for load, turn in zip(loads, turns, strict=True) if turn]
        self.places: list[Any] = []
        for block in program.blocks:
            function = block.sampled.function
            if isinstance(function, Position | Velocity):
                self._number(function.place)
            elif isinstance(function, PlaceComponents):
                for place, _ in function.pairs:
                    self._number(place)
        points = [(x.axis, x.rotation @ x.local + x.position) for x in self.places]
        mechanics = casadi_tree.mechanics(ca, tree, pushes, twists, points)
        m, n, dynamic = len(program.instants.s), tree.n, program.dynamic
        states = [
            self._linear(lambda at, key=key: getattr(at.motion, key), n, m) for key in ("q", "qd", "qdd")
        ]
        self.states = states
        forces = [
            self._linear(lambda at, load=load: load.force.values(at.everywhere), 3, dynamic) for load in loads
        ]
        wrenches = (
            ca.reshape(ca.vertcat(*forces), 3, len(loads) * dynamic) if loads else ca.MX(3, 0)
        )  # columns: instant by instant, load by load
        # instants at which torques are known, then the others, with the loads of none
        none = ca.MX.zeros(3 * len(loads), m - dynamic)
        self.local = ca.vertcat(*states, ca.horzcat(ca.reshape(wrenches, 3 * len(loads), dynamic), none))
        w = ca.SX.sym("w", self.local.size1())
        cuts = [w[:n], w[n : 2 * n], w[2 * n : 3 * n], ca.reshape(w[3 * n :], 3, len(loads))]
        tau, *others = mechanics(*cuts)
        for rows, law in relaxed:
            tau[rows] -= passive(ca, law, cuts[0][rows])
        self.mechanics = ca.Function("mechanics", [w], [ca.vertcat(*(ca.vec(x) for x in (tau, *others)))])
        # f and g by z and by what mechanics gives, F (numbers, instants)
        self.F = ca.MX.sym("F", self.mechanics.size1_out(0), m)
        self.tau = self.F[:n, :dynamic]
        shape = 3, len(self.places) * m
        self.x, self.u = (
            ca.reshape(self.F[n + k * shape[1] * 3 // m : n + (k + 1) * shape[1] * 3 // m, :], *shape)
            for k in range(2)
        )
        self.parts = ca.Function("parts", [self.z, self.F], [self._objective(), self._rows()])
        whole = self.mechanics.map(m)(self.local)
        self.f, self.g = self.parts(self.z, whole)
        self.torques = whole[:n, :dynamic]

    def _number(self, place: Any) -> int:
        for k, known in enumerate(self.places):
            if known.axis == place.axis and np.array_equal(known.local, place.local):
                return k
        self.places.append(place)
        return len(self.places) - 1

    def _matrix(self, matrix: Any) -> Any:
        x = sparse.csc_matrix(matrix)
        pattern = self.ca.Sparsity(*x.shape, x.indptr.tolist(), x.indices.tolist())
        return self.ca.DM(pattern, x.data)

    def _linear(self, function: Callable[[Evaluation], Any], rows: int, columns: int) -> Any:
        """Numbers at instants that are affine in z, (rows, instants)."""
        zero, matrix = affine(self.program, function)
        return self.ca.reshape(self.ca.DM(zero) + self.ca.mtimes(self._matrix(matrix), self.z), rows, columns)

    def _places(self, values: Any, place: Any, part: slice) -> Any:
        """Of one of the points at some instants, (3, instants)."""
        k, count = self._number(place), len(self.places)
        return values[:, [count * j + k for j in range(part.start, part.stop)]]

    def _rows(self) -> Any:
        ca, program = self.ca, self.program
        found = [ca.mtimes(self._matrix(program.linear.matrix), self.z)] if program.offsets[0] else []
        for block in program.blocks:
            function, part = block.sampled.function, block.part
            rows = np.arange(program.setting.extended.tree.n)
            if isinstance(function, Torque):
                values = self.tau[rows[function.rows].tolist(), part.start : part.stop]
            elif isinstance(function, TorqueSum):
                tau = self.tau[rows[function.rows].tolist(), part.start : part.stop]
                C = function.matrix(program.instants.s[part])
                columns = [
                    ca.mtimes(self._matrix(C if C.ndim == 2 else C[k]), tau[:, k])
                    for k in range(part.stop - part.start)
                ]
                values = ca.horzcat(*columns)
            elif isinstance(function, Position | Velocity):
                known = self.x if isinstance(function, Position) else self.u
                values = self._places(known, function.place, part)[function.axes, :]
            elif isinstance(function, PlaceComponents):
                values = ca.vertcat(
                    *(
                        ca.mtimes(ca.DM(along).T, self._places(self.x, place, part))
                        for place, along in function.pairs
                    )
                )
            else:  # friction of unknown forces, speeds of coordinates: affine in the unknowns
                values = self._linear(lambda at, x=block.sampled: x.values(at), *reversed(block.shape))
            found.append(ca.vec(ca.diag(1.0 / ca.DM(block.scale)) @ values))
        return ca.vertcat(*found)

    def _objective(self) -> Any:
        ca, program = self.ca, self.program
        T, total = program.setting.duration[0], 0
        for weight, sampled in program.integrands:
            function, part = sampled.function, sampled.part
            share = ca.DM(T * weight * program.quadrature)
            if isinstance(function, TorquePower):
                rows = np.arange(program.setting.extended.tree.n)[function.rows].tolist()
                tau = ca.diag(1.0 / ca.DM(function.sizes)) @ self.tau[rows, part.start : part.stop]
                density = ca.mtimes(ca.DM(function.weights).T, ca.fabs(tau) ** function.exponent)
            else:
                assert isinstance(function, MotionSquares)
                moving = self.states[function.rate][
                    program.setting.profiles.varying.tolist(), part.start : part.stop
                ]
                error = ca.mtimes(self._matrix(function.matrix), moving) - ca.DM(function.targets)
                density = ca.mtimes(ca.DM(function.weights).T, error**2)
            total += ca.mtimes(density, share)
        for changes in program.changes:
            function, part = changes.sampled.function, changes.part
            rows = np.arange(program.setting.extended.tree.n)[function.rows].tolist()
            values = ca.mtimes(
                self._matrix(function.matrix(np.zeros(0))), self.tau[rows, part.start : part.stop]
            )
            rates = ca.mtimes(self._matrix(changes.differences), ca.vec(values))
            total += ca.dot(ca.DM(changes.row_weights), rates**2)
        return program.scale * total

    def automatic(self) -> tuple[Any, Any, Any]:
        """Gradient, Jacobian and Hessian as CasADi makes them from f and g."""
        ca, L = self.ca, self.f + self.ca.dot(self.y, self.g)
        return ca.gradient(self.f, self.z), ca.jacobian(self.g, self.z), ca.hessian(L, self.z)[0]

    def chained(self, factor: Any = 1.0) -> tuple[Any, Any, Any]:
        """The same by a chain rule written by hand around derivatives of one instant, which CasADi makes.

        With w the state and loads of an instant, W = dw/dz (constant) and F(w) its torques and points:
        J = g_z + g_F F_w W, and the Hessian of f + y . g is W^T (sum_k p_k d2F_k/dw2) W with
        p = d(f + y . g)/dF, and the squares of F_w W by d2f/dF2, and d2f/dz2; f counts ``factor`` times.
        """
        ca, m = self.ca, self.local.size2()
        w, p = ca.SX.sym("w", self.local.size1()), ca.SX.sym("p", self.F.size1())
        F = self.mechanics(w)
        slopes = ca.Function("slopes", [w], [ca.jacobian(F, w)])
        bends = ca.Function("bends", [w, p], [ca.hessian(ca.dot(p, F), w)[0]])
        f, g = self.parts(self.z, self.F)
        scale = ca.MX.sym("scale")
        L = scale * f + ca.dot(self.y, g)
        W = ca.evalf(ca.jacobian(self.local, self.z))
        by_F = ca.gradient(f, self.F)
        seconds = ca.jacobian(by_F, self.F), ca.hessian(f, self.z)[0]
        inner = ca.Function("inner", [self.z, self.F], [ca.gradient(f, self.z), by_F, *seconds])
        weighed = ca.Function("weighed", [self.z, self.y, scale, self.F], [ca.gradient(L, self.F)])
        g_z, g_F = (ca.evalf(ca.jacobian(g, x)) for x in (self.z, self.F))
        whole = self.mechanics.map(m)(self.local)
        f_z, f_F, f_FF, f_zz = inner(self.z, whole)
        weight = weighed(self.z, self.y, factor, whole)
        A = ca.mtimes(ca.diagcat(*ca.horzsplit(slopes.map(m)(self.local), w.size1())), W)
        B = ca.diagcat(*ca.horzsplit(bends.map(m)(self.local, weight), w.size1()))
        H = factor * (f_zz + ca.mtimes(A.T, ca.mtimes(f_FF, A))) + ca.mtimes(W.T, ca.mtimes(B, W))
        return f_z + ca.mtimes(A.T, ca.vec(f_F)), g_z + ca.mtimes(g_F, A), H


def compared(walk: Walk, functions: dict[str, Any], z: Any, y: Any) -> dict[str, float]:
    """Largest differences from Kinetree's values and derivatives, relative to the largest entry."""
    program = walk.program
    n, m = program.n, program.m
    J = sparse.csr_array(
        (program.jacobian(z), (program.jacobian_rows, program.jacobian_columns)), shape=(m, n)
    ).toarray()
    H = sparse.csr_array(
        (program.hessian(z, 1.0, y), (program.hessian_rows, program.hessian_columns)), shape=(n, n)
    ).toarray()
    at = program.evaluation(z)
    ours = {
        "torques": at.tau.T, "objective": program.objective(z), "rows": program.constraints(z),
        "gradient": program.gradient(z), "Jacobian": J, "Hessian": H,
    }  # fmt: skip
    found = {}
    for name, own in ours.items():
        given = (z, y) if name == "Hessian" else (z,)
        theirs = np.array(functions[name](*given))
        if name == "Hessian":
            theirs, own = np.tril(theirs), np.tril(own)
        elif np.ndim(own) < 2:
            theirs = theirs.ravel()
        found[name] = float(np.abs(theirs - own).max() / np.abs(own).max())
    return found


def timed(function: Callable[[], Any], runs: int) -> float:
    """Least CPU time of some runs (s)."""
    found = []
    for _ in range(runs):
        begun = time.process_time()
        function()
        found.append(time.process_time() - begun)
    return min(found)


def _called(functions: list[Any], given: tuple[Any, ...]) -> list[Any]:
    return [function(*given) for function in functions]


def evaluations(walk: Walk, ways: dict[str, dict[str, Any]], z: Any, y: Any, runs: int) -> Iterator[str]:
    """Rows of the table: CPU milliseconds of an evaluation, Kinetree's and CasADi's."""
    program = walk.program

    def fresh(call: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> Any:
            program._evaluation = None
            return call()

        return run

    ours: dict[str, Callable[[], Any]] = {
        "objective and rows": lambda: (program.objective(z), program.constraints(z)),
        "gradient and Jacobian": lambda: (program.gradient(z), program.jacobian(z)),
        "Hessian": lambda: program.hessian(z, 1.0, y),
    }
    for name, own in ours.items():
        parts = {"objective and rows": ("objective", "rows"), "Hessian": ("Hessian",)}.get(
            name, ("gradient", "Jacobian")
        )
        given = (z, y) if name == "Hessian" else (z,)
        theirs = [
            timed(partial(_called, [functions[x] for x in parts], given), runs) for functions in ways.values()
        ]
        yield (
            "| "
            + " | ".join([name, *(f"{1e3 * x:.1f}" for x in (timed(fresh(own), 5 * runs), *theirs))])
            + " |"
        )


def solved(walk: Walk, start: Any, limit: float, way: str) -> str:
    """A row of the table: what nlpsol finds from a start with derivatives made in one of the WAYS."""
    ca, program, z = walk.ca, walk.program, walk.z
    options: dict[str, Any] = {
        "print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes", "ipopt.tol": TOLERANCE,
        "ipopt.bound_relax_factor": 0.1 * TOLERANCE, "ipopt.mumps_permuting_scaling": 0,
        "ipopt.max_iter": MOST, "ipopt.max_cpu_time": limit,
    }  # fmt: skip
    begun = time.process_time()
    if way == "limited-memory":
        options |= {"expand": True, "ipopt.hessian_approximation": "limited-memory"}
    elif way == "chain rule by hand":
        p, factor = ca.MX.sym("p", 0), ca.MX.sym("factor")
        gradient, J, H = walk.chained(factor)
        options |= {
            "grad_f": ca.Function("first", [z, p], [walk.f, gradient]),
            "jac_g": ca.Function("slopes", [z, p], [walk.g, J]),
            "hess_lag": ca.Function("second", [z, p, factor, walk.y], [ca.triu(H)]),
        }
    solver = ca.nlpsol("walk", "ipopt", {"x": z, "f": walk.f, "g": walk.g}, options)
    ready = time.process_time()
    found = solver(x0=start, lbx=program.x_lower, ubx=program.x_upper, lbg=program.lower, ubg=program.upper)
    done, stats, g = time.process_time(), solver.stats(), np.array(found["g"]).ravel()
    beyond = float(np.maximum(np.maximum(program.lower - g, g - program.upper), 0.0).max())
    return (
        f"| CasADi, IPOPT: {way} | {stats['return_status']} | {stats['iter_count']} | {ready - begun:.1f} | "
        f"{done - ready:.1f} | {float(found['f']) / program.scale:.3f} | {beyond:.1e} |"
    )


def main() -> None:
    """Print the tables."""
    import casadi as ca

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=300.0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--no-solve", action="store_true")
    given = parser.parse_args()
    task = Walking()
    who = walker(task)
    problem = walking_problem(task, who)
    standing = np.array([0.0, task.duration]), np.zeros((2, who.mechanism.n_dof))
    predict(problem, start=standing, **AS_WALK, progress=False, tolerance=TOLERANCE)  # compiled and warm
    begun = time.process_time()
    prediction = predict(problem, start=standing, **AS_WALK, progress=False, tolerance=TOLERANCE)
    own = time.process_time() - begun
    program = problem.program
    begun = time.process_time()
    walk = Walk(ca, program)
    print(
        f"expressions: {time.process_time() - begun:.1f} CPU s, {program.n} unknowns, {program.m} rows, ",
        end="",
    )
    print(f"{walk.mechanics.n_instructions()} operations an instant")
    z, y = walk.z, walk.y
    values = {
        "torques": ca.Function("tau", [z], [walk.torques]),
        "objective": ca.Function("f", [z], [walk.f]),
        "rows": ca.Function("g", [z], [walk.g]),
    }
    ways = {}
    for way, derivatives in (("automatic", walk.automatic), ("chain rule by hand", walk.chained)):
        begun = time.process_time()
        gradient, J, H = derivatives()
        ways[way] = values | {
            "gradient": ca.Function("df", [z], [gradient]),
            "Jacobian": ca.Function("J", [z], [J]),
            "Hessian": ca.Function("H", [z, y], [H]),
        }
        print(f"{way}: set-up of derivatives {time.process_time() - begun:.1f} CPU s", flush=True)
    rng = np.random.default_rng(0)
    point = program.reduced(prediction.x) + SPREAD * rng.standard_normal(program.n)
    weights = rng.standard_normal(program.m)
    for way, functions in ways.items():
        differences = compared(walk, functions, point, weights)
        print(f"differences, {way}: " + ", ".join(f"{name} {x:.1e}" for name, x in differences.items()))
    heads = ["evaluation (CPU ms)", "Kinetree", *(f"CasADi, {way}" for way in ways)]
    print("\n| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for row in evaluations(walk, ways, point, weights, given.runs):
        print(row, flush=True)
    if given.no_solve:
        return
    start = program.reduced(np.zeros(program.setting.unknowns.size))
    print("\n| program | status | iterations | set-up, CPU s | search, CPU s | objective | rows beyond |")
    print("|---|---|---|---|---|---|---|")
    status = prediction.outcome.status.name.lower()
    print(
        f"| Kinetree, own solver | {status} | {prediction.iterations} | - | {own:.2f} | "
        f"{prediction.objective:.3f} | |"
    )
    for way in WAYS:
        print(solved(walk, start, given.limit, way), flush=True)


if __name__ == "__main__":
    main()
