"""A real browser: a person who logs in and decides at the gate, and web pages that try to get in."""

import http.server
import shutil
import threading
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
    "--host-resolver-rules=MAP evil.test 127.0.0.1",
)
# What a page can try without knowing the password: to change a deployment's steps and start a run, in every way that a
# browser has. Returns what became of each.
ATTACK = """async ({api, deployment, script}) => {
    const url = `${api}/deployments/${deployment}`;
    const steps = JSON.stringify({pull_steps: [{"prefect.deployments.steps.run_shell_script": {script}}]});
    const start = JSON.stringify({state: {type: "SCHEDULED"}});
    const json = {"Content-Type": "application/json"}, text = {"Content-Type": "text/plain"};
    const result = (where, options) => fetch(where, options).then(
        answer => answer.type === "opaque" ? "opaque" : answer.status, problem => problem.name);
    const socket = new Promise(resolve => {
        const channel = new WebSocket(api.replace("http", "ws") + "/logs/out", "prefect");
        channel.onopen = () => resolve("open");
        channel.onerror = () => resolve("refused");
    });
    return [
        await result(url, {method: "PATCH", headers: json, body: steps}),
        await result(`${url}/create_flow_run`, {method: "POST", headers: json, body: start}),
        await result(`${url}/create_flow_run`, {method: "POST", headers: text, body: start}),
        await result(`${url}/create_flow_run`, {method: "POST", headers: text, body: start, mode: "no-cors"}),
        await result(url, {credentials: "include"}),
        await socket,
    ];
}"""

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
    log_in(pipeline, page)
    page.goto(f"http://127.0.0.1:{pipeline.port}/runs/flow-run/{flow_run_id}", wait_until="networkidle")
    page.get_by_role("button", name="Resume").first.click()
    page.get_by_text(code).first.wait_for()
    screenshot(page, tmp_path / "gate-form.png")
    link = page.get_by_role("link", name="Look at every rule").get_attribute("href")
    assert page.get_by_text("(Optional)").count() == 0
    fill(page, "approve", "0" * 8)
    page.get_by_role("button", name="Submit").click()
    page.get_by_text("this is not the code of the verdict").first.wait_for()
    assert page.get_by_text("does not match").count() == 0, "no regular expression is shown, nor the code in it"
    assert pipeline.state(flow_run_id) == "Suspended", "a mistyped code is refused in the form"
    fill(page, "approve", f"{code} ")
    page.get_by_role("button", name="Submit").click()
    pipeline.wait_for(flow_run_id, "Completed")
    page.goto(link, wait_until="networkidle")
    page.get_by_text("lead_over_best_rule").first.wait_for()
    pictures = page.locator("img[src^='data:image/png']")
    assert pictures.count() == 2  # the rules and the learning curve
    assert all(width > 500 for width in pictures.evaluate_all("all => all.map(picture => picture.naturalWidth)"))
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    pictures.first.scroll_into_view_if_needed()
    screenshot(page, tmp_path / "gate-verdict.png")


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_the_ui_asks_for_the_password_and_then_shows_the_run(pipeline, page, name):
    flow_run_id = pipeline.begin(overrides=["no.such.key=1"])
    run_name = pipeline.wait_for(flow_run_id, "Failed")["name"]
    page.goto(f"http://{name}:{pipeline.port}/", wait_until="networkidle")
    page.locator("input").fill("gaelp:wrong-password")
    page.get_by_role("button", name="Login").click()
    page.get_by_text("Authentication failed").first.wait_for()
    assert "/login" in page.url
    log_in(pipeline, page, name)
    page.goto(f"http://{name}:{pipeline.port}/runs", wait_until="networkidle")
    page.get_by_text(run_name).first.wait_for()
    page.goto(f"http://{name}:{pipeline.port}/runs/flow-run/{flow_run_id}", wait_until="networkidle")
    page.get_by_text("Failed").first.wait_for()


@pytest.fixture
def attack(pipeline, page, tmp_path):
    """Attack the server from the page that is open; returns what the page saw, after a check that nothing happened."""

    def run(api):
        before = pipeline.what_would_run()
        marker = tmp_path / "executed"
        results = page.evaluate(ATTACK, {"api": api, "deployment": before[0], "script": f"touch {marker}"})
        page.wait_for_timeout(1000)
        assert pipeline.what_would_run() == before
        assert not marker.exists()
        return results

    return run


def test_a_page_of_another_origin_can_neither_change_a_deployment_nor_start_a_run(pipeline, page, attack):
    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<html>")

    log_in(pipeline, page)  # a person is logged in, in the same browser
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as elsewhere:
        threading.Thread(target=elsewhere.serve_forever, daemon=True).start()
        for name in ("evil.test", "127.0.0.1"):
            page.goto(f"http://{name}:{elsewhere.server_port}/")
            refused = ["TypeError", "TypeError", "TypeError", "opaque", "TypeError", "refused"]
            assert attack(pipeline.api) == refused
        elsewhere.shutdown()


def test_a_page_whose_name_is_made_to_mean_this_machine_is_refused(pipeline, page, attack):
    rebound = f"http://evil.test:{pipeline.port}"
    assert page.goto(f"{rebound}/").status == 421
    # A document of that origin is open now, as if its own server had sent it before the name was changed.
    assert attack(f"{rebound}/api") == [421, 421, 421, 421, 421, "refused"]


def log_in(pipeline, page, name="127.0.0.1"):
    page.goto(f"http://{name}:{pipeline.port}/login", wait_until="networkidle")
    page.locator("input").fill(pipeline.password)
    page.get_by_role("button", name="Login").click()
    page.wait_for_url("**/dashboard*")


def fill(page, decision, code):
    for box, text in enumerate((decision, code, "Ada", "every rule holds")):
        page.locator("textarea").nth(box).fill(text)


def screenshot(page, path: Path):
    page.wait_for_timeout(1000)
    page.screenshot(path=path)
    assert path.stat().st_size > 20_000
