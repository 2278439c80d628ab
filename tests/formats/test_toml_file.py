"""Mechanism files as people write and read them."""

from __future__ import annotations

import math
import tomllib

import numpy as np
import pytest

from kinetree.algebra.arrays import frozen
from kinetree.algebra.placement import Placement
from kinetree.algebra.rotation import rotation_from_rpy
from kinetree.errors import FileError, InputError
from kinetree.formats.toml_file import mechanism_from_table, mechanism_from_toml, toml_text
from kinetree.model.body import Shape
from kinetree.model.builder import Builder
from kinetree.model.contact_point import ContactPoint
from kinetree.model.dh import from_dh
from kinetree.model.inertia import Inertia
from kinetree.model.joint import Mimic
from kinetree.model.mechanism import Mechanism
from support.each import each

ARM = """
name = "arm"
gravity = [0, 0, -3.7]           # on Mars

[[body]]
name = "upper"
mass = 2.0
center = [0.2, 0, 0]
inertia = [0.01, 0.02, 0.02, 0.001, 0, 0]
shapes = [{ kind = "box", size = [0.4, 0.1, 0.1], at = [0.2, 0, 0], rpy = ["90 deg", 0, 0] }]
[body.joint]
name = "shoulder"
kind = "revolute"
axis = "y"
at = [0, 0, 0.3]
rpy = [0, 0, 0.5]
lower = "-90 deg"
upper = 1.5
effort_limit = 20
armature = 0.05
viscous = 0.1

[[body]]
name = "fore"
parent = "upper"
joint = { kind = "prismatic", axis = "x", at = [0.4, 0, 0], mimic = { joint = "shoulder", multiplier = 0.1 } }
rod = { mass = 1, end = [0.3, 0, 0] }

[[body]]
name = "camera"
parent = "fore"
joint = "fixed"

[[body]]
name = "box"
joint = { name = "float", kind = "free", sequence = "ZYX", lower = [-inf, -1, -1, -1, -1, -1] }
box = { mass = 3, size = [0.1, 0.2, 0.3] }

[[loop]]
name = "grip"
kind = "revolute"
axis = "y"
a = { body = "fore", at = [0.3, 0, 0] }
b = { body = "box", rotation = [[0, -1, 0], [1, 0, 0], [0, 0, 1]] }

[[contact]]
name = "corner"
body = "box"
at = [0.05, 0.1, -0.15]
"""


def arm_from_builder() -> Mechanism:
    b = Builder("arm", gravity=(0, 0, -3.7))
    shoulder = b.world.revolute(
        "shoulder",
        axis="y",
        at=(0, 0, 0.3),
        rpy=(0, 0, 0.5),
        lower=-math.pi / 2,
        upper=1.5,
        effort_limit=20,
        armature=0.05,
        viscous=0.1,
    )
    moment = np.array([[0.01, 0.001, 0], [0.001, 0.02, 0], [0, 0, 0.02]])
    drawn = Shape("box", frozen([0.4, 0.1, 0.1]), Placement.at((0.2, 0, 0), rpy=(math.pi / 2, 0, 0)))
    upper = shoulder.body("upper", Inertia(2.0, frozen([0.2, 0, 0]), moment), [drawn])
    follow = Mimic("shoulder", multiplier=0.1)
    fore = upper.prismatic("fore_joint", axis="x", at=(0.4, 0, 0), mimic=follow).body(
        "fore", Inertia.rod(1, (0.3, 0, 0))
    )
    fore.fixed("camera_joint").body("camera")
    free = b.world.free("float", sequence="ZYX", lower=[-np.inf, -1, -1, -1, -1, -1])
    box = free.body("box", Inertia.box(3, (0.1, 0.2, 0.3)))
    b.loop("grip", fore, box, (0.3, 0, 0), axis="y", rotation_b=[[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    box.contact("corner", (0.05, 0.1, -0.15))
    return b.build()


def test_hand_written_file_equals_the_builder() -> None:
    assert mechanism_from_toml(ARM) == arm_from_builder()


def test_parsed_table_and_byte_order_mark_give_the_same_mechanism() -> None:
    assert mechanism_from_table(tomllib.loads(ARM)) == arm_from_builder()
    assert mechanism_from_toml("\ufeff" + ARM.replace("\n", "\r\n")) == arm_from_builder()


@each(
    ("solid", "expected"),
    [
        ("point = { mass = 2, at = [1, 2, 3] }", Inertia.point(2, (1, 2, 3))),
        ("rod = { mass = 2, end = [1, 0, 0], start = [0, 0, 1] }", Inertia.rod(2, (1, 0, 0), (0, 0, 1))),
        ("box = { mass = 2, size = [1, 2, 3], center = [1, 0, 0] }", Inertia.box(2, (1, 2, 3), (1, 0, 0))),
        ('cylinder = { mass = 2, radius = 1, length = 3, axis = "x" }', Inertia.cylinder(2, 1, 3, "x")),
        ("sphere = { mass = 2, radius = 0.5 }", Inertia.sphere(2, 0.5)),
        ("bent_rod = { mass = 2, a = 1, b = 0.5, hub = 0.1 }", Inertia.bent_rod(2, 1, 0.5, hub=0.1)),
        (
            "about_origin = { mass = 2, center = [0.5, 0, 0], inertia = [1, 2, 2] }",
            Inertia.about_origin(2, (0.5, 0, 0), (1, 2, 2)),
        ),
        ("mass = 2", Inertia(2.0)),
        ("", Inertia()),
        (
            "mass = 1\ninertia = [1, 1, 3]\nallow_unphysical = true",
            Inertia(1.0, moment=frozen([1, 1, 3]), allow_unphysical=True),
        ),
        (
            "mass = 1\ninertia = [[2, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 2]]",
            Inertia(1.0, moment=frozen([[2, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 2]])),
        ),
        (
            "mass = 1\ninertia = [2, 3, 4, 0.1, 0.2, 0.3]",
            Inertia(1.0, moment=frozen([[2, 0.1, 0.2], [0.1, 3, 0.3], [0.2, 0.3, 4]])),
        ),
    ],
)
def test_inertia_in_all_its_forms(solid: str, expected: Inertia) -> None:
    text = f'name = "m"\n[[body]]\nname = "b"\njoint = "free"\n{solid}\n'
    assert mechanism_from_toml(text).link("b").body.inertia == expected


@pytest.mark.parametrize("text", ["90 deg", "90deg", " 9e1 deg ", "+90.0 °"])
def test_degrees(text: str) -> None:
    joint = f'{{ kind = "revolute", rpy = [0, 0, "{text}"], lower = "-{text.strip(" +")}", rest = "{text}" }}'
    link = mechanism_from_toml(f'name = "m"\n[[body]]\nname = "b"\njoint = {joint}\n').links[0]
    assert np.array_equal(link.placement.rotation, rotation_from_rpy([0, 0, np.pi / 2]))
    assert link.joint.lower[0] == -np.pi / 2
    assert link.joint.rest[0] == np.pi / 2


DH = """
name = "two links"
[dh]
convention = "classic"
[[dh.row]]
a = 0.4
alpha = "90 deg"
mass = 0.5
center = [-0.2, 0, 0]
inertia = [0, 0.1, 0.1]
lower = "-45 deg"
[[dh.row]]
name = "slider"
joint = "prismatic"
joint_name = "slide"
d = 0.1
parent = 0
mimic = { joint = "joint1", multiplier = 2 }
[[contact]]
name = "tip"
body = "slider"
"""


def test_dh_table_with_contact_point() -> None:
    rows = [
        {
            "a": 0.4,
            "alpha": math.pi / 2,
            "mass": 0.5,
            "center": (-0.2, 0, 0),
            "inertia": (0, 0.1, 0.1),
            "lower": -math.pi / 4,
        },
        {
            "name": "slider",
            "joint": "prismatic",
            "joint_name": "slide",
            "d": 0.1,
            "parent": 0,
            "mimic": Mimic("joint1", 2.0),
        },
    ]
    bare = from_dh(rows, convention="classic", name="two links")
    point = ContactPoint("tip", "slider", frozen([0, 0, 0]))
    expected = Mechanism(bare.name, bare.links, bare.gravity, (), (point,))
    assert mechanism_from_toml(DH) == expected


def test_written_text_reads_well() -> None:
    builder = Builder("arm")
    joint = builder.world.revolute("shoulder", axis="y", at=(0, 0, 0.3), lower=-1.5, upper=1.5)
    joint.body("upper", Inertia(2.0, frozen([0.2, 0, 0]), frozen([0, 0.01, 0.01]))).fixed("hand_joint").body(
        "hand"
    )
    assert toml_text(builder.build()) == (
        "# Kinetree mechanism. SI units: m, kg, s, N, rad.\n"
        'name = "arm"\n'
        "gravity = [0, 0, -9.81]\n"
        "\n"
        "[[body]]\n"
        'name = "upper"\n'
        'parent = "world"\n'
        'joint = { name = "shoulder", kind = "revolute", axis = "y", at = [0, 0, 0.3], '
        "lower = -1.5, upper = 1.5 }\n"
        "mass = 2\n"
        "center = [0.2, 0, 0]\n"
        "inertia = [0, 0.01, 0.01]\n"
        "\n"
        "[[body]]\n"
        'name = "hand"\n'
        'parent = "upper"\n'
        'joint = "fixed"\n'
    )


def test_what_cannot_be_written_is_refused() -> None:
    builder = Builder("m")
    builder.world.free("j").body("b", shapes=[Shape("mesh", frozen([1, 1, 1]), file="half \ud800")])
    with pytest.raises(FileError, match="surrogate"):
        toml_text(builder.build())
    with pytest.raises(InputError, match="Mechanism"):
        toml_text("arm")  # type: ignore[arg-type]
