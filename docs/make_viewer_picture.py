"""Makes the picture of the live viewer: ``python docs/make_viewer_picture.py`` (needs Chromium)."""

from __future__ import annotations

import io
import shutil
import time
from pathlib import Path

from PIL import Image
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.common.by import By

import kinetree as kt

PICTURE = Path(__file__).parent / "images" / "viewer.png"
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,860", "--hide-scrollbars")
SHOWN, COLORS = 1000, 256  # width of the picture in pixels
PATIENCE = 60.0  # s


def main() -> None:
    """Let a quadruped trot, show it, and take the page's picture in the midst of a step."""
    options = ChromeOptions()
    for flag in FLAGS:
        options.add_argument(flag)
    with kt.view(kt.run("quadruped_trot"), port=0, open_browser=False, wait=False) as viewer:
        browser = Chrome(options=options, service=ChromeService(shutil.which("chromedriver")))
        try:
            browser.get(viewer.url)
            _wait_for(browser, "Joints")
            browser.find_element(
                By.XPATH, "//button[contains(@class, 'lose')]"
            ).click()  # a note about the GPU
            browser.find_element(By.XPATH, "//*[normalize-space(text())='Motion']").click()
            viewer.motion.time.value = 0.62
            _wait_for(browser, "Copy the pose to the sliders")
            time.sleep(3.0)
            image = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")
        finally:
            browser.quit()
    small = image.resize((SHOWN, round(image.height * SHOWN / image.width)), Image.Resampling.LANCZOS)
    small.quantize(COLORS, dither=Image.Dither.NONE).save(PICTURE, optimize=True)


def _wait_for(browser: Chrome, text: str) -> None:
    end = time.monotonic() + PATIENCE
    while text not in browser.page_source and time.monotonic() < end:
        time.sleep(0.2)


if __name__ == "__main__":
    main()
