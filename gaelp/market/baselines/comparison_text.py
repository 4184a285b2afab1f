"""A comparison of bidders as rows of at most 80 characters, and what it says in one sentence."""

from gaelp.config.objective import is_value
from gaelp.market.baselines.compare import CampaignMoney, Comparison, Estimate, PolicyResult
from gaelp.money import MICROS_PER_UNIT

__all__ = [
    "ALL_COLUMNS",
    "COMPARISON_COLUMNS",
    "MONEY_COLUMNS",
    "all_rows",
    "comparison_meaning",
    "comparison_rows",
    "comparison_title",
    "lead_cells",
    "money_cells",
    "money_rows",
    "outcome_cells",
]

COMPARISON_COLUMNS = ("bidder", "reward", "headroom", "lead %", "spent", "p10")  # a row has to fit into 80 characters
MONEY_COLUMNS = ("bidder", "spend", "of budget", "value", "ROAS", "CPA", "profit")  # means of a campaign
ALL_COLUMNS = ("market", "objective", "bidder", "reward", "spent", "ROI")


def comparison_title(comparison: Comparison) -> str:
    """Which market and how many episodes."""
    label = f" ({comparison.label})" if comparison.label else ""
    paid_for = "" if is_value(comparison.objective) else f", objective {comparison.objective.label}"
    return f"Market {comparison.market}{label}{paid_for}, {comparison.episodes} held-out episodes"


def comparison_rows(comparison: Comparison) -> tuple[tuple[str, ...], ...]:
    """One row for each bidder, all on the same held-out episodes."""
    return tuple(_row(result) for result in comparison.results)


def all_rows(comparison: Comparison) -> tuple[tuple[str, ...], ...]:
    """One row for each bidder, for a table of several markets and objectives."""
    market, objective = comparison.market, comparison.objective.key
    return tuple((market, objective, result.policy, *outcome_cells(result)) for result in comparison.results)


def outcome_cells(result: PolicyResult) -> tuple[str, ...]:
    """Reward with its interval, share of the budget spent, and return on investment."""
    return (
        _with_interval(result.reward, 3),
        f"{result.budget_used:.1%}",
        "-" if result.money is None or result.money.roas is None else f"{result.money.roas - 1:+.0%}",
    )


def lead_cells(result: PolicyResult) -> tuple[str, ...]:
    """Lead over the best uninformed and over the best informed rule on the same episodes, in percent with bounds."""
    return tuple(
        "-" if each is None else _with_bounds(each) for each in (result.lead_over_best, result.lead_over_informed)
    )


def money_rows(comparison: Comparison) -> tuple[tuple[str, ...], ...]:
    """One row for each bidder in units of the account's currency; none for a result from before money was reported."""
    return tuple((result.policy, *money_cells(result.money)) for result in comparison.results if result.money)


def money_cells(money: CampaignMoney) -> tuple[str, ...]:
    """The row of one bidder, without its name."""
    return (
        _units(money.spend_micros),
        f"{money.spend_share:.1%}",
        _units(money.value_micros),
        "-" if money.roas is None else f"{money.roas:.2f}",
        "-" if money.cpa_micros is None else _units(money.cpa_micros),
        _units(money.profit_micros),
    )


def _units(micros: int) -> str:
    return f"{micros / MICROS_PER_UNIT:,.2f}"


def comparison_meaning(comparison: Comparison) -> str:
    """What the table says, in one sentence."""
    best, constant = comparison.of(comparison.best_uninformed), comparison.of(comparison.constant)
    sentence = (
        f"The best rule, {best.policy}, wins {best.reward.value:.1%} of what was possible, the constant bid "
        f"{constant.reward.value:.1%}: an agent has to beat the rule, not the constant"
    )
    informed_results = [result for result in comparison.results if result.informed]
    informed = max(informed_results, key=lambda result: result.reward.value, default=None)
    if informed is None or informed.lead_over_best.lower_95 <= 0:
        return sentence + "."
    return f"{sentence}; knowing how hour and price relate to value is worth {informed.lead_over_best.value:.1%} more."


def _row(result: PolicyResult) -> tuple[str, ...]:
    return (
        result.policy,
        _with_interval(result.reward, 3),
        _with_interval(result.headroom_share, 2),
        _in_percent(result.lead_over_best),
        f"{result.budget_used:.1%}",
        f"{result.reward_p10:z.3f}",
    )


def _with_interval(estimate: Estimate, digits: int) -> str:
    return f"{estimate.value:z.{digits}f} ± {(estimate.upper_95 - estimate.lower_95) / 2:.{digits}f}"


def _with_bounds(estimate: Estimate) -> str:
    return f"{estimate.value * 100:+z.2f} ({estimate.lower_95 * 100:+z.2f} .. {estimate.upper_95 * 100:+z.2f})"


def _in_percent(estimate: Estimate) -> str:
    return f"{estimate.value * 100:+z.1f} ± {(estimate.upper_95 - estimate.lower_95) * 50:.1f}"
