"""Debian's Chromium without a window, for tests of pages.

Without it tests are skipped, unless KINETREE_REQUIRE_BROWSER=1, which makes them fail. Screenshots go to the
folder KINETREE_ARTIFACTS if there is one.
"""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--window-size=1200,780", "--force-device-scale-factor=1"),
)


def open_browser(profile):
    """A driver of Chromium with an empty profile, no network, and logs of its console and its requests."""
    binary, driver = next(filter(None, map(shutil.which, BROWSERS)), None), shutil.which("chromedriver")
    missing = [name for name, place in (("chromium", binary), ("chromedriver", driver)) if place is None]
    try:
        from selenium.webdriver import Chrome, ChromeOptions, ChromeService
    except ImportError:
        missing.append("the Python package selenium")
    if missing:
        told = f"pages cannot be tested without {' and '.join(missing)}"
        if os.environ.get("KINETREE_REQUIRE_BROWSER") == "1":
            pytest.fail(f"{told}, and KINETREE_REQUIRE_BROWSER=1 demands it")
        pytest.skip(told)
    options = ChromeOptions()
    options.binary_location = binary
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = Chrome(options=options, service=ChromeService(driver))
    browser.set_script_timeout(20)
    return browser


def go_offline(browser):
    """Cut every connection."""
    browser.execute_cdp_cmd("Network.enable", {})
    browser.execute_cdp_cmd(
        "Network.emulateNetworkConditions",
        {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0},
    )


def errors(browser):
    """What the console has complained about since it was asked last."""
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def requests(browser):
    """Addresses that were asked for since the last time, but data that the page holds itself."""
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [x["params"]["request"]["url"] for x in messages if x["method"] == "Network.requestWillBeSent"]
    return [address for address in asked if not address.startswith(("data:", "about:"))]


def screenshot(browser, name, otherwise):
    """Keep a picture of the page, and return where it is."""
    folder = Path(os.environ.get("KINETREE_ARTIFACTS") or otherwise)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.png"
    assert browser.save_screenshot(str(path))
    print(f"screenshot: {path}", file=sys.stderr)
    return path
