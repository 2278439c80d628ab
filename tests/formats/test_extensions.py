"""Extensions of URDF and SDF by Drake, Gazebo and Bullet: read where a mechanism can hold them, or named."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.formats.sdf import mechanism_from_sdf
from kinetree.formats.urdf import load_urdf, mechanism_from_urdf
from kinetree.lint.mechanism import check_mechanism_file
from support.each import each

MASS = '<mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>'
ROD = f'<inertial><origin xyz="0 0 -0.5"/>{MASS}</inertial>'
SDF_ROD = (
    "<inertial><pose>0 0 -0.5 0 0 0</pose><mass>1</mass>"
    "<inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>"
)


def urdf(extra="", limit='lower="-3" upper="3" effort="20" velocity="10"', link="", kind="revolute"):
    return (
        f'<robot name="r" xmlns:drake="http://drake.mit.edu"><link name="world"/>'
        f'<link name="a">{ROD}{link}</link>'
        f'<joint name="j" type="{kind}"><parent link="world"/><child link="a"/><axis xyz="0 1 0"/>'
        f"<limit {limit}/></joint>{extra}</robot>"
    )


def sdf(extra="", link="", joint="", axis="", more=""):
    return (
        f'<sdf version="1.9" xmlns:drake="http://drake.mit.edu"><model name="m">'
        f'<link name="a">{SDF_ROD}{link}</link>'
        f'{more}<joint name="j" type="revolute"><parent>world</parent><child>a</child>{joint}'
        f"<axis><xyz>0 1 0</xyz>{axis}</axis></joint>{extra}</model></sdf>"
    )


READERS = {"urdf": mechanism_from_urdf, "sdf": mechanism_from_sdf}


def heard_of(text, form):
    with pytest.warns(kt.KinetreeWarning, match="ignored: ") as heard:
        found = READERS[form](text)
    assert len(heard) == 1
    return found, str(heard[0].message)


# ---- Drake ------------------------------------------------------------------------------------------------

TRANSMISSION = (
    '<transmission><type>SimpleTransmission</type><joint name="j"/><actuator name="m">'
    '<drake:rotor_inertia value="0.01"/><drake:gear_ratio value="10"/></actuator></transmission>'
)
ROTOR = "<drake:rotor_inertia>0.01</drake:rotor_inertia><drake:gear_ratio>10</drake:gear_ratio>"


@pytest.mark.parametrize(("form", "text"), [("urdf", urdf(TRANSMISSION)), ("sdf", sdf(joint=ROTOR))])
def test_a_rotor_behind_a_gear_adds_its_inertia_times_the_ratio_squared(form, text):
    plain = {"urdf": urdf(), "sdf": sdf()}[form]
    M, M_plain = (kt.mass_matrix(READERS[form](x), [0.3])[0, 0] for x in (text, plain))
    assert M_plain == pytest.approx(0.1 + 0.25)
    assert M - M_plain == pytest.approx(0.01 * 10**2)


def test_a_rotor_that_cannot_be_is_refused():
    for value in ("-1", "nan", "x"):
        with pytest.raises(kt.KinetreeError, match=r"(rotor|must be a number)"):
            mechanism_from_urdf(urdf(TRANSMISSION.replace("0.01", value)))


def test_a_planar_joint_of_drake_carries_its_child():
    more = f'<link name="b">{SDF_ROD}</link>'
    joint = (
        '<drake:joint name="k" type="planar"><drake:parent>a</drake:parent><drake:child>b</drake:child>'
        "<drake:damping>1 2 3</drake:damping></drake:joint>"
    )
    found = mechanism_from_sdf(sdf(joint, more=more))
    assert found.link("b").parent == "a" and found.n_dof == 4
    at = kt.forward_kinematics(found, [0.0, 0.2, 0.3, 0.5])
    assert at.position[found.body_index("b")] == pytest.approx([0.2, 0.3, 0.0])
    still = np.zeros(4)
    drag = kt.inverse_dynamics(found, still, [0.0, 1.0, 1.0, 1.0], still) - kt.inverse_dynamics(
        mechanism_from_sdf(sdf(joint.replace("1 2 3", "0 0 0"), more=more)),
        still,
        [0.0, 1.0, 1.0, 1.0],
        still,
    )
    assert drag == pytest.approx([0.0, 1.0, 2.0, 3.0])
    with pytest.raises(kt.errors.ModelError, match="unknown joint type 'rpy_floating'"):
        mechanism_from_sdf(sdf(joint.replace("planar", "rpy_floating"), more=more))


def test_ball_joints_of_drake_and_spherical_ones_of_bullet_are_the_same():
    joint = '<drake:joint name="k" type="ball"><parent link="a"/><child link="b"/></drake:joint>'
    texts = [joint, joint.replace("drake:", "").replace("ball", "spherical")]
    found = [mechanism_from_urdf(urdf(f'<link name="b">{ROD}</link>{x}')) for x in texts]
    assert found[0] == found[1] and found[0].n_dof == 4
    with pytest.raises(kt.errors.ModelError, match="unknown joint type 'ball'"):
        mechanism_from_urdf(urdf(f'<link name="b"/>{joint.replace("drake:", "")}'))


def test_a_mimic_of_drake_in_sdf():
    more = f'<link name="b">{SDF_ROD}</link>'
    joint = (
        '<joint name="k" type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 1 0</xyz>'
        '<drake:mimic joint="j" multiplier="2" offset="0.1"/></axis></joint>'
    )
    found = mechanism_from_sdf(sdf(joint, more=more))
    assert found.joint_names == ("j",) and found.link("b").joint.mimic == kt.model.Mimic("j", 2.0, 0.1)


# ---- what is ignored is named ---------------------------------------------------------------------------

GAZEBO = '<gazebo reference="j"><{0}>{1}</{0}></gazebo>'


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ('<loop_joint name="l"/>', "<loop_joint> of <robot>"),
        ('<force_element name="s"/>', "<force_element> of <robot>"),
        ("<drake:linear_bushing_rpy/>", "<drake:linear_bushing_rpy> of <robot>"),
        (GAZEBO.format("springStiffness", "40"), "<springStiffness> of <gazebo>"),
        (GAZEBO.format("turnGravityOff", "true"), "<turnGravityOff> of <gazebo>"),
        (GAZEBO.format("static", "1"), "<static> of <gazebo>"),
        (GAZEBO.format("joint", ""), "<joint> of <gazebo>"),
        ('<gazebo><plugin filename="libmotor_model.so" name="p"/></gazebo>', "forces of plugins"),
        ('<mujoco><option gravity="0 0 0"/></mujoco>', "<option> of <mujoco>"),
    ],
)
def test_what_acts_on_a_robot_and_is_not_read_is_named(extra, said, tmp_path):
    found, message = heard_of(urdf(extra), "urdf")
    assert said in message and found == mechanism_from_urdf(urdf())
    file = tmp_path / "arm.urdf"
    file.write_text(urdf(extra))
    assert [x.rule for x in check_mechanism_file(file)] in (["not-used"], ["unknown-element"])


@pytest.mark.parametrize(
    "extra",
    [
        GAZEBO.format("springStiffness", "0"), GAZEBO.format("turnGravityOff", "false"),
        "<material name='m'/>", GAZEBO.format("mu1", "0.5"),
        '<gazebo><plugin filename="libgazebo_ros_control.so" name="c"/></gazebo>',
        '<mujoco><compiler meshdir="x"/></mujoco>', "<drake:collision_filter_group name='g'/>",
    ],
)  # fmt: skip
def test_what_changes_nothing_is_not_named(extra):
    assert mechanism_from_urdf(urdf(extra)) == mechanism_from_urdf(urdf())  # warnings are errors


@each(
    ("parts", "said"),
    [
        ({"extra": "<springs>7</springs>"}, "<springs> of <model>"),
        ({"extra": "<drake:ball_constraint/>"}, "<drake:ball_constraint> of <model>"),
        ({"extra": '<plugin filename="gz-sim-hydrodynamics-system" name="p"/>'}, "forces of plugins"),
        ({"link": "<velocity_decay><linear>0.1</linear></velocity_decay>"}, "<velocity_decay> of <link>"),
        ({"link": "<kinematic>true</kinematic>"}, "<kinematic> of <link>"),
        ({"link": "<drake:deformable_properties/>"}, "<drake:deformable_properties> of <link>"),
        ({"axis": "<initial_position>0.7</initial_position>"}, "<initial_position> of <axis>"),
        ({"axis": "<limit><stiffness>10</stiffness></limit>"}, "<stiffness> of <limit>"),
        ({"joint": "<spring>10</spring>"}, "<spring> of <joint>"),
        ({"link": SDF_ROD.replace("<mass>1", "<mass>5")}, "<inertial> after the first of a <link>"),
    ],
)
def test_what_acts_on_a_model_and_is_not_read_is_named(parts, said):
    found, message = heard_of(sdf(**parts), "sdf")
    assert said in message and found == mechanism_from_sdf(sdf())


def test_a_world_with_a_state_and_wind():
    model = sdf().partition("<model")[2].rpartition("</sdf>")[0]
    text = f'<sdf version="1.9"><world name="w"><model{model}<state world_name="w"/><wind><linear_velocity>1 0 0</linear_velocity></wind></world></sdf>'  # noqa: E501
    message = heard_of(text, "sdf")[1]
    assert "<state> of the world" in message and "<wind> of the world" in message


def test_a_part_of_a_mesh_is_not_drawn_as_all_of_it():
    mesh = "<visual name='v'><geometry><mesh><uri>car.obj</uri><submesh><name>wheel</name></submesh></mesh></geometry></visual>"  # noqa: E501
    found, message = heard_of(sdf(link=mesh), "sdf")
    assert "parts of meshes (<submesh>)" in message and not found.link("a").body.shapes


# ---- numbers that mean none ------------------------------------------------------------------------------


def test_zero_limits_of_urdf_are_none_and_said(tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text(urdf(limit='lower="-3" upper="3" effort="0" velocity="0"'))
    with pytest.warns(kt.KinetreeWarning, match=r'velocity="0" of <limit> .*effort="0" of <limit>'):
        found = load_urdf(file)
    joint = found.link("a").joint
    assert np.isinf([*joint.effort_limit, *joint.velocity_limit]).all() and joint.upper[0] == 3.0
    assert [x.rule for x in check_mechanism_file(file)] == ["zero-limit", "zero-limit"]


@pytest.mark.parametrize(("form", "key"), [("urdf", "lower"), ("sdf", "lower"), ("urdf", "velocity")])
def test_limits_that_no_joint_can_have_are_none(form, key):
    if form == "sdf":
        text = sdf(axis="<limit><lower>2</lower><upper>1</upper></limit>")
    else:
        text = urdf(limit='lower="2" upper="1"' if key == "lower" else 'velocity="-1"')
    found, message = heard_of(text, form)
    joint = found.link("a").joint
    assert np.isinf([*joint.lower, *joint.upper, *joint.velocity_limit]).all()
    assert ("lower above upper" if key == "lower" else "negative velocity") in message
    with pytest.raises(kt.errors.ModelError):
        READERS[form](text, strict=True)


def test_of_two_inertias_of_a_link_the_first_counts():
    text = urdf(link=f"<inertial>{MASS.replace('1', '7', 1)}</inertial>")
    found, message = heard_of(text, "urdf")
    assert found == mechanism_from_urdf(urdf()) and "<inertial> after the first of a <link>" in message


# ---- inertia of shapes -----------------------------------------------------------------------------------


def computed(shape, more="", collision=""):
    text = (
        f'<sdf version="1.11"><model name="m"><static>1</static><link name="a">'
        f'<inertial auto="true">{more}</inertial>'
        f'<collision name="c">{collision}<geometry>{shape}</geometry></collision></link></model></sdf>'
    )
    return mechanism_from_sdf(text).link("a").body.inertia


BOX = "<box><size>1 1 1</size></box>"


def test_a_mass_that_is_given_wins_over_the_density():
    found = computed(BOX, "<mass>6</mass>")
    assert found.mass == 6.0 and np.allclose(found.moment, np.eye(3))  # m a^2 / 6
    assert computed(BOX).mass == pytest.approx(1000.0)


def stacked(radius_at, z0, z1, density, n=20000):
    """Mass, center and moments about it of thin disks, summed."""
    edges = np.linspace(z0, z1, n + 1)
    z, dz = 0.5 * (edges[1:] + edges[:-1]), np.diff(edges)
    r = radius_at(z)
    m = density * np.pi * r**2 * dz
    center = (m * z).sum() / m.sum()
    across = (m * (r**2 / 4 + (z - center) ** 2)).sum()
    return m.sum(), center, [across, across, (m * r**2 / 2).sum()]


@pytest.mark.parametrize("tag", ["cone", "capsule"])
def test_cones_and_capsules_are_stacks_of_disks(tag):
    r, h, density = 0.3, 0.8, 500.0
    found = computed(
        f"<{tag}><radius>{r}</radius><length>{h}</length></{tag}>", collision=f"<density>{density}</density>"
    )
    if tag == "cone":
        mass, center, moments = stacked(lambda z: r * (0.5 - z / h), -h / 2, h / 2, density)
    else:
        beyond = lambda z: np.maximum(np.abs(z) - h / 2, 0.0)  # noqa: E731
        mass, center, moments = stacked(
            lambda z: np.sqrt(r**2 - beyond(z) ** 2), -h / 2 - r, h / 2 + r, density
        )
    assert found.mass == pytest.approx(mass, rel=1e-6)
    assert found.center == pytest.approx([0.0, 0.0, center], abs=1e-6)
    assert np.allclose(found.moment, np.diag(moments), rtol=1e-6, atol=1e-9)
