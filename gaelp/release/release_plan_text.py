"""What a release plan says before anyone signs it: the most it can cost, its steps, what ends it, what it can show."""

from gaelp.budget.platform_budget import Overdelivery
from gaelp.pilot.plan_text import PlanSection, plan_money, worst_section
from gaelp.release.exposure import ExposureStep
from gaelp.release.release_draws import ReleaseGround
from gaelp.release.release_plan import ReleasePlan
from gaelp.release.release_power import POWER_LEAST, ReleasePower

__all__ = ["release_plan_json", "release_plan_sections"]


def release_plan_sections(
    plan: ReleasePlan, terms: Overdelivery, ground: ReleaseGround, power: ReleasePower
) -> tuple[PlanSection, ...]:
    """Everything to read before signing."""
    return (worst_section(plan.campaigns, terms), _steps(plan), _ends(plan), _power(plan, ground, power))


def release_plan_json(
    plan: ReleasePlan, terms: Overdelivery, ground: ReleaseGround, power: ReleasePower
) -> dict[str, object]:
    """The same figures for programs."""
    worst = plan.campaigns.day_worst_micros(terms)
    return {
        "plan": plan.model_dump(mode="json"),
        "worst": {
            "day_micros": worst,
            "total_micros": worst * plan.campaigns.days,
            "loss_cap_micros": plan.campaigns.loss_cap_micros,
        },
        "expected": {"lift": ground.expected_lift, "control_value_per_money": ground.control_return},
        "power": {**power.model_dump(mode="json"), "is_enough": power.is_enough},
    }


def _steps(plan: ReleasePlan) -> PlanSection:
    exposure, campaigns = plan.exposure, plan.campaigns
    return PlanSection(
        f"Release {campaigns.name}: {len(campaigns.campaigns)} campaigns of account {campaigns.account}",
        ("exposure", "lasts", "is left when"),
        tuple(_step(step, plan) for step in exposure.steps),
        (
            (
                f"The agent {campaigns.model_hash[:12]} gets these shares of the campaigns, drawn again every two days;"
                " the incumbent, scaled down until its budget lasts, bids for the others."
            ),
            (
                f"{campaigns.first_day} to {campaigns.last_day}, days of {campaigns.time_zone}: at most"
                f" {plan.proof_days} of comparison and {plan.full_days} at 100%. A day is compared when"
                f" {plan.pairs.age_days_min} more have passed, and the release is judged after"
                f" {campaigns.settled_day}."
            ),
        ),
    )


def _step(step: ExposureStep, plan: ReleasePlan) -> tuple[str, str, str]:
    if step.percent == 100:
        return "100%", f"{plan.full_days} days", "budgets may be raised; then the release is judged"
    asked = []
    if step.pairs_min:
        asked.append(f"{step.pairs_min} pairs")
    if step.lift_lower_min is not None:
        asked.append(f"a lift of {step.lift_lower_min:+.0%} is shown by its lower bound")
    if step.lift_min is not None:
        asked.append(f"the estimate is {step.lift_min:+.0%}")
    until = " and ".join(asked) or "nothing speaks against the agent"
    return f"{step.percent:g}%", f"{step.days_min} days or more", until


def _ends(plan: ReleasePlan) -> PlanSection:
    limits, campaigns = plan.exposure.limits, plan.campaigns
    rows = (
        ("loss", f"the treatment's spend exceeds its value by {plan_money(campaigns, limits.loss_cap_micros)}"),
        ("cost", f"a day costs more than {limits.cost_spike_factor:g} times what is planned for it"),
        ("violation", "a cap is passed, money moves without an order, or somebody stops all spending"),
        ("worse", "value per dollar is shown to be below the control's"),
        ("arms", "one side loses more of its campaign-days than the other"),
        ("errors", f"more than {limits.error_rate_max:.0%} of decisions fail in {limits.error_checks} checks in a row"),
        ("complaints", f"more than {limits.feedback_factor:g} times the baseline"),
        ("deadline", f"{plan.exposure.hold_deadline_days} days in a step without a conclusion"),
        ("its last day", f"{campaigns.last_day}: without a proof the control has every campaign again"),
    )
    below = ("Each of these but the last gives every campaign back to the control's bids, on the platform, read back.",)
    return PlanSection("What would end it", ("ends at", "meaning"), rows, below)


def _power(plan: ReleasePlan, ground: ReleaseGround, power: ReleasePower) -> PlanSection:
    rows = tuple(
        (
            f"{each.lift:+.0%}" + (" (expected)" if each.lift == power.expected_lift else ""),
            f"{each.promoted:.0%}",
            f"{each.rolled_back:.0%}",
            f"{each.concludes:.0%}",
            f"{each.passes:.0%}",
            f"{each.days:.0f}",
            plan_money(plan.campaigns, each.spend_micros),
        )
        for each in power.lifts
    )
    size = power.size
    judged = "carry" if power.is_enough else "do not carry"
    below = (
        (
            f"{size.campaigns} campaigns for {size.days} days of comparison and {size.full_days} at 100%, with budgets"
            f" of {plan_money(plan.campaigns, power.budget_micros)}, {judged} a conclusion in {POWER_LEAST:.0%} of"
            f" releases at the expected lift of {power.expected_lift:+.0%}."
        ),
        (
            "The expected lift is what agent and control return when both play the plan in copies of the account; the"
            f" control returns {ground.control_return:.2f} for each unit of money there."
        ),
        f"From {power.releases} simulated releases for each lift. Days are until the comparison ends.",
    )
    columns = ("true lift", "promoted", "rolled back", "enough flights", "passes", "days", "spend")
    return PlanSection("What it can show", columns, rows, below)
