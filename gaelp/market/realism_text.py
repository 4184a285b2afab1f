"""A market's statistics beside public ranges, as cells of a table, lines of sources and plain data."""

from collections.abc import Iterator
from typing import Any

from gaelp.market.realism import CHANNELS, PublicRange, RealismRow

__all__ = ["realism_cells", "realism_json", "source_lines"]


def realism_cells(row: RealismRow) -> tuple[str, ...]:
    """Statistic, the market's figure, the range of each channel, and the channels it fits."""
    ranges = {channel: getattr(row.figure, channel) for channel in CHANNELS}
    fitting = [channel for channel in CHANNELS if row.fits(channel)]
    known = any(ranges.values())
    return (
        row.figure.label,
        _number(row.value),
        *(_range(public) for public in ranges.values()),
        " and ".join(fitting) or ("none" if known else ""),
    )


def source_lines(row: RealismRow) -> Iterator[str]:
    """Where each range comes from."""
    for channel in CHANNELS:
        public: PublicRange | None = getattr(row.figure, channel)
        if public is not None:
            yield f"{row.statistic}, {channel}: {public.source}"


def realism_json(row: RealismRow) -> dict[str, Any]:
    """The row as plain data."""
    ranges = {
        channel: {**public.model_dump(), "fits": row.fits(channel)}
        for channel in CHANNELS
        if (public := getattr(row.figure, channel))
    }
    return {"statistic": row.statistic, "label": row.figure.label, "value": row.value, "public": ranges}


def _range(public: PublicRange | None) -> str:
    return "" if public is None else f"{_number(public.low)} to {_number(public.high)}"


def _number(value: float) -> str:
    """Two digits that say something, without an exponent."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2g}" if abs(value) < 1 else f"{value:.3g}"
