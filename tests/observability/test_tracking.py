import contextlib
import io
import json
import math
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import BaseModel, SecretStr

from gaelp.clock import ManualClock
from gaelp.errors import BadInput, ComponentMissing, ConfigError
from gaelp.observability.logs import configure
from gaelp.observability.redact import MASK, register_secrets
from gaelp.observability.tracking import (
    MLFLOW_ENVIRONMENT,
    MlflowTracker,
    NoTracker,
    Tracker,
    flat_params,
    local_uri,
)

START = datetime(2026, 11, 16, tzinfo=UTC)
RUN = "20261116-020641-7f3a9c"


def tracker_in(home, run_id=RUN, *, clock=None):
    return MlflowTracker(local_uri(home), "simulation", run_id, clock=clock or ManualClock(START), environ=os.environ)


@pytest.fixture(scope="module", autouse=True)
def environment():
    """What a tracker sets in the environment is gone after these tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in MLFLOW_ENVIRONMENT.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def tables(tmp_path_factory, environment):
    """A database with MLflow's tables and no run: MLflow takes two seconds to make them."""
    home = tmp_path_factory.mktemp("tables")
    tracker = MlflowTracker(local_uri(home), "unused", "unused", clock=ManualClock(START), environ=os.environ)
    tracker.start()
    assert tracker.lost_records == 0
    return home / "mlflow.db"


@pytest.fixture
def home(tmp_path, tables):
    """A home folder whose name is hard to write in an address."""
    folder = tmp_path / "a b%20#é"
    folder.mkdir()
    shutil.copy(tables, folder)
    return folder


@pytest.fixture
def logged():
    """The structured log lines so far."""
    stream = io.StringIO()
    configure(format="json", stream=stream)
    return lambda: [json.loads(line) for line in stream.getvalue().splitlines()]


@contextlib.contextmanager
def full_disk():
    """No file grows beyond a page: what a full disk does to SQLite."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def stored(home):
    """Every run MLflow knows of in a home, read with a client of its own."""
    from mlflow.tracking import MlflowClient  # noqa: PLC0415 - seconds that a run of other tests need not spend

    client = MlflowClient(tracking_uri=local_uri(home))
    experiment = client.get_experiment_by_name("simulation")
    return client, client.search_runs([experiment.experiment_id])


def history(client, run, name):
    return [(point.step, point.value) for point in client.get_metric_history(run.info.run_id, name)]


# Parameters as text


def test_a_nested_configuration_becomes_dotted_names_and_text():
    class Net(BaseModel):
        widths: tuple[int, ...] = (64, 64)
        layer_norm: bool = False

    config = {"agent": {"net": Net(), "lr": 3e-4, "name": "ppo"}, "home": None, "extra": {}, "odd~key": 1}
    assert flat_params(config) == {
        "agent.net.widths": "[64, 64]",
        "agent.net.layer_norm": "false",
        "agent.lr": "0.0003",
        "agent.name": "ppo",
        "home": "null",
        "extra": "{}",
        "odd_key": "1",
    }


def test_secrets_do_not_reach_the_parameters():
    register_secrets(["hunter2hunter2"])
    config = {"api_key": "k-123456", "url": "see hunter2hunter2", "deep": [{"password": "p"}], "s": SecretStr("x")}
    text = json.dumps(flat_params(config))
    assert not any(secret in text for secret in ("k-123456", "hunter2", '"p\\"'))
    assert flat_params(config)["api_key"] == MASK


def test_a_long_value_is_cut_at_the_limit_and_says_so():
    cut = flat_params({"text": "x" * 7000})["text"]
    assert len(cut) == 6000
    assert cut.endswith("… [cut: 7000 characters]")
    assert flat_params({"text": "x" * 6000})["text"] == "x" * 6000


def test_a_configuration_without_names_is_refused():
    with pytest.raises(BadInput, match="config is a list"):
        flat_params([1, 2])


# A run in MLflow


def test_a_run_shows_its_parameters_metrics_and_artifacts_below_home(home, monkeypatch):
    from mlflow.tracking import MlflowClient  # noqa: PLC0415 - as above

    batches = []
    real = MlflowClient.log_batch
    monkeypatch.setattr(MlflowClient, "log_batch", lambda *args, **kw: batches.append(kw) or real(*args, **kw))
    tracker: Tracker = tracker_in(home)
    tracker.start()
    tracker.params({f"key{number}": number for number in range(250)} | {"long": "x" * 9000})
    batches.clear()
    for step in range(3):
        tracker.metrics({f"loss/{number}": step + number for number in range(20)}, step=step)
    assert len(batches) == 3
    (home / "notes.txt").write_text("hello")
    (home / "plots").mkdir()
    (home / "plots" / "one.svg").write_text("<svg/>")
    tracker.artifact(home / "notes.txt")
    tracker.artifact(home / "plots")
    tracker.end("stopped")
    client, [run] = stored(home)
    assert (run.data.tags["gaelp.run_id"], run.info.run_name, run.info.status) == (RUN, RUN, "KILLED")
    assert len(run.data.params) == 251
    assert history(client, run, "loss/7") == [(0, 7.0), (1, 8.0), (2, 9.0)]
    assert {path.relative_to(home).parts[0] for path in home.rglob("one.svg")} == {"plots", "mlflow-artifacts"}
    assert len(list((home / "mlflow-artifacts").rglob("notes.txt"))) == 1
    assert tracker.lost_records == 0


def test_a_resumed_run_goes_on_in_the_same_place_without_showing_a_step_twice(home):
    clock = ManualClock(START)
    killed = tracker_in(home, clock=clock)
    killed.start()
    killed.params({"seed": 7, "steps": 100})
    for step in range(4):
        killed.metrics({"reward": step / 10, "kl": math.nan if step == 3 else 0.1}, step=step)
    clock.advance(timedelta(hours=1))
    resumed = tracker_in(home, clock=clock)
    resumed.start()
    resumed.params({"seed": 7, "steps": 200, "new": True})
    for step in range(2, 6):
        resumed.metrics({"reward": step / 10, "kl": math.nan if step == 3 else 0.1}, step=step)
    resumed.metrics({"reward": -1.0}, step=2)
    resumed.end("finished")
    client, [run] = stored(home)
    assert sorted(history(client, run, "reward")) == [
        (0, 0.0),
        (1, 0.1),
        (2, -1.0),
        (2, 0.2),
        (3, 0.3),
        (4, 0.4),
        (5, 0.5),
    ]
    assert run.data.params == {"seed": "7", "steps": "100", "new": "true"}
    assert run.data.tags["gaelp.changed.steps"] == "200"
    assert json.loads(run.data.tags["gaelp.non_finite.kl"])["count"] == 1
    assert run.info.status == "FINISHED"
    assert killed.lost_records == resumed.lost_records == 0


def test_another_run_id_is_another_run(home):
    for run_id in ("a", "b"):
        tracker = tracker_in(home, run_id)
        tracker.start()
        tracker.end("finished")
    assert {run.data.tags["gaelp.run_id"] for run in stored(home)[1]} == {"a", "b"}


def test_values_that_are_not_finite_are_counted_in_a_tag_and_the_others_are_kept(home):
    tracker = tracker_in(home)
    tracker.start()
    tracker.metrics({"loss": math.nan, "reward": 0.5}, step=1)
    tracker.metrics({"loss": 2.0}, step=2)
    tracker.metrics({"loss": -math.inf}, step=3)
    client, [run] = stored(home)
    assert json.loads(run.data.tags["gaelp.non_finite.loss"]) == {"count": 2, "last": "-inf", "last_step": 3}
    assert history(client, run, "loss") == [(2, 2.0)]
    assert history(client, run, "reward") == [(1, 0.5)]
    assert "gaelp.non_finite.reward" not in run.data.tags


# When MLflow fails


def test_a_full_disk_does_not_stop_the_run_and_is_told_once_and_counted(home, logged):
    tracker = tracker_in(home)
    tracker.start()
    tracker.metrics({"reward": 0.1}, step=0)
    with full_disk():
        for step in range(1, 4):
            tracker.metrics({f"m{number}": step for number in range(800)}, step=step)
    assert tracker.lost_records == 3
    [warning] = logged()
    assert (warning["level"], warning["lost"]) == ("warning", "metrics of step 1")
    assert "OperationalError" in warning["problem"]
    for step in range(4, 9):
        tracker.metrics({"reward": 0.2}, step=step)
    tracker.end("finished")
    client, [run] = stored(home)
    # After the second failure, at step 3, MLflow is left in peace for three calls.
    assert history(client, run, "reward") == [(0, 0.1), (7, 0.2), (8, 0.2)]
    assert (tracker.lost_records, run.data.tags["gaelp.lost_records"]) == (6, "6")
    assert [line["event"].split()[0:2] for line in logged()] == [["MLflow", "tracking"], ["MLflow", "lacks"]]
    assert logged()[-1]["lost_records"] == tracker.lost_records


def test_a_run_that_could_not_be_opened_is_opened_by_a_later_call(home, logged):
    database = (home / "mlflow.db").read_bytes()
    (home / "mlflow.db").write_text("this is no database, and long enough that SQLite can tell. " * 20)
    tracker = tracker_in(home)
    tracker.start()
    tracker.params({"seed": 1})
    assert tracker.lost_records == 2
    (home / "mlflow.db").write_bytes(database)
    for step in range(3):
        tracker.metrics({"reward": 0.1}, step=step)
    tracker.end("finished")
    client, [run] = stored(home)
    assert (2, 0.1) in history(client, run, "reward")
    assert logged()[0]["lost"] == "the start of the run"


def test_an_artifact_that_is_not_there_is_lost_and_told(home, logged):
    tracker = tracker_in(home)
    tracker.start()
    tracker.artifact(home / "absent.txt")
    assert tracker.lost_records == 1
    assert logged()[0]["lost"] == "artifact absent.txt"


@pytest.mark.slow
def test_a_locked_database_costs_one_wait_and_not_one_for_each_step(home, logged):
    tracker = tracker_in(home)
    tracker.start()
    blocker = sqlite3.connect(home / "mlflow.db", isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    tracker.metrics({"reward": 0.1}, step=1)
    tracker.metrics({"reward": 0.1}, step=2)
    blocker.execute("ROLLBACK")
    blocker.close()
    tracker.metrics({"reward": 0.1}, step=3)
    tracker.end("finished")
    client, [run] = stored(home)
    assert history(client, run, "reward") == [(3, 0.1)]
    assert tracker.lost_records == 2
    assert "locked" in logged()[0]["problem"]


# Alone and quiet

SCRIPT = """
import os, socket, sys
from datetime import UTC, datetime
from pathlib import Path
from gaelp.clock import ManualClock
from gaelp.errors import BadInput
from gaelp.observability.tracking import MlflowTracker, local_uri

def refuse(*args, **kwargs):
    raise AssertionError(f"a connection was tried: {args}")

socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
assert "mlflow" not in sys.modules, "MLflow is imported before it is needed"
home, run_id, environ = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
tracker = MlflowTracker(
    local_uri(home), "simulation", run_id, clock=ManualClock(datetime(2026, 11, 16, tzinfo=UTC)),
    environ=os.environ if environ == "own" else {},
)
try:
    tracker.start()
except BadInput as problem:
    sys.exit(f"refused: {problem}")
tracker.params({"seed": 1})
tracker.metrics({"reward": 0.5}, step=1)
tracker.end("finished")
print(tracker.lost_records, os.environ["MLFLOW_DISABLE_TELEMETRY"], os.environ["DO_NOT_TRACK"])
"""


def started(home, run_id, environ="own"):
    # Neither pytest nor a build server may be what keeps MLflow quiet.
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "PYTHONPATH", "LANG"}}
    user = home.parent / f"user-{run_id}"
    user.mkdir()
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(home), run_id, environ],
        env=kept | {"HOME": str(user)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def assert_tracked_in_silence(process):
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out.split(), err) == (0, ["0", "true", "1"], "")


def test_a_run_is_tracked_without_network_telemetry_or_a_trace_in_the_users_folder(tmp_path, home):
    assert_tracked_in_silence(started(home, "one"))
    assert {run.data.tags["gaelp.run_id"] for run in stored(home)[1]} == {"one"}
    assert list((tmp_path / "user-one").iterdir()) == []


@pytest.mark.slow
def test_two_runs_that_start_together_on_a_new_home_are_both_tracked(tmp_path):
    home = tmp_path / "home"
    for process in [started(home, run_id) for run_id in ("one", "two")]:
        assert_tracked_in_silence(process)
    assert {run.data.tags["gaelp.run_id"] for run in stored(home)[1]} == {"one", "two"}


@pytest.mark.slow
def test_an_environment_that_leaves_telemetry_on_is_refused(tmp_path):
    process = started(tmp_path / "home", "one", "none")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "refused: MLflow's telemetry is still on" in err


# Wrong use


def test_without_mlflow_the_way_out_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow.telemetry", None)
    with pytest.raises(ComponentMissing, match="Install `mlflow`, or switch tracking off"):
        tracker_in(tmp_path).start()


@pytest.mark.parametrize("uri", ["http://127.0.0.1:5000", "sqlite://", "sqlite:///", "sqlite:///a?b.db", "mlruns"])
def test_an_address_that_is_no_sqlite_file_is_refused(uri):
    with pytest.raises(ConfigError, match="allowed is sqlite:///"):
        MlflowTracker(uri, "simulation", RUN, clock=ManualClock(START), environ={})


@pytest.mark.parametrize("run_id", ["", "it's", "a b", "x" * 201])
def test_a_run_id_that_could_not_be_searched_for_is_refused(tmp_path, run_id):
    with pytest.raises(BadInput, match="run id"):
        tracker_in(tmp_path, run_id)


def test_a_call_before_the_start_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"metrics of step 1: tracking is not started; call start\(\) first"):
        tracker_in(tmp_path).metrics({"reward": 1.0}, step=1)


def test_tracking_that_is_switched_off_writes_nothing(tmp_path):
    tracker: Tracker = NoTracker()
    tracker.start()
    tracker.params({"a": 1})
    tracker.metrics({"reward": math.nan}, step=1)
    tracker.artifact(tmp_path / "absent")
    tracker.end("failed")
    assert tracker.lost_records == 0
    assert list(tmp_path.iterdir()) == []
