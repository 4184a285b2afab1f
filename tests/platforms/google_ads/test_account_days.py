"""Months of simulated days on Google Ads: caps hold to the micro, late clicks included, and invoices are explained."""

import random
from collections import Counter, defaultdict
from dataclasses import replace
from datetime import date, timedelta

import pytest

from gaelp.budget.ledger import CapKind, overview, verify
from gaelp.budget.platform_budget import load_platform_terms
from gaelp.platforms import Bid, Done, explain_invoices, guarded, pause, reconcile
from gaelp.platforms.platform_clock import PlatformClock
from gaelp.sandbox.topics import keywords_for

TERMS = load_platform_terms().of("google-ads")
DAILY = 6_000_000
WORST = 2 * DAILY


class Advertiser:
    """A door to one account, with a campaign that is paused and enabled at random hours."""

    def __init__(self, make_door, double, sandbox, number):
        self.double, self.sandbox, self.number = double, sandbox, number
        self.customer = sandbox.free.pop()
        self.platform = sandbox.connect(self.customer)
        limits = {CapKind.CAMPAIGN_DAY: WORST, CapKind.ACCOUNT_DAY: WORST}
        limits |= dict.fromkeys((CapKind.CAMPAIGN, CapKind.ACCOUNT, CapKind.TOTAL), 10**10)
        self.door = make_door(platform=self.platform, terms=TERMS, limits=limits)
        ledger = replace(self.door.ledger, clock=PlatformClock(self.platform), wall_clock=self.door.clock)
        self.door.guard = self.guard = replace(self.door.guard, ledger=ledger)
        self.random = random.Random(number)  # noqa: S311 - the same every time
        self.keys = iter(range(10_000))

    def order(self, kind, **more):
        until = (self.platform.now() + timedelta(days=90)).date()
        order = self.double.order(f"{kind}-{next(self.keys)}", kind, daily=DAILY, until=until, **more)
        return guarded(self.guard, self.double.approve(self.door, order))

    def start(self):
        texts = {"description": "Baked every morning. Delivered before eight.", "call_to_action": "Order Today"}
        landing = f"https://www.shop.example/{self.number}"
        creative = self.double.ADVERT.model_copy(update={**texts, "advertiser": "Shop", "landing_url": landing})
        targets = [" | ".join(keywords_for(topic)[:2]) for topic in range(8)]
        assert self.order("budget") == Done()
        assert self.order("publish", creative=creative) == Done()
        assert self.order("bid", bids=tuple(Bid(target=each, micros=2_400_000) for each in targets)) == Done()
        assert self.order("enable") == Done()

    def step(self):
        """Eight hours have passed."""
        report = reconcile(self.guard)
        assert report.failures == ()
        [state] = self.platform.read_campaigns()
        if state.status == "enabled" and self.random.random() < 0.12:
            assert pause(self.platform, "spring") == Done()
        elif state.status == "paused" and self.guard.today() >= date.fromisoformat(str(state.through)):
            if state.through < self.guard.today():
                assert self.order("budget") == Done()
            assert self.order("enable") == Done()

    def billed(self, first, last):
        """Every click that was billed, before credits, by day; and what was credited, by the month of the click."""
        days, credited = Counter(), Counter()
        with self.sandbox.world.call() as call:
            for click in call.clicks(self.customer, first, last):
                days[click.at.date()] += click.cost_micros
                if click.credited_at is not None:
                    credited[click.at.date().replace(day=1)] += click.cost_micros
        return days, credited


def run(advertisers, sandbox, days):
    for each in advertisers:
        each.start()
    for _ in range(3 * days):
        sandbox.advance(hours=8)
        for each in advertisers:
            each.step()


def check_caps(advertiser, first, last):
    days, _ = advertiser.billed(first, last)
    assert max(days.values()) <= WORST
    for cap in overview(advertiser.door.ledger).caps:
        assert cap.reserved_micros + cap.posted_micros <= cap.limit_micros, cap
    assert verify(advertiser.guard.ledger).balances
    return days


def test_days_of_spending_stay_within_what_was_reserved(make_door, double, sandbox):
    first = sandbox.world.now().date()
    advertiser = Advertiser(make_door, double, sandbox, 1)
    run([advertiser], sandbox, 4)
    days = check_caps(advertiser, first, sandbox.world.now().date())
    assert sum(days.values()) > DAILY  # it did spend
    report = advertiser.platform.read_hours(sandbox.world.now() - timedelta(days=4))
    assert len({hour.target for hour in report.hours}) > 4
    by_day = defaultdict(int)
    for hour in report.hours:
        by_day[hour.start.date()] += hour.cost_micros
    costs = {cost.day: cost.micros for cost in advertiser.platform.read_costs(min(by_day), max(by_day)).costs}
    whole = sorted(by_day)[1:]  # the first day was asked for from some hour on
    assert {day: by_day[day] for day in whole} == {day: costs[day] for day in whole}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("numbers", [(2, 3), (4, 5)])  # 52 days each: 208 account-days
def test_over_200_account_days_caps_hold_to_the_micro_and_invoices_are_explained(make_door, double, sandbox, numbers):
    first = sandbox.world.now().date()
    advertisers = [Advertiser(make_door, double, sandbox, number) for number in numbers]
    run(advertisers, sandbox, 52)
    last, spent, beyond = sandbox.world.now().date(), [], 0
    for each in advertisers:
        days = check_caps(each, first, last)
        spent += days.values()
        beyond += sum(micros > 1.5 * DAILY for micros in days.values())
        explained = explain_invoices(each.guard)
        credited = each.billed(first, last)[1]
        assert explained
        for invoice in explained:
            parts = {part.why: part.micros for part in invoice.parts}
            assert invoice.unexplained_micros == 0
            assert invoice.booked_micros + sum(parts.values()) == invoice.invoiced_micros
            known = parts.get("invalid clicks of this month, credited when they were found", 0)
            assert known == credited[invoice.month]
    assert len(spent) >= 80  # of 104; on the others it was paused
    assert beyond > 0  # days beyond 1.5x of a budget, none beyond 2x
