"""An order: one call that lets money move, as it is asked for; and the action that people sign for exactly it."""

from datetime import date
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gaelp.approvals import Action
from gaelp.approvals.words import Label
from gaelp.budget.ledger import AdAccount
from gaelp.config.base import Frozen
from gaelp.config.names import Name
from gaelp.content import Creative, creative_hash

__all__ = ["Order", "OrderKey", "OrderKind", "WholeMicros", "action_of"]

OrderKind = Literal["budget", "enable", "publish"]
# Short enough to stand in the subject of an action beside the campaign.
OrderKey = Annotated[Label, Field(max_length=100)]
# Strict, because True, 5000000.0 and "5000000" are no amounts, whoever made them of one.
WholeMicros = Annotated[int, Field(strict=True, gt=0)]


class Order(Frozen):
    """What is to be done once under `key`; the same key with anything else in it is refused for ever.

    `daily_micros` is the daily budget the campaign has, or gets, and `until` the last day on which it may run.
    `renews` names the order whose approval this one lives on: the same budget, for one more day.
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

    @model_validator(mode="after")
    def _says_all_it_must(self) -> Self:
        if (self.creative is not None) != (self.kind == "publish"):
            raise ValueError(f"an order of kind {self.kind} {'lacks' if self.creative is None else 'has'} a creative:"
                             " to publish needs one, nothing else takes one")  # fmt: skip
        if self.renews and self.kind != "budget":
            raise ValueError(f"an order of kind {self.kind} cannot renew {self.renews!r}: only a budget is renewed")
        return self

    @property
    def body(self) -> str:
        """Everything that makes it this order and no other."""
        return self.model_dump_json()


def action_of(order: Order, account: AdAccount, world: Literal["live", "sandbox"]) -> Action:
    """What people approve: the order's key is in it, so that an approval fits one order and is used up by it."""
    return Action(
        kind="budget",
        run_id=order.run_id,
        requester=order.requester,
        world=world,
        subject=f"{order.kind} {order.campaign} until {order.until.isoformat()} as {order.key}",
        account=account.id,
        currency=account.currency,
        campaigns=(order.campaign,),
        limits_micros={"daily": order.daily_micros},
        config_hash=creative_hash(order.creative) if order.creative is not None else None,
    )
