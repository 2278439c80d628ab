"""Answers in arrays that the caller gives, as kernels pack them, and without checks."""

import threading

import numpy as np
import pytest
from benchmarks.packed import evaluate_packed

import kinetree as kt
from kinetree.errors import InputError, SingularityError
from kinetree.kernels.rnea_gradient import RNEA_GRADIENT
from support import trees
from support.each import each

ARM = kt.zoo.kuka_kr5()
SIMPLE = [kt.inverse_dynamics, kt.forward_dynamics]


def states(mechanism, rng, *batch):
    return [rng.uniform(-1, 1, (*batch, mechanism.n_dof)) for _ in range(3)]


def mimicking():
    return trees.mimic_tree(np.random.default_rng(4), 9)


@each("ask", SIMPLE)
@each("batch", [(), (1,), (5,), (2, 3)])
def test_simple_answers(ask, batch, rng):
    x = states(ARM, rng, *batch)
    expected, out = ask(ARM, *x), np.full((*batch, 6), np.nan)
    assert ask(ARM, *x, out=out) is out
    assert np.array_equal(out, expected)


@pytest.mark.parametrize("ask", SIMPLE)
def test_with_loads_mimics_and_lists(ask, rng):
    x, out = states(ARM, rng, 5), np.empty((5, 6))
    load = kt.Wrench(ARM.body_names[-1], force=(1.0, 2.0, 3.0))
    assert np.array_equal(ask(ARM, *x, [load], out=out), ask(ARM, *x, [load]))
    assert np.array_equal(ask(ARM, *(y.tolist() for y in x), out=out), ask(ARM, *x))
    gripper = mimicking()
    x, out = states(gripper, rng, 5), np.empty((5, gripper.n_dof))
    assert np.array_equal(ask(gripper, *x, out=out), ask(gripper, *x))


@pytest.mark.parametrize("batch", [(), (1,), (5,), (2, 3)])
def test_mass_matrix(batch, rng):
    for mechanism in (ARM, mimicking()):
        n = mechanism.n_dof
        q, out = states(mechanism, rng, *batch)[0], np.full((*batch, n, n), np.nan)
        assert kt.mass_matrix(mechanism, q, out=out) is out
        assert np.array_equal(out, kt.mass_matrix(mechanism, q))


@each("batch", [(), (3,), (9,), (2, 4)])
@each("ask", [kt.inverse_dynamics_derivatives, kt.forward_dynamics_derivatives])
def test_derivatives(ask, batch, rng):
    names = ("tau", "dtau_dq", "dtau_dqd", "dtau_dqdd")
    if ask is kt.forward_dynamics_derivatives:
        names = ("qdd", "dqdd_dq", "dqdd_dqd", "dqdd_dtau")
    out = ask(ARM, *states(ARM, rng, *batch))
    arrays = [getattr(out, name) for name in names]
    x = states(ARM, rng, *batch)
    assert ask(ARM, *x, out=out) is out
    expected = ask(ARM, *x)
    for name, array in zip(names, arrays, strict=True):
        assert np.shares_memory(getattr(out, name), array)
        assert np.array_equal(array, getattr(expected, name))
    load = kt.Wrench(ARM.body_names[-1], force=(1.0, 2.0, 3.0))
    ask(ARM, *x, [load], out=out)
    assert np.array_equal(arrays[1], getattr(ask(ARM, *x, [load]), names[1]))


@pytest.mark.parametrize("batch", [(3,), (9,), (2, 4)])
def test_what_a_kernel_packs_is_the_full_answer(batch, rng):
    x = states(ARM, rng, *batch)
    (tau,), packed = evaluate_packed(RNEA_GRADIENT, ARM.tree, x, [6])
    full = kt.inverse_dynamics_derivatives(ARM, *x)
    assert np.allclose(tau, full.tau, rtol=1e-12, atol=1e-12)
    assert np.allclose(packed.matrices, full.matrices, rtol=1e-12, atol=1e-12)
    with pytest.raises(TypeError, match="packed"):
        kt.inverse_dynamics_derivatives(ARM, *x, packed=True)


@pytest.mark.parametrize(
    ("out", "words"),
    [
        (np.empty((5, 5)), r"shape \(5, 6\), got float64 of shape \(5, 5\)"),
        (np.empty((4, 6)), r"shape \(5, 6\)"),
        (np.empty((5, 6), dtype=np.float32), "float32"),
        (np.empty((6, 5)).T, "contiguous"),
        (np.empty((5, 12))[:, ::2], "contiguous"),
        ([[0.0] * 6] * 5, "got list"),
    ],
)
def test_unfit_memory_is_refused(out, words, rng):
    x = states(ARM, rng, 5)
    for ask in SIMPLE:
        with pytest.raises(InputError, match=words):
            ask(ARM, *x, out=out)
    with pytest.raises(InputError, match="out must"):
        kt.mass_matrix(ARM, x[0], out=out)
    with pytest.raises(InputError, match="earlier result"):
        kt.inverse_dynamics_derivatives(ARM, *x, out=out)


def test_memory_of_the_input_is_refused(rng):
    x = states(ARM, rng, 5)
    with pytest.raises(InputError, match="share memory"):
        kt.inverse_dynamics(ARM, *x, out=x[2])
    frozen = np.empty((5, 6))
    frozen.setflags(write=False)
    with pytest.raises(InputError, match="writable"):
        kt.forward_dynamics(ARM, *x, out=frozen)


@pytest.mark.parametrize("ask", [kt.inverse_dynamics_derivatives, kt.forward_dynamics_derivatives])
def test_earlier_answers_must_fit(ask, rng):
    earlier = ask(ARM, *states(ARM, rng, 5))
    with pytest.raises(InputError, match=r"\(5, 6\)"):
        ask(ARM, *states(ARM, rng, 7), out=earlier)
    with pytest.raises(InputError, match=r"\(5, 6\)"):
        ask(ARM, *states(ARM, rng), out=earlier)


def test_bad_states_are_found_with_given_memory(rng):
    x = states(ARM, rng, 5)
    earlier = kt.inverse_dynamics_derivatives(ARM, *x)
    x[1][3, 2] = np.nan
    for ask, out in ((kt.inverse_dynamics, np.empty((5, 6))), (kt.inverse_dynamics_derivatives, earlier)):
        with pytest.raises(InputError, match=r"qd must be finite.*state 3"):
            ask(ARM, *x, out=out)


# ---- without checks ---------------------------------------------------------------------------------------
def test_unchecked_lets_nan_through_and_nothing_else_changes(rng):
    x = states(ARM, rng, 8)
    expected = kt.inverse_dynamics(ARM, *x)
    x[0][2, 1] = np.nan
    with pytest.raises(InputError):
        kt.inverse_dynamics(ARM, *x)
    with kt.analysis.unchecked():
        tau = kt.inverse_dynamics(ARM, *x)
    assert np.isnan(tau[2]).any()
    good = np.arange(8) != 2
    assert np.array_equal(tau[good], expected[good])
    with pytest.raises(InputError):
        kt.inverse_dynamics(ARM, *x)


def test_unchecked_still_looks_at_shapes(rng):
    x = states(ARM, rng, 8)
    with kt.analysis.unchecked():
        for ask in SIMPLE:
            with pytest.raises(InputError):
                ask(ARM, x[0][:, :5].copy(), x[1], x[2])
            with pytest.raises(InputError):
                ask(ARM, x[0], x[1][:3], x[2])
            with pytest.raises(InputError):
                ask(ARM, *x, out=np.empty((7, 6)))


def test_unchecked_does_not_ask_about_singular_states():
    massless = kt.Builder("massless")
    massless.world.revolute("a").body("b", kt.Inertia.sphere(1.0, 0.1)).revolute("c", at=(1, 0, 0)).body(
        "d", kt.Inertia(0.0, (0, 0, 0), np.zeros((3, 3)))
    )
    robot, still = massless.build(), np.zeros((8, 2))
    with pytest.raises(SingularityError):
        kt.forward_dynamics(robot, still, still, still)
    with kt.analysis.unchecked():
        assert kt.forward_dynamics(robot, still, still, still).shape == (8, 2)


EVERYTHING = {
    "tau": kt.inverse_dynamics,
    "qdd": kt.forward_dynamics,
    "M": lambda robot, q, qd, x: kt.mass_matrix(robot, q),
    "h": lambda robot, q, qd, x: kt.bias_torque(robot, q, qd),
    "g": lambda robot, q, qd, x: kt.gravity_torque(robot, q),
    "dtau_dq": lambda *given: kt.inverse_dynamics_derivatives(*given).dtau_dq,
    "dqdd_dq": lambda *given: kt.forward_dynamics_derivatives(*given).dqdd_dq,
    "d2tau": lambda *given: kt.analysis.torque_hessian(*given, given[-1]).q_q,
    "reactions": kt.joint_reactions,
    "dreaction_dq": lambda *given: kt.analysis.joint_reaction_derivatives(*given).dreaction_dq,
    "T": lambda robot, q, qd, x: kt.kinetic_energy(robot, q, qd),
    "places": lambda robot, q, qd, x: kt.forward_kinematics(robot, q).position,
    "speeds": lambda robot, q, qd, x: kt.body_velocities(robot, q, qd),
    "J": lambda robot, q, qd, x: kt.jacobian(robot, q, robot.body_names[-1]),
}


@each("name", EVERYTHING)
@each("robot", [ARM, mimicking()], ids=lambda robot: robot.name)
def test_unchecked_is_the_same_for_every_question_and_batch(name, robot, rng):
    ask = EVERYTHING[name]
    for batch in ((1,), (3,), (4,), (9,)):
        x, bad = states(robot, rng, *batch), batch[0] // 2
        with kt.analysis.unchecked():
            expected = ask(robot, *x)
        x[0][bad, 0] = np.nan
        with pytest.raises(InputError, match=f"nan .* in state {bad}"):
            ask(robot, *x)
        with kt.analysis.unchecked():
            found = ask(robot, *x)
            alone = ask(robot, *(y[bad] for y in x))
        assert np.isnan(found[bad]).any() and np.isnan(alone).any()
        good = np.arange(len(found)) != bad
        assert np.array_equal(found[good], expected[good])


def test_unchecked_does_not_ask_about_singular_states_with_mimics(rng):
    robot = kt.Builder("massless")
    nothing = kt.Inertia(0.0, (0, 0, 0), np.zeros((3, 3)))
    robot.world.revolute("a").body("b", kt.Inertia.sphere(1.0, 0.1))
    robot.world.revolute("c", mimic=kt.model.Mimic("a")).body("d", nothing).revolute("e").body("f", nothing)
    pair, still = robot.build(), np.zeros((5, 2))
    with pytest.raises(SingularityError, match="'e' moves no inertia in state 0 "):
        kt.forward_dynamics(pair, still, still, still)
    with kt.analysis.unchecked():
        assert np.isnan(kt.forward_dynamics(pair, still, still, still)).all()
        assert kt.forward_dynamics_derivatives(pair, still, still, still).dqdd_dq.shape == (5, 2, 2)


def test_unchecked_holds_for_its_own_thread(rng):
    x = states(ARM, rng, 8)
    x[0][0, 0] = np.nan
    found = []

    def elsewhere():
        try:
            kt.inverse_dynamics(ARM, *x)
        except InputError:
            found.append("checked")

    with kt.analysis.unchecked():
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert found == ["checked"]
