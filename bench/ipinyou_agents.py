"""A bidder trained on the training histogram of iPinYou campaign 2997, beside the published ones on its test auctions.

    .venv/bin/python bench/ipinyou_agents.py FOLDER --seed 1

FOLDER holds the released files (`gaelp market replay --help` says which; the project ships none of them). Every bidder
plays the same 156,063 auctions in episodes of 1,000, at budgets of 1/32 to 1/2 of what all would cost at the mean
training price. `last-as-long` is the rule of `gaelp/bench/auction_agent.py`, `agent` the same with its network, trained
here on auctions drawn from the training histogram. Settings were fixed before the test auctions were played.
Prints clicks and exits 1 where the agent has fewer than RLB at a budget.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gaelp.bench.auction_agent import WEIGHTS, AuctionAgent, price_table
from gaelp.bench.auction_training import SHARES, TrainingSpec, train_residual
from gaelp.market.baselines.published import play_auctions, published_trial

_AGENT, _RULE = "agent", "last-as-long"
_Z = 1.959964


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, replay, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the released files")
    parser.add_argument("--seed", type=int, default=1, help="of the training")
    parser.add_argument("--generations", type=int, default=TrainingSpec().generations)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    history = published_trial(given.folder, SHARES[0]).history
    spec = TrainingSpec(seed=given.seed, generations=given.generations)
    weights = train_residual(history, price_table(history), spec, _report)
    rows = {share: _play(given.folder, share, weights) for share in SHARES}
    if given.json:
        sys.stdout.write(json.dumps({f"1/{round(1 / share)}": row for share, row in rows.items()}, indent=1) + "\n")
    else:
        _show(rows)
    behind = [share for share, row in rows.items() if row[_AGENT]["clicks"] <= row["rlb"]["clicks"]]
    for share in behind:
        sys.stderr.write(f"NOT BETTER than RLB at a budget of 1/{round(1 / share)}\n")
    return 1 if behind else 0


def _report(generation: int, gain: float) -> None:
    sys.stderr.write(f"generation {generation}: {gain:+.2%} expected clicks over the rule on held-out drawn auctions\n")


def _play(folder: Path, share: float, weights: np.ndarray) -> dict[str, dict[str, float]]:
    trial = published_trial(folder, share)
    own = (
        AuctionAgent(_RULE, trial.history, np.zeros(WEIGHTS)),
        AuctionAgent(_AGENT, trial.history, weights),
    )
    figures, clicks = {}, {}
    for bidder in (*trial.bidders, *own):
        last = play_auctions(trial.replay, bidder)
        clicks[bidder.name] = last.total_clicks[:, 0].astype(np.float64)
        value = float(trial.replay.meter.value_micros.sum()) / float(trial.replay.brief.conversion_value_micros[0])
        figures[bidder.name] = {
            "clicks": int(clicks[bidder.name].sum()),
            "predicted_clicks": round(value, 2),
            "impressions": int(last.total_impressions.sum()),
            "cost": int(last.total_cost_micros.sum()) // trial.history.micros_per_unit,
        }
    for name in (_RULE, _AGENT):
        lead = clicks[name] - clicks["rlb"]
        half = _Z * float(lead.std(ddof=1)) * len(lead) ** 0.5
        figures[name] |= {"over_rlb_lower_95": lead.sum() - half, "over_rlb_upper_95": lead.sum() + half}
    return figures


def _show(rows: dict[float, dict[str, dict[str, float]]]) -> None:
    names = list(next(iter(rows.values())))
    sys.stdout.write(f"{'budget':8s}{''.join(f'{name:>22s}' for name in names)}{'agent - rlb, 95%':>22s}\n")
    for share, row in rows.items():
        cells = "".join(f"{_cell(row[name]):>22s}" for name in names)
        own = row[_AGENT]
        lead = f"{own['over_rlb_lower_95']:+.0f} .. {own['over_rlb_upper_95']:+.0f}"
        sys.stdout.write(f"1/{round(1 / share):<6d}{cells}{lead:>22s}\n")
    sys.stdout.write("Clicks, and in brackets the clicks that the predicted rates say.\n")


def _cell(figures: dict[str, float]) -> str:
    return f"{figures['clicks']:.0f} ({figures['predicted_clicks']:.1f})"


if __name__ == "__main__":
    sys.exit(main())
