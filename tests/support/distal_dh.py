"""Chains of [Barman2020] and [Xiang2009] in distal DH frames: T_i = Rz(theta) Tz(d) Tx(a) Rx(alpha), frame
i at the far end.

The joint turns about, or slides along, z of frame i-1. Kinetree's body frame sits at the joint and moves with
the link, so frame i is fixed in it at Tz(d) Tx(a) Rx(alpha).
"""

import numpy as np
from scipy.spatial.transform import Rotation

import kinetree as kt


def distal_frame(link):
    """Frame i in the body frame of link i."""
    return kt.Placement.at((link["a"], 0, link["d"]), rpy=(link["alpha"], 0, 0))


def chain(links, gravity):
    """The mechanism of reference links; their centers are at (l, 0, dG) of the body frame ([Barman2020],
    eq. 2.12)."""
    result, parent, end = [], "world", kt.Placement()
    for k, link in enumerate(links):
        R = Rotation.from_euler("x", link["alpha"]).as_matrix()
        inertia = kt.Inertia(link["m"], (link["l"], 0, link["dG"]), R @ np.array(link["I"]) @ R.T)
        joint = kt.Joint.of_kind(f"joint{k + 1}", "revolute" if link["type"] == "R" else "prismatic")
        place = end @ kt.Placement.at(rpy=(0, 0, link["theta"]))
        result.append(kt.model.Link(kt.Body(f"link{k + 1}", inertia), joint, parent, place))
        parent, end = f"link{k + 1}", distal_frame(link)
    return kt.Mechanism("distal chain", tuple(result), gravity)


def two_link_rr(params):
    """The planar arm of [Xiang2009]: gravity along -y, inertias about the centers of mass."""
    p = params
    links = [
        {
            "type": "R",
            "theta": 0,
            "d": 0,
            "a": p[f"L{k}"],
            "alpha": 0,
            "l": p[f"l{k}"],
            "dG": 0,
            "m": p[f"m{k}"],
            "I": p[f"I{k}"] * np.eye(3),
        }
        for k in (1, 2)
    ]
    return links, (0, -p["g"], 0)


def two_link_pr(params):
    """The slider with an arm of [Barman2020], section 4.2: theta_1 = pi/2, alpha_1 = pi/2, both centers
    half-way."""
    p = params
    slider = {
        "type": "P",
        "theta": np.pi / 2,
        "d": 0,
        "a": 0,
        "alpha": np.pi / 2,
        "l": 0,
        "dG": -p["L1"] / 2,
        "m": p["m1"],
        "I": p["I1"] * np.eye(3),
    }
    arm = {
        "type": "R",
        "theta": 0,
        "d": 0,
        "a": p["L2"],
        "alpha": 0,
        "l": p["L2"] / 2,
        "dG": 0,
        "m": p["m2"],
        "I": p["I2"] * np.eye(3),
    }
    return [slider, arm]


def wrench_in_distal_frames(links, q, reactions):
    """Force and moment on link i by link i-1 in the axes of frame i, the moment about O_(i-1)."""
    force, moment = [], []
    for link, q_i, w in zip(links, q, reactions, strict=True):
        f, n = np.split(np.asarray(w), 2)
        if link["type"] == "P":  # the body frame has slid away from O_(i-1)
            n = n + np.cross((0, 0, q_i), f)
        R = distal_frame(link).rotation
        force.append(R.T @ f)
        moment.append(R.T @ n)
    return np.array(force), np.array(moment)
