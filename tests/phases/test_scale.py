"""Phase 4 from end to end: a release of a few days on the local ad platform, over its real API."""

import pytest

from gaelp.errors import BadInput
from gaelp.phases.declaration import carry_out
from gaelp.phases.phase_result import read_result
from gaelp.phases.scale_context import scale_context
from gaelp.phases.scale_declaration import SCALE
from gaelp.phases.scale_preview import fix_release_plan
from gaelp.phases.scale_result import ScaleResult


@pytest.fixture(scope="module")
def released(tmp_path_factory, history_home, pilot_home, scale_home):
    folder = tmp_path_factory.mktemp("scale") / "home"
    settings = history_home.settings_of(folder, *pilot_home.SMALL, *scale_home.SMALL)
    validated = history_home.validated(settings, history_home.trained(settings, "first"))
    pilot = scale_home.piloted(settings, validated, history_home, pilot_home)
    stages = []
    given = scale_home.assignment(
        settings, pilot, history_home, data_rules=True, on_report=lambda report: stages.append(report.stage)
    )
    scale_home.store_plan(given, pilot_home)
    return settings, given, read_result(carry_out(SCALE, given)), stages


def details(settings, result):
    return ScaleResult.model_validate_json(result.folder(settings.home).details.read_bytes())


def test_exposure_follows_the_steps_of_the_plan(released):
    settings, _, result, stages = released
    found = details(settings, result)
    planned = [step.percent for step in found.plan.exposure.steps]
    assert [day.day for day in found.days] == list(range(len(found.days)))
    assert {day.percent for day in found.days} <= set(planned)
    assert found.days[0].percent == planned[0]
    assert "release" in stages


def test_every_rule_of_gate_4_has_a_figure_or_says_that_nothing_was_compared(released):
    _, _, result, _ = released
    assert result.verdict.outcome != "pass"  # six days show nothing


def test_people_see_plan_steps_and_the_last_decision_beside_the_verdict(released):
    settings, _, result, _ = released
    shown = scale_context(result, settings.home)
    facts = dict(shown.facts)
    assert facts["money"] == "none: the local ad platform"
    assert "%" in facts["steps"]
    assert shown.pictures[0].png.startswith(b"\x89PNG")


def test_a_plan_that_could_show_nothing_is_refused_before_anything_is_spent(released, pilot_home, tmp_path):
    settings, given, _, _ = released
    known = pilot_home.read_known(given)
    today = details(settings, read_result(carry_out(SCALE, given))).plan.campaigns.first_day
    with pytest.raises(BadInput, match="3 campaigns for 6 days of comparison and 2 at 100% cannot carry gate scale"):
        fix_release_plan(
            tmp_path / "plan.json", settings, known, given.previous, lambda _: None, gate=given.gate, today=today
        )
    assert not (tmp_path / "plan.json").exists()


def test_a_finished_release_is_never_spent_again(released):
    _, given, result, _ = released
    assert read_result(carry_out(SCALE, given)) == result
