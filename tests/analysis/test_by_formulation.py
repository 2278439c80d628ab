"""What the table of formulations says that each can, the public functions let it do."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from support import trees
from support.each import each

PARTS = {
    "inverse_dynamics": None,
    "joint_reactions": None,
    "inverse_dynamics_derivatives": ("tau", "dtau_dq", "dtau_dqd", "dtau_dqdd"),
    "joint_reaction_derivatives": ("reaction", "dreaction_dq", "dreaction_dqd", "dreaction_dqdd"),
}
ASK = {
    "inverse_dynamics": kt.inverse_dynamics,
    "joint_reactions": kt.joint_reactions,
    "inverse_dynamics_derivatives": kt.inverse_dynamics_derivatives,
    "joint_reaction_derivatives": kt.analysis.joint_reaction_derivatives,
}
ABLE = [(f.name, ability) for f in kt.analysis.formulations() for ability in PARTS if ability in f.can]


def welded():
    """A tool welded on, a slide, and a joint that follows another."""
    robot = kt.Builder("welded")
    upper = robot.world.revolute("a", axis="y").body("upper", kt.Inertia.rod(2.0, (0.4, 0, 0)))
    upper.fixed("weld", at=(0.2, 0.1, 0.3)).body("tool", kt.Inertia.sphere(0.5, 0.1))
    slide = upper.prismatic("b", at=(0.4, 0, 0), axis="x").body("slide", kt.Inertia.rod(1.0, (0.3, 0.1, 0)))
    slide.revolute("c", axis="z", mimic=kt.model.Mimic("a", 2.0, 0.1)).body(
        "tip", kt.Inertia.rod(1.0, (0.2, 0, 0))
    )
    return robot.build()


def parts(found, ability):
    return [found] if PARTS[ability] is None else [getattr(found, name) for name in PARTS[ability]]


@each(("name", "ability"), ABLE)
@each("make", [kt.zoo.kuka_kr5, welded], ids=["arm", "welded"])
@each("batch", [(), (2,), (0,)])
def test_formulations_answer_as_the_compiled_code(name, ability, make, batch, rng):
    robot, ask = make(), ASK[ability]
    state = trees.state(robot, rng, batch=batch)
    for found, expected in zip(
        parts(ask(robot, *state, formulation=name), ability), parts(ask(robot, *state), ability), strict=True
    ):
        assert found.shape == expected.shape
        size = max(1.0, np.abs(expected).max(initial=0.0))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * size)


def test_reactions_in_the_world_with_loads(rng):
    robot = welded()
    state, load = trees.state(robot, rng, batch=(2,)), kt.Wrench("tool", (1, 2, 3), point=(0.1, 0.2, 0))
    for name in ("spatial", "newton_euler", "denoc"):
        found = kt.joint_reactions(robot, *state, load, frame="world", formulation=name)
        np.testing.assert_allclose(found, kt.joint_reactions(robot, *state, load, frame="world"), atol=1e-10)


def test_given_memory_takes_the_answer(rng):
    arm = kt.zoo.kuka_kr5()
    earlier = kt.inverse_dynamics_derivatives(arm, *trees.state(arm, rng, batch=(2,)))
    state = trees.state(arm, rng, batch=(2,))
    found = kt.inverse_dynamics_derivatives(arm, *state, formulation="lagrangian", out=earlier)
    assert found is earlier
    expected = kt.inverse_dynamics_derivatives(arm, *state).dtau_dq
    np.testing.assert_allclose(found.dtau_dq, expected, atol=1e-9)


def test_what_a_formulation_cannot_do_is_said():
    arm, still = kt.zoo.kuka_kr5(), np.zeros(6)
    with pytest.raises(InputError, match=r"offers no inverse_dynamics_derivatives; these do: .*lagrangian"):
        kt.inverse_dynamics_derivatives(arm, still, still, still, formulation="denoc")
    with pytest.raises(InputError, match="offers no joint_reactions; these do: spatial"):
        kt.joint_reactions(arm, still, still, still, formulation="lagrangian")
    asked = [
        (kt.analysis.joint_reaction_derivatives, arm, kt.Wrench(arm.body_names[-1], (0, 0, -1))),
        (kt.inverse_dynamics_derivatives, arm, kt.Wrench(arm.body_names[-1], (0, 0, -1), frame="body")),
        (kt.inverse_dynamics_derivatives, welded(), kt.Wrench("tool", (0, 0, -1))),  # mimic joints
    ]
    for ask, robot, load in asked:
        zero = np.zeros(robot.n_dof)
        with pytest.raises(InputError, match="derivatives with wrenches of torques alone, without mimic"):
            ask(robot, zero, zero, zero, load, formulation="newton_euler")
    with pytest.raises(InputError, match="do not fit together"):
        kt.inverse_dynamics(arm, np.zeros((2, 6)), np.zeros((3, 6)), still, formulation="denoc")
