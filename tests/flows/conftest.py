"""The pipeline as users have it: `gaelp up` in a process of its own, on a free port, with a home of its own."""

import base64
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import httpx
import pytest
import yaml

from gaelp.config import load_settings
from gaelp.config.places import repository_root
from gaelp.gates import Evidence, judge, load_gate
from gaelp.phases.gate_approval import gate_approvals

# Small enough for seconds, on the default market, so that the first gate has something to pass.
RECIPE = {
    "algorithm": "ppo",
    "settings": {"network": {"hidden": [8]}, "steps_per_update": 24, "normalise_obs": True},
    "rule": "mpc",
    "arena": {"rows": 16, "validation_episodes": 8},
    "loop": {"rounds": 2, "validate_every": 2, "save_every": 1},
}
CONFIG = {
    "run": {"until": "simulation"},  # later phases have tests of their own
    "evaluation": {"episodes": 100},
    "training": {"agent": "recipe.yaml", "tracking": False},
    "gate": {"files": {"simulation": "gate.yaml"}},
}
NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
# One for all questions: each new client reads the certificates of this machine, which takes longer than most answers.
HTTP = httpx.Client(timeout=120, limits=httpx.Limits(max_keepalive_connections=0), verify=False)  # noqa: S501 - no TLS
GAELP = (sys.executable, "-m", "gaelp.cli")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def gate_for_few_episodes():
    """The shipped first gate, with limits of rare failures that 100 episodes can show, and without the data jobs.

    Those take longer than such a run; tests/flows/test_data_jobs.py runs them.
    """
    gate = yaml.safe_load((repository_root() / "configs/gates/simulation.yaml").read_text(encoding="utf-8"))
    gate["criteria"] = [rule for rule in gate["criteria"] if rule["sample_metric"] != "checked_rows"]
    for rule in gate["criteria"]:
        rule["minimum_sample"] = 100
        if "at_most" in rule:
            rule["at_most"] = 0.05
        if rule["metric"] == "worst_group_lead":
            rule["at_least"] = -0.2
    return gate


class Pipeline:
    """A folder with a configuration, and a `gaelp up` that serves from it.

    Where no address is named, `gaelp up` chooses one; on a shared server the deployments carry the home's id.
    """

    def __init__(self, folder: Path, *, named=True, shared=False, **config):
        self.folder = folder
        self.named, self.shared = named, shared
        # In memory where that is possible: on a busy disk SQLite makes the server wait, sometimes for a minute.
        memory = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it
        self._away = Path(tempfile.mkdtemp(prefix="gaelp-home-", dir=memory if os.access(memory, os.W_OK) else folder))
        self.home = self._away / "home"
        self.port = free_port()
        self.api = f"http://127.0.0.1:{self.port}/api"
        self.up = None
        self.variables = {}  # further variables of the environment
        self._csrf = {}
        (folder / "recipe.yaml").write_text(yaml.safe_dump(RECIPE), encoding="utf-8")
        (folder / "gate.yaml").write_text(yaml.safe_dump(gate_for_few_episodes()), encoding="utf-8")
        self.money = free_port()
        mine = CONFIG | {"api": {"port": self.money}} | config
        (folder / "mine.yaml").write_text(yaml.safe_dump(mine), encoding="utf-8")

    def add_long_recipe(self):
        """Add long.yaml, which trains until it is stopped: it is not validated, so that nothing ends it early."""
        loop = RECIPE["loop"] | {"validate_every": 10_000}
        (self.folder / "long.yaml").write_text(yaml.safe_dump(RECIPE | {"loop": loop}), encoding="utf-8")

    @property
    def environ(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "GAELP_"))}
        address = {"PREFECT_API_URL": self.api} if self.named else {}
        often = {"PREFECT_RUNNER_POLL_FREQUENCY": "1"}  # a user's runner looks for runs every ten seconds
        return kept | {"GAELP_HOME": str(self.home), "NO_COLOR": "1"} | often | address | self.variables

    @property
    def password(self):
        return self.variables.get("PREFECT_API_AUTH_STRING") or self.kept("password")

    @property
    def pipeline_name(self):
        return f"full-pipeline-{self.kept('home-id')}" if self.shared else "full-pipeline"

    def kept(self, name):
        """What the home keeps in a file of this name."""
        return (self.home / "prefect" / name).read_text(encoding="utf-8").strip()

    @property
    def login(self):
        """The header that the server asks of every caller."""
        return {"Authorization": f"Basic {base64.b64encode(self.password.encode()).decode()}"}

    def csrf(self):
        """The headers that it asks for before it changes anything."""
        client = str(uuid.uuid4())
        answer = HTTP.get(f"{self.api}/csrf-token", params={"client": client}, headers=self.login)
        answer.raise_for_status()
        return {"Prefect-Csrf-Client": client, "Prefect-Csrf-Token": answer.json()["token"]}

    def start(self):
        with (self.folder / "up.log").open("ab") as log:
            command = [*GAELP, "up", "--config", "mine.yaml", *(("--port", str(self.port)) if self.named else ())]
            self.up = subprocess.Popen(
                command, cwd=self.folder, env=self.environ, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
        self.until(self.served, 180, "the deployments")
        return self

    def served(self):
        try:
            if not self.named:
                self.api = json.loads(self.kept("up.json"))["api_url"]
                self.port = int(self.api.removesuffix("/api").rpartition(":")[2])
            return self.deployment("gaelp", self.pipeline_name) is not None
        except (httpx.HTTPError, FileNotFoundError):
            return False

    def stop(self):
        if self.up is not None and self.up.poll() is None:
            self.up.send_signal(signal.SIGTERM)
            self.up.wait(120)

    def clear(self):
        self.stop()
        shutil.rmtree(self._away)

    def log(self):
        return (self.folder / "up.log").read_text(encoding="utf-8")

    def gaelp(self, *words, code=0):
        done = subprocess.run(
            [*GAELP, *words],
            cwd=self.folder,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout if code == 0 else done.stderr

    def python(self, code):
        """What a process prints that talks to this server."""
        command = [sys.executable, "-c", code]
        environ = self.environ | {"PREFECT_API_AUTH_STRING": self.password}
        done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=240, check=True)
        return done.stdout

    def deployment(self, flow, name):
        answer = HTTP.get(f"{self.api}/deployments/name/{flow}/{name}", headers=self.login)
        return answer.json() if answer.status_code == httpx.codes.OK else None

    def begin(self, **parameters):
        """What `prefect deployment run gaelp/full-pipeline` does; returns the id of the flow run."""
        deployed = self.deployment("gaelp", self.pipeline_name)
        body = {"parameters": parameters, "state": {"type": "SCHEDULED"}}
        return self.post(f"/deployments/{deployed['id']}/create_flow_run", body)["id"]

    def failed_run(self):
        """A flow run that has failed; one is begun if there is none, which takes a process of its own."""
        runs = self.post("/flow_runs/filter", {"flow_runs": {"state": {"type": {"any_": ["FAILED"]}}}, "limit": 1})
        return runs[0] if runs else self.wait_for(self.begin(overrides=["no.such.key=1"]), "Failed")

    def what_would_run(self):
        """What an attacker wants to change: the steps of the pipeline's deployment, and the runs somebody started."""
        deployed = self.deployment("gaelp", self.pipeline_name)
        runs = self.post("/flow_runs/filter", {"deployments": {"id": {"any_": [deployed["id"]]}}})
        started = sorted(run["id"] for run in runs if not run["auto_scheduled"])
        return deployed["id"], deployed["pull_steps"], started

    def post(self, path, body):
        """Ask the server; where its database is busy it says 503, and Prefect's own client asks again too."""
        for _ in range(10):
            answer = HTTP.post(f"{self.api}{path}", json=body, headers=self.login | self._csrf)
            if answer.status_code == httpx.codes.FORBIDDEN:
                self._csrf = self.csrf()
            elif answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                assert answer.is_success, answer.text
                return answer.json()
            time.sleep(1)
        raise AssertionError(f"{path}: the server stayed unavailable")

    def flow_run(self, flow_run_id):
        return self.post("/flow_runs/filter", {"flow_runs": {"id": {"any_": [flow_run_id]}}})[0]

    def state(self, flow_run_id):
        return self.flow_run(flow_run_id)["state"]["name"]

    def wait_for(self, flow_run_id, *names, seconds=180):
        self.until(lambda: self.state(flow_run_id) in names, seconds, f"{names} of {flow_run_id}")
        return self.flow_run(flow_run_id)

    def resume(self, flow_run_id, **form):
        """What the form in the UI does when it is sent."""
        return self.post(f"/flow_runs/{flow_run_id}/resume", {"run_input": form})

    def forms(self, flow_run_id):
        """How many forms the server knows of a flow run; it shows a run as suspended a moment before."""
        wanted = {"prefix": "suspended-", "limit": 200, "exclude_keys": []}
        return sum(
            given["key"].endswith("-schema") for given in self.post(f"/flow_runs/{flow_run_id}/input/filter", wanted)
        )

    def retry(self, run_id):
        self.gaelp("resume", run_id, "--config", "mine.yaml")

    def run_id(self, flow_run_id):
        for path in self.home.glob("runs/*/run.json"):
            if json.loads(path.read_text(encoding="utf-8"))["driver_id"] == flow_run_id:
                return path.parent.name
        raise AssertionError(f"no run below {self.home} is driven by {flow_run_id}")

    def waiting(self, run_id):
        """The question that a run waits for an answer to."""
        [question] = self.questions(run_id)
        return question

    def questions(self, run_id=None):
        """What `gaelp gate list --json` shows; read here, as a process of its own takes seconds."""
        settings = load_settings(overrides=[f"home={self.home}"], environ={}).settings
        waiting = gate_approvals(settings).decisions().open_questions(run_id=run_id)
        return [question.model_dump(mode="json") | {"code": question.code} for question in waiting]

    def task_states(self, flow_run_id):
        body = {"flow_runs": {"id": {"any_": [flow_run_id]}}}
        tasks = self.post("/task_runs/filter", body)
        return [(task["name"], task["state"]["name"]) for task in tasks]

    def rounds_trained(self, run_id):
        """How often each round was trained, from the run's own log."""
        lines = (
            (self.home / "runs" / run_id / "simulation" / "1" / "training.jsonl")
            .read_text(encoding="utf-8")
            .splitlines()
        )
        return [report["round"] for report in map(json.loads, lines) if report["report"] == "RoundDone"]

    def parameters(self, run_id):
        """The hash of the parameters that training ended with."""
        manifest = json.loads(
            (self.home / "runs" / run_id / "simulation" / "1" / "manifest.json").read_text(encoding="utf-8")
        )
        return manifest["parameter_hash"]

    def until(self, happened, seconds, what):
        begun = time.monotonic()
        while not happened():
            assert self.up is None or self.up.poll() is None or what == "nothing", (
                f"gaelp up ended\n{self.log()[-3000:]}"
            )
            assert time.monotonic() - begun < seconds, f"waited {seconds} s for {what}\n{self.log()[-3000:]}"
            time.sleep(0.5)


def beside(name):
    """A module of this folder that is no test."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def own_source():
    """The module that copies the source and adds phases to it."""
    return beside("own_source")


@pytest.fixture
def terminal():
    """Starts a command in a terminal: `terminal(command, columns, **environ)`."""
    module, opened = beside("pseudo_terminal"), []

    def start(command, columns=80, **environ):
        opened.append(module.Terminal(command, columns, **environ))
        return opened[-1]

    yield start
    for screen in opened:
        screen.close()


@pytest.fixture(scope="session")
def pipeline_class():
    """The class behind the fixtures below."""
    return Pipeline


_SHARED: list[Pipeline] = []  # none or one


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    """One that is up for all files that use it and run one after the other (see ON_ONE_SERVER in tests/conftest.py)."""
    if not _SHARED:
        _SHARED.append(Pipeline(tmp_path_factory.mktemp("pipeline")).start())
    return _SHARED[0]


def pytest_runtest_teardown(item, nextitem):
    """Stop it before the first file that does not use it: an idle server and its runner take an eighth of a core."""
    if _SHARED and (nextitem is None or not _uses_pipeline(item.session, nextitem.path)):
        _SHARED.pop().clear()


@cache
def _uses_pipeline(session, path):
    return any(item.path == path and "pipeline" in item.fixturenames for item in session.items)


@pytest.fixture
def own_pipeline(tmp_path):
    """Makes pipelines of a test's own, which it may kill."""
    made = []

    def make(**how):
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(Pipeline(folder, **how))
        return made[-1]

    yield make
    for pipeline in made:
        pipeline.clear()


@pytest.fixture
def passing_verdict():
    """A verdict of the first gate that passes."""
    return lambda: verdict_with(0.005, "pass")


@pytest.fixture
def failing_verdict():
    """A verdict of the first gate that fails by every rule."""
    return lambda: verdict_with(-0.005, "fail")


def verdict_with(room, outcome):
    """A verdict on figures that are better than each threshold by `room`."""
    gate = load_gate("simulation")
    metrics = {}
    for rule in gate.criteria:
        figure = rule.threshold + (-room if rule.bound == "at_most" else room)
        if rule.sample_metric == "checked_rows":  # whole numbers
            figure = 0.0 if room > 0 else 1.0
        metrics |= {rule.metric: figure, rule.figure: figure, "episodes": 1000.0, "checked_rows": 1000.0}
    values = {"run_id": "20261116-020641-7f3a9c", "agent": "agent (ppo)", "learned": True, "config_hash": "c0ffee"}
    verdict = judge(gate, Evidence(**values, measured_at=NOW, metrics=metrics), NOW)
    assert verdict.outcome == outcome
    return verdict
