"""URDF files as Pinocchio understands them: same masses, same places, same torques."""

from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from kinetree.formats.urdf import load_urdf
from kinetree.formats.urdf_writer import urdf_text

pytestmark = pytest.mark.peers
pin = pytest.importorskip("pinocchio")

DATA = Path(__file__).parent.parent / "data" / "urdf"
FILES = ("arm7", "gripper", "torso")
ONE_AXIS_FILES = ("arm7", "gripper")
KINDS = ("spherical", "prismatic", "free", "universal", "fixed", "planar", "revolute", "cylindrical")


def file_and_text(name):
    file = DATA / f"{name}.urdf"
    return load_urdf(file), file.read_text()


def every_kind():
    """A branched mechanism with all joint kinds, limits and friction left out."""
    rng = np.random.default_rng(11)
    builder = kt.Builder("every kind")
    bodies = [builder.world]
    for k, kind in enumerate(KINDS):
        points = zip(rng.uniform(0.2, 1, 6), 0.2 * rng.normal(size=(6, 3)), strict=True)
        inertia = sum((kt.Inertia.point(m, p) for m, p in points), kt.Inertia())
        options = {"axis": rng.normal(size=3)} if kind in ("revolute", "prismatic", "cylindrical") else {}
        place = {"at": rng.normal(size=3), "rpy": rng.uniform(-1.5, 1.5, size=3)}
        parent = bodies[int(rng.integers(len(bodies)))]
        bodies.append(parent.joint(f"j{k}", kind, **place, **options).body(f"b{k}", inertia))
    return builder.build()


WRITTEN = {name: (lambda name=name: load_urdf(DATA / f"{name}.urdf")) for name in FILES} | {
    "kinds": every_kind
}


def placements_at_rest(tree):
    """World rotation and position of every body at q = 0, from the arrays of the tree."""
    R, p = {-1: np.eye(3)}, {-1: np.zeros(3)}
    offset = np.zeros(tree.n) if tree.coupling is None else tree.coupling.offset
    for i in range(tree.n):
        j, q = int(tree.parent[i]), offset[i]
        c, s = np.cos(q), np.sin(q)
        turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]]) if tree.turns[i] else np.eye(3)
        slide = np.zeros(3) if tree.turns[i] else np.array([0, 0, q])
        p[i] = p[j] + R[j] @ (tree.position[i] + tree.rotation[i] @ slide)
        R[i] = R[j] @ tree.rotation[i] @ turn
    return {
        name: (R[a] @ tree.body_rotation[b], p[a] + R[a] @ tree.body_position[b])
        for b, (name, a) in enumerate(zip(tree.body_names, tree.body_axis.tolist(), strict=True))
    }


def pin_configuration(model, values):
    """Pinocchio's q from coordinates by joint name; its continuous joints have a cosine and a sine."""
    q = pin.neutral(model)
    for name, value in values.items():
        joint = model.joints[model.getJointId(name)]
        q[joint.idx_q : joint.idx_q + joint.nq] = value if joint.nq == 1 else (np.cos(value), np.sin(value))
    return q


def columns(model, tree):
    """Where Pinocchio keeps the velocity of each axis."""
    return [model.joints[model.getJointId(name)].idx_v for name in tree.axis_names]


def full(tree, q):
    """All coordinates from the independent ones."""
    return q if tree.coupling is None else tree.coupling.matrix @ q + tree.coupling.offset


def check_mass_and_places(mechanism, model):
    moving = sum(link.body.inertia.mass for link in mechanism.links if body_moves(mechanism, link.body.name))
    assert pin.computeTotalMass(model) == pytest.approx(moving, rel=1e-14)
    tree, data = mechanism.tree, model.createData()
    offsets = dict(zip(tree.axis_names, full(tree, np.zeros(mechanism.n_dof)), strict=True))
    pin.framesForwardKinematics(
        model, data, pin_configuration(model, {k: x for k, x in offsets.items() if model.existJointName(k)})
    )
    for name, (R, p) in placements_at_rest(tree).items():
        placement = data.oMf[model.getFrameId(name, pin.FrameType.BODY)]
        np.testing.assert_allclose(placement.rotation, R, atol=1e-14, err_msg=name)
        np.testing.assert_allclose(placement.translation, p, atol=1e-14, err_msg=name)


def body_moves(mechanism, name):
    return mechanism.tree.body_axis[mechanism.body_index(name)] >= 0


def check_inverse_dynamics(mechanism, model, tolerance=1e-13):
    """tau = G^T (rnea + friction), all coordinates from q_full = G q + offset."""
    tree, data, rng = mechanism.tree, model.createData(), np.random.default_rng(5)
    G = np.eye(tree.n) if tree.coupling is None else tree.coupling.matrix
    where = columns(model, tree)
    q, qd, qdd = rng.normal(size=(3, 20, mechanism.n_dof))
    expected = np.empty_like(q)
    for k in range(len(q)):
        v, a = np.zeros(model.nv), np.zeros(model.nv)
        v[where], a[where] = G @ qd[k], G @ qdd[k]
        values = dict(zip(tree.axis_names, full(tree, q[k]), strict=True))
        tau = pin.rnea(model, data, pin_configuration(model, values), v, a)[where]
        expected[k] = G.T @ (tau + tree.viscous * v[where] + tree.coulomb * np.sign(v[where]))
    value = kt.inverse_dynamics(mechanism, q, qd, qdd)
    np.testing.assert_allclose(value, expected, rtol=0, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("name", FILES)
def test_file_has_the_same_masses_and_places(name):
    mechanism, text = file_and_text(name)
    check_mass_and_places(mechanism, pin.buildModelFromXML(text))


@pytest.mark.parametrize("name", WRITTEN)
def test_written_text_has_the_same_masses_and_places(name):
    mechanism = WRITTEN[name]()
    check_mass_and_places(mechanism, pin.buildModelFromXML(urdf_text(mechanism)))


@pytest.mark.parametrize("name", ONE_AXIS_FILES)
def test_file_has_the_same_inverse_dynamics(name):
    mechanism, text = file_and_text(name)
    check_inverse_dynamics(mechanism, pin.buildModelFromXML(text))


@pytest.mark.parametrize("name", WRITTEN)
def test_written_text_has_the_same_inverse_dynamics(name):
    mechanism = WRITTEN[name]()
    check_inverse_dynamics(mechanism, pin.buildModelFromXML(urdf_text(mechanism)))


def test_limits_are_the_same():
    mechanism, text = file_and_text("arm7")
    for source in (text, urdf_text(mechanism)):
        model = pin.buildModelFromXML(source)
        where = columns(model, mechanism.tree)
        np.testing.assert_array_equal(np.array(model.upperEffortLimit)[where], mechanism.tree.effort_limit)
        np.testing.assert_array_equal(
            np.array(model.upperVelocityLimit)[where], mechanism.tree.velocity_limit
        )
        for name, lower, upper in zip(
            mechanism.joint_names, mechanism.tree.lower, mechanism.tree.upper, strict=True
        ):
            joint = model.joints[model.getJointId(name)]
            if joint.nq == 1:
                limits = model.lowerPositionLimit[joint.idx_q], model.upperPositionLimit[joint.idx_q]
                assert limits == (lower, upper)


def test_mimic_joints_of_the_written_text_are_understood():
    mechanism = load_urdf(DATA / "gripper.urdf")
    model = pin.buildModelFromXML(urdf_text(mechanism), mimic=True)
    assert model.nv == mechanism.n_dof
