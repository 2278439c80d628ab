"""Collisions of SDF links as contact points, and planes of worlds as floors."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.formats.sdf import mechanism_from_sdf

pytestmark = pytest.mark.filterwarnings("ignore:.*models that do not move")
LINK = """
<link name="{name}"><pose>{pose}</pose>
<inertial><mass>2</mass><inertia><ixx>.1</ixx><iyy>.1</iyy><izz>.1</izz></inertia></inertial>
<collision name="shell"><pose>0.1 0 0 0 0 0</pose><geometry>{shape}</geometry>{surface}</collision></link>
"""
GROUND = """
<model name="ground"><static>true</static><pose>0 0 0.5 0 0 0</pose><link name="l"><collision name="c">
<geometry><plane><normal>0 0 1</normal></plane></geometry>
<surface><friction><ode><mu>0.6</mu></ode></friction></surface></collision></link></model>
"""
SLIPPERY = "<surface><friction><ode><mu>0.3</mu></ode></friction></surface>"


def link(name="body", shape="<sphere><radius>0.2</radius></sphere>", surface="", pose="0 0 1 0 0 0"):
    """A link with one collision."""
    return LINK.format(name=name, shape=shape, surface=surface, pose=pose)


def model(inside):
    """A model that floats, in a file of its own."""
    return f'<sdf version="1.10"><model name="m">{inside}</model></sdf>'


def world(inside):
    """The same in a world with a plane."""
    return f'<sdf version="1.10"><world name="w">{GROUND}<model name="m">{inside}</model></world></sdf>'


@pytest.mark.parametrize(
    ("shape", "count"),
    [
        ("<sphere><radius>0.2</radius></sphere>", 1),
        ("<box><size>0.2 0.4 0.6</size></box>", 8),
        ("<cylinder><radius>0.1</radius><length>0.6</length></cylinder>", 2),
        ("<capsule><radius>0.1</radius><length>0.6</length></capsule>", 2),
        ("<ellipsoid><radii>0.1 0.2 0.3</radii></ellipsoid>", 1),
    ],
)
def test_shapes_reach_as_far_down_as_they_are_large(shape, count):
    robot = mechanism_from_sdf(model(link(shape=shape)))
    assert len(robot.contact_points) == count
    lowest = {"sphere": 0.2, "box": 0.3, "cylinder": 0.3, "capsule": 0.4, "ellipsoid": 0.3}
    down = min(point.lowest(np.array([0.0, 0.0, 1.0]))[2] for point in robot.contact_points)
    assert down == pytest.approx(-lowest[shape[1 : shape.index(">")]])
    assert robot.contact_points[0].friction == 1.0


def test_a_world_has_a_floor_and_the_smaller_friction_counts():
    robot = mechanism_from_sdf(world(link(surface=SLIPPERY) + link("other", pose="1 0 1 0 0 0")))
    assert robot.floor.origin == (0.0, 0.0, 0.5)
    assert robot.floor.friction == 0.6
    assert [point.friction for point in robot.contact_points] == [0.3, 0.6]
    assert robot.contact_points[0].position == pytest.approx([0.1, 0, 0])


def test_a_box_of_a_world_comes_to_rest_on_its_plane():
    robot = mechanism_from_sdf(
        world(link(shape="<box><size>0.4 0.4 0.4</size></box>", pose="0 0 0.71 0 0 0"))
    )
    run = kt.simulate(robot, np.zeros(6), None, 0.5, ground=kt.Ground.of(robot), rtol=1e-6)
    assert run.q.values[-1, 2] + 0.71 == pytest.approx(0.7, abs=0.002)
    assert run.contact_force.values[-1].sum(axis=0)[2] == pytest.approx(2 * 9.8, rel=0.02)


def test_models_that_are_held_touch_nothing_without_a_floor():
    held = link() + '<joint name="j" type="revolute"><parent>world</parent><child>body</child><axis/></joint>'
    assert mechanism_from_sdf(model(held)).contact_points == ()
    assert len(mechanism_from_sdf(world(held)).contact_points) == 1
