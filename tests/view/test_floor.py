"""Robots of MJCF files on the page: limits that do not span zero, and the floor of their scene."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.simulation.standing import standing
from kinetree.viewer.pushed import pushed
from kinetree.viewer.run_panel import FREE, Request, run_request

pytest.importorskip("mujoco")
RAMP = " ".join(f"{h}" for h in np.tile(np.linspace(0, 1, 5), 3))  # rises along x
SCENE = f"""
<mujoco><asset><hfield name="ramp" nrow="3" ncol="5" size="2 1 0.4 0.1" elevation="{RAMP}"/></asset>
<worldbody><geom type="hfield" hfield="ramp" pos="0 0 0.1" friction="0.9"/>
<body name="ball" pos="0.5 0 3"><freejoint name="base"/><geom size="0.1" mass="1"/>
 <body name="arm"><joint name="hinge" axis="0 1 0" range="-2.7929 -0.254402" limited="true"/>
  <geom type="capsule" fromto="0 0 0 0 0 0.2" size="0.02" contype="0" conaffinity="0" mass="0.1"/>
 </body></body>
</worldbody><compiler angle="radian"/></mujoco>
"""


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    file = tmp_path_factory.mktemp("scene") / "scene.xml"
    file.write_text(SCENE)
    return kt.load(file)


@pytest.fixture(scope="module")
def page(robot):
    with kt.view(robot, port=0, open_browser=False, wait=False) as shown:
        yield shown


def test_a_limit_below_zero_whose_width_is_rounded_is_where_the_slider_begins(page):
    """-2.7929 + (2.7929 - 0.254402) is less than -0.254402 by rounding."""
    assert -2.7929 + (-0.254402 + 2.7929) < -0.254402
    hinge = page.pose.sliders[6]
    assert (hinge.min, hinge.max, hinge.value) == (-2.7929, -0.254402, -0.254402)


def test_a_ball_is_put_on_the_ramp_of_its_scene_by_its_underside(robot, page):
    """At x = 0.5 the ramp is 0.1 + 0.4 (0.5 + 2) / 4 m high, and its slope lets the underside be beside."""
    page.pose.reset()
    center = kt.forward_kinematics(robot, page.pose.q)["ball"][1]
    assert center[:2] == pytest.approx([0.5, 0.0])
    assert center[2] == pytest.approx(0.1 + 0.4 * 2.5 / 4 + 0.1, abs=1e-3)
    assert page.pose.sliders[2].min < page.pose.q[2] == pytest.approx(center[2] - 3.0)


def test_the_terrain_is_drawn_and_simulations_from_the_page_stand_on_it(robot, page):
    corners = page.stage._terrain.vertices
    assert corners[:, 2].min() == pytest.approx(0.1, abs=1e-3)
    assert corners[:, 2].max() == pytest.approx(0.5, abs=1e-3)
    assert float(page.simulation.friction.value) == pytest.approx(0.9)
    q0 = standing(robot, np.array([0, 0, 0, 0, 0, 0, -1.0]))
    request = Request(0.2, (0.0, 0.0, -9.81), FREE, ground=True, stiffness=5000.0, friction=0.9)
    run = run_request(robot, q0, request)
    assert run.settings["ground"]["terrain"]["heights"] == np.asarray(robot.floor.terrain.heights).tolist()
    assert abs(float(run.q.values[-1, 2]) - q0[2]) < 0.05  # on a level plane at zero it falls 0.2 m
    assert pushed(robot, q0, request, FREE, page.simulation.given) is not None


def test_a_terrain_does_not_hinder_pulling_at_bodies(page):
    """What can be pulled are the solids of bodies; the terrain is none of them."""
    page.stage.grab(lambda body, event: None)
    owners, solids = page.stage._owners, page.stage._solids
    assert len(owners) == len(solids) > 0 and min(owners) >= 0
    assert not any("terrain" in solid.name for solid in solids)
    page.stage.let_go()
