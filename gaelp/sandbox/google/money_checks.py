"""Checks of amounts: budgets, bids and targets, with the errors Google has for each."""

from collections.abc import Iterator

from gaelp.sandbox.google.account_store import AccountStore
from gaelp.sandbox.google.failures import AdsError
from gaelp.sandbox.google.messages import Message, enum_name

__all__ = ["BILLABLE_UNIT_MICROS", "check_ad_group_bids", "check_budget", "check_criterion_bids", "check_targets"]

BILLABLE_UNIT_MICROS = 10_000  # a cent: amounts are multiples of it
_HIGHEST_MICROS = 10**15
_LOWEST_ROAS, _HIGHEST_ROAS = 0.01, 1000.0


def _error(category: str, code: str, message: str, field: str, trigger: object = "") -> AdsError:
    return AdsError(category, code, message, tuple((part, None) for part in field.split(".")), str(trigger))


def check_budget(message: Message, before: Message | None, _store: AccountStore) -> Iterator[AdsError]:
    """Name, period and amount of a campaign budget."""
    if (message.explicitly_shared or not message.HasField("explicitly_shared")) and not message.name:
        yield _error("field_error", "REQUIRED", "A shared campaign budget needs a name.", "name")
    is_total = enum_name(message, "period") == "CUSTOM_PERIOD"
    used, other = ("total_amount_micros", "amount_micros") if is_total else ("amount_micros", "total_amount_micros")
    if message.HasField(other):
        code = (
            "BUDGET_AMOUNT_MUST_BE_UNSET_FOR_CUSTOM_BUDGET_PERIOD"
            if is_total
            else "TOTAL_BUDGET_AMOUNT_MUST_BE_UNSET_FOR_BUDGET_PERIOD_DAILY"
        )
        yield _error("campaign_budget_error", code, f"{other} must not be set for this period; set {used}.", other)
    if not message.HasField(used):
        yield _error("field_error", "REQUIRED", f"The required field {used} was not present.", used)
        return
    yield from _check_budget_amount(getattr(message, used), used)
    if (
        before is not None
        and before.explicitly_shared
        and message.HasField("explicitly_shared")
        and not message.explicitly_shared
    ):
        code = "CANNOT_UPDATE_CAMPAIGN_BUDGET_TO_IMPLICITLY_SHARED"
        yield _error(
            "campaign_budget_error",
            code,
            "A shared budget cannot become a budget of one campaign.",
            "explicitly_shared",
        )


def _check_budget_amount(micros: int, field: str) -> Iterator[AdsError]:
    checks = (
        (micros < 0, "NEGATIVE_MONEY_AMOUNT", f"The amount {micros} is negative."),
        (
            0 <= micros < BILLABLE_UNIT_MICROS,
            "MONEY_AMOUNT_LESS_THAN_CURRENCY_MINIMUM_CPC",
            f"The amount {micros} is below the lowest cost of a click ({BILLABLE_UNIT_MICROS} micros).",
        ),
        (
            micros >= BILLABLE_UNIT_MICROS and micros % BILLABLE_UNIT_MICROS != 0,
            "NON_MULTIPLE_OF_MINIMUM_CURRENCY_UNIT",
            f"The amount {micros} is not a multiple of {BILLABLE_UNIT_MICROS} micros.",
        ),
        (micros > _HIGHEST_MICROS, "MONEY_AMOUNT_TOO_LARGE", f"The amount {micros} exceeds {_HIGHEST_MICROS} micros."),
    )
    yield from (_error("campaign_budget_error", code, text, field, micros) for wrong, code, text in checks if wrong)


def _check_bid(message: Message, field: str) -> Iterator[AdsError]:
    if not message.HasField(field):
        return
    micros = getattr(message, field)
    if micros < BILLABLE_UNIT_MICROS:
        text = f"The bid {micros} is below {BILLABLE_UNIT_MICROS} micros."
        yield _error("bidding_error", "BID_TOO_SMALL", text, field, micros)
    elif micros % BILLABLE_UNIT_MICROS != 0:
        text = f"The bid {micros} is not a multiple of {BILLABLE_UNIT_MICROS} micros."
        yield _error("bidding_error", "BID_TOO_MANY_FRACTIONAL_DIGITS", text, field, micros)
    elif micros > _HIGHEST_MICROS:
        yield _error(
            "bidding_error", "BID_TOO_BIG", f"The bid {micros} exceeds {_HIGHEST_MICROS} micros.", field, micros
        )


def check_ad_group_bids(message: Message, _before: Message | None, _store: AccountStore) -> Iterator[AdsError]:
    """The bids of an ad group."""
    yield from _check_bid(message, "cpc_bid_micros")
    yield from _check_bid(message, "target_cpa_micros")


def check_criterion_bids(message: Message, _before: Message | None, _store: AccountStore) -> Iterator[AdsError]:
    """The bid of a keyword."""
    yield from _check_bid(message, "cpc_bid_micros")


def check_targets(message: Message, _before: Message | None, _store: AccountStore) -> Iterator[AdsError]:
    """Targets of automated bidding, of a campaign or a portfolio strategy."""
    for name in ("target_cpa", "maximize_conversions"):
        if message.HasField(name):
            micros = getattr(message, name).target_cpa_micros
            if micros < 0 or (name == "target_cpa" and micros < BILLABLE_UNIT_MICROS):
                text = f"The target {micros} is below {BILLABLE_UNIT_MICROS} micros."
                yield _error("range_error", "TOO_LOW", text, f"{name}.target_cpa_micros", micros)
    for name in ("target_roas", "maximize_conversion_value"):
        if message.HasField(name):
            ratio = getattr(message, name).target_roas
            if ratio < 0 or (name == "target_roas" and ratio < _LOWEST_ROAS):
                yield _error(
                    "range_error",
                    "TOO_LOW",
                    f"The target {ratio:g} is below {_LOWEST_ROAS:g}.",
                    f"{name}.target_roas",
                    ratio,
                )
            elif ratio > _HIGHEST_ROAS:
                yield _error(
                    "range_error",
                    "TOO_HIGH",
                    f"The target {ratio:g} is above {_HIGHEST_ROAS:g}.",
                    f"{name}.target_roas",
                    ratio,
                )
