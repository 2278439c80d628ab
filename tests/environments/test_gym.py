"""Environments as gymnasium checks them, their physics beside simulations, and what is refused."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import kinetree as kt
import kinetree.gym
from kinetree.environments.actions import Positions, Torques, Velocities
from kinetree.environments.episodes import Episodes
from kinetree.environments.library import TASKS, hopper_mechanism
from kinetree.environments.senses import (
    BaseHeight,
    BaseQuaternion,
    BodyRates,
    DrawnNumbers,
    FootContact,
    FootForce,
    HeightSamples,
    InertialSensor,
    JointPositions,
    JointVelocities,
    ProjectedGravity,
    Reading,
)
from kinetree.environments.task import LearningTask
from kinetree.errors import InputError

LEVEL = (0, 0, -9.81)


def nothing(moment):
    return np.zeros(len(moment.time))


def pendulum():
    builder = kt.Builder("pendulum", gravity=LEVEL)
    builder.world.revolute("pivot", axis="y", effort_limit=5.0).body("bob", kt.Inertia.point(1.0, (0, 0, -1)))
    return builder.build()


def crate():
    builder = kt.Builder("crate", gravity=LEVEL)
    crate = builder.world.free("base").body("crate", kt.Inertia.box(2.0, (0.2, 0.2, 0.2)))
    for k, (x, y, z) in enumerate(np.ndindex(2, 2, 2)):
        crate.contact(f"corner{k}", at=0.2 * np.array([x, y, z]) - 0.1)
    return builder.build()


def still(mechanism, *senses, **settings):
    """Episodes of a robot that does nothing."""
    act = settings.pop("act", None) or Idle()
    count = settings.pop("count", 3)
    return Episodes(LearningTask(mechanism, nothing, senses, act, **settings), count)


class Idle(Torques):
    def driven(self, mechanism):
        return ()


@pytest.mark.parametrize("name", TASKS)
def test_environments_pass_gymnasiums_checker(name, recwarn):
    env = gymnasium.make(f"kinetree/{name}-v0")
    check_env(env.unwrapped, skip_render_check=True)
    assert [str(x.message) for x in recwarn] == []
    many = gymnasium.make_vec(f"kinetree/{name}-v0", num_envs=3)
    first, _ = many.reset(seed=4)
    assert np.array_equal(first, many.reset(seed=4)[0]) and many.observation_space.contains(first)
    found = many.step(many.action_space.sample())
    assert many.observation_space.contains(found[0]) and found[1].shape == (3,)


def test_one_and_many_are_the_same_physics():
    one, many = (kt.gym.MechanismEnv("Hopper"), kt.gym.MechanismVectorEnv("Hopper", 5))
    task = one.task.changed(spread=0.0, spread_rates=0.0)
    one, many = kt.gym.MechanismEnv(task), kt.gym.MechanismVectorEnv(task, 5)
    one.reset(seed=0)
    many.reset(seed=1)
    actions = np.random.default_rng(2).uniform(-0.5, 0.5, (10, 3))
    for action in actions:
        a, b = one.step(action), many.step(np.tile(action, (5, 1)))
        assert np.array_equal(np.tile(a[0], (5, 1)), b[0]) and a[1] == b[1][3]


def test_a_torque_moves_a_pendulum_as_simulated():
    task = LearningTask(pendulum(), nothing, home=[0.3], dt=1e-3, hold=10)
    episodes = Episodes(task, 2, record=(1,))
    for _ in range(50):
        episodes.advance([[0.5], [0.4]])
    fall = kt.simulate(pendulum(), [0.3], duration=0.5, torque=[2.0])
    recorded = episodes.recorded(1)
    assert np.allclose(recorded.time, np.arange(51) * 0.01) and recorded.action.shape == (51, 1)
    assert abs(float(recorded.q[-1, 0]) - float(fall.q[-1, 0])) < 1e-5
    assert not recorded.passed  # nothing judged it


def test_servos_hold_their_targets():
    held = Episodes(LearningTask(pendulum(), nothing, act=Positions(kp=1e5, kd=1e3, scale=1.0)), 1)
    turning = Episodes(LearningTask(pendulum(), nothing, act=Velocities(kd=1e4, scale=2.0)), 1)
    for _ in range(200):
        held.advance([[0.7]])
        turning.advance([[-0.5]])
    assert abs(held.moment.position("pivot")[0] - 0.7) < 1e-3
    assert abs(turning.moment.velocity("pivot")[0] + 1.0) < 1e-2


def test_senses_of_a_crate_that_falls_and_lies():
    senses = (
        BaseHeight(),
        BaseQuaternion(),
        ProjectedGravity(),
        BodyRates(),
        InertialSensor(),
        FootContact(),
        FootForce(),
    )
    episodes = still(
        crate(), *senses, HeightSamples(), home=[0, 0, 0.5, 0, 0, 0], ground=kt.Ground(), dt=0.002, hold=5
    )
    at = {name: k for k, name in enumerate(episodes.names)}
    episodes.advance(np.zeros((3, 0)))
    seen = episodes.observed()[0]
    assert seen[at["imu_az"]] == pytest.approx(0.0, abs=1e-6)  # in free fall nothing is felt
    assert seen[at["base_height"]] == pytest.approx(0.5 - 0.5 * 9.81 * 0.01**2, abs=1e-6)
    assert seen[at["ground_0"]] == pytest.approx(-seen[at["base_height"]], abs=1e-6)
    for _ in range(200):
        episodes.advance(np.zeros((3, 0)))
    seen = episodes.observed()[0]
    assert seen[at["imu_az"]] == pytest.approx(9.81, abs=1e-3)
    assert list(seen[[at["gravity_x"], at["gravity_y"], at["gravity_z"]]]) == pytest.approx(
        [0, 0, -1], abs=1e-6
    )
    touching = [name for name in at if name.endswith("_contact")]
    assert seen[[at[name] for name in touching]].sum() >= 2  # three or two opposite ones can carry all
    up = [k for name, k in at.items() if name.endswith("_force_z")]
    assert seen[up].sum() == pytest.approx(1.0, abs=1e-3)


def test_noise_and_delay():
    late = still(
        pendulum(), JointPositions(), JointPositions(delay=0.06), home=[1.0], dt=0.005, hold=4, count=2
    )
    seen = []
    for _ in range(8):
        seen.append(late.observed()[0])
        late.advance(np.zeros((2, 0)))
    now, before = np.array(seen).T
    assert np.allclose(before[3:], now[:-3]) and np.allclose(before[:3], now[0])
    noisy = still(pendulum(), JointVelocities(noise=0.1), count=3000)
    assert noisy.observed().std() == pytest.approx(0.1, rel=0.1)


def test_episodes_end_and_begin_anew_as_asked():
    task = kt.gym.expect_task("CartPole").changed(limit=3)
    push = np.ones((2, 1))
    following = kt.gym.MechanismVectorEnv(task, 2)
    following.reset(seed=0)
    cut = [following.step(push)[3].tolist() for _ in range(5)]
    assert cut == [[False] * 2, [False] * 2, [True] * 2, [False] * 2, [False] * 2]
    at_once = kt.gym.MechanismVectorEnv(task, 2, autoreset="same_step")
    at_once.reset(seed=0)
    for _ in range(3):
        observation, _, _, cut, info = at_once.step(push)
    assert cut.all() and np.abs(observation).max() <= 0.05 < np.abs(np.stack(info["final_obs"])).max()


def test_what_is_wrong_is_named():
    many = kt.gym.MechanismVectorEnv("CartPole", 3)
    many.reset(seed=0)
    before = many.step(np.zeros((3, 1)))[0]
    for bad, words in (
        (np.zeros((3, 2)), r"shape \(3, 1\), got \(3, 2\)"),
        ([[0.0], [np.nan], [0.0]], "those of 1 are not"),
    ):
        with pytest.raises(InputError, match=words):
            many.step(bad)
    assert np.array_equal(many._episodes.observed(), before)  # nothing was done
    with pytest.raises(InputError, match="Did you mean 'Hopper'"):
        kt.gym.expect_task("Hoper")
    with pytest.raises(gymnasium.error.NameNotFound):
        gymnasium.make("kinetree/Hoper-v0")
    with pytest.raises(InputError, match="reward must return finite"):
        kt.gym.make(pendulum(), lambda moment: np.full(1, np.nan))
    with pytest.raises(InputError, match="reward must return one number for each"):
        kt.gym.make(pendulum(), lambda moment: 0.0)
    with pytest.raises(InputError, match="give one for joint1"):
        kt.gym.make(kt.zoo.chain(2), nothing)
    for settings, words in (
        ({"autoreset": "same_step"}, "give num_envs"),
        ({"observe": JointPositions()}, "observe must be a list"),
        ({"goal": 3}, "goal must be a function"),
        ({"act": Torques(scale="abc")}, "scale"),
        ({"home": np.zeros((3, 1))}, "home must have shape"),
        ({"spread": -1.0}, "spread must be >= 0"),
        ({"observe": [JointPositions(delay=0.03)]}, "multiple of an action"),
        ({"record": (0.5,), "num_envs": 2}, "record must be numbers"),
        ({"act": Torques(joints=("pivot", "pivot"))}, "once each"),
    ):
        with pytest.raises(InputError, match=words):
            kt.gym.make(pendulum(), nothing, **settings)
    with pytest.raises(InputError, match="actions must be real numbers"):
        many.step("abc")
    with pytest.raises(InputError, match="needs a free base"):
        still(pendulum(), BaseQuaternion())
    with pytest.raises(InputError, match="Did you mean 'pivot'"):
        still(pendulum(), JointPositions(joints=("pivto",)))


def test_a_reward_that_is_no_number_ends_its_episode_alone():
    def reward(moment):
        return np.where((np.arange(3) == 1) & (moment.time > 0.03), np.nan, 1.0)

    many = kt.gym.make(pendulum(), reward, num_envs=3, dt=0.01, hold=2)
    many.reset(seed=0)
    _, first, ended, _, _ = many.step(np.zeros((3, 1)))
    assert not ended.any() and (first == 1.0).all()
    _, second, ended, _, info = many.step(np.zeros((3, 1)))
    assert ended.tolist() == [False, True, False] and second.tolist() == [1.0, 0.0, 1.0]
    assert info["failure"][1] == "the reward is nan"


def test_a_robot_whose_free_joint_has_a_place_starts_where_it_is(tmp_path):
    ball = """<mujoco><worldbody><geom type="plane" size="1 1 1"/>
    <body name="ball" pos="0 0 1"><freejoint/><geom type="sphere" size="0.1"/></body></worldbody></mujoco>"""
    pytest.importorskip("mujoco")
    (tmp_path / "ball.xml").write_text(ball)
    episodes = still(kt.load(tmp_path / "ball.xml"), BaseHeight(), ground=kt.Ground(), dt=0.002, hold=5)
    height = episodes.observed()[0, 0]
    assert height - episodes.moment.gap.min() == pytest.approx(0.1, abs=1e-6)
    assert height == pytest.approx(1.0, abs=1e-6)
    turned = kt.Builder("box", gravity=LEVEL)
    free = turned.world.free("base", rpy=(0.0, 0.5, 0.0), at=(0, 0, 2)).body(
        "box", kt.Inertia.box(1, (1, 1, 1))
    )
    assert free is not None
    episodes = still(turned.build(), ProjectedGravity(), BaseHeight())
    assert episodes.observed()[0] == pytest.approx([np.sin(0.5), 0.0, -np.cos(0.5), 2.0], abs=1e-6)


def test_people_with_stiff_ball_joints_learn_too():
    person = kt.zoo.human()
    env = kt.gym.make(person, nothing, num_envs=2, act=Torques(scale=10.0))
    assert env.reset(seed=0)[0].shape == env.observation_space.shape
    moment = env._episodes.moment
    assert np.allclose(moment.place("head"), kt.forward_kinematics(person, np.zeros(55))["head"][1])


def test_friction_and_masses_are_drawn_for_each_episode():
    slope = kt.Ground(normal=(np.sin(0.2), 0.0, np.cos(0.2)))
    place = 0.1 * np.array([np.sin(0.2), 0.0, np.cos(0.2)])
    lying = {"home": [*place, 0.2, 0, 0], "ground": slope, "dt": 0.002, "hold": 5}
    task = LearningTask(crate(), nothing, (BaseHeight(),), Idle(), **lying)
    with pytest.raises(InputError, match="two factors"):
        Episodes(task, 4, friction=(0.5, 0.1))
    slippery = Episodes(task, 4, friction=(0.0, 0.0))
    rough = Episodes(task, 4, friction=(1.0, 1.0), masses=(2.0, 2.0))
    for _ in range(50):
        slippery.advance(np.zeros((4, 0)))
        rough.advance(np.zeros((4, 0)))
    speeds = [np.linalg.norm(x.moment.base_velocity, axis=1) for x in (slippery, rough)]
    assert (speeds[0] > 0.5).all() and (speeds[1] < 1e-3).all()
    weight = 2.0 * task.mechanism.mass * 9.81
    assert rough.stepper.contact.force.sum(axis=1)[:, 2] == pytest.approx(weight, rel=1e-6)
    with pytest.raises(InputError, match="masses must be two factors above 0"):
        Episodes(task, 4, masses=(0.0, 1.0))


def test_starts_keep_limits_and_stay_above_the_ground():
    builder = kt.Builder("short", gravity=LEVEL)
    builder.world.revolute("pivot", axis="y", lower=-0.1, upper=0.1).body(
        "bob", kt.Inertia.point(1.0, (0, 0, -1))
    )
    episodes = still(builder.build(), JointPositions(), spread=1.0, count=200)
    assert np.abs(episodes.observed()).max() == pytest.approx(0.1, abs=1e-6)
    low = still(crate(), BaseHeight(), home=[0, 0, 0.1, 0, 0, 0], spread=0.03, ground=kt.Ground(), count=100)
    assert low.moment.gap.min() > -0.011


def test_observations_and_goals_that_are_no_numbers_are_found():
    def goal(random, count):
        return np.full((count, 1), np.nan)

    with pytest.raises(InputError, match="goal must return finite"):
        still(pendulum(), DrawnNumbers(), goal=goal)
    late = Reading(function=lambda m: np.where(m.time > 0.02, np.nan, m.time)[:, None], labels=("t",))
    episodes = still(pendulum(), late, dt=0.01, hold=1, count=2)
    outcomes = [episodes.advance(np.zeros((2, 0))) for _ in range(3)]
    assert not outcomes[0].ended.any() and outcomes[-1].ended.all()
    assert outcomes[-1].failures[0] == "an observation is not a number"
    assert np.isfinite(episodes.observed()).all()


def test_a_hopper_stands_on_its_foot_for_a_while():
    mechanism = hopper_mechanism()
    assert mechanism.mass == pytest.approx(12.0)
    assert kt.gym.MechanismEnv("Hopper").observation_names[:2] == ("up", "pitch")
