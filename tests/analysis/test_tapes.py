"""Every question about trees, recorded: the same numbers as the public functions give."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.codegen.library import ANSWERS, library_answer
from kinetree.dynamics.loops.states import fitting_state
from kinetree.dynamics.tapes import CLOSING, QUESTIONS, taped
from kinetree.errors import InputError, SingularityError
from support.kernels import zoo

ROUNDING = 1e-13


def errors(mechanism, s, names=None):
    """Errors relative to the largest number of each result; of accelerations the torques M dqdd."""
    M, found = kt.mass_matrix(mechanism, s.q), {}
    for name in names or [*ANSWERS, f"jacobian:{mechanism.body_names[-1]}"]:
        answer = taped(mechanism, name)
        state = [{"tau": s.qdd}.get(x.name, getattr(s, x.name, None)) for x in answer.inputs]
        expected = library_answer(mechanism, answer, state)
        for quantity, new, old in zip(
            answer.results, answer.recording.evaluate(*state), expected, strict=True
        ):
            difference, size = new - old, old
            if name.startswith("forward_dyn"):
                column = difference.reshape(len(difference), mechanism.n_dof, -1)
                difference, size = M @ column, np.abs(M).max() * np.abs(old).max()
            found[name, quantity.name] = np.abs(difference).max() / max(np.abs(size).max(), 1e-12)
    return found


def state(mechanism, count=4):
    return kt.random_state(mechanism, np.random.default_rng(3), (count,))


def test_every_question_of_every_tree():
    assert set(ANSWERS) == {*QUESTIONS} - {CLOSING}
    few = ("inverse_dynamics", "forward_dynamics", "joint_reactions")
    wrong = {}
    for name, mechanism in zoo().items():
        if mechanism.tree.springs is None:
            names = few if mechanism.n_dof > 7 else None
            found = errors(mechanism, state(mechanism), names)
            wrong |= {(name, *key): x for key, x in found.items() if not x < ROUNDING}
    assert not wrong


def test_closed_loops():
    """Torques of drives and accelerations in states that close the loops, beside the library's own."""
    wrong = {}
    planar = "four_bar slider_crank five_bar three_rrr n_four_bar robotic_leg jansen_leg scissor_lift"
    for name in (*planar.split(), "stewart", "delta"):
        mechanism = kt.zoo.by_name(name)
        s = fitting_state(mechanism, 4, 1)
        third = {"inverse_dynamics": s.qdd, "forward_dynamics": np.where(mechanism.driven, s.qdd, 0.0)}
        for question, x in third.items():
            found = taped(mechanism, question).evaluate(s.q, s.qd, x)[0]
            expected = getattr(kt, question)(mechanism, s.q, s.qd, x)
            error = np.abs(found - expected).max() / np.abs(expected).max()
            if not error < 1e-11:
                wrong[name, question] = error
    assert not wrong


def mimic(*higher):
    arm = kt.Builder("mimic")
    first = arm.world.revolute("a", axis="y").body("first", kt.Inertia.rod(1.0, end=(1, 0, 0)))
    second = first.revolute("b", axis="z", at=(1, 0, 0)).body("second", kt.Inertia.rod(1.5, end=(1, 0.3, 0)))
    follows = kt.model.Mimic("a", 0.7, 0.1, higher) if higher else kt.model.Mimic("a", 0.7, 0.1)
    second.revolute("c", axis="x", at=(1, 0, 0), mimic=follows).body(
        "third", kt.Inertia.point(1.0, (0.2, 1, 0))
    )
    return arm.build()


def test_mimic_joints_and_springs_between_bodies():
    names = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "bias_torque", "forward_kinematics")
    wrong = {}
    for mechanism in (mimic(), kt.zoo.flyball_governor().opened(), kt.zoo.andrews_squeezer().opened()):
        s = state(mechanism)
        found = errors(mechanism, s, names)
        wrong |= {(mechanism.name, key): x for key, x in found.items() if not x < ROUNDING}
    assert not wrong


@pytest.mark.parametrize(
    ("mechanism", "name", "message"),
    [
        (kt.zoo.four_bar(), "mass_matrix", "closed loops; with these only inverse_dynamics"),
        (kt.zoo.bricard(), "forward_dynamics", "special lengths"),
        (kt.zoo.andrews_squeezer(), "forward_dynamics", "springs"),
        (kt.zoo.gripper(), "inverse_dynamic", "Did you mean 'inverse_dynamics'"),
        (kt.zoo.gripper(), "jacobian:hant", "unknown body 'hant'"),
        (kt.zoo.flyball_governor().opened(), "energies", "springs between bodies"),
    ],
)
def test_what_cannot_be_recorded_is_refused(mechanism, name, message):
    with pytest.raises(InputError, match=message):
        taped(mechanism, name)


def test_a_joint_that_moves_no_inertia_is_named_as_singular():
    arm = kt.Builder("light")
    body = arm.world.revolute("a", axis="y").body("rod", kt.Inertia.rod(1.0, end=(1, 0, 0)))
    hand = body.revolute("b", axis="y", at=(1, 0, 0)).body("hand", kt.Inertia(0.0))
    hand.revolute("c", axis="y", mimic=kt.model.Mimic("b")).body("finger", kt.Inertia(0.0))
    with pytest.raises(SingularityError, match="'light': a joint"):
        taped(arm.build(), "forward_dynamics")


def test_operations_with_known_zeros_are_counted():
    """Those that are left for one mechanism: of inverse dynamics not more than the document needs."""
    for mechanism, document in ((kt.zoo.gripper(), (295, 253)), (kt.zoo.kuka_kr5(), (483, 417))):
        known = kt.analysis.operation_counts(mechanism, known_zeros=True)
        general = kt.analysis.operation_counts(mechanism)
        assert known.multiplications < document[0] < general.multiplications + 200
        assert known.additions < document[1] and known.steps == {}
    with pytest.raises(InputError, match="shortest formulation by itself"):
        kt.analysis.operation_counts(kt.zoo.gripper(), "inverse_dynamics", "denoc", known_zeros=True)
