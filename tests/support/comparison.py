"""Relative errors of Kinetree against reference states, by quantity."""

import numpy as np

import kinetree as kt
from support.distal_dh import chain, distal_frame, wrench_in_distal_frames
from support.reference import loads, relative_error

GRAVITIES = {"-9.81z": (0, 0, -9.81), "0": (0, 0, 0)}


def tree_errors(mechanism, state):
    """Of inverse and forward dynamics, reactions, mass matrix, its pivots, bias and energies."""
    if "gravity" in state:
        mechanism = mechanism.with_gravity(GRAVITIES[state["gravity"]])
    q, qd, qdd = state["q"], state["qd"], state["qdd"]
    wrenches = loads(mechanism, state.get("external", []))
    M = kt.mass_matrix(mechanism, q)
    found = {
        "tau": kt.inverse_dynamics(mechanism, q, qd, qdd, wrenches),
        "wrench": kt.joint_reactions(mechanism, q, qd, qdd, wrenches),
        "M": M,
        "GIM": M,
        "bias": kt.bias_torque(mechanism, q, qd),
        "qdd_fd": kt.forward_dynamics(mechanism, q, qd, state["tau_fd"], wrenches),
        "udu_D": upper_pivots(M),
        "kinetic": kt.kinetic_energy(mechanism, q, qd),
        "potential": kt.potential_energy(mechanism, q),
    }
    return {key: relative_error(value, state[key]) for key, value in found.items() if key in state}


def floating_errors(mechanism, state):
    """Of both dynamics with the base free, and of the base's acceleration in the world."""
    q, qd, inverse, forward = state["q"], state["qd"], state["inverse"], state["forward"]
    wrenches = loads(mechanism, state["external"])
    base, tau = kt.analysis.floating_base_inverse_dynamics(mechanism, q, qd, inverse["qdd_joints"], wrenches)
    qdd = kt.forward_dynamics(mechanism, q, qd, [0.0] * 6 + forward["tau_joints"], wrenches)
    inverse_qdd = np.concatenate([base, inverse["qdd_joints"]])
    found = {
        "qdd_base": (base, inverse["qdd_base"]),
        "tau_joints": (tau, inverse["tau_joints"]),
        "wrench": (kt.joint_reactions(mechanism, q, qd, inverse_qdd, wrenches), inverse["wrench"]),
        "qdd": (qdd, forward["qdd"]),
        "M": (kt.mass_matrix(mechanism, q), state["M"]),
        "bias_with_external": (kt.bias_torque(mechanism, q, qd, wrenches), state["bias_with_external"]),
        "kinetic": (kt.kinetic_energy(mechanism, q, qd), state["kinetic"]),
        "potential": (kt.potential_energy(mechanism, q), state["potential"]),
    }
    for name, record, acceleration in (("inverse", inverse, inverse_qdd), ("forward", forward, qdd)):
        linear, angular = np.split(kt.analysis.body_accelerations(mechanism, q, qd, acceleration)[0], 2)
        found[f"{name} base_lin_acc_world"] = (linear, record["base_lin_acc_world"])
        found[f"{name} base_ang_acc_world"] = (angular, record["base_ang_acc_world"])
    twist = kt.body_velocities(mechanism, q, qd)[0].reshape(2, 3)
    in_body = twist @ kt.forward_kinematics(mechanism, q).rotation[0]
    found["twist of the base"] = (in_body.ravel(), state["freeflyer"]["twist_body_lin_ang"])
    return {key: relative_error(*pair) for key, pair in found.items()}


def distal_errors(links, gravity, case):
    """Of joint torques and of joint forces and moments in distal DH frames."""
    mechanism, q = chain(links, gravity), case["q"]
    state = (q, case["qd"], case["qdd"], distal_load(links, case))
    force, moment = wrench_in_distal_frames(links, q, kt.joint_reactions(mechanism, *state))
    found = {
        "tau": kt.inverse_dynamics(mechanism, *state),
        "F": force,
        "N": moment,
        "F_norm": np.linalg.norm(force, axis=1),
        "dtau_dqdd": kt.mass_matrix(mechanism, q),
    }
    return {key: relative_error(value, case[key]) for key, value in found.items() if key in case}


def distal_load(links, case):
    """The load of a case on its link, whose point is given in the distal frame."""
    if "external" not in case:
        return None
    load = case["external"]
    frame = distal_frame(links[load["link"] - 1])
    point = frame.rotation @ load["point_in_dh_frame"] + frame.position
    return kt.Wrench(f"link{load['link']}", load["force_world"], load["moment_world"], point)


def upper_pivots(M):
    """D of M = U D U^T with unit upper triangular U, eliminated from the last coordinate ([Mohan2007],
    [Shah2013])."""
    A, pivots = np.array(M), []
    while len(A):
        u, d = A[:-1, -1], A[-1, -1]
        pivots.append(d)
        A = A[:-1, :-1] - np.outer(u, u) / d
    return np.array(pivots[::-1])
