"""Torques, loads, joint springs and stops, events, interruptions, errors, results."""

import numpy as np
import pytest

import kinetree as kt


def pendulum(**joint):
    """A point mass of 1 kg at the end of a massless rod of 1 m that turns about y."""
    build = kt.Builder("pendulum")
    hinge = build.world.revolute("hinge", axis="y", **joint)
    hinge.body("rod", kt.Inertia.point(1.0, (0, 0, -1.0)))
    return build.build()


def slider(**joint):
    build = kt.Builder("slider", gravity=(0, 0, 0))
    build.world.prismatic("rail", axis="x", **joint).body("cart", kt.Inertia.sphere(2.0, 0.1))
    return build.build()


ARM = kt.zoo.kuka_kr5()
START = np.array([0.2, -0.4, 0.3, 0.1, -0.2, 0.5])


# ---- closed forms -------------------------------------------------------------------------------------
def test_small_oscillation_has_the_known_period():
    run = kt.simulate(pendulum(), [1e-4], duration=2 * np.pi / np.sqrt(9.81), rtol=1e-12)
    assert run.q.values[-1, 0] == pytest.approx(1e-4, rel=1e-8)


def test_damped_spring():
    """x'' + 2 d w x' + w^2 x = 0 of a cart on a spring with viscous friction."""
    k, c, m = 50.0, 4.0, 2.0
    run = kt.simulate(slider(stiffness=k, viscous=c, rest=0.3), [1.3], duration=2.0, rtol=1e-11)
    rate, turn = c / (2 * m), np.sqrt(k / m - (c / (2 * m)) ** 2)
    t = run.time.values
    exact = 0.3 + np.exp(-rate * t) * (np.cos(turn * t) + rate / turn * np.sin(turn * t))
    assert run.q.values[:, 0] == pytest.approx(exact, abs=1e-9)
    assert run.audit["energy_balance"].value < 1e-9
    left = run.kinetic_energy.values[-1] + run.potential_energy.values[-1]
    assert run.joint_work.values[-1] == pytest.approx(left - 0.5 * k, rel=1e-9)


def test_dry_friction_stops_a_cart():
    """Stopping distance v^2 m / (2 F)."""
    run = kt.simulate(slider(coulomb=4.0), [0.0], [1.0], duration=1.0, method="radau", friction_speed=1e-4)
    assert run.q.values[-1, 0] == pytest.approx(0.25, abs=1e-4)
    assert abs(run.qd.values[-1, 0]) < 1e-5
    assert run.joint_work.values[-1] == pytest.approx(-1.0, rel=1e-4)


@pytest.mark.parametrize(("speed", "friction"), [(1.0, 4.0), (-1.0, 1.0)])
def test_dry_friction_by_direction(speed, friction):
    """The way to rest is v^2 m / (2 F) with the friction of the direction; the energy is what it takes."""
    cart = slider(coulomb=4.0, coulomb_reverse=1.0)
    run = kt.simulate(cart, [0.0], [speed], duration=2.5, method="radau", friction_speed=1e-4)
    assert run.q.values[-1, 0] == pytest.approx(speed / friction, abs=1e-5)
    assert abs(run.qd.values[-1, 0]) < 1e-5
    assert run.joint_work.values[-1] == pytest.approx(-1.0, rel=1e-4)
    assert run.audit["energy_balance"].passed


@pytest.mark.parametrize("push", [3.9, -0.9, 4.1, -1.1])
def test_dry_friction_by_direction_holds_what_it_can(push):
    cart = slider(coulomb=4.0, coulomb_reverse=1.0)
    run = kt.simulate(cart, [0.0], duration=1.0, torque=[push], method="radau", friction_speed=1e-4)
    held = push in (3.9, -0.9)
    assert abs(run.qd.values[-1, 0]) < 1e-4 if held else abs(run.qd.values[-1, 0]) > 0.04


def test_stops_turn_a_cart_back():
    robot = slider(lower=-1.0, upper=1.0)
    with pytest.warns(kt.simulation.VerdictWarning, match="'rail' is at 2 m"):
        bare = kt.simulate(robot, [0.0], [2.0], duration=1.0)
    assert bare.q.values[-1, 0] == pytest.approx(2.0)
    assert [(event.kind, event.name) for event in bare.events] == [("joint_limit_upper", "rail")]
    assert bare.events[0].time == pytest.approx(0.5, rel=1e-9)
    stops = kt.simulation.Stops(stiffness=1e4, damping=0.0)
    run = kt.simulate(robot, [0.0], [2.0], duration=1.0, stops=stops, rtol=1e-10)
    contact = np.pi * np.sqrt(2.0 / 1e4)  # half a period of the spring
    assert run.q.values[-1, 0] == pytest.approx(1.0 - 2.0 * (0.5 - contact), abs=1e-6)


# ---- what drives the joints ----------------------------------------------------------------------------
def test_ways_to_say_the_same_torque():
    constant = np.array([3.0, -5.0, 2.0, 0.5, -0.4, 0.1])
    ways = {
        "vector": constant,
        "function": lambda t, q, qd: constant,
        "table": ([0.0, 1.0], np.tile(constant, (2, 1))),
        "polynomial": kt.trajectories.PiecewisePolynomial.hold([0.0], constant[None]),
    }
    ends = {
        name: kt.simulate(ARM, START, duration=0.3, torque=torque, rtol=1e-11).q.values[-1]
        for name, torque in ways.items()
    }
    for end in ends.values():
        assert end == pytest.approx(ends["vector"], rel=1e-9, abs=1e-8)  # one axis turns 4500 rad
    assert not np.allclose(ends["vector"], kt.simulate(ARM, START, duration=0.3).q.values[-1], atol=1e-3)


def test_inverse_dynamics_drives_along_the_motion():
    path = kt.trajectories.cycloid(START, START + 0.4, 1.0)

    def torque(t, q, qd):
        wanted = path.at(t)
        return kt.inverse_dynamics(ARM, wanted.q, wanted.qd, wanted.qdd)

    run = kt.simulate(ARM, START, duration=0.5, torque=torque, rtol=1e-11)
    assert run.q.values == pytest.approx(path.at(run.time.values).q, abs=1e-7)
    wanted = path.at(run.time.values)
    torques = kt.inverse_dynamics(ARM, wanted.q, wanted.qd, wanted.qdd)
    assert run.tau.values == pytest.approx(torques, abs=1e-9)


def test_work_of_actuators_and_loads():
    hand = ARM.body_names[-1]
    load = kt.Wrench(hand, force=(5.0, -3.0, 2.0), moment=(0.1, 0.2, 0.3), point=(0.1, 0, 0.05))
    turning = kt.Wrench(ARM.body_names[2], force=(1.0, 2.0, 3.0), point=(0.0, 0.1, 0.0), frame="body")
    torque = [10.0, 8.0, -5.0, 0.1, 0.1, 1e-5]
    run = kt.simulate(ARM, START, duration=0.5, loads=[load, turning], torque=torque, rtol=1e-11)
    assert run.audit["energy_balance"].value < 1e-9
    assert abs(run.external_work.values[-1]) > 1e-2
    work = np.trapezoid((run.tau.values * run.qd.values).sum(axis=1), run.time.values)
    assert run.actuator_work.values[-1] == pytest.approx(work, rel=1e-3)
    qdd = kt.forward_dynamics(ARM, run.q.values, run.qd.values, run.tau.values, [load, turning])
    assert run.qdd.values == pytest.approx(qdd, rel=1e-9, abs=1e-9)


def test_reactions_belong_to_the_motion():
    run = kt.simulate(ARM, START, duration=0.1, times=5, reactions=True)
    motion = run.q.values, run.qd.values, run.qdd.values
    assert np.array_equal(run.reaction.values, kt.joint_reactions(ARM, *motion))


def test_reactions_feel_loads_and_ground():
    """A body that stands on the ground hangs in its free joint without a force; a load is felt."""
    robot = kt.zoo.quadruped()
    load = kt.Wrench("trunk", force=(0.0, 0.0, -20.0))
    options = {"ground": kt.Ground(), "method": "dopri5", "reactions": True, "loads": load, "times": 11}
    run = kt.simulate(robot, standing(), duration=0.2, **options)
    assert run.contact_force.values.any()
    trunk = run.reaction.sel(body="trunk").values
    assert trunk == pytest.approx(np.zeros_like(trunk), abs=1e-6)


# ---- output, events, interruption ----------------------------------------------------------------------
def test_output_times_are_kept():
    times = [0.0, 0.013, 0.1, 0.25]
    run = kt.simulate(ARM, START, duration=0.3, times=times)
    assert run.time.values.tolist() == times
    dense = kt.simulate(ARM, START, duration=0.3, times=1001, rtol=1e-12)
    assert run.q.values[2] == pytest.approx(dense.q.interp(time=0.1).values, abs=1e-5)


def test_user_events():
    level = kt.simulation.Trigger("level", lambda t, q, qd: q[0], direction=-1)
    run = kt.simulate(pendulum(), [0.5], duration=4.0, events=[level], rtol=1e-11)
    times = [event.time for event in run.events if event.name == "level"]
    assert len(times) == 2
    assert np.interp(times, run.time.values, run.q.values[:, 0]) == pytest.approx([0, 0], abs=1e-3)
    stopped = kt.simulate(pendulum(), [0.5], duration=4.0, events=[level], stop_at="level")
    assert stopped.stopped_at == pytest.approx(times[0], abs=1e-6)
    assert "level" in stopped.stop_reason


def test_interruption_keeps_what_was_computed():
    def progress(t):
        if t > 0.2:
            raise KeyboardInterrupt

    run = kt.simulate(ARM, START, duration=1e5, times=np.linspace(0, 1, 101), progress=progress)
    assert not run.complete
    assert run.stop_reason == "interrupted"
    assert run.stopped_at > 0.2


def test_progress_is_told():
    told = []
    kt.simulate(ARM, START, duration=0.3, progress=told.append)
    assert told
    assert told[-1] == pytest.approx(0.3)


def test_result_is_saved_and_loaded(tmp_path):
    run = kt.simulate(kt.zoo.quadruped(), standing(), duration=0.1, ground=kt.Ground(), method="dopri5")
    run.save(tmp_path / "run.nc")
    assert kt.load_result(tmp_path / "run.nc").equals(run)
    assert run.settings["ground"]["soil"]["stiffness"] == 2000.0


def standing():
    q = np.zeros(18)
    q[2] = 0.55
    q[[7, 10, 13, 16]], q[[8, 11, 14, 17]] = 0.3, -0.6
    return q


# ---- bad input, and motions that fail ------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"duration": -1.0}, r"duration must be > 0 s, got -1"),
        ({"duration": np.nan}, r"duration must be finite"),
        ({"times": [0.0, 0.2, 0.1]}, r"times must increase, got 0\.2 s and then 0\.1 s at index 2"),
        ({"times": [0.0, 2.0]}, r"times must lie within 0 and 1 s"),
        ({"times": 1}, "at least 2 samples"),
        ({"rtol": 0.0}, r"rtol must be > 0, got 0"),
        ({"rtol": 1e-20}, "rtol must be between"),
        ({"atol": -1.0}, r"atol must be > 0, got -1"),
        ({"method": "dopri"}, "unknown method 'dopri'.*Did you mean 'dopri5'"),
        ({"method": "rk4"}, "needs a step"),
        ({"method": "rk4", "step": 0.0}, "step must be > 0 s"),
        ({"method": "rk4", "step": -0.01}, r"step must be > 0 s, got -0\.01"),
        ({"method": "rk4", "step": 10.0}, "step must not be longer than the duration, 1 s, got 10 s"),
        ({"method": "rk4", "step": 1e-15}, r"a step of 1e-15 s takes 1e\+15 steps"),
        ({"torque": [1.0, 2.0]}, r"torque must have shape \(\.\.\., 6\)"),
        ({"torque": [np.inf] * 6}, "torque must be finite"),
        ({"torque": ([0.0, 1.0], [[1.0], [2.0]])}, "needs 6 columns, got 1"),
        ({"torque": [0.0] * 6, "controller": lambda t, q, qd: q}, "either a torque or a controller"),
        ({"controller": 3}, "a controller must be"),
        ({"controller": kt.control.PD}, r"a controller must be an object: PD\(\.\.\.\)"),
        ({"ground": "flat"}, "ground must be a Ground, got 'flat'"),
        ({"stops": 1e3}, r"stops must be a Stops, got 1000\.0"),
        ({"loads": "push"}, "loads must be a Wrench or a list of them, got 'push'"),
        ({"events": [lambda t, q, qd: 1.0]}, "events must be a list of Trigger"),
        ({"energy_tolerance": -1.0}, "energy_tolerance must be > 0, got -1"),
        ({"stop_at": "crash"}, "unknown event 'crash'"),
        ({"gimbal": "ignore"}, "unknown gimbal 'ignore'"),
        ({"loads": kt.Wrench("hand", force=(1, 0, 0))}, "unknown body 'hand'"),
        ({"friction_speed": 0.0}, "friction_speed must be > 0"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(kt.KinetreeError, match=message):
        kt.simulate(ARM, START, **options)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (([0.0] * 5, None), r"q0 must have shape \(\.\.\., 6\)"),
        (([0.0] * 6, [0.0] * 7), r"qd0 must have shape \(\.\.\., 6\)"),
        (([[0.0] * 6] * 2, None), "use simulate_batch for many"),
        (([np.nan] + [0.0] * 5, None), "q0 must be finite, got nan for joint"),
    ],
)
def test_bad_states(state, message):
    with pytest.raises(kt.errors.InputError, match=message):
        kt.simulate(ARM, *state)


def test_law_that_returns_nan_keeps_the_motion_so_far():
    def law(t, q, qd):
        return np.full(6, np.nan if t > 0.1 else 0.0)

    with pytest.raises(
        kt.errors.SimulationError, match=r"'law' returns nan for joint '.*' at t = 0\.1"
    ) as caught:
        kt.simulate(ARM, START, torque=law)
    assert caught.value.result.time.values[-1] <= 0.11
    assert not caught.value.result.complete


@pytest.mark.parametrize("which", ["torque", "controller"])
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.zeros(3), r"must be 6 numbers, for .*; got shape \(3,\)"),
        (np.zeros((6, 1)), r"must be 6 numbers, for .*; got shape \(6, 1\)"),
        (None, "must be real numbers, got None"),
        (np.full(6, np.nan), "returns nan for joint"),
    ],
)
def test_law_with_a_wrong_answer_from_the_start_is_wrong_input(which, answer, message):
    def pull(t, q, qd):
        return answer

    with pytest.raises(kt.errors.InputError, match=message) as refused:
        kt.simulate(ARM, START, **{which: pull})
    assert f"the {which} function 'pull'" in str(refused.value)


def test_law_that_changes_its_shape_keeps_the_motion_so_far():
    def law(t, q, qd):
        return np.zeros(6 if t < 0.1 else 3)

    with pytest.raises(kt.errors.SimulationError, match=r"must be 6 numbers.*got shape \(3,\)") as caught:
        kt.simulate(ARM, START, torque=law)
    assert 0.0 < caught.value.result.time.values[-1] <= 0.11


def test_law_with_other_arguments():
    def pull(t):
        return np.zeros(6)

    with pytest.raises(
        kt.errors.InputError, match=r"the torque function 'pull' must take \(t, q, qd\); it takes \(t\)"
    ):
        kt.simulate(ARM, START, torque=pull)


def test_law_that_raises():
    def law(t, q, qd):
        raise ZeroDivisionError("oops")

    with pytest.raises(ZeroDivisionError, match="oops"):
        kt.simulate(ARM, START, torque=law)


def test_massless_leaf():
    build = kt.Builder("bad")
    build.world.revolute("hinge").body("empty", kt.Inertia(0.0))
    with pytest.raises(kt.errors.SingularityError, match="'hinge'"):
        kt.simulate(build.build(), [0.0])


def test_a_fixed_step_that_explodes_keeps_the_motion_so_far():
    with pytest.raises(kt.errors.SimulationError, match=r"diverged at t = .*joint") as caught:
        kt.simulate(kt.zoo.gripper(), np.zeros(4), duration=200.0, method="rk4", step=10.0)
    kept = caught.value.result
    assert 1 <= len(kept.time) and np.isfinite(kept.q.values).all()


@pytest.mark.parametrize("method", ["rk4", "semi_implicit_euler"])
def test_a_fixed_step_on_hard_ground_is_refused(method):
    robot = kt.zoo.quadruped()
    ground = kt.Ground(soil=kt.simulation.Soil(stiffness=1e9))
    with pytest.raises(kt.errors.InputError, match=r"a step of 0\.01 s is too long .* the ground responds"):
        kt.simulate(robot, np.zeros(robot.n_dof), duration=0.5, ground=ground, method=method, step=0.01)


def test_a_fixed_step_that_is_somewhat_too_long_diverges_with_advice():
    robot = kt.zoo.quadruped()
    deep = np.zeros(robot.n_dof)
    deep[2] = -0.01
    ground = kt.Ground(soil=kt.simulation.Soil(stiffness=2e3))
    with pytest.raises(
        kt.errors.SimulationError, match=r"diverged at t = .* a step shorter than 0\.01 s"
    ) as caught:
        kt.simulate(robot, deep, duration=0.5, ground=ground, method="rk4", step=0.01)
    kept = caught.value.result
    assert len(kept.time) and np.abs(kept.qd.values).max() < 1e9 and kept.stopped_at < 0.5
    assert "diverged" in kept.stop_reason


def test_a_motion_that_diverges_between_two_looks_ends(tmp_path):
    """Speeds beyond all bounds are finite for some hundred steps more."""
    pendulum = kt.zoo.chain(1)
    with pytest.raises(kt.errors.SimulationError, match="diverged"):
        kt.simulate(pendulum, [0.1], [0.1], torque=lambda t, q, qd: qd, duration=100.0, rtol=1e-10)


def test_a_fixed_step_that_events_cut_again_and_again_ends_with_advice(monkeypatch):
    robot = kt.zoo.hexapod()
    feet = tuple(f"foot{k}" for k in range(1, 7))  # all deep in the ground: none is still to touch it
    ground = kt.Ground(soil=kt.simulation.Soil(stiffness=2e5), points=feet)
    messages, advice = set(), r"at t = .* a step shorter than 0\.001 s"
    for seconds in (1e-9, 0.02, 10.0):  # as on a slow and on a fast machine
        monkeypatch.setattr("kinetree.simulation.run.PIECE", seconds)
        with pytest.raises(kt.errors.SimulationError, match=advice) as caught:
            kt.simulate(robot, np.zeros(robot.n_dof), duration=0.5, ground=ground, method="rk4", step=1e-3)
        messages.add(str(caught.value))
    assert len(messages) == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: kt.Ground(soil=2000.0), r"soil of the ground must be a Soil, got 2000\.0"),
        (lambda: kt.Ground(regions=[(0, 1)]), "regions of the ground must be a list of Region"),
        (lambda: kt.simulation.Region(forward=1.0), r"forward of a region must be two numbers, got 1\.0"),
        (lambda: kt.simulation.Region(forward=(np.nan, 1.0)), r"from low to high, got \(nan, 1\)"),
        (lambda: kt.simulation.Region(soil=0.5), r"soil of a region must be a Soil, got 0\.5"),
        (
            lambda: kt.simulation.simulate_batch(ARM, [START], threads=0),
            "threads must be .* at least 1, got 0",
        ),
    ],
)
def test_bad_surroundings(make, message):
    with pytest.raises(kt.errors.InputError, match=message):
        make()


def test_diverging_motion_names_time_and_joint():
    with pytest.raises(kt.errors.SimulationError, match=r"diverged at t = .*joint is 'rail'") as caught:
        kt.simulate(slider(), [1.0], [1.0], duration=10.0, torque=lambda t, q, qd: 1e3 * q * q * np.abs(q))
    assert caught.value.result.stopped_at < 10.0


def test_inaccurate_balance_is_told():
    with pytest.warns(kt.simulation.AccuracyWarning, match="energy balance FAILED"):
        run = kt.simulate(ARM, START, duration=1.0, method="semi_implicit_euler", step=0.02)
    assert not run.audit["energy_balance"].passed
    assert any("energy balance" in message for message in run.messages)


# ---- many at once ---------------------------------------------------------------------------------------
def test_simulator_is_the_same_simulation():
    prepared = kt.simulation.Simulator(ARM, 0.3, times=7, rtol=1e-10)
    for start in (START, -START, START):
        motion = prepared.run(start)
        run = kt.simulate(ARM, start, duration=0.3, times=7, rtol=1e-10, method=prepared.method)
        assert np.array_equal(motion.q, run.q.values)
        assert np.array_equal(motion.qd, run.qd.values)


def test_actions_of_a_prepared_simulation_are_constant_torques():
    """Each run has its own torques beside those of a law; the next one does not inherit them."""
    rng = np.random.default_rng(2)
    pd = kt.control.PD(np.zeros(ARM.n_dof), kp=5.0, kd=1.0)
    for controller in (None, pd):
        step = kt.simulation.Simulator(ARM, 0.05, times=2, controller=controller, rtol=1e-10)
        free = step.run(START)
        for action in rng.normal(size=(2, ARM.n_dof)):
            law = None if controller is None else lambda t, q, qd, a=action: a - 5.0 * q - qd
            run = kt.simulate(
                ARM, START, duration=0.05, times=2, torque=action if law is None else law, rtol=1e-10
            )
            assert step.run(START, torque=action).q == pytest.approx(run.q.values, abs=1e-9)
        assert np.array_equal(step.run(START).q, free.q)
    with pytest.raises(kt.errors.InputError, match="torque must have shape"):
        step.run(START, torque=np.zeros((1, ARM.n_dof)))


def test_loops_are_not_left_open_silently():
    with pytest.raises(kt.errors.InputError, match=r"four_bar': loop 'crank_pin' is open by"):
        kt.simulate(kt.zoo.four_bar(), [0.1, 0.2, 0.3])
