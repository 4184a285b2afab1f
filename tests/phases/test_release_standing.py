"""What people see of a release while another process drives it."""

from contextlib import closing
from datetime import UTC, datetime

import numpy as np
import pytest

from gaelp.config import load_settings
from gaelp.config.write import write_models
from gaelp.errors import GaelpError
from gaelp.phases.release_standing import describe_release, release_now
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.scale_planning import RELEASE_PLAN_FILE
from gaelp.pilot.decision_book import CampaignDecision, DecisionBook, MoneySoFar, book_place
from gaelp.release.exposure import ExposureDecision, ExposureState
from gaelp.release.exposure_checks import Finding
from gaelp.release.release_controller import DayDecision
from gaelp.release.release_record import day_events, exposure_events, note_exposure
from gaelp.types import Phase
from tests.pilot.double_pilot import double_plan
from tests.release.release_loop import release_plan

NOW = datetime(2026, 11, 17, tzinfo=UTC)
RUN = "run-1"


@pytest.fixture
def settings(tmp_path):
    return load_settings("base", overrides=[f"home={tmp_path}"], environ={}).settings


@pytest.fixture
def plan_file(settings):
    path = RunFolder(settings.home, RUN).phase(Phase.SCALE).path / RELEASE_PLAN_FILE
    write_models({path: release_plan(double_plan(name="run-1-scale"))})
    return path


@pytest.fixture
def book(settings):
    with closing(DecisionBook(book_place(settings), "run-1-scale")) as opened:
        opened.add_event("launched", "it begins", NOW)
        money = MoneySoFar(5, 12_000_000, 18_000_000, clicks=9, conversions=2.0)
        opened.store(5, NOW, [CampaignDecision("spring", 5, (1,), (0.0,), (False,))], {}, money=money)
        yield opened


def decided(day, outcome="hold", percent=50.0, *, ended="", at_hour=0, **figures):
    finding = Finding(check="lift", text="what was seen", figures=figures)
    exposure = ExposureDecision(outcome=outcome, percent=percent, state=ExposureState(ended=ended), findings=(finding,))
    return DayDecision(day, exposure, np.zeros(2, np.int64), at_hour=at_hour)


def test_a_run_without_a_release_has_nothing_to_show(settings, plan_file):
    assert release_now(settings, RUN) is None
    assert not (settings.home / "pilot.db").exists()  # looking makes nothing
    assert release_now(settings, "another") is None


def test_exposure_lift_split_and_money_are_those_of_the_newest_check(settings, plan_file, book):
    note_exposure(book, decided(0), NOW)
    note_exposure(book, decided(1, lift=0.12, lift_lower_95=-0.05, lift_upper_95=None, pairs=9), NOW)
    now = release_now(settings, RUN)
    assert (now.day, now.days, now.percent, now.agents_campaigns, now.campaigns) == (2, 7, 50.0, 1, 2)
    assert (now.lift, now.lift_lower_95, now.lift_upper_95, now.pairs) == (0.12, -0.05, None, 9)
    said = describe_release(now)
    assert said[0].startswith("release: 6 of 168 hours, $12.00 of $140.00 spent")
    assert said[1] == (
        "day 2 of at most 7: 50% exposure, lift +12% (-5% .. open), 9 pairs; 1 of 2 campaigns are the agent's, the"
        " others the control's"
    )


def test_after_an_abort_no_campaign_is_the_agents(settings, plan_file, book):
    note_exposure(book, decided(0), NOW)
    note_exposure(book, decided(0, "abort", 0.0, ended="aborted", at_hour=6), NOW)
    now = release_now(settings, RUN)
    assert (now.outcome, now.percent, now.agents_campaigns) == ("abort", 0.0, 0)
    assert [event.figures["hour"] for event in exposure_events(book.events())] == [0, 6]
    assert [event.figures["outcome"] for event in day_events(book.events())] == ["abort"]


def test_a_decision_that_is_recorded_is_not_recorded_again(book):
    assert note_exposure(book, decided(0), NOW) is not None
    assert note_exposure(book, decided(0), NOW) is None
    assert len(exposure_events(book.events())) == 1


def test_a_damaged_plan_is_named(settings, plan_file, book):
    plan_file.write_text("{}")
    with pytest.raises(GaelpError, match="is not the plan of a release"):
        release_now(settings, RUN)
