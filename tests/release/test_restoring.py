"""What is read back after a rollback."""

from contextlib import closing
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

from gaelp.pilot.decision_book import DecisionBook
from gaelp.pilot.report_arrays import PilotPlaces
from gaelp.platforms.platform import CampaignState
from gaelp.release.release_record import restored_event
from gaelp.release.restoring import note_read_back, read_back
from tests.pilot.double_pilot import MIDNIGHT, double_plan

PLACES = PilotPlaces.of(double_plan(), MIDNIGHT)
BIDS = np.full(PLACES.shape, 1_000_000)
DAILY = np.full(2, 10_000_000)
NOW = datetime(2026, 11, 20, tzinfo=UTC)


def state(campaign, *, bid=1_000_000, daily=10_000_000):
    bids = tuple((target, bid) for target in PLACES.targets[0])
    return CampaignState(campaign, "enabled", daily, date(2026, 11, 20), bids=bids)


def test_campaigns_with_these_bids_and_budgets_are_restored():
    read = read_back([state("spring"), state("summer", bid=1_050_000)], PLACES, BIDS, DAILY)
    assert (read.restored, read.is_off) == (("spring", "summer"), False)


@pytest.mark.parametrize(
    ("changed", "text"),
    [({"bid": 1_500_000}, "NOT RESTORED: bids of spring"), ({"daily": 12_000_000}, "NOT RESTORED: budgets of spring")],
)
def test_a_campaign_that_is_not_as_it_should_be_is_named(changed, text):
    read = read_back([state("spring", **changed), state("summer")], PLACES, BIDS, DAILY)
    assert read.is_off
    assert read.text == text
    assert read.restored == ("summer",)


def test_the_record_says_how_long_it_took(tmp_path):
    read = read_back([state("spring")], PLACES, BIDS, DAILY)
    with closing(DecisionBook(tmp_path / "pilot.db", "pilot-1")) as book:
        book.add_event("note", "day 3: roll_back", NOW)
        [decided] = book.events()
        note_read_back(book, read, NOW + timedelta(seconds=9), decided=decided, hours=2)
        figures = restored_event(book.events()).figures
    assert (figures["is_restored"], figures["hours"], figures["seconds"]) == (True, 2, 9.0)
