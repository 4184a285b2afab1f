"""Judge a running release at the start of each day: what the days before show, and so which exposure comes next."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import numpy as np

from gaelp.arrays import Ints
from gaelp.clock import day_start
from gaelp.gates.lift_test import LiftPlan
from gaelp.pilot.late_value import LateValue
from gaelp.pilot.pilot_plan import PilotPlan
from gaelp.pilot.seen_hours import SeenHours
from gaelp.release.budget_decision import BudgetDecision
from gaelp.release.budget_response import BudgetDays
from gaelp.release.budget_rules import BudgetEvidence, keep_budgets
from gaelp.release.exposure import ExposureDecision, ExposurePlan, ExposureState, abort_now, next_exposure
from gaelp.release.exposure_checks import ReleaseEvidence, ServedDays
from gaelp.release.pairs import NOTHING_COMPARED, ArmComparison, PairRules, ReleaseDays, compare_arms
from gaelp.release.release_controller import DayDecision, DaysBefore
from gaelp.release.service_counts import DecisionCounts

__all__ = ["ReleaseJudge", "days_of_release", "spend_of_day"]

_DAY = timedelta(days=1)
_DAY_HOURS = 24
_LEAST_KNOWN = 0.05  # of a day's final value: below, dividing by it says nothing
_COUNTED_KNOWN = 0.2  # below, a day says nothing about what a budget returns


@dataclass(frozen=True, slots=True)
class ReleaseJudge:
    """Judges one release; `next_budgets` decides a day's budgets.

    `service` counts the decisions of the hours from one on to before another, and those that failed. No connector
    reads complaints about adverts, so `feedback` is not known and its check never acts.
    """

    campaigns: PilotPlan
    exposure: ExposurePlan
    rules: PairRules
    lift: LiftPlan
    late: LateValue
    reported: Callable[[], SeenHours]
    known_at: Callable[[datetime], datetime]  # when the hours that ended at an instant were last read
    violations: Callable[[], tuple[str, ...]]
    next_budgets: Callable[[BudgetEvidence], BudgetDecision] = keep_budgets
    service: Callable[[int, int], DecisionCounts] = lambda _first, _last: DecisionCounts(0, 0)
    stopped: Callable[[], str] = lambda: ""  # who stopped all spending, and why

    def __call__(self, day: int, before: DaysBefore, state: ExposureState) -> DayDecision:
        """Decide exposure and budgets of a day."""
        days = self.days(day, before)
        comparison = compare_arms(days, self._mature(day), self.lift)
        decided = next_exposure(self.exposure, state, self._evidence(day, before, days, comparison))
        budgets = self.next_budgets(self._budget_evidence(before, days, comparison, decided))
        return DayDecision(day, decided, np.array(budgets.daily_micros, np.int64), budgets)

    def check_money(self, day: int, until_now: DaysBefore, state: ExposureState) -> DayDecision | None:
        """Check loss, spend, violations and stops within a day, as far as it is known: an abort, or None."""
        decided = abort_now(self.exposure, state, self._money_so_far(day, until_now))
        if decided is None:
            return None
        before = DaysBefore(until_now.treated[:day], until_now.decided[:day], until_now.daily_micros[:day])
        days = self.days(day, before)
        comparison = compare_arms(days, self._mature(day), self.lift)
        budgets = self.next_budgets(self._budget_evidence(before, days, comparison, decided))
        return DayDecision(day, decided, np.array(budgets.daily_micros, np.int64), budgets)

    def days(self, day: int, before: DaysBefore) -> ReleaseDays:
        """The days before as they are known now, value by the platform's count."""
        hours = self.reported()
        value, spend = (_by_day(array, day) for array in (hours.value_micros, hours.cost_micros))
        dates = tuple(self.campaigns.first_day + timedelta(days=each) for each in range(day))
        counted = self.late.model_copy(update={"refunds": None})  # the platform never learns of refunds
        return days_of_release(
            value,
            spend,
            before,
            late=counted,
            dates=dates,
            as_of=self._read_at(dates),
            time_zone=self.campaigns.time_zone,
        )

    def _read_at(self, dates: tuple[date, ...]) -> tuple[datetime, ...]:
        """When each day was last read."""
        return tuple(self.known_at(day_start(each + _DAY, self.campaigns.time_zone)) for each in dates)

    def _mature(self, day: int) -> PairRules:
        """The rules of pairs, for figures that were read some days ago: a day counts its age up to then."""
        starts = day_start(self.campaigns.first_day, self.campaigns.time_zone)
        unread = day - (self.known_at(starts) - starts) // _DAY
        age = self.rules.age_days_min + max(unread, 0)
        return self.rules.model_copy(update={"age_days_min": age})

    def _budget_evidence(
        self, before: DaysBefore, days: ReleaseDays, comparison: ArmComparison, decided: ExposureDecision
    ) -> BudgetEvidence:
        campaigns, refunds = self.campaigns.campaigns, self.late.refunds
        first = np.array([campaign.daily_micros for campaign in campaigns], np.int64)
        known = np.ones(len(days.treated)) if days.known_share is None else days.known_share
        reported = np.arange(1, len(known) + 1) * _DAY_HOURS <= self.reported().until
        counted = days.treated & before.decided[:, None] & (reported & (known >= _COUNTED_KNOWN))[:, None]
        kept = 1.0 if refunds is None else 1 - refunds.share_high  # the platform never learns of refunds
        return BudgetEvidence(
            campaigns=[campaign.name for campaign in campaigns],
            first_micros=first,
            state=decided.state,
            lift=comparison.lift,
            days=BudgetDays(
                value_micros=np.asarray(days.value_micros * kept, np.float64),
                spend_micros=days.spend_micros,
                daily_micros=before.daily_micros,
                counted=counted,
                known_share=known,
                sale_micros=np.array([campaign.conversion_value_micros for campaign in campaigns], np.int64),
                now_micros=before.daily_micros[-1] if len(before.daily_micros) else first,
            ),
        )

    def _money_so_far(self, day: int, until_now: DaysBefore) -> ReleaseEvidence:
        """What money and safety show within a day; what today's clicks are still to bring does not count yet."""
        days = self.days(day + 1, until_now)
        final = days.final_value()
        final[-1] = days.value_micros[-1]
        treated, today = days.treated, days.treated[-1]
        return ReleaseEvidence(
            day=day,
            lift=NOTHING_COMPARED,
            loss_micros=int(days.spend_micros[treated].sum() - final[treated].sum()),
            day_spend_micros=int(days.spend_micros[-1][today].sum()),
            day_planned_micros=int(until_now.daily_micros[-1][today].sum()),
            violations=self.violations(),
            stopped=self.stopped(),
        )

    def _evidence(self, day: int, before: DaysBefore, days: ReleaseDays, comparison: ArmComparison) -> ReleaseEvidence:
        treated, decided = days.treated, before.decided[:day, None] if day else np.zeros((0, 1), np.bool_)
        loss = days.spend_micros[treated].sum() - days.final_value()[treated].sum()
        yesterday = treated[-1] if day else np.zeros(treated.shape[1], np.bool_)
        checked = int(np.flatnonzero(before.decided)[-1]) if before.decided.any() else day  # the day of the last check
        counts = self.service(_DAY_HOURS * checked, _DAY_HOURS * day)
        return ReleaseEvidence(
            day=day,
            lift=comparison.lift,
            loss_micros=int(loss),
            day_spend_micros=int(days.spend_micros[-1][yesterday].sum()) if day else 0,
            day_planned_micros=int(before.daily_micros[-1][yesterday].sum()) if day else 0,
            decisions=counts.decisions,
            errors=counts.errors,
            served=ServedDays(
                treatment_assigned=int(treated.sum()),
                treatment_served=int((treated & decided).sum()),
                control_assigned=int((~treated).sum()),
                control_served=int((~treated & decided).sum()),
            ),
            violations=self.violations(),
            stopped=self.stopped(),
        )


def days_of_release(
    value_micros: Ints,
    spend_micros: Ints,
    before: DaysBefore,
    *,
    late: LateValue,
    dates: tuple[date, ...],
    as_of: tuple[datetime, ...],
    time_zone: str,
) -> ReleaseDays:
    """Days of a release for the comparison, D x N; those on which nobody decided count for no side.

    `as_of` says when the figures of each day were read.
    """
    served = before.decided[:, None]
    shares = [late.known((each,), at, time_zone).value for each, at in zip(dates, as_of, strict=True)]
    share = np.concatenate([np.ones(0), *shares])
    return ReleaseDays(
        value_micros=np.where(served, value_micros, 0),
        spend_micros=np.where(served, spend_micros, 0),
        treated=before.treated,
        known_share=np.maximum(share, _LEAST_KNOWN),
    )


def spend_of_day(reported: SeenHours, day: int) -> Ints | None:
    """What each campaign spent on a day of the release, (N,); None while not all of its hours are reported."""
    if reported.until < (day + 1) * _DAY_HOURS:
        return None
    hours = slice(day * _DAY_HOURS, (day + 1) * _DAY_HOURS)
    return np.asarray(reported.cost_micros[hours].sum(axis=(0, 2)), np.int64)


def _by_day(hours: Ints, days: int) -> Ints:
    """Sums of hours (H, N, S) by day, (D, N); hours that are not reported yet are 0."""
    total = np.zeros((days * _DAY_HOURS, *hours.shape[1:]), np.int64)
    known = min(len(hours), len(total))
    total[:known] = hours[:known]
    return np.asarray(total.reshape(days, _DAY_HOURS, *hours.shape[1:]).sum(axis=(1, 3)), np.int64)
