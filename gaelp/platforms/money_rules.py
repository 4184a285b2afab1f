"""Hold every running campaign of an account against the money rules, and act: allow tells, hold pauses, kill stops.

One pass. What cannot be known counts as the rules say, which is never to allow it. It may run beside itself and be
killed anywhere: what was judged is judged again from what is stored.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from zoneinfo import ZoneInfo

from pydantic import Field

from gaelp.budget.hours import SpendWindow
from gaelp.budget.rule_judge import RuleVerdict, judge_rules
from gaelp.budget.rule_reports import alerts_of, violations_of
from gaelp.budget.rules import RuleDecision, RuleReading
from gaelp.budget.signals import CampaignWatch
from gaelp.budget.stop_report_text import shortfall, told_parts
from gaelp.budget.violations import Violation
from gaelp.checks import CheckPass
from gaelp.checks.raised import in_words
from gaelp.clock import account_day
from gaelp.config.base import Frozen
from gaelp.config.settings import BudgetSettings
from gaelp.platforms.campaign_hours import HoursSeen
from gaelp.platforms.findings import Paused, ReconcileFinding, pause_and_record, tell_paused
from gaelp.platforms.guard import Guard, tell
from gaelp.platforms.hour_book import create_hour_book, watched_campaigns
from gaelp.platforms.hour_keeping import AccountHours, tried
from gaelp.platforms.pausing import running
from gaelp.platforms.rule_inputs import MoneyRules, caps_of_campaign, load_money_rules

__all__ = ["UNKNOWN", "MoneyRulesReport", "apply_money_rules"]

UNKNOWN = "money-rules-unknown"
_BY = "money-rules"
_STOP_SECONDS = 30.0  # for the parts of a stop that take longer than the stop itself


class MoneyRulesReport(Frozen):
    """What one pass found and did; `failures` are what could not be known or done, each told to somebody."""

    verdicts: dict[str, str] = Field(default_factory=dict, description="what the rules say of each running campaign")
    paused: tuple[str, ...] = ()
    stopped: bool = Field(default=False, description="whether this pass has set the kill switch")
    failures: tuple[str, ...] = ()


def apply_money_rules(guard: Guard, settings: BudgetSettings) -> MoneyRulesReport:
    """One pass over the account of a guard; run it every few minutes, after reconciliation."""
    one = _Pass(guard, settings)
    try:
        one.look()
        one.act()
    finally:
        one.report_all()
    return MoneyRulesReport(
        verdicts=one.verdicts | {found.campaign: found.in_words for found in one.judged},
        paused=tuple(one.paused),
        stopped=one.stopped,
        failures=tuple(one.failures),
    )


@dataclass(frozen=True, slots=True)
class _Judged:
    """What the rules say of a campaign; `doubt` is why its figures are not known, empty if they are."""

    campaign: str
    decision: RuleDecision
    reason: str
    since: datetime | None = None
    verdict: RuleVerdict | None = None
    doubt: str = ""

    @property
    def in_words(self) -> str:
        return f"{self.decision}: {self.reason}"

    @property
    def finding(self) -> ReconcileFinding:
        """Why it has to stand still; what is told of it is told once each time it runs."""
        decisive = (
            [one.rule_id for one in self.verdict.results if one.decision == self.decision] if self.verdict else []
        )
        told_of = f"{self.campaign}/{self.since:%Y%m%dT%H%M}" if self.since else ""
        rule = UNKNOWN if self.doubt or not decisive else decisive[0]
        return ReconcileFinding(self.campaign, rule, f"{self.campaign}: {self.reason}", violation=None, told_of=told_of)

    def violations(self, now: datetime) -> tuple[Violation, ...]:
        """For the record: one for each rule that is broken, one in all if nothing is known."""
        if not self.doubt and self.verdict is not None:
            return violations_of(self.verdict, self.campaign)
        severity = "critical" if self.decision == "kill" else "warning"
        return (Violation(severity=severity, scope=self.campaign, rule=UNKNOWN, what=self.reason[:4000], at=now),)


class _Pass(CheckPass):
    """One pass over an account: look at everything, then stop and pause, then put it on record, then tell people."""

    def __init__(self, guard: Guard, settings: BudgetSettings) -> None:
        super().__init__(self._report, failure_text="{part} could not be done ({problem}): fix that")
        self._guard, self._settings = guard, settings
        self._now = guard.ledger.clock.now()
        self._zone = ZoneInfo(guard.account.time_zone)
        self.judged: list[_Judged] = []
        self.verdicts: dict[str, str] = {}
        self.paused: list[str] = []
        self.stopped = False

    # Looking

    def look(self) -> None:
        """Judge every campaign that is not known to be paused."""
        try:
            create_hour_book(self._guard.ledger)
            rules = load_money_rules(self._settings)
            found = tried(partial(running, self._guard.platform))
        except Exception as error:  # noqa: BLE001 - whatever it is, nothing is known, and that is not allowed
            self._hold_all(in_words(error))
            return
        self.failures += [f"{what}: mend the connector, and see whether it runs" for what in found.nameless]
        hours = AccountHours(self._guard, rules, self._now, self._zone)
        for state in found.states:
            hours.add_running(state.campaign)
        for state in found.paused:
            hours.add_paused(state.campaign)
        hours.take_in()
        for state in found.states:
            self._judge(hours, rules, state.campaign)

    def _hold_all(self, why: str) -> None:
        """Without rules or a list, whatever runs as far as anybody knows must stand still."""
        names: set[str] = set()
        lists: tuple[Callable[[], Iterable[str]], ...] = (
            lambda: watched_campaigns(self._guard.ledger, self._guard.account.id, running=True),
            lambda: [state.campaign for state in running(self._guard.platform).states],
        )
        for known in lists:
            with self.part("reading a list of campaigns"):
                names.update(known())
        doubt = f"the money rules could not be judged ({why}): mend that"
        self.fail(doubt)
        self.judged += [_Judged(name, "hold", doubt, doubt=doubt) for name in sorted(names)]

    def _judge(self, hours: AccountHours, rules: MoneyRules, campaign: str) -> None:
        """Hold one campaign against the rules; a failure with it keeps no other from being judged."""
        readings: dict[str, RuleReading] = {}
        doubt, seen = hours.doubts.get(campaign, ""), hours.seen(campaign)
        if seen is not None and not doubt:
            try:
                readings = _readings(self._guard, rules, campaign, seen, self._now)
                doubt = hours.why_unknown(seen)
            except Exception as error:  # noqa: BLE001 - whatever it is, what is not known is not allowed
                doubt = in_words(error)
            else:
                if doubt and hours.may_wait(seen):
                    self.verdicts[campaign] = f"not judged yet: {doubt}"
                    return
        verdict = judge_rules(rules.rules, readings, self._now)
        reason = f"what it spends is not known ({doubt})" if doubt else verdict.reason
        if doubt:
            self.failures.append(f"{campaign}: {reason}")
        since = seen.running_since if seen else None
        self.judged.append(_Judged(campaign, verdict.decision, reason, since, verdict, doubt))

    # Acting

    def act(self) -> None:
        """Stop what must be stopped, pause what must be paused, and put it on record; nobody is told yet."""
        kills = [found for found in self.judged if found.decision == "kill"]
        if kills:
            self._stop(kills)
        stands = [found for found in self.judged if found.decision != "allow"]
        for done in pause_and_record(self._guard, [found.finding for found in stands]):
            if done.stands_still:
                self.paused.append(done.finding.campaign)
            self.report_later(partial(self._tell_paused, done))
        for found in stands:
            self._record(found)
        for found in self.judged:
            self.report_later(partial(self._tell_rules, found))
        if self.stopped:
            self._see_stop_through()

    def _stop(self, kills: list[_Judged]) -> None:
        reason = "; ".join(f"{found.campaign}: {found.reason}" for found in kills)
        try:
            if not _is_known_to_be_stopped(self._guard):
                self._guard.switch.stop(by=_BY, reason=reason)
                self.stopped = True
        except Exception as error:  # noqa: BLE001 - whatever it is, all that runs is paused instead
            self.fail(f"THE KILL SWITCH COULD NOT BE SET ({in_words(error)}): run `gaelp kill` now. {reason}")
            why = "a campaign must be stopped with everything else, and the kill switch could not be set"
            self.judged = [
                found if found.decision != "allow" else _Judged(found.campaign, "hold", why, found.since, doubt=why)
                for found in self.judged
            ]

    def _see_stop_through(self) -> None:
        report = self._guard.switch.wait(_STOP_SECONDS)
        if short := shortfall(report):
            self.failures.append(short)
        kills = "; ".join(found.in_words for found in self.judged if found.decision == "kill")
        what = f"The money rules have stopped all spending. {kills}. {short or told_parts(report)}"
        stop = partial(tell, self._guard, "critical", scope=report.stop_id, rule="stopped-by-rules", what=what)
        self.report_later(stop, first=True)

    def _record(self, found: _Judged) -> None:
        """Put on record what is not on it already; settled, it counts anew."""
        with self.part(f"{found.campaign}: putting on record what was found"):
            standing = self._guard.violations.list(scope=found.campaign, open_only=True)
            on_record = {violation.rule for violation in standing}
            for violation in found.violations(self._now):
                if violation.rule not in on_record:
                    self._guard.violations.add(violation)

    # Telling

    def _report(self, _part: str, what: str) -> str | None:
        return tell(self._guard, "critical", scope=self._guard.account.id, rule="money-rules-failed", what=what)

    def _tell_paused(self, done: Paused) -> str | None:
        what = tell_paused(self._guard, done)
        return None if done.stands_still else what

    def _tell_rules(self, found: _Judged) -> str | None:
        """Kills and notices; a hold is told with the pause, and where nothing is known that says it all."""
        if found.verdict is None or found.doubt:
            return None
        said = {result.rule_id for result in found.verdict.results if result.decision != "hold"}
        try:
            alerts = [
                alert for alert in alerts_of(found.verdict, found.campaign) if alert.key.partition("/")[0] in said
            ]
            unsent = [sent.failed for sent in map(self._guard.alerts.send, alerts) if sent.outcome == "failed"]
        except Exception as error:  # noqa: BLE001 - what had to be stopped stands still; this is told as a failure
            return f"the alerts about {found.campaign} could not be sent ({in_words(error)})"
        return f"alerts about {found.campaign} reached nobody ({unsent})" if unsent else None


def _is_known_to_be_stopped(guard: Guard) -> bool:
    """Whether a stop is in force; one that cannot be read may be none once it can."""
    try:
        return guard.switch.state().is_stopped
    except Exception:  # noqa: BLE001 - whatever it is, a stop is made
        return False


def _readings(guard: Guard, rules: MoneyRules, campaign: str, seen: HoursSeen, now: datetime) -> dict[str, RuleReading]:
    day = seen.window.day or account_day(now, guard.account.time_zone)
    caps = caps_of_campaign(guard, rules, campaign, day)
    return SpendWindow(caps, seen.window).readings() | CampaignWatch(rules.signals, seen.watch).readings()
