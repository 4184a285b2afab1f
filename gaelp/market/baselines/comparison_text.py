"""A comparison of bidders as rows of at most 80 characters, and what it says in one sentence."""

from gaelp.market.baselines.compare import Comparison, Estimate, PolicyResult

__all__ = ["COMPARISON_COLUMNS", "comparison_meaning", "comparison_rows", "comparison_title"]

COMPARISON_COLUMNS = ("bidder", "reward", "headroom", "lead %", "spent", "p10")  # a row has to fit into 80 characters


def comparison_title(comparison: Comparison) -> str:
    """Which market and how many episodes."""
    label = f" ({comparison.label})" if comparison.label else ""
    return f"Market {comparison.market}{label}, {comparison.episodes} held-out episodes"


def comparison_rows(comparison: Comparison) -> tuple[tuple[str, ...], ...]:
    """One row for each bidder, all on the same held-out episodes."""
    return tuple(_row(result) for result in comparison.results)


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


def _in_percent(estimate: Estimate) -> str:
    return f"{estimate.value * 100:+z.1f} ± {(estimate.upper_95 - estimate.lower_95) * 50:.1f}"
