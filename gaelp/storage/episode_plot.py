"""Draw one stored episode, or two in the same axes: bids, budget, spend and value hour by hour."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from gaelp.storage.episode_reader import StoredEpisode, hour_sums

__all__ = ["plot_episodes"]


def plot_episodes(episodes: Sequence[StoredEpisode], path: Path) -> None:
    """Write a PNG; amounts are in units of the account's currency."""
    figure = Figure(figsize=(10, 8), layout="constrained")
    FigureCanvasAgg(figure)
    bids, clicks, money = figure.subplots(3, 1, sharex=True)
    for number, episode in enumerate(episodes):
        hours, label = hour_sums(episode.decisions), chr(ord("A") + number)
        steps, colour = [hour.step for hour in hours], f"C{number}"
        bids.plot(steps, [hour.mean_bid_micros / 1e6 for hour in hours], colour, label=f"{label}: {episode.name}")
        clicks.plot(steps, [hour.clicks for hour in hours], colour, drawstyle="steps-mid", label=f"{label}: clicks")
        spend = np.cumsum([hour.spend_micros / 1e6 for hour in hours])
        value = np.cumsum([hour.value_micros / 1e6 for hour in hours])
        money.plot(steps, spend, colour, label=f"{label}: spend")
        money.plot(steps, value, colour, linestyle="--", label=f"{label}: value")
    bids.set_ylabel("mean bid")
    clicks.set_ylabel("clicks an hour")
    money.set_ylabel("since the start")
    money.set_xlabel("hour")
    for axes in (bids, clicks, money):
        axes.legend(fontsize="small")
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110)
