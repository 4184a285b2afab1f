"""A comparison of bidders as a table of at most 80 columns, and what it says in one sentence."""

from typing import TYPE_CHECKING

from gaelp.cli.output import show_table, show_text

if TYPE_CHECKING:
    from gaelp.market.baselines.compare import Comparison, Estimate, Result

__all__ = ["show_comparison"]


def show_comparison(comparison: "Comparison") -> None:
    """Print every bidder on the same held-out episodes."""
    label = f" ({comparison.label})" if comparison.label else ""
    show_text(f"Market {comparison.market}{label}, {comparison.episodes} held-out episodes")
    columns = ("bidder", "reward", "headroom", "lead %", "spent", "p10")  # a row has to fit into 80 characters
    show_table(columns, [_row(result) for result in comparison.results])
    show_text(_meaning(comparison) + "\n")


def _row(result: "Result") -> tuple[str, ...]:
    return (
        result.policy,
        _with_interval(result.reward, 3),
        _with_interval(result.headroom_share, 2),
        _in_percent(result.lead_over_best),
        f"{result.budget_used:.1%}",
        f"{result.reward_p10:.3f}",
    )


def _with_interval(estimate: "Estimate", digits: int) -> str:
    return f"{estimate.value:.{digits}f} ± {(estimate.upper_95 - estimate.lower_95) / 2:.{digits}f}"


def _in_percent(estimate: "Estimate") -> str:
    return f"{estimate.value * 100:+.1f} ± {(estimate.upper_95 - estimate.lower_95) * 50:.1f}"


def _meaning(comparison: "Comparison") -> str:
    """What the table says, in one sentence."""
    best, constant = comparison.of(comparison.best_uninformed), comparison.of(comparison.constant)
    sentence = (
        f"The best rule, {best.policy}, wins {best.reward.value:.1%} of what was possible, the constant bid "
        f"{constant.reward.value:.1%}: an agent has to beat the rule, not the constant"
    )
    informed = max((one for one in comparison.results if one.informed), key=lambda one: one.reward.value, default=None)
    if informed is None or informed.lead_over_best.lower_95 <= 0:
        return sentence + "."
    return f"{sentence}; knowing how hour and price relate to value is worth {informed.lead_over_best.value:.1%} more."
