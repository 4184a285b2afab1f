"""A planted difference between simulation and reality: after the approval people click 40% less than before."""

import shutil

import pytest

from gaelp.phases.declaration import carry_out
from gaelp.phases.phase_result import read_result
from gaelp.phases.pilot_declaration import PILOT
from gaelp.phases.pilot_result import PilotResult
from gaelp.sandbox.control_client import connect_sandbox

CLICK_FACTOR = 0.6
SIZE = (
    "history.synthesize.campaigns=12",
    "pilot.campaigns=12",
    "pilot.days=2",
    "pilot.settle_days=1",
    "pilot.shadow_days=2",
)


@pytest.fixture(scope="module")
def judged(tmp_path_factory, history_home):
    """A run that was judged on history; tests work on copies."""
    folder = tmp_path_factory.mktemp("clicks") / "home"
    settings = history_home.settings_of(folder, *SIZE)
    return settings, history_home.validated(settings, history_home.trained(settings, "first"))


def fly(judged, home, history_home, pilot_home, plant):
    """Carry out the pilot in a copy of the home; `plant(report)` says when people begin to click less."""
    settings, previous = judged
    shutil.copytree(settings.home, home)
    own = history_home.settings_of(home, *SIZE)
    planted = []

    def on_report(report):
        if not planted and plant(report):
            with connect_sandbox(given.folder.path / "platform") as sandbox:
                sandbox.set_click_factor(CLICK_FACTOR)
            planted.append(report)

    given = pilot_home.assignment(own, previous, history_home, on_report=on_report)
    pilot_home.store_plan(given)
    result = read_result(carry_out(PILOT, given))
    return result, PilotResult.model_validate_json(result.folder(home).details.read_bytes()), planted


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_where_it_begins_after_the_approval_the_pilot_ends_before_anything_is_spent(
    judged, history_home, pilot_home, tmp_path
):
    result, found, planted = fly(
        judged, tmp_path / "home", history_home, pilot_home, lambda report: report.stage == "shadow days"
    )
    assert len(planted) == 1
    print(found.skewed_features)  # noqa: T201 - the figures
    assert "skewed: what the agent sees on the platform is not what training showed" in found.ended
    assert (found.metrics, found.mandate) == (None, "")  # a loss of nothing, within any stated one
    assert any("reported_click_rate differs" in text for text in found.skewed_features)
    assert "Shadow days: " in result.text
    assert "click_rate differs" in result.text
    assert result.verdict.outcome == "fail"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_where_people_click_as_before_the_shadow_days_find_nothing(judged, history_home, pilot_home, tmp_path):
    result, found, _ = fly(judged, tmp_path / "home", history_home, pilot_home, lambda report: False)
    assert found.skewed_features == ()
    assert found.metrics is not None
    assert found.metrics.spend_micros > 0, result.text
