"""What actuates an MJCF model beyond motors and servos: as MuJoCo has it, or named in the warning."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.formats.mjcf import mechanism_from_mjcf

mujoco = pytest.importorskip("mujoco")

ROD = '<geom type="capsule" fromto="0 0 0 1 0 0" size=".05" mass="1"/>'
HINGE = '<joint name="j" axis="0 1 0"/>'


def model(before="", joint=HINGE, after="", body='name="a"', geom=ROD):
    return f"<mujoco>{before}<worldbody><body {body}>{joint}{geom}</body></worldbody>{after}</mujoco>"


def read(text):
    with pytest.warns(kt.KinetreeWarning) as heard:
        found = mechanism_from_mjcf(text)
    assert len(heard) == 1
    return found, str(heard[0].message)


def inverse(text, q):
    m = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(m)
    data.qpos[:] = q
    mujoco.mj_inverse(m, data)
    return data.qfrc_inverse


def test_motors_that_compensate_gravity_carry_the_weight():
    joint = HINGE.replace("/>", ' actuatorgravcomp="true" actuatorfrcrange="-2 2"/>')
    text = model(joint=joint, body='name="a" gravcomp="1"')
    found, said = read(text)
    assert "actuatorgravcomp" in said and "weight of a" in said
    for q in (0.0, 0.7):
        expected = inverse(text, q)
        assert abs(expected[0]) > 3.0
        assert np.allclose(kt.inverse_dynamics(found, [q], [0.0], [0.0]), expected, rtol=1e-12)


def test_compensation_from_outside_stays_outside():
    text = model(body='name="a" gravcomp="1"')
    found = mechanism_from_mjcf(text)
    assert np.allclose(kt.inverse_dynamics(found, [0.0], [0.0], [0.0]), inverse(text, 0.0), atol=1e-12)


def test_a_body_that_only_some_motors_compensate_is_named():
    inner = f'<body name="b" pos="1 0 0" gravcomp="1"><joint name="k" axis="0 1 0"/>{ROD}</body>'
    text = model(joint=HINGE.replace("/>", ' actuatorgravcomp="true"/>'), geom=ROD + inner)
    assert "part of the motors in gravity compensation (actuatorgravcomp) of b" in read(text)[1]


PID = (
    '<extension><plugin plugin="mujoco.pid"><instance name="p"><config key="kp" value="50"/></instance>'
    "</plugin></extension>"
)
MOTOR = '<motor name="mo" joint="j" group="1" ctrlrange="-3 3"/>'


@pytest.mark.parametrize(
    ("before", "actuator", "said"),
    [
        (PID, '<plugin name="mo" joint="j" plugin="mujoco.pid" instance="p"/>', "a plugin computes (mo)"),
        ('<option actuatorgroupdisable="1"/>', MOTOR, "actuators that are switched off (mo)"),
        ('<option><flag actuation="disable"/></option>', MOTOR, "actuators that are switched off (mo)"),
    ],
)
def test_actuators_that_are_left_out_leave_no_limit(before, actuator, said):
    found, message = read(model(before, after=f"<actuator>{actuator}</actuator>"))
    assert said in message
    assert not found.actuators and np.isinf(found.tree.effort_limit).all()


def test_a_motor_of_another_group_works():
    found = mechanism_from_mjcf(
        model('<option actuatorgroupdisable="2"/>', after=f"<actuator>{MOTOR}</actuator>")
    )
    assert [x.name for x in found.actuators] == ["mo"] and found.tree.effort_limit.tolist() == [3.0]


def test_delays_are_named_and_the_motor_is_kept():
    delayed = '<actuator><motor name="mo" joint="j" nsample="10" delay="0.02"/></actuator>'
    try:
        mujoco.MjModel.from_xml_string(model(after=delayed))
    except ValueError:
        pytest.skip("this version of MuJoCo has no delays")
    found, said = read(model(after=delayed))
    assert "delays of actuators (mo)" in said and [x.name for x in found.actuators] == ["mo"]


def test_force_ranges_of_tendons_are_named():
    tendon = '<tendon><fixed name="t" actuatorfrcrange="-1 1"><joint joint="j" coef="1"/></fixed></tendon>'
    after = f'{tendon}<actuator><motor tendon="t"/></actuator>'
    assert "force ranges of actuators of fixed tendons (t)" in read(model(after=after))[1]


def test_thrusters_are_named_as_such():
    rotor = '<site name="s"/>'
    after = '<actuator><motor name="up" site="s" gear="0 0 1 0 0 0"/></actuator>'
    text = model(joint="<freejoint/>", geom=ROD + rotor, after=after)
    assert "forces of actuators at sites, such as thrusters: drones fall (up)" in read(text)[1]


@pytest.mark.parametrize(("condim", "said"), [(3, ()), (4, ("torsional",)), (6, ("torsional", "rolling"))])
def test_friction_other_than_of_sliding_is_named(condim, said):
    geom = f'<geom name="ball" size="0.1" condim="{condim}"/>'
    text = model(joint="<freejoint/>", geom=geom).replace(
        "<worldbody>", '<worldbody><geom type="plane" size="1 1 1"/>'
    )
    if not said:
        assert mechanism_from_mjcf(text).contact_points
        return
    message = read(text)[1]
    for kind in ("torsional", "rolling"):
        assert (f"{kind} friction of contacts by condim (ball)" in message) == (kind in said)
