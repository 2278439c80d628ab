"""Pinocchio's two ways to accelerations with closed loops, called from Python.

``constraintDynamics`` factors the constraints' matrix, ``lcaba`` is its recursion (Sathya and Carpentier
2025); both have a proximal term. It wants its joints depth first and a body, not the world, as the first side
of a constraint: otherwise answers are wrong, or the process ends.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import kinetree as kt
from benchmarks.loop_cases import LoopCase
from benchmarks.simulation_cases import Runner
from kinetree.algebra.arrays import Array
from kinetree.dynamics.loops.structure import structure
from kinetree.dynamics.loops.system import loop_rows
from kinetree.model.tree import Tree

pin: Any = import_module("pinocchio")
pinocchio: Any = import_module("benchmarks.peers.pinocchio")
WAYS = {"constraintDynamics": 1e-8, "lcaba": 1e-6}  # and the proximal terms that suit them
METHODS = ("DOP853", "LSODA")
APART = 0.5  # m between two points on the axis of a hinge in space


class PinocchioLoops:
    """A mechanism with loops as Pinocchio's model, one joint per axis."""

    def __init__(self, mechanism: kt.Mechanism) -> None:
        tree = mechanism.tree
        self.order = depth_first(tree)
        number = {int(axis): k + 1 for k, axis in enumerate(self.order)} | {-1: 0}
        self.model = pin.Model()
        self.model.gravity = pin.Motion(np.array(tree.gravity), np.zeros(3))
        for i in self.order:
            kind = pin.JointModelRZ() if tree.turns[i] else pin.JointModelPZ()
            place = pin.SE3(np.array(tree.rotation[i]), np.array(tree.position[i]))
            joint = self.model.addJoint(number[int(tree.parent[i])], kind, place, tree.axis_names[i])
            self.model.appendBodyToJoint(joint, pinocchio.lumped(tree, i), pin.SE3.Identity())
        self.constraints = self._constraints(mechanism, number)

    def _constraints(self, mechanism: kt.Mechanism, number: dict[int, int]) -> Any:
        rows, found = loop_rows(mechanism), pin.StdVec_RigidConstraintModel()
        is_planar = structure(mechanism).rank == 2 * len(rows.loops)
        for k, loop in enumerate(rows.loops):
            sides = [
                (number[int(axis[k])], pin.SE3(np.array(R[k]), np.array(p[k])))
                for axis, R, p in (
                    (rows.axis_A, rows.rotation_A, rows.position_A),
                    (rows.axis_B, rows.rotation_B, rows.position_B),
                )
            ]
            if loop.joint.kind not in ("revolute", "spherical"):
                raise ValueError(f"loop '{loop.name}': no measurement has {loop.joint.kind} cuts")
            two = loop.joint.kind == "revolute" and not is_planar
            axis = np.array(loop.joint.axes[0])
            for shift in (0.0, APART) if two else (0.0,):
                moved = pin.SE3(np.eye(3), shift * axis)
                ends = [(joint, place * moved) for joint, place in sides]
                ends.sort(key=lambda end: end[0] == 0)  # the world last
                kind, frame = pin.ContactType.CONTACT_3D, pin.ReferenceFrame.LOCAL
                found.append(pin.RigidConstraintModel(kind, self.model, *ends[0], *ends[1], frame))
        return found

    def accelerations(self, way: str) -> Callable[[Array, Array, Array], Array]:
        """answer(q, v, tau) in Pinocchio's order of joints, of one state."""
        data = self.model.createData()
        datas = pin.StdVec_RigidConstraintData()
        datas.extend([constraint.createData() for constraint in self.constraints])
        settings = pin.ProximalSettings(1e-14, WAYS[way], 10)
        if way == "lcaba":
            pin.computeJointMinimalOrdering(self.model, data, self.constraints)
        else:
            pin.initConstraintDynamics(self.model, data, self.constraints, datas)
        function, model, constraints = getattr(pin, way), self.model, self.constraints

        def answer(q: Array, v: Array, tau: Array) -> Array:
            found: Array = function(model, data, q, v, tau, constraints, datas, settings)
            return found

        return answer

    def torques(self, driven: Any) -> Callable[[Array, Array, Array], Array]:
        """answer(q, v, a) with torques of the drives, in Pinocchio's order of joints, of one state.

        It has no inverse dynamics with loops: ``rnea`` and Jacobians of the points of its constraints leave
        J_u^T lambda = tau_u of joints without drives to NumPy.
        """
        data, model, constraints = self.model.createData(), self.model, self.constraints
        drives = np.asarray(driven)[self.order]
        ends = [((c.joint1_id, c.joint1_placement), (c.joint2_id, c.joint2_placement)) for c in constraints]

        def point(joint: int, place: Any) -> Any:
            """Jacobian (3, n) of a point of a joint's body, in the world."""
            if joint == 0:
                return np.zeros((3, model.nv))
            J = pin.getJointJacobian(model, data, joint, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
            return J[:3] - pin.skew(data.oMi[joint].rotation @ place.translation) @ J[3:]

        def answer(q: Array, v: Array, a: Array) -> Array:
            tau = np.array(pin.rnea(model, data, q, v, a))
            pin.computeJointJacobians(model, data, q)
            J = np.vstack([point(*a) - point(*b) for a, b in ends])
            tau -= J.T @ np.linalg.solve(J[:, ~drives].T, tau[~drives])
            return tau

        return answer


def depth_first(tree: Tree) -> Array:
    """The axes so that all beyond one follow it at once."""
    children: dict[int, list[int]] = {}
    for i in range(tree.n):
        children.setdefault(int(tree.parent[i]), []).append(i)
    order, waiting = [], children.get(-1, [])[::-1]
    while waiting:
        i = waiting.pop()
        order.append(i)
        waiting += children.get(i, [])[::-1]
    return np.array(order)


def runners(case: LoopCase, tolerances: Collection[float]) -> dict[str, list[Runner]]:
    """``constraintDynamics`` inside scipy's solve_ivp: for each method, one runner for each tolerance."""
    peer, n = PinocchioLoops(case.mechanism), len(case.q0)
    answer, order, tau = peer.accelerations("constraintDynamics"), peer.order, np.zeros(n)
    start = np.concatenate([case.q0[order], case.rates[order]])

    def rates(_: float, y: Array) -> Array:
        return np.concatenate([y[n:], answer(y[:n], y[n:], tau)])

    def run(method: str, tolerance: float) -> Any:
        return solve_ivp(rates, (0.0, case.duration), start, method, rtol=tolerance, atol=tolerance)

    def final(found: Any) -> Array:
        q = np.zeros(n)
        q[order] = found.y[:n, -1]
        return q

    return {
        method: [Runner("pinocchio", method, x, partial(run, method, x), final) for x in tolerances]
        for method in METHODS
    }
