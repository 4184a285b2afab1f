"""Judge every running campaign of an account by the money rules, and act: allow may alert, hold pauses, kill stops.

A figure that is unknown is never allowed: each rule says whether it holds or kills. Passes may run concurrently and be
killed anywhere: the next one judges again from what is stored.
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
from gaelp.budget.stop_report_text import shortfall
from gaelp.budget.violations import Violation
from gaelp.checks import CheckPass
from gaelp.checks.raised import in_words
from gaelp.clock import account_day
from gaelp.config.base import Frozen
from gaelp.config.settings import BudgetSettings
from gaelp.platforms.campaign_hours import ObservedHours, readings_of
from gaelp.platforms.findings import Paused, ReconcileFinding, alert_paused, pause_and_record
from gaelp.platforms.guard import Guard, send_alert
from gaelp.platforms.hour_book import create_hour_book, watched_campaigns
from gaelp.platforms.hour_keeping import AccountHours, with_retries
from gaelp.platforms.pausing import running
from gaelp.platforms.rule_inputs import MoneyRules, caps_of_campaign, load_money_rules

__all__ = ["UNKNOWN", "MoneyRulesReport", "apply_money_rules"]

UNKNOWN = "money-rules-unknown"
_BY = "money-rules"
_STOP_SECONDS = 30.0  # for the slower parts of a stop


class MoneyRulesReport(Frozen):
    """The result of a pass; `failures` are what could not be determined or done, each with an alert."""

    verdicts: dict[str, str] = Field(default_factory=dict, description="the decision for each running campaign")
    paused: tuple[str, ...] = ()
    stopped: bool = Field(default=False, description="whether this pass has set the kill switch")
    failures: tuple[str, ...] = ()


def apply_money_rules(guard: Guard, settings: BudgetSettings, rules: MoneyRules | None = None) -> MoneyRulesReport:
    """Judge the account of a guard once; run it every few minutes, after reconciliation.

    `rules` are those of the settings, for whoever has read their files already.
    """
    rules_pass = _Pass(guard, settings, rules)
    try:
        rules_pass.look()
        rules_pass.act()
    finally:
        rules_pass.report_all()
    return MoneyRulesReport(
        verdicts=rules_pass.verdicts | {judged.campaign: judged.in_words for judged in rules_pass.judged},
        paused=tuple(rules_pass.paused),
        stopped=rules_pass.stopped,
        failures=tuple(rules_pass.failures),
    )


@dataclass(frozen=True, slots=True)
class _Judged:
    """The decision for a campaign; `doubt` is why its figures are unknown, empty if they are known."""

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
        """Why it must be paused; `alert_scope` makes one alert for each time it runs."""
        results = self.verdict.results if self.verdict else ()
        decisive = [result.rule_id for result in results if result.decision == self.decision]
        alert_scope = f"{self.campaign}/{self.since:%Y%m%dT%H%M}" if self.since else ""
        rule = UNKNOWN if self.doubt or not decisive else decisive[0]
        why = f"{self.campaign}: {self.reason}"
        return ReconcileFinding(self.campaign, rule, why, violation=None, alert_scope=alert_scope)

    def violations(self, at: datetime) -> tuple[Violation, ...]:
        """What to record: a violation for each broken rule, or a single one if nothing is known."""
        if not self.doubt and self.verdict is not None:
            return violations_of(self.verdict, self.campaign, at=at)
        severity = "critical" if self.decision == "kill" else "warning"
        return (Violation(severity=severity, scope=self.campaign, rule=UNKNOWN, what=self.reason[:4000], at=at),)


class _Pass(CheckPass):
    """A pass over an account: judge everything, then stop and pause, then record it, then alert people."""

    def __init__(self, guard: Guard, settings: BudgetSettings, rules: MoneyRules | None) -> None:
        super().__init__(self._report, failure_text="{part} could not be done ({problem}): fix that")
        self._guard, self._settings, self._rules = guard, settings, rules
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
            rules = self._rules or load_money_rules(self._settings)
            listed = with_retries(partial(running, self._guard.platform))
        except Exception as error:  # noqa: BLE001 - on any error nothing is known, so everything is held
            self._hold_all(in_words(error))
            return
        self.failures += [f"{what}: fix the connector, and check whether it runs" for what in listed.nameless]
        hours = AccountHours(self._guard, rules, self._now, self._zone)
        for state in listed.states:
            hours.add_running(state.campaign)
        for state in listed.paused:
            hours.add_paused(state.campaign)
        hours.update()
        for state in listed.states:
            self._judge(hours, rules, state.campaign)

    def _hold_all(self, why: str) -> None:
        """Without rules or a list of campaigns, hold every campaign that may be running."""
        names: set[str] = set()
        lists: tuple[Callable[[], Iterable[str]], ...] = (
            lambda: watched_campaigns(self._guard.ledger, self._guard.account.id, running=True),
            lambda: [state.campaign for state in running(self._guard.platform).states],
        )
        for known in lists:
            with self.part("reading a list of campaigns"):
                names.update(known())
        doubt = f"the money rules could not be judged ({why}): fix that"
        self.fail(doubt)
        self.judged += [_Judged(name, "hold", doubt, doubt=doubt) for name in sorted(names)]

    def _judge(self, hours: AccountHours, rules: MoneyRules, campaign: str) -> None:
        """Judge a campaign; a failure does not affect the others."""
        readings: dict[str, RuleReading] = {}
        doubt, observed = hours.doubts.get(campaign, ""), hours.observed(campaign)
        if observed is not None and not doubt:
            try:
                readings = _readings(self._guard, rules, campaign, observed, self._now)
                doubt = hours.why_unknown(observed)
            except Exception as error:  # noqa: BLE001 - on any error the figures are unknown, which is never allowed
                doubt = in_words(error)
            else:
                if doubt and hours.may_wait(observed):
                    self.verdicts[campaign] = f"not judged yet: {doubt}"
                    return
        verdict = judge_rules(rules.rules, readings, hours.judged_at(observed))
        reason = f"its spend is unknown ({doubt})" if doubt else verdict.reason
        if doubt:
            self.failures.append(f"{campaign}: {reason}")
        since = observed.running_since if observed else None
        self.judged.append(_Judged(campaign, verdict.decision, reason, since, verdict, doubt))

    # Acting

    def act(self) -> None:
        """Stop, pause and record what the rules demand; alerts are sent later."""
        kills = [judged for judged in self.judged if judged.decision == "kill"]
        if kills:
            self._stop(kills)
        to_pause = [judged for judged in self.judged if judged.decision != "allow"]
        for done in pause_and_record(self._guard, [judged.finding for judged in to_pause]):
            if done.is_paused:
                self.paused.append(done.finding.campaign)
            self.report_later(partial(self._alert_paused, done))
        for judged in to_pause:
            self._record(judged)
        for judged in self.judged:
            self.report_later(partial(self._alert_rules, judged))
        if self.stopped:
            self._wait_for_stop()

    def _stop(self, kills: list[_Judged]) -> None:
        reason = "; ".join(f"{judged.campaign}: {judged.reason}" for judged in kills)
        try:
            if not _is_known_to_be_stopped(self._guard):
                self._guard.switch.stop(by=_BY, reason=reason)
                self.stopped = True
        except Exception as error:  # noqa: BLE001 - on any error everything that runs is paused instead
            self.fail(f"THE KILL SWITCH COULD NOT BE SET ({in_words(error)}): run `gaelp kill` now. {reason}")
            why = "a campaign must be stopped with everything else, and the kill switch could not be set"
            self.judged = [
                judged if judged.decision != "allow" else _Judged(judged.campaign, "hold", why, judged.since, doubt=why)
                for judged in self.judged
            ]

    def _wait_for_stop(self) -> None:
        report = self._guard.switch.wait(_STOP_SECONDS)
        if short := shortfall(report):
            self.failures.append(short)
        kills = "; ".join(judged.in_words for judged in self.judged if judged.decision == "kill")
        what = f"The money rules have stopped all spending. {kills}. {short or report.describe_parts()}"
        stop = partial(send_alert, self._guard, "critical", scope=report.stop_id, rule="stopped-by-rules", what=what)
        self.report_later(stop, first=True)

    def _record(self, judged: _Judged) -> None:
        """Record violations of rules that have no open one; a resolved violation does not count."""
        with self.part(f"{judged.campaign}: recording violations"):
            open_now = self._guard.violations.list(scope=judged.campaign, open_only=True)
            on_record = {violation.rule for violation in open_now}
            for violation in judged.violations(self._guard.wall_now()):
                if violation.rule not in on_record:
                    self._guard.violations.add(violation)

    # Alerting

    def _report(self, _part: str, what: str) -> str | None:
        return send_alert(self._guard, "critical", scope=self._guard.account.id, rule="money-rules-failed", what=what)

    def _alert_paused(self, done: Paused) -> str | None:
        what = alert_paused(self._guard, done)
        return None if done.is_paused else what

    def _alert_rules(self, judged: _Judged) -> str | None:
        """Alert about kills and notices; a hold, or unknown figures, are in the alert about the pause."""
        if judged.verdict is None or judged.doubt:
            return None
        rules = {result.rule_id for result in judged.verdict.results if result.decision != "hold"}
        try:
            listed = alerts_of(judged.verdict, judged.campaign, at=self._guard.wall_now())
            alerts = [alert for alert in listed if alert.key.partition("/")[0] in rules]
            unsent = [sent.failed for sent in map(self._guard.alerts.send, alerts) if sent.outcome == "failed"]
        except Exception as error:  # noqa: BLE001 - the stop is done; this is reported as a failure
            return f"the alerts about {judged.campaign} could not be sent ({in_words(error)})"
        return f"alerts about {judged.campaign} reached nobody ({unsent})" if unsent else None


def _is_known_to_be_stopped(guard: Guard) -> bool:
    """Whether a stop is certainly in force; an unreadable state is not certain."""
    try:
        return guard.switch.state().is_stopped
    except Exception:  # noqa: BLE001 - on any error, stop again
        return False


def _readings(
    guard: Guard, rules: MoneyRules, campaign: str, observed: ObservedHours, now: datetime
) -> dict[str, RuleReading]:
    day = observed.window.day or account_day(now, guard.account.time_zone)
    caps = caps_of_campaign(guard, rules, campaign, day)
    return readings_of(SpendWindow(caps, observed.window), CampaignWatch(rules.signals, observed.watch), caps)
