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
    lead_cells,
    money_rows,
    outcome_cells,
)
from gaelp.phases.trained_agents import TrainedAgent

__all__ = ["show_all_comparisons", "show_comparison"]


_LEAD_COLUMNS = ("run", "over the best rule %", "over the informed rule %")


def show_all_comparisons(comparisons: Sequence[Comparison], agents: Sequence[TrainedAgent] = ()) -> None:
    """Print every bidder on every market and objective in one table, and the agents of runs below them."""
    show_text("All markets and objectives")
    rows = [row for comparison in comparisons for row in all_rows(comparison)]
    rows += [(each.market, each.objective.key, each.run_id, *outcome_cells(each.result)) for each in agents]
    show_table(ALL_COLUMNS, rows)
    if agents:
        show_text("\nTrained agents against the rules, on the held-out episodes of their runs")
        show_table(_LEAD_COLUMNS, [(each.run_id, *lead_cells(each.result)) for each in agents])


def show_comparison(comparison: Comparison) -> None:
    """Print every bidder on the same held-out episodes."""
    show_text(comparison_title(comparison))
    show_table(COMPARISON_COLUMNS, comparison_rows(comparison))
    show_text("\nMoney, mean of a campaign")
    show_table(MONEY_COLUMNS, money_rows(comparison))
    show_text("`gaelp market list` says how each bidder bids.")
    show_text(comparison_meaning(comparison) + "\n")
