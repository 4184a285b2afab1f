"""Phase 1 trains, chooses and judges, leaves everything a gate needs on disk, and resumes after an interruption."""

import json
import math
import shutil
import sqlite3

import pytest

from gaelp.config.objective import Objective
from gaelp.config.write import write_models
from gaelp.errors import BadInput, ConfigError, DataError, Refused
from gaelp.gates import load_gate
from gaelp.market.baselines.episodes import held_out_seeds, play
from gaelp.market.baselines.tuned import market_fingerprint
from gaelp.market.build import build_market, load_persona_table
from gaelp.observability.tracking import MLFLOW_ENVIRONMENT
from gaelp.phases.data_evidence import without_data_rules
from gaelp.phases.goals import training_goals
from gaelp.phases.simulation_result import SimulationResult, as_phase_result
from gaelp.training.manifest import read_manifest
from gaelp.training.price_level_rule import PriceLevelRule
from gaelp.training.reports import Resumed, RoundDone, TrainingStopped, Validated

STUCK = {"rows": 16, "validation_episodes": 8, "residual": {"scale": 1e-9}}  # moves no bid by a micro
LEARNS = {
    "rule": "none",
    "settings": {
        "network": {"hidden": [16]},
        "steps_per_update": 24,
        "gamma": 0,
        "gae_lambda": 0,
        "learning_rate": {"kind": "linear", "start": 0.02, "end": 0.001},
        "log_std_start": -1.5,
        "normalise_obs": True,
    },
    "arena": {"rows": 128, "validation_episodes": 32},
    "loop": {"rounds": 12, "validate_every": 4},
}
SHORT = LEARNS | {"loop": {"rounds": 2, "validate_every": 1}}


class Interrupt:
    """Ctrl-C as soon as a round is done."""

    def __init__(self, round_number):
        self._round = round_number

    def __call__(self, report):
        if isinstance(report, RoundDone) and report.round == self._round:
            raise KeyboardInterrupt


def logged(folder):
    return [json.loads(line) for line in folder.training_log.read_text(encoding="utf-8").splitlines()]


def contents(folder):
    return {path: path.read_bytes() for path in folder.path.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def learner(tmp_path_factory, make_place):
    """A place with a run `learner` that validated twice and chose a checkpoint; copy it before use."""
    place = make_place(tmp_path_factory.mktemp("learner"))
    place.recipe(**SHORT)
    assert place.run("learner").learned
    return place


@pytest.fixture
def learner_copy(learner, place):
    place.recipe(**SHORT)
    shutil.copytree(learner.folder / "home", place.folder / "home")
    return place


def parameters(place, run_id):
    return read_manifest(place.run_folder(run_id).manifest).parameter_hash


def said(result):
    """Everything but what the run is called, how long it took and when it was judged."""
    verdict = {"judged_at": True, "evidence_hash": True, "evidence": {"run_id", "measured_at"}}
    return result.model_dump(exclude={"run_id": True, "training_seconds": True, "verdict": verdict})


def test_each_stage_is_reported_with_its_total_and_evaluation_reaches_it(place):
    stages = []
    place.run("staged", on_stage=stages.append)
    assert [(stage.stage, stage.total) for stage in stages[:2]] == [("preparing to train", None), ("training", 4)]
    evaluating = stages[2:]
    assert {(stage.stage, stage.total) for stage in evaluating} == {("evaluating", 2 * 4 * 16)}  # markets, policies
    assert [stage.done for stage in evaluating] == list(range(0, 129, 16))


def test_the_first_gate_finds_every_figure_it_asks_for(whole):
    asked = {criterion.figure for criterion in without_data_rules(load_gate("simulation")).criteria}
    assert asked <= whole.result.metrics.keys()
    assert whole.result.verdict.outcome == "inconclusive"  # a few episodes of a toy market prove nothing


def test_a_run_leaves_its_result_its_manifest_and_every_report(whole, place):
    result, reports, folder = whole.result, whole.reports, whole.folder
    assert SimulationResult.model_validate_json(folder.details.read_text(encoding="utf-8")) == result
    assert (result.run_id, result.rounds, result.stopped) == ("whole", 4, "finished")
    assert (whole.manifest.run_id, whole.manifest.seed, whole.manifest.torch_threads) == ("whole", 7, 1)
    assert whole.manifest.config_hash == result.config_hash == place.plan().config_hash
    lines = logged(folder)
    assert [line["report"] for line in lines] == [type(report).__name__ for report in reports]
    assert [line["round"] for line in lines if line["report"] == "RoundDone"] == [1, 2, 3, 4]
    assert all(line["reward"] is not None for line in lines if line["report"] == "RoundDone")
    assert isinstance(reports[-1], TrainingStopped)
    assert result.learned == (result.checkpoint is not None)


def test_metrics_have_a_value_and_both_bounds_and_none_is_missing(whole):
    result = whole.result
    for figures in (result.metrics, result.shifted_metrics):
        assert all(math.isfinite(value) for value in figures.values())
        for name in ("reward", "headroom_share", "lead_over_constant", "lead_over_best_rule"):
            assert figures[f"{name}_lower_95"] <= figures[name] <= figures[f"{name}_upper_95"]
    assert result.metrics["episodes"] == result.shifted_metrics["episodes"] == 16
    assert result.metrics["reward"] == result.comparison.of(result.agent).reward.value
    assert result.metrics["reward"] != result.shifted_metrics["reward"]


def test_every_validation_reports_which_goals_are_met(whole):
    validated = [report for report in whole.reports if isinstance(report, Validated)]
    assert len(validated) == 2
    for report in validated:
        known = {goal.goal.metric: goal.value is not None for goal in report.monitor.goals}
        assert all(known.values())
        assert len(known) == len(training_goals(load_gate("simulation")))


def test_where_nothing_beats_the_rule_the_rule_is_the_agent(place):
    place.recipe(arena=STUCK)
    result = place.run("stuck")
    assert (result.learned, result.checkpoint, result.agent) == (False, None, "agent (mpc unchanged)")
    mpc = place.plan().tuned.build("mpc").name
    assert result.comparison.of(result.agent).reward == result.comparison.of(mpc).reward
    assert result.metrics["lead_over_best_rule"] <= 0


def test_what_was_learned_is_judged_by_the_checkpoint_that_did_best(place):
    place.recipe(**LEARNS)
    reports = []
    result = place.run("learner", on_report=reports.append)
    best = max((report for report in reports if isinstance(report, Validated)), key=lambda report: report.score.mean)
    assert best.best
    assert best.score.lead_lower_95 > 0
    assert (result.learned, result.agent) == (True, "agent (ppo)")
    assert f"step-{best.round * 128 * 24}." in result.checkpoint
    assert (place.run_folder("learner").checkpoints / result.checkpoint).is_file()
    untaught = play(place.plan().market, PriceLevelRule(), held_out_seeds(1009, 16)).reward.mean()
    assert result.metrics["reward"] > untaught + 0.02


def test_the_checkpoint_marked_as_best_is_judged_and_not_the_newest(learner_copy):
    folder = learner_copy.run_folder("learner")
    checkpoints = sorted(folder.checkpoints.glob("*.safetensors"))
    assert [path.name.split("-", 1)[1] for path in checkpoints] == [
        f"step-{n * 128 * 24}.safetensors" for n in range(3)
    ]
    first = SimulationResult.model_validate_json(folder.details.read_bytes())
    (folder.checkpoints / first.checkpoint).with_suffix(".best").unlink()
    rewards = set()
    for path in checkpoints[1:]:
        path.with_suffix(".best").touch()
        folder.details.unlink()
        again = learner_copy.run("learner")
        assert again.checkpoint == path.name
        rewards.add(again.metrics["reward"])
        path.with_suffix(".best").unlink()
    assert len(rewards) == 2
    assert first.metrics["reward"] in rewards


def test_the_same_settings_give_identical_parameters_and_another_seed_gives_others(whole, place):
    again, other = place.run("again"), place.run("other", "run.seed=8")
    assert parameters(place, "again") == whole.manifest.parameter_hash != parameters(place, "other")
    assert again.metrics == whole.result.metrics
    assert again.config_hash == whole.result.config_hash != other.config_hash


def test_an_interrupted_run_resumes_and_ends_with_identical_parameters(whole, place):
    with pytest.raises(KeyboardInterrupt):
        place.run("cut", on_report=Interrupt(3))
    assert not place.run_folder("cut").details.exists()
    reports = []
    result = place.run("cut", on_report=reports.append)
    assert isinstance(reports[0], Resumed)
    assert reports[0].round == 2
    assert parameters(place, "cut") == whole.manifest.parameter_hash
    assert said(result) == said(whole.result)


def test_a_finished_run_is_not_trained_again_and_returns_the_same_result(whole, copied):
    reports = []
    assert copied.run("whole", on_report=reports.append) == whole.result
    assert reports == []
    assert read_manifest(copied.run_folder("whole").manifest) == whole.manifest


@pytest.mark.parametrize("change", ["run.seed=8", "evaluation.seed=8", "training.rounds=5", "training.threads=2"])
def test_another_configuration_under_the_same_run_is_refused_and_nothing_changes(copied, change):
    before = contents(copied.run_folder("whole"))
    with pytest.raises(Refused, match="configuration") as refused:
        copied.run("whole", change)
    assert refused.value.exit_code == 3
    assert contents(copied.run_folder("whole")) == before


@pytest.mark.parametrize("damage", ["the mark", "the checkpoint", "cut"])
def test_the_best_checkpoint_is_never_silently_replaced_by_the_rule(learner_copy, damage):
    folder = learner_copy.run_folder("learner")
    [mark] = folder.checkpoints.glob("*.best")
    _, best, _ = sorted(folder.checkpoints.glob("*.safetensors"))  # not the newest, which would be made again
    mark.rename(best.with_suffix(".best"))
    match damage:
        case "the mark":
            best.with_suffix(".best").unlink()
        case "the checkpoint":
            best.unlink()
        case "cut":
            best.write_bytes(best.read_bytes()[:900])
    folder.details.unlink()
    with pytest.raises(DataError, match=r"(?i)restore it from a copy, or begin another .*run"):
        learner_copy.run("learner")
    assert not folder.details.exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("simulation.json", b"{", "simulation.json is no result .* judged again"),
        ("simulation.json", b'{"reward": 1}', "simulation.json is no result"),
        ("identity.json", b'{"seed":', "identity.json does not say"),
        ("identity.json", b"\xff\xfe", "identity.json does not say"),
        ("identity.json", b"[]", "identity.json does not say"),
    ],
)
def test_a_damaged_file_of_a_run_is_named_with_the_way_out(copied, name, content, message):
    (copied.run_folder("whole").path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        copied.run("whole")


def test_a_run_whose_checkpoints_are_gone_does_not_quietly_start_over(place):
    with pytest.raises(KeyboardInterrupt):
        place.run("broken", on_report=Interrupt(2))
    folder = place.run_folder("broken")
    shutil.rmtree(folder.checkpoints)
    before = folder.training_log.read_bytes()
    with pytest.raises(DataError, match="there is no checkpoint in"):
        place.run("broken")
    assert folder.training_log.read_bytes() == before


def test_a_recipe_too_large_for_memory_is_reported_as_that(place, monkeypatch):
    def too_large(*_, **__):
        raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr("gaelp.phases.simulation.assemble", too_large)
    with pytest.raises(BadInput, match=r"does not fit into memory .* lower arena\.rows"):
        place.run("whole")


def test_the_manifest_names_the_package_that_the_agent_comes_from(whole, place):
    place.recipe(algorithm="sb3:PPO", settings={"arguments": {"n_steps": 24, "batch_size": 48}})
    place.run("theirs")
    packages = read_manifest(place.run_folder("theirs").manifest).packages
    assert packages["stable-baselines3"] is not None
    assert "stable-baselines3" not in whole.manifest.packages


def test_more_evaluation_episodes_are_no_other_configuration(copied):
    assert copied.run("whole", "evaluation.episodes=20").metrics["episodes"] == 20


def test_a_run_along_a_curriculum_is_another_one_and_is_judged_on_the_market_asked_for(place):
    reports = []
    result = place.run("along", "training.curriculum=quick", on_report=reports.append)
    assert {report.task for report in reports if isinstance(report, RoundDone)} <= {"calm-tiny", "cal-tiny"}
    assert (result.comparison.market, result.rounds) == ("tiny", 4)
    assert result.config_hash != place.plan().config_hash


@pytest.mark.parametrize(
    ("recipe", "error", "message"),
    [
        ({"rule": "mcp"}, DataError, "no tuned bidder 'mcp'.*constant, lin, mpc"),
        ({"arena": {"rows": 15}}, ConfigError, "rows=15 .*such as 14"),
    ],
)
def test_what_does_not_fit_is_reported_before_anything_is_written(place, recipe, error, message):
    place.recipe(**recipe)
    with pytest.raises(error, match=message):
        place.run("one")
    assert not (place.folder / "home").exists()


def test_the_shifted_market_is_another_one_than_that_trained_on(place):
    plan = place.plan()
    assert plan.shifted.spec.name == "tiny-shifted"
    assert plan.shifted.spec.volume.per_hour == pytest.approx(32)
    assert plan.shifted.spec.price.common_drift_sd == pytest.approx(1.5 * plan.market.spec.price.common_drift_sd)


def test_rules_tuned_for_another_market_are_refused(place):
    text = (place.folder / "tiny.yaml").read_text(encoding="utf-8")
    assert "per_hour: 40" in text
    (place.folder / "tiny.yaml").write_text(text.replace("per_hour: 40", "per_hour: 41"), encoding="utf-8")
    with pytest.raises(DataError, match="fingerprint"):
        place.plan()


def test_mlflow_shows_whether_a_run_was_broken_off_refused_or_finished(place, monkeypatch):
    for name, value in MLFLOW_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    tracked = ("training.tracking=true", "training.rounds=2")

    def status():
        with sqlite3.connect(place.folder / "home" / "mlflow.db") as database:
            [(found,)] = database.execute("select status from runs").fetchall()
        database.close()
        return found

    with pytest.raises(KeyboardInterrupt):
        place.run("one", *tracked, on_report=Interrupt(1))
    assert status() == "KILLED"
    place.run("one", *tracked)
    assert status() == "FINISHED"
    with pytest.raises(Refused):
        place.run("one", *tracked, "run.seed=8")
    assert status() == "FINISHED"


def test_a_run_for_profit_is_another_run_and_one_for_value_has_the_identity_it_always_had(place):
    assert "objective" not in place.plan().identity.model_dump(mode="json")
    with pytest.raises(DataError, match="fingerprint"):  # its rules were tuned for value
        place.plan("objective.kind=profit")


def test_phase_1_trains_and_judges_for_profit_as_it_does_for_value(place, tiny_spec, tiny_rules):
    market = build_market(tiny_spec, load_persona_table("personas"), Objective(kind="profit"))
    rules = tiny_rules.model_copy(update={"objective": market.objective, "fingerprint": market_fingerprint(market)})
    write_models({place.folder / "tuned.yaml": rules})
    result = place.run("profit", "objective.kind=profit")
    assert result.comparison.objective.kind == "profit"
    assert 0 < result.metrics["reward"] < 1.05
    money = result.comparison.of(result.agent).money
    assert money.profit_micros == pytest.approx(money.value_micros - money.spend_micros, abs=1)
    tables = as_phase_result(result, place.run_folder("profit")).tables
    assert tables[-1].columns[-1] == "profit"
    assert len(tables[-1].rows) == len(result.comparison.results)
