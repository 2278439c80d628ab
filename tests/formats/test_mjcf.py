"""MJCF models against MuJoCo itself: poses, masses, dynamics, mimics, loops."""

import re

import numpy as np
import pytest

import kinetree as kt
from kinetree.formats.mjcf import load_mjcf, mechanism_from_mjcf
from support.each import each
from support.mujoco_peer import (
    DATA,
    UNCONSTRAINED,
    assert_same,
    assert_same_dynamics,
    body_poses,
    mujoco,
    peer,
    peer_mass_matrix,
    positions,
    quaternion,
)

pytestmark = pytest.mark.peers


def test_arm_has_the_dynamics_of_mujoco(rng):
    model, _ = peer("arm", UNCONSTRAINED)
    assert_same_dynamics(load_mjcf(DATA / "arm.xml"), model, rng)


def test_quadruped_has_the_dynamics_of_mujoco(rng):
    """Without the equality that couples two joints: MuJoCo's unconstrained dynamics has them apart."""
    model, _ = peer("quadruped", UNCONSTRAINED)
    text = (DATA / "quadruped.xml").read_text(encoding="utf-8")
    apart, count = re.subn(r"<equality>.*?</equality>", "", text, flags=re.DOTALL)
    assert count == 1
    assert_same_dynamics(mechanism_from_mjcf(apart), model, rng)


@each("seed", range(8))
def test_random_models_have_the_dynamics_of_mujoco(rng, seed):
    text = random_mjcf(np.random.default_rng(seed))
    model = mujoco.MjModel.from_xml_string(text)
    assert_same_dynamics(mechanism_from_mjcf(text), model, rng, states=2)


def random_mjcf(rng):
    """Two random trees: up to three joints in sequence on a body, random anchors, axes, references."""

    def numbers(*shape, scale=1.0):
        return " ".join(f"{x:.17g}" for x in scale * rng.normal(size=shape))

    def joint(kind):
        if kind == "ball":
            return f'<joint type="ball" pos="{numbers(3, scale=0.2)}"/>'
        return (
            f'<joint type="{kind}" axis="{numbers(3)}" pos="{numbers(3, scale=0.2)}" ref="{numbers(1)}" '
            f'armature="{rng.uniform(0, 0.1)}" damping="{rng.uniform()}" stiffness="{rng.uniform()}" '
            f'springref="{numbers(1)}"/>'
        )

    def body(depth, floating):
        choices = [[], ["hinge"], ["slide"], ["ball"], ["hinge", "hinge", "hinge"], ["slide", "ball"]]
        choices += [["ball", "slide"], ["slide", "hinge", "slide"]]
        kinds = choices[rng.integers(len(choices))] if depth else ["hinge", "slide"]
        joints = "<freejoint/>" if floating else "".join(joint(kind) for kind in kinds)
        geoms = f'<geom type="box" size="0.1 0.2 0.05" pos="{numbers(3, scale=0.1)}" quat="{numbers(4)}"/>'
        inside = "".join(body(depth + 1, False) for _ in range(rng.integers(3 if depth < 4 else 1)))
        place = f'pos="{numbers(3, scale=0.3)}" quat="{numbers(4)}"'
        return f'<body name="b{rng.integers(2**62)}" {place}>{joints}{geoms}{inside}</body>'

    trees = body(0, True) + body(0, False)
    option = f'<option gravity="{numbers(3, scale=9)}"><flag contact="disable"/></option>'
    return f"<mujoco><compiler angle='radian'/>{option}<worldbody>{trees}</worldbody></mujoco>"


def test_a_mimic_joint_moves_as_the_equality_of_mujoco_asks(rng):
    model, data = peer("loops")
    with pytest.warns(UserWarning, match="not linear"):
        loops = load_mjcf(DATA / "loops.xml")
    assert "curl_a" not in loops.joint_names and "curl_tip" not in loops.joint_names
    q = rng.uniform(-1, 1, loops.n_dof)
    tree = loops.tree
    qpos = positions(model, tree.coupling.matrix @ q + tree.coupling.offset)
    data.qpos[:] = qpos
    mujoco.mj_forward(model, data)
    rows = {model.equality(e).name: k for k, e in zip(*efc_rows(data), strict=True)}
    assert abs(data.efc_pos[rows["curling"]]) < 1e-14
    assert abs(data.efc_pos[rows["tipping"]]) < 1e-14
    assert abs(data.efc_pos[rows["circling"]]) > 1e-3
    M = peer_mass_matrix(model, data, tree.coupling.matrix @ q + tree.coupling.offset)
    assert_same(kt.mass_matrix(loops.opened(), q), tree.coupling.matrix.T @ M @ tree.coupling.matrix)


def efc_rows(data):
    """First row of each equality in MuJoCo's constraint arrays, and the equality's number."""
    is_equality = data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
    ids, rows = np.unique(data.efc_id[is_equality], return_index=True)
    return rows, ids


def test_loops_are_open_by_what_mujoco_measures(rng):
    model, data = peer("loops")
    with pytest.warns(UserWarning):
        mechanism = load_mjcf(DATA / "loops.xml")
    assert [loop.name for loop in mechanism.loops] == ["pin", "glue", "connect2", "weld3", "bond"]
    assert [loop.n_constraints for loop in mechanism.loops] == [3, 6, 3, 6, 6]
    q = rng.uniform(-1, 1, mechanism.n_dof)
    data.qpos[:] = positions(model, mechanism.tree.coupling.matrix @ q + mechanism.tree.coupling.offset)
    mujoco.mj_forward(model, data)
    poses = body_poses(mechanism, q) | {"world": (np.eye(3), np.zeros(3))}
    rows = {int(e): int(k) for k, e in zip(*efc_rows(data), strict=True)}
    for e, loop in enumerate(mechanism.loops):
        (R_a, p_a), (R_b, p_b) = poses[loop.body_a], poses[loop.body_b]
        gap = p_a + R_a @ loop.placement_a.position - p_b - R_b @ loop.placement_b.position
        assert np.abs(gap).max() > 1e-3
        assert_same(gap, data.efc_pos[rows[e] : rows[e] + 3])
        if loop.joint.kind == "fixed":  # MuJoCo's measure of the turn: the vector part of its quaternion
            turn = (R_b @ loop.placement_b.rotation).T @ R_a @ loop.placement_a.rotation
            vector = quaternion(turn)[1:]
            measured = data.efc_pos[rows[e] + 3 : rows[e] + 6]
            assert_same(np.abs(vector), np.abs(measured))
            assert_same(vector * np.sign(vector[0] * measured[0]), measured)


def test_loops_are_closed_at_the_reference_pose_of_mujoco():
    model, _ = peer("loops")
    with pytest.warns(UserWarning):
        mechanism = load_mjcf(DATA / "loops.xml")
    q = np.zeros(mechanism.n_dof)
    q[mechanism.joint_index("spread")] = 0.2
    poses = body_poses(mechanism, q)
    pin, glue = mechanism.loops[:2]
    for loop in (pin, glue):
        (R_a, p_a), (R_b, p_b) = poses[loop.body_a], poses[loop.body_b]
        assert_same(p_a + R_a @ loop.placement_a.position, p_b + R_b @ loop.placement_b.position)
    assert_same(poses["rocker"][0] @ glue.placement_a.rotation, poses["rod"][0] @ glue.placement_b.rotation)
    assert_same(poses["crank"][1], model.body("crank").pos)
