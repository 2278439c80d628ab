"""A mechanism written as TOML and read again is the same, bit for bit; a damaged file is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetree.algebra.arrays import frozen
from kinetree.algebra.placement import Placement
from kinetree.algebra.rotation import euler_rotation
from kinetree.errors import KinetreeError
from kinetree.formats.toml_file import mechanism_from_table, mechanism_from_toml, mechanism_table, toml_text
from kinetree.model.body import CONTROL, REORDERING, SHAPE_SIZES, Body, Shape
from kinetree.model.builder import Builder
from kinetree.model.contact_point import ContactPoint
from kinetree.model.inertia import LONGEST, Inertia
from kinetree.model.joint import PARAMETERS, Joint, Mimic
from kinetree.model.joint_kind import KINDS
from kinetree.model.loop import Loop
from kinetree.model.mechanism import Link, Mechanism
from kinetree.model.zoo import ZOO
from support.each import each

NAMES = [
    "plain",
    'quo"te',
    "back\\slash",
    "träger",
    "右腕",
    "it's",
    "a b",
    "[x]",
    "a.b = #1",
    "soft\u00adhyphen",
    "😀",
]


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    return euler_rotation("ZYX", rng.uniform(-3, 3, 3))


def random_placement(rng: np.random.Generator) -> Placement:
    rotation = random_rotation(rng) if rng.random() < 0.6 else np.eye(3)
    return Placement.at(rng.normal(size=3) * rng.integers(0, 2, 3), rotation)


def random_joint(rng: np.random.Generator, name: str, kind: str, without: str = "") -> Joint:
    n = KINDS[kind].n_dof
    directions: dict[str, Any] = {}
    if kind in ("revolute", "prismatic", "cylindrical"):
        directions = {"axis": rng.normal(size=3) if rng.random() < 0.7 else "-y"}
    elif n and rng.random() < 0.4:
        directions = {"axes": list(rng.normal(size=(n, 3)))}
    elif kind in ("spherical", "free"):
        directions = {"sequence": str(rng.choice(["ZXZ", "XYZ", "YXZ"]))}
    parameters = {}
    for key, (_, smallest) in PARAMETERS.items():
        if rng.random() < 0.5 and key != without:
            parameters[key] = np.abs(rng.normal(size=n)) if smallest is not None else rng.normal(size=n)
    if "upper" in parameters:
        parameters["upper"] = np.abs(parameters["upper"]) + 10
    if n > 1 and "lower" in parameters:
        parameters["lower"][0] = -np.inf
    return Joint.of_kind(name, kind, **directions, **parameters)


def random_inertia(rng: np.random.Generator) -> Inertia:
    if rng.random() < 0.2:
        return Inertia()
    solid = Inertia.box(rng.uniform(0.1, 5), rng.uniform(0.1, 1, 3), rng.normal(size=3))
    moved = solid.moved(random_placement(rng))
    if rng.random() < 0.3:  # not exactly symmetric
        return Inertia(moved.mass, moved.center, moved.moment * (1 + 1e-13 * rng.normal(size=(3, 3))))
    if rng.random() < 0.2:
        return Inertia(1.0, moment=frozen([0.1, 0.2, 5.0]), allow_unphysical=True)
    return moved


def random_shape(rng: np.random.Generator) -> Shape:
    kind = str(rng.choice(list(SHAPE_SIZES)))
    file = 'C:\\meshes\\"new"\n.stl' if kind == "mesh" else None
    return Shape(kind, rng.uniform(0, 1, SHAPE_SIZES[kind]), random_placement(rng), file)


def random_mechanism(seed: int) -> Mechanism:
    """Every joint kind, mimics, limits, loops, contact points, shapes and difficult names."""
    rng = np.random.default_rng(seed)
    kinds = [*rng.permutation(list(KINDS)), "revolute", "prismatic"]
    links: list[Link] = []
    for k, kind in enumerate(kinds):
        name = f"{NAMES[k % len(NAMES)]} {k}"
        parent = "world" if k == 0 or rng.random() < 0.2 else links[rng.integers(k)].body.name
        joint_name = f"{name}_joint" if rng.random() < 0.3 else f"{NAMES[-1 - k]} j{k}"
        shapes = tuple(random_shape(rng) for _ in range(rng.integers(0, 3)))
        links.append(
            Link(
                Body(name, random_inertia(rng), shapes),
                random_joint(rng, joint_name, str(kind)),
                parent,
                random_placement(rng),
            )
        )
    single = next(x.joint.name for x in links if x.joint.kind == "revolute")
    follower = Joint.of_kind("follower", "prismatic", mimic=Mimic(single, *rng.normal(size=2)))
    links.append(Link(Body("follower"), follower, links[0].body.name))
    loops = [
        Loop(
            random_joint(rng, f'loop "{kind}"', kind, without="armature"),  # which cut joints cannot have
            links[k].body.name,
            "world" if k == 2 else "follower",
            random_placement(rng),
            random_placement(rng),
        )
        for k, kind in enumerate(x for x in KINDS if x != "free")
    ]
    points = [ContactPoint(f"p\\{k}", links[k].body.name, rng.normal(size=3)) for k in range(3)]
    return Mechanism(f'm "{seed}"', tuple(links), rng.normal(size=3), tuple(loops), tuple(points))


def all_numbers(mechanism: Mechanism) -> Iterator[bytes]:
    """The bits of every array of a mechanism."""
    yield mechanism.gravity.tobytes()
    for link in mechanism.links:
        yield from (link.body.inertia.center.tobytes(), link.body.inertia.moment.tobytes())
        yield from (link.placement.rotation.tobytes(), link.placement.position.tobytes())
        for shape in link.body.shapes:
            yield from (shape.size.tobytes(), shape.placement.rotation.tobytes())
            yield shape.placement.position.tobytes()
    for loop in mechanism.loops:
        yield from (loop.placement_a.rotation.tobytes(), loop.placement_b.rotation.tobytes())
    for joint in (x.joint for x in (*mechanism.links, *mechanism.loops)):
        yield joint.axes.tobytes()
        yield from (getattr(joint, key).tobytes() for key in PARAMETERS)
    yield from (point.position.tobytes() for point in mechanism.contact_points)


@each("seed", range(40))
def test_round_trip_keeps_every_bit(seed: int) -> None:
    mechanism = random_mechanism(seed)
    text = toml_text(mechanism)
    loaded = mechanism_from_toml(text)
    assert loaded == mechanism
    assert hash(loaded) == hash(mechanism)
    assert list(all_numbers(loaded)) == list(all_numbers(mechanism))
    assert toml_text(loaded) == text
    assert mechanism_from_table(json.loads(json.dumps(mechanism_table(mechanism)))) == mechanism


def test_unit_axes_are_not_normalised_again() -> None:
    rng = np.random.default_rng(7)
    for k in range(300):
        builder = Builder("m")
        builder.world.cylindrical("j", axis=rng.normal(size=3)).body("b")
        mechanism = builder.build()
        assert mechanism_from_toml(toml_text(mechanism)) == mechanism, k


@settings(max_examples=150, deadline=None)
@given(
    numbers=st.lists(st.floats(-LONGEST, LONGEST), min_size=4, max_size=4),
    rest=st.floats(allow_nan=False, allow_infinity=False),
    name=st.text(
        st.characters(exclude_categories=CONTROL, exclude_characters=REORDERING), min_size=1, max_size=12
    ),
)
def test_round_trip_of_any_number_and_any_name(numbers: list[float], rest: float, name: str) -> None:
    builder = Builder("m")
    name = f"{name}."
    joint = builder.world.revolute("j", at=numbers[:3], rest=rest)
    body = joint.body(name, Inertia(abs(numbers[3]), frozen(numbers[:3])))
    body.contact(name, numbers[1:])
    mechanism = builder.build()
    loaded = mechanism_from_toml(toml_text(mechanism))
    assert loaded == mechanism
    assert list(all_numbers(loaded)) == list(all_numbers(mechanism))


@each("name", ZOO)
def test_round_trip_of_the_zoo(name: str) -> None:
    mechanism = ZOO[name]()
    loaded = mechanism_from_toml(toml_text(mechanism))
    assert loaded == mechanism
    assert list(all_numbers(loaded)) == list(all_numbers(mechanism))


@pytest.mark.parametrize("seed", range(4))
def test_damaged_files_raise_only_our_errors(seed: int) -> None:
    rng = np.random.default_rng(seed)
    texts = [toml_text(random_mechanism(seed + k)) for k in range(3)]
    pieces = [
        "nan",
        "inf",
        "-1",
        '"x"',
        "[]",
        "{}",
        "true",
        "1e308",
        "[[1]]",
        "[body]",
        "[[body]]",
        "\n",
        "=",
        "\x00",
    ]
    for k in range(60):
        text = texts[k % 3]
        start = int(rng.integers(len(text)))
        end = start + int(rng.integers(0, 12))
        damaged = text[:start] + str(rng.choice(pieces)) * int(rng.integers(0, 2)) + text[end:]
        try:
            mechanism_from_toml(damaged)
        except KinetreeError as error:
            assert str(error).startswith("text")
