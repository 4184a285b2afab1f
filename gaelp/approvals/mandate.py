"""A mandate: the bounds inside which an agent may order and bid without a new signature for each step.

It is signed as an action of kind `mandate`, whole: whatever differs in any field is another mandate and needs other
signatures. It replaces the signature of an order and nothing else: every cap of the ledger still holds.
"""

import re
from collections.abc import Iterable
from datetime import date
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from gaelp.approvals.field_types import Label, LimitMicros
from gaelp.config.base import Frozen
from gaelp.config.names import Name
from gaelp.money import Micros, Money

__all__ = ["Mandate", "describe_mandate"]

_MOST = 1000
_RAISE_PERCENT_MAX = 1000
_HEX = re.compile(r"[0-9a-f]{64}")

PositiveMicros = Annotated[LimitMicros, Field(gt=0)]


def _as_set(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) != len(names):
        raise ValueError("something is named twice: name each once")
    return tuple(sorted(names))


def _known_currency(currency: str) -> str:
    return Money(0, currency).currency


def _digest(text: str) -> str:
    if not _HEX.fullmatch(text):
        raise ValueError(f"saw {text[:40]!r}; allowed: 64 hex digits (0-9, a-f), a SHA-256. Put the real one there.")
    return text


Digest = Annotated[str, Field(strict=True), AfterValidator(_digest)]


class Mandate(Frozen):
    """What may be ordered, by which model, up to which amounts (micros of `currency`) and until when.

    `campaign_daily_micros` bounds the daily budget of each campaign. `account_daily_micros` and `total_micros` bound
    what all orders under the mandate have reserved or spent together, on one day of the account and over all days, the
    platform's overdelivery included. Up to `start_daily_micros` a daily budget may rise at any time. Above that,
    `raise_percent` bounds the rise over the campaign's highest daily budget on its previous day with a budget.
    """

    model_config = ConfigDict(strict=True)

    name: Name
    account: Label
    currency: Annotated[str, AfterValidator(_known_currency)]
    campaigns: Annotated[tuple[Name, ...], Field(min_length=1, max_length=_MOST), AfterValidator(_as_set)]
    creatives: Annotated[tuple[Digest, ...], Field(max_length=_MOST), AfterValidator(_as_set)] = ()
    model_hash: Digest
    campaign_daily_micros: PositiveMicros
    account_daily_micros: PositiveMicros
    total_micros: PositiveMicros
    bid_micros: LimitMicros = Field(description="the highest bid; 0: no bids under this mandate")
    start_daily_micros: PositiveMicros
    raise_percent: int = Field(ge=0, le=_RAISE_PERCENT_MAX)
    last_day: date

    @model_validator(mode="after")
    def _ceilings_fit(self) -> Self:
        for lower, upper in (
            ("start_daily_micros", "campaign_daily_micros"),
            ("campaign_daily_micros", "account_daily_micros"),
            ("account_daily_micros", "total_micros"),
        ):
            if getattr(self, lower) > getattr(self, upper):
                raise ValueError(
                    f"{lower}={getattr(self, lower)} exceeds {upper}={getattr(self, upper)}: lower it, or raise {upper}"
                )
        return self

    def money(self, micros: Micros) -> Money:
        """An amount in the mandate's currency."""
        return Money(micros, self.currency)

    def raised_daily_micros(self, before_micros: Micros | None) -> Micros:
        """The highest daily budget allowed today for a campaign whose highest on its last day was `before_micros`."""
        raised = 0 if before_micros is None else before_micros * (100 + self.raise_percent) // 100
        return min(max(self.start_daily_micros, raised), self.campaign_daily_micros)


_WORLDS = {
    "live": "World: live. Real money is spent under it.",
    "sandbox": "World: sandbox. No real money can be spent under it: a live ad platform does not accept it.",
}


def describe_mandate(mandate: Mandate, world: Literal["live", "sandbox"]) -> tuple[str, ...]:
    """What is signed, one statement a line, for the person who signs."""
    money = mandate.money
    bids = f"at most {money(mandate.bid_micros)}" if mandate.bid_micros else "none"
    raised = f"at most {mandate.raise_percent}% more than its highest daily budget on its previous day with a budget"
    return (
        f"Mandate {mandate.name}: account {mandate.account}, through {mandate.last_day.isoformat()}.",
        _WORLDS[world],
        f"Campaigns ({len(mandate.campaigns)}): {_listed(mandate.campaigns)}.",
        f"Adverts ({len(mandate.creatives)}): {_listed(digest[:12] for digest in mandate.creatives) or 'none'}.",
        f"Decided by the model {mandate.model_hash[:12]} alone.",
        f"Daily budget of a campaign: at most {money(mandate.campaign_daily_micros)}.",
        f"Raise of a daily budget: up to {money(mandate.start_daily_micros)} at any time; above that, {raised}.",
        f"Reserved or spent on one day, all campaigns together: at most {money(mandate.account_daily_micros)}.",
        f"Reserved or spent in total: at most {money(mandate.total_micros)}, the platform's overdelivery included.",
        f"Bids: {bids}.",
        "It ends at once with a kill, its revocation, the revocation of too many keys that signed it, or its last day.",
        "Every limit of the ledger still holds.",
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
