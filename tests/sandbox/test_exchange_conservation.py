"""Conservation on the exchange: counts nest, money adds up, budgets hold, causes come first, reports end up true."""

from dataclasses import dataclass, replace
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine

from gaelp.sandbox.auctions.account_calendar import AccountCalendar
from gaelp.sandbox.exchange import Exchange
from gaelp.sandbox.exchange_events import MEASURES, NEVER, ExchangeEvents, join_events
from gaelp.sandbox.report_view import ReportWindow, report_rows
from gaelp.sandbox.serving import (
    BiddingStrategy,
    ManualBids,
    MaximizeConversions,
    ServedCampaign,
    ServedGroup,
    TargetCpa,
    TargetRoas,
)
from gaelp.sandbox.spec import load_sandbox_spec
from gaelp.sandbox.world_calendar import WorldCalendar
from gaelp.sandbox.world_rows import add_serve_call, store_events
from gaelp.sandbox.world_schema import STORE

DEFAULT = load_sandbox_spec()
# Few users, quickly tired, many late and invalid clicks: what is rare in the default world happens in days.
SPEC = DEFAULT.model_copy(
    update={
        "searches": DEFAULT.searches.model_copy(update={"per_hour": 120.0, "busy_day_share": 0.3}),
        "users": DEFAULT.users.model_copy(update={"per_product": 500}),
        "clicks": DEFAULT.clicks.model_copy(
            update={"late_share": 0.3, "late_mean_minutes": 60.0, "invalid_share": 0.1}
        ),
    }
)
HOUR, DAY = 60, 1440
START = date(2026, 9, 7)
ACCOUNTS = ("1000000001", "2000000001")
LATEST = 4 * DAY + 90 * DAY  # when every conversion has been reported and every credit made
PRODUCTS = ("shop.example/shoes", "shop.example/hats")
LEVELS = {product: Exchange(SPEC).price_levels(product) for product in PRODUCTS}
SETTINGS = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], print_blob=True)


@dataclass(frozen=True)
class Call:
    tick: int
    campaign: ServedCampaign


STRATEGIES: st.SearchStrategy[BiddingStrategy] = st.one_of(
    st.just(ManualBids()),
    st.builds(TargetCpa, st.integers(10**6, 10**8)),
    st.builds(TargetRoas, st.floats(0.2, 5)),
    st.just(MaximizeConversions()),
)


@st.composite
def campaigns(draw: st.DrawFn, number: int) -> ServedCampaign:
    """A campaign with one to three groups over shared topics, a small budget and maybe a flight."""
    product = draw(st.sampled_from(PRODUCTS))
    groups = [
        ServedGroup(
            id=number * 10 + n,
            topics=tuple(draw(st.sets(st.integers(0, 7), min_size=1))),
            bid_micros=int(draw(st.floats(0.1, 4)) * LEVELS[product][n]),
            device_factors=(draw(st.sampled_from([0.0, 0.5, 1.0, 1.7])), 1.0),
            appeal=draw(st.sampled_from([0.5, 1.0, 2.0])),
        )
        for n in range(draw(st.integers(1, 3)))
    ]
    budget, daily = draw(st.integers(0, 40_000_000)), draw(st.booleans())
    rule = DEFAULT.overdelivery.google if number % 2 else DEFAULT.overdelivery.meta  # no campaign changes its platform
    first = draw(st.one_of(st.none(), st.integers(0, 2)))
    return ServedCampaign(
        id=number,
        account=draw(st.sampled_from(ACCOUNTS)),
        product=product,
        enabled=draw(st.sampled_from([True, True, True, False])),
        groups=tuple(groups),
        overdelivery=rule.limits(),
        daily_micros=budget if daily else None,
        total_micros=None if daily else budget,
        first_day=None if first is None else START + timedelta(days=first),
        last_day=draw(st.sampled_from([None, START + timedelta(days=2)])),
        strategy=draw(STRATEGIES),
        users_to=draw(st.sampled_from([1.0, 0.5])),
    )


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Call], list[int]]:
    """Calls on up to three campaigns over four days, and ticks at which time is stopped for no reason."""
    calls = [
        Call(draw(st.integers(0, 3 * DAY)), draw(campaigns(n)))
        for n in draw(st.lists(st.integers(1, 3), min_size=1, max_size=6))
    ]
    return sorted(calls, key=lambda call: call.tick), sorted(draw(st.lists(st.integers(0, 4 * DAY), max_size=3)))


def played(calls: list[Call], stops: list[int], *, restored_at: int | None = None) -> ExchangeEvents:
    exchange, parts = Exchange(SPEC), []
    for tick in sorted({*stops, *(call.tick for call in calls), 4 * DAY}):
        parts.append(exchange.advance(tick))
        if tick == restored_at:
            exchange = Exchange.restore(SPEC, exchange.snapshot())
        for call in calls:
            if call.tick == tick:
                exchange.serve(call.campaign)
    return join_events(parts)


def check_counts(events: ExchangeEvents) -> None:
    hours = events.hours
    assert (hours["clicks"].sum() == 0) or (hours["impressions"].sum() > 0)
    assert (hours["impressions"] <= hours["eligible"]).all()
    assert all((hours[name] >= 0).all() for name in MEASURES)
    for campaign in np.unique(hours["campaign"]):  # a late click may be in another hour than its impression
        ours = hours[hours["campaign"] == campaign]
        assert ours["clicks"].sum() <= ours["impressions"].sum()
        assert ours["hides"].sum() + ours["complaints"].sum() <= ours["impressions"].sum()


def check_sums(events: ExchangeEvents) -> None:
    """Hour totals are the sums of the clicks, whole and by hour, group and device."""
    calendar = AccountCalendar(SPEC.start, SPEC.zone)
    totals: dict[tuple[int, ...], np.ndarray] = {}
    for row in events.hours:
        key = tuple(int(row[name]) for name in ("hour_tick", "campaign", "group", "device"))
        totals[key] = totals.get(key, 0) + np.array([row["clicks"], row["cost_micros"]])
    for click in events.clicks:
        assert click["cost_micros"] > 0
        ticks = calendar.day_at(int(click["tick"])).ticks
        hour = int(ticks[np.searchsorted(ticks, click["tick"], "right") - 1])
        totals[hour, int(click["campaign"]), int(click["group"]), int(click["device"])] -= [1, click["cost_micros"]]
    assert not any(left.any() for left in totals.values())


def check_causes(events: ExchangeEvents) -> None:
    clicks = {int(click["id"]): click for click in events.clicks}
    assert len(clicks) == len(events.clicks)
    assert len({int(sale["id"]) for sale in events.conversions}) == len(events.conversions)
    for sale in events.conversions:
        click = clicks[int(sale["click"])]
        assert click["tick"] == sale["click_tick"] < sale["tick"] < sale["reported_tick"]
        assert sale["refunded_tick"] == NEVER or sale["refunded_tick"] > sale["tick"]
        assert (sale["campaign"], sale["group"], sale["device"]) == (click["campaign"], click["group"], click["device"])
        assert sale["value_micros"] > 0
    credited = {int(credit["click"]) for credit in events.credits}
    assert len(credited) == len(events.credits)
    assert credited.isdisjoint(int(sale["click"]) for sale in events.conversions)
    for credit in events.credits:
        assert credit["cost_micros"] == clicks[int(credit["click"])]["cost_micros"]
        assert credit["tick"] > credit["click_tick"]


def check_budgets(calls: list[Call], events: ExchangeEvents) -> None:
    """No day or period beyond its overdelivery of the highest budget that held in it; no flight beyond its total."""
    calendar = AccountCalendar(SPEC.start, SPEC.zone)
    for number in {call.campaign.id for call in calls}:
        ours = [call for call in calls if call.campaign.id == number]
        clicks = events.clicks[events.clicks["campaign"] == number]
        days = [calendar.day_at(int(tick)) for tick in clicks["tick"]]
        cost = clicks["cost_micros"]
        for call, until in zip(ours, [*(call.tick for call in ours[1:]), 4 * DAY], strict=True):
            if call.campaign.total_micros is not None:
                billed = int(cost[clicks["tick"] < until].sum())
                before = int(cost[clicks["tick"] < call.tick].sum())
                assert billed <= max(call.campaign.total_micros, before)
        if all(call.campaign.daily_micros is not None for call in ours):
            check_day_limits(ours, np.array([day.ordinal for day in days]), cost)


def check_day_limits(calls: list[Call], days: np.ndarray, cost: np.ndarray) -> None:
    for day in np.unique(days):
        # Whatever held on this day, or in the week or month, is at most the highest budget and rule of the history.
        end = (int(day) - START.toordinal() + 1) * DAY
        held = [call.campaign for call in calls if call.tick < end]
        begun = [n for n, call in enumerate(calls) if call.tick <= end - DAY]
        held_today = held[max(begun, default=0) :]
        most = max(served.daily_micros * served.overdelivery.day_percent // 100 for served in held_today)
        assert int(cost[days == day].sum()) <= most
    rule, highest = calls[0].campaign.overdelivery, max(call.campaign.daily_micros for call in calls)
    periods = days if rule.period == "month" else days - days % 7
    for period in {0} if rule.period == "month" else set(periods):
        inside = np.ones(len(days), bool) if rule.period == "month" else periods == period
        assert int(cost[inside].sum()) <= highest * rule.period_percent // 100


def reported(calls: list[Call], events: ExchangeEvents, now: int) -> dict[str, int]:
    """The sums of the reports of both accounts over all days, as known at a tick."""
    engine = create_engine("sqlite://")
    calendar = WorldCalendar(SPEC.start, SPEC.zone)
    with engine.begin() as connection:
        STORE.schema.metadata.create_all(connection)
        for call in calls:
            add_serve_call(connection, call.tick, call.campaign)
        store_events(connection, events)
        rows = [
            row
            for account in ACCOUNTS
            for row in report_rows(connection, ReportWindow(account, range(-HOUR, LATEST), now, 3 * HOUR, calendar))
        ]
    engine.dispose()
    names = ("eligible", "impressions", "clicks", "cost_micros", "conversions", "value_micros")
    return {name: sum(getattr(row, name) for row in rows) for name in names}


def check_reports(calls: list[Call], events: ExchangeEvents) -> None:
    """Once all revisions are in, reports are the events less the credits; before, they show no more sales."""
    hours, clicks, sales, given_back = events.hours, events.clicks, events.conversions, events.credits
    final = reported(calls, events, LATEST)
    assert final == {
        "eligible": hours["eligible"].sum(),
        "impressions": hours["impressions"].sum(),
        "clicks": len(clicks) - len(given_back),
        "cost_micros": clicks["cost_micros"].sum() - given_back["cost_micros"].sum(),
        "conversions": len(sales),
        "value_micros": sales["value_micros"].sum(),
    }
    early = reported(calls, events, 2 * DAY)
    assert all(early[name] <= final[name] for name in ("eligible", "impressions", "conversions", "value_micros"))


def check(history: tuple[list[Call], list[int]]) -> None:
    calls, stops = history
    events = played(calls, stops)
    check_reports(calls, events)
    check_counts(events)
    check_sums(events)
    check_causes(events)
    check_budgets(calls, events)


@settings(SETTINGS, max_examples=200)
@given(histories())
def test_counts_nest_money_adds_up_budgets_hold_and_causes_come_first(history):
    check(history)


@pytest.mark.slow
@settings(SETTINGS, max_examples=2000)
@given(histories())
def test_two_thousand_histories_conserve_everything(history):
    check(history)


@settings(SETTINGS, max_examples=20)
@given(histories(), st.integers(0, 4 * DAY))
def test_stops_and_restarts_change_nothing(history, restart):
    calls, stops = history
    plain, stopped = played(calls, []), played(calls, [*stops, restart], restored_at=restart)
    for name in ("clicks", "conversions", "credits"):
        assert np.array_equal(getattr(plain, name), getattr(stopped, name))
    for name in MEASURES:
        assert plain.hours[name].sum() == stopped.hours[name].sum()


def test_the_limits_are_reached_so_that_holding_them_means_something():
    """A tiny budget against large bids meets its daily limit to the micro; a period limit is met too."""
    served = ServedCampaign(
        id=1,
        account="1",
        product=PRODUCTS[0],
        enabled=True,
        groups=(ServedGroup(1, tuple(range(8)), 4 * max(LEVELS[PRODUCTS[0]])),),
        overdelivery=DEFAULT.overdelivery.meta.limits(),
        daily_micros=1_000_000,
    )
    events = played([Call(0, served)], [])
    by_day = np.bincount(events.clicks["tick"] // DAY, weights=events.clicks["cost_micros"])
    assert by_day.max() == 1_750_000
    tight = replace(served, overdelivery=replace(served.overdelivery, period_percent=200))
    assert played([Call(0, tight)], []).clicks["cost_micros"].sum() == 2_000_000
