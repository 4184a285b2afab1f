"""A comparison of bidders as a table in the terminal."""

from collections.abc import Sequence

from gaelp.cli.output import show_table, show_text
from gaelp.market.baselines.compare import Comparison
from gaelp.market.baselines.comparison_text import (
    ALL_COLUMNS,
    COMPARISON_COLUMNS,
    MONEY_COLUMNS,
    all_rows,
    comparison_meaning,
    comparison_rows,
    comparison_title,
    money_rows,
)

__all__ = ["show_all_comparisons", "show_comparison"]


def show_all_comparisons(comparisons: Sequence[Comparison]) -> None:
    """Print every bidder on every market and objective in one table."""
    show_text("All markets and objectives")
    show_table(ALL_COLUMNS, [row for comparison in comparisons for row in all_rows(comparison)])


def show_comparison(comparison: Comparison) -> None:
    """Print every bidder on the same held-out episodes."""
    show_text(comparison_title(comparison))
    show_table(COMPARISON_COLUMNS, comparison_rows(comparison))
    show_text("\nMoney, mean of a campaign")
    show_table(MONEY_COLUMNS, money_rows(comparison))
    show_text("`gaelp market list` says how each bidder bids.")
    show_text(comparison_meaning(comparison) + "\n")
