"""Make docs/sample/bids.parquet: two weeks of auctions that a random bidder met in GAELP's own synthetic market.

`python docs/sample/make_log.py FILE` writes the same rows each time. No advertiser's data are in it.
"""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd

from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.market.landscape import GRID
from gaelp.market.market import seeds_from
from gaelp.market.spec import MarketSpec

SEED = 12
DAYS, SEGMENTS, PER_HOUR = 14, 12, 7
MONDAY = datetime(2026, 3, 2, tzinfo=UTC)


def sample_log() -> pd.DataFrame:
    """One row an auction, with the columns of docs/calibration.md."""
    changes = {"name": "sample", "days": DAYS, "segments": SEGMENTS, "volume": {"per_hour": PER_HOUR}}
    signals = load_market_spec("signals").model_dump(exclude={"volume"})
    market = build_market(MarketSpec.model_validate(signals | changes), load_persona_table("personas"))
    market.reset(seeds_from(SEED, 1))
    world, rng = market.world, np.random.default_rng(SEED)
    hour, segment = (
        np.repeat(index.ravel(), world.volume[:, 0].ravel()) for index in np.indices((DAYS * 24, SEGMENTS))
    )
    at = hour + rng.random(len(hour))  # at some time of the hour
    price = world.level_micros[hour, 0, segment] * _relative_prices(
        market.landscapes.win, world.landscape[0, segment], rng
    )
    price = np.maximum(price.round(), 1).astype(np.int64)
    bid = np.exp(world.price_forecast_log[0, segment] + rng.normal(0.2, 0.6, len(hour))).astype(np.int64)
    won = price <= bid
    rate = 4 * world.click_rate[0, segment]  # a small log with enough clicks to fit
    click = won & (rng.random(len(hour)) < rate)
    worth = world.conversion_value_micros[0]
    conversion = click & (
        rng.random(len(hour)) < np.minimum(0.9, world.value_micros[hour, 0, segment] / (rate / 4 * worth))
    )
    reported = at + rng.exponential(world.delay_hours[0, segment])
    start = MONDAY + timedelta(hours=int(world.start_hour_of_week[0]))
    frame = pd.DataFrame(
        {
            "time": _times(start, at),
            "bid_micros": bid,
            "price_micros": pd.array(np.where(won, price, 0), dtype="Int64"),
            "won": won.astype(np.int8),
            "segment": np.char.add("placement-", (segment + 1).astype(str)),
            "click": click.astype(np.int8),
            "conversion": conversion.astype(np.int8),
            "conversion_time": np.where(conversion, _times(start, reported), None),
        }
    )
    frame.loc[~won, "price_micros"] = pd.NA  # a lost auction does not reveal its price
    return frame.sort_values("time", ignore_index=True)


def _relative_prices(win: np.ndarray, landscape: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Prices over their level, drawn by turning round the share of auctions that a bid wins."""
    share = rng.random(len(landscape))
    return np.exp([np.interp(drawn, win[row], GRID) for row, drawn in zip(landscape, share, strict=True)])


def _times(start: datetime, hours: np.ndarray) -> list[str]:
    return [(start + timedelta(hours=float(hour))).strftime("%Y-%m-%dT%H:%M:00") for hour in hours]


if __name__ == "__main__":
    sample_log().to_parquet(Path(sys.argv[1]), compression="zstd", index=False)
