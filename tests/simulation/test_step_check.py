"""A fixed step is compared with the fastest answer of ground and law before the first step."""

import re

import numpy as np
import pytest

import kinetree as kt
from kinetree.control import PD


def ball():
    build = kt.Builder("ball")
    body = build.world.prismatic("up", axis="z").body("ball", kt.Inertia.sphere(2.0, 0.1))
    body.contact("low", at=(0.0, 0.0, -0.1))
    return build.build()


def ground(stiffness, damping):
    return kt.Ground(kt.simulation.Soil(stiffness=stiffness, damping=damping))


@pytest.mark.parametrize("method", ["rk4", "semi_implicit_euler"])
def test_ground_too_stiff_for_the_step_is_refused(method):
    soil = ground(1e4, 4000.0)  # 4000 / 2 per second, nearly
    with pytest.raises(
        kt.errors.InputError, match=r"a step of 0.01 s is too long.*steps below .* are stable"
    ) as refused:
        kt.simulate(ball(), [0.3], duration=1.0, ground=soil, method=method, step=0.01)
    allowed = float(re.search(r"below (\S+) s", str(refused.value))[1])
    assert allowed == pytest.approx((2.78 if method == "rk4" else 2.0) / 2000.0, rel=0.05)
    run = kt.simulate(
        ball(), [0.2], duration=0.5, ground=soil, method=method, step=0.5 * allowed, energy_tolerance=1.0
    )
    assert run.messages == () and run.complete
    assert run.penetration.values.max() < 0.05
    with pytest.raises(kt.errors.InputError, match="too long"):
        kt.simulation.simulate_batch(
            ball(), [[0.3], [0.4]], duration=1.0, ground=soil, method=method, step=0.01
        )
    with pytest.raises(kt.errors.InputError, match="too long"):
        kt.simulation.LiveSimulation(ball(), [0.3], ground=soil, method=method, step=0.01)
    with pytest.raises(kt.errors.InputError, match="too long"):
        kt.simulation.Simulator(ball(), duration=1.0, ground=soil, method=method, step=0.01).run([0.3])


def test_a_step_a_little_too_long_is_told():
    run = kt.simulate(
        ball(), [0.3], duration=0.1, ground=ground(1e4, 4000.0), method="rk4", step=2e-3, energy_tolerance=1.0
    )
    assert any("too long for 'rk4': the ground" in message for message in run.messages)


@pytest.mark.parametrize("method", ["rk4", "semi_implicit_euler"])
@pytest.mark.parametrize("longer", [1.2, 2.0, 4.5])
def test_motions_with_too_long_a_step_do_not_pass(method, longer):
    """A ball that lands is judged by its energy; one that only falls is exact by rk4, and passes."""
    step = longer * (2.78 if method == "rk4" else 2.0) / 2000.0
    run = kt.simulation.simulate_batch(
        ball(), [[0.3], [9.0]], duration=0.5, times=26, ground=ground(1e4, 4000.0), method=method, step=step
    )
    assert run.messages and not run.passed and not run.audit["energy_balance"].passed
    assert run.motion_passed.values.tolist() == [False, method == "rk4"]


def on_many_points(n):
    """A light foot below a heavy trunk, with many contact points, as the corners of a mesh are."""
    build = kt.Builder("hopper")
    trunk = build.world.prismatic("up", axis="z").body("trunk", kt.Inertia.sphere(10.0, 0.1))
    foot = trunk.prismatic("leg", axis="z", at=(0, 0, -0.5), stiffness=2e4, viscous=200.0)
    foot = foot.body("foot", kt.Inertia.sphere(0.2, 0.05))
    for k in range(n):
        foot.contact(f"corner{k}", at=(0.01 * k, 0.0, -0.05 + 1e-4 * k))
    return build.build()


def test_the_number_of_contact_points_and_friction_do_not_shorten_the_step():
    """All doors judge alike: points touch alone, and steep friction is held by its limit."""
    soil, step = ground(6e4, 1200.0), 5e-4  # 6000 per second at the foot
    for n in (1, 60):
        robot = on_many_points(n)
        free = {"ground": soil, "method": "semi_implicit_euler", "step": step}
        q0 = [0.6, 0.0]
        run = kt.simulate(robot, q0, duration=0.3, energy_tolerance=1.0, **free)
        batch = kt.simulation.simulate_batch(robot, [q0], duration=0.3, times=31, **free)
        live = kt.simulation.LiveSimulation(robot, q0, **free)
        stated = [x for x in (*run.messages, *batch.messages, *live.messages) if "ground responds" in x]
        assert len(stated) == 3 and len({*stated}) == 1, stated
        assert "steps below 0.00034 s are stable" in stated[0]
        live.advance(0.3)
        exact = kt.simulate(robot, q0, duration=0.3, ground=soil, method="radau").q.values[-1]
        for q in (run.q.values[-1], batch.q.values[0, -1], live.q):
            assert np.abs(q - exact).max() < 0.02


def test_springs_without_damping_count_by_their_frequency():
    k, m = 8e4, 2.0
    longest = 2.78 / np.sqrt(k / m)
    free = {"duration": 0.05, "ground": ground(k, 0.0), "method": "rk4"}
    assert kt.simulate(ball(), [0.3], step=0.9 * longest, **free).messages == ()
    assert kt.simulate(ball(), [0.3], step=1.5 * longest, **free).messages != ()


def test_stiff_laws_are_told():
    """Far beyond stability: the message, and the audit or a divergence that follows."""
    law = PD([0.3], 100.0, 400.0)  # 200 per second
    calm = kt.simulate(ball(), [0.3], duration=0.1, controller=law, method="rk4", step=1e-3)
    assert calm.messages == ()
    with (
        pytest.warns(kt.simulation.AccuracyWarning),
        pytest.warns(kt.simulation.VerdictWarning, match="joint 'up' does not follow"),
    ):
        wild = kt.simulate(ball(), [0.2], duration=0.4, controller=law, method="rk4", step=0.016)
    assert "the torque law and the joints respond" in wild.messages[0]
    assert np.abs(wild.qd.values).max() > 10 * np.abs(calm.qd.values).max()


def test_adaptive_methods_need_no_step():
    run = kt.simulate(ball(), [0.15], duration=0.2, ground=ground(1e4, 4000.0))
    assert run.messages == () or "stiff" in run.messages[0]
