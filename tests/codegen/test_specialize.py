"""Code made for one mechanism: the numbers of the general code, its errors, its cache."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from kinetree.dynamics.specialized import KERNELS, LONGEST, made_code
from kinetree.engine.run import Prepared, prepared
from kinetree.engine.specialized import made_for, specialize
from kinetree.engine.tape.llvm_text import ModuleText
from kinetree.engine.tape.made_code import machine_code
from kinetree.errors import InputError, KinetreeWarning, SingularityError
from support.kernels import random_inputs, zoo

AGREEMENT = 1e-13  # of the largest number; of accelerations as torques M qdd
SLOPES = 1e-12  # of derivatives of accelerations, as torques
DYNAMICS = ("inverse_dynamics", "forward_dynamics", "mass_matrix")


def filled(ready, inputs, threads=1):
    """All answers of a kernel for a batch, and whether they can be trusted."""
    count, n = len(inputs[0]), ready.tree.n
    outputs = [np.full((count, n), np.nan) for _ in range(ready.kernel.outputs)]
    full = None
    if ready.kernel.entries is not None:
        full = np.full((ready.arrays, count, ready.entries), np.nan)
    trusted = ready.fill(inputs, outputs, full, threads)
    return trusted, outputs, full


def errors(question, tree, new, old, inputs):
    """The largest error of outputs and of full arrays, relative to the largest number."""
    M = filled(Prepared(KERNELS["mass_matrix"], tree), inputs[:1])[2][0].reshape(-1, tree.n, tree.n)
    found = []
    pairs = list(zip(new[1], old[1], strict=True))
    if new[2] is not None:
        pairs += list(zip(new[2], old[2], strict=True))
    for k, (a, b) in enumerate(pairs):
        difference, size = a - b, np.abs(b).max()
        if question.startswith("forward") and k != 1:  # pivots as they are
            shaped = difference.reshape(len(a), tree.n, -1)
            difference, size = M @ shaped, np.abs(M).max() * size
        found.append(np.abs(difference).max() / max(size, 1e-300))
    return max(found)


def compared(question, tree, rng, count=9):
    """The error of made code, batch and single states; None if the general code stays."""
    made = made_code(question, tree)
    if made.operations > min(LONGEST[question], 6000):
        return None
    special = replace(tree)
    specialize(special, [made])
    inputs = random_inputs(KERNELS[question], tree, rng, count)
    ready, general = prepared(KERNELS[question], special), Prepared(KERNELS[question], tree)
    new, old = filled(ready, inputs), filled(general, inputs)
    assert new[0] and old[0]
    one, batch = ready.single(*(x[0] for x in inputs)), np.concatenate([x[0].ravel() for x in new[1]] + (
        [x[0].ravel() for x in new[2]] if new[2] is not None else []
    ))  # fmt: skip
    if one is not None:
        flat = np.concatenate([x.ravel() for x in (one if isinstance(one, tuple) else (one,))])
        first = [x[:1] for x in inputs]
        alone = (True, *_split(flat, ready))
        exact = (True, [x[:1] for x in old[1]], None if old[2] is None else old[2][:, :1])
        assert len(flat) == len(batch)
        assert errors(question, tree, alone, exact, first) < 100 * SLOPES
    return errors(question, tree, new, old, inputs)


def _split(flat, ready):
    n, outputs = ready.tree.n, ready.kernel.outputs
    rows = [x[None] for x in flat[: outputs * n].reshape(outputs, n)]
    full = flat[outputs * n :].reshape(ready.arrays, 1, ready.entries) if ready.arrays else None
    return rows, full


def test_every_tree_of_the_zoo(rng):
    """Batch, single state, full arrays; longer questions of small trees in turn."""
    wrong, long = {}, [x for x in KERNELS if x not in DYNAMICS]
    for k, (name, mechanism) in enumerate(zoo().items()):
        tree = mechanism.tree
        for question in (*DYNAMICS[: 3 if tree.n < 7 else 1], *([long[k % 3]] if tree.n < 7 else ())):
            error = compared(question, tree, rng)
            allowed = AGREEMENT if question in (*DYNAMICS, "torque_hessian") else SLOPES
            if error is None or not error < allowed:
                wrong[name, question] = error
    assert not wrong


def test_random_trees(rng):
    """Recordings on the interpreter beside the kernels; machine code of ten."""
    wrong = {}
    for seed in range(60):
        tree = kt.zoo.random_tree(seed, 2 + seed % 9).tree
        for question in DYNAMICS[:2]:
            if seed % 15 == 0:
                error = compared(question, tree, rng)
            else:
                inputs = random_inputs(KERNELS[question], tree, rng, 5)
                answer = made_code(question, tree).recording.evaluate(*inputs)
                new = (True, answer[:1], None)
                error = errors(question, tree, new, filled(Prepared(KERNELS[question], tree), inputs), inputs)
            if not error < AGREEMENT:
                wrong[seed, question] = error
    assert not wrong


def test_public_functions_of_a_specialized_arm(rng):
    """Any batch, order in memory, out=, threads, large angles: as of the arm itself."""
    arm = kt.zoo.kuka_kr5()
    fast = kt.specialize(arm)
    assert fast.name == arm.name and fast.joint_names == arm.joint_names and fast.links == arm.links
    assert all(made_for(kernel.name, fast.tree) is not None for kernel in KERNELS.values())
    for count in (1, 2, 3, 4, 5, 64, 1000, 20_001):
        q, qd, tau = rng.uniform(-2, 2, (3, count, 6))
        expected = kt.inverse_dynamics(arm, q, qd, tau)
        size = np.abs(expected).max()
        for threads in (None, 1, 2):
            found = kt.inverse_dynamics(fast, q, qd, tau, threads=threads)
            assert np.abs(found - expected).max() < AGREEMENT * size
    d, e = (kt.inverse_dynamics_derivatives(x, q, qd, tau) for x in (fast, arm))  # streamed past the caches
    assert np.abs(d.matrices - e.matrices).max() < 1e-12 * np.abs(e.matrices).max()
    out = np.empty_like(q)
    assert kt.inverse_dynamics(fast, q, qd, tau, out=out) is out and np.array_equal(out, found)
    slow = kt.inverse_dynamics(fast, np.asfortranarray(q), qd.tolist(), tau)
    assert np.abs(slow - expected).max() < AGREEMENT * size
    far = q[:7] + 2 * np.pi * np.array([[0], [1], [-3], [1e7], [-1e9], [1e5], [200_000]])
    M = kt.mass_matrix(arm, far)
    assert np.abs(kt.mass_matrix(fast, far) - M).max() < AGREEMENT * M.max()
    assert np.abs(kt.mass_matrix(fast, far[3]) - M[3]).max() < AGREEMENT * M.max()
    bias = kt.bias_torque(arm, q, qd)
    assert np.abs(kt.bias_torque(fast, q, qd) - bias).max() < AGREEMENT * np.abs(bias).max()


def test_errors_are_those_of_the_general_code():
    arm = kt.specialize(kt.zoo.gripper())
    still = np.zeros((5, 4))
    bad = still.copy()
    bad[3, 1] = np.nan
    for q in (bad, bad[3]):
        with pytest.raises(InputError, match="joint2"):
            kt.inverse_dynamics(arm, q, still[: len(q)] if q.ndim > 1 else still[0], np.zeros_like(q))
    huge = np.full((5, 4), 1e200)
    with pytest.raises(InputError, match="overflows"):
        kt.inverse_dynamics(arm, still, huge, still)
    with kt.analysis.unchecked():
        found = kt.inverse_dynamics(arm, bad, still, still)
        assert np.isnan(found[3]).any() and np.isfinite(found[[0, 1, 2, 4]]).all()
    light = kt.Builder("light")
    body = light.world.revolute("a", axis="y").body("rod", kt.Inertia.rod(1.0, end=(0, 0, -1)))
    body.revolute("b", axis="y", at=(0, 0, -1)).body("nothing", kt.Inertia(0.0))
    light = kt.specialize(light.build(), "forward_dynamics")
    for shape in ((2,), (7, 2)):
        with pytest.raises(SingularityError, match="'b' moves no inertia"):
            kt.forward_dynamics(light, *np.zeros((3, *shape)))


def test_parameters_stay_numbers(rng, monkeypatch):
    """Mechanisms that differ in masses, gravity and friction share code; results are their own."""
    arm = kt.zoo.ur5()
    heavy = arm.with_payload("wrist_3_link", 5.0).with_gravity((1.0, 0.0, -5.0))
    names = ("inertia", "gravity")
    first, second = (made_code("inverse_dynamics", x.tree, names) for x in (arm, heavy))
    assert first.digest == second.digest and first.constants != second.constants
    assert first.digest != made_code("inverse_dynamics", arm.tree).digest
    q, qd, qdd = rng.uniform(-1, 1, (3, 11, 6))
    for model in (arm, heavy):
        fast = kt.specialize(model, parameters=names)
        for question in ("inverse_dynamics", "forward_dynamics"):
            ask = getattr(kt, question)
            expected, found = ask(model, q, qd, qdd), ask(fast, q, qd, qdd)
            assert np.abs(found - expected).max() < 1e-11 * np.abs(expected).max()
            one = ask(fast, q[0], qd[0], qdd[0])
            assert np.abs(one - expected[0]).max() < 1e-11 * np.abs(expected).max()


def test_code_is_kept_on_the_disk(tmp_path, monkeypatch):
    from kinetree.engine import disk_cache
    from kinetree.engine.tape import made_code as compiler

    monkeypatch.setenv(disk_cache.CACHE_VARIABLE, str(tmp_path))
    for cached in (disk_cache.cache_folder, disk_cache.is_private, machine_code):
        cached.cache_clear()
    try:
        made = made_code("inverse_dynamics", kt.zoo.gripper().tree)
        assert machine_code(made, 1).address
        assert list(tmp_path.rglob(f"*{made.digest}*"))
        machine_code.cache_clear()
        monkeypatch.setattr(compiler, "_compiled", lambda *given: pytest.fail("compiled again"))
        assert machine_code(made_code("inverse_dynamics", kt.zoo.gripper().tree), 1).address
    finally:
        for cached in (disk_cache.cache_folder, disk_cache.is_private, machine_code):
            cached.cache_clear()


def test_mimic_joints_friction_and_springs(rng):
    arm = kt.Builder("mimic")
    first = arm.world.revolute("a", axis="y", viscous=0.3, coulomb=0.2, stiffness=4.0)
    first = first.body("first", kt.Inertia.rod(1.0, end=(1, 0, 0)))
    second = first.revolute("b", axis="z", at=(1, 0, 0), armature=0.1)
    second = second.body("second", kt.Inertia.rod(1.5, end=(1, 0.3, 0)))
    third = second.prismatic("c", axis="x", at=(1, 0, 0), mimic=kt.model.Mimic("a", 0.7, 0.1))
    third.body("third", kt.Inertia.point(1.0, (0.2, 1, 0)))
    arm = arm.build()
    fast = kt.specialize(arm)
    q, qd, qdd = rng.uniform(-1, 1, (3, 6, 2))
    for name in ("inverse_dynamics", "forward_dynamics"):
        expected = getattr(kt, name)(arm, q, qd, qdd)
        np.testing.assert_allclose(getattr(kt, name)(fast, q, qd, qdd), expected, rtol=1e-12, atol=1e-12)


def test_what_is_too_long_stays_general_and_says_so():
    robot = kt.zoo.humanoid()
    with pytest.warns(
        KinetreeWarning, match=r"inverse_dynamics_derivatives of 'humanoid' takes \d+ operations"
    ):
        fast = kt.specialize(robot, "inverse_dynamics_derivatives")
    assert made_for("rnea_gradient", fast.tree) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kt.specialize(kt.zoo.two_link())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: kt.specialize("kuka"), "mechanism"),
        (lambda: kt.specialize(kt.zoo.four_bar()), "closed loops"),
        (lambda: kt.specialize(kt.zoo.gripper(), "inverse"), "unknown question 'inverse'"),
        (lambda: kt.specialize(kt.zoo.gripper(), parameters="mass"), "unknown parameter 'mass'"),
    ],
)
def test_wrong_input_is_refused(wrong, message):
    with pytest.raises(kt.KinetreeError, match=message):
        wrong()


def test_text_with_typed_pointers():
    """For LLVM from before pointers lost their types: every address has one."""
    made = made_code("forward_dynamics", kt.zoo.two_link().tree)
    for lanes in (1, 4):
        text = ModuleText(made.recording, made.arrays, "f", lanes, True).text
        assert not re.search(r"\bptr\b", text) and "double*" in text


def test_predictions_use_the_code(monkeypatch):
    """The same motion, with torques and gradients of a prediction by code for the arm."""
    from kinetree.engine.tape import made_code as compiler

    arm, asked = kt.zoo.gripper(), []
    fast = kt.specialize(arm)
    original = compiler.new_memory
    monkeypatch.setattr(
        compiler, "new_memory", lambda made, lanes: asked.append(made.name) or original(made, lanes)
    )
    found = []
    for robot in (arm, fast):
        problem = kt.Problem(
            robot,
            objective=kt.terms.SquaredTorque(),
            constraints=[
                kt.terms.Boundary("start", position=[0, 0, 0, 0], velocity=0.0),
                kt.terms.Boundary("end", position=[0.5, -0.4, 0.3, 0.2], velocity=0.0),
            ],
            duration=1.0,
            segments=6,
        )
        reach = kt.predict(problem)
        found.append(reach)
    assert {"rnea_gradient", "rnea_hessian"} & set(asked)
    first, second = (x.objective for x in found)
    assert second == pytest.approx(first, rel=1e-9)
