"""What people see of a pilot while another process drives it."""

from contextlib import closing
from datetime import UTC, datetime

import pytest

from gaelp.config import load_settings
from gaelp.config.write import write_models
from gaelp.errors import GaelpError
from gaelp.phases.pilot_standing import describe_pilot, pilot_now
from gaelp.phases.planned_pilot import PLAN_FILE, PlannedPilot
from gaelp.phases.run_folder import RunFolder
from gaelp.pilot.decision_book import CampaignDecision, DecisionBook, MoneySoFar, book_place
from gaelp.pilot.power import PilotPower
from gaelp.types import Phase
from tests.pilot.double_pilot import double_plan
from tests.pilot.pilot_cases import expectation

NOW = datetime(2026, 11, 17, tzinfo=UTC)
RUN = "pilot-1"


@pytest.fixture
def settings(tmp_path):
    return load_settings("base", overrides=[f"home={tmp_path}"], environ={}).settings


@pytest.fixture
def plan_file(settings):
    power = PilotPower(campaigns=2, days=7, budget_micros=1, expected_conversions=1.0, pilots=1, truths=())
    path = RunFolder(settings.home, RUN).phase(Phase.PILOT).path / PLAN_FILE
    write_models({path: PlannedPilot(plan=double_plan(), expected=expectation(), power=power)})
    return path


@pytest.fixture
def book(settings):
    with closing(DecisionBook(book_place(settings), RUN)) as opened:
        yield opened


def decide(book, hour, spend, value):
    money = MoneySoFar(hour, spend, value, clicks=9, conversions=2.0)
    book.store(hour, NOW, [CampaignDecision("spring", hour, (1,), (0.0,), (False,))], {}, money=money)


def test_a_run_without_a_pilot_has_no_money_to_show(settings, plan_file):
    assert pilot_now(settings, RUN) is None
    assert not (settings.home / "pilot.db").exists()  # looking makes nothing
    assert pilot_now(settings, "another") is None


def test_spend_return_and_held_campaigns_are_those_of_the_newest_hour(settings, plan_file, book):
    book.add_event("launched", "it begins", NOW)
    decide(book, 0, 0, 0)
    assert pilot_now(settings, RUN).roi is None
    decide(book, 1, 12_345_678, 18_000_000)
    book.add_event("hold", "eve changed its budget", NOW, campaign="spring")
    now = pilot_now(settings, RUN)
    assert (now.spend_micros, now.hours_decided, now.hours) == (12_345_678, 2, 168)
    assert now.roi == pytest.approx(0.458, abs=1e-3)
    first, held = describe_pilot(now)
    assert first.startswith("pilot: 2 of 168 hours, $12.34 of $140.00 spent, $18.00 of value known so far (+46%;")
    assert held == "held: spring: eve changed its budget (`gaelp pilot release spring`)"
    book.note_money(MoneySoFar(190, 20_000_000, 10_000_000, clicks=20, conversions=1.0))
    book.add_event("end", "the pilot has settled", NOW)
    now = pilot_now(settings, RUN)
    assert (now.roi, now.ended) == (-0.5, "the pilot has settled")
    assert describe_pilot(now)[-1] == "the pilot has ended: the pilot has settled"


def test_a_damaged_plan_is_named(settings, plan_file, book):
    plan_file.write_text("{}")
    with pytest.raises(GaelpError, match="is not the plan of a pilot"):
        pilot_now(settings, RUN)
