"""The viewer's page in a real browser."""

import time

import numpy as np
import pytest

pytest.importorskip("selenium")

from selenium.common.exceptions import (
    ElementClickInterceptedException,
    ElementNotInteractableException,
    StaleElementReferenceException,
)

import kinetree as kt
from kinetree.viewer.subject import subject_of
from support.browser import errors, open_browser, requests, screenshot
from support.names import HARMFUL, nasty

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    driver = open_browser(tmp_path_factory.mktemp("profile"))
    driver.set_window_size(1000, 650)
    driver.set_script_timeout(60)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def viewer(browser):
    fall = kt.simulate(kt.zoo.gripper(), [-1.0, 0, 0, 0], duration=0.4, times=41)
    with kt.view(fall, port=0, open_browser=False, wait=False) as page:
        browser.get("about:blank")
        errors(browser), requests(browser)
        page.server.scene.configure_default_lights(cast_shadow=False)  # slow without a GPU
        browser.get(page.url)
        yield page


def appears(browser, text, seconds=120):
    """Whether the page shows a text before long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if text in browser.execute_script("return document.body.innerText"):
            return True
        time.sleep(0.1)
    return False


def test_the_page_shows_the_mechanism_the_plots_and_no_error(browser, viewer, tmp_path):
    assert appears(browser, "Copy the pose to the sliders"), "a result opens on another tab than Motion"
    clicked(browser, "Pose")
    assert appears(browser, "joint4 (rad)"), "the sliders do not appear"
    assert appears(browser, "effort against gravity")
    assert "Plot 1" in browser.execute_script("return document.body.innerText")
    assert browser.execute_script("return document.querySelectorAll('canvas').length") >= 3  # scene, plots
    viewer.pose.sliders[0].value = 0.5
    torque = kt.gravity_torque(kt.zoo.gripper(), viewer.pose.q)[0]
    assert appears(browser, f"{torque:.4g} N m")
    screenshot(browser, "viewer", tmp_path)
    assert errors(browser) == []
    asked = [
        address
        for address in requests(browser)
        if not address.startswith(("blob:", viewer.url.partition("?")[0]))
    ]
    assert asked == []


def clicked(browser, text, which="//*[normalize-space(text())='{}']"):
    """Click on what has a text, once it is there, and again if the page was just being drawn.

    Viser's note of a missing GPU may cover it and is closed.
    """
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            found = browser.find_elements("xpath", which.format(text))
            if found and found[0].is_displayed() and found[0].is_enabled():
                for note in browser.find_elements("css selector", "#webgl-software-rendering button"):
                    note.click()
                    time.sleep(0.5)
                found[0].click()
                return
        except (
            StaleElementReferenceException,
            ElementNotInteractableException,
            ElementClickInterceptedException,
        ):
            pass  # it was drawn again, still moves or is covered by a message
        time.sleep(0.1)
    pytest.fail(f"the page shows no '{text}' to click on")


BUTTON = "//button[normalize-space(.)='{}' and not(@role='tab')]"  # not the tab of the same name


def test_clicks_run_a_simulation_and_faults_are_told(browser, viewer):
    before = viewer.motion.result
    viewer.simulation.duration.value = 0.2
    clicked(browser, "Simulate")
    clicked(browser, "Run")
    assert appears(browser, "The simulation is done")
    viewer.motion.pause()
    assert viewer.motion.result is not before and float(viewer.motion.result.time[-1]) == 0.2
    viewer.opening.path.value = "nowhere.toml"
    clicked(browser, "Open")
    clicked(browser, "Open", BUTTON)  # which is there some time after its tab
    assert appears(browser, "nowhere.toml: no such file")
    assert errors(browser) == []


def test_names_are_text_on_the_page(browser, viewer, tmp_path):
    arm = nasty()
    fall = kt.simulate(arm, [0.1, 0.2], duration=0.1, times=5)
    viewer.show(subject_of(fall))
    viewer.names.value = True
    assert appears(browser, HARMFUL[0]), "the name is not shown as it is"
    viewer.opening.path.value = HARMFUL[0]
    viewer._attempt(lambda: viewer.open(HARMFUL[0]))
    time.sleep(1.0)
    screenshot(browser, "viewer_names", tmp_path)
    assert browser.execute_script("return window.harmed === undefined")
    assert errors(browser) == []


def pixel(browser, viewer, place):
    """Where on the page a place (3,) of the scene is."""
    box = browser.execute_script("return document.querySelector('canvas').getBoundingClientRect()")
    left, top, width, height = (box[key] for key in ("x", "y", "width", "height"))
    eye = next(iter(viewer.server.get_clients().values())).camera
    ahead = np.array(eye.look_at) - eye.position
    ahead /= np.linalg.norm(ahead)
    right = np.cross(ahead, eye.up_direction)
    right /= np.linalg.norm(right)
    away = np.array(place) - eye.position
    scale = 0.5 * height / np.tan(0.5 * eye.fov) / (away @ ahead)
    return (
        left + 0.5 * width + scale * (away @ right),
        top + 0.5 * height - scale * (away @ np.cross(right, ahead)),
    )


def test_the_mouse_pulls_a_body(browser, viewer, tmp_path):
    viewer.open("two_link")
    clicked(browser, "Push")
    clicked(browser, "Start")
    assert eventually(lambda: viewer.live.running)
    arm = viewer.subject.mechanism
    grip = kt.forward_kinematics(arm, viewer.pose.q).position[1] + np.array([0.3, 0.0, 0.0])
    x, y = pixel(browser, viewer, grip)

    def mouse(kind, dx, dy):
        event = {"type": kind, "x": x + dx, "y": y + dy, "button": "left", "buttons": 1, "clickCount": 1}
        browser.execute_cdp_cmd("Input.dispatchMouseEvent", event)

    browser.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y})
    time.sleep(0.3)
    mouse("mousePressed", 0, 0)
    for k in range(1, 6):
        mouse("mouseMoved", 0, -16 * k)
        time.sleep(0.1)
    live = viewer.live.simulation
    assert eventually(lambda: live.pulled is not None), "the body is not pulled"
    assert live.pulled.body == "link2"
    assert eventually(lambda: live.q[1] > 0.02)
    screenshot(browser, "viewer_push", tmp_path)
    mouse("mouseReleased", 0, -80)
    assert eventually(lambda: live.pulled is None), "the spring stays"
    viewer.live.pause()
    viser_itself = "preventDefault inside passive event listener"  # of any drag
    assert [text for text in errors(browser) if viser_itself not in text] == []


def eventually(condition, seconds=30):
    """Whether something comes to hold before long."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return bool(condition())
