"""The figures of the documents, one set for each shipped example: which curves, and which numbers to compare.

A document's figure is a panel: its number, what it shows, and lines over time. ``FIGURES`` maps the name of
an example to a function of its result.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from gallery_loops import LOOPS
from gallery_more import MORE
from gallery_panels import Array, Page, Panel, Sticks, each, largest, over_time
from gallery_walking import LAWS, WALKS, dust, fall, forced_biped, laws, single_support, walking

import kinetree as kt

# ---- [Shah2013], chapter 6 -------------------------------------------------------------------------------

GRIPPER = ("joint1", "joint2", "joint3", "joint4")
GRIPPER_LABELS = ("joint 1¹", "joint 1²", "joint 2²", "joint 1³")
KUKA = tuple(f"joint{k}" for k in range(1, 7))


def gripper_torques(result: kt.Result) -> Page:
    """Torques of the four joints."""
    tau = result.tau.values
    rows = [
        (f"largest torque, {label}", f"{largest(tau[:, k]):.3f} N m", "")
        for k, label in enumerate(GRIPPER_LABELS)
    ]
    return Page(each(result, "Fig. 6.2", "tau", GRIPPER, GRIPPER_LABELS), result.q.values[120], rows)


def gripper_fall(result: kt.Result) -> Page:
    """Angles of the four joints."""
    order, labels = [0, 2, 1, 3], ("joint 1¹", "joint 2²", "joint 1²", "joint 1³")
    drift = largest(result.energy_error)
    rows = [("largest energy error", f"{drift:.0e} J", "")]
    return Page(each(result, "Fig. 6.3", "q", [GRIPPER[k] for k in order], labels), result.q.values[0], rows)


def two_ways(result: kt.Result) -> Page:
    """The first angle by one integrator over that by the other."""
    a, b = np.degrees(result.q.values[:, :, 0])
    first, second = result.case.values.tolist()
    panel = Panel(f"Fig. 6.4: joint 1¹ by {second}", "°", [("", a, b)], across=f"joint 1¹ by {first} / °")
    apart = largest(result.q.values[0] - result.q.values[1])
    return Page([panel], result.q.values[0, 300], [("largest difference", f"{apart:.0e} rad", "a 45° line")])


def kuka_torques(result: kt.Result) -> Page:
    """Torques of the six joints."""
    tau = result.tau.values
    rows = [
        ("torque of joint 1 at both ends", f"{largest(tau[[0, -1], 0]):.1f} N m", "zero"),
        ("joint with the largest torque", f"{int(np.abs(tau).max(axis=0).argmax()) + 1}", "2"),
    ]
    return Page(
        each(result, "Fig. 6.6", "tau", KUKA, [f"τ{k}" for k in range(1, 7)]), result.q.values[100], rows
    )


def kuka_fall(result: kt.Result) -> Page:
    """Angles of the six joints, and the energies."""
    panels = each(result, "Fig. 6.7", "q", KUKA, [f"θ{k}" for k in range(1, 7)])
    t, kinetic, potential = result.time.values, result.kinetic_energy.values, result.potential_energy.values
    energies = [("kinetic", t, kinetic), ("potential", t, potential), ("total", t, kinetic + potential)]
    rows = [("change of the total energy", f"{np.ptp(kinetic + potential):.0e} J", "unchanged")]
    return Page([*panels, Panel("Fig. 6.8: energy", "J", energies)], result.q.values[200], rows)


# ---- [Mohan2007] -----------------------------------------------------------------------------------------


def puma(result: kt.Result) -> Page:
    """Torques, angles, errors, accelerations, power, growth of errors."""
    t, algorithms = result.time.values, [str(x) for x in result.algorithm.values]
    errors = np.abs(result.q_error.values).max(axis=2)
    horizon = {name: float(result.horizon.values[k].min()) for k, name in enumerate(algorithms)}
    recursive = result.q.values[algorithms.index("articulated")]
    early = t < horizon["articulated"]
    angles = [(name, t, np.degrees(recursive[:, k])) for k, name in enumerate(KUKA)]
    third = [(name, t[early], result.qdd.values[k, early, 2]) for k, name in enumerate(algorithms)]
    power = [(name, t, result.simulated_power.values[k]) for k, name in enumerate(algorithms)]
    panels = [
        over_time(result, "Fig. 4: torques", "tau", KUKA),
        Panel("Fig. 5: angles", "°", angles, behind=[(t, np.degrees(result.q_reference.values[:, 0]))]),
        Panel(
            "Fig. 6: largest error of the angles",
            "rad",
            [(name, t[1:], errors[k, 1:]) for k, name in enumerate(algorithms)],
            True,
        ),
        Panel(
            "Fig. 7: acceleration of joint 3",
            "rad/s²",
            third,
            behind=[(t, result.qdd_reference.values[:, 2])],
        ),
        Panel("Fig. 8: power", "W", power, behind=[(t, result.power.values)]),
        Panel(
            "growth of an error of the start", "1", [("amplification", t, result.amplification.values)], True
        ),
    ]
    each_run = {x["algorithm"]: x for x in result.statistics["runs"]}
    rows = [
        ("recursive algorithm follows for", f"{horizon['articulated']:.2f} s", "5.4 s (Table 3)"),
        ("Cholesky decomposition follows for", f"{horizon['cholesky']:.2f} s", "4.8 s (Table 3)"),
    ]
    steps = [f"{each_run[name]['evaluations']}" for name in ("articulated", "cholesky")]
    rows.append(("evaluations, recursive and Cholesky (Fig. 9)", " and ".join(steps), "fewer if recursive"))
    return Page(panels, result.q_reference.values[500], rows)


# ---- [NCTU] ----------------------------------------------------------------------------------------------


def joint_locked(result: kt.Result) -> Page:
    """Torques of an acceleration of the first joint for four angles of the second."""
    stated = ("5, 2", "3, 1", "1, 0", "3, 1")
    found = ["{:.3g}, {:.3g}".format(*(start + 0.0)) for start in result.tau.values[:, 0]]
    return _by_angle(result, "tau", "torque", "N m", "D11, D21", list(zip(found, stated, strict=True)))


def joint_free(result: kt.Result) -> Page:
    """Accelerations of the first joint under 1 N m for four angles of the second."""
    found = [f"{1.0 / start:.3g}" for start in result.qdd.values[:, 0, 0]]
    return _by_angle(
        result, "qdd", "acceleration", "rad/s²", "effective inertia", list(zip(found, "1212", strict=True))
    )


def _by_angle(
    result: kt.Result, variable: str, words: str, unit: str, what: str, starts: list[tuple[str, str]]
) -> Page:
    """A panel for each joint with a line for each angle of the second; what is found at the start."""
    t, cases = result.time.values, [str(x) for x in result.case.values]
    panels = []
    for j in range(2):
        lines = [(case, t, result[variable].values[k, :, j]) for k, case in enumerate(cases)]
        panels.append(Panel(f"{words} of joint {j + 1}", unit, lines))
    rows = [(f"θ2 = {case}: {what}", *start) for case, start in zip(cases, starts, strict=True)]
    return Page(panels, result.q.values[1, 0], rows)


# ---- [Barman2020] and [Xiang2009] ------------------------------------------------------------------------


def predicted(
    angles: str,
    torques: str,
    path: str,
    forces: str,
    tip: tuple[float, float, float],
    document: str,
    plane: tuple[int, int],
    history: str = "",
    slopes: str = "",
) -> Callable[[kt.Result], Page]:
    """Joint profiles, torques, forces in the joints and overlaid poses of a predicted motion."""

    def page(result: kt.Result) -> Page:
        t, names = result.time.values, result.mechanism.joint_names
        panels: list[Panel | Sticks] = []
        if angles:
            panels.append(over_time(result, f"{angles}: joint angles", "q", names))
        if len(set(result.units("tau"))) == 1:
            panels.append(over_time(result, f"{torques}: torques", "tau", names))
        else:
            panels += [over_time(result, f"{torques}: {name}", "tau", [name]) for name in names]
        if forces:
            inside = kt.joint_reactions(
                result.mechanism, result.q.values, result.qd.values, result.qdd.values
            )
            norms = np.linalg.norm(inside[..., :3], axis=-1)
            lines = [(f"joint {k + 1}", t, norms[:, k]) for k in range(norms.shape[1])]
            panels.append(Panel(f"{forces}: force in the joints", "N", lines))
        panels.append(Sticks(f"{path}: motion", _sticks(result, tip, plane)))
        if history:
            cost = result.objective_history.values
            line = ("", np.arange(len(cost)), cost)
            panels.append(Panel(f"{history}: objective", "s", [line], across="iteration"))
        if slopes:
            panels += _slopes(result, slopes)
        rows = [
            ("duration", f"{result.statistics['duration']:.4f} s", document),
            ("largest torque or force", f"{largest(result.tau):.2f}", "10"),
        ]
        return Page(panels, result.q.values[len(t) // 2], rows)

    return page


def _slopes(result: kt.Result, title: str) -> list[Panel]:
    """Slopes of the torques along the motion: recursive, and, broad, by the closed form of [Xiang2009]."""
    load = [kt.Wrench("link2", force=(0.0, -LOAD, 0.0), point=(LENGTH, 0.0, 0.0))]
    states = result.q.values, result.qd.values, result.qdd.values
    found = kt.inverse_dynamics_derivatives(result.mechanism, *states, load)
    t, panels = result.time.values, []
    for name, unit, closed in zip(("q", "qd"), ("N m/rad", "N m s/rad"), _closed_slopes(result), strict=True):
        recursive = getattr(found, f"dtau_d{name}").reshape(len(t), -1)
        labels = [f"∂τ{i}/∂{name}{j}" for i in (1, 2) for j in (1, 2)]
        lines = [(label, t, recursive[:, k]) for k, label in enumerate(labels)]
        panels.append(Panel(f"{title}: slopes by {name}", unit, lines, behind=[(t, y) for y in closed]))
    return panels


LOAD, LENGTH, MASS, G = 10.0, 0.4, 0.5, 9.8062  # N, m, kg, m/s^2: [Xiang2009], Table 1 and section 6.4


def _closed_slopes(result: kt.Result) -> tuple[list[Array], list[Array]]:
    """Slopes of tau1, tau2 by angles and rates: [Xiang2009], eqs. 71-74 and 77-80 with l = L / 2."""
    (q1, q2), (d1, d2), (a1, a2) = (x.values.T for x in (result.q, result.qd, result.qdd))
    c, s, s1, s12 = np.cos(q2), np.sin(q2), np.sin(q1), np.sin(q1 + q2)
    mLl, outer = MASS * LENGTH * LENGTH / 2, (MASS * G * LENGTH / 2 + LOAD * LENGTH) * s12
    inner = (MASS * G * LENGTH / 2 + MASS * G * LENGTH + LOAD * LENGTH) * s1
    by_q = [
        -outer - inner,
        -mLl * (s * (2 * a1 + a2) + c * (2 * d1 * d2 + d2**2)) - outer,
        -outer,
        mLl * (c * d1**2 - s * a1) - outer,
    ]
    return by_q, [-2 * mLl * s * d2, -2 * mLl * s * (d1 + d2), 2 * mLl * s * d1, 0.0 * d1]


def _sticks(result: kt.Result, tip: tuple[float, float, float], plane: tuple[int, int]) -> Array:
    """Base, origins of the bodies and tip at twelve instants."""
    rows = np.linspace(0, len(result.time) - 1, 12).round().astype(int)
    poses = kt.forward_kinematics(result.mechanism, result.q.values[rows])
    end = poses.position[:, -1] + poses.rotation[:, -1] @ np.array(tip)
    points = np.concatenate([np.zeros((len(rows), 1, 3)), poses.position, end[:, None]], axis=1)
    return points[:, :, list(plane)]


def usual(result: kt.Result) -> Page:
    """An example that repeats no figure: all joints and torques."""
    names = result.mechanism.joint_names
    panels = [
        over_time(result, what, x, names)
        for x, what in (("q", "positions"), ("tau", "torques"))
        if x in result
    ]
    rows = [("duration", f"{result.time.values[-1]:.4g} s", "")]
    return Page(panels, result.q.values[len(result.time) // 2], rows)


FIGURES: dict[str, Callable[[kt.Result], Page]] = {
    "gripper_inverse_dynamics": gripper_torques,
    "gripper_free_fall": gripper_fall,
    "kuka_inverse_dynamics": kuka_torques,
    "kuka_free_fall": kuka_fall,
    "biped_single_support": single_support,
    "biped_forced_simulation": forced_biped,
    "gripper_two_ways": two_ways,
    "two_link_joint_locked": joint_locked,
    "two_link_joint_free": joint_free,
    **{name: walking(name) for name in WALKS},
    **{name: laws(name) for name in LAWS},
    **LOOPS,
    **MORE,
    "planar_biped_dust": dust,
    "quadruped_fall": fall,
    "puma_stability": puma,
    "two_link_minimum_time": predicted(
        "Xiang Fig. 7", "Xiang Fig. 8; Barman Fig. 4.2", "Xiang Fig. 9; Barman Fig. 4.4", "Barman Fig. 4.3",
        (0.4, 0, 0), "0.3934 s ([Xiang2009]), 0.392 s ([Barman2020])", (0, 1), history="Xiang Fig. 10",
    ),
    "two_link_lifting": predicted(
        "Fig. 11", "Fig. 12", "Fig. 13", "", (0.4, 0, 0), "0.52 s", (0, 1), slopes="Fig. 14"
    ),
    "prismatic_arm": predicted("", "Fig. 4.5", "Fig. 4.7", "Fig. 4.6", (0.4, 0, 0), "0.5585 s", (1, 2)),
}  # fmt: skip
