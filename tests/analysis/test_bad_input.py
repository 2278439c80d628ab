"""Bad input is refused before any work, and the message says who, what and what is allowed."""

from functools import partial

import numpy as np
import pytest

import kinetree as kt
from support.each import each
from support.refused import ANY, faults, refused

ROD = kt.Inertia.rod(1.0, (1.0, 0.0, 0.0))
NONE = np.zeros(2)


def arm():
    robot = kt.Builder("arm")
    upper = robot.world.revolute("shoulder", axis="y").body("upper", ROD)
    upper.revolute("elbow", at=(1, 0, 0), axis="y").body("fore", ROD)
    return robot.build()


def ball():
    robot = kt.Builder("ball")
    robot.world.spherical("socket").body("top", kt.Inertia(1.0, (0, 0, 0.2), (0.1, 0.1, 0.1)))
    return robot.build()


def walker():
    robot = kt.Builder("walker")
    base = robot.world.free("base").body("trunk", kt.Inertia.box(1.0, (0.1, 0.2, 0.3)))
    base.revolute("hip").body("leg", ROD)
    return robot.build()


ARM, BALL, WALKER = arm(), ball(), walker()
STATE_CALLS = {
    "inverse_dynamics": lambda q, qd, qdd: kt.inverse_dynamics(ARM, q, qd, qdd),
    "forward_dynamics": lambda q, qd, qdd: kt.forward_dynamics(ARM, q, qd, qdd),
    "joint_reactions": lambda q, qd, qdd: kt.joint_reactions(ARM, q, qd, qdd),
    "body_accelerations": lambda q, qd, qdd: kt.analysis.body_accelerations(ARM, q, qd, qdd),
}
POSITION_CALLS = {
    "mass_matrix": lambda q: kt.mass_matrix(ARM, q),
    "gravity_torque": lambda q: kt.gravity_torque(ARM, q),
    "potential_energy": lambda q: kt.potential_energy(ARM, q),
    "center_of_mass": lambda q: kt.center_of_mass(ARM, q),
    "forward_kinematics": lambda q: kt.forward_kinematics(ARM, q),
    "jacobian": lambda q: kt.jacobian(ARM, q, "fore"),
    "kinetic_energy": lambda q: kt.kinetic_energy(ARM, q, NONE),
    "momentum": lambda q: kt.momentum(ARM, q, NONE),
    "body_velocities": lambda q: kt.body_velocities(ARM, q, NONE),
    "bias_torque": lambda q: kt.bias_torque(ARM, q, NONE),
}
SHAPE, FINITE, REAL = "(..., 2), one value for each of the joints shoulder, elbow", "finite", "real numbers"
BAD_COORDINATES = {  # bad coordinates, the value that the error tells, what it says is allowed
    "too long": (np.zeros(3), (3,), SHAPE),
    "too short": ([0.0], (1,), SHAPE),
    "scalar": (0.0, (), SHAPE),
    "transposed": (np.zeros((2, 3)), (2, 3), SHAPE),
    "nan": (np.array([0.0, np.nan]), np.float64(np.nan), FINITE),
    "infinity": (np.array([-np.inf, 0.0]), np.float64(-np.inf), FINITE),
    "nan in a batch": (np.array([[0, 0], [0, np.nan]]), np.float64(np.nan), FINITE),
    "nan in a deep batch": (np.array([[[0, 0]], [[np.nan, 0]]]), np.float64(np.nan), FINITE),
    "text": (["a", "b"], ["a", "b"], REAL),
    "one text": ("ab", "ab", REAL),
    "complex": (np.array([0.0, 1j]), ANY, REAL),
    "booleans": (np.array([True, False]), ANY, REAL),
    "nothing": (None, None, REAL),
    "objects": (np.array([object(), 1.0]), ANY, REAL),
    "ragged": ([[0.0, 0.0], [0.0]], [[0.0, 0.0], [0.0]], REAL),
    "dates": (np.array(["2020-01-01", "2020-01-02"], "datetime64[D]"), ANY, REAL),
}


def test_state():
    """Each argument of each function names itself, its value and what is allowed."""
    calls = []
    for call, ask in STATE_CALLS.items():
        for k, name in enumerate(("q", "qd", "tau" if call == "forward_dynamics" else "qdd")):
            for bad, (given, value, allowed) in BAD_COORDINATES.items():
                arguments = [NONE, NONE, NONE]
                arguments[k] = given
                calls.append(((call, name, bad), partial(ask, *arguments), name, value, allowed))
    assert len(calls) == 192 and faults(calls) == {}


def test_position():
    calls = [
        ((call, bad), partial(ask, given), "q", value, allowed)
        for call, ask in POSITION_CALLS.items()
        for bad, (given, value, allowed) in BAD_COORDINATES.items()
    ]
    assert len(calls) == 160 and faults(calls) == {}


def test_words_for_coordinates_name_joint_and_state():
    for bad, words in (
        ("too long", r"shape \(\.\.\., 2\).*shoulder, elbow.*got shape \(3,\)"),
        ("nan", "must be finite, got nan for joint 'elbow'"),
        ("nan in a batch", "got nan for joint 'elbow' in state 1"),
        ("nan in a deep batch", r"joint 'shoulder' in state \(1, 0\)"),
        ("complex", "must be real numbers.*complex"),
        ("ragged", "must be real numbers.*inhomogeneous"),
        ("dates", "must be real numbers.*datetime"),
    ):
        with pytest.raises(kt.errors.InputError, match=f"(?s)^q must.*{words.removeprefix('must ')}"):
            kt.mass_matrix(ARM, BAD_COORDINATES[bad][0])


@pytest.mark.parametrize("call", STATE_CALLS)
def test_batches_that_do_not_fit(call):
    with pytest.raises(kt.errors.InputError, match=r"batch axes.*\(3,\).*\(2,\)"):
        STATE_CALLS[call](np.zeros((3, 2)), np.zeros((2, 2)), NONE)


BAD_LOADS = {
    "unknown body": (
        lambda: kt.Wrench("for", (0, 0, 1)),
        "unknown body 'for'.*upper, fore.*Did you mean 'fore'",
    ),
    "the world": (lambda: kt.Wrench("world", (0, 0, 1)), "unknown body 'world'"),
    "body not a name": (lambda: kt.Wrench(["fore"], (0, 0, 1)), "unknown body"),
    "frame": (lambda: kt.Wrench("fore", frame="local"), "unknown frame 'local'; allowed: world, body"),
    "force of two": (
        lambda: kt.Wrench("fore", (1, 2)),
        r"force of the wrench on 'fore'.*3 components.*\(2,\)",
    ),
    "moment nan": (
        lambda: kt.Wrench("fore", moment=(0, np.nan, 0)),
        "moment of the wrench on 'fore'.*finite.*nan",
    ),
    "force text": (lambda: kt.Wrench("fore", "up"), "force of the wrench on 'fore' must be real numbers"),
    "moving point": (
        lambda: kt.Wrench("fore", point=np.zeros((2, 3))),
        "point of the wrench on 'fore'.*3 components",
    ),
    "infinite point": (lambda: kt.Wrench("fore", point=(0, np.inf, 0)), "point of the wrench.*finite"),
    "array of the wrong shape": (lambda: np.zeros((3, 6)), r"shape \(\.\.\., 2, 6\).*got shape \(3, 6\)"),
    "one row": (lambda: np.zeros(6), r"shape \(\.\.\., 2, 6\).*got shape \(6,\)"),
    "a number": (lambda: 5.0, r"got shape \(\)"),
    "nan in an array": (lambda: np.full((2, 6), np.nan), "wrenches must be finite"),
    "text": (lambda: "fore", "wrenches must be real numbers"),
    "mixed list": (lambda: [kt.Wrench("fore"), 3.0], "wrenches must be real numbers"),
}


@each("bad", BAD_LOADS)
@each("answer", [kt.inverse_dynamics, kt.forward_dynamics, kt.joint_reactions], ids=lambda f: f.__name__)
def test_loads(answer, bad):
    make, message = BAD_LOADS[bad]
    with pytest.raises(kt.errors.InputError, match=f"(?s){message}"):
        answer(ARM, NONE, NONE, NONE, make())


@pytest.mark.parametrize(
    "load", [kt.Wrench("fore", np.zeros((2, 3))), np.zeros((2, 2, 6))], ids=["wrench", "array"]
)
def test_batch_of_loads_that_does_not_fit(load):
    with pytest.raises(kt.errors.InputError, match=r"batch axes of the wrenches.*do not fit.*\(3,\)"):
        kt.inverse_dynamics(ARM, np.zeros((3, 2)), NONE, NONE, load)


def test_frame_of_reactions():
    with refused("frame", "wrold", ["world", "body"]):
        kt.joint_reactions(ARM, NONE, NONE, NONE, frame="wrold")


@pytest.mark.parametrize("body", ["hand", "world", 0, ["fore"], None])
def test_body_of_a_jacobian(body):
    with pytest.raises(kt.errors.InputError, match=r"unknown body .*allowed: upper, fore"):
        kt.jacobian(ARM, NONE, body)


@pytest.mark.parametrize(
    ("point", "message"), [((0, 0), "3 numbers"), ((0, 0, np.nan), "finite"), ("abc", "real numbers")]
)
def test_point_of_a_jacobian(point, message):
    with pytest.raises(kt.errors.InputError, match=f"point must.*{message}"):
        kt.jacobian(ARM, NONE, "fore", point)


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ("x", "real numbers"),
        ((0, 0, np.nan), "finite"),
        ((0, 0), r"\(2,\)"),
        (np.zeros((2, 3)), r"\(2,\).*\(3,\)"),
    ],
    ids=["text", "nan", "two numbers", "another batch"],
)
def test_point_of_momentum(about, message):
    with pytest.raises(kt.errors.InputError, match=message):
        kt.momentum(ARM, np.zeros((3, 2)), NONE, about=about)


@pytest.mark.parametrize("threads", [0, -1])
def test_threads(threads):
    with pytest.raises(
        kt.errors.InputError, match=f"threads must be an integer of at least 1, got {threads}"
    ):
        kt.inverse_dynamics(ARM, np.zeros((8, 2)), NONE, NONE, threads=threads)


# ---- questions without a finite answer ---------------------------------------------------------


def massless_leaf(batch=()):
    robot = kt.Builder("arm")
    upper = robot.world.revolute("shoulder", axis="y").body("upper", ROD)
    hand = upper.revolute("wrist", at=(1, 0, 0), axis="y").body("hand")
    hand.fixed("weld").body("camera")
    return robot.build(), np.zeros((*batch, 2))


@pytest.mark.parametrize("batch", [(), (3,), (4,), (2, 5)], ids=str)
def test_massless_leaf_names_its_joint(batch):
    robot, zero = massless_leaf(batch)
    for tau in (zero, zero + 1.0):
        with pytest.raises(kt.errors.SingularityError, match="joint 'wrist' moves no inertia"):
            kt.forward_dynamics(robot, zero, zero, tau)
    assert np.isfinite(kt.inverse_dynamics(robot, zero, zero, zero)).all()


def test_massless_slider_beyond_hinges_names_its_joint():
    robot = kt.Builder("arm")
    upper = robot.world.revolute("shoulder", axis="y").body("upper", ROD)
    upper.revolute("elbow", at=(1, 0, 0), axis="y").body("fore", ROD).prismatic("slide").body("stop")
    with pytest.raises(kt.errors.SingularityError, match="joint 'slide' moves no inertia"):
        kt.forward_dynamics(robot.build(), np.zeros(3), np.zeros(3), np.zeros(3))


def test_one_singular_state_of_a_batch_is_found(rng):
    q = rng.uniform(-0.5, 0.5, (9, 3))
    q[6, 1] = np.pi / 2
    with pytest.raises(kt.errors.SingularityError, match=r"joint 'socket\.ry' moves no inertia.*gimbal lock"):
        kt.forward_dynamics(BALL, q, np.zeros(3), np.zeros(3))


def test_spinning_about_the_axis_of_a_slender_rod_is_singular():
    robot = kt.Builder("top")
    robot.world.revolute("spin", axis="x").body("rod", ROD)
    with pytest.raises(kt.errors.SingularityError, match="joint 'spin'"):
        kt.forward_dynamics(robot.build(), [0.1], [0.0], [1.0])


def test_armature_makes_a_massless_leaf_regular():
    robot = kt.Builder("arm")
    upper = robot.world.revolute("shoulder", axis="y").body("upper", ROD)
    upper.revolute("wrist", at=(1, 0, 0), axis="y", armature=0.01).body("hand")
    qdd = kt.forward_dynamics(robot.build().with_gravity((0, 0, 0)), [0.3, 0.4], [0, 0], [0, 0.02])
    assert np.allclose(qdd, [0.0, 2.0], atol=1e-12)  # a drive's rotor turns on its own axis only


@pytest.mark.parametrize("middle", [np.pi / 2, -np.pi / 2, 5 * np.pi / 2])
def test_gimbal_lock(middle):
    for batch in ((), (4,)):
        q = np.broadcast_to([0.3, middle, 0.2], (*batch, 3))
        with pytest.raises(kt.errors.SingularityError, match=r"joint 'socket\.ry'.*gimbal lock"):
            kt.forward_dynamics(BALL, q, np.zeros(3), np.ones(3))
    assert np.isfinite(kt.inverse_dynamics(BALL, [0.3, middle, 0.2], np.ones(3), np.ones(3))).all()


def test_gimbal_lock_of_a_floating_base():
    q = [0, 0, 0, 0.3, np.pi / 2, 0.2, 0]
    with pytest.raises(kt.errors.SingularityError, match=r"base of 'walker'.*YXZ.*gimbal lock"):
        kt.analysis.floating_base_inverse_dynamics(WALKER, q, np.zeros(7), [0.0])


def test_floating_base_questions_need_a_floating_base():
    with pytest.raises(
        kt.errors.InputError, match="'arm' has no floating base: its joint 'shoulder' is revolute, not free"
    ):
        kt.analysis.floating_base_inverse_dynamics(ARM, NONE, NONE, [])


@pytest.mark.parametrize(
    ("qdd", "message"),
    [
        (np.zeros(7), r"shape \(\.\.\., 1\), got shape \(7,\)"),
        ([np.nan], "finite"),
        (0.0, r"got shape \(\)"),
        (["x"], "real numbers"),
    ],
    ids=["all", "nan", "scalar", "text"],
)
def test_accelerations_of_the_joints_of_a_floating_base(qdd, message):
    with pytest.raises(kt.errors.InputError, match=f"qdd_joints must.*{message}"):
        kt.analysis.floating_base_inverse_dynamics(WALKER, np.zeros(7), np.zeros(7), qdd)


def test_center_of_nothing():
    robot = kt.Builder("frames")
    robot.world.revolute("hinge").body("frame")
    with pytest.raises(kt.errors.InputError, match="'frames' has no mass"):
        kt.center_of_mass(robot.build(), [0.0])


def test_every_error_is_a_kinetree_error():
    for error in (
        kt.errors.InputError,
        kt.errors.ModelError,
        kt.errors.FileError,
        kt.errors.SingularityError,
        kt.errors.MissingExtraError,
    ):
        assert issubclass(error, kt.KinetreeError)
    assert issubclass(kt.errors.InputError, ValueError) and issubclass(
        kt.errors.SingularityError, ArithmeticError
    )


def test_masked_numbers_are_no_numbers():
    """Their values are there, but whoever masked them does not want them to be used."""
    q = np.ma.masked_array(np.zeros((5, 6)), mask=np.arange(30).reshape(5, 6) == 7)
    with pytest.raises(kt.errors.InputError, match="some of them are masked"):
        kt.gravity_torque(kt.zoo.kuka_kr5(), q)
    whole = np.ma.masked_array(np.ones((5, 6)))
    plain = kt.gravity_torque(kt.zoo.kuka_kr5(), np.ones((5, 6)))
    assert np.array_equal(kt.gravity_torque(kt.zoo.kuka_kr5(), whole), plain)


def boom():
    """A slide on a turntable: its moment of inertia grows with the square of q."""
    robot = kt.Builder("boom")
    robot.world.revolute("table").body("disk", ROD).prismatic("slide", axis="x").body("load", ROD)
    return robot.build()


@pytest.mark.parametrize("batch", [(), (1,), (3,), (6,), (2, 3), (5000,)])
def test_overflow_of_the_mass_matrix_is_told(batch):
    q, robot = np.zeros((*batch, 2)), boom()
    for _ in range(2):  # the second time straight through compiled code
        assert np.isfinite(kt.mass_matrix(robot, q)).all()
        q[..., 1].flat[-1] = 1e200
        with pytest.raises(kt.errors.InputError, match="overflows"):
            kt.mass_matrix(robot, q)
        with kt.analysis.unchecked():
            assert not np.isfinite(kt.mass_matrix(robot, q)).all()
        q[...] = 0.0
