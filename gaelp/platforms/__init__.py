"""The one door to money: the protocol of an ad platform, the checks before every call, and reconciliation."""

from gaelp.platforms.guard import ALL_CAPS, Authority, Guard
from gaelp.platforms.guarded import guarded
from gaelp.platforms.order import Order, action_of
from gaelp.platforms.order_book import OrderRow, create_order_book, find_order, open_orders
from gaelp.platforms.pausing import pause, pause_all
from gaelp.platforms.platform import (
    AdPlatform,
    CampaignState,
    CostReport,
    DayCost,
    Done,
    Outcome,
    Rejected,
    Unknown,
)
from gaelp.platforms.reconcile import Reconciliation, reconcile

__all__ = [
    "ALL_CAPS",
    "AdPlatform",
    "Authority",
    "CampaignState",
    "CostReport",
    "DayCost",
    "Done",
    "Guard",
    "Order",
    "OrderRow",
    "Outcome",
    "Reconciliation",
    "Rejected",
    "Unknown",
    "action_of",
    "create_order_book",
    "find_order",
    "guarded",
    "open_orders",
    "pause",
    "pause_all",
    "reconcile",
]
