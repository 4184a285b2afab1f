"""Is a lift by the market alone right? On histories without propensities, against running their last days again; JSON.

    .venv/bin/python bench/model_based_lift.py --seeds 1 2 --bid-log-sd 0.2

Each seed is another world of the local ad platform. Its history loses its propensities, the market is calibrated on the
first half, and the rule mpc and logged bids times 0.75 and 1.3 are judged by it on the sealed days. The truth is the
expected value of the same days, run again with those bids. Exits 1 if a lift has the wrong sign, or is more than the
margin of the gate above the truth. Use seeds nobody has looked at. A history takes half a minute of processor time.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gaelp.bench.model_based_trial import MadeHistory, model_based_trial
from gaelp.gates import load_gate
from gaelp.phases.history_declaration import WITHOUT_PROPENSITIES


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[101])
    parser.add_argument("--campaigns", type=int, default=MadeHistory().campaigns)
    parser.add_argument("--weeks", type=int, default=MadeHistory().weeks)
    parser.add_argument("--bid-log-sd", type=float, default=MadeHistory().bid_log_sd)
    given = parser.parse_args(arguments)
    size = MadeHistory(given.weeks, given.campaigns, given.bid_log_sd)
    rules = load_gate(WITHOUT_PROPENSITIES).criteria
    margin = next(rule.threshold for rule in rules if rule.metric == "model_based_lift")
    wrong: list[str] = []
    for seed in given.seeds:
        with tempfile.TemporaryDirectory() as folder:
            result: dict[str, Any] = dict(model_based_trial(seed, size, Path(folder)))
        sys.stdout.write(json.dumps(result) + "\n")
        sys.stdout.flush()
        wrong += [
            f"seed {seed}, {name}: {each['model']:+.1%} for a true {each['true']:+.1%}"
            for name, each in result["lifts"].items()
            if "model" in each and (each["model"] * each["true"] < 0 or each["error"] > margin)
        ]
    for line in wrong:
        sys.stderr.write(f"WRONG: {line}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
