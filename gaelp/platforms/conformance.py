"""What GAELP expects of every ad platform, as checks for your own connector.

Subclass `PlatformConformance` in a test module. `make` returns a platform with an empty account whose days are those of
UTC, `disconnected` one without a connection, whose calls must be Unknown. Each property becomes a test. A platform with
experiments is tested by `ExperimentConformance` too:

    class TestMine(PlatformConformance):
        def make(self):
            return MyPlatform(...)

        def disconnected(self):
            return MyPlatform(...)
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, timedelta
from typing import cast

import pytest

from gaelp.content import Creative, creative_hash
from gaelp.platforms.experiments import ExperimentPlatform, ExperimentState
from gaelp.platforms.platform import AdPlatform, CampaignState, Done, Rejected, Unknown

__all__ = [
    "CHECKS",
    "EXPERIMENT_CHECKS",
    "ExperimentConformance",
    "PlatformCheck",
    "PlatformConformance",
    "a_budget_is_kept_to_the_micro_or_rejected",
    "a_budget_is_read_back_as_it_was_written",
    "a_key_has_one_effect",
    "a_new_campaign_is_paused",
    "a_rejected_call_has_no_effect",
    "an_experiment_ends_for_all_users",
    "an_experiment_is_read_back_and_changes_no_campaign",
    "bids_are_read_back_and_change_nothing_else",
    "check_platform",
    "costs_are_a_dated_report",
    "enable_and_pause_change_the_status_alone",
    "hours_are_a_dated_report",
    "invoices_are_of_months",
    "it_has_the_shape_of_a_platform",
    "it_tells_its_time",
    "own_changes_are_no_foreign_edits",
    "publishing_leaves_the_status_alone",
    "several_are_paused_at_once",
    "what_was_done_is_found_by_its_key",
]

PlatformCheck = Callable[[AdPlatform], None]

_FIRST, _SECOND = 5_000_000, 8_000_000
_ANY_DAY = date(2100, 1, 1)  # for calls without a connection, where no time is known
_BIDS, _OTHER_BIDS = {"group-1": 200_000, "group-2": 300_000}, {"group-1": 250_000}
_ADVERT = Creative(
    id="conformance-1",
    advertiser="Shop Example",
    headline="Fresh Bread",
    description="Baked every morning. Delivered before eight.",
    call_to_action="Order Today",
    landing_url="https://www.shop.example/bread",
)


def check_platform(make: Callable[[], AdPlatform]) -> None:
    """Run every check, each on a new platform; raise AssertionError on the first that fails."""
    for check in CHECKS:
        check(make())


def it_has_the_shape_of_a_platform(platform: AdPlatform) -> None:
    """Every call exists, and the platform has a name and a world."""
    _expect(isinstance(platform, AdPlatform), f"{type(platform).__name__} lacks calls of AdPlatform")
    _expect(platform.world in ("live", "sandbox"), f"world is {platform.world!r}")
    _expect(bool(platform.name), "the name is empty")


def it_tells_its_time(platform: AdPlatform) -> None:
    """Its time is aware and does not go back."""
    first, second = platform.now(), platform.now()
    _expect(first.utcoffset() is not None, f"now={first} has no time zone")
    _expect(first <= second, f"its time went back from {first} to {second}")


def a_new_campaign_is_paused(platform: AdPlatform) -> None:
    """Setting a budget creates a campaign that does not deliver."""
    _done(platform.set_budget("one", _FIRST, _today(platform), key="k1"))
    _expect(_state(platform).status == "paused", "a new campaign is enabled")


def a_budget_is_read_back_as_it_was_written(platform: AdPlatform) -> None:
    """The daily budget and its last day, after the first write and after the second."""
    for key, micros, through in (
        ("k1", _FIRST, _today(platform)),
        ("k2", _SECOND, _today(platform) + timedelta(days=1)),
    ):
        _done(platform.set_budget("one", micros, through, key=key))
        state = _state(platform)
        _expect(
            (state.daily_micros, state.through) == (micros, through), f"wrote {micros} through {through}, read {state}"
        )


def a_budget_is_kept_to_the_micro_or_rejected(platform: AdPlatform) -> None:
    """An amount that the platform would round is rejected, not rounded."""
    outcome = platform.set_budget("one", _FIRST + 1, _today(platform), key="k1")
    if isinstance(outcome, Done):
        _expect(_state(platform).daily_micros == _FIRST + 1, f"wrote {_FIRST + 1}, read {_state(platform)}")
    else:
        _expect(isinstance(outcome, Rejected) and not platform.read_campaigns(), f"{outcome} left a campaign behind")


def enable_and_pause_change_the_status_alone(platform: AdPlatform) -> None:
    """Pausing a paused campaign is Done too."""
    _done(platform.set_budget("one", _FIRST, _today(platform), key="k1"))
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
        _done(platform.set_budget(name, _FIRST, _today(platform), key=f"{name}-budget"))
        _done(platform.enable(name, key=f"{name}-enable"))
    with ThreadPoolExecutor(len(names)) as pool:
        for outcome in pool.map(lambda name: platform.pause(name, key=f"{name}-pause"), names):
            _done(outcome)
    statuses = {state.campaign: state.status for state in platform.read_campaigns()}
    _expect(statuses == dict.fromkeys(names, "paused"), f"paused in parallel, they are {statuses}")


def publishing_leaves_the_status_alone(platform: AdPlatform) -> None:
    """A published advert is listed, and the campaign stays paused."""
    _done(platform.set_budget("one", _FIRST, _today(platform), key="k1"))
    _done(platform.publish("one", _ADVERT, key="k2"))
    state = _state(platform)
    _expect((state.creatives, state.status) == ((creative_hash(_ADVERT),), "paused"), f"published, it is {state}")


def bids_are_read_back_and_change_nothing_else(platform: AdPlatform) -> None:
    """Each target has its bid after the call, other targets keep theirs, and budget and status stay as they are."""
    _done(platform.set_budget("one", _FIRST, _today(platform), key="k1"))
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
    _done(platform.set_budget("one", _FIRST, _today(platform), key="k1"))
    _done(platform.set_budget("one", _SECOND, _today(platform), key="k2"))
    _done(platform.set_budget("one", _FIRST, _today(platform), key="k1"))
    _expect(_state(platform).daily_micros == _SECOND, "a repeated call took effect again")


def what_was_done_is_found_by_its_key(platform: AdPlatform) -> None:
    """A key that was never used is not found."""
    _done(platform.set_budget("one", _FIRST, _today(platform), key="k1"))
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
    first, last = _today(platform) - timedelta(days=2), _today(platform)
    report = platform.read_costs(first, last)
    _expect(report.as_of.utcoffset() is not None, f"as_of={report.as_of} has no time zone")
    wrong = [cost for cost in report.costs if not first <= cost.day <= last or type(cost.micros) is not int]
    _expect(not wrong and all(cost.micros >= 0 for cost in report.costs), f"costs are {report.costs}")


def hours_are_a_dated_report(platform: AdPlatform) -> None:
    """The report says when it was made, and has each hour once, none before the requested time, with whole counts."""
    since = platform.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=3)
    report = platform.read_hours(since)
    _expect(report.as_of.utcoffset() is not None, f"as_of={report.as_of} has no time zone")
    _expect(report.as_of <= platform.now() + timedelta(minutes=1), f"as_of={report.as_of} is in the future")
    for hour in report.hours:
        counts = (hour.cost_micros, hour.impressions, hour.clicks, hour.conversions, hour.value_micros)
        _expect(all(type(count) is int and count >= 0 for count in counts), f"invalid counts: {hour}")
        _expect(hour.start.utcoffset() is not None and hour.start >= since, f"asked since {since}, got {hour}")
    names = [(hour.campaign, hour.target, hour.start) for hour in report.hours]
    _expect(len(names) == len(set(names)), f"an hour is listed twice among {names}")


def own_changes_are_no_foreign_edits(platform: AdPlatform) -> None:
    """What was changed through this platform is not listed as an edit by somebody else."""
    since = platform.now() - timedelta(minutes=5)
    _done(platform.set_budget("one", _FIRST, _today(platform), key="k1"))
    _done(platform.set_bids("one", _BIDS, key="k2"))
    edits = platform.read_edits(since)
    _expect(edits == (), f"nobody else has changed anything, and the edits are {edits}")


def invoices_are_of_months(platform: AdPlatform) -> None:
    """Each invoice is of one month and has whole amounts."""
    last = _today(platform)
    for invoice in platform.read_invoices(last.replace(day=1) - timedelta(days=70), last):
        _expect(invoice.month.day == 1 and invoice.month <= last, f"{invoice} is not of a month that was asked for")
        _expect(all(type(amount.micros) is int for amount in invoice.amounts), f"{invoice} has no whole amounts")


def an_experiment_is_read_back_and_changes_no_campaign(platform: AdPlatform) -> None:
    """The treatment has its own bids and its share of the users; the campaign itself stays as it was."""
    experiments = _with_bids(platform)
    before = platform.read_campaigns()
    for _ in range(2):  # the second is a repetition
        _done(experiments.start_experiment("trial", "one", 40, _OTHER_BIDS, key="k3"))
    expected = ExperimentState("trial", "one", 40, "running", tuple(sorted({**_BIDS, **_OTHER_BIDS}.items())))
    _expect(experiments.read_experiments() == (expected,), f"started {expected}, read {experiments.read_experiments()}")
    _done(experiments.set_treatment_bids("trial", {"group-2": 310_000}, key="k4"))
    [state] = experiments.read_experiments()
    _expect(dict(state.bids).get("group-2") == 310_000, f"the treatment was to bid 310000, read {state}")
    _expect(platform.read_campaigns() == before, f"it was {before}, it is {platform.read_campaigns()}")
    for key in ("k3", "k4"):
        _expect(platform.look_up(key) == Done(), f"{key} was done and is looked up as {platform.look_up(key)}")


def an_experiment_ends_for_all_users(platform: AdPlatform) -> None:
    """After its end it is listed as ended; one of a missing campaign is rejected."""
    experiments = _with_bids(platform)
    _done(experiments.start_experiment("trial", "one", 50, {}, key="k3"))
    for key in ("k4", "k5"):
        _done(experiments.end_experiment("trial", key=key))
    _expect([state.status for state in experiments.read_experiments()] == ["ended"], "an ended experiment runs")
    outcome = experiments.start_experiment("other", "none", 50, {}, key="k6")
    _expect(isinstance(outcome, Rejected), f"an experiment of a campaign that is not there is {outcome}")


def _with_bids(platform: AdPlatform) -> ExperimentPlatform:
    _done(platform.set_budget("one", _FIRST, _today(platform), key="k1"))
    _done(platform.set_bids("one", _BIDS, key="k2"))
    _expect(isinstance(platform, ExperimentPlatform), f"{type(platform).__name__} lacks calls of ExperimentPlatform")
    return cast("ExperimentPlatform", platform)


CHECKS: tuple[PlatformCheck, ...] = (
    it_has_the_shape_of_a_platform,
    it_tells_its_time,
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
    own_changes_are_no_foreign_edits,
    invoices_are_of_months,
)
EXPERIMENT_CHECKS: tuple[PlatformCheck, ...] = (
    an_experiment_is_read_back_and_changes_no_campaign,
    an_experiment_ends_for_all_users,
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
            platform.set_budget("one", _FIRST, _ANY_DAY, key="k1"),
            platform.publish("one", _ADVERT, key="k2"),
            platform.enable("one", key="k3"),
            platform.pause("one", key="k4"),
            platform.set_bids("one", _BIDS, key="k5"),
        ):
            _expect(isinstance(outcome, Unknown), f"without an answer the outcome is {outcome}")


class ExperimentConformance:
    """The checks of a platform with experiments as tests; subclass it beside `PlatformConformance`."""

    def make(self) -> AdPlatform:
        """A platform with an empty account."""
        raise NotImplementedError("return a platform with an empty account")

    @pytest.mark.parametrize("check", EXPERIMENT_CHECKS, ids=lambda check: check.__name__)
    def test_its_experiments_keep_their_promise(self, check: PlatformCheck) -> None:
        """One property of ExperimentPlatform."""
        check(self.make())


def _today(platform: AdPlatform) -> date:
    return platform.now().astimezone(UTC).date()


def _state(platform: AdPlatform) -> CampaignState:
    states = platform.read_campaigns()
    _expect([state.campaign for state in states] == ["one"], f"expected only the campaign `one`, read {states}")
    return states[0]


def _done(outcome: object) -> None:
    _expect(outcome == Done(), f"the outcome is {outcome}")


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)
