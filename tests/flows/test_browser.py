"""A person at the gate: the form and the verdict in a real browser."""

import shutil
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: install the package chromium"),
]


@pytest.fixture
def page():
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only where a browser is

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser.new_page(viewport={"width": 1300, "height": 1000})
        browser.close()


def test_a_person_looks_at_the_verdict_and_approves_in_the_form(pipeline, page, tmp_path):
    flow_run_id = pipeline.begin()
    pipeline.wait_for(flow_run_id, "Suspended")
    code = pipeline.waiting(pipeline.run_id(flow_run_id))["code"]
    page.goto(f"http://127.0.0.1:{pipeline.port}/runs/flow-run/{flow_run_id}", wait_until="networkidle")
    page.get_by_role("button", name="Resume").first.click()
    page.get_by_text(code).first.wait_for()
    screenshot(page, tmp_path / "gate-form.png")
    link = page.get_by_role("link", name="Look at every rule").get_attribute("href")
    fill(page, code)
    page.get_by_role("button", name="Submit").click()
    pipeline.wait_for(flow_run_id, "Completed")
    page.goto(link, wait_until="networkidle")
    page.get_by_text("lead_over_best_rule").first.wait_for()
    image = page.locator("img[src^='data:image/png']")
    assert image.evaluate("picture => picture.naturalWidth") > 500
    image.scroll_into_view_if_needed()
    screenshot(page, tmp_path / "gate-verdict.png")


def fill(page, code):
    for box, text in enumerate((code, "Ada", "every rule holds")):
        page.locator("textarea").nth(box).fill(text)
    choice = page.locator(".p-select-button__control").last
    choice.focus()
    choice.press("ArrowDown")
    page.locator(".p-select-option", has_text="approve").click()
    assert choice.inner_text() == "approve"


def screenshot(page, path: Path):
    page.wait_for_timeout(1000)
    page.screenshot(path=path)
    assert path.stat().st_size > 20_000
