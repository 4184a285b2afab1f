"""The record of budgets: each change once, with its reason and figures; quiet days before a proof leave nothing."""

from contextlib import closing
from datetime import UTC, datetime

import numpy as np
import pytest

from gaelp.pilot.decision_book import DecisionBook
from gaelp.release.budget_decision import BudgetDecision, CampaignBudget
from gaelp.release.budget_record import budget_events, note_budgets
from gaelp.release.exposure import ExposureDecision, ExposureState
from gaelp.release.release_controller import DayDecision

NOW = datetime(2026, 3, 2, tzinfo=UTC)
DOLLAR = 1_000_000


@pytest.fixture
def book(place):
    with closing(DecisionBook(place, "release-1")) as opened:
        yield opened


def decided(after, *, ended="promoted", day=5):
    campaign = CampaignBudget(
        campaign="spring", before_micros=50 * DOLLAR, after_micros=after, why="one more dollar returns 1.20 or more"
    )
    budgets = BudgetDecision(campaigns=(campaign,), why="1 budgets raised", price=1.2, gap_micros=0.5)
    state = ExposureState(step=2, ended=ended)
    exposure = ExposureDecision(outcome="hold", percent=100.0, state=state, findings=())
    return DayDecision(day, exposure, np.array(budgets.daily_micros), budgets)


def test_a_raise_is_recorded_once_with_its_reason_and_figures(book):
    for _ in range(2):  # a second attempt at the same day
        note_budgets(book, decided(60 * DOLLAR), NOW)
    [event] = budget_events(book.events())
    assert "spring 50.00 -> 60.00 (one more dollar returns 1.20 or more)" in event.what
    assert event.figures["after_micros"] == 60 * DOLLAR
    assert event.figures["campaigns"][0]["before_micros"] == 50 * DOLLAR
    assert (event.figures["price"], event.figures["gap_micros"]) == (1.2, 0.5)


def test_a_day_before_the_proof_that_changes_nothing_leaves_no_record(book):
    note_budgets(book, decided(50 * DOLLAR, ended=""), NOW)
    assert budget_events(book.events()) == []


def test_a_day_after_the_proof_is_recorded_also_where_nothing_changes(book):
    note_budgets(book, decided(50 * DOLLAR), NOW)
    assert len(budget_events(book.events())) == 1
