"""Models of OpenSim: what is read from a file that has a bit of everything, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from kinetree.model import CubicSpline, MovingPoint, Scaled

LEG = Path(__file__).parents[1] / "data" / "osim" / "leg.osim"
TEXT = LEG.read_text()


@pytest.fixture(scope="module")
def leg():
    with pytest.warns(kt.KinetreeWarning, match=r"ignored: wrap 'unused', <CoordinateActuator>"):
        return kt.load(LEG)


def changed(folder, *pairs):
    """The leg with parts of its text replaced."""
    text = TEXT
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    path = folder / "changed.osim"
    path.write_text(text)
    return path


def test_coordinates_keep_names_limits_and_defaults(leg):
    slides = ("pelvis_tx", "pelvis_ty", "pelvis_tilt")
    assert leg.joint_names == (*slides, "hip_flexion", "hip_adduction", "knee_angle", "ankle_angle")
    k = leg.joint_index("hip_flexion")
    assert (leg.lower[k], leg.upper[k]) == (-1.0, 2.0)
    assert np.isinf(leg.lower[leg.joint_index("hip_adduction")])  # not clamped
    assert leg.states["default"].q.tolist() == [0.0, 0.95, 0.1, 0.0, 0.0, 0.0, 0.0]
    assert leg.gravity.tolist() == [0.0, -9.80665, 0.0] and leg.mass == pytest.approx(24.8)


def test_functions_of_coordinates_are_followers(leg):
    laws = {x.joint.name: x.joint.mimic for x in leg.links if x.joint.mimic is not None}
    assert laws["knee.translation1"].joint == "knee_angle"
    assert isinstance(laws["knee.translation1"].function.inner, Scaled)  # from its place at zero
    assert laws["knee.translation2"].at(-1.0) == pytest.approx(0.01 + 0.02)
    assert isinstance(laws["knee_angle_beta"].function, CubicSpline)
    beta = laws["knee_angle_beta"].at(-0.7)
    turn = CubicSpline((-2, -1, 0, 0.3), (-1.6, -0.8, 0.05, 0.2)).at(beta)
    assert laws["patellofemoral.rotation1"].at(-0.7) == pytest.approx(turn, abs=1e-14)


def test_muscles_wraps_markers_and_contacts_are_kept(leg):
    vasti, hamstrings = leg.muscles
    assert vasti.kind == "thelen2003" and vasti.curve_numbers["FmaxTendonStrain"] == 0.033
    assert vasti.path[1].coordinate == "knee_angle" and vasti.path[1].active == (-2.5, -1.4)
    assert isinstance(vasti.path[2], MovingPoint) and vasti.path[2].z == 0.002
    assert [(x.wrap, x.first, x.last) for x in vasti.wraps] == [("condyle", 0, 2)]
    assert hamstrings.rigid_tendon and hamstrings.curve_numbers["tendon_strain_at_one_norm_force"] == 0.04
    assert {x.name: (x.shape, x.side) for x in leg.wraps} == {
        "hip_cylinder": ("cylinder", "-x"),
        "condyle": ("ellipsoid", "+x"),
        "ring": ("torus", None),
    }
    assert [(x.name, x.body) for x in leg.markers] == [("ASIS", "pelvis"), ("toe", "foot")]
    assert leg.contact_points[0].half_axes[0, 0] == 0.03 and leg.floor.normal == (0.0, 1.0, 0.0)


def test_it_survives_a_toml_file(leg, tmp_path):
    kt.save(leg, tmp_path / "leg.toml")
    assert kt.load(tmp_path / "leg.toml") == leg


def test_external_force_on_the_base_is_the_rate_of_momentum(leg):
    """M (d2 com/dt2 - g) from positions alone, by differences along a motion."""
    rng, h = np.random.default_rng(4), 1e-3
    q, qd, qdd = (rng.uniform(-1, 0.1, leg.n_dof), *rng.uniform(-2, 2, (2, leg.n_dof)))
    steps = np.arange(-3, 4)
    path = q + h * steps[:, None] * qd + 0.5 * (h * steps[:, None]) ** 2 * qdd
    com = kt.center_of_mass(leg, path)
    second = np.array([2, -27, 270, -490, 270, -27, 2]) / 180 @ com / h**2
    tau = kt.inverse_dynamics(leg, q, qd, qdd)
    assert tau[:2] == pytest.approx(leg.mass * (second - leg.gravity)[:2], rel=1e-7)


OLD = """<?xml version="1.0"?>
<OpenSimDocument Version="30000">
<Model name="old">
<defaults><Thelen2003Muscle name="default"><max_isometric_force>700</max_isometric_force>
</Thelen2003Muscle></defaults>
<gravity>0 -9.8 0</gravity>
<BodySet><objects>
<Body name="ground"><mass>0</mass><Joint/></Body>
<Body name="arm"><mass>2</mass><mass_center>0 -0.2 0</mass_center>
<inertia_xx>0.02</inertia_xx><inertia_yy>0.01</inertia_yy><inertia_zz>0.02</inertia_zz>
<Joint><PinJoint name="shoulder"><parent_body>ground</parent_body>
<location_in_parent>0 0.8 0</location_in_parent><orientation_in_parent>0 0.5 0</orientation_in_parent>
<location>0 0.1 0</location><orientation>0 0 0</orientation>
<CoordinateSet><objects><Coordinate name="swing"><default_value>0.3</default_value></Coordinate></objects>
</CoordinateSet>
<reverse>REVERSE</reverse></PinJoint></Joint></Body>
</objects></BodySet>
<ForceSet><objects>
<Thelen2003Muscle name="lifter"><isDisabled>false</isDisabled><GeometryPath><PathPointSet><objects>
<PathPoint name="a"><location>0 0 0</location><body>ground</body></PathPoint>
<PathPoint name="b"><location>0.1 0 0</location><body>arm</body></PathPoint>
</objects></PathPointSet></GeometryPath></Thelen2003Muscle>
<HuntCrossleyForce name="contact"><HuntCrossleyForce::ContactParametersSet name="x"><objects/>
</HuntCrossleyForce::ContactParametersSet></HuntCrossleyForce>
</objects></ForceSet>
<MarkerSet><objects><Marker name="hand"><body>arm</body><location>0 -0.4 0</location></Marker></objects>
</MarkerSet>
</Model></OpenSimDocument>
"""


@pytest.mark.filterwarnings("ignore::kinetree.KinetreeWarning")
def test_older_files_have_joints_inside_bodies_and_defaults_of_classes(tmp_path):
    (tmp_path / "old.osim").write_text(OLD.replace("REVERSE", "false"))
    m = kt.load(tmp_path / "old.osim")
    assert m.joint_names == ("swing",) and m.muscles[0].max_isometric_force == 700.0
    assert m.muscles[0].deactivation_time == 0.05 and m.markers[0].position == (0.0, -0.4, 0.0)
    R, p = kt.forward_kinematics(m, [0.0])["arm"]
    assert p == pytest.approx([0.0, 0.7, 0.0]) and R[0, 2] == pytest.approx(np.sin(0.5))


@pytest.mark.filterwarnings("ignore::kinetree.KinetreeWarning")
def test_a_reversed_joint_moves_the_other_way(tmp_path):
    poses = []
    for word in ("false", "true"):
        path = tmp_path / f"{word}.osim"
        path.write_text(OLD.replace("REVERSE", word).replace("0 0.5 0", "0 0 0"))
        poses.append(kt.forward_kinematics(kt.load(path), [0.4])["arm"][0])
    assert poses[0] == pytest.approx(poses[1].T)


def test_tags_with_colons_and_text_of_windows_are_read(tmp_path):
    path = tmp_path / "windows.osim"
    path.write_bytes(OLD.replace("REVERSE", "false").replace('name="old"', 'name="Müller"').encode("cp1252"))
    with pytest.warns(kt.KinetreeWarning, match=r"'::' in names of elements.*not UTF-8.*HuntCrossleyForce"):
        assert kt.load(path).name == "Müller"


CONSTRAINTS = """<WeldConstraint name="weld"><socket_frame1>/ground</socket_frame1>
<socket_frame2>/bodyset/foot</socket_frame2></WeldConstraint>
<PointConstraint name="point"><socket_body_1>/bodyset/pelvis</socket_body_1>
<socket_body_2>/bodyset/foot</socket_body_2>
<location_body_1>0 0.1 0</location_body_1><location_body_2>0.2 0 0</location_body_2></PointConstraint>
<PointOnLineConstraint name="line"><socket_line_body>/bodyset/pelvis</socket_line_body>
<socket_follower_body>/bodyset/foot</socket_follower_body>
<line_direction_vec>0 1 0</line_direction_vec>
<point_on_line>0 0 0.1</point_on_line><point_on_follower>0 0 0</point_on_follower></PointOnLineConstraint>
<ConstantDistanceConstraint name="rod"><socket_body_1>/bodyset/pelvis</socket_body_1>
<socket_body_2>/bodyset/foot</socket_body_2><location_body_1>0 0 0</location_body_1>
<location_body_2>0 0 0</location_body_2><constant_distance>0.5</constant_distance>
</ConstantDistanceConstraint>
"""


@pytest.mark.filterwarnings("ignore::kinetree.KinetreeWarning")
def test_constraints_become_loops_where_joints_follow_linearly(tmp_path):
    text = (
        TEXT[: TEXT.index('<CustomJoint name="knee">')]
        + """<PinJoint name="knee">
        <socket_parent_frame>/bodyset/femur</socket_parent_frame>
        <socket_child_frame>/bodyset/tibia</socket_child_frame>
        <coordinates><Coordinate name="knee_angle"/></coordinates></PinJoint>
        <WeldJoint name="cap"><socket_parent_frame>/bodyset/femur</socket_parent_frame>
        <socket_child_frame>/bodyset/patella</socket_child_frame></WeldJoint>
        """
        + TEXT[TEXT.index('<PinJoint name="ankle">') :]
    )
    a, b = text.index("<CoordinateCouplerConstraint"), text.index("</CoordinateCouplerConstraint>")
    path = tmp_path / "loops.osim"
    path.write_text(text[:a] + CONSTRAINTS + text[b + len("</CoordinateCouplerConstraint>") :])
    loops = {x.name: x for x in kt.load(path).loops}
    assert [(x.joint.kind, x.length) for x in loops.values()] == [
        ("fixed", None),
        ("spherical", None),
        ("point_on_line", None),
        ("spherical", 0.5),
    ]
    assert loops["line"].placement_a.position.tolist() == [0.0, 0.0, 0.1]


def test_constraints_beside_other_followers_are_named(tmp_path):
    path = changed(tmp_path, ("<CoordinateCouplerConstraint", CONSTRAINTS + "<CoordinateCouplerConstraint"))
    with pytest.warns(kt.KinetreeWarning, match="constraint 'weld', constraint 'point'"):
        assert kt.load(path).loops == ()


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([('Version="40000"', 'Version="10905"')], "version 10905 .* open it in OpenSim and save it"),
        ([("PinJoint", "EllipsoidJoint")], "class EllipsoidJoint are not read; these are: PinJoint"),
        ([("<coordinates>knee_angle</coordinates>", "<coordinates>knee_angle hip_flexion</coordinates>")],
         "functions of several coordinates are not read, got knee_angle, hip_flexion"),
        ([("/bodyset/tibia<", "/bodyset/tbia<")], "unknown body 'tbia'; allowed: .*Did you mean 'tibia'"),
        ([("SimmSpline", "Sine")], "unknown class of function 'Sine'"),
        ([("<mass>11</mass>", "<mass>eleven</mass>")], "must be a number, got 'eleven'"),
        ([("<mass>11</mass>", "<mass>-1</mass>")], "mass"),
        ([("OpenSimDocument", "Settings")], "root element must be <OpenSimDocument>, got <Settings>"),
        ([("</Model>", "")], "line"),
        ([("<socket_coordinate>/jointset/knee/knee_angle<", "<socket_coordinate>/jointset/knee/bend<")],
         "unknown coordinate 'bend'"),
        ([("<x>-2 -1 0 0.3</x>", "<x>-2 -1 -1 0.3</x>")], "x of a cubic spline must ascend, got -1 after -1"),
        ([("<socket_child_frame>/bodyset/patella<", "<socket_child_frame>/bodyset/tibia<")],
         "body 'tibia' is the child of two joints"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_named(tmp_path, pairs, message):
    with pytest.raises(kt.KinetreeError, match=message):
        kt.load(changed(tmp_path, *pairs))


def test_a_strict_reader_refuses_what_is_not_used():
    with pytest.raises(kt.errors.FileError, match="forces of this class are not used"):
        kt.load(LEG, strict=True)


def test_checking_names_every_part_that_is_not_used_with_its_line():
    from kinetree.lint.osim import check_osim

    found = check_osim(LEG)
    assert [x.rule for x in found] == ["not-used", "not-used"] and all(x.line for x in found)
    assert "wrap 'unused' is not active" in found[0].message and "ankle_motor" in found[1].message


@pytest.mark.filterwarnings("ignore::kinetree.KinetreeWarning")
def test_meshes_of_vtk_are_drawn(tmp_path):
    from kinetree.formats.mesh_file import mesh_surfaces

    (tmp_path / "Geometry").mkdir()
    (tmp_path / "Geometry" / "bone.vtp").write_text(
        '<VTKFile type="PolyData"><PolyData><Piece NumberOfPoints="4" NumberOfPolys="1"><Points>'
        '<DataArray type="Float32" NumberOfComponents="3" format="ascii">0 0 0 1 0 0 1 1 0 0 1 0</DataArray>'
        '</Points><Polys><DataArray Name="connectivity" format="ascii">0 1 2 3</DataArray>'
        '<DataArray Name="offsets" format="ascii">4</DataArray></Polys></Piece></PolyData></VTKFile>'
    )
    mesh = (
        '<attached_geometry><Mesh name="b"><scale_factors>2 1 1</scale_factors>'
        "<Appearance><color>1 0 0</color>"
        "</Appearance><mesh_file>bone.vtp</mesh_file></Mesh><Mesh><mesh_file>lost.vtp</mesh_file></Mesh>"
        '<Cylinder name="c"><radius>0.1</radius><half_height>0.3</half_height></Cylinder></attached_geometry>'
    )
    path = changed(tmp_path, ("<mass>3.5</mass>", mesh + "<mass>3.5</mass>"))
    m = kt.load(path)
    bone, cylinder = m.links[m.body_index("tibia")].body.shapes
    (surface,) = mesh_surfaces(bone)
    assert len(surface.triangles) == 2 and surface.corners[:, 0].max() == 2.0 and surface.color == "#ff0000"
    assert cylinder.size.tolist() == [0.1, 0.6] and cylinder.placement.rotation[:, 2] == pytest.approx(
        [0, 1, 0]
    )
