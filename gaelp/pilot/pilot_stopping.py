"""Watch a pilot and stop it: gather what the stop rules need, pause everything, record why and alert people."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import islice

import numpy as np

from gaelp.arrays import Floats
from gaelp.budget.stop_report_text import describe_stops
from gaelp.checks.raised import in_words
from gaelp.errors import GaelpError, Refused
from gaelp.market.delay_families import delay_parts
from gaelp.market.spec import MarketSpec
from gaelp.money import Micros
from gaelp.observability import get_logger
from gaelp.pilot.controller import Decision
from gaelp.pilot.decision_book import DecisionBook
from gaelp.pilot.looking import Look, Looker
from gaelp.pilot.pilot_pausing import PilotPause, pause_campaigns
from gaelp.pilot.pilot_plan import PilotPlan
from gaelp.pilot.stops import PilotStanding, StopReason, StopRules, stop_reasons
from gaelp.platforms import Guard
from gaelp.platforms.guard import send_alert
from gaelp.platforms.mandate_check import require_mandate

__all__ = ["Maturing", "StopWatch"]

_log = get_logger(__name__)
_DAY_HOURS = 24
_REMEMBERED = 1000


@dataclass(frozen=True, slots=True)
class Maturing:
    """How many conversions clicks bring in the end, and which share of them is known after how long."""

    conversion_rate: float  # conversions a click
    conversion_value_micros: Micros
    known_share: Callable[[Floats], Floats]  # of age in hours

    @classmethod
    def of_market(cls, spec: MarketSpec, conversion_rate: float, conversion_value_micros: Micros) -> "Maturing":
        """By the delays of the market that the policy was trained in."""
        parts, open_share = delay_parts(spec.delay), 1.0 - spec.delay.immediate_share
        means = np.maximum(spec.delay.mean_hours * parts.length, 1e-9)

        def known(age_hours: Floats) -> Floats:
            left = np.exp(-np.maximum(age_hours, 0.0)[:, None] / means[None, :]) @ parts.share
            return np.asarray(1.0 - open_share * left, np.float64)

        return cls(conversion_rate, conversion_value_micros, known)


@dataclass(slots=True)
class StopWatch:
    """Judges a pilot every hour; `outside` returns the share of a decision's features that training never saw."""

    plan: PilotPlan
    guard: Guard
    book: DecisionBook
    looker: Looker
    rules: StopRules
    maturing: Maturing
    mandate: str
    outside: Callable[[Decision], float] | None = None
    shares: deque[float] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))

    def check(self, look: Look, decision: Decision) -> StopReason | None:
        """The first reason to stop before this decision is carried out."""
        if self.outside is not None and len(decision.rows):
            self.shares.append(self.outside(decision))
        return next(stop_reasons(self.rules, self._standing(look, decision)), None)

    def _standing(self, look: Look, decision: Decision) -> PilotStanding:
        reported, maturing = self.looker.seen, self.maturing
        hours = len(reported.clicks)
        age = decision.hour - np.arange(hours, dtype=np.float64) - 0.5
        known = maturing.known_share(age)
        pending = float((reported.clicks.sum(axis=(1, 2)) * (1.0 - known)).sum() * maturing.conversion_rate)
        return PilotStanding(
            now=look.at,
            reported_until=look.reported_until,
            report_lag=timedelta(hours=self.guard.terms.report_lag_hours),
            currency=self.plan.currency,
            spend_micros=reported.spend_by_hour,
            value_micros=reported.value_micros.sum(axis=(1, 2)),
            conversions=reported.conversions.sum(axis=(1, 2)),
            matured_share=known,
            pending_conversions=pending,
            conversion_value_micros=maturing.conversion_value_micros,
            out_of_range=tuple(islice(self.shares, max(len(self.shares) - _REMEMBERED, 0), None)),
            killed=self.killed(),
            mandate_ended=self._mandate_ended(),
            violations=self.violations(open_only=True),
            judge_decline=decision.hour % _DAY_HOURS == 0,
        )

    def killed(self) -> str:
        """Who stopped all spending, and why; empty while nobody has."""
        if not self.guard.switch.is_stopped():
            return ""
        try:
            return describe_stops(self.guard.switch.state().stops) or "the kill switch is set"
        except GaelpError as problem:
            return f"the kill switch cannot be read ({in_words(problem)}), which counts as set"

    def _mandate_ended(self) -> str:
        try:
            mandate = require_mandate(self.guard, self.mandate)
        except Refused as ended:
            return str(ended)
        if mandate.model_hash != self.plan.model_hash:
            return f"the mandate is for model {mandate.model_hash[:12]}, this one is {self.plan.model_hash[:12]}"
        return ""

    def violations(self, *, open_only: bool = False) -> tuple[str, ...]:
        """Violations of this account since the pilot began, settled or not."""
        begun = next((event.at for event in self.book.events() if event.kind == "launched"), None)
        mine = {self.guard.account.id, *(campaign.name for campaign in self.plan.campaigns)}
        return tuple(
            f"{violation.rule}: {violation.what}"
            for violation in self.guard.violations.list(open_only=open_only)
            if begun is not None and violation.at >= begun and violation.scope.split("/")[0] in mine
        )

    # Stopping

    def stop(self, reason: StopReason) -> PilotPause:
        """Pause every campaign and read it back; record the reason, and alert people."""
        paused = self.pause_everything()
        state = "all campaigns are paused" if paused.is_complete else f"MAY STILL RUN: {', '.join(paused.may_run)}"
        what = f"{reason.rule}: {reason.what}. Stopped: {state}"
        self.book.add_event("stop", what, self.guard.wall_now(), figures={"rule": reason.rule, **reason.figures})
        send_alert(self.guard, "critical", scope=self.plan.name, rule=f"pilot-{reason.rule}", what=what)
        _log.warning("the pilot has stopped", rule=reason.rule, why=reason.what)
        return paused

    def pause_everything(self) -> PilotPause:
        """Pause the campaigns of the plan on the platform, and read them back."""
        return pause_campaigns(self.guard.platform, [campaign.name for campaign in self.plan.campaigns])
