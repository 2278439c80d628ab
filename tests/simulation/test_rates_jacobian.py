"""The Jacobian of compiled simulations against differences of their right-hand side, case by case."""

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kinetree as kt
from kinetree.kernels.external_load import LOAD
from kinetree.kernels.force_slopes import friction_slopes, normal_slopes
from kinetree.kernels.ground import PLANE, POINT, REGION, friction_force, normal_force
from kinetree.kernels.layout import layout_rows
from kinetree.kernels.torque_law import AXIS, COMPUTED, DESIRED, GRAVITY, NO_MODEL
from kinetree.simulation.compiled.code import jacobian, rates
from kinetree.simulation.compiled.context import Context, ContextParts
from kinetree.simulation.system import connect
from support import trees

CALL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_double, *[ctypes.c_void_p] * 3)
TIME = 0.3
SLOW = 0.5  # rad/s or m/s: some axes move slower, some faster
FIRM = {"stiffness": 900.0, "damping": 60.0, "ramp": 0.6, "rising": 1.0, "friction": 0.7, "slipping": 80.0}
DUSTY = {"stiffness": 700.0, "damping": 40.0, "ramp": 0.6, "layer": 0.2, "friction": 0.5, "slipping": 50.0}
GROUNDS = {
    "firm": [FIRM],
    "no friction": [{**FIRM, "friction": 0.0}],
    "no damper rising": [{**FIRM, "rising": 0.0}],
    "dust on firm ground": [{**DUSTY, "lowered": 1.0}],
    "dust that hardens": [DUSTY],
    "a step": [FIRM, {**DUSTY, "height": 0.15, "low": (-9.0, -9.0), "high": (9.0, 0.0)}],
}


class Simulated:
    """One simulation with its right-hand side and its Jacobian."""

    def __init__(self, parts):
        self.parts, self.n = parts, parts.tree.n
        self.context = Context(parts)
        connect(self.context)

    def _run(self, callback, y, out):
        where = (x.ctypes.data for x in (y, out, self.context.memory))
        assert CALL(callback.address)(TIME, *where) == 0
        return out

    def acceleration(self, state):
        """(n,) from (2 n,): positions and velocities."""
        y = np.zeros(self.parts.size)
        y[: 2 * self.n] = state
        return self._run(rates(1), y, np.zeros_like(y))[self.n : 2 * self.n]

    def jacobian(self, state):
        """(n, 2 n) in closed form."""
        y = np.zeros(self.parts.size)
        y[: 2 * self.n] = state
        return self._run(jacobian(), y, np.full((self.n, 2 * self.n), np.nan))

    def differences(self, state, step):
        """The same by central differences with one step of Richardson extrapolation."""
        slopes = []
        for h in (step, 0.5 * step):
            pairs = [(state + h * e, state - h * e) for e in np.eye(2 * self.n)]
            slopes.append([(self.acceleration(a) - self.acceleration(b)) / (2 * h) for a, b in pairs])
        return (4.0 * np.array(slopes[1]) - np.array(slopes[0])).T / 3.0


def assert_exact(parts, state, tolerance=5e-7, step=5e-4):
    """Slopes by positions and those by velocities, each beside the largest of them."""
    simulated = Simulated(replace(parts, stiff=True))
    found, expected = simulated.jacobian(state), simulated.differences(state, step)
    for half in np.hsplit(np.arange(2 * simulated.n), 2):
        scale = np.abs(expected[:, half]).max()
        error = np.abs(found[:, half] - expected[:, half]).max() / scale
        assert error < tolerance, f"relative error {error:.3g}"
    return simulated


def axis_rows(tree, **columns):
    passive = tree.passive | (columns.get("stopped", 0) == 1)
    usual = {"passive": passive, "limit": np.inf, "lower": -np.inf, "upper": np.inf}
    return layout_rows(AXIS, tree.n, **{**usual, **columns})


def random_state(rng, n):
    return np.concatenate([rng.uniform(-0.7, 0.7, n), rng.uniform(-1.0, 1.0, n)])


def tips(tree):
    """Axes that carry no others."""
    return np.setdiff1d(np.arange(tree.n), tree.parent)


def on_ground(rng, parts, state, grounds, count=2, size=0.0):
    """The parts with `count` points on every tip and a slope that goes through the middle of them.

    With a ``size`` (m) they are centers of ellipsoids, which have their own friction.
    """
    axis = np.repeat(tips(parts.tree), count)
    own = {}
    if size:
        half = size * rng.uniform(0.3, 1.0, (len(axis), 3))
        R = Rotation.random(len(axis), random_state=rng).as_matrix()
        S = np.einsum("kij,kj,klj->kil", R, half**2, R).reshape(-1, 9)
        own = {"round": 1, "S": S, "rubs": 1, "friction": rng.uniform(0.2, 1.0, len(axis))}
    points = layout_rows(POINT, len(axis), axis=axis, r=rng.uniform(-0.3, 0.3, (len(axis), 3)), **own)
    R = Rotation.random(random_state=rng).as_matrix()
    plane = layout_rows(PLANE, 1, forward=R[:1], side=R[1:2], normal=R[2:])
    regions = np.concatenate([layout_rows(REGION, 1, **columns) for columns in map(_as_rows, grounds)])
    deep = layout_rows(REGION, 1, height=1e3, ramp=1.0)
    probe = Simulated(replace(parts, points=points, plane=plane, regions=deep))
    probe.acceleration(state)
    heights = 1e3 - probe.context.contact[0, :, 3]
    plane = layout_rows(
        PLANE, 1, forward=R[:1], side=R[1:2], normal=R[2:], origin=np.quantile(heights, 0.7) * R[2:]
    )
    return replace(parts, points=points, plane=plane, regions=regions)


def _as_rows(columns):
    return {name: np.reshape(value, (1, -1)) for name, value in columns.items()}


def some_loads(rng, tree, count=4):
    axis = rng.choice(tree.n, count)
    vectors = {name: rng.uniform(-1.0, 1.0, (count, 3)) for name in ("r", "force", "moment")}
    return layout_rows(LOAD, count, axis=axis, fixed=np.arange(count) % 2, **vectors)


def desired_motion(rng, n):
    return np.array([-1.0, 2.0]), rng.uniform(-0.5, 0.5, (1, 4, n))


def other_model(rng, tree):
    """What a controller believes: other masses, lengths and springs."""
    m = rng.uniform(0.8, 1.2, tree.n)
    return replace(
        tree,
        position=tree.position * rng.uniform(0.9, 1.1, (tree.n, 1)),
        mass=tree.mass * m,
        first_moment=tree.first_moment * m[:, None],
        second_moment=tree.second_moment * m[:, None, None],
        stiffness=rng.uniform(0.0, 1.0, tree.n) * (tree.parent > 4),
    )


# ---- mechanics ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["gripper", "kuka_kr5", "quadruped", "hexapod", "planar_biped", "humanoid"])
def test_free_motion_is_that_of_forward_dynamics(name, rng):
    mechanism = getattr(kt.zoo, name)()
    n = mechanism.tree.n
    state, tau = random_state(rng, n), rng.uniform(-1.0, 1.0, n)
    simulated = Simulated(ContextParts(mechanism.tree, axis_rows(mechanism.tree), stiff=True))
    simulated.context.rows("given")[:] = tau
    found = simulated.jacobian(state)
    expected = kt.forward_dynamics_derivatives(mechanism, state[:n], state[n:], tau)
    for half, exact in ((found[:, :n], expected.dqdd_dq), (found[:, n:], expected.dqdd_dqd)):
        assert np.abs(half - exact).max() < 1e-9 * np.abs(exact).max()


def test_every_joint_kind_with_springs_and_friction(rng):
    tree = trees.random_tree(rng, 8, passive=True).tree
    assert_exact(ContextParts(tree, axis_rows(tree), slow=SLOW), random_state(rng, tree.n))


def test_stops(rng):
    tree = trees.random_tree(rng, 6, ("revolute", "prismatic")).tree
    axes = axis_rows(tree, stopped=1, lower=-0.3, upper=0.3, stop_k=50.0, stop_c=20.0)
    state = random_state(rng, 6)
    state[:6] = [0.5, 0.5, -0.5, -0.5, 0.2, 0.35]
    state[6:] = [1.0, -1.0, 1.0, -1.0, 1.0, -3.0]  # the last one leaves faster than the stop can follow
    assert_exact(ContextParts(tree, axes), state)


def test_a_far_base_costs_no_digits(rng):
    tree = kt.zoo.quadruped().tree
    parts, state = ContextParts(tree, axis_rows(tree)), random_state(rng, tree.n)
    near = Simulated(replace(parts, stiff=True)).jacobian(state)
    state[:3] += [1e4, -2e4, 3e4]
    far = Simulated(replace(parts, stiff=True)).jacobian(state)
    assert np.abs(far - near).max() < 1e-9 * np.abs(near).max()


def test_a_context_without_room_is_refused(rng):
    tree = kt.zoo.gripper().tree
    y, A, memory = np.zeros(12), np.full((4, 8), np.nan), Context(ContextParts(tree, axis_rows(tree))).memory
    assert CALL(jacobian().address)(TIME, y.ctypes.data, A.ctypes.data, memory.ctypes.data) == 1
    assert np.isnan(A).all()


# ---- ground and loads ------------------------------------------------------------------------------------
@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("name", ["quadruped", "planar_biped"])
def test_contact(name, ground, rng):
    tree = getattr(kt.zoo, name)().tree
    state = random_state(rng, tree.n)
    parts = on_ground(rng, ContextParts(tree, axis_rows(tree)), state, GROUNDS[ground], count=3)
    simulated = assert_exact(parts, state, step=1e-4)
    contact = simulated.context.contact[0]
    pushed = np.abs(contact[:, :3]).max(axis=1) > 0.0
    assert pushed.any() and not pushed.all()


@pytest.mark.parametrize("name", ["quadruped", "planar_biped"])
def test_contact_of_ellipsoids(name, rng):
    tree = getattr(kt.zoo, name)().tree
    state = random_state(rng, tree.n)
    parts = on_ground(rng, ContextParts(tree, axis_rows(tree)), state, GROUNDS["firm"], count=3, size=0.2)
    simulated = assert_exact(parts, state, step=1e-4)
    pushed = np.abs(simulated.context.contact[0][:, :3]).max(axis=1) > 0.0
    assert pushed.any() and not pushed.all()


@pytest.mark.parametrize("name", ["hexapod", "spatial_biped", "humanoid"])
def test_contact_with_loads_springs_and_given_torques(name, rng):
    tree = getattr(kt.zoo, name)().tree
    dry = rng.uniform(0.0, 1.0, tree.n)
    tree = replace(tree, stiffness=rng.uniform(0.0, 5.0, tree.n), coulomb=dry, coulomb_bias=-0.5 * dry)
    state = random_state(rng, tree.n)
    parts = ContextParts(tree, axis_rows(tree), loads=some_loads(rng, tree), slow=SLOW)
    assert_exact(on_ground(rng, parts, state, GROUNDS["a step"]), state)


def test_loads_on_every_joint_kind(rng):
    tree = trees.random_tree(rng, 8).tree
    parts = ContextParts(tree, axis_rows(tree), loads=30.0 * some_loads(rng, tree, 8))
    parts.loads.view(np.int64)[:, LOAD.places["axis"][0]] = rng.choice(tree.n, 8)
    parts.loads.view(np.int64)[:, LOAD.places["fixed"][0]] = np.arange(8) % 2
    assert_exact(parts, random_state(rng, tree.n))


def _numbers(rng, count=4000):
    """Random penetrations, speeds and grounds, on both sides of every condition."""
    depth, speed = rng.uniform(-0.2, 1.0, count), rng.uniform(-1.0, 1.0, count)
    k, c, ramp = rng.uniform(0.5, 2.0, (3, count))
    layer, (rising, lowered) = rng.uniform(0.0, 0.5, count), rng.integers(0, 2, (2, count)).astype(float)
    return depth, speed, k, c, 0.5 * ramp, rising, layer, lowered


def test_slopes_of_the_normal_force(rng):
    depth, speed, *ground = _numbers(rng)
    tiny = 1e-30j
    by_depth, by_speed = normal_slopes(depth, speed, *ground)
    assert np.allclose(by_depth, normal_force(depth + tiny, speed, *ground).imag / 1e-30, rtol=0, atol=1e-13)
    assert np.allclose(by_speed, normal_force(depth, speed + tiny, *ground).imag / 1e-30, rtol=0, atol=1e-13)
    assert (by_depth == 0.0).any() and (by_depth != 0.0).any()


def test_slopes_of_friction(rng):
    normal, speed, mu, slope = rng.uniform(
        [[0.0], [-1.0], [0.0], [1.0]], [[2.0], [1.0], [1.0], [9.0]], (4, 500)
    )
    normal[:50], mu[50:99] = 0.0, 0.0
    tiny = 1e-30j
    by_normal, by_speed = friction_slopes(normal, speed, mu, slope)
    on = (normal > 0.0) & (mu > 0.0)
    exact_normal = friction_force(normal + tiny, speed, mu, slope).imag / 1e-30
    exact_speed = friction_force(normal, speed + tiny, mu, slope).imag / 1e-30
    assert np.allclose(by_normal[on], exact_normal[on], rtol=0, atol=1e-13)
    assert np.allclose(by_speed, exact_speed, rtol=0, atol=1e-12)
    assert not by_normal[~on].any() and on.any()


# ---- torque laws -----------------------------------------------------------------------------------------
def law_parts(rng, tree, **more):
    n = tree.n
    actuated = np.ones(n, int)
    if more.get("floating"):
        actuated[:6] = 0
    gains = {"kp": rng.uniform(10.0, 90.0, n), "kd": rng.uniform(1.0, 9.0, n), "ki": rng.uniform(0.0, 5.0, n)}
    axes = axis_rows(tree, actuated=actuated, **gains, limit=more.pop("limit", np.inf))
    return ContextParts(tree, axes, desired=desired_motion(rng, n), integrating=True, **more)


def test_servo_with_saturation(rng):
    tree = kt.zoo.kuka_kr5().tree
    parts = law_parts(rng, tree, limit=[5.0, 5.0, 20.0, 20.0, 90.0, 90.0])
    simulated = assert_exact(parts, random_state(rng, tree.n))
    full = np.abs(simulated.context.rows("tau")[0]) == parts.axes[:, AXIS.places["limit"][0]]
    assert full.any() and not full.all()


def test_held_torques_have_no_slope(rng):
    tree, tau = kt.zoo.gripper().tree, rng.uniform(-1.0, 1.0, 4)
    state = random_state(rng, 4)
    held = Simulated(law_parts(rng, tree, period=0.1, mode=COMPUTED, stiff=True))
    held.context.rows("held")[:] = tau
    plain = Simulated(ContextParts(tree, axis_rows(tree), stiff=True))
    plain.context.rows("given")[:] = tau
    assert np.array_equal(held.jacobian(state), plain.jacobian(state))
    assert not np.array_equal(held.acceleration(state), held.acceleration(0.0 * state))


@pytest.mark.parametrize("mode", [NO_MODEL, GRAVITY, COMPUTED, DESIRED])
def test_model_based_laws(mode, rng):
    """A model that is not the mechanism, and every other actuator at its limit."""
    tree = trees.random_tree(rng, 6, passive=True).tree
    limit = np.where(np.arange(tree.n) % 3 == 0, 1.0, np.inf)
    parts = law_parts(rng, tree, mode=mode, model=other_model(rng, tree), limit=limit, slow=SLOW)
    assert_exact(parts, random_state(rng, tree.n))


@pytest.mark.parametrize("mode", [GRAVITY, COMPUTED, DESIRED])
def test_laws_that_know_the_forces(mode, rng):
    """Ground and loads reach the model in the frames of its axes, in a posture of its own."""
    tree = kt.zoo.planar_biped().tree
    state = random_state(rng, tree.n)
    parts = law_parts(rng, tree, mode=mode, model=other_model(rng, tree), aware=True)
    parts = replace(parts, loads=10.0 * some_loads(rng, tree))
    parts.loads.view(np.int64)[:, LOAD.places["axis"][0]] = tips(tree)[0]
    parts.loads.view(np.int64)[:, LOAD.places["fixed"][0]] = [0, 1, 0, 1]
    assert_exact(on_ground(rng, parts, state, GROUNDS["firm"]), state)


@pytest.mark.parametrize("aware", [False, True])
def test_computed_torque_of_a_floating_base(aware, rng):
    tree = kt.zoo.quadruped().tree
    state = random_state(rng, tree.n)
    parts = law_parts(rng, tree, mode=COMPUTED, model=other_model(rng, tree), floating=True, aware=aware)
    assert_exact(on_ground(rng, parts, state, GROUNDS["firm"]), state)
