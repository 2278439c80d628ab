"""MuJoCo without contacts and constraints, with its free and ball joints.

MuJoCo refuses bodies without mass or with points and lines for shapes, so it gets :func:`padded` mechanisms
and is compared with Kinetree on those.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import kinetree as kt
from benchmarks.coordinates import peer_states
from benchmarks.states import States, repeated
from benchmarks.timing import Contestant
from kinetree.algebra.arrays import Array
from kinetree.model.body import WORLD

mujoco: Any = import_module("mujoco")
rollout: Any = import_module("mujoco.rollout")
NAME, NAME_ALONE, NAME_ROLLOUT = "mujoco", "mujoco mj_rne", "mujoco rollout"
OFF = ("CONSTRAINT", "CONTACT", "EQUALITY", "LIMIT", "FRICTIONLOSS", "ACTUATION", "WARMSTART", "SENSOR")
STEP = 1e-6  # of the finite differences that are MuJoCo's derivatives


def model_of(mechanism: kt.Mechanism, *, sites: bool = False) -> Any:
    """The compiled model; the bodies are padded already. With sites at the contact points if wanted."""
    return spec_of(mechanism, sites=sites).compile()


def spec_of(mechanism: kt.Mechanism, *, sites: bool = False) -> Any:
    """The same before it is compiled, so that more can be added."""
    spec = mujoco.MjSpec()
    spec.option.gravity = mechanism.gravity
    for name in OFF:
        spec.option.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}"))
    bodies = {WORLD: spec.worldbody}
    for link in mechanism.links:
        inertia, J = link.body.inertia, link.body.inertia.moment
        bodies[link.body.name] = body = bodies[link.parent].add_body(
            name=link.body.name,
            pos=link.placement.position,
            quat=np.roll(Rotation.from_matrix(link.placement.rotation).as_quat(), 1),
            mass=inertia.mass,
            ipos=inertia.center,
            fullinertia=[J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]],
            explicitinertial=True,
        )
        _add_joints(body, link.joint)
    for point in mechanism.contact_points if sites else ():
        bodies[point.body].add_site(name=point.name, pos=point.position)
    return spec


def _add_joints(body: Any, joint: kt.Joint) -> None:
    """A free or a ball joint, or one hinge or slide after the other."""
    kinds = mujoco.mjtJoint
    if joint.kind in ("free", "spherical"):
        kind = kinds.mjJNT_FREE if joint.kind == "free" else kinds.mjJNT_BALL
        body.add_joint(name=joint.name, type=kind)
        return
    for axis, turns, name in zip(joint.axes, joint.turns, joint.dof_names, strict=True):
        body.add_joint(name=name, type=kinds.mjJNT_HINGE if turns else kinds.mjJNT_SLIDE, axis=axis)


class MuJoCo:
    """A padded mechanism and its states in MuJoCo's coordinates."""

    name = NAME

    def __init__(self, mechanism: kt.Mechanism, states: States) -> None:
        self.mechanism, self.states = mechanism, states
        self.model = model_of(mechanism)
        self.data = mujoco.MjData(self.model)
        self.map = peer_states(mechanism, states.q, states.qd, scalar_first=True, linear_in_body=False)
        self.q, self.v = self.map.q, self.map.rates(states.qd)
        self.a, self.tau = self.map.accelerations(states.qdd), self.map.forces(states.tau)

    def answers(self, quantities: Collection[str]) -> dict[str, Array]:
        """Its answers for all states, in Kinetree's coordinates."""
        count, n = self.v.shape
        tau, acceleration = np.zeros((count, n)), np.zeros((count, n))
        self._loop("inverse dynamics", [self.q, self.v, self.a], tau)()
        self._loop("forward dynamics", [self.q, self.v, self.tau], acceleration)()
        found = {
            "inverse dynamics": self.map.torques(tau),
            "forward dynamics": self.map.accelerations_of(acceleration),
        }
        if "mass matrix" in quantities:
            M = np.zeros((count, n, n))
            self._loop("mass matrix", [self.q], M)()
            found["mass matrix"] = self.map.mass_matrix(M)
        self._loop("inverse dynamics alone", [self.q, self.v, self.a], tau)()
        assert np.allclose(self.map.torques(tau), found["inverse dynamics"], rtol=1e-9, atol=1e-9)
        return found

    def contestants(self, quantity: str, batch: int | None) -> list[Contestant]:
        """The calls that answer a quantity for one state (batch None) or for a batch."""
        inputs = {
            "inverse dynamics": (self.q, self.v, self.a),
            "forward dynamics": (self.q, self.v, self.tau),
            "mass matrix": (self.q,),
            "inverse dynamics gradients": (self.q, self.v, self.a),
        }.get(quantity)
        if inputs is None:
            return []
        count, n = batch or 1, self.model.nv
        if quantity == "inverse dynamics gradients":  # per state the same, and very slow
            count = min(count, max(1, 50_000 // n**2))
        rows = [repeated(x, count) for x in inputs]
        shape = {"mass matrix": (count, n, n), "inverse dynamics gradients": (3, count, n, n)}
        out = np.zeros(shape.get(quantity, (count, n)))
        result = [Contestant(self.name, self._loop(quantity, rows, out), count)]
        if quantity == "inverse dynamics":
            alone = self._loop("inverse dynamics alone", rows, out)
            result.append(Contestant(NAME_ALONE, alone, count))
        if quantity == "forward dynamics" and batch is not None:
            result.append(Contestant(NAME_ROLLOUT, self._rollout(rows), count))
        return result

    def _loop(self, quantity: str, rows: list[Array], out: Array) -> Callable[[], None]:
        """A Python loop over the states; the rows it reads and the array it writes are made beforehand."""
        model, data, inputs = self.model, self.data, [list(x) for x in rows]
        qpos, qvel, qacc, applied = data.qpos, data.qvel, data.qacc, data.qfrc_applied

        def inverse() -> None:
            answer = data.qfrc_inverse
            for k, (q, v, a) in enumerate(zip(*inputs, strict=True)):
                qpos[:], qvel[:], qacc[:] = q, v, a
                mujoco.mj_inverse(model, data)
                out[k] = answer

        def inverse_alone() -> None:  # mj_inverse also makes and factors the mass matrix
            for k, (q, v, a) in enumerate(zip(*inputs, strict=True)):
                qpos[:], qvel[:], qacc[:] = q, v, a
                mujoco.mj_kinematics(model, data)
                mujoco.mj_comPos(model, data)
                mujoco.mj_comVel(model, data)
                mujoco.mj_rne(model, data, 1, out[k])

        def forward() -> None:
            for k, (q, v, tau) in enumerate(zip(*inputs, strict=True)):
                qpos[:], qvel[:], applied[:] = q, v, tau
                mujoco.mj_forward(model, data)
                out[k] = qacc

        def mass_matrix() -> None:
            for k, q in enumerate(inputs[0]):
                qpos[:] = q
                mujoco.mj_kinematics(model, data)
                mujoco.mj_comPos(model, data)
                mujoco.mj_crb(model, data)
                mujoco.mj_fullM(model, data, out[k])

        def gradients() -> None:
            for k, (q, v, a) in enumerate(zip(*inputs, strict=True)):
                qpos[:], qvel[:], qacc[:] = q, v, a
                mujoco.mjd_inverseFD(
                    model, data, STEP, False, out[0, k], out[1, k], out[2, k], None, None, None, None
                )

        return {
            "inverse dynamics": inverse,
            "inverse dynamics alone": inverse_alone,
            "forward dynamics": forward,
            "mass matrix": mass_matrix,
            "inverse dynamics gradients": gradients,
        }[quantity]

    def _rollout(self, rows: list[Array]) -> Callable[[], object]:
        """One simulation step from each state, looped over in C on this thread."""
        q, v, tau = rows
        spec, applied = mujoco.mjtState.mjSTATE_FULLPHYSICS, int(mujoco.mjtState.mjSTATE_QFRC_APPLIED)
        initial = np.zeros((len(q), mujoco.mj_stateSize(self.model, spec)))
        initial[:, 1 : 1 + q.shape[1] + v.shape[1]] = np.hstack([q, v])  # the first number is the time
        state = np.zeros((len(q), 1, initial.shape[1]))
        run = rollout.Rollout(nthread=0).rollout
        return partial(
            run, self.model, self.data, initial, tau[:, None, :], control_spec=applied, state=state, nstep=1
        )
