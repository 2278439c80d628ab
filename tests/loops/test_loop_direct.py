"""Direct calls for closed loops: the bits of the careful way, or no answer where that has to look."""

import functools
import gc
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import kinetree as kt
from kinetree.dynamics.forward import FORWARD
from kinetree.dynamics.inverse import INVERSE
from kinetree.dynamics.loops.acceleration import loop_accelerations
from kinetree.dynamics.loops.dynamics import drive_torque
from kinetree.dynamics.loops.states import fitting_state
from kinetree.engine import direct, run
from kinetree.kernels.number import LANES
from support.each import each

NAMES = [name for name in kt.zoo.names() if kt.zoo.by_name(name).loops]
SPRUNG = "andrews_squeezer"
ASKED = {"forward": (FORWARD, kt.forward_dynamics), "inverse": (INVERSE, kt.inverse_dynamics)}
CAREFUL = {"forward": loop_accelerations, "inverse": drive_torque}


known = functools.cache(kt.zoo.by_name)  # preparing loops takes longer than asking


def states(mechanism, which, count=7):
    """Three arrays (count, n_dof) of states that fit the loops."""
    at = fitting_state(mechanism, count, seed=3)
    tau = 5.0 * np.random.default_rng(4).standard_normal(at.q.shape)
    return at.q, at.qd, tau if which == "forward" else at.qdd


def asked(mechanism, which, x):
    """The direct call, after a question was answered."""
    question, ask = ASKED[which]
    ask(mechanism, *(y[0] for y in x))
    return mechanism.tree.kept.calls[question]


def zoo():
    """Mechanisms of the zoo and questions; the walker has fewer drives than freedoms."""
    return [
        (name, which) for name in NAMES for which in ASKED if (name, which) != ("jansen_walker", "inverse")
    ]


@pytest.fixture(params=ASKED)
def which(request):
    return request.param


@each(("name", "which"), zoo())
def test_the_bits_are_those_of_the_careful_way(name, which):
    mechanism = known(name)
    x, ask = states(mechanism, which), ASKED[which][1]
    call, careful = asked(mechanism, which, x), CAREFUL[which]
    for k in range(len(x[0])):
        one = [y[k] for y in x]
        found, expected = call(*one), careful(mechanism, *one)
        assert (found is None) == (name == SPRUNG)
        assert found is None or np.array_equal(found, expected)
        assert np.array_equal(ask(mechanism, *one), expected)
    few = [y[: LANES - 1] for y in x]
    assert np.array_equal(ask(mechanism, *few), careful(mechanism, *few))
    assert np.array_equal(ask(mechanism, *x), careful(mechanism, *x))
    assert np.array_equal(ask(mechanism, *few)[1], ask(mechanism, *(y[1] for y in x)))


@pytest.mark.parametrize("name", ["four_bar", "bricard", "stewart"])
def test_torques_and_accelerations_are_inverse_to_each_other(name):
    mechanism = known(name)
    q, qd, qdd = states(mechanism, "inverse")
    inverse, forward = asked(mechanism, "inverse", (q, qd, qdd)), asked(mechanism, "forward", (q, qd, qdd))
    for at in zip(q, qd, qdd, strict=True):
        back = forward(*at[:2], inverse(*at))
        assert np.abs(back - at[2]).max() < 1e-9 * max(1.0, np.abs(at[2]).max())


def test_whatever_is_not_plain_is_answered_with_care(which):
    mechanism = known("four_bar")
    x, ask = states(mechanism, which), ASKED[which][1]
    call, one = asked(mechanism, which, x), [y[1] for y in x]
    expected = ask(mechanism, *one)
    strided = [np.repeat(y, 2)[::2] for y in one]
    odd = ([y.tolist() for y in one], strided, [y[None, None] for y in one], [one[0][None], *one[1:]])
    for form in odd:
        assert call(*form) is None
        assert np.array_equal(np.ravel(ask(mechanism, *form)), expected)
    into = np.full(3, np.nan)
    assert ask(mechanism, *one, out=into) is into and np.array_equal(into, expected)
    assert np.array_equal(ask(mechanism, *one, threads=2), expected)
    loaded = ask(mechanism, *one, kt.Wrench("crank"))
    assert np.abs(loaded - expected).max() < 1e-12 * np.abs(expected).max()
    with kt.analysis.unchecked():
        assert np.array_equal(ask(mechanism, *one), expected)


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused(which, place, value):
    mechanism = known("four_bar")
    x = states(mechanism, which)
    call, one = asked(mechanism, which, x), [y[1].copy() for y in x]
    one[place][2] = value
    assert call(*one) is None
    with pytest.raises(kt.errors.InputError, match="finite"):
        ASKED[which][1](mechanism, *one)


@pytest.mark.parametrize("shape", [(), (2,), (4,), (2, 4)], ids=str)
def test_wrong_shapes_are_refused(which, shape):
    mechanism = known("four_bar")
    x = states(mechanism, which)
    call, ask = asked(mechanism, which, x), ASKED[which][1]
    for place in range(3):
        wrong = [y[0] for y in x]
        wrong[place] = np.zeros(shape)
        assert call(*wrong) is None
        with pytest.raises(kt.errors.InputError):
            ask(mechanism, *wrong)


def message(ask, *state):
    with pytest.raises(kt.errors.KinetreeError) as caught:
        ask(*state)
    return type(caught.value), str(caught.value)


@pytest.mark.parametrize("name", ["four_bar", "bricard", "stewart"])
def test_states_that_do_not_fit_the_loops_are_refused_as_ever(name, which):
    mechanism = known(name)
    x = states(mechanism, which)
    call, ask = asked(mechanism, which, x), ASKED[which][1]
    for place in range(2 if which == "forward" else 3):
        one = [y[0].copy() for y in x]
        one[place][0] += 0.01
        assert call(*one) is None
        found = message(ask, mechanism, *one)
        assert found == message(CAREFUL[which], mechanism, *one)
        assert issubclass(found[0], kt.errors.InputError) and "loop '" in found[1]
        assert np.array_equal(ask(mechanism, *(y[1] for y in x)), call(*(y[1] for y in x)))


def test_the_bounds_are_those_of_the_careful_way(which):
    """A gap, or its rates, grows through the bound: what is refused with care is not answered directly."""
    mechanism = known("four_bar")
    x = states(mechanism, which)
    call = asked(mechanism, which, x)
    for place in range(2 if which == "forward" else 3):
        answered = []
        for step in np.geomspace(1e-8, 1e-4, 25):
            one = [y[2].copy() for y in x]
            one[place][1] += step
            try:
                expected = CAREFUL[which](mechanism, *one)
            except kt.errors.InputError:
                expected = None
            found = call(*one)
            assert found is None or np.array_equal(found, expected)
            answered.append(found is not None)
        assert True in answered and False in answered


def test_singular_positions_are_left_to_the_careful_way(which):
    mechanism = kt.zoo.n_four_bar(2)
    sign = np.array([-1.0 if "crank" in name else 1.0 for name in mechanism.joint_names])
    still, ask = np.zeros(5), ASKED[which][1]
    x = [np.outer([0.4, 0.7], sign), np.zeros((2, 5)), np.zeros((2, 5))]
    call = asked(mechanism, which, x)
    assert call(sign * np.pi / 2, still, still) is None
    found = message(ask, mechanism, sign * np.pi / 2, still, still)
    assert found == message(CAREFUL[which], mechanism, sign * np.pi / 2, still, still)
    assert "singular" in found[1]
    for away in np.geomspace(1e-9, 1e-2, 15):
        near = sign * (np.pi / 2 - away)
        try:
            expected = CAREFUL[which](mechanism, near, still, still)
        except kt.errors.KinetreeError:
            assert call(near, still, still) is None
        else:
            assert np.array_equal(ask(mechanism, near, still, still), expected)


def test_speeds_whose_squares_overflow_are_left_to_the_careful_way(which):
    mechanism = known("four_bar")
    x = states(mechanism, which)
    call, one = asked(mechanism, which, x), [y[0] for y in x]
    assert call(one[0], 1e200 * one[1], one[2]) is None


def test_threads_do_not_disturb_each_other(which):
    mechanism = known("stewart")
    x, ask = states(mechanism, which, 40), ASKED[which][1]
    expected = [CAREFUL[which](mechanism, *one) for one in zip(*x, strict=True)]

    def again(k):
        return all(np.array_equal(ask(mechanism, *(y[k] for y in x)), expected[k]) for _ in range(20))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(again, range(40)))


def test_a_call_keeps_its_memory_and_answers_are_arrays_of_their_own(which):
    mechanism = kt.zoo.bricard()
    x = states(mechanism, which)
    call, copied = asked(mechanism, which, x), pickle.loads(pickle.dumps(mechanism))
    expected = [call(*one) for one in zip(*x, strict=True)]
    del mechanism
    gc.collect()
    noise = [np.full(5000, np.nan) for _ in range(50)]
    assert all(
        np.array_equal(call(*one), found) for one, found in zip(zip(*x, strict=True), expected, strict=True)
    )
    del noise
    assert not copied.tree.kept.calls
    assert np.array_equal(ASKED[which][1](copied, *(y[0] for y in x)), expected[0])


@pytest.mark.parametrize("off", ["interpreter", "no direct calls"])
def test_where_direct_calls_are_off_the_answer_is_the_same(off, which, monkeypatch):
    x = states(known("four_bar"), which)
    expected = ASKED[which][1](known("four_bar"), *(y[0] for y in x))
    if off == "interpreter":
        monkeypatch.setattr(run, "INTERPRET", True)
    else:
        monkeypatch.setattr(direct, "why_not_direct", lambda: "for a test")
    mechanism = kt.zoo.four_bar()
    assert asked(mechanism, which, x)(*(y[0] for y in x)) is None
    found = ASKED[which][1](mechanism, *(y[0] for y in x))
    assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()
