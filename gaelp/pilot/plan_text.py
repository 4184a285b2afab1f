"""What a pilot plan says before anyone signs it: the most it can cost, what it should earn, what ends it, its power."""

from collections.abc import Mapping
from typing import NamedTuple

from gaelp.budget.platform_budget import Overdelivery
from gaelp.money import Micros, Money
from gaelp.pilot.expectation import Expected, PilotExpectation
from gaelp.pilot.pilot_metrics import SPAN_CONVERSIONS, cut_spans
from gaelp.pilot.pilot_plan import PilotPlan
from gaelp.pilot.power import FALSE_MOST, GOOD, POWER_LEAST, WORTHLESS, PilotPower

__all__ = ["PlanSection", "plan_json", "plan_money", "plan_sections", "worst_section"]


_CENT_MICROS = 10_000


class PlanSection(NamedTuple):
    """A title, a table, and sentences below it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    below: tuple[str, ...] = ()


def plan_sections(
    plan: PilotPlan,
    terms: Overdelivery,
    expected: PilotExpectation,
    power: PilotPower,
    *,
    stops: Mapping[str, str],
    has_holdout: bool = False,
) -> tuple[PlanSection, ...]:
    """Everything to read before signing; `stops` are further rules that end the pilot, each with its meaning."""
    return (
        _what_runs(plan),
        worst_section(plan, terms),
        _earns(plan, expected, has_holdout=has_holdout),
        _ends(plan, terms, stops),
        _power(plan, expected, power),
    )


def plan_json(plan: PilotPlan, terms: Overdelivery, expected: PilotExpectation, power: PilotPower) -> dict[str, object]:
    """The same figures for programs."""
    return {
        "plan": plan.model_dump(mode="json"),
        "worst": {
            "day_micros": plan.day_worst_micros(terms),
            "total_micros": plan.day_worst_micros(terms) * plan.days,
            "loss_cap_micros": plan.loss_cap_micros,
        },
        "expected": expected.model_dump(mode="json"),
        "power": {**power.model_dump(mode="json"), "tells_apart": power.tells_apart},
    }


def _what_runs(plan: PilotPlan) -> PlanSection:
    rows = [
        (campaign.name, campaign.logged_as, plan_money(plan, campaign.daily_micros), str(len(campaign.targets)))
        for campaign in plan.campaigns
    ]
    return PlanSection(
        f"Pilot {plan.name}: {len(plan.campaigns)} campaigns of account {plan.account}",
        ("campaign", "known from", "a day", "ad groups"),
        tuple(rows),
        (
            (
                f"The agent {plan.model_hash[:12]} decides every hour from {plan.first_day} to {plan.last_day}, days of"
                f" {plan.time_zone}; the pilot is judged after {plan.settled_day}, when late conversions have arrived."
            ),
            (
                f"Bids stay within a factor of {plan.reach:g} of the usual bids, and below"
                f" {plan_money(plan, plan.bid_ceiling_micros)} a click."
            ),
        ),
    )


def worst_section(plan: PilotPlan, terms: Overdelivery) -> PlanSection:
    """What a plan can cost at most."""
    worst_day = plan.day_worst_micros(terms)
    rows = (
        ("budgets", plan_money(plan, plan.daily_micros), plan_money(plan, plan.budget_micros)),
        ("at worst, with overdelivery", plan_money(plan, worst_day), plan_money(plan, worst_day * plan.days)),
        ("loss at which it stops", "", plan_money(plan, plan.loss_cap_micros)),
    )
    below = (
        (
            f"{terms.platform} may spend up to {terms.day_percent / 100:g} times a daily budget on one day; the mandate"
            " allows no more than the second line, and nothing can be ordered beyond it."
        ),
        "Clicks that are billed after a stop are inside these limits.",
    )
    return PlanSection("What could be spent at worst", ("", "a day", "in all"), rows, below)


def _earns(plan: PilotPlan, expected: PilotExpectation, *, has_holdout: bool) -> PlanSection:
    rows = (
        ("spend (what the plan wants to spend)", *_money_row(plan, expected.total_spend_micros)),
        ("value of sales", *_money_row(plan, expected.total_value_micros)),
        ("conversions", *(f"{each:,.0f}" for each in _ends_of(expected.total_conversions))),
        ("ROI", *(f"{each:+.0%}" for each in _ends_of(expected.roi))),
    )
    share = expected.wished_micros / max(plan.budget_micros, 1)
    below = (
        (
            f"From {expected.draws} plays of the plan in copies of the account as its reports describe it. 95 of 100"
            " pilots should end between low and high, if the copies are right; what reports do not show is not in them."
        ),
        (
            f"The plan wants {share:.0%} of the budgets: where a further click would cost more than it returns, the"
            " agent leaves the money."
        ),
        "A holdout measures which part of the return the adverts caused."
        if has_holdout
        else "Return is attributed: without a holdout nobody knows which sales would have come without the adverts.",
    )
    return PlanSection("What it should earn", ("", "expected", "low", "high"), rows, below)


def _ends(plan: PilotPlan, terms: Overdelivery, stops: Mapping[str, str]) -> PlanSection:
    rows = (
        ("its last day", f"{plan.last_day}: campaigns are paused, and the mandate ends"),
        ("loss", f"spend exceeds value known or expected by {plan_money(plan, plan.loss_cap_micros)}"),
        ("money", f"{plan_money(plan, plan.day_worst_micros(terms))} on one day, or that times {plan.days} in all"),
        *stops.items(),
    )
    below = ("Each of these pauses every campaign on the platform and reads back that it is paused.",)
    return PlanSection("What would end it", ("ends at", "meaning"), rows, below)


def _power(plan: PilotPlan, expected: PilotExpectation, power: PilotPower) -> PlanSection:
    rows = tuple(
        (
            f"{truth.roi:+.0%}" if truth.roi else "0%",
            f"{truth.pass_share:.1%}",
            f"at most {FALSE_MOST:.0%}" if truth.roi == WORTHLESS else f"at least {POWER_LEAST:.0%}",
            ", ".join(f"{rule} {share:.0%}" for rule, share in truth.refused_by.items()),
        )
        for truth in power.truths
    )
    spans = cut_spans(expected.day_conversions)
    judged = "can" if power.tells_apart else "cannot"
    below = (
        (
            f"A pilot of {power.campaigns} campaigns for {power.days} days, with {power.expected_conversions:,.0f}"
            f" conversions expected and budgets of {plan_money(plan, power.budget_micros)}, {judged} tell an agent that"
            f" returns nothing from one that returns {GOOD:+.0%}."
        ),
        (
            f"From {power.pilots} simulated pilots for each true ROI, judged by the rules of the gate. Its"
            f" {len(spans)} spans for the streak have at least {SPAN_CONVERSIONS:g} expected conversions each."
        ),
    )
    return PlanSection("What it can show", ("true ROI", "passes", "asked", "refused by"), rows, below)


def _ends_of(figure: Expected) -> tuple[float, float, float]:
    return figure.value, figure.lower_95, figure.upper_95


def _money_row(plan: PilotPlan, figure: Expected) -> tuple[str, ...]:
    return tuple(plan_money(plan, round(each)) for each in _ends_of(figure))


def plan_money(plan: PilotPlan, micros: Micros) -> str:
    """An amount in the plan's currency, in whole cents."""
    return str(Money(round(micros / _CENT_MICROS) * _CENT_MICROS, plan.currency))
