"""Measure a rule set before money depends on it: false stops on healthy campaigns, delay on planted faults.

Every hour passes through the code of production: the same windows, detectors, readings and judge.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from gaelp.bench.campaign_months import FAULTS, Campaigns, simulate, with_fault
from gaelp.budget.hours import CampaignCaps, HourCounts, SpendWindow, SpendWindowState
from gaelp.budget.rule_judge import decide
from gaelp.budget.rules import RuleSet
from gaelp.budget.signals import CampaignWatch, SignalSettings, WatchState

__all__ = ["FALSE_KILLS_MAX", "STATED_HOURS", "HealthyTrial", "fault_trial", "healthy_trial", "not_kept"]

FALSE_KILLS_MAX = 0.01  # a campaign-month
STATED_HOURS = {
    "ten_times_the_bid": {"all": 12},
    "pacing_stuck_open": {"all": 48, "first_word": 14},
    "pacing_stuck_shut": {"first_word": 14},
    "click_fraud": {"busy": 24},
    "tracking_outage": {"busy": 24},
}
"""For which campaigns a fault is caught within how many hours, in 19 of 20 of them; first_word counts alerts too."""

_START = datetime(2026, 3, 1, tzinfo=UTC)
_HOUR = timedelta(hours=1)
_COUNTS = tuple(HourCounts.model_fields)
_DAYS_PER_MONTH = 30
_LOSS_CAP_FACTOR = 4  # times daily budget and value of a conversion: with less, bad luck alone kills
_NOTES = frozenset({"day-spend-50"})  # reported on most healthy days, so it says nothing about a fault
_BUSY_CONVERSIONS = 20  # reported a day
_PILOT_MICROS = 50_000_000  # a day: what phase 3 may spend


@dataclass
class HealthyTrial:
    """What healthy campaign-months were stopped or reported for, and by which rule."""

    months: int = 0
    killed: int = 0
    held: int = 0
    kills_by_rule: Counter[str] = field(default_factory=Counter)
    holds_by_rule: Counter[str] = field(default_factory=Counter)
    alert_days_by_rule: Counter[str] = field(default_factory=Counter)

    def figures(self) -> dict[str, object]:
        """As plain data, per campaign-month."""
        return {
            "campaign_months": self.months,
            "false_kills_per_campaign_month": self.killed / self.months,
            "false_holds_per_campaign_month": self.held / self.months,
            "kills_by_rule": dict(self.kills_by_rule),
            "holds_by_rule": dict(self.holds_by_rule),
            "alerts_per_campaign_month": {
                rule: round(count / self.months, 3) for rule, count in sorted(self.alert_days_by_rule.items())
            },
        }


def healthy_trial(rules: RuleSet, signals: SignalSettings, months: int, rng: np.random.Generator) -> HealthyTrial:
    """Run healthy campaigns for a month each. A rule counts once a month as a stop, once a day as an alert."""
    world = simulate(months, _DAYS_PER_MONTH, rng)
    trial = HealthyTrial()
    for index in range(months):
        run = _Run(rules, signals, _caps(world, index))
        stops: set[tuple[str, str]] = set()
        alerts: set[tuple[str, int]] = set()
        for hour, counts in enumerate(_hours(world, index)):
            for rule_id, decision in run.step(hour, counts):
                alerts.add((rule_id, hour // 24))
                if decision != "allow":
                    stops.add((decision, rule_id))
        _count(trial, stops, alerts)
    return trial


def fault_trial(
    rules: RuleSet, signals: SignalSettings, campaigns: int, rng: np.random.Generator, *, watched_hours: int = 120
) -> dict[str, dict[str, object]]:
    """Plant each fault into healthy campaigns after 14 to 15 days; hours until the first hold or kill, per fault.

    Busy campaigns report at least 20 conversions a day, pilot-sized ones have at most $50 a day.

    The hour counts from the fault's first: caught at its end is a delay of 1. A stop in the two days before the fault
    is a false one, and its campaign says nothing about the delay.
    """
    days = 15 + (watched_hours + 23) // 24
    world = simulate(campaigns, days, rng)
    starts = 14 * 24 + rng.integers(0, 24, campaigns)
    caught_by_fault: dict[str, list[_Caught]] = {name: [] for name in FAULTS}
    for index in range(campaigns):
        start = int(starts[index])
        run = _Run(rules, signals, _caps(world, index))
        before = enumerate(_hours(world, index)[:start])
        if any(_stopped(run.step(hour, counts)) and hour >= start - 48 for hour, counts in before):
            continue
        sizes = _sizes(world, index, start)
        for name, caught in caught_by_fault.items():
            faulty = with_fault(name, _one(world, index), start, rng)
            after = _hours(faulty, 0)[start : start + watched_hours]
            stop, word = _first_hours(run.copy(), after, start)
            caught.append(_Caught(stop, word, sizes))
    return {name: _fault_figures(name, caught) for name, caught in caught_by_fault.items()}


def not_kept(healthy: HealthyTrial, faults: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """Claims about the rules that the measurements do not confirm, one line each."""
    share = healthy.killed / healthy.months
    kills = f"false kills: {share:.2%} of {healthy.months} campaign-months; stated: at most {FALSE_KILLS_MAX:.0%}"
    late = [
        f"{fault} ({stated['for']}): 95% after {_hours_or_never(stated['seen'])};"
        f" stated: within {stated['p95_hours']} hours"
        for fault, figures in faults.items()
        for stated in figures["stated"]
        if not stated["kept"]
    ]
    return (*([kills] if share > FALSE_KILLS_MAX else []), *late)


def _hours_or_never(hours: float | None) -> str:
    return "no number of hours" if hours is None else f"{hours:g} hours"


@dataclass(frozen=True)
class _Caught:
    stop_hours: float
    word_hours: float  # the first alert, hold or kill
    sizes: frozenset[str]


def _sizes(world: Campaigns, index: int, start: int) -> frozenset[str]:
    busy = world.conversions[index, :start].sum() * 24 >= _BUSY_CONVERSIONS * start
    pilot = world.budget_micros[index] <= _PILOT_MICROS
    return frozenset(name for name, holds in (("busy", busy), ("pilot_sized", pilot)) if holds)


def _fault_figures(name: str, caught: list[_Caught]) -> dict[str, object]:
    figures = {
        "all": _spread([campaign.stop_hours for campaign in caught]),
        "first_word": _spread([campaign.word_hours for campaign in caught]),
        **{
            size: _spread([campaign.stop_hours for campaign in caught if size in campaign.sizes])
            for size in ("busy", "pilot_sized")
        },
    }
    return {**figures, "stated": [_stated(whom, hours, figures[whom]) for whom, hours in STATED_HOURS[name].items()]}


def _stated(whom: str, hours: int, figures: dict[str, float | None]) -> dict[str, object]:
    """Check a stated delay; it is not kept if no such campaign occurred or too many faults were never caught."""
    measured = figures["p95_hours"]
    return {"for": whom, "p95_hours": hours, "seen": measured, "kept": measured is not None and measured <= hours}


class _Run:
    """One campaign under the rules."""

    def __init__(self, rules: RuleSet, signals: SignalSettings, caps: CampaignCaps) -> None:
        self._rules, self._signals, self._caps = rules, signals, caps
        self._window, self._watch = SpendWindow(caps), CampaignWatch(signals)

    def copy(self) -> "_Run":
        """Another that resumes from the same state, stored and read back as in production."""
        twin = _Run(self._rules, self._signals, self._caps)
        window = SpendWindowState.model_validate_json(self._window.state().model_dump_json())
        watch = WatchState.model_validate_json(self._watch.state().model_dump_json())
        twin._window, twin._watch = SpendWindow(self._caps, window), CampaignWatch(self._signals, watch)
        return twin

    def step(self, hour: int, counts: HourCounts) -> list[tuple[str, str]]:
        """Show the rules one hour; return those that have something to say, with their decision."""
        began = _START + hour * _HOUR
        self._window.observe(counts, began.date(), began + _HOUR)
        self._watch.observe(counts, began + _HOUR)
        readings = self._window.readings() | self._watch.readings()
        said = [(rule.id, *decide(rule, readings, began + _HOUR)) for rule in self._rules.rules]
        return [(rule_id, decision) for rule_id, decision, alert, _ in said if alert]


def _count(trial: HealthyTrial, stops: set[tuple[str, str]], alerts: set[tuple[str, int]]) -> None:
    decisions = {decision for decision, _ in stops}
    trial.months += 1
    trial.killed += "kill" in decisions
    trial.held += "hold" in decisions
    trial.kills_by_rule.update(rule for decision, rule in stops if decision == "kill")
    trial.holds_by_rule.update(rule for decision, rule in stops if decision == "hold")
    trial.alert_days_by_rule.update(rule for rule, _ in alerts)


def _stopped(said: list[tuple[str, str]]) -> bool:
    return any(decision != "allow" for _, decision in said)


def _first_hours(run: _Run, after: list[HourCounts], start: int) -> tuple[float, float]:
    """Hours to the first stop, and to the first word of any rule; infinite where there was none."""
    word = np.inf
    for delay, counts in enumerate(after, start=1):
        said = [pair for pair in run.step(start + delay - 1, counts) if pair[0] not in _NOTES]
        if said and word == np.inf:
            word = delay
        if _stopped(said):
            return delay, word
    return np.inf, word


def _spread(delays: list[float]) -> dict[str, float | None]:
    if not delays:
        return {"campaigns": 0, "caught_share": None, "median_hours": None, "p95_hours": None}
    ordered = np.sort(np.array(delays))

    def at(share: float) -> float | None:
        delay = float(ordered[int(np.ceil(share * len(ordered))) - 1])
        return delay if np.isfinite(delay) else None

    caught = float(np.isfinite(ordered).mean())
    return {"campaigns": len(delays), "caught_share": caught, "median_hours": at(0.5), "p95_hours": at(0.95)}


def _caps(world: Campaigns, index: int) -> CampaignCaps:
    budget, value = int(world.budget_micros[index]), int(world.value_micros[index])
    return CampaignCaps(
        day_cap_micros=2 * budget,
        episode_cap_micros=_DAYS_PER_MONTH * 2 * budget,
        loss_cap_micros=_LOSS_CAP_FACTOR * (budget + value),
        conversion_value_micros=value,
    )


def _hours(world: Campaigns, index: int) -> list[HourCounts]:
    planned = world.planned_micros[index].reshape(-1, 24)
    day = planned.sum(axis=1, keepdims=True)
    left = (day - planned.cumsum(axis=1)).ravel()
    rows = (
        world.spend_micros[index],
        world.planned_micros[index],
        left,
        day.repeat(24, axis=1).ravel(),
        world.impressions[index],
        world.clicks[index],
        world.conversions[index],
    )
    return [
        HourCounts(**dict(zip(_COUNTS, hour, strict=True)))
        for hour in zip(*(row.tolist() for row in rows), strict=True)
    ]


def _one(world: Campaigns, index: int) -> Campaigns:
    rows = slice(index, index + 1)
    return Campaigns(**{name: getattr(world, name)[rows] for name in Campaigns.__dataclass_fields__})
