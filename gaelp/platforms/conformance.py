"""What GAELP expects of every ad platform, as checks for your own connector.

Subclass `PlatformConformance` in a test module. `make` returns a platform with an empty account, `disconnected` one
without a connection, whose calls must be Unknown. Each property becomes a test:

    class TestMine(PlatformConformance):
        def make(self):
            return MyPlatform(...)

        def disconnected(self):
            return MyPlatform(...)
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from gaelp.content import Creative, creative_hash
from gaelp.platforms.platform import AdPlatform, CampaignState, Done, Rejected, Unknown

__all__ = [
    "CHECKS",
    "PlatformCheck",
    "PlatformConformance",
    "a_budget_is_kept_to_the_micro_or_rejected",
    "a_budget_is_read_back_as_it_was_written",
    "a_key_has_one_effect",
    "a_new_campaign_is_paused",
    "a_rejected_call_has_no_effect",
    "bids_are_read_back_and_change_nothing_else",
    "check_platform",
    "costs_are_a_dated_report",
    "enable_and_pause_change_the_status_alone",
    "hours_are_a_dated_report",
    "it_has_the_shape_of_a_platform",
    "publishing_leaves_the_status_alone",
    "several_are_paused_at_once",
    "what_was_done_is_found_by_its_key",
]

PlatformCheck = Callable[[AdPlatform], None]

_FIRST, _SECOND = 5_000_000, 8_000_000
_BIDS, _OTHER_BIDS = {"group-1": 200_000, "group-2": 300_000}, {"group-1": 250_000}
_ADVERT = Creative(id="conformance-1", headline="Fresh Bread", landing_url="https://www.shop.example/bread")


def check_platform(make: Callable[[], AdPlatform]) -> None:
    """Run every check, each on a new platform; raise AssertionError on the first that fails."""
    for check in CHECKS:
        check(make())


def it_has_the_shape_of_a_platform(platform: AdPlatform) -> None:
    """Every call exists, and the platform has a name and a world."""
    _expect(isinstance(platform, AdPlatform), f"{type(platform).__name__} lacks calls of AdPlatform")
    _expect(platform.world in ("live", "sandbox"), f"world is {platform.world!r}")
    _expect(bool(platform.name), "the name is empty")


def a_new_campaign_is_paused(platform: AdPlatform) -> None:
    """Setting a budget creates a campaign that does not deliver."""
    _done(platform.set_budget("one", _FIRST, _today(), key="k1"))
    _expect(_state(platform).status == "paused", "a new campaign is enabled")


def a_budget_is_read_back_as_it_was_written(platform: AdPlatform) -> None:
    """The daily budget and its last day, after the first write and after the second."""
    for key, micros, through in (("k1", _FIRST, _today()), ("k2", _SECOND, _today() + timedelta(days=1))):
        _done(platform.set_budget("one", micros, through, key=key))
        state = _state(platform)
        _expect(
            (state.daily_micros, state.through) == (micros, through), f"wrote {micros} through {through}, read {state}"
        )


def a_budget_is_kept_to_the_micro_or_rejected(platform: AdPlatform) -> None:
    """An amount that the platform would round is rejected, not rounded."""
    outcome = platform.set_budget("one", _FIRST + 1, _today(), key="k1")
    if isinstance(outcome, Done):
        _expect(_state(platform).daily_micros == _FIRST + 1, f"wrote {_FIRST + 1}, read {_state(platform)}")
    else:
        _expect(isinstance(outcome, Rejected) and not platform.read_campaigns(), f"{outcome} left a campaign behind")


def enable_and_pause_change_the_status_alone(platform: AdPlatform) -> None:
    """Pausing a paused campaign is Done too."""
    _done(platform.set_budget("one", _FIRST, _today(), key="k1"))
    before = _state(platform)
    _done(platform.enable("one", key="k2"))
    enabled = _state(platform)
    _expect((enabled.status, enabled.daily_micros) == ("enabled", before.daily_micros), f"enabled, it is {enabled}")
    for key in ("k3", "k4"):
        _done(platform.pause("one", key=key))
        _expect(_state(platform) == before, f"paused, it is {_state(platform)}, before it was {before}")


def several_are_paused_at_once(platform: AdPlatform) -> None:
    """A stop pauses from several threads, and each pause takes effect."""
    names = ("one", "two", "three", "four")
    for name in names:
        _done(platform.set_budget(name, _FIRST, _today(), key=f"{name}-budget"))
        _done(platform.enable(name, key=f"{name}-enable"))
    with ThreadPoolExecutor(len(names)) as pool:
        for outcome in pool.map(lambda name: platform.pause(name, key=f"{name}-pause"), names):
            _done(outcome)
    statuses = {state.campaign: state.status for state in platform.read_campaigns()}
    _expect(statuses == dict.fromkeys(names, "paused"), f"paused in parallel, they are {statuses}")


def publishing_leaves_the_status_alone(platform: AdPlatform) -> None:
    """A published advert is listed, and the campaign stays paused."""
    _done(platform.set_budget("one", _FIRST, _today(), key="k1"))
    _done(platform.publish("one", _ADVERT, key="k2"))
    state = _state(platform)
    _expect((state.creatives, state.status) == ((creative_hash(_ADVERT),), "paused"), f"published, it is {state}")


def bids_are_read_back_and_change_nothing_else(platform: AdPlatform) -> None:
    """Each target has its bid after the call, other targets keep theirs, and budget and status stay as they are."""
    _done(platform.set_budget("one", _FIRST, _today(), key="k1"))
    before = _state(platform)
    for key, bids in (("k2", _BIDS), ("k3", _OTHER_BIDS), ("k2", _BIDS)):  # the last is a repetition
        _done(platform.set_bids("one", bids, key=key))
    expected = tuple(sorted({**_BIDS, **_OTHER_BIDS}.items()))
    state = _state(platform)
    _expect(state.bids == expected, f"bid {expected}, read {state.bids}")
    _expect(replace(state, bids=before.bids) == before, f"only bids were changed, it is {state}, it was {before}")
    _expect(platform.look_up("k3") == Done(), f"k3 was done and is looked up as {platform.look_up('k3')}")


def a_key_has_one_effect(platform: AdPlatform) -> None:
    """A repeated call does not undo a later call."""
    _done(platform.set_budget("one", _FIRST, _today(), key="k1"))
    _done(platform.set_budget("one", _SECOND, _today(), key="k2"))
    _done(platform.set_budget("one", _FIRST, _today(), key="k1"))
    _expect(_state(platform).daily_micros == _SECOND, "a repeated call took effect again")


def what_was_done_is_found_by_its_key(platform: AdPlatform) -> None:
    """A key that was never used is not found."""
    _done(platform.set_budget("one", _FIRST, _today(), key="k1"))
    _done(platform.publish("one", _ADVERT, key="k2"))
    _done(platform.enable("one", key="k3"))
    for key in ("k1", "k2", "k3"):
        _expect(platform.look_up(key) == Done(), f"{key} was done and is looked up as {platform.look_up(key)}")
    _expect(platform.look_up("k4") is None, f"k4 was never used and is looked up as {platform.look_up('k4')}")


def a_rejected_call_has_no_effect(platform: AdPlatform) -> None:
    """Calls on a missing campaign are rejected, and do not create it."""
    outcomes = {"k1": platform.enable("none", key="k1"), "k2": platform.publish("none", _ADVERT, key="k2")}
    outcomes["k3"] = platform.set_bids("none", _BIDS, key="k3")
    for key, outcome in outcomes.items():
        _expect(isinstance(outcome, Rejected), f"a call on a campaign that is not there is {outcome}")
        _expect(not isinstance(platform.look_up(key), Done), f"{key} was rejected and is looked up as done")
    _expect(platform.read_campaigns() == (), f"there are campaigns: {platform.read_campaigns()}")


def costs_are_a_dated_report(platform: AdPlatform) -> None:
    """The report says when it was made, and has only the requested days and valid amounts."""
    first, last = _today() - timedelta(days=2), _today()
    report = platform.read_costs(first, last)
    _expect(report.as_of.utcoffset() is not None, f"as_of={report.as_of} has no time zone")
    wrong = [cost for cost in report.costs if not first <= cost.day <= last or type(cost.micros) is not int]
    _expect(not wrong and all(cost.micros >= 0 for cost in report.costs), f"costs are {report.costs}")


def hours_are_a_dated_report(platform: AdPlatform) -> None:
    """The report says when it was made, and has each hour once, none before the requested time, with whole counts."""
    since = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=3)
    report = platform.read_hours(since)
    _expect(report.as_of.utcoffset() is not None, f"as_of={report.as_of} has no time zone")
    _expect(report.as_of <= datetime.now(UTC) + timedelta(minutes=1), f"as_of={report.as_of} is in the future")
    for hour in report.hours:
        counts = (hour.cost_micros, hour.impressions, hour.clicks, hour.conversions)
        _expect(all(type(count) is int and count >= 0 for count in counts), f"invalid counts: {hour}")
        _expect(hour.start.utcoffset() is not None and hour.start >= since, f"asked since {since}, got {hour}")
    names = [(hour.campaign, hour.start) for hour in report.hours]
    _expect(len(names) == len(set(names)), f"an hour is listed twice among {names}")


CHECKS: tuple[PlatformCheck, ...] = (
    it_has_the_shape_of_a_platform,
    a_new_campaign_is_paused,
    a_budget_is_read_back_as_it_was_written,
    a_budget_is_kept_to_the_micro_or_rejected,
    enable_and_pause_change_the_status_alone,
    several_are_paused_at_once,
    publishing_leaves_the_status_alone,
    bids_are_read_back_and_change_nothing_else,
    a_key_has_one_effect,
    what_was_done_is_found_by_its_key,
    a_rejected_call_has_no_effect,
    costs_are_a_dated_report,
    hours_are_a_dated_report,
)


class PlatformConformance:
    """The checks as tests; subclass it in a test module."""

    def make(self) -> AdPlatform:
        """A platform with an empty account."""
        raise NotImplementedError("return a platform with an empty account")

    def disconnected(self) -> AdPlatform:
        """The same platform without a connection."""
        raise NotImplementedError("return a platform whose calls get no answer")

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_the_platform_keeps_its_promise(self, check: PlatformCheck) -> None:
        """One property of AdPlatform."""
        check(self.make())

    def test_no_answer_is_unknown_and_never_a_failure(self) -> None:
        """Without an answer, nobody may conclude that nothing happened."""
        platform = self.disconnected()
        for outcome in (
            platform.set_budget("one", _FIRST, _today(), key="k1"),
            platform.publish("one", _ADVERT, key="k2"),
            platform.enable("one", key="k3"),
            platform.pause("one", key="k4"),
            platform.set_bids("one", _BIDS, key="k5"),
        ):
            _expect(isinstance(outcome, Unknown), f"without an answer the outcome is {outcome}")


def _today() -> date:
    return datetime.now(UTC).date()


def _state(platform: AdPlatform) -> CampaignState:
    states = platform.read_campaigns()
    _expect([state.campaign for state in states] == ["one"], f"expected only the campaign `one`, read {states}")
    return states[0]


def _done(outcome: object) -> None:
    _expect(outcome == Done(), f"the outcome is {outcome}")


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)
