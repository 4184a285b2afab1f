"""`gaelp ledger`: begin the books of an ad account, read and prove them, bring them in line with the platform."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from gaelp.authority.audit_records import audit_rows, check_can_create_books
from gaelp.bootstrap import open_books
from gaelp.budget import ledger as books
from gaelp.budget.ledger import AdAccount, CapKind, Overview, overview
from gaelp.cli import ledger_limits
from gaelp.cli.options import ConfigOption, JsonOption, SetOption, same_settings
from gaelp.cli.output import say, show_json, show_table, show_text
from gaelp.cli.startup import prepare, prepare_reading
from gaelp.errors import GaelpError
from gaelp.guard_bootstrap import create_books, opened_guard
from gaelp.home_backup import back_up
from gaelp.money import Money
from gaelp.platforms import Reconciliation
from gaelp.platforms import reconcile as reconcile_once
from gaelp.platforms.guard import ALL_CAPS
from gaelp.platforms.verify_orders import order_findings

__all__ = ["app", "backup", "create", "reconcile", "show", "verify"]

app = typer.Typer(no_args_is_help=True, help="The books: what is reserved, spent and left, and whether they balance.")
app.command("limit", cls=ledger_limits.LimitCommand)(ledger_limits.limit)
app.command("reopen")(ledger_limits.reopen)


@app.command()
def create(
    account: Annotated[str, typer.Argument(help="The id of the ad account, as the platform has it.")],
    currency: Annotated[str, typer.Option("--currency", help="What the account is billed in, such as USD.")],
    time_zone: Annotated[
        str, typer.Option("--time-zone", help="Where the account's days begin, such as America/New_York.")
    ],
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Begin the books of an ad account; where there is no ledger yet, make one.

    - `gaelp ledger create 123-456-7890 --currency USD --time-zone America/New_York`

    Then set its limits with `gaelp ledger limit`: without one, nothing may be spent. Currency and time zone never
    change. Calling it again changes nothing. Refused where the ledger is gone and the audit log tells of signatures
    that were used for it: put back a copy.
    """
    opened = AdAccount(account, currency, time_zone)
    settings = prepare(config, overrides).settings
    check_can_create_books(settings)
    create_books(settings, opened).close()
    if as_json:
        show_json({"account": account, "currency": currency, "time_zone": time_zone})
    else:
        show_text(f"The books of {account} are open, in {currency}, with days of {time_zone}.")
        say(_what_next(account, currency, same_settings(config, overrides)))


def _what_next(account: str, currency: str, settings: str) -> str:
    """The commands that set every limit which an order is held against."""
    words = {
        CapKind.TOTAL: f"all AMOUNT --currency {currency}",
        CapKind.CAMPAIGN: f"CAMPAIGN AMOUNT --account {account}",
        CapKind.CAMPAIGN_DAY: f"CAMPAIGN AMOUNT --account {account}",
    }
    commands = [f"  gaelp ledger limit {kind} {words.get(kind, f'{account} AMOUNT')}{settings}" for kind in ALL_CAPS]
    return "\n".join(["Next, the limits; an order needs every one of them:", *commands])


@app.command()
def show(config: ConfigOption = None, overrides: SetOption = None, as_json: JsonOption = False) -> None:
    """Show every cap with what is reserved, spent and left, and how many transfers are in which state.

    **Example**: `gaelp ledger show --json`
    """
    with closing(open_books(prepare_reading(config, overrides).settings)) as ledger:
        found = overview(ledger)
    if as_json:
        show_json(found.model_dump(mode="json"))
    else:
        _show(found)


@app.command()
def verify(config: ConfigOption = None, overrides: SetOption = None, as_json: JsonOption = False) -> None:
    """Recompute every balance; hold accounts, limits, caps, days and orders against each other; exit 1 if any differs.

    **Example**: `gaelp ledger verify --json`
    """
    settings = prepare_reading(config, overrides).settings
    with closing(open_books(settings)) as ledger:
        found = books.verify(ledger)
        found = found.model_copy(
            update={"findings": (*found.findings, *order_findings(ledger, lambda: audit_rows(settings)))}
        )
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
        say(f"Checked: {found.checked}.")
        for cap in found.breached_caps:
            say(f"{cap} was breached by real cost and is closed until a person reopens it (`gaelp ledger reopen`).")
    if not found.balances:
        raise GaelpError(
            f"{len(found.findings)} records disagree with what they rest on: pull the kill switch (`gaelp kill`),"
            " keep a copy of the database, and find out who wrote to it"
        )


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(help="The archive to write; one that is there is never replaced.")],
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a safe copy of the books and every other store of the home to one tar archive, while spenders work.

    - `gaelp ledger backup /backups/gaelp-2026-11-17.tar`

    It holds ledger, orders, approvals, audit log, decisions, violations, reviews, the trusted approvers and a stop in
    force, all as of one moment; not the runs. The archive is read back and checked before it gets its name. How to
    restore: docs/ledger.md.
    """
    written = back_up(prepare_reading(config, overrides).settings, file)
    if as_json:
        show_json({"file": str(file), **written.model_dump(mode="json")})
    else:
        show_text(f"{file} holds {', '.join(written.files)} as of {written.at:%Y-%m-%d %H:%M:%S} UTC.")


@app.command()
def reconcile(config: ConfigOption = None, overrides: SetOption = None, as_json: JsonOption = False) -> None:
    """Bring books and platform together: unknown outcomes, budgets as they really are, costs, one more day.

    - `gaelp ledger reconcile --config production`

    The safety watch does the same every ten minutes; doing it twice changes nothing. What runs with a budget that it
    was not given, or without room for its worst case, is paused. Exits 1 if a part could not be done.
    """
    with opened_guard(prepare_reading(config, overrides).settings) as guard:
        found = reconcile_once(guard)
        currency = guard.account.currency
    if as_json:
        show_json(found.model_dump(mode="json"))
    else:
        _show_reconciled(found, currency)
    if found.failures:
        raise GaelpError(f"{len(found.failures)} parts could not be done: {'; '.join(found.failures)}")


def _show_reconciled(found: Reconciliation, currency: str) -> None:
    if found.resolved:
        show_table(("order", "turned out to be"), sorted(found.resolved.items()))
    for what, campaigns in (("Paused", found.paused), ("Renewed for today", found.renewed)):
        if campaigns:
            show_text(f"{what}: {', '.join(campaigns)}.")
    posted, adjusted = Money(found.posted_micros, currency), Money(found.adjusted_micros, currency)
    show_text(f"Posted {posted}, adjusted {adjusted}. {len(found.failures)} parts could not be done.")
    for note in found.notes:
        show_text(f"{note[0].upper()}{note[1:].rstrip('.')}.")


def _show(found: Overview) -> None:
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
