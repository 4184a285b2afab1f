"""`gaelp ledger`: what is reserved, spent and left under every cap, and whether the books balance."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_table, show_text
from gaelp.cli.startup import prepare
from gaelp.config.places import absolute
from gaelp.errors import GaelpError

if TYPE_CHECKING:
    from gaelp.budget.ledger import Ledger, Overview

__all__ = ["app", "ledger_below", "show", "verify"]

app = typer.Typer(no_args_is_help=True, help="The books: what is reserved, spent and left, and whether they balance.")


@app.command()
def show(config: ConfigOption = None, overrides: SetOption = None, as_json: JsonOption = False) -> None:
    """Show every cap with what is reserved, spent and left, and how many transfers are in which state.

    **Example**: `gaelp ledger show --json`
    """
    from gaelp.budget.ledger import overview  # noqa: PLC0415 - sqlalchemy takes time that `--help` need not spend

    ledger = ledger_below(absolute(prepare(config, overrides).settings.home))
    found = overview(ledger)
    ledger.close()
    if as_json:
        show_json(found.model_dump(mode="json"))
    else:
        _show(found)


@app.command()
def verify(config: ConfigOption = None, overrides: SetOption = None, as_json: JsonOption = False) -> None:
    """Recompute every balance from transfers, adjustments and journal; exit 1 if anything disagrees.

    **Example**: `gaelp ledger verify --json`
    """
    from gaelp.budget import ledger as books  # noqa: PLC0415 - as above

    ledger = ledger_below(absolute(prepare(config, overrides).settings.home))
    found = books.verify(ledger)
    ledger.close()
    if as_json:
        show_json({"balances": found.balances, **found.model_dump(mode="json")})
    else:
        rows = [(one.where, one.what, f"{one.expected}", f"{one.found}") for one in found.findings]
        if rows:
            show_table(("where", "what", "recomputed", "stands there"), rows)
        show_text(
            f"{found.transfers} transfers, {found.entries} journal entries, {found.adjustments} adjustments and"
            f" {found.caps} caps: the books {'balance' if found.balances else 'do NOT balance'}."
        )
        for cap in found.breached_caps:
            say(f"{cap} was breached by real cost and is closed until a person reopens it.")
    if not found.balances:
        raise GaelpError(
            f"{len(found.findings)} balances disagree with what they are made of: pull the kill switch (`gaelp kill`),"
            " keep a copy of the database, and find out who wrote to it"
        )


def ledger_below(home: Path) -> "Ledger":
    """The ledger of this home folder, which has to be there."""
    from gaelp.budget.latch import LATCH_NAME, Latch  # noqa: PLC0415 - as above
    from gaelp.budget.ledger import LEDGER_NAME, open_ledger  # noqa: PLC0415 - as above

    return open_ledger(home / LEDGER_NAME, Latch(home / LATCH_NAME))


def _show(found: "Overview") -> None:
    from gaelp.money import Money  # noqa: PLC0415 - as above

    rows = [
        (
            cap.id,
            *(
                str(Money(micros, cap.currency))
                for micros in (cap.limit_micros, cap.reserved_micros, cap.posted_micros, cap.headroom_micros)
            ),
            "breached" if cap.breached else "open",
        )
        for cap in found.caps
    ]
    show_table(("cap", "limit", "reserved", "spent", "left", "state"), rows)
    states = [
        (
            one.state,
            str(one.transfers),
            str(Money(one.amount_micros, one.currency)),
            str(Money(one.cost_micros, one.currency)),
        )
        for one in found.states
    ]
    show_table(("transfers", "number", "asked for", "cost"), states)
    if found.stopped:
        show_text("The kill switch is set: nothing is granted.")
