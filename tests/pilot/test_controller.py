"""The controller: the same bids as along a log, whichever campaigns share a call, wherever it was resumed."""

import numpy as np
import pytest

from gaelp.errors import BadInput
from gaelp.history.logged_actions import LogDrivingSpec, LoggedHours, policy_on_log
from gaelp.market.from_reports import BidRules, DrivingSpec, LateChanges, ObserverSpec, report_model
from gaelp.market.policy_conformance import state_from_bytes, state_to_bytes
from gaelp.pilot.controller import CampaignHours, Controller
from tests.market.from_reports.market_reports import build_policy
from tests.pilot.controlled import (
    COUNTS,
    LAG,
    DrawnReports,
    bids_of,
    controller_of,
    known_campaigns,
    one_hour,
    small_market,
    some_of,
)

HOURS, CAMPAIGNS = 110, 4
AGES = CampaignHours(np.array([0, 24, 30, 72]), np.array([110, 50, 80, 38]))


@pytest.fixture(scope="module")
def market():
    return small_market()


def logged(reports):
    """The same reports as a log with late changes."""
    hour, campaign, segment = np.nonzero((reports.conversions > 0) | reports.back)
    at = (hour, campaign, segment)
    back = reports.back[at].astype(np.int64)
    changes = LateChanges(
        campaign, segment, hour, 0 * hour, -back, reports.conversions[at], -400_000 * back, reports.value_micros[at]
    )
    first = {name: getattr(reports, name) for name in ("bid_micros", "impressions", "clicks", "cost_micros")}
    known = hour + 1 + LAG + reports.delay_hours[at]
    zeros = np.zeros(reports.clicks.shape)
    return LoggedHours(**first, conversions=zeros, changes=changes, changes_known=known)


@pytest.mark.parametrize("key", ["learned", "mpc"])
def test_reports_of_a_log_lead_to_the_same_bids_as_the_log(market, key):
    known, reports = known_campaigns(market, CAMPAIGNS), DrawnReports(1, HOURS, CAMPAIGNS)
    driving = DrivingSpec(
        bids=BidRules(reference_factor=1.5), carried_share=1.0, observer=ObserverSpec(revised_hours=48)
    )
    along = policy_on_log(
        build_policy(key),
        known.brief,
        logged(reports),
        np.full(known.brief.persona.shape, 600_000),
        model=report_model(market.spec, market.landscapes),
        click_rate=known.click_rate,
        paid_factor=known.paid_factor,
        belief=known.belief,
        spec=LogDrivingSpec(driving=driving),
    )
    controller = controller_of(market, known, CampaignHours.same(CAMPAIGNS, HOURS), policy=key)
    bids = np.stack([one_hour(controller, reports).bids.bid_micros for _ in range(HOURS)])
    np.testing.assert_array_equal(bids, np.rint(600_000 * np.exp(along.action)).astype(np.int64))
    assert len(np.unique(bids)) > 20


@pytest.mark.parametrize("key", ["learned", "mpc"])
def test_campaigns_of_different_age_get_the_bids_that_each_gets_alone(market, key):
    known, reports = known_campaigns(market, CAMPAIGNS), DrawnReports(2, HOURS, CAMPAIGNS, AGES)
    together = controller_of(market, known, AGES, policy=key)
    bids = np.stack([bids_of(one_hour(together, reports), CAMPAIGNS) for _ in range(HOURS)])
    for row in range(CAMPAIGNS):
        rows = np.array([row])
        alone = controller_of(
            market, some_of(known, rows), CampaignHours(AGES.first[rows], AGES.hours[rows]), policy=key
        )
        own = [bids_of(one_hour(alone, reports.only(rows)), 1)[0] for _ in range(HOURS)]
        np.testing.assert_array_equal(bids[:, row], own)
    runs = np.stack([AGES.running(hour) for hour in range(HOURS)])
    np.testing.assert_array_equal((bids > 0).all(axis=2), runs)


@pytest.mark.parametrize("key", ["learned", "mpc"])
def test_a_controller_resumed_at_random_moments_decides_the_same_to_the_bit(market, key):
    known, reports = known_campaigns(market, CAMPAIGNS), DrawnReports(3, HOURS, CAMPAIGNS, AGES)
    through = controller_of(market, known, AGES, policy=key)
    wanted = [one_hour(through, reports) for _ in range(HOURS)]
    rng = np.random.default_rng(0)
    controller = controller_of(market, known, AGES, policy=key)

    def resumed(controller):
        if rng.random() > 0.4:
            return controller
        saved = state_from_bytes(state_to_bytes(controller.state()))
        other = controller_of(market, known, AGES, policy=key)
        other.load_state(saved)
        return other

    for hour in range(HOURS):
        controller.report(reports.known(hour))
        controller = resumed(controller)
        decision = controller.decide()
        controller = resumed(controller)
        controller.pass_hour(reports.bid_micros[hour])
        controller = resumed(controller)
        np.testing.assert_array_equal(decision.bids.bid_micros, wanted[hour].bids.bid_micros)
        np.testing.assert_array_equal(decision.rows, wanted[hour].rows)
    final, through_state = controller.state(), through.state()
    assert final.keys() == through_state.keys()
    for name, array in through_state.items():
        np.testing.assert_array_equal(final[name], array, err_msg=name)


def test_hours_that_are_reported_again_unchanged_change_nothing(market):
    known, reports = known_campaigns(market, CAMPAIGNS), DrawnReports(4, HOURS, CAMPAIGNS)
    once, often = (controller_of(market, known, CampaignHours.same(CAMPAIGNS, HOURS)) for _ in range(2))
    for hour in range(60):
        for _ in range(3):
            often.report(reports.known(hour))
        a, b = one_hour(once, reports), one_hour(often, reports)
        np.testing.assert_array_equal(a.bids.bid_micros, b.bids.bid_micros)


def test_only_the_hours_open_to_revision_need_to_be_reported_again(market):
    known, reports = known_campaigns(market, CAMPAIGNS), DrawnReports(5, HOURS, CAMPAIGNS)
    whole, recent = (controller_of(market, known, CampaignHours.same(CAMPAIGNS, HOURS)) for _ in range(2))
    for hour in range(HOURS):
        wanted = one_hour(whole, reports)
        recent.report(reports.known(hour, first=max(hour - LAG - 62, 0)))
        decision = recent.decide()
        recent.pass_hour(reports.bid_micros[hour])
        np.testing.assert_array_equal(decision.bids.bid_micros, wanted.bids.bid_micros)


def test_missed_hours_are_not_decided_and_the_bids_in_force_are_seen(market):
    """A flight that began while nobody decided is begun all the same."""
    known, reports = known_campaigns(market, CAMPAIGNS), DrawnReports(6, HOURS, CAMPAIGNS)
    controller = controller_of(market, known, CampaignHours.same(CAMPAIGNS, HOURS))
    for _ in range(40):
        one_hour(controller, reports)
    for hour in range(40, 55):
        controller.pass_hour(reports.bid_micros[hour])
    decision = one_hour(controller, reports)
    assert decision.hour == 55
    np.testing.assert_array_equal(decision.observation.hour, np.full(CAMPAIGNS, 55 - 48))
    assert (decision.bids.bid_micros > 0).all()


def test_revised_conversions_reach_the_policy_even_of_an_earlier_flight(market):
    known, reports = known_campaigns(market, CAMPAIGNS), DrawnReports(7, HOURS, CAMPAIGNS)
    controller = controller_of(market, known, CampaignHours.same(CAMPAIGNS, HOURS))
    for _ in range(HOURS):
        decision = one_hour(controller, reports)
    told = reports.known(HOURS - 1)
    for name in COUNTS[:3]:
        total = getattr(decision.observation, f"total_{name}")
        np.testing.assert_array_equal(total, np.rint(getattr(told, name).sum(axis=0)), err_msg=name)


def test_reports_of_hours_that_have_not_begun_or_leave_a_gap_are_refused(market):
    known, reports = known_campaigns(market, CAMPAIGNS), DrawnReports(8, HOURS, CAMPAIGNS)
    controller = controller_of(market, known, CampaignHours.same(CAMPAIGNS, HOURS))
    with pytest.raises(BadInput, match="have begun"):
        controller.report(reports.known(20))
    for _ in range(20):
        controller.decide()
        controller.pass_hour(reports.bid_micros[0])
    with pytest.raises(BadInput, match="in between"):
        controller.report(reports.known(20, first=4))


def test_a_campaign_without_a_bid_for_every_segment_is_refused(market):
    known = known_campaigns(market, CAMPAIGNS)
    with pytest.raises(BadInput, match="one for each"):
        Controller(build_policy("mpc"), known, np.ones((1, 2), np.int64), market, BidRules(), runs=AGES)
