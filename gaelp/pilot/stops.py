"""When a pilot stops by itself: each rule gets figures and says why, with the figures; the first reason counts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np
from pydantic import Field, PositiveFloat, PositiveInt
from scipy.stats import poisson

from gaelp.arrays import Floats, Ints
from gaelp.config.base import Frozen
from gaelp.money import Micros, Money

__all__ = ["STOPS", "PilotStanding", "StopReason", "StopRules", "stop_reasons"]

STOPS = {  # what else ends a pilot, for people who read its plan
    "kill switch": "somebody stops all spending (`gaelp kill`)",
    "mandate": "it is revoked, a key that signed it is revoked, or another model decides",
    "violation": "a cap is passed, or money moves without an order",
    "refused order": "the guard or the platform refuses what the agent wants",
    "stale reports": "reports are hours later than the platform's usual lag",
    "unseen inputs": "for hours, much of what the agent sees is outside of what training showed",
    "decline": "far fewer sales than planned over one, three or seven days",
}


class StopRules(Frozen):
    """Limits of a running pilot; the loss cap is part of the plan."""

    loss_cap_micros: PositiveInt
    pending_credit: float = Field(
        default=1.28, ge=0, description="standard errors by which pending conversions count less than expected"
    )
    stale_hours: PositiveFloat = Field(
        default=9.0, description="reports older than this, beyond what the platform says they lag, stop the pilot"
    )
    out_of_range_share: float = Field(
        default=0.25, gt=0, le=1, description="of the features of an hour outside of what training saw"
    )
    out_of_range_hours: PositiveInt = Field(default=12, description="hours in a row with so many")
    expected_value_per_dollar: PositiveFloat | None = Field(
        default=None, description="what the plan expects; without it a decline is not judged"
    )
    decline_share: float = Field(
        default=0.5, gt=0, lt=1, description="a decline is value per dollar below this share of the expected one"
    )
    decline_days: tuple[PositiveInt, ...] = (1, 3, 7)
    decline_alpha: float = Field(
        default=0.01, gt=0, lt=0.5, description="chance of a false stop over the whole pilot, all windows together"
    )
    looks: PositiveInt = Field(default=14, description="how often a decline is judged: once a day")


@dataclass(frozen=True, slots=True)
class StopReason:
    """Why a pilot stops; `figures` are what was seen, beside the limits."""

    rule: str
    what: str
    figures: Mapping[str, float | int | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PilotStanding:
    """What is known of a pilot now; arrays are of its reported hours, all campaigns together."""

    now: datetime
    reported_until: datetime
    report_lag: timedelta
    currency: str
    spend_micros: Ints  # (H,)
    value_micros: Ints  # (H,) known so far, by the hour of the click
    conversions: Floats  # (H,)
    matured_share: Floats  # (H,) of an hour's conversions that should be known by now
    pending_conversions: float  # expected of all clicks so far
    conversion_value_micros: Micros  # mean
    out_of_range: Sequence[float] = ()  # share of each decided hour, the newest last
    killed: str = ""  # who stopped all spending, and why
    mandate_ended: str = ""
    violations: tuple[str, ...] = ()
    refused: str = ""  # a refused action
    judge_decline: bool = False  # whether a day has just ended


def stop_reasons(rules: StopRules, standing: PilotStanding) -> Iterator[StopReason]:
    """All reasons to stop now, those that need no statistics first."""
    if standing.killed:
        yield StopReason("kill-switch", standing.killed)
    if standing.mandate_ended:
        yield StopReason("mandate-ended", standing.mandate_ended)
    if standing.violations:
        yield StopReason("violation", "; ".join(standing.violations), {"violations": len(standing.violations)})
    if standing.refused:
        yield StopReason("refused-action", standing.refused)
    yield from _loss(rules, standing)
    yield from _stale(rules, standing)
    yield from _out_of_range(rules, standing)
    if standing.judge_decline:
        yield from _decline(rules, standing)


def _loss(rules: StopRules, standing: PilotStanding) -> Iterator[StopReason]:
    """Spend minus value; conversions that are still pending count less than expected, by their error."""
    pending = max(standing.pending_conversions - rules.pending_credit * np.sqrt(standing.pending_conversions), 0.0)
    pending_micros = int(pending * standing.conversion_value_micros)
    spend, value = int(standing.spend_micros.sum()), int(standing.value_micros.sum())
    loss = spend - value - pending_micros
    if loss > rules.loss_cap_micros:
        money = {name: Money(micros, standing.currency) for name, micros in _named(loss, rules, spend, value).items()}
        yield StopReason(
            "loss-cap",
            f"a loss of {money['loss']} with {money['spend']} spent and {money['value']} earned, conversions that are"
            f" still pending counted with {Money(pending_micros, standing.currency)}; allowed: {money['cap']}",
            {
                "loss_micros": loss,
                "cap_micros": rules.loss_cap_micros,
                "spend_micros": spend,
                "value_micros": value,
                "pending_micros": pending_micros,
            },
        )


def _named(loss: int, rules: StopRules, spend: int, value: int) -> dict[str, int]:
    return {"loss": loss, "cap": rules.loss_cap_micros, "spend": spend, "value": value}


def _stale(rules: StopRules, standing: PilotStanding) -> Iterator[StopReason]:
    late = (standing.now - standing.reported_until - standing.report_lag).total_seconds() / 3600
    if late > rules.stale_hours:
        yield StopReason(
            "stale-data",
            f"reports end at {standing.reported_until.isoformat()}, {late:.1f} hours later than the platform's usual"
            f" lag; allowed: {rules.stale_hours:g}",
            {"late_hours": late, "allowed_hours": rules.stale_hours},
        )


def _out_of_range(rules: StopRules, standing: PilotStanding) -> Iterator[StopReason]:
    newest = list(standing.out_of_range)[-rules.out_of_range_hours :]
    if len(newest) == rules.out_of_range_hours and min(newest) > rules.out_of_range_share:
        yield StopReason(
            "out-of-range",
            f"in each of the last {len(newest)} hours more than {rules.out_of_range_share:.0%} of what the policy sees"
            f" was outside of what training saw (lowest {min(newest):.0%}): its decisions there were never tested",
            {"lowest_share": min(newest), "allowed_share": rules.out_of_range_share, "hours": len(newest)},
        )


def _decline(rules: StopRules, standing: PilotStanding) -> Iterator[StopReason]:
    """Too few conversions for the money spent, by a Poisson bound that holds over all looks and windows together."""
    if rules.expected_value_per_dollar is None:
        return
    alpha = rules.decline_alpha / (rules.looks * len(rules.decline_days))
    least = rules.decline_share * rules.expected_value_per_dollar / standing.conversion_value_micros
    for days in rules.decline_days:
        hours = slice(max(len(standing.spend_micros) - 24 * days, 0), None)
        if len(standing.spend_micros) < 24 * days:
            continue
        expected = float((standing.spend_micros[hours] * standing.matured_share[hours]).sum() * least)
        conversions = float(standing.conversions[hours].sum())
        if (chance := float(poisson.cdf(np.floor(conversions), expected))) < alpha:
            yield StopReason(
                "decline",
                f"{conversions:g} conversions known of the last {days} days, and {expected:.1f} or more were due at"
                f" {rules.decline_share:.0%} of the value per money that the plan expects (chance {chance:.1g}, allowed"
                f" {alpha:.1g} a look)",
                {
                    "days": days,
                    "conversions": conversions,
                    "expected_at_limit": expected,
                    "chance": chance,
                    "alpha": alpha,
                },
            )
