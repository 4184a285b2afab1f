"""Phase 2 from end to end on a small history of the local ad platform."""

import json
import shutil
from dataclasses import replace

import pytest

from gaelp.errors import BadInput, Refused
from gaelp.gates import judge
from gaelp.history.sealed_window import looks_left
from gaelp.history.splits import fixed_splits
from gaelp.phases.agent_bundle import load_bundle
from gaelp.phases.agent_registration import feature_version, register_agent
from gaelp.phases.history import validate_on_history
from gaelp.phases.history_context import history_context
from gaelp.phases.history_result import HistoryResult
from gaelp.phases.history_source import check_history, history_of, provide_history
from gaelp.phases.history_windows import open_sealed_window
from gaelp.phases.simulation import hash_agent
from gaelp.registry import open_registry


@pytest.fixture(scope="module")
def home(tmp_path_factory, history_home):
    """One validated run; tests that change something work on a copy."""
    folder = tmp_path_factory.mktemp("history") / "home"
    settings = history_home.settings_of(folder)
    stages = []
    previous = history_home.trained(settings, "first")
    result = history_home.validated(settings, previous, on_report=lambda report: stages.append(report.stage))
    return settings, previous, result, stages


@pytest.fixture
def own_home(home, tmp_path, history_home):
    shutil.copytree(home[0].home, tmp_path / "home")
    return history_home.settings_of(tmp_path / "home")


def details(settings, result):
    return HistoryResult.model_validate_json(result.folder(settings.home).details.read_bytes())


def test_the_verdict_has_a_figure_for_every_rule_of_gate_2(home):
    _, _, result, _ = home
    assert {rule.criterion.metric for rule in result.verdict.results} >= {
        "simulator_match",
        "prediction_accuracy",
        "correlation_with_actuals",
        "lift_over_logging",
        "lift_over_incumbent",
        "harmed_groups",
    }
    assert all(rule.value is not None for rule in result.verdict.results)


def test_a_rule_that_bids_for_profit_is_worth_more_per_dollar_than_the_incumbent(home):
    settings, _, result, _ = home
    lift = details(settings, result).lift
    assert lift.judged.lift > 0
    assert lift.judged.lift_lower < lift.judged.lift < lift.judged.lift_upper


def test_a_log_that_is_too_thin_holds_the_gate_and_says_what_is_missing(home):
    settings, _, result, _ = home
    assert details(settings, result).log_problems[0].startswith("few_clicks")
    assert "Too little to decide: few_clicks" in result.text
    by_metric = {rule.criterion.metric: rule for rule in result.verdict.results}
    assert by_metric["lift_over_logging"].outcome == "inconclusive"
    assert result.metrics["lift_over_logging_lower_95"] == -1  # anything is possible


def test_rules_are_in_the_same_table_as_the_agent(home):
    settings, _, result, _ = home
    found = details(settings, result)
    assert {lift.policy for lift in found.rivals} == {"constant", "mpc", "logged bids x 0.8", "logged bids x 1.25"}
    named = next(lift for lift in found.rivals if lift.policy == "mpc")
    assert named.judged.lift == pytest.approx(found.lift.judged.lift)  # the agent is this rule, unchanged


def test_the_agent_is_passed_on_as_a_bundle_with_the_same_hash(home):
    settings, previous, result, _ = home
    assert hash_agent(result.model_file(settings.home)) == previous.model_hash == result.model_hash
    agent = load_bundle(result.model_file(settings.home).parent, settings)
    assert agent.policy.name == previous.agent
    assert agent.market.spec.name == "shop"


def test_one_look_was_taken_and_a_finished_attempt_takes_no_other(home, history_home):
    settings, previous, result, _ = home
    splits = fixed_splits(settings, history_of(settings))
    assert looks_left(settings, splits) == 2
    assert history_home.validated(settings, previous) == result
    assert looks_left(settings, splits) == 2


def test_a_fourth_model_is_not_shown_the_sealed_window(own_home, history_home):
    splits = fixed_splits(own_home, history_of(own_home))
    previous = history_home.trained(own_home, "run-4")
    given = history_home.assignment(own_home, previous)
    for digit in "23":
        folder = replace(given.folder, run=replace(given.folder.run, run_id=f"run-{digit}"))
        open_sealed_window(own_home, splits, folder, digit * 64, given.gate, given.clock)
    with pytest.raises(Refused, match="look"):
        open_sealed_window(own_home, splits, given.folder, previous.model_hash, given.gate, given.clock)


def test_a_changed_rule_is_not_taken_for_the_judged_model(own_home, history_home):
    previous = history_home.trained(own_home, "changed").model_copy(update={"model_hash": "0" * 64})
    with pytest.raises(Exception, match="another hash"):
        validate_on_history(history_home.assignment(own_home, previous))


def test_without_an_agent_there_is_nothing_to_judge(home, history_home):
    settings, previous, _, _ = home
    given = history_home.assignment(settings, previous)
    with pytest.raises(BadInput, match="phase simulation"):
        validate_on_history(replace(given, previous=None))


def test_a_history_is_made_once(home, history_home):
    settings, _, _, stages = home
    assert any(stage.startswith("making 4 weeks of history") for stage in stages)
    told = []
    provide_history(settings, lambda report: told.append(report.stage))
    assert told == []


def test_sources_and_a_history_to_be_made_contradict_each_other(tmp_path, history_home):
    with pytest.raises(BadInput, match="both given"):
        history_of(history_home.settings_of(tmp_path, 'history.sources=["mine"]'))


def test_a_person_sees_windows_look_and_bidders(home):
    settings, _, result, _ = home
    context = history_context(result, settings.home)
    facts = dict(context.facts)
    assert facts["look"].startswith("1 of 3")
    assert "sealed" in facts["windows"]
    assert facts["champion"].startswith("none yet")
    names = [bidder.name for bidder in context.bidders]
    assert {"logged bids", "mpc", "agent, run again", "target ROAS 1.2, run again"} <= set(names)
    assert context.bidders_table.measure == "value per dollar"
    assert [picture.png[:4] for picture in context.pictures] == [b"\x89PNG"] * 3
    assert "rank correlation" in facts["order of bidders"]
    assert "value per dollar" in context.progress


def test_a_record_that_cannot_be_read_closes_no_gate(own_home, home):
    result = home[2]
    result.folder(own_home.home).details.write_text("{}", encoding="utf-8")
    [(label, text)] = history_context(result, own_home.home).facts
    assert label == "records of the run"
    assert text.startswith("cannot be read")


def test_an_agent_that_passed_is_registered_with_its_windows(own_home, home, history_home, registry_world):
    _, previous, result, _ = home
    held = [rule.criterion for rule in result.verdict.results if rule.outcome == "pass"]
    gate = result.verdict.gate.model_copy(update={"criteria": tuple(held)})
    verdict = judge(gate, result.verdict.evidence, result.verdict.judged_at)
    passing = result.model_copy(update={"verdict": verdict})
    for _ in range(2):  # a resumed flow does it again
        register_agent(own_home, [previous, passing], history_home.assignment(own_home, previous).clock)
    version = open_registry(own_home).verify(own_home.run.name, 1)
    assert version.manifest.model_hash == result.model_hash
    assert {window.name for window in version.manifest.data_windows} == {"calibration", "validation", "sealed"}
    assert version.manifest.feature_version == feature_version()


def test_the_result_is_plain_json(home):
    settings, _, result, _ = home
    stored = json.loads(result.file(settings.home).read_text(encoding="utf-8"))
    assert stored["phase"] == "history"
    assert stored["judged_on"].startswith("sealed window")


def test_a_run_that_would_come_to_phase_2_without_a_log_does_not_begin(tmp_path, history_home):
    empty = history_home.settings_of(tmp_path / "empty", "history.synthesize=null")
    with pytest.raises(BadInput, match=r"run\.until=simulation"):
        check_history(empty)
    check_history(history_home.settings_of(tmp_path / "empty", "history.synthesize=null", "run.until=simulation"))
    check_history(history_home.settings_of(tmp_path / "empty"))


def test_the_made_history_is_run_again_with_the_agent_and_with_the_platforms_own_bidding(home):
    settings, _, result, _ = home
    truth = {each.key: each for each in details(settings, result).truth}
    assert truth["target ROAS 1.2"].is_automated
    assert not truth["agent"].is_automated
    assert 0 < truth["agent"].spend_share < 1.5
    assert "target ROAS 1.2 of the platform, run again" in str(result.tables)
    assert "no estimate. No rule reads it" in str(result.tables)


def test_market_and_log_order_the_bidders_and_the_report_says_how_alike(home):
    settings, _, result, _ = home
    ranking = details(settings, result).ranking
    assert {"logged bids", "logged bids x 0.8", "constant"} <= set(ranking.policies)
    assert -1 <= ranking.spearman <= 1
    assert result.tables[-1].columns[0].startswith("bidders by the market")
