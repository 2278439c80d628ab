"""Mesh paths stay inside the model's folder or a known package, however they are written."""

import os
import warnings

import numpy as np
import pytest

import kinetree as kt
from kinetree.formats.mesh_path import MeshFolder
from kinetree.formats.passed_over import PassedOver
from kinetree.formats.urdf import load_urdf, mechanism_from_urdf


def text(filename):
    visual = f'<visual><geometry><mesh filename="{filename}"/></geometry></visual>'
    return f'<robot name="r"><link name="a">{visual}</link></robot>'


def kept(mechanism):
    return mechanism.link("a").body.shapes[0].file


@pytest.fixture
def package(tmp_path):
    """A package folder 'pkg' with a model in pkg/urdf, beside files of others."""
    (tmp_path / "pkg" / "urdf").mkdir(parents=True)
    (tmp_path / "pkg" / "meshes").mkdir()
    (tmp_path / "secret.stl").write_text("secret")
    return tmp_path / "pkg"


def load(package, filename, folder=None, **options):
    file = package / "urdf" / "r.urdf"
    file.write_text(text(filename))
    return kept(load_urdf(file, folder=folder, **{"strict": True, **options}))


@pytest.mark.parametrize(
    ("filename", "expected"),
    [
        ("part.stl", "part.stl"),
        ("./meshes/part.stl", "meshes/part.stl"),
        ("meshes/../part.stl", "part.stl"),
        ("meshes\\part.stl", "meshes/part.stl"),
        ("file://meshes/part.stl", "meshes/part.stl"),
        ("package://other/meshes/part.stl", "other/meshes/part.stl"),
        ("package://urdf/part.stl", "part.stl"),
        ("model://thing/part.dae", "thing/part.dae"),
    ],
)
def test_paths_inside_the_folder_of_the_file(package, filename, expected):
    assert load(package, filename) == expected


@pytest.mark.parametrize(
    ("filename", "expected"),
    [
        ("package://pkg/meshes/part.stl", "meshes/part.stl"),
        ("../meshes/part.stl", "meshes/part.stl"),
        ("part.stl", "urdf/part.stl"),
        ("package://other/part.stl", "other/part.stl"),
    ],
)
def test_paths_inside_a_package_folder(package, filename, expected):
    assert load(package, filename, folder=package) == expected


def test_absolute_path_inside(package):
    assert load(package, f"file://{package}/meshes/part.stl", folder=package) == "meshes/part.stl"
    assert load(package, f"{package}/urdf/part.stl") == "part.stl"


@pytest.mark.parametrize(
    "filename",
    [
        "../meshes/part.stl",
        "meshes/../../part.stl",
        "..\\..\\secret.stl",
        "/etc/passwd",
        "file:///etc/passwd",
        "file://../../secret.stl",
        "package://../secret.stl",
        "package://pkg/../../secret.stl",
        "package:///../secret.stl",
    ],
)
def test_paths_that_leave_the_folder_are_refused(package, filename):
    with pytest.raises(kt.errors.FileError, match="outside the folder") as caught:
        load(package, filename)
    assert filename in str(caught.value)
    assert "link 'a'" in str(caught.value)


@pytest.mark.parametrize("filename", ["http://example.org/a.stl", "C:/meshes/a.stl", "C:\\a.stl", "data:x"])
def test_other_schemes_and_drives_are_refused(package, filename):
    with pytest.raises(kt.errors.FileError, match=r"allowed: 'meshes/part\.stl'"):
        load(package, filename)


@pytest.mark.parametrize("filename", ["", "  ", ".", "package://", "file://", "meshes/.."])
def test_names_of_no_file_are_refused(package, filename):
    with pytest.raises(kt.errors.FileError, match="names"):
        load(package, filename)


def test_symbolic_links_do_not_lead_out(package):
    os.symlink(package.parent, package / "urdf" / "up")
    os.symlink(package.parent / "secret.stl", package / "urdf" / "innocent.stl")
    for filename in ("up/secret.stl", "innocent.stl", "package://up/secret.stl"):
        with pytest.raises(kt.errors.FileError, match="outside the folder"):
            load(package, filename)


def test_symbolic_links_inside_are_kept(package):
    os.symlink(package / "meshes", package / "urdf" / "shapes")
    assert load(package, "shapes/part.stl", folder=package) == "urdf/shapes/part.stl"
    with pytest.raises(kt.errors.FileError, match="outside the folder"):
        load(package, "shapes/part.stl")


def test_circular_symbolic_link_does_not_hang(package):
    os.symlink(package / "urdf" / "b", package / "urdf" / "a")
    os.symlink(package / "urdf" / "a", package / "urdf" / "b")
    assert load(package, "a/part.stl") == "a/part.stl"


def test_folder_reached_by_a_symbolic_link(package):
    alias = package.parent / "alias"
    os.symlink(package, alias)
    (package / "urdf" / "r.urdf").write_text(text(f"{package}/urdf/part.stl"))
    assert kept(load_urdf(alias / "urdf" / "r.urdf")) == "part.stl"
    assert kept(load_urdf(alias / "urdf" / "r.urdf", folder=package)) == "urdf/part.stl"


def test_text_without_a_folder_accepts_only_paths_below():
    assert kept(mechanism_from_urdf(text("meshes/part.stl"))) == "meshes/part.stl"
    assert kept(mechanism_from_urdf(text("package://pkg/part.stl"))) == "pkg/part.stl"
    for filename in ("../part.stl", "/etc/passwd", "package://../part.stl"):
        with pytest.raises(kt.errors.FileError, match="outside the folder of the description"):
            mechanism_from_urdf(text(filename), strict=True)


def test_text_with_a_folder(package):
    assert kept(mechanism_from_urdf(text("package://pkg/a.stl"), folder=package)) == "a.stl"


def test_folder_must_exist_and_contain_the_file(package, tmp_path):
    with pytest.raises(kt.errors.FileError, match="is not a folder"):
        load(package, "a.stl", folder=tmp_path / "nowhere")
    with pytest.raises(kt.errors.FileError, match="not inside the given folder"):
        load(package, "a.stl", folder=package / "meshes")


def test_collision_meshes_are_checked_too():
    content = text("fine.stl").replace(
        "</link>", '<collision><geometry><mesh filename="../../secret.stl"/></geometry></collision></link>'
    )
    with pytest.raises(kt.errors.FileError, match="outside the folder"):
        mechanism_from_urdf(content, strict=True)


def test_nothing_is_opened(package, monkeypatch):
    folder = MeshFolder(package, package)
    monkeypatch.setattr("builtins.open", lambda *_: pytest.fail("a mesh file was opened"))
    assert folder.kept("meshes/part.stl", "here") == "meshes/part.stl"


# ---- tolerant reading, packages -----------------------------------------------------------------


def test_a_mesh_outside_is_left_out_of_the_picture_and_said(package):
    file = package / "urdf" / "r.urdf"
    file.write_text(text("/etc/passwd"))
    with pytest.warns(kt.KinetreeWarning, match=r"ignored: meshes outside the folder \(give folder="):
        assert load_urdf(file).link("a").body.shapes == ()


def test_a_missing_mesh_is_reported_where_it_is_drawn_and_by_check(package):
    """Nothing computed depends on it: loading, running and exporting a robot do not repeat it."""
    file = package / "urdf" / "r.urdf"
    file.write_text(text("package://other/part.stl"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = load_urdf(file)
    with pytest.warns(kt.KinetreeWarning, match=r"one mesh is not drawn.*part\.stl: no such file"):
        kt.draw(robot)
    remarks = PassedOver("r.urdf")
    folder = MeshFolder(package, package)
    assert folder.found("package://other/part.stl", "line 1", remarks) == "other/part.stl"
    assert [(x.rule, x.subject) for x in remarks.remarks] == [
        ("mesh-not-found", "meshes of package 'other' that are missing")
    ]


def test_packages_are_found_above_the_description(package):
    assert load(package, "package://pkg/meshes/part.stl") == (package / "meshes/part.stl").as_posix()


def test_packages_beside_the_description_need_a_manifest(package):
    other = package.parent / "other"
    other.mkdir()
    (other / "part.stl").write_text("")
    assert load(package, "package://other/part.stl") == "other/part.stl"  # below the file's own folder
    (other / "package.xml").write_text("<package/>")
    assert load(package, "package://other/part.stl") == (other / "part.stl").as_posix()


def test_a_description_inside_a_package_may_name_its_files(package):
    (package / "package.xml").write_text("<package/>")
    assert load(package, "../meshes/part.stl") == (package / "meshes/part.stl").as_posix()
    with pytest.raises(kt.errors.FileError, match="outside the folder"):
        load(package, "../../secret.stl")


@pytest.mark.parametrize("how", ["given", "ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"])
def test_packages_given_and_of_the_environment(package, tmp_path, monkeypatch, how):
    place = tmp_path / "elsewhere" / ("share/" if how == "AMENT_PREFIX_PATH" else "") / "parts"
    place.mkdir(parents=True)
    options = {}
    if how == "given":
        options["packages"] = {"parts": place}
    else:
        monkeypatch.setenv(how, os.pathsep.join(["/nowhere", str(tmp_path / "elsewhere")]))
    assert load(package, "package://parts/a.stl", **options) == (place / "a.stl").as_posix()
    with pytest.raises(kt.errors.FileError, match="outside the folder"):
        load(package, "package://parts/../../a.stl", **options)


def test_bad_packages(package):
    with pytest.raises(kt.errors.InputError, match="packages must be a dict"):
        load(package, "a.stl", packages=["pkg"])
    with pytest.raises(kt.errors.FileError, match="is not a folder"):
        load(package, "a.stl", packages={"pkg": package / "nowhere"})


def test_packages_go_by_the_name_in_their_manifest(tmp_path):
    own, other = tmp_path / "clone-of-arm", tmp_path / "clone-of-hand"
    for folder, name in ((own, "arm_description"), (other, "hand_description")):
        (folder / "urdf").mkdir(parents=True)
        (folder / "meshes").mkdir()
        (folder / "meshes" / "part.stl").write_text("")
        (folder / "package.xml").write_text(f"<package><!-- -- --><name> {name} </name></package>")
    file = own / "urdf" / "r.urdf"
    places = MeshFolder.around(file, None)
    assert places.package("arm_description") == own
    assert places.package("hand_description") == other
    assert places.package("leg_description") is None
    passed = PassedOver("r.urdf")
    for folder, name in ((own, "arm_description"), (other, "hand_description")):
        kept = places.found(f"package://{name}/meshes/part.stl", "r.urdf", passed)
        assert kept == str(folder / "meshes" / "part.stl")
    assert not passed.remarks
    assert places.found("package://hand_description/../../secret.stl", "r.urdf", passed) is None


def test_a_robot_stands_on_meshes_of_the_package_around_it(tmp_path):
    """A clone under another name than that of its package: the mesh of the foot is found and touches."""
    corners = np.array([[0, 0, -0.1], [0.1, 0, 0], [0, 0.1, 0], [-0.1, -0.1, 0]])
    faces = [corners[[k for k in range(4) if k != left]] for left in range(4)]
    points = ["".join(f"vertex {x} {y} {z}\n" for x, y, z in face) for face in faces]
    facets = "".join(f"facet normal 0 0 0\nouter loop\n{x}endloop\nendfacet\n" for x in points)
    clone = tmp_path / "clone"
    for name in ("urdf", "meshes"):
        (clone / name).mkdir(parents=True)
    (clone / "package.xml").write_text("<package><name>dog_description</name></package>")
    (clone / "meshes" / "foot.stl").write_text(f"solid foot\n{facets}endsolid foot\n")
    (clone / "urdf" / "r.urdf").write_text(
        '<robot name="r"><link name="foot"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry>'
        '<mesh filename="package://dog_description/meshes/foot.stl"/></geometry></collision></link></robot>'
    )
    robot = kt.load(clone / "urdf" / "r.urdf", floating_base=True)
    assert min(point.position[2] for point in robot.contact_points) == pytest.approx(-0.1)


@pytest.mark.parametrize(
    "content", ["", "<package>", '<!DOCTYPE p [<!ENTITY x "arm">]><package><name>&x;</name></package>']
)
def test_a_manifest_that_cannot_be_read_names_no_package(tmp_path, content):
    (tmp_path / "package.xml").write_text(content)
    assert MeshFolder.around(tmp_path / "r.urdf", None).package("arm") is None
