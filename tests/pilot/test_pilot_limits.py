"""The limits that a plan needs in the ledger."""

from contextlib import closing
from datetime import UTC, datetime

import pytest

from gaelp.budget.ledger import (
    AdAccount,
    Cap,
    CapKind,
    Reservation,
    known_limit,
    open_account,
    reserve,
    set_limit,
    verify,
)
from gaelp.budget.platform_budget import load_platform_terms
from gaelp.clock import ManualClock
from gaelp.errors import WaitingForPerson
from gaelp.guard_bootstrap import create_books
from gaelp.money import Money
from gaelp.pilot.pilot_limits import needed_limits, provide_limits

TERMS = load_platform_terms().of("google-ads")
ACCOUNT = AdAccount("local-run-1", "USD", "America/New_York")


@pytest.fixture
def settings(tmp_path, account_parts):
    return account_parts.settings_of(tmp_path / "home")


@pytest.fixture
def ledger(settings):
    with closing(create_books(settings, ACCOUNT, ManualClock(datetime(2026, 10, 6, 12, tzinfo=UTC)))) as books:
        yield books


@pytest.fixture
def plan(settings, account_parts):
    return account_parts.plan_of(settings)


def limit_of(ledger, kind, subject):
    return known_limit(ledger, Cap(kind, subject))


def test_every_cap_holds_the_worst_case_of_the_whole_plan_and_not_a_micro_more(settings, ledger, plan):
    provide_limits(settings, "sandbox", ledger, plan, TERMS)
    campaign = plan.campaigns[0].name
    usd = {
        (CapKind.TOTAL, "all"): 700,  # 2 campaigns x $25 x 2 (overdelivery) x 7 days
        (CapKind.ACCOUNT, ACCOUNT.id): 700,
        (CapKind.ACCOUNT_DAY, ACCOUNT.id): 100,
        (CapKind.CAMPAIGN, campaign): 350,
        (CapKind.CAMPAIGN_DAY, campaign): 50,
    }
    assert {key: limit_of(ledger, *key) for key in usd} == {
        key: Money(amount * 1_000_000, "USD") for key, amount in usd.items()
    }
    assert verify(ledger).findings == ()


def test_a_second_time_changes_nothing_and_higher_limits_are_kept(settings, ledger, plan):
    higher = Money(2_000_000_000, "USD")
    set_limit(ledger, Cap(CapKind.ACCOUNT, ACCOUNT.id), higher, account_id=ACCOUNT.id)
    for _ in range(2):
        provide_limits(settings, "sandbox", ledger, plan, TERMS)
    assert limit_of(ledger, CapKind.ACCOUNT, ACCOUNT.id) == higher


def test_what_other_accounts_have_used_of_the_total_comes_on_top(settings, ledger, plan):
    open_account(ledger, AdAccount("other", "USD", "UTC"))
    total = Cap(CapKind.TOTAL, "all")
    set_limit(ledger, total, Money(100_000_000, "USD"))
    reserve(ledger, Reservation("r1", "other", Money(30_000_000, "USD"), (total,)))
    provide_limits(settings, "sandbox", ledger, plan, TERMS)
    assert known_limit(ledger, total) == Money(730_000_000, "USD")


def test_what_the_plan_itself_has_used_does_not_raise_the_total_again(settings, ledger, plan):
    provide_limits(settings, "sandbox", ledger, plan, TERMS)
    caps = (Cap(CapKind.TOTAL, "all"), Cap(CapKind.ACCOUNT, ACCOUNT.id))
    own = Cap(CapKind.CAMPAIGN, plan.campaigns[0].name)
    reserve(ledger, Reservation("r1", ACCOUNT.id, Money(50_000_000, "USD"), (*caps, own)))
    needed = needed_limits(ledger, plan, TERMS)
    assert [needed[cap] for cap in caps] == [Money(700_000_000, "USD")] * 2


def test_what_other_campaigns_of_the_account_have_used_comes_on_top(settings, ledger, plan):
    provide_limits(settings, "sandbox", ledger, plan, TERMS)
    caps = (Cap(CapKind.TOTAL, "all"), Cap(CapKind.ACCOUNT, ACCOUNT.id))
    reserve(ledger, Reservation("r1", ACCOUNT.id, Money(50_000_000, "USD"), caps))
    needed = needed_limits(ledger, plan, TERMS)
    assert [needed[cap] for cap in caps] == [Money(750_000_000, "USD")] * 2


def test_where_real_money_can_move_people_are_asked_and_nothing_is_set(settings, ledger, plan):
    with pytest.raises(WaitingForPerson) as waiting:
        provide_limits(settings, "live", ledger, plan, TERMS, options=" --config mine")
    said = str(waiting.value)
    assert f"`gaelp ledger limit account_day {ACCOUNT.id} '$100.00' --account {ACCOUNT.id} --key FILE" in said
    assert "`gaelp ledger limit total all '$700.00' --currency USD --key FILE --reason WHY --config mine`" in said
    assert limit_of(ledger, CapKind.ACCOUNT_DAY, ACCOUNT.id) is None


def test_where_real_money_can_move_limits_that_people_have_set_are_enough(settings, ledger, plan):
    for cap, limit in needed_limits(ledger, plan, TERMS).items():
        set_limit(ledger, cap, limit, account_id="" if cap.kind is CapKind.TOTAL else ACCOUNT.id)
    provide_limits(settings, "live", ledger, plan, TERMS)
