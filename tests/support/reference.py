"""Reads models and states of the reference data (schema mbref/1; see tests/data/reference/README.md)."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

import kinetree as kt
from kinetree.model.loop import Loop

DATA = Path(__file__).parent.parent / "data" / "reference"
KINDS = {"spherical_yxz": "spherical", "free_yxz": "free"}


def read(name):
    """The content of a reference file."""
    return json.loads((DATA / name).read_text())


def mechanism(model, name="reference"):
    """A mechanism from a model of the reference schema."""
    names = [body.get("name", f"b{k}") for k, body in enumerate(model["bodies"])]
    links = []
    for k, body in enumerate(model["bodies"]):
        kind = KINDS.get(body["joint"]["type"], body["joint"]["type"])
        axes = body["joint"]["axes"] if kind != "fixed" else None
        inertia = kt.Inertia(body["mass"], body["com"], np.array(body["inertia_com"]), allow_unphysical=True)
        place = kt.Placement.at(body["placement"]["p"], body["placement"]["R"])
        parent = "world" if body["parent"] < 0 else names[body["parent"]]
        joint = kt.Joint.of_kind(f"{names[k]}_joint", kind, axes=axes)
        links.append(kt.model.Link(kt.Body(names[k], inertia), joint, parent, place))
    return kt.Mechanism(name, tuple(links), model["gravity"])


def closed(variant, name="reference"):
    """A mechanism with the cut joints and drives of a variant of the reference schema."""
    tree = mechanism(variant["model"], name)
    bodies = ("world", *tree.body_names)
    loops = []
    for k, cut in enumerate(variant["cuts"]):
        if "joint" not in cut:  # a pin of a planar mechanism
            places = [kt.Placement.at(cut[side]) for side in ("pA", "pB")]
            pin = kt.Joint.of_kind(f"cut{k}", "revolute", axes=[(0, 0, 1)], cut=True)
            loops.append(Loop(pin, bodies[cut["bodyA"] + 1], bodies[cut["bodyB"] + 1], *places))
            continue
        kind, axes = cut["joint"]["type"], cut["joint"]["axes"]
        one = kind in ("point_on_line", "cylindrical")
        given = {"axis": axes[0]} if one else {"axes": axes} if kind not in ("fixed", "spherical") else {}
        joint = kt.Joint.of_kind(f"cut{k}", kind, cut=True, **given)
        places = [kt.Placement.at(cut[side]["p"], cut[side]["R"]) for side in ("frameA", "frameB")]
        loops.append(Loop(joint, bodies[cut["bodyA"] + 1], bodies[cut["bodyB"] + 1], *places))
    driven = {tree.joint_names[i] for i in variant["actuated"]}
    links = [
        replace(x, joint=replace(x.joint, driven=tuple(name in driven for name in x.joint.dof_names)))
        for x in tree.links
    ]
    return replace(tree, links=tuple(links), loops=tuple(loops))


def loads(mechanism, external):
    """Wrenches from the reference list of loads."""
    return [
        kt.Wrench(
            mechanism.body_names[load["body"]],
            load["force_world"],
            load["moment_world"],
            load["point_in_body"],
        )
        for load in external
    ]


def relative_error(value, expected):
    """Largest difference, relative to the largest expected entry (or to 1 if that is smaller)."""
    value, expected = np.asarray(value), np.asarray(expected)
    assert value.shape == expected.shape, (value.shape, expected.shape)
    return float(np.abs(value - expected).max() / max(1.0, np.abs(expected).max()))
