"""Phase 2 on a log without propensities: another gate judges, by the market alone, and says so."""

from functools import partial

import numpy as np
import pyarrow as pa
import pytest
import yaml

from gaelp.config.places import repository_root
from gaelp.gates import judge, load_gate
from gaelp.history.log_checks import LogLimits, check_log
from gaelp.history.logged_lift import LoggedPolicy
from gaelp.phases import history_judging, history_source
from gaelp.phases.data_evidence import DATA_METRICS
from gaelp.phases.history_context import history_context
from gaelp.phases.history_declaration import WITHOUT_PROPENSITIES
from gaelp.phases.history_result import HistoryResult
from gaelp.storage.schema import TableName

FILE = repository_root() / "configs" / "gates" / f"{WITHOUT_PROPENSITIES}.yaml"
ANY_LOG = LogLimits(clicks_min=1, conversions_min=1, days_min=1, campaigns_min=1)


def without_densities(history, **options):
    """The rows of a made history as most advertisers have them."""
    tables = history_tables(history, **options)
    decisions = tables[TableName.DECISIONS]
    for name in ("action", "density", "density_kind"):
        place = decisions.schema.get_field_index(name)
        decisions = decisions.set_column(
            place, decisions.schema.field(name), pa.nulls(len(decisions), decisions.schema.field(name).type)
        )
    return tables | {TableName.DECISIONS: decisions}


history_tables = history_source.history_tables


def identical(_bidders, _market, _estimates, logged, *, reach):
    assert reach > 1
    return {"agent": LoggedPolicy("agent", np.zeros(len(logged)), np.ones(len(logged), bool))}


@pytest.fixture(scope="module")
def settings(tmp_path_factory, history_home):
    """A home whose gate asks for nothing about stored data, which takes jobs of their own."""
    folder = tmp_path_factory.mktemp("plain-log")
    gate = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    gate["criteria"] = [rule for rule in gate["criteria"] if rule["metric"] not in DATA_METRICS]
    (folder / "rules.yaml").write_text(yaml.safe_dump(gate), encoding="utf-8")
    named = f'gate.files={{"{WITHOUT_PROPENSITIES}": "{folder / "rules.yaml"}"}}'
    return history_home.settings_of(folder / "home", named)


def validated(history_home, settings, run, **patches):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(history_source, "history_tables", without_densities)
        for name, value in patches.items():
            patched.setattr(history_judging, name, value)
        return history_home.validated(settings, history_home.trained(settings, run))


@pytest.fixture(scope="module")
def good(settings, history_home):
    """A rule on a log that is taken to be large enough."""
    return validated(history_home, settings, "good", check_log=partial(check_log, limits=ANY_LOG))


def outcome(result, metric):
    return next(rule.outcome for rule in result.verdict.results if rule.criterion.metric == metric)


def test_the_log_decides_which_gate_judges_and_the_verdict_names_its_file(good):
    assert good.verdict.gate.name == WITHOUT_PROPENSITIES
    assert good.verdict.gate.file.path.endswith("rules.yaml")
    assert good.verdict.gate.file.path in good.text
    assert "lift_over_logging" not in good.metrics


def test_a_better_agent_passes_the_rule_on_its_lift(good):
    assert outcome(good, "model_based_lift") == "pass"
    assert good.metrics["bid_variation"] == pytest.approx(0.4, abs=0.05)


@pytest.mark.slow
def test_a_copy_of_the_logged_bids_is_refused(good, settings, history_home):
    large = partial(check_log, limits=ANY_LOG)
    copy = validated(history_home, settings, "copy", check_log=large, bidders_on_log=identical)
    assert outcome(good, "model_based_lift") == "pass"
    assert outcome(copy, "model_based_lift") == "fail"
    assert copy.metrics["model_based_lift"] == 0


@pytest.mark.slow
def test_a_thin_log_is_held_whatever_the_market_says(settings, good, history_home):
    thin = validated(history_home, settings, "thin")
    assert outcome(good, "model_based_lift") == "pass"
    assert outcome(thin, "model_based_lift") == "inconclusive"
    assert thin.metrics["model_based_lift_lower_95"] == -1
    assert "few_clicks" in thin.text


def test_text_tables_and_page_say_that_it_is_model_based(good, settings):
    result = good
    assert "model-based" in result.text
    assert any("model-based" in table.columns[0] for table in result.tables)
    context = history_context(result, settings.home)
    assert "model-based" in context.bidders_table.title
    assert "model-based" in dict(context.facts)["rests on"]
    assert (
        HistoryResult.model_validate_json(result.folder(settings.home).details.read_bytes()).model_based.lift.label
        == "model-based"
    )


def test_every_bar_is_at_least_as_high_as_that_of_the_usual_gate():
    usual, other = (
        {rule.metric: rule for rule in load_gate(name).criteria} for name in ("history", WITHOUT_PROPENSITIES)
    )
    for metric in ("simulator_match", "prediction_accuracy", "correlation_with_actuals"):
        assert other[metric].threshold >= usual[metric].threshold
        assert other[metric].minimum_sample > usual[metric].minimum_sample
    assert other["model_based_lift"].threshold > usual["lift_over_logging"].threshold
    assert other["model_based_lift_over_incumbent"].threshold > usual["lift_over_incumbent"].threshold


def test_each_rule_refuses_alone(good):
    """Evidence that is good but for one figure fails by that figure."""
    verdict = good.verdict
    gate = verdict.gate
    good = dict(verdict.evidence.metrics)
    for rule in gate.criteria:
        value = rule.threshold + 0.01 if rule.bound in ("at_least", "above") else rule.threshold
        good |= {rule.metric: value, f"{rule.metric}_lower_95": value, f"{rule.metric}_upper_95": value}
        good[rule.sample_metric] = 1000.0
    passing = verdict.evidence.model_copy(update={"metrics": good})
    assert judge(gate, passing, verdict.judged_at).outcome == "pass"
    for rule in gate.criteria:
        bad = rule.threshold - 0.01 if rule.bound in ("at_least", "above") else rule.threshold + 1
        ends = {rule.metric: bad, f"{rule.metric}_lower_95": bad, f"{rule.metric}_upper_95": bad}
        spoilt = judge(gate, verdict.evidence.model_copy(update={"metrics": good | ends}), verdict.judged_at)
        assert [result.criterion.metric for result in spoilt.results if result.outcome == "fail"] == [rule.metric]
