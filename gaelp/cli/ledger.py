"""`gaelp ledger`: create the ledger of an ad account, show and verify it, reconcile it with the platform."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from gaelp.authority.audit_records import audit_rows, check_can_create_books
from gaelp.authority.mandates import why_ended
from gaelp.budget import ledger as ledgers
from gaelp.budget.ledger import AdAccount, CapKind, Ledger, LedgerBroken, Overview, overview
from gaelp.budget.ledger.overview import CapStatus
from gaelp.budget.ledger.verify import Verification
from gaelp.checks.number_text import counted
from gaelp.cli import ledger_limits
from gaelp.cli.invoice_table import refuse_unexplained, show_invoices
from gaelp.cli.options import ConfigOption, JsonOption, SetOption, same_settings
from gaelp.cli.output import say, show_json, show_paragraph, show_table, show_text
from gaelp.cli.startup import prepare, prepare_reading
from gaelp.errors import GaelpError
from gaelp.guard_bootstrap import create_books, open_platform_books, opened_guard
from gaelp.home_backup import back_up
from gaelp.money import Money
from gaelp.platforms import Reconciliation
from gaelp.platforms import reconcile as reconcile_once
from gaelp.platforms.guard import ALL_CAPS
from gaelp.platforms.invoice_check import explain_invoices
from gaelp.platforms.verify_orders import order_findings

__all__ = ["app", "backup", "create", "reconcile", "show", "verify"]

_DIGITS = 12

app = typer.Typer(no_args_is_help=True, help="The ledger: what is reserved, spent and left, and whether it balances.")
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
    """Add an ad account to the ledger, and create the ledger if there is none yet.

    - `gaelp ledger create 123-456-7890 --currency USD --time-zone America/New_York`

    Then set its limits with `gaelp ledger limit`: without one, nothing may be spent. Currency and time zone never
    change. Running it again changes nothing. Refused if the ledger is missing but the audit log has signatures that
    were used for it: restore a backup.
    """
    opened = AdAccount(account, currency, time_zone)
    settings = prepare(config, overrides).settings
    check_can_create_books(settings)
    create_books(settings, opened).close()
    if as_json:
        show_json({"account": account, "currency": currency, "time_zone": time_zone})
    else:
        show_paragraph(f"The ledger has the account {account}, in {currency}, with days of {time_zone}.")
        say(_what_next(account, currency, same_settings(config, overrides)))


def _what_next(account: str, currency: str, settings: str) -> str:
    """The commands that set every limit that an order needs."""
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
    settings = prepare_reading(config, overrides).settings
    with closing(open_platform_books(settings)) as ledger:
        current = overview(ledger)
        ended = why_ended(settings, ledger)
    if as_json:
        show_json(current.model_dump(mode="json"))
    else:
        _show(current, ended)


@app.command()
def verify(config: ConfigOption = None, overrides: SetOption = None, as_json: JsonOption = False) -> None:
    """Recompute every balance; compare accounts, limits, caps, mandates, days and orders; exit 1 if any differs.

    **Example**: `gaelp ledger verify --json`
    """
    settings = prepare_reading(config, overrides).settings
    with closing(open_platform_books(settings)) as ledger:
        result = ledgers.verify(ledger)
        # Both checks may find the same: a mandate that is open after a stop, for example.
        findings = tuple(dict.fromkeys((*result.findings, *order_findings(ledger, lambda: audit_rows(settings)))))
        result = result.model_copy(update={"findings": findings, "caps": _shown_caps(ledger, result)})
    if as_json:
        show_json({"balances": result.balances, **result.model_dump(mode="json")})
    else:
        rows = [(finding.where, finding.what, f"{finding.expected}", f"{finding.actual}") for finding in findings]
        if rows:
            show_table(("where", "what", "recomputed", "stored"), rows)
        entries = f"{result.entries:,} journal {'entry' if result.entries == 1 else 'entries'}"
        show_paragraph(
            f"{counted(result.transfers, 'transfer')}, {entries}, {counted(result.adjustments, 'adjustment')} and"
            f" {counted(result.caps, 'cap')}: the ledger {'balances' if result.balances else 'does NOT balance'}."
        )
        say(f"Checked: {result.checked}.")
        for cap in result.breached_caps:
            say(f"{cap} was breached by real cost and is closed until a person reopens it (`gaelp ledger reopen`).")
    if not result.balances:
        records = "1 record contradicts" if len(findings) == 1 else f"{len(findings)} records contradict"
        raise GaelpError(
            f"{records} the others: pull the kill switch (`gaelp kill`), keep a copy of the database, and find out who"
            " wrote to it"
        )


def _shown_caps(ledger: Ledger, result: Verification) -> int:
    """How many caps `gaelp ledger show` lists: also those that nothing was reserved under yet."""
    try:
        return len(overview(ledger).caps)
    except LedgerBroken:  # as the findings say
        return result.caps


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(help="The archive to write; an existing file is never replaced.")],
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a safe copy of the ledger and every other store of the home to one tar archive, while spenders work.

    - `gaelp ledger backup /backups/gaelp-2026-11-17.tar`

    It holds ledger, orders, approvals, audit log, decisions, violations, reviews, the trusted approvers and a stop in
    force, all as of one moment, but not the runs. The archive is read back and checked before it gets its name. How
    to restore it: docs/ledger.md.
    """
    written = back_up(prepare_reading(config, overrides).settings, file)
    if as_json:
        show_json({"file": str(file), **written.model_dump(mode="json")})
    else:
        show_paragraph(f"{file} holds {', '.join(written.files)} as of {written.at:%Y-%m-%d %H:%M:%S} UTC.")


@app.command()
def reconcile(
    invoice: Annotated[bool, typer.Option("--invoice", help="Also explain every invoice of the last year.")] = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Reconcile ledger and platform: settle unknown outcomes, compare budgets, book costs, renew for today.

    - `gaelp ledger reconcile --config production`
    - `gaelp ledger reconcile --invoice --config production`

    The safety watch does the same every ten minutes; running it twice changes nothing. A campaign with a budget that
    was not ordered, or without room for its worst case, is paused. With `--invoice`, each difference between ledger,
    reports and invoices is explained. Exits 1 if a part could not be done or a difference has no explanation.
    """
    with opened_guard(prepare_reading(config, overrides).settings) as guard:
        result = reconcile_once(guard)
        invoices = explain_invoices(guard) if invoice else ()
        currency = guard.account.currency
    if as_json:
        explained = {"invoices": [each.model_dump(mode="json") for each in invoices]} if invoice else {}
        show_json(result.model_dump(mode="json") | explained)
    else:
        _show_reconciled(result, currency)
        show_invoices(invoices, currency, wanted=invoice)
    if result.failures:
        raise GaelpError(f"{counted(len(result.failures), 'part')} could not be done: {'; '.join(result.failures)}")
    refuse_unexplained(invoices, currency)


def _show_reconciled(result: Reconciliation, currency: str) -> None:
    if result.resolved:
        show_table(("order", "outcome"), sorted(result.resolved.items()))
    for what, campaigns in (("Paused", result.paused), ("Renewed for today", result.renewed)):
        if campaigns:
            show_paragraph(f"{what}: {', '.join(campaigns)}.")
    for edit in result.edits:
        show_paragraph(f"{edit[0].upper()}{edit[1:]}.")
    posted, adjusted = Money(result.posted_micros, currency), Money(result.adjusted_micros, currency)
    failed = counted(len(result.failures), "part")
    show_paragraph(f"Posted {posted}, adjusted {adjusted}. {failed} could not be done.")
    for note in result.notes:
        show_paragraph(f"{note[0].upper()}{note[1:].rstrip('.')}.")


def _show(current: Overview, ended: Mapping[str, str]) -> None:
    rows = [
        (
            _short_id(cap),
            *(
                str(Money(micros, cap.currency))
                for micros in (cap.limit_micros, cap.reserved_micros, cap.posted_micros, cap.headroom_micros)
            ),
            _state(cap, ended),
        )
        for cap in current.caps
    ]
    if rows:
        show_table(("cap", "limit", "reserved", "spent", "left", "state"), rows)
    else:
        show_paragraph("There are no limits yet, so nothing may be spent: `gaelp ledger limit` sets them.")
    shown = {cap.subject for cap in current.caps if CapKind(cap.kind).is_of_a_mandate}
    for mandate in sorted(shown & set(ended)):
        show_paragraph(f"The mandate {mandate[:_DIGITS]} has ended: {ended[mandate]}.", "  ")
    states = [
        (
            total.state,
            str(total.transfers),
            str(Money(total.amount_micros, total.currency)),
            str(Money(total.cost_micros, total.currency)),
        )
        for total in current.states
    ]
    show_text("")
    if states:
        show_table(("transfers", "number", "asked for", "cost"), states)
    else:
        show_text("No transfers yet.")
    if current.stopped:
        show_paragraph("The kill switch is set: nothing is granted. `gaelp revive` shows why and what a release needs.")


def _short_id(cap: CapStatus) -> str:
    """The id, with as many digits of a mandate as other commands show."""
    return cap.id.replace(cap.subject, cap.subject[:_DIGITS]) if CapKind(cap.kind).is_of_a_mandate else cap.id


def _state(cap: CapStatus, ended: Mapping[str, str]) -> str:
    if cap.is_over_limit or not CapKind(cap.kind).is_of_a_mandate:
        return "breached" if cap.breached else "open"
    return "ended" if cap.breached or cap.subject in ended else "open"
