"""Phase 3 from end to end: a pilot of one day on the local ad platform, over its real API."""

import json
import shutil
from contextlib import closing

import pytest

from gaelp.bootstrap import open_books
from gaelp.budget.ledger import overview
from gaelp.config.write import write_models
from gaelp.errors import BadInput
from gaelp.phases.declaration import carry_out
from gaelp.phases.phase_result import read_result
from gaelp.phases.pilot_account import check_pilot
from gaelp.phases.pilot_context import pilot_context
from gaelp.phases.pilot_declaration import PILOT
from gaelp.phases.pilot_result import PilotResult
from gaelp.phases.planned_pilot import fix_plan
from gaelp.pilot.skew import SkewedFeature, SkewReport


@pytest.fixture(scope="module")
def validated(tmp_path_factory, history_home, pilot_home):
    """A run that was judged on history; tests work on copies."""
    folder = tmp_path_factory.mktemp("pilot") / "home"
    settings = history_home.settings_of(folder, *pilot_home.SMALL)
    return settings, history_home.validated(settings, history_home.trained(settings, "first"))


@pytest.fixture(scope="module")
def flown(validated, history_home, pilot_home):
    settings, previous = validated
    stages = []
    given = pilot_home.assignment(
        settings, previous, history_home, data_rules=True, on_report=lambda report: stages.append(report.stage)
    )
    pilot_home.store_plan(given)
    return settings, given, read_result(carry_out(PILOT, given)), stages


def details(settings, result):
    return PilotResult.model_validate_json(result.folder(settings.home).details.read_bytes())


def test_every_rule_of_gate_3_has_a_figure(flown):
    _, _, result, _ = flown
    assert {rule.criterion.metric: rule.value for rule in result.verdict.results if rule.value is None} == {}


def test_the_agent_decides_every_hour_and_spends_within_its_budgets(flown):
    settings, _, result, stages = flown
    found = details(settings, result)
    assert found.ended == "finished"
    assert (found.counts.decided, found.counts.missed) == (24, 0)
    assert 0 < found.metrics.spend_micros <= 2 * found.plan.budget_micros
    assert found.violations == ()
    assert "shadow days" in stages
    assert "pilot" in stages


def test_the_ledger_has_what_the_platform_charged(flown):
    settings, _, result, _ = flown
    found = details(settings, result)
    with closing(open_books(settings)) as ledger:
        caps = [cap for cap in overview(ledger).caps if cap.subject == found.plan.account and cap.kind == "account"]
    assert caps[0].posted_micros + caps[0].reserved_micros >= found.metrics.spend_micros


def test_a_finished_pilot_is_never_spent_again(flown):
    _, given, result, _ = flown
    assert read_result(carry_out(PILOT, given)) == result
    assert PILOT.second_attempt == "never_spend_again"


def test_people_see_plan_money_and_decisions_beside_the_verdict(flown):
    settings, _, result, _ = flown
    facts = dict(pilot_context(result, settings.home).facts)
    assert facts["money"] == "none: the local ad platform"
    assert facts["decisions"].startswith("24 hours decided, 0 missed")
    assert "no real money" in str(result.tables)


def test_records_that_cannot_be_read_are_named(flown, tmp_path):
    settings, _, result, _ = flown
    shutil.copytree(settings.home, tmp_path / "home")
    result.folder(tmp_path / "home").details.write_text("{}", encoding="utf-8")
    [(label, text)] = pilot_context(result, tmp_path / "home").facts
    assert label == "records of the run"
    assert "cannot be read" in text


def test_a_plan_that_could_show_nothing_is_refused_before_anything_is_spent(
    validated, history_home, pilot_home, tmp_path
):
    settings, previous = validated
    given = pilot_home.assignment(settings, previous, history_home)
    planned = pilot_home.store_plan(given)
    known = pilot_home.read_known(given)
    account, first_day = pilot_home.account_and_day(settings, previous.run_id, given.clock)
    with pytest.raises(BadInput, match="3 campaigns for 1 days cannot tell a worthless agent from a good one"):
        fix_plan(
            tmp_path / "plan.json",
            settings,
            known,
            account,
            given.gate,
            given.on_report,
            name="first",
            model_hash=previous.model_hash,
            first_day=first_day,
        )
    assert planned.plan.days == 1
    assert not (tmp_path / "plan.json").exists()


def test_where_the_shadow_days_find_a_skew_nothing_is_spent(validated, history_home, pilot_home, tmp_path):
    settings, previous = validated
    shutil.copytree(settings.home, tmp_path / "home")
    own = history_home.settings_of(tmp_path / "home", *pilot_home.SMALL)
    given = pilot_home.assignment(own, previous, history_home)
    shutil.rmtree(given.folder.path, ignore_errors=True)
    pilot_home.store_plan(given)
    skewed = SkewedFeature(name="click_rate", where="level", size=9.0, limit=0.5, sigmas=12.0)
    write_models({given.folder.path / "skew.json": SkewReport(skewed=(skewed,), compared=54, hours=24, missed_hours=0)})
    result = read_result(carry_out(PILOT, given))
    found = details(own, result)
    assert found.metrics is None
    assert found.mandate == ""
    assert result.verdict.outcome == "fail"
    assert "click_rate differs (level): 9.00, allowed 0.50" in result.text


@pytest.mark.parametrize(
    ("overrides", "way_out"),
    [
        (("pilot.local=false",), "docs/go-live.md"),
        (("platform.name=google-ads", "platform.account=1"), "allowed: one of them"),
        (("history.synthesize=null",), "history.synthesize"),
    ],
)
def test_a_run_that_would_come_to_phase_3_without_an_account_does_not_begin(tmp_path, history_home, overrides, way_out):
    with pytest.raises(BadInput, match=way_out):
        check_pilot(history_home.settings_of(tmp_path, *overrides))
    check_pilot(history_home.settings_of(tmp_path, *overrides, "run.until=history"))


def test_the_result_is_plain_json(flown):
    settings, _, result, _ = flown
    stored = json.loads(result.file(settings.home).read_text(encoding="utf-8"))
    assert stored["phase"] == "pilot"
    assert stored["judged_on"].startswith("pilot first from ")
