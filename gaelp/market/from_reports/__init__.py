"""From platform reports to the market's observations, and from its actions to bids for clicks."""

from gaelp.market.from_reports.bids import BidRules, ClickBids, click_bids, impression_bid_log
from gaelp.market.from_reports.brief import PersonaRules, brief_from_estimates, typical_price_log
from gaelp.market.from_reports.click_rates import predicted_click_rate
from gaelp.market.from_reports.driving import Driving, DrivingSpec
from gaelp.market.from_reports.flights import belief_from, flight_brief, flight_hours
from gaelp.market.from_reports.observer import Observer
from gaelp.market.from_reports.report_model import ObserverSpec, ReportModel, report_model
from gaelp.market.from_reports.reported_hours import LateChanges, ReportedHours

__all__ = [
    "BidRules",
    "ClickBids",
    "Driving",
    "DrivingSpec",
    "LateChanges",
    "Observer",
    "ObserverSpec",
    "PersonaRules",
    "ReportModel",
    "ReportedHours",
    "belief_from",
    "brief_from_estimates",
    "click_bids",
    "flight_brief",
    "flight_hours",
    "impression_bid_log",
    "predicted_click_rate",
    "report_model",
    "typical_price_log",
]
