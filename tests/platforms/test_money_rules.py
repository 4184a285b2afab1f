"""The money rules act: allow may alert, hold pauses, kill stops, and an unknown figure is never allowed."""

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import text

from gaelp.budget.ledger import CapKind
from gaelp.config import load_settings
from gaelp.errors import GaelpError, Refused
from gaelp.observability.alerts import Dispatcher
from gaelp.platforms import ALL_CAPS, CampaignState, Done, apply_money_rules, guarded, reconcile
from gaelp.platforms.hour_book import find_hours
from gaelp.platforms.money_rules import UNKNOWN

HOUR = timedelta(hours=1)
DAILY = 5_000_000
SETTINGS = ("budget.conversion_value_micros=300000", "budget.loss_cap_micros=21200000")


def budget(*overrides):
    return load_settings(overrides=overrides or SETTINGS, environ={}).settings.budget


class Account:
    """Campaigns that run on the double from noon on, hour by hour."""

    def __init__(self, door, double):
        self.door, self.double, self.platform, self.guard = door, double, door.platform, door.guard
        self.since = dict[str, object]()

    def run(self, *campaigns, daily=DAILY):
        for campaign in campaigns:
            for kind in ("budget", "enable"):
                order = self.double.order(f"{campaign}-{kind}", kind, campaign, daily)
                assert guarded(self.guard, self.double.approve(self.door, order)) == Done()
        return self

    def resume(self, campaign, key):
        order = self.double.order(key, "enable", campaign)
        assert guarded(self.guard, self.double.approve(self.door, order)) == Done()

    def apply(self, *overrides):
        return apply_money_rules(self.guard, budget(*overrides))

    def hour(self, campaign="spring", cost=200_000, conversions=1, **more):
        """One more hour of a campaign, which ends now."""
        counts = {"impressions": 1000, "clicks": 20, "conversions": conversions, **more}
        self.platform.report_hour(campaign, self.door.clock.now() - HOUR, cost, **counts)
        return self

    def later(self, duration=HOUR):
        self.door.clock.advance(duration)
        return self

    def observed(self, campaign="spring"):
        return find_hours(self.door.ledger, "acc", campaign).observed

    def status(self, campaign="spring"):
        return self.platform.campaigns[campaign].status

    def rules_on_record(self, campaign="spring"):
        return [each.rule for each in self.guard.violations.list(scope=campaign, open_only=True)]


@pytest.fixture
def account(make_door, double):
    return Account(make_door(limits={CapKind.ACCOUNT_DAY: 10**9, CapKind.TOTAL: 10**9, CapKind.ACCOUNT: 10**9}), double)


def test_a_campaign_that_keeps_every_rule_continues(account):
    account.run("spring").apply()
    for _ in range(6):
        report = account.later().hour().apply()
    assert report.verdicts == {"spring": "allow: all 21 rules allow"}
    assert (report.paused, report.failures, account.status()) == ((), (), "enabled")
    assert account.observed().window.episode_spend_micros == 1_200_000


def test_a_notice_is_alerted_and_nothing_else(account):
    account.run("spring").apply()
    report = account.later().hour(cost=5_100_000, conversions=20).apply()
    assert report.verdicts["spring"].startswith("allow")
    assert account.door.heard.rules == ["day-spend-50"]
    assert account.rules_on_record() == []


# Beginning


def test_a_campaign_just_begun_is_not_paused_because_no_hour_has_ended(account):
    account.later(timedelta(minutes=20)).run("spring")
    for _ in range(4):
        report = account.apply()
        assert report.verdicts["spring"].startswith("not judged yet: no hour of it has ended")
        assert report.failures == ()
        account.later(timedelta(minutes=9))
    assert account.later(timedelta(minutes=5)).apply().verdicts["spring"].startswith("allow")


def test_after_its_first_whole_hour_and_the_lag_missing_figures_hold(account):
    account.platform.hours_lag = timedelta(days=1)
    account.later(timedelta(minutes=1)).run("spring").apply()
    account.later(timedelta(hours=4, minutes=58)).apply()  # one minute before 14:00 and three hours
    assert account.status() == "enabled"
    report = account.later(timedelta(minutes=1)).apply()
    assert (report.paused, account.status()) == (("spring",), "paused")
    assert account.rules_on_record() == [UNKNOWN]
    assert "no hour of it has ended" in report.failures[0]


def test_a_platform_that_reports_late_is_judged_by_what_it_has_reported(account):
    account.platform.hours_lag = timedelta(minutes=100)
    account.run("spring").apply()
    for _ in range(5):
        report = account.later().hour().apply()
    assert report.verdicts["spring"].startswith("allow")
    assert len(account.observed().window.hours) == 3


def test_what_a_platform_reports_late_by_its_terms_is_not_too_old(make_door, double):
    terms = double.TERMS.model_copy(update={"report_lag_hours": 3})
    late = Account(make_door(limits=dict.fromkeys(ALL_CAPS, 10**9), terms=terms), double)
    late.platform.hours_lag = timedelta(hours=3)
    late.run("spring").apply()
    for _ in range(8):
        report = late.later().hour().apply()
        assert report.failures == ()
    assert report.verdicts["spring"].startswith("allow")
    late.platform.hours_lag = timedelta(hours=9)
    for _ in range(3):
        assert late.later().hour().apply().paused == ()
        late.platform.hours_lag += HOUR
    assert late.later().hour().apply().paused == ("spring",)


# What is not known


def test_a_report_that_does_not_advance_pauses(account):
    account.run("spring").apply()
    for _ in range(3):
        account.later().hour().apply()
    stands_at = account.door.clock.now()
    for _ in range(3):
        account.later()
        account.platform.hours_lag = account.door.clock.now() - stands_at
        assert account.apply().verdicts["spring"].startswith("allow")
    account.later(timedelta(minutes=10))
    account.platform.hours_lag = account.door.clock.now() - stands_at
    report = account.apply()
    assert (report.paused, account.status()) == (("spring",), "paused")
    assert "ended 190 minutes ago" in report.failures[0]
    assert account.rules_on_record() == [UNKNOWN]
    assert account.door.heard.rules == [UNKNOWN]
    assert not account.guard.switch.is_stopped()


def lost(*_given):
    raise ConnectionResetError("the line went dead")


def test_hours_that_cannot_be_read_pause_what_runs(account, monkeypatch):
    account.run("spring", "summer").apply()
    account.later().hour().hour("summer").apply()
    monkeypatch.setattr(account.platform, "read_hours", lost)
    report = account.later().apply()
    assert set(report.paused) == {"spring", "summer"}
    assert all("the line went dead" in failure for failure in report.failures)


def test_a_line_that_is_lost_for_a_moment_pauses_nothing(account, monkeypatch):
    account.run("spring").apply()
    read, tries = account.platform.read_hours, []

    def lost_twice(since):
        tries.append(since)
        return lost() if len(tries) < 3 else read(since)

    monkeypatch.setattr(account.platform, "read_hours", lost_twice)
    assert account.later().hour().apply().verdicts["spring"].startswith("allow")


def test_a_report_from_the_future_pauses(account):
    account.run("spring").apply()
    account.platform.hours_lag = timedelta(minutes=-2)
    assert account.later().hour().apply().paused == ("spring",)


def test_without_a_list_all_that_ran_when_it_was_seen_last_is_paused(account, monkeypatch):
    account.run("spring", "summer").apply()
    monkeypatch.setattr(account.platform, "read_campaigns", lost)
    report = account.later().apply()
    assert report.paused == ("spring", "summer")
    assert any("could not be judged" in failure for failure in report.failures)
    assert "money-rules-failed" in account.door.heard.rules


def test_what_is_wrong_with_one_campaign_keeps_no_other_from_being_judged(account):
    account.run("spring", "summer").apply()
    report = account.later().hour(cost=-5).hour("summer").apply()
    assert (report.paused, account.status("summer")) == (("spring",), "enabled")
    assert report.verdicts["summer"].startswith("allow")


def test_a_state_that_cannot_be_read_holds_with_words_on_what_to_do(account):
    account.run("spring", "summer").apply()
    with account.door.ledger.transaction() as connection:
        connection.execute(text("UPDATE platform_hours SET body = 'x' WHERE campaign = 'spring'"))
    report = account.later().hour().hour("summer").apply()
    assert report.paused == ("spring",)
    assert "delete its row" in report.failures[0]
    assert report.verdicts["summer"].startswith("allow")
    assert account.later().hour("summer").apply().failures == ()  # it is paused, and people were alerted


@pytest.mark.parametrize("key", ["conversion_value_micros", "loss_cap_micros"])
def test_a_value_that_nobody_set_is_not_guessed(account, key):
    account.run("spring", "summer")
    others = [given for given in SETTINGS if key not in given]
    report = account.apply(*others, f"budget.campaigns={{summer: {{{key}: 300000}}}}")
    assert report.paused == ("spring",)
    assert f"budget.{key} is not set" in report.failures[0]
    assert f"budget.campaigns.spring.{key}" in report.failures[0]
    assert account.status("summer") == "enabled"


def test_rules_that_cannot_be_read_pause_everything(account):
    account.run("spring")
    report = account.apply(*SETTINGS, "budget.rules=nowhere")
    assert report.paused == ("spring",)
    assert "'nowhere' not found" in report.failures[0]


def test_a_campaign_that_nobody_gave_a_budget_is_paused(account):
    today = account.guard.today()
    account.platform.campaigns["spring"] = CampaignState("spring", "enabled", DAILY, today)
    report = account.apply()
    assert report.paused == ("spring",)
    assert "was never given a budget" in report.failures[0]


def test_an_entry_without_a_name_is_a_failure(account):
    account.platform.campaigns[""] = CampaignState("", "enabled", DAILY, account.guard.today())
    assert "without a campaign's name" in account.apply().failures[0]


# Hold


def held(account):
    """Six hours at four and a half times the plan."""
    account.run("spring").apply()
    for _ in range(6):
        report = account.later().hour(cost=940_000, conversions=4).apply()
    return report


def test_a_hold_pauses_and_is_recorded_and_alerted(account):
    report = held(account)
    assert report.verdicts["spring"].startswith("hold: spend-rate-6h")
    assert (report.paused, report.failures, account.status()) == (("spring",), (), "paused")
    assert account.rules_on_record() == ["spend-rate-6h"]
    assert account.door.heard.rules.count("spend-rate-6h") == 1
    assert not account.guard.switch.is_stopped()


def test_a_pause_that_fails_is_retried_and_reported_again_and_recorded_once(account):
    account.platform.pause_faults.extend(["lose call"] * 3)
    report = held(account)
    assert (report.paused, account.status()) == ((), "enabled")
    assert "THE PAUSE DID NOT SUCCEED" in report.failures[0]
    account.later().hour(cost=940_000, conversions=4).apply()
    assert account.status() == "paused"
    assert account.rules_on_record() == ["spend-rate-6h"]
    assert account.door.heard.rules.count("pause-failed") == 1


def test_when_people_are_reported_it_is_paused_already(account):
    message = []

    class Hangs:
        name = "hangs"

        def send(self, alert):
            message.append((alert.severity, account.status(), account.rules_on_record()))
            if alert.severity == "critical":
                raise KeyboardInterrupt  # somebody loses patience

    account.guard = replace(account.guard, alerts=Dispatcher([Hangs()], account.door.clock))
    with pytest.raises(KeyboardInterrupt):
        held(account)
    assert ("critical", "paused", ["spend-rate-6h"]) in message


def test_alerts_that_reach_nobody_are_a_failure_and_no_more(account):
    class Deaf:
        name = "deaf"

        def send(self, _alert):
            raise OSError("nobody there")

    account.guard = replace(account.guard, alerts=Dispatcher([Deaf()], account.door.clock))
    held(account)
    assert account.status() == "paused"


def test_a_campaign_that_runs_again_starts_its_hours_again(account):
    held(account)
    account.later(timedelta(hours=2)).apply()
    account.later(timedelta(hours=2, minutes=30)).resume("spring", "again")
    assert account.apply().verdicts["spring"].startswith("not judged yet")
    report = account.later(timedelta(minutes=31)).apply()
    assert report.verdicts["spring"].startswith("allow")
    actual = account.observed().window
    assert (len(actual.hours), actual.hours_since_pause) == (7, 1)
    assert (actual.day_spend_micros, actual.episode_spend_micros) == (5_640_000, 5_640_000)


def test_what_was_lost_before_a_pause_still_counts(account):
    held(account)
    account.apply()
    account.later(timedelta(minutes=30)).resume("spring", "again")
    account.apply()
    tight = (SETTINGS[0], "budget.loss_cap_micros=100000")  # 5.64 spent, 24 conversions of 0.30 came
    account.later(timedelta(minutes=30)).hour(cost=2_000_000, conversions=0)
    assert account.apply(*tight).verdicts["spring"].startswith("kill: loss-cap")


# Kill


def killed(account):
    """More in a day than the worst case of the budget."""
    account.run("spring", "summer").apply()
    return account.later().hour(cost=2 * DAILY + 1).hour("summer").apply()


def test_a_kill_sets_the_switch_and_nothing_is_granted_afterwards(account, double):
    report = killed(account)
    assert report.stopped
    assert report.verdicts["spring"].startswith("kill: day-limit")
    assert account.guard.switch.is_stopped()
    assert {account.status("spring"), account.status("summer")} == {"paused"}
    assert "day-limit" in account.rules_on_record()
    critical = {alert.key.partition("/")[0] for alert in account.door.heard.alerts if alert.severity == "critical"}
    assert {"day-limit", "stopped-by-rules"} <= critical
    sent = len(account.platform.sent("enable", "set_budget"))
    for key, kind in (("new-1", "budget"), ("new-2", "enable")):
        with pytest.raises(Refused):
            guarded(account.guard, double.approve(account.door, double.order(key, kind, "summer")))
    assert len(account.platform.sent("enable", "set_budget")) == sent


def test_a_stop_is_made_once(account):
    killed(account)
    stop = account.guard.switch.state().latch.id
    account.platform.campaigns["spring"] = replace(account.platform.campaigns["spring"], status="enabled")
    report = account.later().hour().apply()
    assert not report.stopped
    assert account.guard.switch.state().latch.id == stop
    assert account.status() == "paused"


def test_a_switch_that_cannot_be_read_is_still_set(account, monkeypatch):
    account.run("spring").apply()
    monkeypatch.setattr(type(account.guard.switch), "state", lost)
    assert account.later().hour(cost=2 * DAILY + 1).apply().stopped


def test_where_the_switch_cannot_be_set_everything_is_paused(account, monkeypatch):
    def broken(_self, *, by, reason):
        raise GaelpError(f"NOT STOPPED ({by}, {reason})")

    monkeypatch.setattr(type(account.guard.switch), "stop", broken)
    report = killed(account)
    assert not report.stopped
    assert set(report.paused) == {"spring", "summer"}
    assert "THE KILL SWITCH COULD NOT BE SET" in report.failures[0]
    assert "money-rules-failed" in account.door.heard.rules


def test_a_budget_that_was_lowered_stops_nothing_on_its_day(account, double):
    account.run("spring", daily=8 * DAILY).apply()
    for _ in range(3):
        account.later().hour(cost=1_700_000, conversions=6)
    lower = double.order("lower", "budget", daily=DAILY)
    assert guarded(account.guard, double.approve(account.door, lower)) == Done()
    assert account.apply().verdicts["spring"].startswith("allow")


# Exactly once


class Cut(BaseException):
    """The process ends here."""


def cut_at(account, number):
    """The guard whose ledger ends the process at its n-th point."""
    points = iter(range(1, 10_000))

    def at_point(_point):
        if next(points) == number:
            raise Cut

    return replace(account.guard, ledger=replace(account.door.ledger, at_point=at_point))


@pytest.mark.parametrize("number", range(1, 9))
def test_killed_anywhere_and_repeated_no_hour_is_taken_in_twice_or_lost(account, number):
    account.run("spring", "summer").apply()
    for _ in range(3):
        account.later().hour().hour("summer", cost=150_000)
    with suppress(Cut):
        apply_money_rules(cut_at(account, number), budget())
    report = account.apply()
    assert report.failures == ()
    for campaign, cost in (("spring", 200_000), ("summer", 150_000)):
        assert [hour[0] for hour in account.observed(campaign).window.hours] == [cost] * 3


def test_a_verdict_whose_pause_was_cut_off_is_given_again(account, monkeypatch):
    def cut(_guard, findings):
        if findings:
            raise Cut
        return []

    monkeypatch.setattr("gaelp.platforms.money_rules.pause_and_record", cut)
    with pytest.raises(Cut):
        held(account)
    assert (account.status(), account.observed().window.hours_since_pause) == ("enabled", 6)
    monkeypatch.undo()
    assert account.apply().paused == ("spring",)


def test_two_at_the_same_time_take_each_hour_in_once(account, monkeypatch):
    account.run("spring").apply()
    account.later().hour()
    read, inside = account.platform.read_hours, []

    def another_in_between(since):
        report = read(since)
        if not inside:
            inside.append(True)
            account.apply()
        return report

    monkeypatch.setattr(account.platform, "read_hours", another_in_between)
    assert account.apply().verdicts["spring"].startswith("allow")
    assert account.later().hour().apply().failures == ()
    assert [hour[0] for hour in account.observed().window.hours] == [200_000] * 2


def test_a_gap_between_two_passes_is_made_up_for(account):
    account.run("spring").apply()
    for _ in range(30):
        account.later().hour()
    reconcile(account.guard)
    report = account.apply()
    assert report.verdicts["spring"].startswith("allow")
    assert len(account.observed().window.hours) == 30


# Reports that are revised


def test_an_hour_that_the_platform_revises_is_judged_as_it_is_now(account):
    account.run("spring").apply()
    start = account.door.clock.now()
    for _ in range(6):
        account.later().hour().apply()
    account.platform.report_hour("spring", start, 190_000, impressions=1000, clicks=19, conversions=1)
    report = account.later().hour().apply()
    assert report.failures == ()
    assert [hour[0] for hour in account.observed().window.hours] == [190_000] + [200_000] * 6
    assert account.observed().window.episode_spend_micros == 1_390_000


def test_cost_that_comes_to_light_days_later_still_stops_the_campaign(account):
    account.run("spring").apply()
    start = account.door.clock.now()
    for _ in range(3):
        account.later().hour().apply()
    account.platform.report_hour("spring", start, 60_000_000, impressions=1000, clicks=20, conversions=1)
    report = account.later().hour().apply()
    assert (report.stopped, account.status()) == (True, "paused")
    assert "loss-cap" in account.rules_on_record()


def test_late_conversions_end_a_drought_when_they_are_reported(account):
    account.run("spring").apply()
    start = account.door.clock.now()
    for _ in range(5):
        account.later().hour(conversions=0).apply()
    account.platform.report_hour("spring", start, 200_000, impressions=1000, clicks=20, conversions=4)
    account.later().hour(conversions=0).apply()
    assert [hour[2] for hour in account.observed().window.hours] == [0, 0, 0, 0, 0, 4]
