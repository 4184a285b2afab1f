"""The sales of the shop behind the adverts, as the shop's own system has them: at once, with refunds, by click."""

from collections.abc import Mapping
from datetime import date

from gaelp.errors import BadInput
from gaelp.sandbox.control_messages import SandboxSale
from gaelp.sandbox.front import RunningFront
from gaelp.sandbox.world import SandboxWorld

__all__ = ["shop_sales"]

_SHOWN = 5


def shop_sales(
    world: SandboxWorld, fronts: Mapping[str, RunningFront], account: str | None, first: date, last: date
) -> tuple[SandboxSale, ...]:
    """Sales whose click was on these days of the account, both included; without an account, of the first customer."""
    known = (*world.spec.customer_ids, *world.spec.meta_account_ids)
    chosen = account or known[0]
    if chosen not in known:
        raise BadInput(f"account {chosen!r} is not in this sandbox; allowed: {', '.join(known[:_SHOWN])}")
    if last < first:
        raise BadInput(f"sales from {first} to {last}: name the earlier day first")
    named = (front.names(chosen) for front in fronts.values() if front.names is not None)
    names = {group: pair for each in named for group, pair in each.items()}
    with world.call() as call:
        rows = call.conversions(chosen, first, last)
    return tuple(
        SandboxSale(
            sale=row.id,
            click=row.click,
            campaign=names.get(row.group, (str(row.campaign), ""))[0],
            segment=names.get(row.group, ("", str(row.group)))[1],
            click_at=row.click_at,
            at=row.at,
            value_micros=row.value_micros,
            refunded_at=row.refunded_at,
        )
        for row in rows
    )
