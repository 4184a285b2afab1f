"""Which agents keep their gain on other products, as JSON on stdout: a trained one, a rule, and planted ones.

    .venv/bin/python bench/transfer.py --market shop --objective profit --seeds 5 --seed 41_733

Exits 1 if the trained agent or the rule was refused, or an agent that learned the source's bids by heart passed, in
more than one seed in twenty. Takes 8 s of processor time a bidder and seed, without training further.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence

import torch

from gaelp.bench.transfer_trial import transfer_trial
from gaelp.config.objective import Objective
from gaelp.config.scale_settings import TransferSettings

BY_HEART = "bids of the source"
WRONG_MOST = 0.05


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the arguments, play, print; 1 if the rule was wrong too often."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--market", default="shop")
    parser.add_argument("--objective", default="profit", choices=["value", "profit"])
    parser.add_argument("--rounds", type=int, default=15, help="that the agent trains at the source")
    parser.add_argument("--products", type=int, default=16)
    parser.add_argument("--campaigns", type=int, default=128)
    parser.add_argument("--fine-tune-rounds", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--seed", type=int, default=60_119_441, help="of the first; give one that was never used before"
    )
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    began = time.process_time()
    settings = TransferSettings(
        products=given.products, campaigns=given.campaigns, fine_tune_rounds=given.fine_tune_rounds
    )
    seeds = [given.seed + 1009 * number for number in range(given.seeds)]
    trials = list(transfer_trial(given.market, Objective(kind=given.objective), seeds, settings, rounds=given.rounds))
    wrong = {trial.bidder: trial.passed for trial in trials if trial.bidder == BY_HEART}
    wrong |= {trial.bidder: given.seeds - trial.passed for trial in trials[:2]}
    not_kept = [name for name, count in wrong.items() if count > WRONG_MOST * given.seeds]
    bidders = [trial.model_dump(mode="json") for trial in trials]
    answer = {**vars(given), "bidders": bidders, "not_kept": not_kept, "cpu_seconds": time.process_time() - began}
    sys.stdout.write(json.dumps(answer, indent=1) + "\n")
    return 1 if not_kept else 0


if __name__ == "__main__":
    sys.exit(main())
