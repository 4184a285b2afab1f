import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys

import pytest
import torch
import yaml

from gaelp.config.places import repository_root
from gaelp.config.write import write_models
from gaelp.gates import load_gate
from gaelp.market.baselines.tuned import TunedBidder, TunedRules, market_fingerprint
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.market.spec import MarketSpec
from gaelp.phases.data_evidence import without_data_rules

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
        "gate": {"files": {"simulation": "gate.yaml"}},
    }
    gate = without_data_rules(load_gate("simulation"))  # what is tried here is training, not the jobs after it
    (here / "gate.yaml").write_text(yaml.safe_dump(gate.model_dump(mode="json", exclude_none=True, exclude={"file"})))
    (here / "mine.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    return here


def test_help_teaches_how_to_train_how_to_resume_and_where_everything_goes(gaelp):
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
    cause = "Stopped: by a guardrail after round 0: loss: value_loss is"
    assert " ".join(gaelp("status", "stopped").stdout.split()).startswith(f"run stopped: {cause}")
    assert json.loads(gaelp("runs", "--json").stdout)[0]["state"].startswith(cause)
    (mine / "recipe.yaml").write_text(yaml.safe_dump(RECIPE), encoding="utf-8")
    assert gaelp(*MINE, "--run", "whole", "--set", "training.rounds=1").exit_code == 0
    compared = " ".join(gaelp("compare", "stopped", "whole").stdout.split())
    assert "Run stopped was stopped early: its figures are not those of a whole training." in compared
    assert "Run whole was" not in compared


BROKEN_AGENT = """
from dataclasses import replace
from gaelp.agents.catalog import AgentKind, find_agent

ppo = find_agent("ppo")

class Mine:
    name = "mine"

    def __init__(self, learner):
        self.learner = learner

    def __getattr__(self, name):
        return getattr(self.learner, name)

    def act(self, obs, *, explore):
        return self.learner.act(obs, explore=explore)

    def observe(self, step):
        self.learner.observe(step)

    def cut(self):
        self.learner.cut()

    def update(self, progress):
        return len(progress)

    def state(self):
        return self.learner.state()

    def load_state(self, state):
        self.learner.load_state(state)

def build(spaces, config, /, *, seed):
    return Mine(ppo.build(spaces, config, seed=seed))

KIND = replace(ppo, name="mine", build=build)
"""


def test_an_agent_that_implements_the_protocol_itself_is_named_when_it_fails_and_the_run_records_why(
    gaelp, mine, monkeypatch
):
    monkeypatch.syspath_prepend(mine)
    monkeypatch.setitem(sys.modules, "mine_agent", None)  # afterwards it is as before: others use the name
    monkeypatch.delitem(sys.modules, "mine_agent")
    (mine / "mine_agent.py").write_text(BROKEN_AGENT, encoding="utf-8")
    info = mine / "mine_agent-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine-agent\nVersion: 0.1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[gaelp.agents]\nmine = mine_agent:KIND\n", encoding="utf-8")
    (mine / "recipe.yaml").write_text(yaml.safe_dump(RECIPE | {"algorithm": "mine"}), encoding="utf-8")
    result = gaelp(*MINE, "--run", "broken")
    line = next(number for number, text in enumerate(BROKEN_AGENT.splitlines(), 1) if "len(progress)" in text)
    cause = (
        f"your agent mine raised TypeError: object of type 'float' has no len()\nat mine_agent.py:{line}, in update."
    )
    assert (result.exit_code, "defect" in result.stderr) == (1, False)
    assert f"error: {cause}" in result.stderr
    [run] = json.loads(gaelp("runs", "--json").stdout)
    assert run["state"].startswith(f"Failed: {cause}")
    assert "Failed: your agent mine raised TypeError" in gaelp("runs").stdout.replace("\n", " ")


def test_ctrl_c_names_what_was_kept_and_the_command_that_resumes_the_run_to_its_end(gaelp, mine):
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
    [kept, advice] = re.findall(
        r"^kept: everything up to round (\d+), in .*; `gaelp (train .*)` resumes run cut", told, re.MULTILINE
    )[0]
    assert int(kept) >= 1
    assert sorted(shlex.split(advice)) == sorted(asked)
    assert told.endswith(f"interrupted; what was written until then is in {mine / '.gaelp'}\n")
    assert not (mine / ".gaelp/runs/cut/simulation/1/simulation.json").exists()
    assert f"Stopped: by hand after round {kept}: `gaelp resume cut`" in gaelp("status", "cut").stdout
    result = gaelp(*shlex.split(advice), "--json")
    assert result.exit_code == 0, result.stderr
    assert re.search(r"^Resumed after round \d+ from \d+-step-\d+\.safetensors\.$", result.stderr, re.MULTILINE)
    assert json.loads(result.stdout)["rounds"] > 2
    assert "trained, gate simulation says" in gaelp("status", "cut").stdout


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
    assert "Run first has finished training: nothing is left to resume." in again.stdout
    assert "gaelp gate show first" in again.stdout


def test_the_table_of_rules_has_the_agents_of_runs_as_they_were_judged(gaelp, mine):
    trained = json.loads(gaelp(*MINE, "--run", "mine-7", "--set", "training.rounds=1", "--json").stdout)
    second = mine / ".gaelp" / "runs" / "mine-7" / "simulation" / "2"
    shutil.copytree(second.with_name("1"), second)  # another attempt: the last one counts
    stored = json.loads((second / "simulation.json").read_text(encoding="utf-8"))
    (second / "simulation.json").write_text(json.dumps(stored | {"learned": not stored["learned"]}), encoding="utf-8")
    asked = (
        "market",
        "compare",
        "--market",
        "tiny.yaml",
        "--tuned",
        "tuned.yaml",
        "--episodes",
        2,
        "--agents",
        ".gaelp",
    )
    result = gaelp(*asked)
    assert result.exit_code == 0, result.stderr
    _, table, leads = re.split(r"All markets and objectives\n|\nTrained agents.*\n", result.stdout)
    reward, spent = trained["metrics"]["reward"], re.escape(f"{trained['metrics']['budget_used']:.1%}")
    assert re.search(rf"^tiny +value +mine-7 +{reward:.3f} ± [\d.]+ +{spent} ", table, re.MULTILINE)
    assert re.search(r"^mine-7 +[+-][\d.]+ \([+-][\d.]+ \.\. [+-][\d.]+\) +-$", leads, re.MULTILINE)
    (agent,) = json.loads(gaelp(*asked, "--json").stdout)["agents"]
    assert (agent["run_id"], agent["episodes"], agent["learned"]) == ("mine-7", 16, not stored["learned"])
