"""Every figure of phase 3, and the part of it that is passed on."""

from pydantic import Field

from gaelp.config.base import Frozen
from gaelp.gates import Verdict
from gaelp.money import Micros, Money
from gaelp.phases.phase_result import PhaseResult, ResultTable
from gaelp.phases.run_folder import PhaseFolder
from gaelp.pilot.expectation import PilotExpectation
from gaelp.pilot.pilot_metrics import PilotMetrics
from gaelp.pilot.pilot_plan import PilotPlan
from gaelp.types import Phase

__all__ = ["CampaignReturn", "LoopCounts", "PilotResult", "as_phase_result"]

_SHOWN_SKEW = 3


class CampaignReturn(Frozen):
    """What one campaign brought, as known at the end."""

    campaign: str
    spend_micros: Micros
    value_micros: Micros
    clicks: int
    conversions: float
    expected_spend_micros: float
    expected_value_micros: float


class LoopCounts(Frozen):
    """What the control loop did: hours decided and missed, orders by what became of them."""

    decided: int
    missed: int
    orders: dict[str, int] = Field(default_factory=dict)


class PilotResult(Frozen):
    """What phase 3 measured, stored in pilot.json."""

    run_id: str
    agent: str
    learned: bool
    model_hash: str
    model: str = Field(description="the hashed file, relative to the attempt's folder")
    world: str = Field(description="live, or sandbox: no real money moved")
    plan: PilotPlan
    mandate: str = Field(description="the id of the mandate that was signed; empty if nothing was spent")
    expected: PilotExpectation
    skewed_features: tuple[str, ...] = Field(description="what the shadow days found, one sentence a feature")
    ended: str = Field(description="finished, or why the pilot stopped by itself")
    counts: LoopCounts
    metrics: PilotMetrics | None = Field(description="none where the pilot ended before it spent anything")
    campaigns: tuple[CampaignReturn, ...] = ()
    violations: tuple[str, ...] = ()
    seconds: float
    verdict: Verdict


def as_phase_result(result: PilotResult, folder: PhaseFolder) -> PhaseResult:
    """Return the result of phase 3 in the common form."""
    return PhaseResult(
        phase=Phase.PILOT,
        run_id=result.run_id,
        attempt=folder.attempt,
        agent=result.agent,
        learned=result.learned,
        model_hash=result.model_hash,
        model=result.model,
        verdict=result.verdict,
        seconds=result.seconds,
        judged_on=f"pilot {result.plan.name} from {result.plan.first_day} on",
        text=_meaning(result),
        tables=(_totals(result), _by_campaign(result)),
    )


def _totals(result: PilotResult) -> ResultTable:
    plan, expected, metrics = result.plan, result.expected, result.metrics
    spend, value, roi = expected.total_spend_micros, expected.total_value_micros, expected.roi
    rows = [
        ("spend", _money(plan, spend.value), "-" if metrics is None else _money(plan, metrics.spend_micros)),
        (
            "value known so far",
            _money(plan, value.value),
            "-" if metrics is None else _money(plan, metrics.value_micros),
        ),
        ("value still to come", "", "-" if metrics is None else _money(plan, metrics.pending_micros)),
        (
            "return (95% interval)",
            f"{roi.value:+.1%} ({roi.lower_95:+.1%} .. {roi.upper_95:+.1%})",
            "-" if metrics is None else _interval(metrics),
        ),
        ("return as the platform counts", "", "-" if metrics is None else f"{metrics.platform_roi:+.1%}"),
    ]
    return ResultTable(
        columns=("the pilot", "expected", "happened"),
        rows=tuple(rows),
        above=(
            f"{len(plan.campaigns)} campaigns, {plan.first_day} to {plan.last_day}, {plan.settle_days} days to settle;"
            f" {_world(result)}"
        ),
        below="" if metrics is None else f"Value is from the {metrics.value_from}; the return is {metrics.label}.",
    )


def _by_campaign(result: PilotResult) -> ResultTable:
    plan = result.plan
    rows = tuple(
        (
            each.campaign,
            _money(plan, each.spend_micros),
            _money(plan, each.expected_spend_micros),
            _money(plan, each.value_micros),
            f"{each.value_micros / each.spend_micros - 1:+.0%}" if each.spend_micros else "-",
            f"{each.conversions:g}",
        )
        for each in result.campaigns
    )
    return ResultTable(
        columns=("campaign", "spend", "planned", "value", "return", "sales"),
        rows=rows or (("nothing was spent", "", "", "", "", ""),),
    )


def _meaning(result: PilotResult) -> str:
    lines = [f"Shadow days: {text}" for text in result.skewed_features[:_SHOWN_SKEW]]
    lines += [f"Violation: {text}" for text in result.violations]
    if result.ended != "finished":
        lines.append(f"It stopped by itself. {result.ended}")
    counts = result.counts
    sent = counts.orders.get("sent", 0)
    lines.append(f"The agent decided {counts.decided} hours, sent {sent} changes and missed {counts.missed} hours.")
    return "\n".join([*lines, f"Run {result.run_id}: {_sentence(result)}"])


def _sentence(result: PilotResult) -> str:
    if result.metrics is None:
        return "the pilot spent nothing, so it shows no return."
    spent = _money(result.plan, result.metrics.spend_micros)
    return f"the agent spent {spent} with a return of {_interval(result.metrics)}; {_world(result)}."


def _interval(metrics: PilotMetrics) -> str:
    return f"{metrics.roi:+.1%} ({metrics.roi_lower_95:+.1%} .. {metrics.roi_upper_95:+.1%})"


def _world(result: PilotResult) -> str:
    return "real money" if result.world == "live" else "on the local ad platform, no real money"


def _money(plan: PilotPlan, micros: float) -> str:
    return str(Money(round(micros / 10_000) * 10_000, plan.currency))
