"""One reported hour in compiled loops: open clicks, exposure and price levels move exactly as in the market."""

from typing import NamedTuple

import numpy as np

from gaelp.arrays import Floats, Floats32, Ints, Ints32
from gaelp.market.compiled import compiled
from gaelp.market.exponential import log
from gaelp.market.fading import fade, mature
from gaelp.market.landscape import interpolate
from gaelp.market.price_tracking import SHORTEST_PRESENCE, hour_change_log, track_segment

__all__ = ["Moving", "PassingHour", "bid_logs", "expected_wins", "pass_hour"]

# Relative. With a forecast volume, levels read off win rates were off by 0.33 to 0.71 (rms of the log, markets cal and
# search), those of the price forecast by 0.19 to 0.33; with the volume known, by 0.28 in both.
_LARGEST_VOLUME_ERROR = 0.1


class PassingHour(NamedTuple):
    """What was reported of one hour, and how the campaigns bid in it."""

    hour_of_day: Ints  # (N,)
    opportunities: Ints32  # (N, S)
    opportunities_error: Floats  # (N, S) relative
    impressions: Ints32  # (N, S)
    clicks: Ints32  # (N, S)
    bid_log: Floats32  # (N, S)
    pace: Floats32  # (N,)
    in_market: Floats32  # (N,)


class Moving(NamedTuple):
    """What an hour changes, in place; K is 0 where the delay has one part."""

    maturing_parts: Floats32  # (K, N, S)
    maturing: Floats32  # (N, S)
    exposure: Floats32  # (N, S)
    price_level_log: Floats32  # (N, S)
    price_signal_log: Floats32  # (N, S)


@compiled
def pass_hour(
    hour: PassingHour,
    moving: Moving,
    fading: tuple[Floats32, Floats, Floats32, Floats32, Floats32],
    price_at_rate: Floats32,
    profile_log: Floats32,
) -> None:
    """Take in one hour, in place; `fading` is open share, delay shares, clicks kept, exposure kept and the audience.

    Where the volume is too uncertain, win rates say nothing about prices: levels then follow the day's profile.
    """
    open_share, delay_share, kept, exposure_kept, audience = fading
    level_log, signal_log, bid_log = moving.price_level_log, moving.price_signal_log, hour.bid_log
    campaigns, segments = hour.impressions.shape
    mature(0, campaigns, hour.clicks, open_share, delay_share, kept, moving.maturing_parts, moving.maturing)
    fade(exposure_kept.reshape(-1), hour.impressions.reshape(-1), audience.reshape(-1), moving.exposure.reshape(-1))
    for n in range(campaigns):
        presence = hour.pace[n] * hour.in_market[n]
        for s in range(segments if presence >= SHORTEST_PRESENCE else 0):
            entered = hour.opportunities[n, s] * presence if bid_log[n, s] > 0.0 else 0.0
            if hour.opportunities_error[n, s] <= _LARGEST_VOLUME_ERROR:
                won = hour.impressions[n, s]
                track_segment(n, s, entered, won, price_at_rate, bid_log, level_log, signal_log)
        to_next_hour = hour_change_log(profile_log, hour.hour_of_day[n])
        for s in range(segments):
            level_log[n, s] += to_next_hour


@compiled
def bid_logs(bid_micros: Floats) -> Floats32:
    """Log micros of bids as the market remembers them, (N, S)."""
    campaigns, segments = bid_micros.shape
    out = np.empty((campaigns, segments), np.float32)
    for n in range(campaigns):
        for s in range(segments):
            out[n, s] = log(max(bid_micros[n, s], 1.0))
    return out


@compiled
def expected_wins(opportunities: Ints32, bid_log: Floats32, level_log: Floats32, win: Floats32) -> Floats:
    """Impressions that an hour's bids would win at these price levels if the money lasts, (N,)."""
    campaigns, segments = opportunities.shape
    out = np.zeros(campaigns)
    for n in range(campaigns):
        for s in range(segments):
            if bid_log[n, s] > 0.0:
                out[n] += opportunities[n, s] * interpolate(win, 0, float(bid_log[n, s] - level_log[n, s]))
    return out
