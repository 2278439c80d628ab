"""The same questions asked of Pinocchio and MuJoCo, where they are installed and can hold the mechanism."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array, frozen
from kinetree.errors import KinetreeError
from kinetree.formats.urdf_writer import urdf_text
from kinetree.model.mechanism import Mechanism

Calls = dict[str, Callable[[], object]]
FAR = 1e3  # rad, m
SAME = 1e-6  # relative: a peer whose torques differ more does not hold the same mechanism


def peers(mechanism: Mechanism, state: Mapping[str, Array]) -> dict[str, Calls]:
    """For each library what to call for a quantity at one state; the mechanism is handed over as URDF."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text = urdf_text(_limited(mechanism))
    except KinetreeError:
        return {}
    found = {}
    for name, make in (("Pinocchio", _pinocchio), ("MuJoCo", _mujoco)):
        try:
            calls = make(text, mechanism, state)
        except ImportError:
            continue
        if calls is not None:
            found[name] = calls
    return found


def _limited(mechanism: Mechanism) -> Mechanism:
    """The same with limits at every turning joint: peers take two numbers for an angle without limits."""
    links = []
    for link in mechanism.links:
        lower, upper = (np.clip(x, -FAR, FAR) for x in (link.joint.lower, link.joint.upper))
        links.append(replace(link, joint=replace(link.joint, lower=frozen(lower), upper=frozen(upper))))
    return replace(mechanism, links=tuple(links))


def _pinocchio(text: str, mechanism: Mechanism, state: Mapping[str, Array]) -> Calls | None:
    pin: Any = import_module("pinocchio")
    model = pin.buildModelFromXML(text)
    if model.nq != mechanism.n_dof or model.nv != mechanism.n_dof:
        return None
    model.gravity.linear = np.array(mechanism.gravity)
    memory = model.createData()
    q, qd, qdd, tau = _in_order(list(model.names)[1:], mechanism, state)
    if not _same(pin.rnea(model, memory, q, qd, qdd), tau):
        return None
    return {
        "forward_kinematics": lambda: pin.forwardKinematics(model, memory, q),
        "gravity_torque": lambda: pin.computeGeneralizedGravity(model, memory, q),
        "inverse_dynamics": lambda: pin.rnea(model, memory, q, qd, qdd),
        "mass_matrix": lambda: pin.crba(model, memory, q),
        "forward_dynamics": lambda: pin.aba(model, memory, q, qd, tau),
        "kinetic_energy": lambda: pin.computeKineticEnergy(model, memory, q, qd),
        "inverse_dynamics_derivatives": lambda: pin.computeRNEADerivatives(model, memory, q, qd, qdd),
        "forward_dynamics_derivatives": lambda: pin.computeABADerivatives(model, memory, q, qd, tau),
    }


def _mujoco(text: str, mechanism: Mechanism, state: Mapping[str, Array]) -> Calls | None:
    mujoco: Any = import_module("mujoco")
    try:
        model = mujoco.MjModel.from_xml_string(text)
    except (ValueError, mujoco.FatalError):
        return None
    if model.nq != mechanism.n_dof or model.nv != mechanism.n_dof:
        return None
    model.opt.gravity[:] = mechanism.gravity
    memory = mujoco.MjData(model)
    names = [model.joint(k).name for k in range(model.njnt)]
    q, qd, qdd, tau = _in_order(names, mechanism, state)
    memory.qpos[:], memory.qvel[:], memory.qacc[:] = q, qd, qdd
    mujoco.mj_inverse(model, memory)
    if not _same(memory.qfrc_inverse, tau):
        return None
    memory.qfrc_applied[:] = tau
    return {
        "forward_kinematics": lambda: mujoco.mj_kinematics(model, memory),
        "inverse_dynamics": lambda: mujoco.mj_inverse(model, memory),
        "forward_dynamics": lambda: mujoco.mj_forward(model, memory),
    }


def _in_order(names: list[str], mechanism: Mechanism, state: Mapping[str, Array]) -> list[Array]:
    """q, qd, qdd, tau with the joints in another order."""
    order = [mechanism.joint_index(name) for name in names]
    return [np.array(state[key][order]) for key in ("q", "qd", "qdd", "tau")]


def _same(a: Array, b: Array) -> bool:
    return bool(np.abs(a - b).max() <= SAME * max(1.0, float(np.abs(b).max())))
