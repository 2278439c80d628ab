"""Robots as they look: meshes and shapes with their colors, in pictures, and what a result remembers."""

import struct
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from kinetree.algebra.placement import Placement
from kinetree.errors import FileError, KinetreeWarning, MissingExtraError, ModelError
from kinetree.model.body import Shape
from kinetree.report.draw import figure_of
from kinetree.report.looks import looks, mesh_solids
from kinetree.report.skeleton import skeleton
from kinetree.report.solid import Solid, coarser, smooth_normals, within
from kinetree.report.solids_artist import halved, raster

DAE = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="0.01" name="centimeter"/><up_axis>Y_UP</up_axis></asset>
<library_effects><effect id="e"><profile_COMMON><technique sid="common"><lambert>
<diffuse><color>1 0.5 0 1</color></diffuse></lambert></technique></profile_COMMON></effect></library_effects>
<library_materials><material id="m" name="m"><instance_effect url="#e"/></material></library_materials>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="pa" count="9">0 0 0 100 0 0 0 50 20</float_array><technique_common>
<accessor source="#pa" count="3" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="1" material="s"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="vs"><node><instance_geometry url="#g"><bind_material>
<technique_common><instance_material symbol="s" target="#m"/></technique_common></bind_material>
</instance_geometry></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#vs"/></scene></COLLADA>"""

URDF = """<robot name="arm"><material name="red"><color rgba="1 0 0 1"/></material>
<link name="base"><visual><geometry><box size="0.4 0.4 0.2"/></geometry><material name="red"/></visual></link>
<link name="tip"><inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<visual><origin xyz="0 0 0.5"/><geometry><mesh filename="{file}"/></geometry>
<material name="own"><color rgba="0 0 1 1"/></material></visual></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="tip"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


def write_cube(path, edge=0.3):
    """A cube about the origin as binary STL."""
    corners = edge * (np.stack(np.meshgrid(*[[0, 1]] * 3, indexing="ij"), -1).reshape(-1, 3) - 0.5)
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
    rows = [np.concatenate([np.zeros(3), corners[list(t)].ravel()]).astype("<f4") for t in triangles]
    body = b"".join(row.tobytes() + b"\0\0" for row in rows)
    path.write_bytes(b"".ljust(80) + struct.pack("<I", len(rows)) + body)


def arm_file(folder, file="cube.stl"):
    write_cube(folder / "cube.stl")
    (folder / "arm.urdf").write_text(URDF.format(file=file))
    return folder / "arm.urdf"


def picture(figure):
    """Pixels (h, w, 3) of a figure."""
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[..., :3].astype(int)


def reddish(pixels):
    red, green, blue = np.moveaxis(pixels, -1, 0)
    return (red > 2 * green + 30) & (red > 2 * blue + 30)


def bluish(pixels):
    red, green, blue = np.moveaxis(pixels, -1, 0)
    return (blue > 2 * green + 30) & (blue > 2 * red + 30)


# ---- what a file says ---------------------------------------------------------------------------------


def test_urdf_keeps_colours_and_where_meshes_are(tmp_path):
    arm = kt.load(arm_file(tmp_path))
    box, mesh = (link.body.shapes[0] for link in arm.links)
    assert box.color == (1, 0, 0, 1) and mesh.color == (0, 0, 1, 1)
    assert (mesh.file, mesh.folder) == ("cube.stl", str(tmp_path))
    kt.save(arm, tmp_path / "again.toml")
    again = kt.load(tmp_path / "again.toml")
    assert again == arm and again.links[1].body.shapes[0].folder == str(tmp_path)
    kt.save(arm, tmp_path / "again.urdf")
    assert [x.body.shapes[0].color for x in kt.load(tmp_path / "again.urdf").links][-1] == (0, 0, 1, 1)


def test_mjcf_keeps_colours_and_leaves_contact_geoms_out(tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "arm.xml").write_text(
        """<mujoco><asset><material name="paint" rgba="0 1 0 1"/></asset><worldbody><body name="a"><joint/>
        <geom type="sphere" size="0.1" material="paint" contype="0" conaffinity="0" group="1"/>
        <geom type="box" size="0.2 0.2 0.2" rgba="0.1 0.1 0.1 1" group="0"/>
        <geom type="box" size="0.2 0.2 0.2" contype="0" conaffinity="0" group="1" rgba="1 1 1 0"/>
        </body></worldbody></mujoco>"""
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (shape,) = kt.load(tmp_path / "arm.xml").links[0].body.shapes
    assert shape.kind == "sphere" and shape.color == (0, 1, 0, 1)


@pytest.mark.parametrize("color", [(1, 2, 0, 1), (1, 1, 1), (np.nan, 0, 0, 1)])
def test_colours_that_are_none_are_refused(color):
    with pytest.raises(ModelError, match="color of a sphere"):
        Shape("sphere", [1.0], color=color)


def test_a_collada_file_has_its_unit_and_colour_and_no_upward_axis(tmp_path):
    pytest.importorskip("collada")
    (tmp_path / "part.dae").write_text(DAE)
    shape = Shape("mesh", [1, 1, 1], Placement.at((0, 0, 1)), "part.dae", (0, 0, 1, 1), str(tmp_path))
    (solid,) = mesh_solids(shape)
    assert solid.color == "#ff8000"
    np.testing.assert_allclose(
        solid.corners[solid.triangles[0]], [[0, 0, 1], [1, 0, 1], [0, 0.5, 1.2]], atol=1e-6
    )


def test_a_binary_gltf_file_is_read(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    ball = trimesh.creation.icosphere(subdivisions=1, radius=0.5)
    ball.visual.face_colors = [0, 255, 0, 255]
    ball.export(tmp_path / "ball.glb")
    (solid,) = mesh_solids(Shape("mesh", [2, 2, 2], file="ball.glb", folder=str(tmp_path)))
    assert solid.color == "#00ff00"
    np.testing.assert_allclose(np.linalg.norm(solid.corners, axis=1), 1.0, atol=1e-6)


def test_an_object_file_has_the_colours_of_its_materials(tmp_path):
    (tmp_path / "a.mtl").write_text("newmtl shell\nKd 0 1 0\n")
    (tmp_path / "a.obj").write_text("mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl shell\nf 1 2 3\n")
    plain = Shape("mesh", [1, 1, 1], file="a.obj", folder=str(tmp_path))
    assert mesh_solids(plain)[0].color == "#00ff00"
    assert mesh_solids(replace(plain, color=(1, 0, 0, 1)))[0].color == "#ff0000"


@pytest.mark.parametrize(
    "text",
    [
        '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b"><!ENTITY c "&a;&a;">]><COLLADA>&c;</COLLADA>',
        "<COLLADA><asset>",
        "not xml",
        "<COLLADA/>",
    ],
)
def test_entities_and_damage_in_collada_are_refused(tmp_path, text):
    (tmp_path / "x.dae").write_text(text)
    with pytest.raises(FileError, match=r"x\.dae"):
        mesh_solids(Shape("mesh", [1, 1, 1], file="x.dae", folder=str(tmp_path)))


# ---- what is drawn ------------------------------------------------------------------------------------


def test_a_picture_shows_shapes_and_meshes_in_their_colours(tmp_path):
    pixels = picture(figure_of(kt.load(arm_file(tmp_path)), inches=3.0))
    red, blue = reddish(pixels), bluish(pixels)
    assert red.sum() > 500 and blue.sum() > 500
    assert np.argwhere(blue)[:, 0].mean() < np.argwhere(red)[:, 0].mean()  # the cube is above the box


def test_without_looks_the_links_are_lines(tmp_path):
    arm = kt.load(arm_file(tmp_path))
    assert not bluish(picture(figure_of(arm, looks=False, inches=3.0))).any()


def test_what_is_nearer_hides_what_is_behind():
    """Of two squares the nearer is seen, wherever it stands in the list; and where it is not, the other."""
    square = np.array([[[1, 1, 0], [9, 1, 0], [9, 9, 0]], [[1, 1, 0], [9, 9, 0], [1, 9, 0]]], dtype=float)
    small = 0.5 * (square - 5.0) + 5.0 + [0.0, 0.0, 1.0]
    facing = np.broadcast_to([0.0, 0.0, 1.0], (4, 3, 3))
    colors = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]], dtype=float)
    for order in ([0, 1, 2, 3], [2, 3, 0, 1]):
        points = np.concatenate([square, small])[order]
        seen = raster(points, facing, colors[order], (10, 10))
        assert seen[5, 5, 1] > seen[5, 5, 0] and seen[5, 2, 0] > seen[5, 2, 1]
        assert (seen[..., 3] > 0).sum() == 64 and seen[0, 0, 3] == 0


def test_a_picture_is_halved_by_opacity():
    four = np.zeros((2, 2, 4), dtype=np.uint8)
    four[0, 0] = [200, 100, 0, 255]
    assert halved(four)[0, 0].tolist() == [200, 100, 0, 64]


def test_a_body_whose_mesh_is_gone_is_drawn_as_a_link_with_one_warning(tmp_path):
    arm = kt.load(arm_file(tmp_path))
    (tmp_path / "cube.stl").unlink()
    with pytest.warns(KinetreeWarning, match="one mesh is not drawn") as told:
        figure = figure_of(arm, inches=3.0)
    assert len(told) == 1 and "cube.stl" in str(told[0].message) and not bluish(picture(figure)).any()


def test_without_the_extra_the_warning_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "part.dae").write_text(DAE)
    arm = kt.load(arm_file(tmp_path, "part.dae"))
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[meshes\]"):
        mesh_solids(arm.links[1].body.shapes[0])
    with pytest.warns(KinetreeWarning, match=r"pip install .*\[meshes\]"):
        assert set(looks(arm)) == {"base"}


def test_a_trunk_with_meshes_that_are_not_there_is_still_drawn(tmp_path):
    """A body with several joints connects their origins, also if its only shape is a mesh without a file."""
    robot = kt.zoo.quadruped()
    name = robot.links[0].body.name
    mesh = (Shape("mesh", [1, 1, 1], file="trunk.stl"),)
    links = tuple(
        replace(x, body=replace(x.body, shapes=mesh)) if x.body.name == name else x for x in robot.links
    )
    (trunk,) = (x for x in skeleton(replace(robot, links=links)).bodies if x.name == name)
    hips = [x.placement.position for x in robot.links if x.parent == name]
    corners = np.concatenate(trunk.faces)
    for hip in hips:
        assert np.linalg.norm(corners - (hip + trunk.origin), axis=1).min() < 1e-9


# ---- how fine -----------------------------------------------------------------------------------------


def sphere(n=60):
    """A sphere of radius 1 as n x n quadrilaterals, and its exact area."""
    u, v = np.meshgrid(np.linspace(0, np.pi, n), np.linspace(0, 2 * np.pi, n), indexing="ij")
    points = np.stack([np.sin(u) * np.cos(v), np.sin(u) * np.sin(v), np.cos(u)], axis=-1).reshape(-1, 3)
    k = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
    triangles = np.concatenate([np.stack([k, k + n, k + n + 1], 1), np.stack([k, k + n + 1, k + 1], 1)])
    return Solid(points, triangles)


def test_coarser_surfaces_keep_their_form_and_the_limit():
    fine = sphere()
    (coarse,) = within([fine], 800)
    assert 100 < len(coarse.triangles) <= 800
    radius = np.linalg.norm(coarse.corners, axis=1)
    assert radius.min() > 0.95 and radius.max() < 1.0 + 1e-9
    a, b, c = (coarse.corners[coarse.triangles[:, k]] for k in range(3))
    area = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum()
    assert abs(area / (4 * np.pi) - 1) < 0.1
    assert coarser(fine, 1e-9).triangles.shape[0] <= fine.triangles.shape[0]


def test_normals_are_smooth_on_a_sphere_and_flat_on_a_cube(tmp_path):
    ball = sphere(30)
    error = smooth_normals(ball.corners, ball.triangles) - ball.corners[ball.triangles]
    inside = np.abs(ball.corners[ball.triangles][:, :, 2]).max(axis=1) < 0.95
    assert np.abs(error[inside]).max() < 0.15
    write_cube(tmp_path / "cube.stl")
    (cube,) = mesh_solids(Shape("mesh", [1, 1, 1], file="cube.stl", folder=str(tmp_path)))
    assert np.abs(np.abs(cube.normals).max(axis=-1) - 1.0).max() < 1e-12


# ---- what a result remembers --------------------------------------------------------------------------


def test_a_result_remembers_where_its_meshes_are(tmp_path):
    arm = kt.load(arm_file(tmp_path))
    kt.simulate(arm, [0.1], duration=0.05, times=3).save(tmp_path / "run.nc")
    loaded = kt.load_result(tmp_path / "run.nc")
    assert set(looks(loaded.mechanism)) == {"base", "tip"}
    write_cube(tmp_path / "cube.stl", edge=0.2)
    with pytest.warns(KinetreeWarning, match="differs from the file that the result was made with"):
        assert set(looks(loaded.mechanism)) == {"base"}
    assert set(looks(loaded.mechanism, tmp_path)) == {"base", "tip"}
    assert b"facet" not in (tmp_path / "run.nc").read_bytes()


def test_a_record_of_meshes_that_was_tampered_with_reads_no_other_file(tmp_path):
    from kinetree.formats.mesh_home import with_mesh_record

    arm = kt.load(arm_file(tmp_path))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write_cube(elsewhere / "cube.stl", edge=0.1)
    record = {"cube.stl": {"folder": str(elsewhere), "sha256": "0" * 64}}
    with pytest.warns(KinetreeWarning, match="differs from the file"):
        assert set(looks(with_mesh_record(arm, record))) == {"base"}
    for odd in (None, [], {"cube.stl": 3}, {"cube.stl": {"folder": 1, "sha256": 2}}):
        assert with_mesh_record(arm, odd) == arm


def test_sdf_keeps_colours_and_where_meshes_are(tmp_path):
    write_cube(tmp_path / "cube.stl")
    (tmp_path / "arm.sdf").write_text(
        """<sdf version="1.7"><model name="arm"><link name="a">
        <inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>
        <visual name="v">
        <geometry><mesh><uri>cube.stl</uri></mesh></geometry>
        <material><diffuse>0 0 1</diffuse></material></visual></link></model></sdf>"""
    )
    shapes = [shape for link in kt.load(tmp_path / "arm.sdf").links for shape in link.body.shapes]
    assert [x.color for x in shapes] == [(0, 0, 1, 1)] and shapes[0].folder == str(tmp_path)
