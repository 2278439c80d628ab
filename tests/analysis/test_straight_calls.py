"""Calls that go straight to compiled code answer, and refuse, like those that take the long way."""

import numpy as np
import pytest

import kinetree as kt

ARM = kt.zoo.kuka_kr5()


def camera():
    """An arm whose last joint moves nothing but its own drive."""
    robot = kt.Builder("arm with camera")
    upper = robot.world.revolute("shoulder", axis="y").body("upper", kt.Inertia.rod(2.0, end=(0.4, 0, 0)))
    upper.revolute("pan", at=(0.4, 0, 0), axis="z", armature=0.01).body("camera")
    return robot.build()


CALLS = {
    "inverse_dynamics": kt.inverse_dynamics,
    "forward_dynamics": kt.forward_dynamics,
    "mass_matrix": lambda m, q, qd, x: kt.mass_matrix(m, q),
    "inverse derivatives": kt.inverse_dynamics_derivatives,
    "forward derivatives": kt.forward_dynamics_derivatives,
    "hessian": lambda m, q, qd, x: kt.analysis.torque_hessian(m, q, qd, x, x),
    "reactions": kt.analysis.joint_reaction_derivatives,
}
every_call = pytest.mark.parametrize("call", CALLS.values(), ids=list(CALLS))
SHAPES = [(), (1,), (3,), (4,), (8,), (2, 4), (0,), (1, 1)]


def numbers(answer):
    """All arrays of an answer."""
    if isinstance(answer, np.ndarray):
        return [answer]
    names = ("tau", "qdd", "matrices", "first", "second", "reaction", "slopes")
    return [getattr(answer, name) for name in names if hasattr(answer, name)]


@every_call
@pytest.mark.parametrize("batch", SHAPES)
def test_later_answers_are_like_the_first(call, batch, rng):
    mechanism, state = kt.zoo.kuka_kr5(), rng.standard_normal((3, *batch, 6))
    first, *others = (numbers(call(mechanism, *state)) for _ in range(3))
    assert first
    for other in others:
        assert [x.shape for x in other] == [x.shape for x in first]
        assert all(x.flags.c_contiguous and x.flags.writeable for x in other)
        for one, two in zip(first, other, strict=True):
            assert np.allclose(one, two, rtol=1e-11, atol=1e-11)


@every_call
@pytest.mark.parametrize("batch", [(), (3,), (8,), (2, 4)])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_no_input_is_overlooked_where_nothing_hangs_on_a_joint(call, batch, bad, rng):
    mechanism = camera()
    state = rng.standard_normal((3, *batch, 2))
    call(mechanism, *state)
    call(mechanism, *state)
    for k in range(1 if call is CALLS["mass_matrix"] else 3):
        wrong = state.copy()
        wrong[k].reshape(-1, 2)[-1, 1] = bad
        with pytest.raises(kt.errors.InputError, match="finite"):
            call(mechanism, *wrong)


@pytest.mark.parametrize("count", [1, 3, 8])
def test_infinite_slopes_of_finite_torques_are_told(count):
    biped = kt.zoo.planar_biped()
    q = np.full((count, biped.n_dof), 0.3)
    fast = np.full_like(q, 3e153)
    with kt.analysis.unchecked():
        assert np.isfinite(kt.inverse_dynamics(biped, q, fast, q)).all()
    for _ in range(2):
        with pytest.raises(kt.errors.InputError, match="overflows"):
            kt.inverse_dynamics_derivatives(biped, q, fast, q)


@pytest.mark.parametrize("count", [3, 8])
def test_unaligned_and_read_only_input(count, rng):
    state = rng.standard_normal((3, count, 6))
    expected = kt.inverse_dynamics(ARM, *state)
    raw = np.zeros(8 * state.size + 1, dtype=np.uint8)
    odd = raw[1:].view(np.float64).reshape(state.shape)
    odd[:] = state
    assert not odd.flags.aligned
    state.setflags(write=False)
    for given in (odd, state):
        for call in (
            kt.inverse_dynamics,
            kt.inverse_dynamics_derivatives,
            kt.analysis.joint_reaction_derivatives,
        ):
            call(ARM, *given)
        assert np.array_equal(kt.inverse_dynamics(ARM, *given), expected)


@pytest.mark.parametrize("count", [3, 8])
def test_answers_go_into_files_and_other_arrays(count, rng, tmp_path):
    state = rng.standard_normal((3, count, 6))
    expected = kt.inverse_dynamics(ARM, *state)
    file = np.memmap(tmp_path / "tau", dtype=np.float64, mode="w+", shape=(count, 6))
    marked = np.zeros((count, 6), dtype=np.dtype("f8", metadata={"unit": "N m"}))
    for out in (file, marked):
        assert kt.inverse_dynamics(ARM, *state, out=out) is out
        assert np.array_equal(out, expected)
    M = np.memmap(tmp_path / "M", dtype=np.float64, mode="w+", shape=(count, 6, 6))
    assert kt.mass_matrix(ARM, state[0], out=M) is M
    assert np.array_equal(M, kt.mass_matrix(ARM, state[0]))
    odd = np.zeros(8 * count * 6 + 1, dtype=np.uint8)[1:].view(np.float64).reshape(count, 6)
    with pytest.raises(kt.errors.InputError, match="aligned"):
        kt.inverse_dynamics(ARM, *state, out=odd)


@pytest.mark.parametrize("count", [3, 8])
def test_read_only_memory_of_derivatives_is_refused(count, rng):
    state = rng.standard_normal((3, count, 6))
    for call in (kt.inverse_dynamics_derivatives, kt.forward_dynamics_derivatives):
        out = call(ARM, *state)
        out.matrices.setflags(write=False)
        with pytest.raises(kt.errors.InputError, match="writable"):
            call(ARM, *state, out=out)


BAD_POINTS = [[["1", "2", "3"]], np.zeros((1, 3)), ["a", "b", "c"], [0, 0], np.array([1, 2, None])]


@pytest.mark.parametrize("point", BAD_POINTS, ids=repr)
def test_points_are_refused_the_second_time_too(point, rng):
    arm = kt.zoo.kuka_kr5()
    for q in (rng.standard_normal(6), rng.standard_normal((1, 6))):
        for _ in range(2):
            kt.jacobian(arm, q, "link6")
            with pytest.raises(kt.errors.InputError):
                kt.jacobian(arm, q, "link6", point=point)


@every_call
@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True])
def test_numbers_of_threads_are_checked_whatever_the_way(call, threads, rng):
    for batch in ((), (8,)):
        state = rng.standard_normal((3, *batch, 6))
        extra = {"threads": threads}
        with pytest.raises(kt.errors.InputError, match="threads"):
            if call is CALLS["mass_matrix"]:
                kt.mass_matrix(ARM, state[0], **extra)
            elif call is CALLS["hessian"]:
                kt.analysis.torque_hessian(ARM, *state, state[0], **extra)
            else:
                call(ARM, *state, **extra)
