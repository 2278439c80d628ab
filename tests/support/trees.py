"""Random mechanisms of every joint kind, with physical inertias and arbitrary placements."""

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

import kinetree as kt
from kinetree.algebra.rotation import THREE_AXIS_SEQUENCES, TWO_AXIS_SEQUENCES
from kinetree.model.joint_kind import KINDS as JOINT_KINDS

KINDS = tuple(JOINT_KINDS)
ONE_AXIS = ("revolute", "prismatic", "cylindrical")


def rotation(rng):
    """A random rotation matrix."""
    return Rotation.random(random_state=rng).as_matrix()


def placement(rng, reach=0.5):
    """A random placement within reach (m)."""
    return kt.Placement.at(rng.uniform(-reach, reach, 3), rotation(rng))


def inertia(rng):
    """The inertia of ten random point masses: physical whatever the numbers."""
    total = kt.Inertia()
    for _ in range(10):
        total = total + kt.Inertia.point(rng.uniform(0.05, 0.3), rng.uniform(-0.4, 0.4, 3))
    return total


def joint(rng, name, kind, passive=False, **more):
    """A joint of a kind about random axes, or with a random Euler sequence."""
    n = JOINT_KINDS[kind].n_dof
    if kind in ONE_AXIS:
        more["axis"] = rng.standard_normal(3)
    elif kind == "universal":
        more["sequence"] = rng.choice(TWO_AXIS_SEQUENCES)
    elif kind in ("spherical", "free") and rng.random() < 0.5:
        more["sequence"] = rng.choice(THREE_AXIS_SEQUENCES)
    elif kind != "fixed":
        more["axes"] = rotation(rng)[np.r_[0:3, 0:3][:n]]  # x, y, z of a random frame, in turn
    if passive and n:
        for key in ("armature", "viscous", "coulomb", "stiffness"):
            more[key] = rng.uniform(0.1, 1.0, n)
        more["rest"] = rng.uniform(-1.0, 1.0, n)
        more["coulomb_reverse"] = 1.1 - more["coulomb"]
    return kt.Joint.of_kind(name, kind, **more)


def random_tree(rng, n=12, kinds=KINDS, passive=False, gravity=None, branching=0.5):
    """A tree of n bodies; every kind comes once before any comes again, and two bodies start at the world."""
    order = [str(kind) for _ in range(n // len(kinds) + 1) for kind in rng.permutation(kinds)][:n]
    links, names = [], []
    for k, kind in enumerate(order):
        parent = "world"
        if k > 1:
            parent = names[-1] if rng.random() > branching else str(rng.choice(names))
        body = kt.Body(f"body{k}", inertia(rng))
        links.append(kt.model.Link(body, joint(rng, f"joint{k}", kind, passive), parent, placement(rng)))
        names.append(body.name)
    gravity = rng.uniform(-10.0, 10.0, 3) if gravity is None else gravity
    return kt.Mechanism("random", tuple(links), gravity)


def welded_tree(rng, n=10):
    """A tree with chains of welds, welds to the world, welded leaves and a welded frame without mass."""
    tree = random_tree(rng, n, kinds=("fixed", "revolute", "fixed", "spherical", "prismatic"))
    post = kt.model.Link(kt.Body("post", inertia(rng)), kt.Joint.of_kind("post_weld", "fixed"), "world")
    cap = kt.model.Link(
        kt.Body("cap", inertia(rng)), kt.Joint.of_kind("cap_weld", "fixed"), "post", placement(rng)
    )
    arm = kt.model.Link(kt.Body("arm", inertia(rng)), joint(rng, "swing", "revolute"), "cap", placement(rng))
    tip = kt.model.Link(kt.Body("tip"), kt.Joint.of_kind("tip_weld", "fixed"), "arm", placement(rng))
    tool = kt.model.Link(
        kt.Body("tool", inertia(rng)), kt.Joint.of_kind("tool_weld", "fixed"), "tip", placement(rng)
    )
    return replace(tree, links=(*tree.links, post, cap, arm, tip, tool))


def mimic_tree(rng, n=8, passive=True):
    """A tree of one-DOF joints of which every third follows the first or second."""
    tree = random_tree(rng, n, kinds=("revolute", "prismatic"), passive=passive)
    links = list(tree.links)
    for k in range(2, n, 3):
        follow = kt.model.Mimic(f"joint{k % 2}", rng.uniform(-2.0, 2.0), rng.uniform(-0.5, 0.5))
        links[k] = replace(links[k], joint=replace(links[k].joint, mimic=follow))
    return replace(tree, links=tuple(links))


def loads(rng, mechanism, batch=()):
    """A wrench on every other body, at random points, in world or body axes."""
    return [
        kt.Wrench(
            name,
            rng.uniform(-5, 5, (*batch, 3)),
            rng.uniform(-2, 2, (*batch, 3)),
            rng.uniform(-0.3, 0.3, 3),
            frame=str(rng.choice(["world", "body"])),
        )
        for name in mechanism.body_names[::2]
    ]


def state(mechanism, rng, batch=()):
    """Random q, qd, qdd; the second Euler angles stay away from gimbal lock."""
    s = kt.random_state(mechanism, rng, batch)
    for link in mechanism.links:
        turning = [n for n, turn in zip(link.joint.dof_names, link.joint.turns, strict=True) if turn]
        if len(turning) == 3:
            k = mechanism.joint_index(turning[1])
            s.q[..., k] = rng.choice([-1, 1], batch) * rng.uniform(0.4, 1.2, batch)
    return s.q, s.qd, s.qdd
