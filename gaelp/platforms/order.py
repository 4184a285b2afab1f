"""An order: the request for a call that lets money move, and the action that people sign for exactly that order.

An order under a mandate has no signature: it names the mandate and the model that decided it.
"""

from datetime import date
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, ValidationInfo, field_validator, model_validator

from gaelp.approvals import SignedAction
from gaelp.approvals.canonical import digest
from gaelp.approvals.field_types import Label, Sha256
from gaelp.budget.ledger import UNRESERVED, AdAccount
from gaelp.config.base import Frozen
from gaelp.config.names import Name
from gaelp.content import Creative, creative_hash
from gaelp.errors import BadInput

__all__ = [
    "RENEWAL",
    "STORED",
    "Bid",
    "Order",
    "OrderKey",
    "OrderKind",
    "WholeMicros",
    "action_of",
    "checked_order",
]

OrderKind = Literal["bid", "budget", "enable", "publish"]
# Short enough to fit into the subject of an action beside the campaign.
OrderKey = Annotated[Label, Field(max_length=100)]
# Strict, because True, 5000000.0 and "5000000" are not amounts.
WholeMicros = Annotated[int, Field(strict=True, gt=0)]

RENEWAL = "renew/"  # prefix of the keys of renewals
STORED = "stored"  # validation context for orders from the order book, where older keys may have any form
_SYSTEM_KEYS = (UNRESERVED, "pause/")  # prefixes of keys that only the system creates

_BIDS_MAX = 1000
_ADDED_LATER = ("bids", "mandate", "model_hash")  # not in the body if empty: older orders keep theirs


class Bid(Frozen):
    """The highest price for a target of a campaign, such as an ad group, per click or other billing event."""

    target: Label
    micros: WholeMicros


class Order(Frozen):
    """A call to make once under `key`; a different order with the same key is always refused.

    `daily_micros` is the daily budget that the campaign has or gets, and `until` the last day on which it may run.
    `renews` names the order whose approval this one uses: the same budget, for one more day. `mandate` is the action
    hash of the mandate that the order is under, and `model_hash` the model that decided it.
    """

    key: OrderKey
    kind: OrderKind
    campaign: Name
    daily_micros: WholeMicros
    until: date
    run_id: Label
    requester: Name
    creative: Creative | None = None
    renews: str = ""
    bids: tuple[Bid, ...] = Field(default=(), max_length=_BIDS_MAX)
    mandate: Sha256 | None = None
    model_hash: Sha256 | None = None

    @field_validator("bids")
    @classmethod
    def _each_target_once(cls, bids: tuple[Bid, ...]) -> tuple[Bid, ...]:
        if len({bid.target for bid in bids}) != len(bids):
            raise ValueError("a target has two bids: give one bid per target")
        return tuple(sorted(bids, key=lambda bid: bid.target))

    @model_validator(mode="after")
    def _has_a_free_key(self, info: ValidationInfo) -> Self:
        if info.context == STORED:
            return self
        for prefix in _SYSTEM_KEYS if self.renews else (*_SYSTEM_KEYS, RENEWAL):
            if self.key.startswith(prefix):
                raise ValueError(f"the key {self.key!r} begins with {prefix!r}, reserved for the system: use another")
        return self

    @model_validator(mode="after")
    def _says_all_it_must(self) -> Self:
        if (self.creative is not None) != (self.kind == "publish"):
            raise ValueError(f"an order of kind {self.kind} {'lacks' if self.creative is None else 'has'} a creative:"
                             " publish needs one, other kinds must not have one")  # fmt: skip
        if bool(self.bids) != (self.kind == "bid"):
            raise ValueError(f"an order of kind {self.kind} {'has' if self.bids else 'lacks'} bids:"
                             " a bid needs them, other kinds must not have any")  # fmt: skip
        if (self.mandate is None) != (self.model_hash is None):
            raise ValueError("a mandate and the hash of the model that decided go together: give both or neither")
        if self.renews and self.kind != "budget":
            raise ValueError(f"an order of kind {self.kind} cannot renew {self.renews!r}: only a budget is renewed")
        return self

    @property
    def body(self) -> str:
        """The canonical form of the order."""
        return self.model_dump_json(exclude={name for name in _ADDED_LATER if not getattr(self, name)})


def checked_order(order: Order) -> Order:
    """Validate an order again, because `model_copy` does not; raise BadInput if it is wrong."""
    try:
        return Order.model_validate(order.model_dump(warnings=False))
    except ValidationError as problem:
        wrong = "; ".join(
            f"{'.'.join(map(str, error['loc'])) or 'order'}: {error['msg']}"
            for error in problem.errors(include_url=False)
        )
        raise BadInput(f"the order {order.key!r} is refused ({wrong}): give whole micros and allowed values") from None


def action_of(order: Order, account: AdAccount, world: Literal["live", "sandbox"]) -> SignedAction:
    """The action that people approve; it contains the order's key, so that an approval fits exactly one order."""
    return SignedAction(
        kind="budget",
        run_id=order.run_id,
        requester=order.requester,
        world=world,
        subject=f"{order.kind} {order.campaign} until {order.until.isoformat()} as {order.key}",
        account=account.id,
        currency=account.currency,
        campaigns=(order.campaign,),
        limits_micros={"daily": order.daily_micros, **_highest_bid(order)},
        config_hash=_content_hash(order),
    )


def _highest_bid(order: Order) -> dict[str, int]:
    return {"bid": max(bid.micros for bid in order.bids)} if order.bids else {}


def _content_hash(order: Order) -> str | None:
    """What an approval covers beside the amounts: the advert, or each bid."""
    if order.creative is not None:
        return creative_hash(order.creative)
    return digest("bids", [bid.model_dump() for bid in order.bids]) if order.bids else None
