"""The budgets of a release: the rules that its plan fixes, and the record of each day's decision."""

from datetime import datetime

from gaelp.budget.platform_budget import Overdelivery
from gaelp.config.objective import Objective
from gaelp.pilot.decision_book import DecisionBook, PilotEvent
from gaelp.release.budget_decision import BudgetDecision, budget_figures
from gaelp.release.budget_rules import BudgetRules
from gaelp.release.release_controller import DayDecision
from gaelp.release.release_plan import ReleasePlan

__all__ = ["BUDGET_NOTE", "budget_events", "budget_rules", "note_budgets"]

BUDGET_NOTE = "budgets"  # marks the events of the record that are decisions about budgets


def budget_rules(plan: ReleasePlan, terms: Overdelivery, objective: Objective) -> BudgetRules:
    """The rules of a release's budgets: what was signed, and the improvement that its last step had to show."""
    campaigns, proving = plan.campaigns, plan.exposure.steps[-2].lift_lower_min
    first = max(campaign.daily_micros for campaign in campaigns.campaigns)
    return BudgetRules(
        raise_percent=campaigns.raise_percent,
        raised_daily_micros=campaigns.raised_daily_micros or first,
        step_micros=terms.step_micros,
        lift_lower_min=proving if proving is not None else 0.0,
        objective=objective,
    )


def note_budgets(book: DecisionBook, decided: DayDecision, at: datetime) -> None:
    """Record once why a day's budgets are what they are; days without a proof that change nothing are left out."""
    budgets = decided.budgets
    if budgets is None or not (budgets.changed or decided.exposure.state.ended):
        return
    if any(event.figures["day"] == decided.day for event in budget_events(book.events())):
        return
    figures = {"subject": BUDGET_NOTE, "day": decided.day, **budget_figures(budgets)}
    book.add_event("note", f"day {decided.day + 1}: {_text(budgets)}", at, figures=figures)


def budget_events(events: list[PilotEvent] | tuple[PilotEvent, ...]) -> list[PilotEvent]:
    """The decisions about budgets, in their order."""
    return [event for event in events if event.figures.get("subject") == BUDGET_NOTE]


def _text(budgets: BudgetDecision) -> str:
    before = sum(each.before_micros for each in budgets.campaigns)
    total = f"budgets {before / 1e6:,.2f} -> {sum(budgets.daily_micros) / 1e6:,.2f}: {budgets.why}"
    changes = (
        f"{each.campaign} {each.before_micros / 1e6:,.2f} -> {each.after_micros / 1e6:,.2f} ({each.why})"
        for each in budgets.changed
    )
    return "; ".join([total, *changes])
