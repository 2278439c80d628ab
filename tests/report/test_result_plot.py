"""Plots of results: the right lines, names, units and events in the right axes."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

import kinetree as kt
from kinetree.errors import InputError
from kinetree.model import zoo
from kinetree.report.panel import MOST_LABELS
from kinetree.report.result_plot import plot_comparison, plot_result, result_panels
from kinetree.result.build import build_result
from kinetree.study.run import run
from support.results import small_motion, small_result


def simulated(mechanism, rng, k=9, **more):
    """A simulation with torques, energies and, where there are contact points, forces."""
    motion = small_motion(mechanism, rng, k)
    motion["tau"] = rng.standard_normal(motion["q"].shape)
    for name in ("kinetic_energy", "potential_energy", "actuator_work", "energy_error"):
        motion[name] = rng.standard_normal(k)
    if mechanism.contact_points:
        motion["contact_force"] = rng.standard_normal((k, len(mechanism.contact_points), 3))
    return build_result("simulate", mechanism, motion, **more)


def lines(ax):
    """The lines of data, without those of zero and events."""
    return [line for line in ax.lines if line.get_gid() not in ("zero", "event")]


def labels(ax):
    legend = ax.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def y_labels(figure):
    return [ax.get_ylabel() for ax in figure.axes]


def test_usual_picture_of_an_arm(rng):
    result = simulated(zoo.gripper(), rng)
    figure = result.plot()
    assert isinstance(figure, Figure)
    assert y_labels(figure) == ["q / rad", "qd / (rad/s)", "tau / (N m)", "energy / J", "energy_error / J"]
    assert [len(lines(ax)) for ax in figure.axes] == [4, 4, 4, 3, 1]
    assert labels(figure.axes[0]) == list(result.mechanism.joint_names)
    assert labels(figure.axes[3]) == ["kinetic energy", "potential energy", "actuator work"]
    assert labels(figure.axes[4]) == []
    for k, line in enumerate(lines(figure.axes[2])):
        assert line.get_xdata().tobytes() == result.time.values.tobytes()
        assert line.get_ydata().tobytes() == result.tau.values[:, k].tobytes()
    assert figure.axes[-1].get_xlabel() == "time / s" and figure.axes[0].get_xlabel() == ""
    assert figure.axes[0].get_xlim() == (0.0, 1.0)
    assert figure.get_suptitle() == "gripper: simulate"


def test_usual_picture_of_a_walking_robot(rng):
    result = simulated(zoo.quadruped(), rng)
    figure = result.plot()
    motion = ["q / m", "q / rad", "qd / (m/s)", "qd / (rad/s)", "tau / N", "tau / (N m)"]
    assert y_labels(figure) == [*motion, "energy / J", "energy_error / J", "contact force / N"]
    assert [len(lines(ax)) for ax in figure.axes][:-1] == [3, 15, 3, 15, 3, 15, 3, 1]
    sizes = np.sqrt((result.contact_force.values**2).sum(axis=-1))
    drawn = np.column_stack([line.get_ydata() for line in lines(figure.axes[-1])])
    touched = sizes.max(axis=0) > 0.0  # others are left out
    np.testing.assert_allclose(drawn, sizes[:, touched], rtol=1e-14)
    assert labels(figure.axes[-1]) == result.contact.values[touched].tolist()


def test_energies_start_from_zero(rng):
    result = simulated(zoo.gripper(), rng)
    kinetic, potential, work = (line.get_ydata() for line in lines(result.plot().axes[3]))
    assert kinetic[0] == 0.0 and potential[0] == 0.0
    np.testing.assert_array_equal(
        potential, result.potential_energy.values - result.potential_energy.values[0]
    )
    np.testing.assert_array_equal(work, result.actuator_work.values)


def test_chosen_variables_and_joints(rng):
    result = simulated(zoo.gripper(), rng)
    figure = result.plot("q", "tau", joints=["joint4", "joint2"])
    assert y_labels(figure) == ["q / rad", "tau / (N m)"]
    assert labels(figure.axes[1]) == ["joint4", "joint2"]
    assert lines(figure.axes[0])[0].get_ydata().tobytes() == result.q.values[:, 3].tobytes()


def test_forces_and_moments_of_reactions_are_apart(rng):
    mechanism = zoo.two_link()
    motion = small_motion(mechanism, rng) | {"reaction": rng.standard_normal((5, 2, 6))}
    figure = build_result("simulate", mechanism, motion).plot("reaction")
    assert y_labels(figure) == ["reaction / N", "reaction / (N m)"]
    first, second = mechanism.body_names
    assert labels(figure.axes[0]) == [f"{body}.f{axis}" for body in (first, second) for axis in "xyz"]


def test_other_tasks_show_accelerations(rng):
    mechanism = zoo.two_link()
    motion = small_motion(mechanism, rng)
    motion |= {"qdd": motion["q"], "tau": motion["qd"]}
    figure = build_result("inverse", mechanism, motion).plot()
    assert y_labels(figure) == ["q / rad", "qd / (rad/s)", "qdd / (rad/s^2)", "tau / (N m)"]


def test_own_task_shows_all_there_is():
    found = {"time": [0.0, 1.0], "height": ("time", [1.0, 2.0], "m", "height of the hand")}
    found["phase"] = ("time", ["swing", "stance"], "", "part of the step")
    figure = build_result("measure", zoo.two_link(), found).plot()
    assert y_labels(figure) == ["height / m"]
    assert figure.axes[0].get_title(loc="left") == "height of the hand"


def test_events_are_thin_lines_in_all_axes(rng):
    events = [(0.25, "touchdown", "foot1"), (0.5, "lift-off", "foot1")]
    figure = simulated(zoo.quadruped(), rng, events=events).plot()
    for ax in figure.axes:
        marks = [line for line in ax.lines if line.get_gid() == "event"]
        assert [line.get_xdata()[0] for line in marks] == [0.25, 0.5]
        assert all(line.get_linewidth() < 1 for line in marks)
    assert [text.get_text().strip() for text in figure.axes[0].texts] == ["touchdown foot1", "lift-off foot1"]
    assert len(figure.axes[1].texts) == 0


def test_many_events_are_not_named(rng):
    events = [(0.01 * k, "touchdown", "foot1") for k in range(50)]
    figure = simulated(zoo.quadruped(), rng, events=events).plot("q")
    assert len([line for line in figure.axes[0].lines if line.get_gid() == "event"]) == 50
    assert len(figure.axes[0].texts) == 0


def test_an_early_end_is_in_the_headline(rng):
    figure = small_result(zoo.two_link(), rng, stopped_at=0.5, stop_reason="diverged").plot()
    assert figure.get_suptitle() == "two_link: simulate, stopped at 0.5 s: diverged"


@pytest.mark.parametrize(
    "name", ["two_link_prismatic", "robotic_leg", "spatial_biped", "humanoid", "random_tree"]
)
def test_small_and_large_mechanisms_are_drawn(name, rng):
    """Nothing collapses and nothing warns, however many joints there are."""
    figure = simulated(zoo.by_name(name), rng).plot("q")
    figure.set_dpi(40)
    figure.canvas.draw()
    n = zoo.by_name(name).n_dof
    assert sum(len(lines(ax)) for ax in figure.axes) == n
    assert all(ax.get_position().width > 0.4 for ax in figure.axes)
    assert all(len(labels(ax)) == min(len(lines(ax)), MOST_LABELS) for ax in figure.axes)


def test_a_single_sample_is_a_dot(rng):
    figure = simulated(zoo.gripper(), rng, 1).plot()
    figure.canvas.draw()
    assert all(line.get_marker() == "o" for ax in figure.axes for line in lines(ax))


def test_missing_entries_leave_gaps():
    values = [1.0, np.nan, 2.0]
    found = {"time": [0, 1, 2], "height": ("time", values, "m", "height", True)}
    ax = build_result("measure", zoo.two_link(), found).plot("height").axes[0]
    assert np.isnan(lines(ax)[0].get_ydata()[1])


def test_names_that_look_like_formulas(rng):
    arm = kt.Mechanism(
        "a$b$",
        (kt.model.Link(kt.Body("b", kt.Inertia.point(1, (0, 0, 1))), kt.Joint.of_kind("_$x^$", "revolute")),),
    )
    figure = small_result(arm, rng).plot()
    figure.canvas.draw()
    assert labels(figure.axes[0]) == [" _$x^$"]


def test_axes_of_ones_own(rng):
    figure, result = Figure(), simulated(zoo.gripper(), rng)
    ax = figure.add_subplot()
    assert result.plot("qd", ax=ax) is figure
    assert len(lines(ax)) == 4 and ax.get_xlabel() == "time / s"
    with pytest.raises(InputError, match=r"ax takes one panel, but 2 are needed: q / rad, qd / rad/s"):
        result.plot("q", "qd", ax=ax)
    with pytest.raises(InputError, match="must be matplotlib axes"):
        result.plot("q", ax=3)


def test_showing_opens_a_pyplot_figure(rng, monkeypatch):
    from matplotlib import pyplot

    shown = []
    monkeypatch.setattr(pyplot, "show", lambda: shown.append(True))
    figure = simulated(zoo.gripper(), rng).plot("q", show=True)
    assert shown == [True] and pyplot.fignum_exists(figure.number)
    pyplot.close(figure)


@pytest.mark.parametrize(
    ("names", "more", "said"),
    [
        (("taw",), {}, r"unknown variable of the simulate result 'taw'.*Did you mean 'tau'"),
        (("joint",), {}, r"unknown variable"),
        (("event_time",), {}, r"unknown variable"),
        (("q",), {"joints": ["joint9"]}, r"unknown joint 'joint9'"),
        (("q",), {"joints": "joint1"}, r"list of names, got the text 'joint1'"),
        (("largest",), {}, r"'largest' .* is not a number over time"),
    ],
)
def test_bad_choices_are_named(names, more, said, rng):
    mechanism = zoo.gripper()
    motion = small_motion(mechanism, rng) | {"tau": np.zeros((5, 4)), "largest": ((), 1.0, "m", "largest")}
    result = build_result("simulate", mechanism, motion, events=[(0.0, "a", "b")])
    with pytest.raises(InputError, match=said):
        result.plot(*names, **more)


# ---- two results ----------------------------------------------------------------------------------------


def test_comparison_draws_both_in_the_same_axes(rng):
    first, second = simulated(zoo.gripper(), rng), simulated(zoo.gripper(), rng, 5)
    figure = plot_comparison(first, second, ["q", "tau"], labels=("coarse", "fine"))
    assert y_labels(figure) == ["q / rad", "tau / (N m)"]
    drawn = lines(figure.axes[1])
    assert len(drawn) == 8
    for k in range(4):
        assert drawn[k].get_ydata().tobytes() == first.tau.values[:, k].tobytes()
        assert drawn[4 + k].get_ydata().tobytes() == second.tau.values[:, k].tobytes()
        assert drawn[k].get_color() == drawn[4 + k].get_color()
        assert drawn[k].get_linewidth() > drawn[4 + k].get_linewidth()
    assert labels(figure.axes[0]) == list(zoo.gripper().joint_names)
    assert figure.get_suptitle() == "gripper: coarse (broad) and fine (thin)"


def test_comparison_without_names_shows_what_both_have(rng):
    figure = plot_comparison(simulated(zoo.gripper(), rng), small_result(zoo.gripper(), rng))
    assert y_labels(figure) == ["q / rad", "qd / (rad/s)"]
    whole = plot_comparison(simulated(zoo.quadruped(), rng), simulated(zoo.quadruped(), rng))
    assert len(whole.axes) == len(plot_result(simulated(zoo.quadruped(), rng)).axes)


def test_comparison_of_different_things(rng):
    arm, robot = simulated(zoo.gripper(), rng), simulated(zoo.quadruped(), rng)
    with pytest.raises(
        InputError, match=r"same labels and units in both, got q of joint1.* and q of base\.tx"
    ):
        plot_comparison(arm, robot, ["q"])
    with pytest.raises(InputError, match="unknown variable"):
        plot_comparison(arm, small_result(zoo.gripper(), rng), ["tau"])
    bare = build_result("measure", zoo.gripper(), {"time": [0.0], "x": ("time", [1.0], "m", "x")})
    with pytest.raises(InputError, match="nothing in common"):
        plot_comparison(arm, bare)


def test_results_load_the_large_libraries_late():
    """The doors to plots and files open when they are used."""
    large = ("matplotlib", "xarray", "pandas", "h5py", "h5netcdf")
    code = "import sys, kinetree.result.netcdf; print([name for name in sys.argv[1:] if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code, *large], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_cases_have_the_colours_of_their_joints_and_dashes_of_their_own():
    result = run("gripper_two_ways", study={"duration": 0.1}, output={"samples": 11})
    (panel,) = result_panels(result, ["q"])
    assert [line.look for line in panel.lines] == [(k % 4, k // 4) for k in range(8)]
    lines = [line for line in result.plot("q").axes[0].get_lines() if line.get_gid() != "zero"]
    assert [line.get_color() for line in lines[:4]] == [line.get_color() for line in lines[4:]]
    assert (
        {line.get_linestyle() for line in lines[:4]} == {"-"} != {line.get_linestyle() for line in lines[4:]}
    )


def test_forces_of_a_base_that_nothing_drives_are_no_panel():
    result = run("planar_biped_walk", study={"duration": 0.1}, output={"samples": 11})
    assert [panel.unit for panel in result_panels(result, ["tau"])] == ["N m"]
    assert [panel.unit for panel in result_panels(result, ["q"])] == ["m", "rad"]


def test_many_powers_of_ten_are_drawn_on_a_logarithmic_axis_and_a_plain_number_has_no_unit():
    motion = {"time": np.linspace(0, 1, 50), "q": np.zeros((50, 2)), "qd": np.zeros((50, 2))}
    motion["growth"] = (("time",), np.logspace(0, 9, 50), "1", "how errors grow")
    (ax,) = build_result("simulate", zoo.two_link(), motion).plot("growth").axes
    assert ax.get_yscale() == "log" and ax.get_ylabel() == "growth"


def test_joints_choose_what_they_transmit(rng):
    arm = zoo.gripper()
    motion = small_motion(arm, rng, 5)
    motion["reaction"] = rng.standard_normal((5, arm.n_bodies, 6))
    motion["qdd"] = motion["tau"] = np.zeros((5, 4))
    result = build_result("inverse", arm, motion)
    link = arm.links[1]
    panels = result_panels(result, ["reaction"], [link.joint.dof_names[0]])
    shown = [line.label for panel in panels for line in panel.lines]
    assert len(shown) == 6 and all(label.startswith(link.body.name) for label in shown)


def with_many_points(rng):
    """A simulation of a robot with ten contact points on two feet and on its trunk, which never touches."""
    robot = zoo.quadruped()
    bodies = ("shank1", "shank2", "trunk")
    points = [
        kt.ContactPoint(f"{body}_{k}", body, (0.0, 0.01 * k, 0.0)) for body in bodies for k in range(10)
    ]
    robot = replace(robot, contact_points=tuple(points))
    motion = small_motion(robot, rng, 5)
    motion["contact_force"] = rng.standard_normal((5, 30, 3))
    motion["contact_force"][:, 20:] = 0.0
    motion["ground_force"] = np.zeros((5, robot.n_bodies, 3))
    for k, point in enumerate(points):
        motion["ground_force"][:, robot.body_names.index(point.body)] += motion["contact_force"][:, k]
    return build_result("simulate", robot, motion)


def test_forces_on_many_contact_points_are_drawn_by_body(rng):
    result = with_many_points(rng)
    panel = result_panels(result)[-1]
    assert [line.label for line in panel.lines] == ["shank1", "shank2"]
    size = np.linalg.norm(result.contact_force.values[:, :10].sum(axis=1), axis=-1)
    np.testing.assert_allclose(panel.lines[0].values, size)
    (panel,) = result_panels(result, ["ground_force"])
    assert [line.label for line in panel.lines] == [f"shank{k}.{axis}" for k in (1, 2) for axis in "xyz"]
    assert len({line.look[0] for line in panel.lines}) == 2 and len({x.look[1] for x in panel.lines}) == 3


def test_bodies_choose_forces(rng):
    result = with_many_points(rng)
    (panel,) = result_panels(result, ["ground_force"], bodies=["shank2"])
    assert [line.label for line in panel.lines] == ["shank2.x", "shank2.y", "shank2.z"]
    (panel,) = result_panels(result, ["contact_force"], bodies=["shank2"])
    assert len(panel.lines) == 30 and all(line.label.startswith("shank2_") for line in panel.lines)
    with pytest.raises(InputError, match="Did you mean 'shank2'"):
        result_panels(result, ["ground_force"], bodies=["shankk2"])
    with pytest.raises(InputError, match="must be a list"):
        result_panels(result, ["ground_force"], bodies="shank2")


def test_simulations_have_the_ground_force_of_each_body():
    result = run("quadruped_fall", study={"duration": 0.3}, output={"samples": 31})
    force, points = result.contact_force.values, result.mechanism.contact_points
    assert force.any()
    for k, body in enumerate(result.mechanism.body_names):
        own = [n for n, point in enumerate(points) if point.body == body]
        np.testing.assert_allclose(result.ground_force.values[:, k], force[:, own].sum(axis=1))


def test_the_legend_of_cases_has_joints_and_cases_once():
    result = run("gripper_two_ways", study={"duration": 0.1}, output={"samples": 11})
    names = [*result["case"].values.tolist(), *result.mechanism.joint_names]
    assert labels(result.plot("q").axes[0]) == names
    assert len(lines(result.plot("q").axes[0])) == 8


def test_the_error_of_a_law_is_drawn():
    result = run("quadruped_laws", study={"duration": 0.1}, output={"samples": 11})
    panels = {panel.symbol: panel for panel in result_panels(result)}
    error = result.q.values - result.q_reference.values
    drawn = np.stack([line.values for line in panels["q_error"].lines], axis=-1)
    assert drawn.shape[-1] < error[0].size  # those in rad, of all cases
    assert np.nanmax(np.abs(drawn)) <= np.nanmax(np.abs(error)) * (1 + 1e-12)


def test_legends_leave_the_picture_to_the_curves(rng):
    """However long the names are, the axes take at least half of the width."""
    joints = [f"left_front_leg_upper_shoulder_pitch_joint_number_{k}" for k in range(4)]
    arm = zoo.gripper()
    links = [replace(x, joint=replace(x.joint, name=n)) for x, n in zip(arm.links, joints, strict=True)]
    figure = small_result(replace(arm, links=tuple(links)), rng).plot("q")
    figure.canvas.draw()
    assert figure.axes[0].get_position().width > 0.5


def test_many_events_are_pale(rng):
    few, many = ([(0.9 * k / n, "touch_down", "toe") for k in range(n)] for n in (3, 300))
    opacity = []
    for events in (few, many):
        ax = small_result(zoo.two_link(), rng, events=events).plot("q").axes[0]
        opacity.append(next(x.get_alpha() for x in ax.lines if x.get_gid() == "event"))
    assert opacity[0] > 5 * opacity[1] > 0.0


def test_names_of_events_do_not_cover_one_another(rng):
    times = [0.0, 0.001, 0.002, 0.5, 0.501, 0.8]
    events = [(t, "touch_down", f"foot{k}") for k, t in enumerate(times)]
    ax = simulated(zoo.gripper(), rng, events=events).plot("q").axes[0]
    written = [text.get_text().strip() for text in ax.texts if "foot" in text.get_text()]
    assert written == ["touch_down foot0", "touch_down foot3", "touch_down foot5"]
    assert len([line for line in ax.lines if line.get_gid() == "event"]) == len(times)
