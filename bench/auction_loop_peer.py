"""Campaign-hours per CPU-second of a plain auction-by-auction loop, as research simulators run it; printed as JSON.

One campaign, 8 segments, about 120 auctions a segment and hour: each auction draws a rival price, compares, pays, and
draws a click and a conversion, with one NumPy call per draw.
"""

import json
import sys
import time

import numpy as np

SEGMENTS, AUCTIONS = 8, 120


def campaign_hour(rng: np.random.Generator, bid: float) -> tuple[float, int]:
    """Run one hour of one campaign; returns its spend and conversions."""
    spend, conversions = 0.0, 0
    for _ in range(SEGMENTS):
        for _ in range(rng.poisson(AUCTIONS)):
            price = rng.lognormal(0.0, 0.6)
            if bid > price:
                spend += price
                conversions += rng.random() < 0.01 and rng.random() < 0.06
    return spend, conversions


def main(seconds: float) -> None:
    """Run hours until the time is over."""
    rng = np.random.default_rng(0)
    steps = 0
    begin = time.process_time()
    while time.process_time() - begin < seconds:
        campaign_hour(rng, 1.0)
        steps += 1
    elapsed = time.process_time() - begin
    sys.stdout.write(json.dumps({"peer": "auction loop", "steps": steps, "steps_per_s": steps / elapsed}) + "\n")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 5.0)
