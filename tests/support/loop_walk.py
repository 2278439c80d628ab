"""Walks files of reference data with closed loops and compares every state with the public questions.

From the folder `tests`, for a folder with the full files:  python -m support.loop_walk FOLDER
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

import kinetree as kt
from support.reference import closed, loads, relative_error

BOOK = {"fourbar": [0], "robotic_leg": [0], "rrr3": [0, 5, 6]}  # coordinates that are driven
BENCHMARKS = ("iftomm_a02_nfourbar", "iftomm_a03_andrews", "iftomm_a04_bricard")
STATES = (
    *("slider_crank", "prismatic_cut", "spatial_fourbar", "five_bar", "jansen_leg", "six_bar", "other_cuts"),
    *("delta", "stewart", "floating_fourbar_legs", "random_loops"),
)


class Worst:
    """The worst relative error of every quantity."""

    def __init__(self):
        self.of = defaultdict(float)

    def compare(self, quantity, found, expected):
        self.of[quantity] = max(self.of[quantity], relative_error(found, expected))

    def wrench(self, quantity, found, expected):
        """Values and mask; a wrong mask counts as an infinite error."""
        expected = np.array([[np.nan if x is None else x for x in row] for row in expected])
        if not np.array_equal(found.determined, np.isfinite(expected)):
            self.of[f"{quantity} mask"] = np.inf
            return
        known = found.determined
        if known.any():
            self.compare(quantity, found.wrench[known], expected[known])


def walk(name, full):
    """The worst errors of a file's content, by quantity."""
    worst = Worst()
    if name in BOOK:
        for variant in full.get("variants", [full]):
            _book(worst, {**variant, "actuated": BOOK[name]}, name)
    elif name == "iftomm_a02_nfourbar":
        for problem in full["problems"]:
            _pendulum(worst, problem)
    elif name == "iftomm_a03_andrews":
        _andrews(worst, full)
    elif name == "iftomm_a04_bricard":
        _along(worst, closed({**full, "actuated": []}), full["simulation"], every=20)
    else:
        for variant in full["variants" if "variants" in full else "mechanisms"]:
            mechanism = closed(variant)
            for state in variant["states"]:
                _state(worst, mechanism, variant, state)
            if "simulation" in variant and "law" not in variant and "tau" not in variant["simulation"]:
                _along(
                    worst,
                    mechanism,
                    variant["simulation"],
                    every=max(1, len(variant["simulation"]["t"]) // 5),
                )
    return dict(worst.of)


def _state(worst, mechanism, variant, state):
    q, qd, load = np.array(state["q"]), np.array(state["qd"]), loads(mechanism, state["external"])
    names = [mechanism.joint_names[k] for k in variant["independent"]]
    drives, expected = variant["actuated"], state["inverse"]
    qdd = np.array(expected["qdd"])
    weights = np.ones(mechanism.n_dof)
    weights[drives] = expected.get("weights", 1.0)
    tau = kt.inverse_dynamics(mechanism, q, qd, qdd, load)
    worst.compare("tau", tau[drives], expected.get("tau_minimum_norm", expected["tau"]))
    tau, forces = kt.loops.inverse_dynamics(mechanism, q, qd, qdd, load, weights)
    worst.compare("weighted tau", tau[drives], expected["tau"])
    if np.delete(tau, drives).any():
        worst.of["torque on joints without drives"] = np.inf
    worst.compare("J^T lambda", forces.torque, expected["jt_lambda"])
    worst.wrench("cut wrench", forces, expected["cut_wrench"])
    if "tau_tree" in expected:
        worst.compare(
            "tau of the tree", kt.inverse_dynamics(mechanism.opened(), q, qd, qdd, load), expected["tau_tree"]
        )
    if "qdd_actuated" in expected:
        base, tau = kt.analysis.floating_base_inverse_dynamics(mechanism, q, qd, qdd[6:], load)
        worst.compare("base acceleration", base, qdd[:6])
        worst.compare("tau on a floating base", tau[np.array(drives) - 6], expected["tau"])
    if "gradients" in expected:
        found = kt.loops.inverse_dynamics_derivatives(mechanism, q, qd, qdd, names, load, weights)
        worst.compare("dq / dq independent", found.dq_dq, state["dq_dindependent"])
        for by in ("q", "qd", "qdd"):
            slopes = expected["gradients"]
            worst.compare("derivatives of tau", getattr(found, f"dtau_d{by}")[drives], slopes[f"dtau_d{by}"])
            worst.compare(
                "derivatives of J^T lambda", getattr(found, f"dtorque_d{by}"), slopes[f"djtl_d{by}"]
            )
    expected = state["forward"]
    worst.compare("qdd", kt.forward_dynamics(mechanism, q, qd, expected["tau"], load), expected["qdd"])
    forces = kt.loops.forces(mechanism, q, qd, tau=expected["tau"], wrenches=load)
    worst.compare("J^T lambda", forces.torque, expected["jt_lambda"])
    worst.wrench("cut wrench", forces, expected["cut_wrench"])
    worst.compare("kinetic energy", kt.kinetic_energy(mechanism, q, qd), state["kinetic"])
    worst.compare("potential energy", kt.potential_energy(mechanism, q), state["potential"])
    worst.compare("assembly", kt.loops.assemble(mechanism, state["guess"], hold=names), q)


def _along(worst, mechanism, motion, every, tau=None, load=None):
    """Accelerations and forces of the loops along a free motion."""
    for k in range(0, len(motion["t"]), every):
        q, qd = np.array(motion["q"][k]), np.array(motion["qd"][k])
        zero = np.zeros(mechanism.n_dof) if tau is None else tau
        at = None if load is None else load(q)
        qdd, forces = kt.loops.forward_dynamics(mechanism, q, qd, zero, at)
        worst.compare("qdd of a motion", kt.forward_dynamics(mechanism, q, qd, zero, at), motion["qdd"][k])
        worst.compare("qdd of a motion", qdd, motion["qdd"][k])
        if "jt_lambda" in motion:
            worst.compare("J^T lambda of a motion", forces.torque, motion["jt_lambda"][k])
        if "lam" in motion and len(motion["lam"][k]) == 2 * len(mechanism.loops):
            worst.compare("multipliers of a motion", forces.wrench[:, :2].ravel(), motion["lam"][k])
        if "kinetic" in motion:
            worst.compare("kinetic energy", kt.kinetic_energy(mechanism, q, qd), motion["kinetic"][k])
            worst.compare("potential energy", kt.potential_energy(mechanism, q), motion["potential"][k])


def _book(worst, variant, name):
    """Driving torques and multipliers ([Shah2013], chapter 8) of all samples at once, and the free
    motions."""
    mechanism, motion = closed(variant), variant["inverse_dynamics"]
    q, qd, qdd = (np.array(motion[key]) for key in ("q", "qd", "qdd"))
    tau = kt.inverse_dynamics(mechanism, q, qd, qdd)[:, variant["actuated"]]
    expected = np.array(motion["tau_a"] if "tau_a" in motion else [[x] for x in motion["tau_drive"]])
    worst.compare("tau", tau, expected)
    forces = kt.loops.forces(mechanism, q, qd, qdd)
    worst.compare("multipliers", forces.wrench[..., :2].reshape(len(q), -1), motion["lam"])
    names = [mechanism.joint_names[k] for k in variant["actuated"]]
    whole = kt.loops.dependent_motion(
        mechanism, names, *(x[::12, variant["actuated"]] for x in (q, qd, qdd)), q0=q[0]
    )
    for found, given in ((whole.q, q), (whole.qd, qd), (whole.qdd, qdd)):
        worst.compare("dependent motion", found, given[::12])
    for key in ("free_motion_from_inverse_start", "free_fall_from_rest", "free_motion", "free_fall"):
        if key in variant:
            _along(worst, mechanism, variant[key], every=10)


def _pendulum(worst, problem):
    """((N + 1) / 3 + N) theta'' = ((N + 1) / 2 + N) g sin theta at the samples of the closed form."""
    mechanism, N, exact = closed({**problem, "actuated": [0]}), problem["N"], problem["solution"]
    sign = np.sign(problem["qd0"])
    states = range(0, len(exact["t"]), max(1, len(exact["t"]) // (20 if N < 10 else 3)))
    for k in states:
        theta = exact["theta"][k]
        if abs(np.cos(theta)) < 1e-2:
            continue  # near the singular position
        qdd = kt.forward_dynamics(
            mechanism, sign * theta, sign * exact["omega"][k], np.zeros(mechanism.n_dof)
        )
        expected = ((N + 1) / 2 + N) * 9.81 * np.sin(theta) / ((N + 1) / 3 + N)
        worst.compare("qdd", qdd, sign * expected)
        energy = kt.kinetic_energy(mechanism, sign * theta, sign * exact["omega"][k])
        energy = energy + kt.potential_energy(mechanism, sign * theta)
        begin = np.array(problem["q0"])
        start = kt.kinetic_energy(mechanism, begin, problem["qd0"]) + kt.potential_energy(mechanism, begin)
        worst.compare("energy", energy, start)


def _andrews(worst, full):
    """The spring as a load, the motor as a torque; coordinates are those of the tree."""
    mechanism = closed({**full, "actuated": [full["motor"]["coordinate"]]})
    (spring,) = full["springs"]
    tau = np.zeros(mechanism.n_dof)
    tau[full["motor"]["coordinate"]] = full["motor"]["torque"]
    order = full["tree_order"]
    body = mechanism.body_names[spring["bodyB"]]

    def load(q):
        R, p = kt.forward_kinematics(mechanism, q)[body]
        along = np.array(spring["pA"]) - (R @ np.array(spring["pB"]) + p)
        length = np.linalg.norm(along)
        return kt.Wrench(body, spring["k"] * (length - spring["l0"]) * along / length, point=spring["pB"])

    initial = full["initial"]
    q = np.array(initial["q"])[order]
    still = np.zeros(mechanism.n_dof)
    qdd, forces = kt.loops.forward_dynamics(mechanism, q, still, tau, load(q))
    worst.compare("qdd", qdd, np.array(initial["qdd"])[order])
    worst.compare("cut wrench", forces.wrench[:, :2], initial["cut_wrench_in_plane"])
    motion = {
        key: np.array(full["simulation"][key])[..., order]
        if key in ("q", "qd", "qdd")
        else full["simulation"][key]
        for key in ("t", "q", "qd", "qdd")
    }
    _along(worst, mechanism, motion, every=5, tau=tau, load=load)


def main(folder):
    for name in (*BOOK, *BENCHMARKS, *STATES):
        worst = walk(name, json.loads((Path(folder) / f"{name}.json").read_text()))
        top = max(worst.items(), key=lambda item: item[1])
        print(f"{name}: worst {top[1]:.1e} ({top[0]})")
        print("   ", ", ".join(f"{key} {value:.0e}" for key, value in worst.items()))


if __name__ == "__main__":
    main(sys.argv[1])
