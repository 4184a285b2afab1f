"""Checks of campaigns: channel, bidding, budget and dates."""

from collections.abc import Iterator
from datetime import datetime

from gaelp.sandbox.google.account_store import AccountStore
from gaelp.sandbox.google.failures import AdsError, Unsupported
from gaelp.sandbox.google.messages import Message, enum_name

__all__ = ["CAMPAIGN_BIDDING", "LAST_MOMENT", "bidding_of", "check_campaign", "check_portfolio", "local_time"]

CAMPAIGN_BIDDING = (
    "manual_cpc",
    "target_cpa",
    "target_roas",
    "maximize_conversions",
    "maximize_conversion_value",
    "bidding_strategy",
)
LAST_MOMENT = "2037-12-30 23:59:59"  # of a campaign without an end
_FORMAT = "%Y-%m-%d %H:%M:%S"


def _error(category: str, code: str, message: str, field: str, trigger: str = "") -> AdsError:
    return AdsError(category, code, message, ((field, None),), trigger)


def bidding_of(campaign: Message) -> str:
    """Which bidding a campaign has, such as manual_cpc; empty if none."""
    return campaign.WhichOneof("campaign_bidding_strategy") or ""


def local_time(text: str) -> datetime | None:
    """A date and time by the account's clock, without a zone; None if it is not one."""
    try:
        return datetime.strptime(text, _FORMAT)  # noqa: DTZ007 - the API has no zone here
    except ValueError:
        return None


def check_campaign(message: Message, before: Message | None, store: AccountStore) -> Iterator[AdsError]:
    """Everything about a campaign that is not said by the table of resources."""
    channel = enum_name(message, "advertising_channel_type")
    if channel != "SEARCH":
        raise Unsupported(f"campaigns of advertising_channel_type {channel}: this sandbox serves SEARCH")
    bidding = bidding_of(message)
    if not bidding:
        yield _error("field_error", "REQUIRED", "The required field was not present.", "campaign_bidding_strategy")
    elif bidding not in CAMPAIGN_BIDDING:
        raise Unsupported(f"the bidding strategy {bidding}: this sandbox has {', '.join(CAMPAIGN_BIDDING)}")
    yield from _check_dates(message, before, store)
    yield from _check_budget_use(message, before, store)


def _check_dates(message: Message, before: Message | None, store: AccountStore) -> Iterator[AdsError]:
    times: dict[str, datetime] = {}
    for field in ("start_date_time", "end_date_time"):
        text = getattr(message, field)
        if not text:
            continue
        moment = local_time(text)
        if moment is None:
            problem = f"'{text}' is not a time of the form yyyy-MM-dd HH:mm:ss."
            yield _error("date_error", "INVALID_STRING_DATE_TIME_SECONDS", problem, field, text)
        else:
            times[field] = moment
    if len(times) == 2 and times["start_date_time"] > times["end_date_time"]:
        text = f"{message.start_date_time} is after {message.end_date_time}."
        yield _error("date_range_error", "START_DATE_AFTER_END_DATE", text, "start_date_time", message.start_date_time)
    today = store.now.date()
    for field, moment in times.items():
        is_new = before is None or getattr(before, field) != getattr(message, field)
        if is_new and moment.date() < today:
            text = f"{moment} is in the past; today is {today} in this account."
            yield _error("date_range_error", "CANNOT_SET_DATE_TO_PAST", text, field, getattr(message, field))


def _check_budget_use(message: Message, before: Message | None, store: AccountStore) -> Iterator[AdsError]:
    if before is not None and before.campaign_budget == message.campaign_budget:
        return
    budget = store.refer(message.campaign_budget)
    if budget is None:
        return
    others = [
        other for other in store.children("campaign", "campaign_budget", budget.resource_name) if other.id != message.id
    ]
    if budget.HasField("explicitly_shared") and not budget.explicitly_shared and others:
        code = "CANNOT_USE_IMPLICITLY_SHARED_CAMPAIGN_BUDGET_WITH_MULTIPLE_CAMPAIGNS"
        text = f"The budget is not shared, and {others[0].resource_name} uses it."
        yield _error("campaign_budget_error", code, text, "campaign_budget", budget.resource_name)
    if enum_name(budget, "period") == "CUSTOM_PERIOD" and message.end_date_time in {"", LAST_MOMENT}:
        text = "A campaign with a total budget needs an end."
        yield _error("campaign_error", "END_DATE_TIME_REQUIRED_FOR_TOTAL_BUDGET", text, "end_date_time")


def check_portfolio(message: Message, _before: Message | None, _store: AccountStore) -> Iterator[AdsError]:
    """A portfolio bidding strategy is one of those a campaign may have itself."""
    scheme = message.WhichOneof("scheme")
    if scheme is None:
        yield _error("field_error", "REQUIRED", "The required field was not present.", "scheme")
    elif scheme not in CAMPAIGN_BIDDING:
        raise Unsupported(f"the portfolio strategy {scheme}: this sandbox has {', '.join(CAMPAIGN_BIDDING[1:-1])}")
