"""What different bidders earn on the local ad platform, as a table and as JSON.

    .venv/bin/python bench/sandbox_economics.py --seed 7 --campaigns 40 --days 14

Each campaign has a product of its own, 28 days of an incumbent's history and then one of the bidders for 14 days, with
the same searches and rivals for each. A seed is a world: other products, rivals and users. Takes about 20 s of
processor time.
"""

import argparse
import json
import sys

from gaelp.bench.sandbox_economics import BidderEconomics, measure_economics
from gaelp.sandbox.spec import load_sandbox_spec


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spec", default="default", help="a name in configs/sandbox or a path")
    parser.add_argument("--seed", type=int, help="of the world; without one, that of the spec")
    parser.add_argument("--campaigns", type=int, default=40)
    parser.add_argument("--days", type=int, default=14)
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    options = parser.parse_args()
    spec = load_sandbox_spec(options.spec)
    rows = measure_economics(
        spec if options.seed is None else spec.model_copy(update={"seed": options.seed}),
        options.campaigns,
        options.days,
        lambda row: None if options.json else _show(row),
    )
    if options.json:
        sys.stdout.write(json.dumps([row.model_dump() for row in rows], indent=2) + "\n")


def _show(row: BidderEconomics) -> None:
    sys.stdout.write(
        f"{row.bidder:42s} ROI {row.roi:+.2f}  value per dollar {row.value_per_dollar:.2f}"
        f" ({row.value_per_dollar_lift:+.0%})"
        f"  spends {row.spend_share:.2f}  profit a day {row.profit_per_day:+6.2f}  CPC {row.cost_per_click:.2f}"
        f"  CTR {row.click_rate:.3f}  CVR {row.conversion_rate:.3f}  CPA {row.cost_per_conversion:5.1f}"
        f"  conversions a day {row.conversions_per_day:.2f}  impression share {row.impression_share:.2f}\n"
    )


if __name__ == "__main__":
    main()
