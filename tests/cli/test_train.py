import json
import os
import re
import shlex
import signal
import subprocess
import sys

import pytest
import torch
import yaml

from gaelp.config.places import repository_root
from gaelp.config.write import write_models
from gaelp.market.baselines.tuned import TunedBidder, TunedRules, market_fingerprint
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.market.spec import MarketSpec

RECIPE = {
    "algorithm": "ppo",
    "settings": {"network": {"hidden": [8]}, "steps_per_update": 24},
    "arena": {"rows": 16, "validation_episodes": 8},
    "loop": {"rounds": 4, "validate_every": 2},
}
TOO_STRICT = {"metric": "value_loss", "bound": "at_most", "limit": -1, "response": "stop", "why": "tried out"}
MINE = ("train", "--config", "mine.yaml", "--tuned", "tuned.yaml")


@pytest.fixture(autouse=True)
def _threads_as_before():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def tiny():
    """A market that takes moments, and its rules with their default parameters."""
    small = {"name": "tiny", "days": 1, "segments": 2, "volume": {"per_hour": 40}}
    spec = MarketSpec.model_validate(load_market_spec("calm").model_dump(exclude={"volume"}) | small)
    fingerprint = market_fingerprint(build_market(spec, load_persona_table("personas")))
    bidders = {key: TunedBidder(score=0.9, parameters={}) for key in ("constant", "lin", "mpc")}
    return spec, TunedRules(market="tiny", fingerprint=fingerprint, seed=1, trials=1, campaigns=1, bidders=bidders)


@pytest.fixture
def mine(here, tiny):
    """The current folder with everything that MINE names."""
    write_models({here / "tiny.yaml": tiny[0], here / "tuned.yaml": tiny[1]})
    (here / "recipe.yaml").write_text(yaml.safe_dump(RECIPE), encoding="utf-8")
    config = {
        "market": {"name": "tiny.yaml"},
        "evaluation": {"episodes": 16},
        "training": {"agent": "recipe.yaml", "tracking": False},
    }
    (here / "mine.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    return here


def test_help_teaches_how_to_train_how_to_go_on_and_where_everything_goes(gaelp):
    result = gaelp("train", "--help")
    assert result.exit_code == 0
    text = " ".join(re.sub(r"[│╭╮╰╯─]", " ", result.stdout).split())
    for taught in (
        "gaelp train --config quick-test",
        "resume a run",
        "configs/agents/",
        "runs/ID",
        "--set",
        "mlflow",
    ):
        assert taught in text


def test_a_run_shows_the_comparison_the_interval_and_what_it_means(gaelp, mine):
    result = gaelp(*MINE, "--run", "first")
    assert result.exit_code == 0, result.stderr
    assert "run first: ppo on market tiny, in .gaelp/runs/first\n" in result.stderr
    line = r"^Round 4: validation reward 0\.\d{4}, [+-]0\.\d{4} ±0\.\d{4} against the rule\. \d of 6 goals are met; "
    assert re.search(line, result.stderr, re.MULTILINE)
    assert "Finished after round 4: 4 rounds are done." in result.stderr
    assert "Market tiny (easy on purpose), 16 held-out episodes" in result.stdout
    assert re.search(r"agent \(.*\)\s+this market\s+shifted market", result.stdout)
    assert re.search(r"^reward\s+0\.\d{3} \(0\.\d{3} \.\. \d\.\d{3}\)\s+0\.\d{3} \(", result.stdout, re.MULTILINE)
    assert re.search(r"^No bidder reached a lead_over_constant_lower_95 of 0\.05", result.stdout, re.MULTILINE)
    assert re.search(r"^Run first: ", result.stdout, re.MULTILINE)


def test_json_is_one_object_on_stdout_and_the_result_on_disk(gaelp, mine):
    result = gaelp(*MINE, "--run", "first", "--set", "training.rounds=1", "--json")
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert told == json.loads((mine / ".gaelp/runs/first/simulation/1/simulation.json").read_text(encoding="utf-8"))
    assert (told["run_id"], told["rounds"]) == ("first", 1)


def test_a_run_without_a_name_gets_a_new_one_each_time(gaelp, mine):
    told = [json.loads(gaelp(*MINE, "--set", "training.rounds=1", "--json").stdout)["run_id"] for _ in range(2)]
    assert len(set(told)) == 2
    assert sorted(path.name for path in (mine / ".gaelp/runs").iterdir()) == sorted(told)


@pytest.mark.parametrize("name", ["../elsewhere", "a b", ".hidden", "x" * 65, "ä"])
def test_a_name_that_is_none_is_bad_input_and_nothing_is_written(gaelp, mine, name):
    before = sorted(mine.rglob("*"))
    result = gaelp(*MINE, "--run", name)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--run: saw" in result.stderr
    assert sorted(mine.rglob("*")) == before


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("training.agent=pppo", "Did you mean ppo?"),
        ("training.curriculum=quik", "Did you mean quick?"),
        ("market.name=calmm", "Did you mean calm?"),
        ("training.rounds=0", "training.rounds"),
        ("training.threads=0", "training.threads"),
    ],
)
def test_what_is_not_there_is_bad_input_and_the_nearest_is_named(gaelp, mine, setting, told):
    result = gaelp(*MINE, "--set", setting)
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr
    assert not (mine / ".gaelp").exists()


def test_a_market_without_tuned_rules_is_told_with_the_command_that_tunes_them(gaelp, mine):
    result = gaelp("train", "--config", "mine.yaml")
    assert result.exit_code == 2
    assert "gaelp market tune tiny.yaml --config mine.yaml" in result.stderr


def test_another_configuration_under_the_same_name_is_refused(gaelp, mine):
    assert gaelp(*MINE, "--run", "first", "--set", "training.rounds=1").exit_code == 0
    result = gaelp(*MINE, "--run", "first", "--set", "training.rounds=2")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "configuration" in result.stderr


def test_a_run_that_a_guardrail_stopped_shows_its_figures_and_exits_3(gaelp, mine):
    recipe = RECIPE | {"loop": RECIPE["loop"] | {"guardrails": {"rules": {"loss": TOO_STRICT}}}}
    (mine / "recipe.yaml").write_text(yaml.safe_dump(recipe), encoding="utf-8")
    result = gaelp(*MINE, "--run", "stopped")
    assert result.exit_code == 3
    assert "a guardrail stopped run stopped after round 0: loss: value_loss is" in result.stderr
    assert "this market" in result.stdout
    assert json.loads((mine / ".gaelp/runs/stopped/simulation/1/simulation.json").read_text())["stopped"] == "guardrail"


def test_ctrl_c_leaves_a_run_that_goes_on_to_the_end(gaelp, mine):
    asked = [*MINE, "--run", "cut", "--set", "training.rounds=20"]
    env = {**os.environ, "PYTHONPATH": str(repository_root())}
    command = [sys.executable, "-m", "gaelp.cli", *asked]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as running:
        assert running.stderr.readline().startswith("run cut: ppo on market tiny")
        assert running.stderr.readline() == "there is no run cut yet: beginning it\n"
        assert running.stderr.readline() == "preparing to train\n"
        assert running.stderr.readline() == "training: round 0 of 20, 0 s so far\n"
        assert running.stderr.readline().startswith("Round 2: validation reward")
        running.send_signal(signal.SIGINT)
        out, told = running.communicate(timeout=60)
    assert (running.returncode, out) == (130, "")
    [advice] = re.findall(r"`gaelp (train .*)` resumes run cut", told)
    assert sorted(shlex.split(advice)) == sorted(asked)
    assert told.endswith(f"interrupted; what was written until then is in {mine / '.gaelp'}\n")
    assert not (mine / ".gaelp/runs/cut/simulation/1/simulation.json").exists()
    result = gaelp(*shlex.split(advice), "--json")
    assert result.exit_code == 0, result.stderr
    assert re.search(r"^Resumed after round \d+ from \d+-step-\d+\.safetensors\.$", result.stderr, re.MULTILINE)
    assert json.loads(result.stdout)["rounds"] > 2


@pytest.mark.parametrize("tracking", ["false", pytest.param("true", marks=pytest.mark.slow)])
def test_every_file_of_a_fresh_home_is_for_its_owner_alone(mine, tracking):
    home = mine / "fresh-home"
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GAELP")}
    keys = str(mine / "keys")
    for words in (
        [*MINE, "--set", f"training.tracking={tracking}"],
        ["keys", "new", "ann", "--no-passphrase", "--out", keys],
        ["keys", "trust", f"{keys}/ann.pub.json", "--role", "finance"],
        ["kill", "--reason", "a drill"],
    ):
        command = [sys.executable, "-m", "gaelp.cli", *words]
        done = subprocess.run(
            command,
            cwd=mine,
            env=environ | {"GAELP_HOME": str(home)},
            umask=0o022,
            check=False,
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert done.returncode == 0 or "STOPPED IN PART" in done.stderr, done.stderr  # there is no ledger to fence
    files = [path for path in home.rglob("*") if path.is_file()]
    assert {"approvers.yaml", "alerts.json"} <= {path.name for path in files}
    assert any(path.suffix == ".safetensors" for path in files)
    assert [path for path in files if path.stat().st_mode & 0o077] == []


def test_runs_of_train_are_listed_shown_and_compared(gaelp, mine):
    for run, rounds in (("first", 1), ("second", 2)):
        assert gaelp(*MINE, "--run", run, "--set", f"training.rounds={rounds}").exit_code == 0
    listed = json.loads(gaelp("runs", "--json").stdout)
    assert [(run["run_id"], run["driver"], run["config"]) for run in listed] == [
        ("first", "train", "mine.yaml"),
        ("second", "train", "mine.yaml"),
    ]
    assert all(run["state"].startswith("trained, gate simulation says ") for run in listed)
    assert "in gaelp train" in gaelp("status", "first").stdout
    compared = gaelp("compare", "first", "second")
    assert compared.exit_code == 0, compared.stderr
    rows = {line.split()[0]: line.split()[1:] for line in compared.stdout.splitlines() if line.split()}
    assert rows["training.rounds"] == ["1", "2"]
    assert rows["market"] == ["tiny", "tiny"]
    assert max(map(len, compared.stdout.splitlines())) <= 100
    figures = json.loads(gaelp("compare", "first", "second", "--json").stdout)
    reward = figures["runs"][0]["figures"]["reward"]
    assert reward["lower_95"] <= reward["value"] <= reward["upper_95"]
    again = gaelp("resume", "first")
    assert again.exit_code == 0, again.stderr
    assert "Run first: " in again.stdout
