"""A payload on a flange: dynamics of one more body, compared with loads and clouds of points."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.model.payload import solid_inertia
from support.each import each

Q = np.array([0.3, -0.5, 0.8, 0.2, 0.6, -0.4])


def arm():
    return kt.zoo.kuka_kr5().with_frame("flange", "link6", (0.0, 0.02, 0.05), rpy=(0.3, -0.2, 0.5))


def test_static_torques_of_a_payload_are_those_of_its_weight():
    bare = arm()
    loaded = bare.with_payload("flange", 4.0, center=(0.1, 0.0, 0.2), inertia=(0.03, 0.03, 0.02))
    still = np.zeros(6)
    R, p = kt.forward_kinematics(bare, Q)["flange"]
    J = kt.jacobian(bare, Q, "flange", (0.1, 0.0, 0.2))[:3]
    more = -J.T @ (4.0 * bare.gravity)
    assert np.allclose(kt.gravity_torque(loaded, Q) - kt.gravity_torque(bare, Q), more, atol=1e-11)
    weight = kt.joint_reactions(loaded, Q, still, still, labeled=True).sel(body="payload")
    assert np.allclose(weight.values[:3], R.T @ (-4.0 * bare.gravity), atol=1e-11)
    assert p.shape == (3,)


def test_mass_matrix_grows_by_the_kinetic_energy_of_the_payload():
    bare = arm()
    moment = np.array([[0.05, 0.004, 0.0], [0.004, 0.06, -0.003], [0.0, -0.003, 0.03]])
    loaded = bare.with_payload("flange", 4.0, center=(0.1, 0.0, 0.2), inertia=moment)
    J = kt.jacobian(bare, Q, "flange", (0.1, 0.0, 0.2))
    R, _ = kt.forward_kinematics(bare, Q)["flange"]
    grown = 4.0 * J[:3].T @ J[:3] + J[3:].T @ R @ moment @ R.T @ J[3:]
    assert np.allclose(kt.mass_matrix(loaded, Q) - kt.mass_matrix(bare, Q), grown, atol=1e-11)
    assert loaded.joint_names == bare.joint_names
    assert bare.mass + 4.0 == pytest.approx(loaded.mass)
    fused = loaded.fused()
    assert np.allclose(kt.mass_matrix(fused, Q), kt.mass_matrix(loaded, Q), atol=1e-11)


@pytest.mark.parametrize(
    ("kind", "size", "inside"),
    [
        ("box", (0.2, 0.3, 0.4), lambda x, s: (np.abs(x) <= np.array(s) / 2).all(axis=1)),
        ("sphere", (0.3,), lambda x, s: (x**2).sum(axis=1) <= s[0] ** 2),
        (
            "cylinder",
            (0.2, 0.5),
            lambda x, s: ((x[:, :2] ** 2).sum(axis=1) <= s[0] ** 2) & (abs(x[:, 2]) <= s[1] / 2),
        ),
        (
            "capsule",
            (0.15, 0.3),
            lambda x, s: (
                (x[:, :2] ** 2).sum(axis=1) + np.maximum(abs(x[:, 2]) - s[1] / 2, 0.0) ** 2 <= s[0] ** 2
            ),
        ),
        ("ellipsoid", (0.1, 0.2, 0.3), lambda x, s: ((x / np.array(s)) ** 2).sum(axis=1) <= 1.0),
    ],
)
def test_inertia_of_a_shape_is_that_of_a_cloud_of_points(kind, size, inside):
    edge = np.linspace(-0.35, 0.35, 141)
    x = np.stack(np.meshgrid(edge, edge, edge), axis=-1).reshape(-1, 3)
    x = x[inside(x, size)]
    moment = (x**2).sum(axis=1).mean() * np.eye(3) - x.T @ x / len(x)
    place = kt.Placement.at((0.1, 0.2, 0.3), rpy=(0.1, 0.2, 0.3))
    found = solid_inertia(1.0, kt.model.Shape(kind, size, place))
    R = place.rotation
    assert np.allclose(found.moment, R @ moment @ R.T, rtol=0.03, atol=4e-4)
    assert np.allclose(found.center, place.position)


def test_shape_and_inertia_objects():
    box = kt.model.Shape("box", (0.1, 0.2, 0.3), kt.Placement.at((0, 0, 0.15)))
    by_shape = arm().with_payload("flange", 2.0, shape=box)
    by_inertia = arm().with_payload("flange", kt.Inertia.box(2.0, (0.1, 0.2, 0.3), (0, 0, 0.15)))
    assert np.allclose(kt.mass_matrix(by_shape, Q), kt.mass_matrix(by_inertia, Q), atol=1e-13)
    assert by_shape.links[-1].body.shapes == (box,)
    two = by_shape.with_payload("payload", 0.5, center=(0, 0, 0.3), name="part")
    assert two.body_names[-2:] == ("payload", "part")


def test_round_trip_through_files(tmp_path):
    loaded = arm().with_payload("flange", 2.0, center=(0, 0, 0.1), inertia=(0.02, 0.02, 0.01))
    for name, options in (("arm.toml", {}), ("arm.urdf", {"allow_unphysical": True})):
        kt.save(loaded, tmp_path / name)
        again = kt.load(tmp_path / name, **options)
        assert np.allclose(kt.mass_matrix(again, Q), kt.mass_matrix(loaded, Q), atol=1e-12)


@each(
    ("call", "words"),
    [
        (lambda a: a.with_payload("wrist", 1.0), "wrist"),
        (lambda a: a.with_payload("world", 1.0), "world"),
        (lambda a: a.with_payload("flange", -1.0), "mass must be >= 0 kg, got -1"),
        (lambda a: a.with_payload("flange", float("nan")), "mass"),
        (lambda a: a.with_payload("flange", 1.0, inertia=(1.0, 0.1, 0.1)), "triangle inequality"),
        (lambda a: a.with_payload("flange", 1.0, center=(0, 1)), "center of mass"),
        (lambda a: a.with_payload("flange", 1.0, shape="box"), "Shape"),
        (
            lambda a: a.with_payload("flange", 1.0, shape=kt.model.Shape("mesh", (1, 1, 1), file="a.stl")),
            "mesh",
        ),
        (lambda a: a.with_payload("flange", kt.Inertia(1.0), center=(0, 0, 1)), "Inertia"),
        (lambda a: a.with_payload("flange", 1.0, name="link6"), "link6"),
        (lambda a: a.with_payload("flange", 1.0, name="flange"), "another name"),
        (lambda a: a.with_frame("flange", "link6"), "flange"),
        (lambda a: a.with_frame("tool", "link7"), "link7"),
        (lambda a: a.with_frame("tool", "link6", (0, 0)), "position"),
    ],
)
def test_bad_payloads_are_refused(call, words):
    with pytest.raises(kt.KinetreeError, match=words):
        call(arm())


STUDY = """
[study]
task = "inverse"
duration = 1.0

[mechanism]
zoo = "kuka_kr5"

[[mechanism.frame]]
name = "flange"
body = "link6"
at = [0, 0, 0.05]

[[mechanism.payload]]
on = "flange"
box = { mass = 3.0, size = [0.1, 0.1, 0.2], center = [0, 0, 0.1] }

[trajectory]
kind = "cycloid"
start = 0.0
end = [0.5, 0.4, 0.3, 0.2, 0.1, 0.0]
"""


def test_payload_in_a_study(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    result = kt.run(path)
    arm = kt.zoo.kuka_kr5().with_frame("flange", "link6", (0, 0, 0.05))
    loaded = arm.with_payload("flange", kt.Inertia.box(3.0, (0.1, 0.1, 0.2), (0, 0, 0.1)))
    tau = kt.inverse_dynamics(loaded, result.q.values, result.qd.values, result.qdd.values)
    assert np.allclose(result.tau.values, tau, atol=1e-9)
    assert result.mechanism.body_names[-1] == "payload"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('on = "flange"', 'on = "flansch"', "flansch"),
        ("box = {", "bux = {", "bux"),
        ("mass = 3.0", "mass = -3.0", "mass"),
        ('body = "link6"', 'body = "link9"', "link9"),
        ("box = { mass = 3.0, size = [0.1, 0.1, 0.2], center = [0, 0, 0.1] }", "", "needs a mass"),
    ],
)
def test_bad_payloads_in_studies_name_the_line(tmp_path, old, new, words):
    path = tmp_path / "study.toml"
    path.write_text(STUDY.replace(old, new))
    with pytest.raises(kt.KinetreeError, match=words) as caught:
        kt.run(path)
    assert "study.toml" in str(caught.value)
