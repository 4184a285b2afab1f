"""What a pilot brought, by day of the account and campaign, as known at one moment."""

from dataclasses import dataclass
from datetime import date, datetime

from gaelp.arrays import Floats, Ints
from gaelp.errors import DataError

__all__ = ["PilotFigures"]


@dataclass(frozen=True, slots=True)
class PilotFigures:
    """D days x N campaigns. A conversion counts on the day of its click, with the value known at `as_of`."""

    as_of: datetime
    days: tuple[date, ...]
    campaigns: tuple[str, ...]
    spend_micros: Ints  # (D, N)
    impressions: Ints  # (D, N)
    clicks: Ints  # (D, N)
    conversions: Floats  # (D, N) as the platform counts them
    value_micros: Ints  # (D, N) likewise
    sales: Floats | None = None  # (D, N) by the advertiser's own feed, refunds taken off; none: there is no feed
    sale_value_micros: Ints | None = None  # (D, N) likewise

    def __post_init__(self) -> None:
        shape = (len(self.days), len(self.campaigns))
        for name in (
            "spend_micros",
            "impressions",
            "clicks",
            "conversions",
            "value_micros",
            "sales",
            "sale_value_micros",
        ):
            array = getattr(self, name)
            if array is not None and array.shape != shape:
                raise DataError(f"{name} of the pilot has shape {array.shape}; allowed: {shape}, days x campaigns")
        if (self.sales is None) != (self.sale_value_micros is None):
            raise DataError("sales of the pilot without their value, or the reverse: give both")
