"""Lifting a box: the prediction beside statics, mirror images, other formulations, and bad input."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion.options import Search
from kinetree.motion.problem.phases import PhasedProblem
from kinetree.motion.seek import TimeBudget, seek
from kinetree.motion.terms import Boundary, PointVelocity
from kinetree.report.frames import frames
from kinetree.report.shapes import shape_faces
from kinetree.tasks import piecewise_simulation
from kinetree.tasks.lifting.checks import checked, lift_ground, limb_ends, zero_moment_point
from kinetree.tasks.lifting.cyclic import CycleSearch
from kinetree.tasks.lifting.search import LiftSearch
from kinetree.tasks.sampled import SampledMotion

MASS, HEIGHT = 75.0, 1.75


@pytest.fixture(scope="module")
def lifted():
    return kt.lifting.lift()


def test_default_lift_is_solved_and_passes_all_checks(lifted):
    assert lifted.solved and lifted.passed, str(lifted)
    expected = {
        "torques",
        "joints",
        "feet",
        "balance",
        "soles",
        "ends",
        "level",
        "floor_and_shelf",
        "limbs",
        "hands",
    }
    assert expected <= set(lifted.checks)
    assert 0.8 < lifted.prediction.duration < 2.0
    assert lifted.lifter.mechanism.mass == pytest.approx(MASS + 10.0)


def test_derivatives_of_the_problem_are_exact():
    task = kt.lifting.Lifting(points=5, back_force=900.0, knee_force=700.0, lean=80.0)
    check = kt.lifting.lifting_problem(task).check_derivatives()
    assert check.passed, str(check)


def test_ground_carries_person_and_box_and_impulse_is_that_of_the_weight(lifted):
    """From rest to rest: the mean vertical force is the weight of both; horizontally nothing is left."""
    t, force = lifted.prediction.t, lifted.ground.force.sum(axis=1)
    mean = np.trapezoid(force, t, axis=0) / t[-1]
    assert mean[2] == pytest.approx((MASS + 10.0) * 9.81, rel=2e-3)
    assert abs(mean[0]) < 2e-3 * mean[2] and abs(mean[1]) < 1e-9


def test_work_of_the_joints_is_the_rise_of_potential_energy(lifted):
    """Both ends are at rest; the ground, which does not move, does no work."""
    course, t = lifted.course, lifted.prediction.t
    rise = np.diff(kt.potential_energy(course.mechanism, course.q[[0, -1]]))[0]
    work = np.trapezoid((course.tau * course.qd).sum(axis=1), t)
    assert work == pytest.approx(rise, rel=2e-3)


def test_zero_moment_point_and_feet_are_those_of_other_formulations(lifted):
    course = lifted.course
    point = kt.analysis.zero_moment_point(course.mechanism, course.q, course.qd, course.qdd)
    assert np.allclose(zero_moment_point(course), point[..., :2], atol=1e-9)
    ground = lifted.ground
    assert np.allclose(ground.force[:, 0] * [1, -1, 1], ground.force[:, 1], atol=1e-8)
    hip = lifted.task.parts.hip
    assert np.allclose(ground.point[:, :, 1], [-hip, hip], atol=1e-6)
    tau = course.torque("right_knee"), course.torque("left_knee")
    assert np.allclose(*tau, atol=1e-8)


def test_net_force_in_the_back_is_what_is_above_it(lifted):
    """Newton: the force in the lumbar joint accelerates trunk, arms, head and box, and bears their weight."""
    course, mechanism = lifted.course, lifted.lifter.mechanism
    above, names = 0.0, {"lumbar"}
    for link in mechanism.links:
        if link.parent in names:
            names.add(link.body.name)
    moved = kt.analysis.body_accelerations(mechanism, course.q, course.qd, course.qdd)
    twists = kt.body_velocities(mechanism, course.q, course.qd)
    for name in names:
        body, k = mechanism.link(name).body.inertia, mechanism.body_index(name)
        r = course.poses[name][0] @ body.center
        w, a = twists[:, k, 3:], moved[:, k]
        center = a[:, :3] + np.cross(a[:, 3:], r) + np.cross(w, np.cross(w, r))
        above = above + body.mass * (center - mechanism.gravity)
    assert np.allclose(np.linalg.norm(above, axis=1), lifted.joint_forces["back"], rtol=1e-9)


def test_heavier_boxes_and_higher_shelves_cost_more_and_load_the_back_more():
    found = [kt.lifting.lift(box=box, tolerance=1e-2) for box in (2.0, 10.0, 18.0)]
    assert all(x.solved for x in found)
    cost = [x.prediction.objective for x in found]
    back = [x.joint_forces["back"].max() for x in found]
    assert cost == sorted(cost) and back == sorted(back)


def test_a_heavy_box_does_not_pass_through_the_upper_trunk():
    """Weak shoulders would bring 20 kg up to 1.2 m through chest and neck."""
    found = kt.lifting.lift(box=20.0, shelf=1.2)
    assert found.passed, str(found)
    places, box = limb_ends(found.lifter, found.course), found.course.poses["box"]
    low = box[1][:, [0, 2]] - [0.15, 0.15]
    for share in np.linspace(0.0, 1.0, 7):
        point = ((1.0 - share) * places["chest"] + share * places["neck"])[:, [0, 2]]
        inside = ((point > low) & (point < low + 0.3)).all(axis=1)
        assert not inside.any(), f"{share:.2f} of the way from chest to neck at {np.flatnonzero(inside)}"


def test_a_box_near_the_limit_of_strength_is_lifted_on_a_finer_mesh():
    """25 kg: shoulders and back are at their limits where the box is set down."""
    found = kt.lifting.lift(box=25.0, points=16)
    assert found.passed and found.lifter.task.points > 16, str(found)
    course = found.course
    used = course.torque("lumbar.flexion").min() / found.lifter.torques["lumbar.flexion"][0]
    assert used > 0.99
    point = kt.analysis.zero_moment_point(course.mechanism, course.q, course.qd, course.qdd)[:, 0]
    assert point.max() < found.lifter.support[:, 0].max() + 2e-3


def test_samples_are_added_where_balance_is_lost_between_the_others():
    """On a mesh that is not refined any further."""

    class OneMesh(LiftSearch):
        def finer(self, attempts):
            return None

    who = kt.lifting.lifter(kt.lifting.Lifting(box=23.0))
    search = Search(tolerance=1e-3, solver="interior", max_iterations=150)
    problem = kt.lifting.lifting_problem(who.task, who)
    coarse = kt.predict(problem, tolerance=1e-3, between=None, solver="interior", max_iterations=150)
    assert coarse.solved_at_samples and not checked(who, coarse)["balance"].passed
    tight = seek(OneMesh(who), search, coarse).attempt
    assert tight.passed, {k: str(x) for k, x in tight.checks.items()}
    assert tight.prediction.objective > coarse.objective  # more conditions cost more
    assert len(tight.problem.setting.samples) > len(problem.setting.samples)


def test_limits_of_joint_forces_are_kept(lifted):
    most = lifted.joint_forces["back"].max()
    spared = kt.lifting.lift(back_force=0.9 * most, knee_force=500.0)
    assert spared.passed, str(spared)
    assert spared.joint_forces["back"].max() < 0.91 * most
    assert spared.prediction.objective > lifted.prediction.objective


def test_one_hand_is_solved_and_its_mirror_image_has_mirrored_torques():
    """The left hand lifts as the right one does in a mirror, though the tree is rooted at the right foot."""
    right, left = (
        kt.lifting.lift(hand=hand, box=6.0, shelf=0.8, duration=1.3, points=8) for hand in ("right", "left")
    )
    assert right.passed and left.passed, f"{right}\n{left}"
    assert right.prediction.objective == pytest.approx(left.prediction.objective, rel=2e-3)
    own, other = (x.course.torque(f"{x.task.hand}_elbow.flexion") for x in (right, left))
    assert np.abs(own - other).max() < 0.05 * np.abs(own).max()


def test_from_the_side_both_hands_stay_on_the_box_and_mirror_images_cost_the_same():
    """The tree is rooted at the right foot and the right hand carries the box; neither may matter."""
    left, right = (
        kt.lifting.lift(beside=x, points=8, duration=1.3, box=3.0, shelf=0.7) for x in (45.0, -45.0)
    )
    assert left.passed and right.passed, f"{left}\n{right}"
    assert left.prediction.objective == pytest.approx(right.prediction.objective, rel=2e-3)
    own, other = left.course.torque("left_elbow.flexion"), right.course.torque("right_elbow.flexion")
    assert np.abs(own - other).max() < 0.05 * np.abs(own).max()
    R, p = left.course.poses["box"]
    d = left.task.parts.shoulder
    across = np.degrees(np.arctan2(-R[[0, -1], 0, 1], R[[0, -1], 1, 1]))  # from hand to hand, seen from above
    assert across == pytest.approx([45.0, 0.0], abs=0.1)
    hold = left.course.poses["left_forearm"]
    hand = hold[1] + hold[0] @ left.lifter.left_hold
    assert np.allclose(np.linalg.norm(hand - p, axis=1), 2.0 * d, atol=1e-3)


def test_a_way_back_with_empty_hands_is_periodic_and_costs_less_than_with_rests(lifted):
    found = kt.lifting.cycle(lifted, "return")
    assert found.passed, str(found)
    up, down = found.prediction.parts
    for name in ("q", "qd", "qdd"):
        first, last = getattr(up, name)[0], getattr(down, name)[-1]
        assert np.allclose(first, last, atol=1e-3), name
    assert np.abs(up.qd[0]).max() > 0.05  # the body does not stand still
    seeking = CycleSearch(lifted, "return")
    phases = seeking.problem(found.ways)
    first, last = phases.problems
    moving = [x for x in found.ways[0].joints if not x.startswith("left")]
    still = [Boundary(end, velocity=dict.fromkeys(moving, 0.0)) for end in ("start", "end")]
    others = [
        x for x in first.constraints if not isinstance(x, PointVelocity)
    ]  # the box rests with the joints
    rests = PhasedProblem(
        [first.changed(constraints=[*others, *still]), last], phases.junctions, cycle=phases.cycle
    )
    slower = kt.motion.predict_phases(
        rests, start=next(seeking.starts(rests, [], TimeBudget(Search()))), tolerance=1e-3
    )
    assert slower.solved_at_samples and found.prediction.objective < 0.998 * slower.objective
    weight = [75.0 + 10.0, 75.0]
    each = zip(found.ways, found.courses, found.prediction.parts, weight, strict=True)
    for who, course, part, mass in each:
        force = lift_ground(who, course).force.sum(axis=1)
        point = kt.center_of_mass(course.mechanism, part.q)
        # momentum gained between the ends, by velocities of the centre of mass apart from dynamics
        v = np.gradient(point, part.t, axis=0, edge_order=2)[[0, -1]]
        gained = np.trapezoid(force + mass * course.mechanism.gravity, part.t, axis=0)
        assert np.allclose(gained, mass * (v[1] - v[0]), atol=0.02 * mass)
    twice = found.to_result(2)
    assert float(twice.time.values[-1]) == pytest.approx(2.0 * found.prediction.duration)
    assert twice.passed and set(twice["phase"].values.tolist()) == {1, 2}


def test_with_the_box_in_the_hands_the_cheapest_way_down_is_the_way_up_run_backwards(lifted):
    found = kt.lifting.cycle(lifted, "lower")
    assert found.passed, str(found)
    up, down = found.prediction.parts
    s = np.linspace(0.0, 1.0, 21)
    ways = up.at(s * up.duration)[0], down.at((1.0 - s) * down.duration)[0]
    assert np.abs(ways[0] - ways[1]).max() < 2e-3
    assert found.prediction.objective == pytest.approx(2.0 * lifted.prediction.objective, rel=1e-3)


@pytest.mark.parametrize(
    ("given", "back", "message"),
    [
        (None, "lower", "needs a Lift"),
        ("lift", "down", "unknown way back 'down'"),
        ("hand", "lower", "symmetric"),
    ],
)
def test_bad_cycles_are_refused(lifted, given, back, message):
    from dataclasses import replace

    one_hand = replace(lifted, lifter=replace(lifted.lifter, task=lifted.task.changed(hand="right")))
    with pytest.raises(kt.errors.InputError, match=message):
        kt.lifting.cycle({"lift": lifted, "hand": one_hand}.get(given), back)
    with pytest.raises(kt.errors.InputError, match="repetitions"):
        kt.lifting.cycle(lifted).to_result(0)


def test_whole_time_of_repetitions_and_torques_on_the_way_down(lifted):
    result = kt.lifting.repeat(lifted, 2, rest=0.25)
    T = lifted.prediction.duration
    assert float(result.time.values[-1]) == pytest.approx(3 * T + 2 * 0.25)
    q, qd, qdd = (np.asarray(result[name].values) for name in ("q", "qd", "qdd"))
    force = np.asarray(result["ground_reaction"].values).sum(axis=1)
    rate = kt.center_of_mass(result.mechanism, q)[:, 2]
    assert rate[0] == pytest.approx(rate[-1] - (rate[len(lifted.prediction.t) - 1] - rate[0]))
    down = slice(len(lifted.prediction.t), 2 * len(lifted.prediction.t))
    loads = [
        kt.Wrench(name, result["ground_reaction"].values[down, k], 0.0 * force[down])
        for k, name in enumerate(("right_foot", "left_foot"))
    ]
    place = kt.forward_kinematics(result.mechanism, q[down])
    for k, name in enumerate(("right_foot", "left_foot")):
        point, own = result["ground_reaction_point"].values[down, k], place[name][1]
        turn = result["ground_reaction_moment"].values[down, k] + np.cross(point - own, loads[k].force)
        loads[k] = kt.Wrench(name, loads[k].force, turn)
    tau = kt.inverse_dynamics(result.mechanism, q[down], qd[down], qdd[down], loads)
    assert np.abs(tau - result.tau.values[down]).max() < 1e-6
    with pytest.raises(kt.errors.InputError, match="repetitions"):
        kt.lifting.repeat(lifted, 0)


def test_simulation_check_sees_wrong_torques(lifted):
    """A piece of the forward simulation, and that it strays under torques of another box."""
    heavier = kt.lifting.lifter(lifted.task.changed(box=11.0))
    course = SampledMotion(lifted.prediction, np.array([0.5]))
    names = [x for x in lifted.lifter.person.joint_names if x not in kt.zoo.human().joint_names[:6]]
    heel = next(x.position for x in heavier.person.contact_points if x.name == "right_heel")

    def forces(s):
        there = SampledMotion(lifted.prediction, s)
        right, left = there.evaluation.pushes
        loads = [kt.Wrench(right.body, right.force, right.moment, point=heel), left]
        return {name: there.torque(name) for name in names}, loads

    T = lifted.prediction.duration
    strays = [
        piecewise_simulation._strays(lifted.prediction, person, forces, 0.5 * T, 0.5 * T + 0.01)
        for person in (lifted.lifter.person, heavier.person)
    ]
    assert course.tau.shape[0] == 1 and strays[0] < 1e-8 < 1e-5 < strays[1]


def test_result_has_forces_audit_and_is_loaded_again(lifted, tmp_path):
    result = lifted.to_result()
    assert result.passed and "balance" in result.audit
    result.save(tmp_path / "lift.nc")
    again = kt.load_result(tmp_path / "lift.nc")
    assert again["lifting_force"].dims == ("time", "lifting_joint")
    assert [str(x) for x in again["lifting_joint"].values] == ["back", "right_knee", "left_knee"]
    (shelf,) = frames(again).ground.blocks(np.zeros((1, 3)), 5.0)
    R, p = kt.forward_kinematics(again.mechanism, again.q.values[-1])["box"]
    box = next(link.body for link in again.mechanism.links if link.body.name == "box").shapes[0]
    corners = np.concatenate(shape_faces(box)) @ R.T + p
    top = shelf.placement.position + 0.5 * shelf.size
    assert corners[:, 2].min() == pytest.approx(top[2], abs=2e-3)  # it stands on what is drawn
    assert corners[:, 0].max() < top[0] and corners[:, 1].max() < top[1]
    with pytest.raises(kt.errors.InputError, match="gait"):
        kt.gait_analysis.gait_cycle(again)


def test_measured_squat_is_in_the_range_of_a_squatting_lift():
    """Hip, knee and ankle of who may not stoop bend as far as those of ten people who squat without a box."""
    squat = kt.gait_analysis.measured_squat()
    found = kt.lifting.lift(box=1.0, lean=60.0, shelf=0.7)
    assert found.passed, str(found)
    q = np.degrees(found.prediction.q)
    for joint, name in (("knee", "knee_flexion"), ("hip.flexion", "hip_flexion")):
        mine = q[:, found.lifter.mechanism.joint_index(f"right_{joint}")].max()
        mean, deviation = squat[f"{name}_deg_mean"].max(), squat[f"{name}_deg_sd"].max()
        assert abs(mine - mean) < 2.0 * deviation + 10.0, f"{joint} {mine:.0f}, measured {mean:.0f}"


def test_score_beside_squats_has_ranges_and_moments_of_the_motion_itself(lifted, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from kinetree.cli import app

    monkeypatch.chdir(tmp_path)
    score = kt.lifting.squat_score(lifted.to_result())
    hip = score["hip_flexion"]
    q = np.degrees(lifted.course.q[:, lifted.lifter.mechanism.joint_index("left_hip.flexion")])
    assert (hip.least, hip.largest) == pytest.approx((q.min(), q.max()), abs=1e-6)
    assert (hip.least_measured, hip.largest_measured, hip.sd) == pytest.approx(
        (17.916, 106.77, 6.454), abs=1e-3
    )
    assert hip.away == pytest.approx((hip.largest - 106.77) / 6.454, abs=1e-3)
    weight = score["ground_force"]
    assert 0.8 < weight.least < (MASS + 10.0) / MASS < weight.largest  # it accelerates person and box
    assert score.forces["back"] == pytest.approx(lifted.joint_forces["back"].max())
    lifted.to_result().save("lift.nc")
    for command in (["validate", "lift", "lift.nc"], ["validate", "lift", "lift.nc", "--output", "lift.csv"]):
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0 and "knee flexion" in done.output, done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lift.csv", "lift.nc"]
    assert (tmp_path / "lift.csv").read_text().splitlines()[1].startswith("hip_flexion,")
    with pytest.raises(kt.errors.InputError, match="needs a result of lifting"):
        kt.lifting.squat_score(kt.run("two_link_minimum_time"))
    with pytest.raises(kt.errors.InputError, match="has no 'toe'"):
        score["toe"]


def test_what_cannot_be_lifted_names_what_stands_in_the_way():
    found = kt.lifting.lift(box=45.0, solver="interior", max_iterations=60)
    assert not found.solved and not found.passed
    assert any("torque limit" in line and "lumbar" in line for line in found.conflicts), found.conflicts


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"box": -1.0}, "box must be 0 or more, got -1"),
        ({"box": 200.0}, "it cannot be lifted"),
        ({"hand": "foot"}, "unknown hand 'foot'"),
        ({"shelf": 2.5}, "out of reach"),
        ({"shelf": -0.1}, "shelf must be 0 or more"),
        ({"edge": 2.0}, "out of reach"),
        ({"edge": 0.1}, "stand under the shelf"),
        ({"depth": 0.0}, "depth must be positive"),
        ({"box": float("nan")}, "must be finite"),
        ({"box": "heavy"}, "box"),
        ({"weight": 3.0}, "unknown setting 'weight'"),
        ({"duration": -1.0}, "duration must be positive"),
        ({"points": 2}, "points must be from 5 to 60"),
        ({"points": 8.5}, "integer"),
        ({"inside": 1.5}, "inside must be"),
        ({"strength": {"knees": 1.0}}, "unknown joint"),
        ({"strength": {"knee": -1.0}}, "must be positive"),
        ({"time": 0.0, "effort": 0.0}, "nothing to minimize"),
        ({"sex": "robot"}, "unknown sex"),
        ({"beside": 120.0}, "beside must be from -90 to 90"),
        ({"beside": 30.0, "hand": "left"}, "beside is for both hands"),
    ],
)
def test_bad_input_is_refused_before_any_search(changes, message):
    with pytest.raises(kt.errors.InputError, match=message):
        kt.lifting.lift(**changes)


def test_bad_task_is_refused():
    with pytest.raises(kt.errors.InputError, match="needs a Lifting"):
        kt.lifting.lift("box")
    with pytest.raises(kt.errors.InputError, match="simulated"):
        kt.lifting.lift(simulated=1)
