"""The only door to money: the protocol of an ad platform, the checks before every call, and reconciliation."""

from gaelp.platforms.guard import ALL_CAPS, Authority, Guard
from gaelp.platforms.guarded import guarded, guarded_all
from gaelp.platforms.hour_book import create_hour_book
from gaelp.platforms.invoice_check import ExplainedInvoice, explain_invoices
from gaelp.platforms.money_rules import MoneyRulesReport, apply_money_rules
from gaelp.platforms.order import Bid, Order, action_of
from gaelp.platforms.order_book import OrderRow, create_order_book, find_order, open_orders
from gaelp.platforms.pausing import pause, pause_all
from gaelp.platforms.platform import (
    AdPlatform,
    CallResult,
    CampaignHour,
    CampaignState,
    CostReport,
    DayCost,
    Done,
    ForeignEdit,
    HourReport,
    InvoiceAmount,
    PlatformInvoice,
    Rejected,
    Unknown,
)
from gaelp.platforms.reconcile import Reconciliation, reconcile

__all__ = [
    "ALL_CAPS",
    "AdPlatform",
    "Authority",
    "Bid",
    "CallResult",
    "CampaignHour",
    "CampaignState",
    "CostReport",
    "DayCost",
    "Done",
    "ExplainedInvoice",
    "ForeignEdit",
    "Guard",
    "HourReport",
    "InvoiceAmount",
    "MoneyRulesReport",
    "Order",
    "OrderRow",
    "PlatformInvoice",
    "Reconciliation",
    "Rejected",
    "Unknown",
    "action_of",
    "apply_money_rules",
    "create_hour_book",
    "create_order_book",
    "explain_invoices",
    "find_order",
    "guarded",
    "guarded_all",
    "open_orders",
    "pause",
    "pause_all",
    "reconcile",
]
