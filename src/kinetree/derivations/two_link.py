"""The planar two-link arm in closed form: torques and their derivatives.

[Xiang2009], eqs. 52-65 and 69-82; [NCTU].
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinetree.derivations.homogeneous import Numbers, sine_and_cosine


class TwoLinkArm(NamedTuple):
    """Two hinges about z in a vertical plane, angles from x and from link 1 ([Xiang2009], Fig. 15).

    Masses m (kg), lengths L (m), distances l (m) of the centers of mass from the joints, inertias I (kg m^2)
    about the centers. ``g`` (m/s^2) and the load ``f`` (N) at the tip point down, along -y. The arm of [NCTU]
    has its masses at the tips: l = L and I = 0.
    """

    m1: Any
    m2: Any
    L1: Any
    L2: Any
    l1: Any
    l2: Any
    I1: Any
    I2: Any
    g: Any = 0
    f: Any = 0


def mass_matrix(arm: TwoLinkArm, q: Any) -> Numbers:
    """M (2, 2): dtau/dqdd ([Xiang2009], eqs. 58, 59, 64, 65); D_11, D_12, D_22 of [NCTU]."""
    m1, m2, L1, _, l1, l2, I1, I2, _, _ = arm
    _, c2 = sine_and_cosine(q[1])
    M11 = I1 + I2 + m1 * l1 * l1 + m2 * (L1 * L1 + l2 * l2 + 2 * L1 * l2 * c2)
    M12 = I2 + m2 * l2 * l2 + m2 * L1 * l2 * c2
    M22 = I2 + m2 * l2 * l2
    return np.array([[M11, M12], [M12, M22]])


def torques(arm: TwoLinkArm, q: Any, qd: Any, qdd: Any) -> Numbers:
    """tau (2,) ([Xiang2009], eqs. 52, 53 = 69, 70)."""
    _, m2, L1, _, _, l2, _, _, _, _ = arm
    s2, _ = sine_and_cosine(q[1])
    h = m2 * L1 * l2 * s2
    V = np.array([-2 * h * qd[0] * qd[1] - h * qd[1] * qd[1], h * qd[0] * qd[0]])
    tau: Numbers = mass_matrix(arm, q) @ np.asarray(qdd) + V + gravity_and_load(arm, q)
    return tau


def gravity_and_load(arm: TwoLinkArm, q: Any) -> Numbers:
    """Torques (2,) that hold the arm and the load at its tip.

    The terms with g and f of [Xiang2009], eqs. 52, 53.
    """
    m1, m2, L1, L2, l1, l2, _, _, g, f = arm
    (_, c1), (_, c12) = sine_and_cosine(q[0]), sine_and_cosine(q[0] + q[1])
    second = (m2 * g * l2 + f * L2) * c12
    return np.array([second + (m1 * g * l1 + m2 * g * L1 + f * L1) * c1, second])


def torque_derivatives(arm: TwoLinkArm, q: Any, qd: Any, qdd: Any) -> tuple[Numbers, Numbers, Numbers]:
    """dtau/dq, dtau/dqd, dtau/dqdd, each (2, 2) ([Xiang2009], eqs. 54-65 = 71-82).

    The left sides of eqs. 61, 75 and 76 are misprinted: they are dtau_2/dq_2, dtau_1/dqdd_1, dtau_1/dqdd_2.
    """
    m1, m2, L1, L2, l1, l2, _, _, g, f = arm
    (s1, _), (s2, c2), (s12, _) = sine_and_cosine(q[0]), sine_and_cosine(q[1]), sine_and_cosine(q[0] + q[1])
    h = m2 * L1 * l2
    tip = -(m2 * g * l2 + f * L2) * s12
    root = -(m1 * g * l1 + m2 * g * L1 + f * L1) * s1
    coriolis = 2 * qd[0] * qd[1] + qd[1] * qd[1]
    dtau1_dq2 = -h * s2 * (2 * qdd[0] + qdd[1]) - h * c2 * coriolis + tip  # (55), (72)
    dtau2_dq2 = -h * s2 * qdd[0] + h * c2 * qd[0] * qd[0] + tip  # (61), (78)
    by_q = [[tip + root, dtau1_dq2], [tip, dtau2_dq2]]
    by_qd = [[-2 * h * s2 * qd[1], -2 * h * s2 * (qd[0] + qd[1])], [2 * h * s2 * qd[0], 0 * qd[1]]]
    return np.array(by_q), np.array(by_qd), mass_matrix(arm, q)


def inertia_at_first_joint(arm: TwoLinkArm, q: Any, *, second_joint_free: bool) -> Any:
    """What joint 1 has to accelerate: D_11 with joint 2 locked, D_11 - D_12^2 / D_22 with it free.

    [NCTU].
    """
    M = mass_matrix(arm, q)
    return M[0, 0] - M[0, 1] * M[0, 1] / M[1, 1] if second_joint_free else M[0, 0]
