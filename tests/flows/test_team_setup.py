"""The set-up for a team, as docs/pipeline.md has it: a server with a password, prefect.yaml, a worker; and two homes.

The server keeps its state in SQLite unless GAELP_TEST_PREFECT_DATABASE names a PostgreSQL.
"""

import os
import subprocess
import sys

import httpx
import pytest

from gaelp.config.places import repository_root

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

# PostgreSQL with its extension pg_trgm, which Prefect needs: postgresql+asyncpg://USER:PASSWORD@HOST/NAME
DATABASE = os.environ.get("GAELP_TEST_PREFECT_DATABASE")
PASSWORD = "team:only-for-this-test"
PATIENCE_S = 480  # several processes start in this time, on a busy machine half a minute each
FAILS_AT_ONCE = {"overrides": ["no.such.key=1"]}  # a run whose runner logs that it executes it, and that is soon over


class Team:
    """A server and a worker in processes of their own."""

    def __init__(self, pipeline):
        self.pipeline = pipeline
        pipeline.variables = {"PREFECT_API_AUTH_STRING": PASSWORD}
        self.environ = pipeline.environ | {
            "PREFECT_HOME": str(pipeline.folder / "prefect"),
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "DO_NOT_TRACK": "1",
            "PREFECT_SERVER_DATABASE_CONNECTION_URL": DATABASE or f"sqlite+aiosqlite:///{pipeline.folder}/prefect.db",
            "PREFECT_SERVER_API_AUTH_STRING": PASSWORD,
            "PREFECT_API_AUTH_STRING": PASSWORD,
        }
        self.started = []

    def prefect(self, *words):
        command = [sys.executable, "-m", "prefect", *words]
        done = subprocess.run(
            command,
            cwd=repository_root(),
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def start(self, *words):
        with (self.pipeline.folder / "up.log").open("ab") as log:
            command = [sys.executable, "-m", "prefect", *words]
            self.started.append(
                subprocess.Popen(command, cwd=repository_root(), env=self.environ, stdout=log, stderr=log)
            )

    def stop(self):
        for process in reversed(self.started):
            process.terminate()
            process.wait(60)


@pytest.fixture
def team(own_pipeline):
    made = Team(own_pipeline())
    yield made
    made.stop()


def test_a_team_deploys_runs_and_decides_behind_a_password(team):
    pipeline = team.pipeline
    team.start("server", "start", "--host", "127.0.0.1", "--port", str(pipeline.port))
    pipeline.until(lambda: healthy(pipeline.api), 180, "the server")
    assert httpx.post(f"{pipeline.api}/flow_runs/filter", json={}).status_code == httpx.codes.UNAUTHORIZED
    team.prefect("work-pool", "create", "gaelp", "--type", "process")
    team.prefect("--no-prompt", "deploy", "--all")
    team.start("worker", "start", "--pool", "gaelp", "--type", "process")
    config = str(pipeline.folder / "mine.yaml")
    recipe = f'overrides=["training.agent={pipeline.folder}/recipe.yaml"]'
    created = team.prefect("deployment", "run", "gaelp/full-pipeline", "--param", f"config={config}", "--param", recipe)
    assert "Created flow run" in created
    pipeline.until(pipeline.questions, PATIENCE_S, "the gate")
    [question] = pipeline.questions()
    pipeline.gaelp(
        "gate", "approve", question["run_id"], "--verdict", question["code"], "--why", "good", "--who", "Ada"
    )
    pipeline.until(lambda: "Completed" in pipeline.gaelp("status", question["run_id"]), PATIENCE_S, "the end")


def test_two_homes_on_the_teams_server_execute_their_own_runs_only(team, own_pipeline):
    team.start("server", "start", "--host", "127.0.0.1", "--port", str(team.pipeline.port))
    team.pipeline.until(lambda: healthy(team.pipeline.api), 180, "the server")
    mine, other = own_pipeline(shared=True), own_pipeline(shared=True)
    for home in (mine, other):
        home.api, home.variables = team.pipeline.api, {"PREFECT_API_AUTH_STRING": PASSWORD}
        home.start()
    runs = {mine.begin(**FAILS_AT_ONCE) for _ in range(3)}  # either runner could take any of them
    for flow_run_id in runs:
        mine.wait_for(flow_run_id, "Failed", seconds=PATIENCE_S)
    assert {flow_run_id for flow_run_id in runs if flow_run_id in mine.log()} == runs
    assert {flow_run_id for flow_run_id in runs if flow_run_id in other.log()} == set()
    mine.stop()
    other.stop()


def test_two_homes_on_one_machine_have_a_server_each_and_execute_their_own_runs_only(own_pipeline):
    mine, other = own_pipeline(named=False).start(), own_pipeline(named=False).start()
    assert mine.port != other.port
    assert mine.password != other.password
    runs = mine.begin(**FAILS_AT_ONCE), other.begin(**FAILS_AT_ONCE)
    for home, flow_run_id in zip((mine, other), runs, strict=True):
        home.wait_for(flow_run_id, "Failed", seconds=PATIENCE_S)
        assert [run for run in runs if run in home.log()] == [flow_run_id]
    known_here = mine.post("/flow_runs/filter", {"flow_runs": {"id": {"any_": [runs[1]]}}})
    assert known_here == [], "the other home's run is on the other server"


def healthy(api):
    try:
        return httpx.get(f"{api}/health").status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False
