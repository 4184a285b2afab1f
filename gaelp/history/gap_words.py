"""One sentence for each gap, with its figures."""

from gaelp.history.fidelity_report import Scope

__all__ = ["describe_gap"]

_SUBJECTS = {
    "price level": "Prices are",
    "price of an impression": "An impression costs",
    "share of possible impressions won": "The share of possible impressions that bids win is",
    "possible impressions a day": "The number of possible impressions is",
    "impressions a day": "The number of impressions is",
    "clicks per impression": "Clicks per impression are",
    "conversions per click": "Conversions per click are",
    "value of a conversion": "The value of a conversion is",
    "delay of conversions": "The delay of conversions is",
    "day-to-day variation of clicks": "The day-to-day variation of clicks is",
    "share of the day's impressions": "The share of the day's impressions is",
}


def describe_gap(statistic: str, unit: str, place: str, logged: float, market: float, scope: Scope) -> str:
    """Such as "Clicks per impression are 20% lower in the market than in the log, everywhere (.04 against .05)."."""
    gap = market / logged - 1
    size = f"{abs(gap):.0%}" if abs(gap) >= 0.01 else f"{abs(gap):.1%}"
    direction = "higher" if gap >= 0 else "lower"
    where = {"everywhere": "everywhere", "hours": f"from {place}"}.get(scope, f"in {scope} {place}")
    figures = "" if unit == "index" else f" ({_number(market, unit)} against {_number(logged, unit)})"
    return f"{_SUBJECTS[statistic]} {size} {direction} in the market than in the log, {where}{figures}."


def _number(value: float, unit: str) -> str:
    if unit == "micros":
        return f"{value / 1e6:.4g}"
    if unit == "hours":
        return f"{value:.1f} hours"
    return f"{value:.4f}" if unit == "share" else f"{value:,.1f}"
