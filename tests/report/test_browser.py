"""Reports in a real browser without any network: they are drawn and move, curves and animation are linked."""

import time
from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from support.browser import errors, go_offline, open_browser, requests, screenshot

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    driver = open_browser(tmp_path_factory.mktemp("profile"))
    go_offline(driver)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory, gripper_fall, biped_walk, fastest):
    folder = tmp_path_factory.mktemp("pages")
    results = {"gripper_free_fall": gripper_fall, "biped_walk": biped_walk, "fastest": fastest}
    for name, result in results.items():
        result.report(folder / f"{name}.html")
    return folder


def opened(browser, path, part=""):
    """Open a page; the address it has."""
    errors(browser), requests(browser)
    address = path.as_uri()
    browser.get("about:blank")
    browser.get(address + part)
    return address


def state(browser, name):
    return browser.execute_script(f"return window.kinetree.{name}")


def wait(browser, condition, what, seconds=15):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if browser.execute_script(f"return Boolean({condition})"):
            return
        time.sleep(0.05)
    pytest.fail(f"{what} did not happen within {seconds} s")


def hover(browser, plot, part):
    """Put the pointer on a curve's axes, at a part of their width."""
    from selenium.webdriver import ActionChains

    picture = browser.find_elements("css selector", "#plots .plot > svg")[plot]
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", picture)
    box = picture.size
    chain = ActionChains(browser, duration=20)
    chain.move_to_element_with_offset(picture, int((part - 0.5) * box["width"]), 3).perform()


def picture(browser):
    """The pixels of the animation."""
    return browser.execute_script("return document.getElementById('view').toDataURL()")


@pytest.mark.parametrize("name", ["gripper_free_fall", "biped_walk", "fastest"])
def test_a_report_works_without_network(browser, pages, name, tmp_path):
    address = opened(browser, pages / f"{name}.html")
    wait(browser, "window.kinetree.drawings > 1", "a drawing")
    assert state(browser, "renderer") in ("webgl", "canvas")

    assert state(browser, "playing")
    before, pixels = state(browser, "time"), picture(browser)
    drawn = state(browser, "drawings")
    wait(browser, f"window.kinetree.time !== {before} && window.kinetree.drawings > {drawn + 2}", "motion")
    assert picture(browser) != pixels

    browser.find_element("id", "play").click()
    assert not state(browser, "playing")
    hover(browser, 0, 0.3)
    early, pose = state(browser, "time"), state(browser, "pose()")
    hover(browser, 0, 0.7)
    late, other = state(browser, "time"), state(browser, "pose()")
    start, end = state(browser, "span")
    assert start < early < late < end
    assert np.abs(np.subtract(pose, other)).max() > 1e-3
    assert browser.find_element("id", "clock").text == f"{late:.3f} s"

    time.sleep(0.5)
    screenshot(browser, name, tmp_path)
    assert errors(browser) == []
    assert set(requests(browser)) == {address}


def test_the_pose_under_the_pointer_is_that_of_the_result(browser, pages, gripper_fall):
    opened(browser, pages / "gripper_free_fall.html")
    wait(browser, "window.kinetree.drawings > 0", "a drawing")
    for t in (0.0, 0.25, 1.0):
        browser.execute_script(f"window.kinetree.seek({t})")
        row = int(np.argmin(np.abs(gripper_fall.time.values - t)))
        expected = kt.forward_kinematics(gripper_fall.mechanism, gripper_fall.q.values[row]).position
        found = np.array(state(browser, "pose()"))[:, :3]
        np.testing.assert_allclose(found, expected, atol=2e-4)


def test_peaks_are_clipped_until_they_are_asked_for(browser, pages):
    opened(browser, pages / "biped_walk.html")
    wait(browser, "document.querySelector('.whole')", "a button for peaks")
    button = browser.find_element("css selector", ".plot .whole")
    heights = "return Number(arguments[0].closest('.plot').querySelector('.zero').getAttribute('y1'))"
    assert "clipped" in button.text and button.get_attribute("aria-pressed") == "false"
    before = browser.execute_script(heights, button)
    browser.execute_script("arguments[0].click()", button)
    assert button.get_attribute("aria-pressed") == "true" and button.text == "clip the peaks"
    assert browser.execute_script(heights, button) != before
    assert browser.execute_script("return document.querySelectorAll('.curve.asked').length") > 0
    assert errors(browser) == []


def test_curves_can_be_over_the_percentage_of_the_motion(browser, pages):
    opened(browser, pages / "gripper_free_fall.html")
    wait(browser, "window.kinetree.drawings > 0", "a drawing")
    last = "return document.querySelector('#plots .plot > svg').textContent"
    assert " s" in browser.execute_script(last) and "%" not in browser.execute_script(last)
    browser.execute_script("document.getElementById('percent').click()")
    assert "100 %" in browser.execute_script(last)
    assert errors(browser) == []


def test_playing_moves_the_cursor_of_the_curves(browser, pages):
    opened(browser, pages / "gripper_free_fall.html")
    wait(browser, "window.kinetree.drawings > 0", "a drawing")
    place = "document.querySelector('#plots .cursor').getAttribute('x1')"
    browser.execute_script("window.kinetree.seek(0)")
    first = float(browser.execute_script(f"return {place}"))
    browser.execute_script("window.kinetree.play()")
    wait(browser, f"Number({place}) > {first + 5}", "the cursor's motion")


def test_hovering_waits_and_leaving_goes_on(browser, pages):
    from selenium.webdriver import ActionChains

    opened(browser, pages / "gripper_free_fall.html")
    wait(browser, "window.kinetree.playing", "play")
    hover(browser, 0, 0.5)
    assert not state(browser, "playing")
    ActionChains(browser, duration=20).move_to_element(browser.find_element("css selector", "h1")).perform()
    wait(browser, "window.kinetree.playing", "play again")


def test_the_view_turns_with_mouse_and_keys(browser, pages):
    from selenium.webdriver import ActionChains, Keys

    opened(browser, pages / "fastest.html")
    wait(browser, "window.kinetree.drawings > 0", "a drawing")
    browser.execute_script("window.kinetree.seek(0.1)")
    time.sleep(0.5)
    seen = [picture(browser)]
    canvas = browser.find_element("id", "view")
    for act in (
        lambda: ActionChains(browser, duration=20).drag_and_drop_by_offset(canvas, 120, 40).perform(),
        lambda: canvas.send_keys(Keys.ARROW_LEFT),
        lambda: canvas.send_keys("+"),
    ):
        drawn = state(browser, "drawings")
        act()
        wait(browser, f"window.kinetree.drawings > {drawn}", "a drawing after the view changed")
        time.sleep(0.4)
        seen.append(picture(browser))
    assert len(set(seen)) == 4
    browser.find_element("id", "reset").click()
    time.sleep(0.5)
    assert picture(browser) == seen[0]
    assert errors(browser) == []


def test_without_webgl_the_page_draws_on_a_canvas(browser, pages, tmp_path):
    opened(browser, pages / "biped_walk.html", "#canvas")
    wait(browser, "window.kinetree.drawings > 1", "a drawing")
    assert state(browser, "renderer") == "canvas"
    browser.execute_script("window.kinetree.seek(0.4)")
    time.sleep(0.5)
    screenshot(browser, "biped_walk_canvas", tmp_path)
    assert errors(browser) == []


def test_names_are_texts_and_no_code(browser, tmp_path):
    """A joint, a body and a mechanism whose names are scripts."""
    evil = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
    plain = kt.zoo.two_link()
    first, second = plain.links
    links = (
        replace(first, joint=replace(first.joint, name=f"{evil}1"), body=replace(first.body, name=evil)),
        replace(second, joint=replace(second.joint, name=f"{evil}2"), parent=evil),
    )
    mechanism = kt.Mechanism(evil, links, plain.gravity)
    kt.simulate(mechanism, [0.5, 0.0], [1.0, 0.0], 1.0, times=21).report(tmp_path / "evil.html")
    address = opened(browser, tmp_path / "evil.html")
    wait(browser, "window.kinetree.drawings > 0", "a drawing")
    assert browser.execute_script("return window.hacked === undefined")
    assert evil in browser.find_element("css selector", "h1").text
    assert browser.find_element("css selector", ".legend .label").get_attribute("textContent") == f"{evil}1"
    assert errors(browser) == []
    assert set(requests(browser)) == {address}


def test_a_batch_lets_one_choose_the_motion(browser, tmp_path):
    from selenium.webdriver.support.select import Select

    starts = np.array([[-1.0, 0, 0, 0], [0.5, 0.2, 0, 0], [1.0, 0, -0.3, 0]])
    falls = kt.simulation.simulate_batch(kt.zoo.gripper(), starts, duration=0.5, times=51)
    falls.report(tmp_path / "batch.html")
    opened(browser, tmp_path / "batch.html")
    wait(browser, "window.kinetree.drawings > 0", "a drawing")
    browser.execute_script("window.kinetree.seek(0)")
    for motion, q in enumerate(starts):
        Select(browser.find_element("id", "motion")).select_by_index(motion)
        found = np.array(state(browser, "pose()"))[:, :3]
        np.testing.assert_allclose(found, kt.forward_kinematics(falls.mechanism, q).position, atol=1e-5)
    assert errors(browser) == []


def test_curves_can_be_taken_along_as_a_table(browser, pages, gripper_fall):
    """The table has the page's curves: the joint positions among them are those of the result."""
    import csv
    import io

    opened(browser, pages / "gripper_free_fall.html")
    rows = list(csv.DictReader(io.StringIO(browser.execute_script("return window.kinetree.curvesAsText()"))))
    own = [row for row in rows if row["variable"] == "q" and row["curve"] == "joint1"]
    time_s, values = (np.array([float(row[key]) for row in own]) for key in ("time_s", "value"))
    wanted = np.interp(time_s, gripper_fall.time.values, gripper_fall.q.values[:, 0])
    assert len(own) > 50 and {row["unit"] for row in own} == {"rad"}
    np.testing.assert_allclose(values, wanted, atol=1e-5)
    browser.find_element("id", "save-curves").click()
    assert not errors(browser)


def test_meshes_are_seen_in_their_colour(browser, tmp_path):
    """A red mesh covers many red pixels of the animation."""
    import io

    from PIL import Image

    from kinetree.model.body import Shape

    (tmp_path / "block.obj").write_text(
        "".join(f"v {x} {y} {z}\n" for x in (0, 0.4) for y in (-0.1, 0.1) for z in (-0.1, 0.1))
        + "f 1 2 4 3\nf 5 7 8 6\nf 1 5 6 2\nf 3 4 8 7\nf 1 3 7 5\nf 2 6 8 4\n"
    )
    plain = kt.zoo.two_link()
    shape = Shape("mesh", [1, 1, 1], file="block.obj", color=(1, 0, 0, 1), folder=str(tmp_path))
    first = replace(plain.links[0], body=replace(plain.links[0].body, shapes=(shape,)))
    arm = replace(plain, links=(first, *plain.links[1:]))
    kt.simulate(arm, [0.3, 0.2], duration=0.1, times=5).report(tmp_path / "red.html")
    opened(browser, tmp_path / "red.html")
    wait(browser, "window.kinetree && window.kinetree.drawings > 0", "the page was drawn")
    time.sleep(0.3)
    shot = np.asarray(
        Image.open(io.BytesIO(browser.find_element("id", "view").screenshot_as_png)).convert("RGB")
    )
    red, green, blue = np.moveaxis(shot.astype(int), -1, 0)
    assert ((red > 2 * green) & (red > 2 * blue) & (red > 80)).sum() > 500 and not errors(browser)


def test_parts_flow_over_printed_sheets_and_pictures_do_not(browser, pages):
    """A part that may not break leaves the rest of its sheet empty; a plot or row that breaks is cut."""
    opened(browser, pages / "gripper_free_fall.html")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    breaks = "return [...document.querySelectorAll(arguments[0])].map((x) => getComputedStyle(x).breakInside)"
    cards, whole = (set(browser.execute_script(breaks, kind)) for kind in (".card", ".plot, tr, .picture"))
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert (cards, whole) == ({"auto"}, {"avoid"})
