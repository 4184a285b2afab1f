"""Decide the bids of a release: on each campaign-day those of the agent or those of the control, by the exposure.

At the first decision of a day it is decided how many of the campaigns the agent gets. That decision is part of the
controller's state, so that it is made once, whatever is killed when. At every other decision money and safety are
checked, which can only abort. After a rollback or an abort every campaign gets the control's bids and its first budget;
the release has ended once these are read back.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from gaelp.arrays import Bools, Floats, Ints
from gaelp.market.policy_state import part_of, prefixed
from gaelp.pilot.controller import BidController, Decision
from gaelp.pilot.known_hours import HourFigures
from gaelp.release.assignment import treated_days
from gaelp.release.budget_decision import BudgetDecision
from gaelp.release.control_bids import ScaledIncumbent
from gaelp.release.exposure import ExposureDecision, ExposurePlan, ExposureState
from gaelp.release.restoring import SAME_BID
from gaelp.types import PolicyState

__all__ = ["DayDecision", "DayJudge", "DaysBefore", "ReleaseController", "ReleaseSetup"]

_DAY_HOURS = 24
_RESTORE_HOURS = 12  # the guard bounds how far a bid moves in an hour; what is not back by then is reported
_ENDS = ("", "promoted", "rolled_back", "aborted")


@dataclass(frozen=True, slots=True)
class DayDecision:
    """What was decided about a day: the exposure, and the budgets of all campaigns, (N,)."""

    day: int
    exposure: ExposureDecision
    daily_micros: Ints
    budgets: BudgetDecision | None = None  # why they are these
    at_hour: int = 0  # of the day; later than 0: an abort


class DayJudge(Protocol):
    """Decides exposure and budgets of a day from what was reported of the days before."""

    def __call__(self, day: int, before: "DaysBefore", state: ExposureState) -> DayDecision:
        """Judge the days before this one."""
        ...

    def check_money(self, day: int, until_now: "DaysBefore", state: ExposureState) -> DayDecision | None:
        """Check money and safety within a day, which is the last one of `until_now`: an abort, or None."""
        ...


@dataclass(frozen=True, slots=True)
class DaysBefore:
    """D days x N campaigns: whose bids were in force, and with which budgets."""

    treated: Bools  # (D, N)
    decided: Bools  # (D,) False: nobody decided on that day, so it belongs to no side
    daily_micros: Ints  # (D, N)


@dataclass(frozen=True, slots=True)
class ReleaseSetup:
    """What is fixed before a release begins; arrays are of its N campaigns in the order of `campaigns`."""

    key: str  # of the assignment
    campaigns: tuple[str, ...]
    plan: ExposurePlan
    reference_bids_micros: Floats  # (N, S) what a log factor of a bid is relative to
    daily_micros: Ints  # (N,) budgets at the start
    full_days: int = 0  # after a promotion the release ends with so many days at 100%


class ReleaseController:
    """Puts the agent's bids or the control's into each hour, as the exposure of the day says."""

    def __init__(
        self,
        agent: BidController,
        control: ScaledIncumbent,
        setup: ReleaseSetup,
        judge: DayJudge,
        *,
        spend_of_day: Callable[[int], Ints | None],
        budgets_in_force: Callable[[], Ints] | None = None,
        on_day: Callable[[DayDecision], None] = lambda _: None,
    ) -> None:
        """`spend_of_day` returns what each campaign spent on a day, (N,), or None while that is not reported.

        `budgets_in_force` reads the budgets back, (N,); without it only bids are, after a rollback.
        """
        self._agent, self._control, self._setup = agent, control, setup
        self._judge, self._spend_of_day, self._on_day = judge, spend_of_day, on_day
        self._budgets_in_force = budgets_in_force
        self._exposure = ExposureState()
        self._percent: Floats = np.zeros(0)  # (D,) planned for each day so far
        self._daily: Ints = np.asarray(setup.daily_micros, np.int64).copy()
        self._budgets: Ints = np.zeros((0, len(setup.campaigns)), np.int64)  # (D, N) of each day so far
        self._decided: Bools = np.zeros(0, np.bool_)  # (D,)
        self._settled = 0  # days whose spending has corrected the control
        self._ended_in = -1  # the hour in which the release was rolled back; -1: it was not
        self._restored = False  # the control's bids are in force again
        self._treated: Bools | None = None  # of the days so far

    # What a loop asks for

    @property
    def hour(self) -> int:
        """The coming hour."""
        return self._agent.hour

    @property
    def has_ended(self) -> bool:
        """Whether its days at 100% are over, or it was rolled back and the control's bids are in force again."""
        if self._exposure.ended == "promoted":
            return self.hour // _DAY_HOURS >= self._exposure.since_day + self._setup.full_days
        return self._ended_in >= 0 and (self._restored or self.hour >= self._ended_in + _RESTORE_HOURS)

    @property
    def exposure(self) -> ExposureState:
        """Which step the release is in."""
        return self._exposure

    def treated(self) -> Bools:
        """Which campaign-days were the agent's so far, (D, N)."""
        if not len(self._percent):
            return np.zeros((0, len(self._setup.campaigns)), np.bool_)
        if self._treated is None or len(self._treated) != len(self._percent):
            self._treated = treated_days(self._setup.key, self._setup.campaigns, self._percent.tolist())
        return self._treated

    def days_before(self) -> DaysBefore:
        """Everything that was assigned so far."""
        return DaysBefore(self.treated(), self._decided.copy(), self._budgets.copy())

    def treated_in(self, hour: int) -> Bools:
        """Which campaigns had the agent's bids in an hour so far, (N,)."""
        treated, day = self.treated(), hour // _DAY_HOURS
        if not 0 <= day < len(treated) or (self._ended_in >= 0 and hour >= self._ended_in):
            return np.zeros(len(self._setup.campaigns), np.bool_)
        return np.asarray(treated[day], np.bool_)

    @property
    def is_restored(self) -> bool:
        """Whether the control's bids and the first budgets are in force again after a rollback."""
        return self._restored

    @property
    def is_restoring(self) -> bool:
        """Whether they still have to be brought back."""
        return self._ended_in >= 0 and not self.has_ended

    @property
    def ended_in(self) -> int:
        """The hour in which the release was rolled back or aborted; -1: it was not."""
        return self._ended_in

    def control_bids(self) -> Ints:
        """What the control bids now, (N, S)."""
        return self._control.bids_micros()

    def daily_micros(self) -> Ints:
        """The budgets that were decided for today, (N,)."""
        return self._daily.copy()

    def decide(self) -> Decision:
        """Bids for the coming hour; a new day is judged first, and money is checked on any day."""
        day = self.hour // _DAY_HOURS
        if day >= len(self._percent):
            self._begin_day(day)
        elif (abort := self._judge.check_money(day, self.days_before(), self._exposure)) is not None:
            self._take(replace(abort, at_hour=self.hour % _DAY_HOURS))
        decision = self._agent.decide()
        own = self.treated_in(self.hour)[decision.rows]
        control = self._control.bids_micros()[decision.rows]
        chosen = np.where(own[:, None], decision.bids.bid_micros, control)
        reference = self._setup.reference_bids_micros[decision.rows]
        return replace(
            decision,
            bids=replace(decision.bids, bid_micros=chosen, clipped=decision.bids.clipped & own[:, None]),
            log_factor=np.where(chosen > 0, np.log(np.maximum(chosen, 1) / reference), 0.0),
            daily_micros=self._daily[decision.rows],
        )

    def pass_hour(self, bid_micros: Ints) -> None:
        """The hour begins with these bids in force, (N, S)."""
        self._agent.pass_hour(bid_micros)
        if self._ended_in >= 0:
            wanted = self._control.bids_micros()
            off = np.abs(np.log(np.maximum(bid_micros, 1) / np.maximum(wanted, 1)))
            running = (wanted > 0) & (bid_micros > 0)
            self._restored = bool((off[running] <= SAME_BID).all()) and self._has_budgets_back(
                np.asarray(running.any(axis=1))
            )

    def _has_budgets_back(self, running: Bools) -> bool:
        if self._budgets_in_force is None or not running.any():
            return True
        return bool((self._budgets_in_force()[running] == self._daily[running]).all())

    def report(self, figures: HourFigures) -> None:
        """Take in what was reported: the agent learns from the control's hours too."""
        self._agent.report(figures)

    # A new day

    def _begin_day(self, day: int) -> None:
        self._correct_control(day)
        for _ in range(len(self._percent), day):  # days in which nobody decided: no treatment, the budgets before
            self._add_day(0.0, decided=False)
        decided = self._judge(day, self.days_before(), self._exposure)
        self._daily = np.asarray(decided.daily_micros, np.int64)
        self._add_day(decided.exposure.percent, decided=True)
        self._take(decided)

    def _take(self, decided: DayDecision) -> None:
        self._exposure, self._daily = decided.exposure.state, np.asarray(decided.daily_micros, np.int64)
        if self._exposure.ended in ("rolled_back", "aborted") and self._ended_in < 0:
            self._ended_in = self.hour
        self._on_day(decided)

    def _add_day(self, percent: float, *, decided: bool) -> None:
        self._percent = np.append(self._percent, percent)
        self._budgets = np.vstack([self._budgets, self._daily])
        self._decided = np.append(self._decided, decided).astype(np.bool_)

    def _correct_control(self, day: int) -> None:
        """Correct the control by each of its days that is reported in full."""
        treated = self.treated()
        while self._settled < day and self._settled < len(treated):
            spend = self._spend_of_day(self._settled)
            if spend is None:
                return
            self._control.end_day(spend, self._budgets[self._settled], ~treated[self._settled])
            self._settled += 1

    # State

    def state(self) -> PolicyState:
        """Everything that was remembered, as arrays by name."""
        exposure = self._exposure
        own = {
            "percent": self._percent,
            "daily": self._daily,
            "budgets": self._budgets,
            "decided": self._decided,
            "counts": np.array([self._settled, self._ended_in, self._restored]),
            "exposure": np.array(
                [exposure.step, exposure.since_day, exposure.error_streak, _ENDS.index(exposure.ended)]
            ),
        }
        parts = {"release": own, "agent": self._agent.state(), "control": self._control.state()}
        return {name: array.copy() for part, state in parts.items() for name, array in prefixed(part, state).items()}

    def load_state(self, state: PolicyState) -> None:
        """Resume with what `state` returned."""
        own, self._treated = part_of("release", state), None
        self._agent.load_state(part_of("agent", state))
        self._control.load_state(part_of("control", state))
        self._percent, self._daily, self._budgets = (own[name].copy() for name in ("percent", "daily", "budgets"))
        self._decided, counts = own["decided"].copy(), own["counts"]
        self._settled, self._ended_in, self._restored = int(counts[0]), int(counts[1]), bool(counts[2])
        step, since, streak, ended = (int(each) for each in own["exposure"])
        values = {"step": step, "since_day": since, "error_streak": streak, "ended": _ENDS[ended]}
        self._exposure = ExposureState.model_validate(values)
