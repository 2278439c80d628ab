"""What the viewer shows and does, asked of its panels."""

import time
import urllib.request
from dataclasses import replace
from html import escape
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from kinetree.algebra.rotation_vector import quaternion
from kinetree.report.frames import frames
from kinetree.viewer.pose_panel import SLIDERS
from kinetree.viewer.run_panel import FREE, HOLD, HOLD_WITH_GRAVITY, OWN, Request, run_request
from kinetree.viewer.subject import subject_of
from support.names import nasty


def opened(shown, **options):
    return kt.view(shown, port=0, open_browser=False, wait=False, **options)


@pytest.fixture(scope="module")
def viewer():
    with opened("gripper") as page:
        yield page


@pytest.fixture(scope="module")
def fall():
    return kt.simulate(kt.zoo.gripper(), [-1.0, 0, 0, 0], duration=0.4, times=41, reactions=True)


@pytest.fixture(scope="module")
def film(fall):
    with opened(fall, play=False) as page:
        yield page


def press(button):
    """What a click on the page does."""
    for callback in button._impl.update_cb:
        callback(type("Event", (), {"client": None, "target": button})())


def waited(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def shown_places(page):
    return np.array([frame.position for frame in page.stage._bodies])


def shown_turns(page):
    return np.array([frame.wxyz for frame in page.stage._bodies])


# ---- the pose ------------------------------------------------------------------------------------------


def test_the_page_is_served(viewer):
    with urllib.request.urlopen(viewer.url) as answer:
        assert answer.status == 200 and b"<html" in answer.read(10_000).lower()


def test_every_joint_has_a_slider(viewer):
    viewer.open("gripper")
    assert [slider.label for slider in viewer.pose.sliders] == [f"joint{k} (rad)" for k in (1, 2, 3, 4)]
    assert all(slider.min == pytest.approx(-np.pi) for slider in viewer.pose.sliders)


def test_sliders_move_the_bodies_and_tell_the_torques(viewer, rng):
    viewer.open("gripper")
    arm, q = kt.zoo.gripper(), rng.uniform(-1.5, 1.5, 4)
    for slider, value in zip(viewer.pose.sliders, q, strict=True):
        slider.value = float(value)
    poses = kt.forward_kinematics(arm, q)
    np.testing.assert_allclose(shown_places(viewer), poses.position, atol=1e-12)
    np.testing.assert_allclose(shown_turns(viewer), quaternion(poses.rotation), atol=1e-12)
    np.testing.assert_allclose(viewer.stage._center.position, kt.center_of_mass(arm, q), atol=1e-12)
    for torque in kt.gravity_torque(arm, q):
        assert f"{torque:.4g} N m" in viewer.values.content
    assert f"{float(kt.potential_energy(arm, q)):.5g} J" in viewer.values.content


def test_springs_end_at_their_bodies():
    build = kt.Builder("sprung")
    arm = build.world.revolute("pin", axis="y", at=(0.1, 0, 0.2), rpy=(0.3, 0.2, 0.1))
    arm = arm.body("arm", kt.Inertia.rod(1.0, end=(0.5, 0, 0)))
    build.spring("coil", "world", arm, at_a=(0, 0.4, 0), at_b=(0.5, 0.1, 0), stiffness=10.0)
    robot = build.build()
    pose = kt.forward_kinematics(robot, [0.0])
    with opened(robot) as page:
        (ends,) = page.stage._spring_lines.points
    assert np.allclose(ends[0], (0, 0.4, 0), atol=1e-6)
    assert np.allclose(ends[1], pose.position[0] + pose.rotation[0] @ (0.5, 0.1, 0), atol=1e-6)


def limited():
    """A mechanism with limits on both sides, and on one."""
    arm = kt.zoo.two_link()
    ends = [([-0.5], [0.25]), ([0.1], [np.inf])]
    joints = [
        replace(link.joint, lower=np.array(low), upper=np.array(high))
        for link, (low, high) in zip(arm.links, ends, strict=True)
    ]
    links = [replace(link, joint=joint) for link, joint in zip(arm.links, joints, strict=True)]
    return replace(arm, links=tuple(links))


def test_sliders_end_at_the_limits(viewer):
    viewer.show(subject_of(limited()))
    ends = [(slider.min, slider.max) for slider in viewer.pose.sliders]
    assert ends == [(-0.5, 0.25), (0.1, pytest.approx(0.1 + 2 * np.pi))]
    viewer.pose.sliders[0]._impl.value = 99.0  # a page may send anything
    viewer.pose.sliders[1]._impl.value = float("nan")
    assert viewer.pose.q.tolist() == [0.25, 0.1]


def test_every_mechanism_of_the_zoo_can_be_opened(viewer):
    for name in kt.zoo.ZOO:
        viewer.open(name)
        assert viewer.subject.mechanism.name == kt.zoo.by_name(name).name
        assert len(viewer.pose.sliders) == viewer.subject.mechanism.n_dof
        assert viewer.message.content == ""


def test_walkers_stand_on_the_ground(viewer):
    viewer.open("quadruped")
    robot = viewer.subject.mechanism
    q = viewer.pose.q
    assert q[2] == pytest.approx(0.6)
    viewer.pose.sliders[2].value = 0.9
    press(viewer.pose.stand_button)
    np.testing.assert_allclose(viewer.pose.q, q, atol=1e-12)
    press(viewer.pose.reset_button)
    np.testing.assert_allclose(shown_places(viewer), kt.forward_kinematics(robot, q).position, atol=1e-12)


# ---- opening -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("nowhere.toml", "no such file"),
        ("<script>alert(1)</script>.toml", "&lt;script&gt;alert(1)"),
        ("griper", "Did you mean"),
        ("nowhere.nc", "nowhere.nc"),
        ("", "give the path"),
        (".", "has no suffix"),
    ],
)
def test_what_cannot_be_opened_is_told_on_the_page(viewer, path, told):
    viewer.open("two_link")
    viewer.opening.path.value = path
    press(viewer.opening.button)
    assert told in viewer.message.content and "<script" not in viewer.message.content
    assert viewer.subject.mechanism.name == "two_link"
    press(viewer.pose.reset_button)


def test_files_are_opened_from_the_page(viewer, fall, tmp_path):
    kt.save(kt.zoo.chain(6), tmp_path / "arm.urdf")
    fall.save(tmp_path / "fall.nc")
    viewer.opening.path.value = str(tmp_path / "arm.urdf")
    press(viewer.opening.button)
    assert viewer.message.content == ""
    assert viewer.subject.mechanism.n_dof == 6 and viewer.motion is None
    viewer.opening.path.value = str(tmp_path / "fall.nc")
    press(viewer.opening.button)
    assert viewer.motion is not None and viewer.motion.result.equals(fall)
    viewer.opening.zoo.value = "hexapod"
    assert viewer.subject.mechanism.name == "hexapod" and viewer.motion is None


def test_a_public_page_touches_no_files(fall):
    with opened(fall, public=True) as page:
        assert not page.opening.path.visible and not page.opening.button._impl.update_cb
        assert not page.saving.path.visible and not page.saving.button._impl.update_cb


# ---- motions -------------------------------------------------------------------------------------------


def test_the_time_slider_shows_that_time(film, fall):
    moving = frames(fall)
    for k in (0, 17, 40):
        film.motion.time.value = float(fall.time.values[k])
        np.testing.assert_allclose(shown_places(film), moving.position[k], atol=1e-9)
        np.testing.assert_allclose(film.motion.pose, fall.q.values[k], atol=1e-12)
        assert f"{fall.time.values[k]:.3f} s" in film.motion.readout.content
        for torque in kt.gravity_torque(fall.mechanism, fall.q.values[k]):
            assert f"{torque:.4g} N m" in film.values.content


def test_plots_have_a_line_at_the_time(film, fall):
    film.motion.time.value = 0.2
    data = film.plots.plots[0].chart.data
    assert film.plots.plots[0].choice.value == "q [rad]" and len(data) == 1 + 4 + 1
    at = np.flatnonzero(data[0] == film.motion.t)
    assert len(at) >= 3 and data[-1].argmax() in at
    np.testing.assert_allclose(np.delete(data[1], at[:3]), fall.q.values[:, 0], atol=1e-12)


def test_other_curves_can_be_chosen(film):
    plot = film.plots.plots[0]
    for title in plot._groups:
        plot.choice.value = title
        assert len(plot.chart.data) == 2 + min(24, len(plot._groups[title]))
    plot.choice.value = "q [rad]"


def test_reactions_are_arrows(film, fall):
    film.motion.arrows["reaction"].value = True
    film.motion.time.value = 0.3
    drawn = film.stage._arrows["reaction"]
    k = 30
    rotation = kt.forward_kinematics(fall.mechanism, fall.q.values[k]).rotation
    forces = np.einsum("bij,bj->bi", rotation, fall.reaction.values[k, :, :3])
    steps = np.diff(drawn.points, axis=1)[:, 0]
    lengths = np.linalg.norm(steps, axis=1)
    assert drawn.visible and len(steps) == 4
    cosines = np.einsum("bi,bi->b", steps, forces) / lengths / np.linalg.norm(forces, axis=1)
    np.testing.assert_allclose(cosines, 1.0, atol=1e-5)
    film.motion.arrows["reaction"].value = False
    assert not drawn.visible


def test_a_motion_plays_pauses_and_repeats(film):
    film.motion.time.value = 0.0
    film.motion.speed.value = "1/4"
    press(film.motion.play_button)
    assert film.motion.playing and film.motion.play_button.label == "Pause"
    assert waited(lambda: film.motion.t > 0.02)
    press(film.motion.play_button)
    assert not film.motion.playing and film.motion.play_button.label == "Play"
    stopped = film.motion.t
    time.sleep(0.1)
    assert film.motion.t == stopped == film.motion.time.value


def test_a_motion_that_does_not_repeat_ends_at_its_end(film):
    film.motion.repeat.value, film.motion.speed.value = False, "4"
    film.motion.time.value = 0.2
    film.motion.play()
    assert waited(lambda: not film.motion.playing) and film.motion.t == pytest.approx(0.4)
    film.motion.repeat.value = True


def test_moving_a_slider_stops_the_motion(film):
    film.motion.play()
    film.pose.sliders[0].value = 0.4
    assert not film.motion.playing
    np.testing.assert_allclose(
        shown_places(film), kt.forward_kinematics(kt.zoo.gripper(), film.pose.q).position, atol=1e-12
    )


def test_the_pose_of_a_motion_goes_to_the_sliders(film, fall):
    film.motion.time.value = 0.3
    press(film.take_pose)
    np.testing.assert_allclose(film.pose.q, fall.q.values[30], atol=1e-12)


def test_saving_never_replaces_a_file(film, fall, tmp_path):
    path = tmp_path / "kept.nc"
    film.saving.path.value = str(path)
    press(film.saving.button)
    assert "Saved" in film.message.content and kt.load_result(path).equals(fall)
    before = path.read_bytes()
    press(film.saving.button)
    assert "already exists" in film.message.content and path.read_bytes() == before
    for wrong in ("x.txt", str(tmp_path / "none" / "x.nc"), ""):
        film.saving.path.value = wrong
        press(film.saving.button)
        assert "Saved" not in film.message.content


# ---- simulations ---------------------------------------------------------------------------------------


def test_a_simulation_is_run_from_the_page(viewer):
    viewer.open("gripper")
    viewer.pose.sliders[0].value = -1.0
    viewer.simulation.duration.value = 0.3
    press(viewer.simulation.run_button)
    assert waited(lambda: not viewer.simulation.running)
    viewer.motion.pause()
    same = kt.simulate(kt.zoo.gripper(), [-1.0, 0, 0, 0], duration=0.3, times=101, rtol=1e-6)
    np.testing.assert_allclose(viewer.motion.result.q.values, same.q.values, atol=1e-9)
    assert "reaction" in viewer.motion.result and "done" in viewer.message.content
    assert not viewer.simulation.run_button.disabled and not viewer.simulation.cancel_button.visible


def test_gravity_and_laws_can_be_changed(viewer):
    viewer.open("gripper")
    panel = viewer.simulation
    panel.gravity.value = (0.0, 0.0, 1.5)
    panel.law.value = HOLD
    assert panel.kp.visible
    panel.kp.value, panel.kd.value, panel.duration.value = 50.0, 9.0, 0.2
    asked = panel.request
    assert (asked.gravity, asked.law, asked.kp, asked.kd) == ((0.0, 0.0, 1.5), HOLD, 50.0, 9.0)
    result = run_request(kt.zoo.gripper(), np.zeros(4), asked)
    assert result.mechanism.gravity.tolist() == [0.0, 0.0, 1.5]
    assert result.settings["controller"]["controller"] == "PD"


def test_gravity_compensation_keeps_a_pose():
    q = np.array([0.3, -0.2, 0.5, 0.1])
    held = run_request(kt.zoo.gripper(), q, Request(0.5, (0.0, -9.81, 0.0), HOLD_WITH_GRAVITY))
    np.testing.assert_allclose(held.q.values, np.tile(q, (101, 1)), atol=1e-9)
    loose = run_request(kt.zoo.gripper(), q, Request(0.5, (0.0, -9.81, 0.0), FREE))
    assert np.abs(loose.q.values - q).max() > 0.1


def test_the_ground_carries_a_walker(viewer):
    viewer.open("quadruped")
    viewer.simulation.duration.value, viewer.simulation.law.value = 0.2, HOLD_WITH_GRAVITY
    assert viewer.simulation.ground.value and viewer.simulation.stiffness.visible
    viewer.simulation.start()
    assert waited(lambda: not viewer.simulation.running)
    viewer.motion.pause()
    robot, result = viewer.subject.mechanism, viewer.motion.result
    weight = robot.mass * 9.81
    assert result.contact_force.values[-1, :, 2].sum() == pytest.approx(weight, rel=0.5)
    assert viewer.motion.arrows["contact"].visible
    viewer.motion.show(0.2)
    assert viewer.stage._arrows["contact"].visible


def test_a_simulation_can_be_cancelled(viewer):
    viewer.open("gripper")
    viewer.simulation.duration.value = 9000.0
    viewer.simulation.start()
    assert waited(lambda: viewer.simulation.bar.value > 0.0)
    press(viewer.simulation.cancel_button)
    assert waited(lambda: not viewer.simulation.running)
    assert "Canceled" in viewer.simulation.status.content and viewer.simulation.run_button.disabled is False
    assert viewer.motion.result.stop_reason == "interrupted"


def test_a_simulation_that_cannot_begin_is_told(viewer):
    viewer.open("gripper")
    viewer.simulation.duration._impl.value = -1.0
    viewer.simulation.start()
    assert waited(lambda: not viewer.simulation.running)
    assert "duration must be" in viewer.message.content and not viewer.simulation.run_button.disabled


# ---- names ---------------------------------------------------------------------------------------------


def test_names_cannot_act_as_markup(viewer):
    viewer.show(subject_of(nasty()))
    for name in nasty().joint_names:
        assert escape(name) in viewer.values.content and name not in viewer.values.content


def test_a_page_may_send_anything(viewer, tmp_path, fall):
    kt.save(kt.zoo.chain(3), tmp_path / "secret.toml")
    viewer.show(subject_of(fall))
    viewer.opening.zoo.value = str(tmp_path / "secret.toml")
    assert viewer.subject.mechanism.name == "gripper"
    viewer.plots.plots[0].choice.value = "nothing"
    viewer.motion.motion.value = "nothing"
    viewer.motion.speed.value = "nothing"
    viewer.motion.play()
    assert waited(lambda: viewer.motion.t > 0.0) and viewer.motion.playing
    viewer.motion.pause()
    with pytest.raises(kt.errors.InputError, match="law"):
        run_request(kt.zoo.gripper(), np.zeros(4), Request(0.1, (0.0, 0.0, 0.0), "nothing"))


def test_a_simulation_of_a_mechanism_that_is_gone_is_given_up(viewer):
    viewer.open("gripper")
    viewer.simulation.duration.value = 9000.0
    viewer.simulation.start()
    old = viewer.simulation
    assert waited(lambda: old.bar.value > 0.0)
    viewer.open("two_link")
    assert waited(lambda: not old.running)
    assert viewer.motion is None and viewer.subject.mechanism.name == "two_link"
    assert viewer.message.content == ""


def test_values_are_those_of_the_gravity_of_the_result(viewer):
    viewer.open("gripper")
    viewer.simulation.gravity.value, viewer.simulation.duration.value = (0.0, -1.0, 0.0), 0.1
    viewer.simulation.start()
    assert waited(lambda: not viewer.simulation.running)
    viewer.motion.pause()
    viewer.motion.time.value = 0.05
    torques = kt.gravity_torque(kt.zoo.gripper().with_gravity([0.0, -1.0, 0.0]), viewer.motion.pose)
    assert all(f"{torque:.4g} N m" in viewer.values.content for torque in torques)


# ---- what opens and moves by itself --------------------------------------------------------------------


def test_a_result_opens_playing(fall, tmp_path):
    with opened(fall) as page:
        assert waited(lambda: page.motion.playing and page.motion.t > 0.0)
        fall.save(tmp_path / "fall.nc")
        page.motion.pause()
        page.open(str(tmp_path / "fall.nc"))
        assert waited(lambda: page.motion.playing)


def test_a_dragged_body_takes_the_joints_along():
    with opened(kt.zoo.kuka_kr5()) as page:
        arm, handle = page.subject.mechanism, page.handle
        page.pose.put(np.full(arm.n_dof, 0.3))
        handle.body.value = arm.body_names[-1]
        start = np.array(handle.handle.position)
        poses = kt.forward_kinematics(arm, page.pose.q)
        np.testing.assert_allclose(start, poses.position[-1], atol=1e-9)
        goal = np.add(start, [0.03, -0.05, 0.04])
        handle.drag(goal)
        np.testing.assert_allclose(shown_places(page)[-1], goal, atol=1e-3)  # sliders have steps
        before = page.pose.q
        for odd in (np.full(3, np.nan), np.full(3, 1e9)):
            handle.drag(odd)
        np.testing.assert_array_equal(page.pose.q, before)
        handle.drag(np.array([50.0, 0.0, 0.0]))
        assert np.isfinite(page.pose.q).all()


def test_a_floating_robot_is_held_while_a_foot_is_dragged():
    with opened("quadruped") as page:
        robot, handle = page.subject.mechanism, page.handle
        base = shown_places(page)[0]
        handle.body.value = robot.body_names[-1]
        handle.drag(np.add(handle.handle.position, [0.01, 0.0, 0.02]))
        np.testing.assert_allclose(shown_places(page)[0], base, atol=1e-9)


def test_many_sliders_are_in_folders_and_all_there():
    with opened(kt.zoo.human()) as page:
        assert len(page.pose.sliders) == page.subject.mechanism.n_dof > 35
        page.pose.sliders[-1].value = 0.1
        assert page.pose.q[-1] == pytest.approx(0.1)


def test_sliders_are_found_by_parts_of_their_names():
    with kt.view("humanoid", port=0, open_browser=False, wait=False) as page:
        names, panel = page.subject.mechanism.joint_names, page.pose

        def shown():
            return [name for name, x in zip(names, panel.sliders, strict=True) if x.visible]

        part = names[-1][:-1].upper()
        panel.find.value = f" {part} "
        assert names[-1] in shown() and len(shown()) < len(names)
        assert shown() == [name for name in names if part.casefold() in name.casefold()]
        for folder, _, members in panel._folders:  # those with a hit are open, the others hidden
            assert folder.visible == any(panel.sliders[k].visible for k in members) and folder.label is None
        panel.find.value = "<b>no such joint"
        assert shown() == [] and "&lt;b&gt;no such joint" in panel._nothing.content
        panel.find.value = ""
        assert shown() == list(names) and not panel._nothing.visible
        assert all(folder.visible and folder.label == name for folder, name, _ in panel._folders)
        assert panel.q.shape == (len(names),)
    with kt.view("gripper", port=0, open_browser=False, wait=False) as page:
        assert not page.pose.find.visible  # four joints need no search


def test_a_movie_is_recorded(film):
    sent = []
    client = type(
        "Client", (), {"send_file_download": lambda self, name, content, **how: sent.append((name, content))}
    )
    film.saving.record.value = "GIF"
    film.saving._record(type("Event", (), {"client": client()})())
    ((name, content),) = sent
    assert name == "gripper.gif" and content.startswith(b"GIF8")


def test_the_camera_frames_meshes(tmp_path):
    import struct
    from dataclasses import replace

    from kinetree.model.body import Shape

    corners = np.array([[0, 0, 0], [0, 0, 5], [0, 1, 5]], dtype="<f4")
    record = np.zeros(3, "<f4").tobytes() + corners.tobytes() + b"\0\0"
    (tmp_path / "mast.stl").write_bytes(b"".ljust(80) + struct.pack("<I", 1) + record)
    plain = kt.zoo.kuka_kr5()
    shape = Shape("mesh", [1, 1, 1], file="mast.stl", folder=str(tmp_path))
    body = replace(plain.links[0].body, shapes=(shape,))
    arm = replace(plain, links=(replace(plain.links[0], body=body), *plain.links[1:]))
    with opened(arm) as page, opened(plain) as other:
        eye, close = (np.array(x.server.initial_camera.position) for x in (page, other))
        assert np.linalg.norm(eye) > 2 * np.linalg.norm(close)


QUADRUPED = Path(__file__).parents[1] / "data" / "mjcf" / "quadruped.xml"


@pytest.mark.filterwarnings("ignore::kinetree.KinetreeWarning")
def test_a_model_with_keyframes_is_shown_at_home_and_stands_by_its_servos():
    pytest.importorskip("mujoco")
    robot = kt.load(QUADRUPED)
    home, other = robot.states["home"].q, next(name for name in robot.states if name != "home")
    with opened(robot) as page:
        np.testing.assert_allclose(page.pose.q, home, atol=1e-12)
        assert page.pose.state.value == "home"
        assert page.simulation.law.value == page.live.law.value == OWN
        result = run_request(robot, page.pose.q, replace(page.simulation.request, duration=0.5))
        assert abs(result.q.values[-1, 2] - home[2]) < 0.01  # m: servos give way a little
        page.pose.sliders[-1].value = float(page.pose.sliders[-1].value) + 0.1
        page.pose._changed()
        assert page.pose.state.value == SLIDERS
        page.pose.state.value = other
        page.pose._take_state()
        np.testing.assert_allclose(page.pose.q, robot.states[other].q, atol=1e-12)
        page.pose.reset()
        np.testing.assert_allclose(page.pose.q, home, atol=1e-12)
