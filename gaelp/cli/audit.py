"""`gaelp audit`: read the log of decisions, prove that it is whole, and vouch for it in a second place."""

from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from gaelp.approvals import (
    ApprovalPolicy,
    ApprovalStore,
    AuditLog,
    AuditRow,
    SignedAction,
    Trust,
    approvals_place,
    check_heads,
    open_database,
    publish_head,
    read_heads,
)
from gaelp.approvals.audit import verify_rows
from gaelp.approvals.canonical import parse
from gaelp.approvals.policy import LIVE, load_policy, policy_for
from gaelp.authority.audit_records import audit_rows, check_approvals_kept
from gaelp.authority.audit_row_text import describe_row
from gaelp.authority.limit_audit import LIMIT_SET, compare_limits, promised_rows
from gaelp.bootstrap import open_books
from gaelp.budget.ledger import LedgerBroken, known_books_id, signed_changes
from gaelp.budget.ledger.limits import limits_in_force
from gaelp.checks.number_text import counted
from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_paragraph, show_table, show_text
from gaelp.cli.signing import PassphraseFileOption, RequiredKeyOption, TrustOption, load_trusted, open_key
from gaelp.cli.startup import prepare_reading
from gaelp.clock import SystemClock
from gaelp.config.places import absolute, shown
from gaelp.config.settings import Settings
from gaelp.errors import BadInput, DataError, GaelpError, Refused
from gaelp.platforms.verify_orders import order_findings

__all__ = ["app", "publish", "show", "verify"]

app = typer.Typer(no_args_is_help=True, help="The log of every decision.")

_SHOWN_CHARACTERS = 240
_WAY_OUT = "Stop spending (`gaelp kill`), keep this database as evidence, and go back to a copy that verifies."

HeadsOption = Annotated[Path, typer.Option("--heads", help="The file that heads are published to: in another place.")]


@app.command()
def show(
    last: Annotated[int, typer.Option("--last", min=1, help="How many rows, the newest.")] = 20,
    kind: Annotated[str | None, typer.Option("--kind", help="Only rows of this kind, such as approval.used.")] = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the newest rows of the log.

    **Example**: `gaelp audit show --kind approval.used --json`
    """
    settings = prepare_reading(config, overrides).settings
    rows = [row for row in _rows(settings) if kind in (None, row.kind)][-last:]
    if as_json:
        show_json({"rows": [_as_json(row, parse(row.body.encode("utf-8"))) for row in rows]})
        return
    if not rows:
        show_paragraph(f"The log has no rows of kind {kind}." if kind else "The log is empty.")
        return
    cells = (
        (str(row.seq), row.at[:19].replace("T", " "), row.kind, _short(_in_words(row)), row.hash[:12]) for row in rows
    )
    show_table(("seq", "at (UTC)", "kind", "what", "hash"), cells)
    say("`--json` shows the rows as they are stored.")


@app.command()
def verify(
    heads: Annotated[
        Path | None, typer.Option("--heads", help="The published heads: without them a log cut short looks whole.")
    ] = None,
    trust_file: TrustOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Prove that no row was changed, moved or taken out; names the first that was.

    **Example**: `gaelp audit verify --heads /mnt/elsewhere/heads.jsonl`

    Names every use of approvals that the policy in force here would not have granted, and every limit and order of the
    ledger that differs from the log. Exits 0 if the log is whole and there is none of these, otherwise 3.
    """
    settings = prepare_reading(config, overrides).settings
    rows = _rows(settings)
    if problem := verify_rows(rows):
        raise Refused(f"the audit log is not whole: {problem}. {_WAY_OUT}")
    trusted = load_trusted(trust_file, settings)
    agreeing = _check(rows, settings, heads, trusted)
    _refuse_insufficient_uses(settings, trusted)
    unknown = _refuse_other_limits(rows, settings)
    if as_json:
        head = rows[-1].hash if rows else None
        show_json({"ok": True, "rows": len(rows), "head": head, "heads": agreeing, "limits_compared": not unknown})
        return
    agree = f", {counted(agreeing, 'head')} {'agrees' if agreeing == 1 else 'agree'}" if heads else ""
    show_text(f"whole: {counted(len(rows), 'row')}{agree}")
    if unknown and any(row.kind == LIMIT_SET for row in rows):
        say(f"The limits were NOT compared with the ledger, which could not be opened: {unknown}.")
    if heads is None:
        say("Without --heads a log that was cut short or rewritten as a whole looks like the true one.")


@app.command()
def publish(
    key: RequiredKeyOption,
    heads: HeadsOption,
    passphrase_file: PassphraseFileOption = None,
    trust_file: TrustOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Sign the newest row and add it to a file in a second place.

    **Example**: `gaelp audit publish --key ~/.config/gaelp/keys/audit.key --heads /mnt/elsewhere/heads.jsonl`
    """
    settings = prepare_reading(config, overrides).settings
    home, place = absolute(settings.home), absolute(heads)
    if place.resolve().is_relative_to(home.resolve()):
        raise Refused(f"--heads {shown(place)} lies below {shown(home)}, beside the log itself: name another place")
    trusted = load_trusted(trust_file, settings)
    signer = open_key(key, passphrase_file)
    head = publish_head(_rows(settings), signer, place, trust=trusted, at=SystemClock().now())
    if as_json:
        show_json(head.model_dump(mode="json"))
    else:
        show_text(f"row {head.statement.seq} {head.statement.hash}")


def _rows(settings: Settings) -> tuple[AuditRow, ...]:
    place = approvals_place(settings)
    if isinstance(place, Path) and not place.exists():
        check_approvals_kept(settings)
        raise BadInput(f"{shown(place)}: there is no audit log yet; set GAELP_HOME or --config to where it is")
    return AuditLog(open_database(place, create=False)).rows()


def _check(rows: tuple[AuditRow, ...], settings: Settings, heads: Path | None, trusted: Trust) -> int:
    """Refuse approvals that do not agree with the log; otherwise the number of heads that agree with it."""
    try:
        ApprovalStore(approvals_place(settings), SystemClock(), create=False).verify(trusted)
    except (DataError, Refused) as finding:
        raise Refused(f"approvals and audit log are not whole: {finding}. {_WAY_OUT}") from finding
    if heads is None:
        return 0
    published = read_heads(absolute(heads))
    if not published:
        raise Refused(f"{shown(absolute(heads))} holds no head, so nobody vouches for the log: `gaelp audit publish`")
    if problem := check_heads(rows, published, trusted):
        raise Refused(f"the audit log does not agree with its heads: {problem}. {_WAY_OUT}")
    return len(published)


def _refuse_insufficient_uses(settings: Settings, trusted: Trust) -> None:
    """Name every use of approvals that the policy in force here would not have granted."""

    def policy_of(action: SignedAction) -> ApprovalPolicy:
        return load_policy(LIVE) if action.kind == "revive" else policy_for(settings, action.world)

    store = ApprovalStore(approvals_place(settings), SystemClock(), create=False)
    uses = store.insufficient_uses(policy_of, trusted)
    for use in uses:
        say(f"Notice: {use}.")
    if uses:
        rows = ", ".join(str(use.seq) for use in uses)
        raise Refused(
            f"the log is whole, but {len(uses)} uses of approvals (rows {rows}) do not fulfil the policy in force"
            " here. If these are not the settings and files of production, verify with those (such as with"
            " `--config production`). If they are, another policy was used for them: stop spending (`gaelp kill`) and"
            " ask who did it"
        )


def _refuse_other_limits(rows: tuple[AuditRow, ...], settings: Settings) -> str:
    """Name every limit on which ledger and log differ; return why the ledger could not be opened, empty if it was."""
    try:
        ledger = open_books(settings)
    except GaelpError as problem:
        if promised := promised_rows(rows):
            raise Refused(
                f"the log is whole, but it has {len(promised)} uses of signatures for limits and orders, and the ledger"
                f" that must know of them cannot be opened: {problem}. If it is lost, stop spending (`gaelp kill`)"
                " and restore the newest backup; no new one is created"
            ) from problem
        return str(problem)
    with closing(ledger):
        try:
            in_force, signed = limits_in_force(ledger), signed_changes(ledger)
            findings = list(compare_limits(rows, in_force, signed, known_books_id(ledger)))
            orders = order_findings(ledger, lambda: audit_rows(settings))
            findings += [f"{order.where}: {order.what}: {order.actual}; expected: {order.expected}" for order in orders]
        except LedgerBroken as damage:
            raise Refused(f"the log is whole, but the ledger is not: {damage}") from damage
    for finding in findings:
        say(f"Notice: {finding}.")
    if findings:
        raise Refused(
            f"the log is whole, but {len(findings)} limits, signed changes or orders of the ledger differ from it,"
            " named above. Stop spending (`gaelp kill`), keep both databases as evidence, and ask who wrote to them"
        )
    return ""


def _as_json(row: AuditRow, body: Any) -> dict[str, Any]:
    return {
        "seq": row.seq,
        "at": row.at,
        "kind": row.kind,
        "body": body,
        "previous_hash": row.previous_hash,
        "hash": row.hash,
    }


def _cells(row: AuditRow) -> tuple[str, ...]:
    return str(row.seq), row.at[:19].replace("T", " "), row.kind, _short(_in_words(row)), row.hash[:12]


def _in_words(row: AuditRow) -> str:
    try:
        return describe_row(row.kind, parse(row.body.encode("utf-8")))
    except DataError:  # damaged, as `gaelp audit verify` says
        return row.body


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
