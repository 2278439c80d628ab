"""First and second derivatives of questions against differences of values and of slopes."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from kinetree.gradients.questions import ForwardDynamics, InverseDynamics, MassMatrix, all_bends, pose_of

STEP = 1e-6


def differences(function, rows):
    """d function / d rows by central differences, (..., k n)."""
    columns = []
    for place, row in enumerate(rows):
        for k in range(row.size):
            change = np.zeros(row.size)
            change[k] = STEP
            ends = [function(*rows[:place], row + s * change, *rows[place + 1 :]) for s in (1.0, -1.0)]
            columns.append((ends[0] - ends[1]) / (2.0 * STEP))
    return np.stack(columns, axis=-1)


def mechanisms():
    yield kt.zoo.gripper()
    yield kt.zoo.quadruped()
    yield kt.zoo.random_tree(5, 7)
    two = kt.Builder("mimic", gravity=(0, 0, -9.81))
    arm = two.world.revolute("a", axis="y", stiffness=3.0, viscous=0.2).body(
        "upper", kt.Inertia.rod(1.0, (0, 0, -0.4))
    )
    arm.revolute("b", axis="x", at=(0, 0, -0.4), mimic=kt.model.Mimic("a", -0.5)).body(
        "lower", kt.Inertia.rod(0.5, (0.1, 0, -0.3))
    )
    yield two.build()


@pytest.mark.parametrize("mechanism", [*mechanisms()], ids=lambda x: x.name)
def test_slopes_and_bends_are_those_of_differences(mechanism):
    random = np.random.default_rng(3)
    q, qd, qdd = random.uniform(-0.6, 0.6, (3, mechanism.n_dof))
    tau = kt.inverse_dynamics(mechanism, q, qd, qdd)
    asked = [
        (InverseDynamics(mechanism), (q, qd, qdd)),
        (ForwardDynamics(mechanism), (q, qd, tau)),
        (MassMatrix(mechanism), (q,)),
        (pose_of(mechanism, mechanism.body_names[-1]), (q,)),
    ]
    off = {}
    for question, rows in asked:
        slopes, bends = question.slopes(*rows), all_bends(question, *rows)
        for name, found, true in (
            ("slopes", slopes, differences(question.value, rows)),
            ("bends", bends, differences(question.slopes, rows)),
        ):
            assert found.shape == true.shape
            error = np.abs(found - true).max() / max(1.0, np.abs(true).max())
            if error > 1e-6:
                off[type(question).__name__, name] = error
    assert off == {}


def test_a_frame_is_a_place_on_its_body():
    arm = kt.zoo.gripper().with_frame("tip", "link3", (0.1, 0.02, 0.0), [[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    q = np.array([0.2, -0.4, 0.3, 0.1])
    pose, (rotation, position) = pose_of(arm, "tip"), kt.forward_kinematics(arm, q)["tip"]
    assert np.allclose(pose.value(q), [*position, *rotation.ravel()], atol=1e-15)
    assert np.abs(pose.slopes(q) - differences(pose.value, (q,))).max() < 1e-9


def test_what_does_not_move_has_no_derivatives():
    with pytest.raises(InputError, match="fixed to the world"):
        pose_of(kt.zoo.gripper().with_frame("base", "world"), "base")
