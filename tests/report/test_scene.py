"""Scenes: solids in body frames that fit the mechanism, and mesh files that stay in their folder."""

import struct
from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from kinetree.algebra.placement import Placement
from kinetree.errors import FileError
from kinetree.model.body import Shape
from kinetree.report.looks import looks, mesh_solids
from kinetree.report.palette import module_color
from kinetree.report.scene import scene
from kinetree.report.shapes import hull_solid
from kinetree.report.skeleton import skeleton

CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)


def ends_of(shape):
    along = shape.placement.rotation[:, 2] * shape.size[1] / 2
    return shape.placement.position - along, shape.placement.position + along


def volume(corners, triangles):
    """By the divergence theorem; positive if all triangles are seen from outside."""
    a, b, c = (corners[triangles[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


def closed(triangles):
    """Whether every edge belongs to two triangles, which go along it in opposite ways."""
    edges = [(a, b) for t in triangles.tolist() for a, b in zip(t, [*t[1:], t[0]], strict=True)]
    return len(set(edges)) == len(edges) and all((b, a) in set(edges) for a, b in edges)


def with_shape(mechanism, *shapes):
    first, *rest = mechanism.links
    body = replace(first.body, shapes=shapes)
    return replace(mechanism, links=(replace(first, body=body), *rest))


def test_capsules_reach_from_joint_to_joint():
    arm = kt.zoo.two_link()
    found = scene(arm)
    start, end = ends_of(found.bodies[0].shapes[0])
    np.testing.assert_allclose(start, 0.0, atol=1e-12)
    np.testing.assert_allclose(end, arm.links[1].placement.position, atol=1e-12)
    assert found.joints[1].parent == 0 and found.joints[0].parent == -1
    assert found.joints[0].grounded and not found.joints[1].grounded


@pytest.mark.parametrize("name", ["gripper", "kuka_kr5", "spatial_biped", "quadruped", "hexapod", "four_bar"])
def test_every_body_with_mass_can_be_seen_and_has_the_colour_of_its_module(name):
    mechanism = kt.zoo.by_name(name)
    found = scene(mechanism)
    module = {body: x.number for x in mechanism.modules for body in x.bodies}
    for body, link in zip(found.bodies, mechanism.links, strict=True):
        assert body.color == module_color(module[link.body.name])
        for solid in body.solids:
            assert volume(solid.corners, solid.triangles) > 0.0
            assert closed(solid.triangles)
    drawn = [body for body in found.bodies if body.shapes or body.solids]
    assert len(drawn) >= 0.5 * len(found.bodies)
    assert len(found.contacts) == len(mechanism.contact_points)
    assert len(found.loops) == len(mechanism.loops)


def test_the_axis_is_that_of_the_joint_in_the_body_frame():
    robot = kt.zoo.spatial_biped()
    by_kind = {joint.kind.name: joint for joint in scene(robot).joints}
    assert by_kind["spherical"].axis is None and by_kind["free"].axis is None
    np.testing.assert_allclose(np.linalg.norm(by_kind["revolute"].axis), 1.0)


def test_up_is_against_gravity():
    np.testing.assert_allclose(scene(kt.zoo.gripper()).up, [0, 1, 0], atol=1e-12)
    np.testing.assert_allclose(scene(kt.zoo.gripper().with_gravity([0, 0, 0])).up, [0, 0, 1])


def test_shapes_of_the_description_are_kept():
    box = Shape("box", [0.1, 0.2, 0.3], Placement.at((0, 0, 0.1)))
    assert scene(with_shape(kt.zoo.two_link(), box)).bodies[0].shapes == (box,)


@pytest.mark.parametrize("flat", [False, True])
def test_a_hull_is_closed_and_seen_from_outside(flat, rng):
    points = np.concatenate([CUBE, rng.uniform(size=(20, 3))])
    if flat:
        points[:, 2] = 0.5
    corners, triangles = hull_solid(points, thickness=0.25)
    assert closed(triangles)
    np.testing.assert_allclose(volume(corners, triangles), 0.25 if flat else 1.0)


def test_points_on_a_line_have_no_hull():
    assert not len(hull_solid(np.outer(np.arange(4.0), [1, 2, 3]), 0.1)[0])


# ---- meshes ---------------------------------------------------------------------------------------------


def write_stl(path, *, binary):
    corners, triangles = hull_solid(CUBE, 0.1)
    if binary:
        rows = [np.concatenate([np.zeros(3), corners[t].ravel()]).astype("<f4").tobytes() for t in triangles]
        head = b"solid that is binary after all".ljust(80) + struct.pack("<I", len(triangles))
        path.write_bytes(head + b"".join(row + b"\0\0" for row in rows))
        return
    lines = [f"vertex {x} {y} {z}" for t in triangles for x, y, z in corners[t]]
    path.write_text("solid cube\n" + "\n".join(lines) + "\nendsolid\n")


def write_obj(path, *, binary):
    assert not binary
    corners, triangles = hull_solid(CUBE, 0.1)
    lines = [f"v {x} {y} {z}" for x, y, z in corners]
    lines += [f"f {a + 1}/1/1 {b + 1}/1 {c - len(corners)}" for a, b, c in triangles]
    path.write_text("# a cube\n" + "\n".join(lines))


@pytest.mark.parametrize(
    ("name", "write", "binary"),
    [("a.stl", write_stl, True), ("b.STL", write_stl, False), ("c.obj", write_obj, False)],
)
def test_a_mesh_is_read_and_placed(tmp_path, name, write, binary):
    write(tmp_path / name, binary=binary)
    mesh = Shape("mesh", [1.0, 2.0, 3.0], Placement.at((5, 0, 0)), name)
    (solid,) = scene(with_shape(kt.zoo.two_link(), mesh), meshes=tmp_path).bodies[0].solids
    np.testing.assert_allclose(volume(solid.corners, solid.triangles), 6.0)
    np.testing.assert_allclose(solid.corners.min(axis=0), [5, 0, 0])
    assert len(solid.corners) == 8 and closed(solid.triangles)


def test_without_a_folder_a_mesh_is_drawn_as_lines():
    mesh = Shape("mesh", [1.0, 1.0, 1.0], file="part.stl")
    assert [x.kind for x in scene(with_shape(kt.zoo.two_link(), mesh)).bodies[0].shapes] == ["capsule"]


def test_a_mesh_never_leaves_its_folder(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    write_stl(tmp_path / "secret.stl", binary=True)
    (home / "link.stl").symlink_to(tmp_path / "secret.stl")
    for name in ("../secret.stl", str(tmp_path / "secret.stl"), "file:///etc/passwd.stl", "link.stl"):
        with pytest.raises(FileError, match="outside"):
            mesh_solids(Shape("mesh", [1, 1, 1], file=name), home)


@pytest.mark.parametrize(
    "content", [b"", b"v 1 2\nf 1 2 9", b"v nan 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3", b"v a b c"]
)
def test_a_damaged_mesh_is_told(tmp_path, content):
    (tmp_path / "x.obj").write_bytes(content)
    with pytest.raises(FileError, match=r"x\.obj"):
        mesh_solids(Shape("mesh", [1, 1, 1], file="x.obj"), tmp_path)
    with pytest.raises(FileError, match=r"none\.stl"):
        mesh_solids(Shape("mesh", [1, 1, 1], file="none.stl"), tmp_path)


def test_a_part_with_a_shape_does_not_hide_an_arm_without():
    """Links are made up for the arm; frames of a robot that has shapes are not."""
    part = kt.model.Shape("box", (0.1, 0.1, 0.1))
    arm = kt.zoo.ur5()
    loaded = arm.with_payload("tool0", 3.0, shape=part, name="part")
    with_part = {body.name: body for body in scene(loaded).bodies}
    for body in scene(arm).bodies:
        assert len(with_part[body.name].shapes) == len(body.shapes), body.name
    lines = {mark.name: len(mark.lines) for mark in skeleton(loaded, None, looks(loaded)).bodies}
    assert lines["upper_arm_link"] and lines["forearm_link"]
