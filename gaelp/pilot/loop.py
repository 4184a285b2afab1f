"""The control loop of a pilot: each hour it looks, decides once, acts through the guard, and notes what is in force.

Killed at any moment and started again, it resumes from the record: an hour that was decided is not decided again, and
orders have keys that never send twice. Hours in which nobody decided are reported and not made up for.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from gaelp.arrays import Ints
from gaelp.config.settings import BudgetSettings
from gaelp.observability import get_logger
from gaelp.pilot.account_lease import AccountLease
from gaelp.pilot.acting import Actor
from gaelp.pilot.controller import BidController, Decision
from gaelp.pilot.decision_book import CampaignDecision, DecisionBook
from gaelp.pilot.evidence_rows import EvidenceRows
from gaelp.pilot.looking import Look, Looker
from gaelp.pilot.pilot_plan import PilotPlan
from gaelp.pilot.pilot_stopping import StopWatch
from gaelp.pilot.report_arrays import PilotPlaces, bids_in_force
from gaelp.pilot.stops import StopReason
from gaelp.pilot.timekeeper import HeldClock, Timekeeper
from gaelp.platforms import Guard, apply_money_rules, reconcile
from gaelp.platforms.platform import CampaignState
from gaelp.platforms.rule_inputs import load_money_rules
from gaelp.storage.schema import EpisodeState

__all__ = ["PilotEnd", "PilotLoop", "PilotRun"]

_log = get_logger(__name__)
_DAY_HOURS = 24
_KEPT_HOURS = 72
_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class PilotRun:
    """What a loop needs; `clock` is that of the guard's ledger where time is simulated."""

    plan: PilotPlan
    places: PilotPlaces
    guard: Guard
    budget: BudgetSettings
    book: DecisionBook
    lease: AccountLease
    timekeeper: Timekeeper
    controller: BidController
    looker: Looker
    actor: Actor
    watch: StopWatch
    clock: HeldClock | None = None
    evidence: EvidenceRows | None = None
    reconcile_hours: int = 24  # from the first hour of a day on; unknown outcomes bring one forward
    decide_hours: int = 1  # the agent decides every so many hours; bids stay as they are in between
    on_interval: Callable[[int], None] = lambda _: None
    interrupted: Callable[[], bool] = lambda: False

    @property
    def hours(self) -> int:
        """Intervals in which the agent decides."""
        return _DAY_HOURS * self.plan.days


@dataclass(frozen=True, slots=True)
class PilotEnd:
    """How a loop ended."""

    how: Literal["finished", "stopped", "interrupted"]
    why: str = ""


class PilotLoop:
    """Runs a pilot from where its record ends."""

    def __init__(self, run: PilotRun) -> None:
        self._run = run
        self._next_reconcile = 0
        self._rules = load_money_rules(run.budget)
        self._bids: dict[int, Ints] = {}  # in force in the newest hours

    def run(self) -> PilotEnd:
        """Run until the pilot has settled, stopped by itself, or was interrupted."""
        run = self._run
        run.lease.take()
        if (stopped := run.book.stop_event) is not None:
            run.watch.pause_everything()  # a kill may have come between the record and the pauses
            self._read_again()
            return PilotEnd("stopped", stopped.what)
        if not run.book.events():
            run.book.add_event("launched", f"the pilot {run.plan.name} begins", run.guard.wall_now())
            if run.evidence is not None:
                run.evidence.append_episodes(EpisodeState.RUNNING, run.places.begins)
        try:
            self._resume()
            while run.controller.hour < run.hours and not run.controller.has_ended:
                if not self._wait(run.controller.hour):
                    return PilotEnd("interrupted")
                if reason := self._interval(run.controller.hour):
                    run.watch.stop(reason)
                    self._record_end(EpisodeState.TERMINATED, reason.what)
                    return PilotEnd("stopped", reason.what)
            return self._settle()
        finally:
            if run.interrupted():
                run.lease.end()

    # Where it left off

    def _resume(self) -> None:
        """Load the newest state, and pass the hours in which nobody decided."""
        run = self._run
        saved = run.book.saved()
        if saved is not None:
            run.controller.load_state(saved.state)
        now = self._read_time()
        current = min(run.places.hour(now), run.hours)
        if run.controller.hour >= current or run.controller.has_ended:
            return
        states, missed = run.looker.states(), []
        saved_until = 0 if saved is None else self._interval_end(saved.interval)
        while run.controller.hour < current:
            hour = run.controller.hour
            if saved is None or hour >= saved_until:
                missed.append((hour, run.places.start(hour)))
            elif hour <= saved.interval:
                run.actor.note_late(run.book.decisions(hour, hour + 1))
            run.controller.pass_hour(self._in_force(states, run.places.start(hour)))
        run.book.miss(missed)
        if missed:
            what = f"{len(missed)} hours passed without a decision, from {missed[0][1].isoformat()} on"
            run.book.add_event("missed", what, run.guard.wall_now(), figures={"hours": len(missed)})
            _log.warning("missed intervals", what=what)

    def _read_again(self) -> None:
        """Load the newest state and all figures of a pilot that has stopped, for whoever judges it."""
        run = self._run
        if (saved := run.book.saved()) is not None:
            run.controller.load_state(saved.state)
            run.looker.look(min(max(run.places.hour(self._read_time()), 0), run.hours), hold=False)

    def _wait(self, hour: int) -> bool:
        run = self._run
        waited = run.timekeeper.wait_until(run.places.start(hour), run.interrupted)
        self._read_time()
        return waited

    def _read_time(self) -> datetime:
        run = self._run
        return run.timekeeper.now() if run.clock is None else run.clock.read()

    # One hour

    def _interval(self, hour: int) -> StopReason | None:
        """Decide unless that was done, act, and note what is in force; a reason if the pilot must stop."""
        run = self._run
        run.lease.take()
        run.looker.forget()
        if run.book.interval(hour) is None:
            if reason := self._keep_books(hour):
                return reason
            look = run.looker.look(hour)
            run.controller.report(look.figures)
            decision = run.controller.decide()
            if reason := run.watch.check(look, decision):
                return reason
            planned, money = self._planned(look, decision), run.looker.seen.money(hour)
            run.book.store(hour, run.places.start(hour), planned, run.controller.state(), money=money)
        decided = run.book.decisions(hour, hour + 1)
        if reason := run.actor.act(decided, hour):
            return reason
        in_force = self._in_force(run.looker.states(), run.places.start(hour))
        end = min(self._interval_end(hour), run.hours)
        for passed in range(hour, end):
            run.controller.pass_hour(in_force)
            self._record(passed, in_force)
        run.on_interval(hour)
        return None

    def _interval_end(self, hour: int) -> int:
        """The hour of the next decision; intervals begin at midnight, whenever the loop was resumed.

        What is brought back after a failure is decided every hour, because a bid may move only so far in an hour.
        """
        every = 1 if self._run.controller.is_restoring else self._run.decide_hours
        return hour - hour % every + every

    def _record(self, hour: int, in_force: Ints) -> None:
        """Append the evidence of a day after its last hour; what a kill loses of it is in the record and read again."""
        self._bids[hour] = in_force
        self._bids.pop(hour - _KEPT_HOURS, None)
        evidence = self._run.evidence
        if evidence is not None and hour % _DAY_HOURS == _DAY_HOURS - 1:
            self._append_hours(evidence)
            evidence.append_decisions(self._run.book.decisions(hour - _DAY_HOURS + 1, hour + 1))

    def _append_hours(self, evidence: EvidenceRows) -> None:
        evidence.append_hours(self._run.looker.seen, self._bids, self._run.guard.ledger.clock.now())

    def _record_end(self, state: EpisodeState, reason: str | None = None) -> None:
        """Append what is left, and how the episodes ended."""
        run = self._run
        if run.evidence is not None:
            self._append_hours(run.evidence)
            run.evidence.append_decisions(run.book.decisions())
            at = run.guard.ledger.clock.now()
            run.evidence.append_episodes(state, at, reported=run.looker.seen, reason=reason)

    def _planned(self, look: Look, decision: Decision) -> list[CampaignDecision]:
        """The decision by campaign, with the bids to order now."""
        run = self._run
        choice = run.actor.choose(look, decision)
        planned = []
        for place, row in enumerate(decision.rows.tolist()):
            campaign = run.plan.campaigns[row]
            targets = len(campaign.targets)
            send = choice.chosen[row]
            planned.append(
                CampaignDecision(
                    campaign=campaign.name,
                    interval=decision.hour,
                    bids_micros=_ints(decision.bids.bid_micros[place, :targets]),
                    log_factor=tuple(float(each) for each in decision.log_factor[place, :targets]),
                    clipped=tuple(bool(each) for each in decision.bids.clipped[place, :targets]),
                    order=_ints(choice.bids[row, :targets]) if send else (),
                    why_not="held" if campaign.name in look.held else choice.why_not[row],
                    daily_micros=0 if decision.daily_micros is None else int(decision.daily_micros[place]),
                )
            )
        return planned

    def _in_force(self, states: tuple[CampaignState, ...], at: datetime) -> Ints:
        return bids_in_force(states, self._run.places, at, self._run.plan.time_zone)

    # Books and rules

    def _keep_books(self, hour: int) -> StopReason | None:
        """Reconcile after midnight and every few hours; judge the money rules every hour, before time may pass."""
        run = self._run
        run.looker.read_hours(hour)
        if hour % _DAY_HOURS == 0 or hour >= self._next_reconcile or run.actor.has_unknown:
            report = reconcile(run.guard)
            run.looker.forget_campaigns()
            self._next_reconcile = hour + run.reconcile_hours
            run.actor.has_unknown = False
            if report.failures:
                _log.warning("reconciliation", failures=report.failures)
        rules = apply_money_rules(run.guard, run.budget, self._rules)
        if rules.failures:
            _log.warning("money rules", failures=rules.failures)
        return None

    # After the last day

    def _settle(self) -> PilotEnd:
        """Pause everything, then wait for late conversions, day by day."""
        run = self._run
        last = min(run.controller.hour, run.hours)
        if run.book.interval(last) is None:
            run.watch.pause_everything()
        for day in range(run.plan.settle_days + 1):
            at = run.places.start(last + _DAY_HOURS * day)
            if not run.timekeeper.wait_until(at, run.interrupted):
                return PilotEnd("interrupted")
            self._read_time()
            run.lease.take()
            run.looker.forget()
            if day == run.plan.settle_days:
                run.looker.forget_hours()  # the verdict uses the newest figures of every hour
            reconcile(run.guard)
            run.looker.look(last + _DAY_HOURS * day, hold=False)
            run.book.note_money(run.looker.seen.money(last + _DAY_HOURS * day))
            run.on_interval(last + _DAY_HOURS * day)
        self._record_end(EpisodeState.FINISHED)
        run.book.add_event("end", "the pilot has settled", run.guard.wall_now())
        run.lease.end()
        return PilotEnd("finished")


def _ints(row: Ints) -> tuple[int, ...]:
    return tuple(int(each) for each in row)
