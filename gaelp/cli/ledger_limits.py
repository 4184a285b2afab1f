"""`gaelp ledger limit` and `reopen`: how much may be spent, which takes signatures where real money can move."""

from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import show_json, show_text
from gaelp.cli.signing import (
    KeyOption,
    PassphraseFileOption,
    ReasonOption,
    Signature,
    TrustOption,
    first_open,
    require_signed,
    signature_from,
)
from gaelp.cli.startup import prepare
from gaelp.clock import SystemClock
from gaelp.config.settings import Settings
from gaelp.errors import BadInput
from gaelp.money import Money

if TYPE_CHECKING:
    from gaelp.approvals import ApprovalPolicy
    from gaelp.budget.ledger import Bucket, Cap, Ledger

__all__ = ["limit", "reopen"]


def limit(
    kind: Annotated[
        str, typer.Argument(help="campaign_day, campaign, account_day, account, total or episode.", metavar="KIND")
    ],
    subject: Annotated[str, typer.Argument(help="Whose: the id of the account, campaign or episode; all for total.")],
    amount: Annotated[str, typer.Argument(help="Such as 50 or 50.00; in the account's currency.")],
    account: Annotated[
        str | None,
        typer.Option("--account", help="Of a campaign or episode.", show_default="platform.account of the settings"),
    ] = None,
    currency: Annotated[str | None, typer.Option("--currency", help="Of a total, which spans accounts.")] = None,
    key: KeyOption = None,
    reason: ReasonOption = "",
    passphrase_file: PassphraseFileOption = None,
    trust_file: TrustOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set how much may be spent, from today of the account on.

    - `gaelp ledger limit account_day 123-456-7890 50`

    - `gaelp ledger limit campaign_day spring 20 --account 123-456-7890`

    - `gaelp ledger limit total all 1000 --currency USD`

    Lowering one always passes. To set or raise one takes signatures where the policy (approvals.policy) asks for them:
    everyone who approves runs the same command with `--key FILE --reason WHY`, and the last one needed sets it.
    """
    from gaelp.bootstrap import open_books  # noqa: PLC0415 - sqlalchemy takes time that `--help` need not spend
    from gaelp.budget.ledger import CapKind, known_limit, set_limit  # noqa: PLC0415 - as above

    settings = prepare(config, overrides).settings
    signature = signature_from(settings, key, reason, passphrase_file, trust_file)
    with closing(open_books(settings)) as ledger:
        cap = _cap(kind, subject)
        owner = "" if cap.kind is CapKind.TOTAL else _owner(cap, account, settings)
        given = _amount(ledger, amount, owner, currency)
        before = known_limit(ledger, cap)
        if before is None or before < given:
            change = f"limit {cap.kind} {cap.subject}: {before or 'none'} -> {given}"
            _require_approval(settings, signature, change, owner or "all", given)
        _record(
            settings,
            "limit.set",
            {"cap": f"{cap.kind}:{cap.subject}", "limit": str(given), "before": str(before or "none")},
        )
        set_limit(ledger, cap, given, account_id=owner)
    if as_json:
        show_json({"kind": cap.kind, "subject": cap.subject, "limit_micros": given.micros, "currency": given.currency})
    else:
        show_text(f"{cap.kind} {cap.subject}: at most {given}" + (f", {before} before." if before else "."))


def reopen(
    cap: Annotated[str, typer.Argument(help="As `gaelp ledger show` lists it, such as account_day:acc:2026-11-16.")],
    key: KeyOption = None,
    reason: ReasonOption = "",
    passphrase_file: PassphraseFileOption = None,
    trust_file: TrustOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a cap that real cost has breached grant again, after somebody has looked at it.

    - `gaelp ledger reopen account_day:123-456-7890:2026-11-16 --key ann.key --reason "the refund has come"`

    Refused while its cost is above its limit. Takes signatures like raising a limit does.
    """
    from gaelp.bootstrap import open_books  # noqa: PLC0415 - as above
    from gaelp.budget.ledger import reopen_cap  # noqa: PLC0415 - as above

    settings = prepare(config, overrides).settings
    signature = signature_from(settings, key, reason, passphrase_file, trust_file)
    with closing(open_books(settings)) as ledger:
        bucket, account, most = _breached(ledger, cap)
        _require_approval(settings, signature, f"reopen {cap}", account or "all", most)
        _record(settings, "cap.reopened", {"cap": cap, "limit": str(most)})
        reopen_cap(ledger, bucket)
    if as_json:
        show_json({"cap": cap, "breached": False})
    else:
        show_text(f"{cap} is open again, at most {most}.")


def _cap(kind: str, subject: str) -> "Cap":
    from gaelp.budget.ledger import Cap, CapKind  # noqa: PLC0415 - as above

    if kind not in list(CapKind):
        raise BadInput(f"KIND is {kind!r}; allowed: {', '.join(CapKind)}")
    return Cap(CapKind(kind), subject)


def _owner(cap: "Cap", account: str | None, settings: Settings) -> str:
    from gaelp.budget.ledger import CapKind  # noqa: PLC0415 - as above

    if cap.kind in (CapKind.ACCOUNT, CapKind.ACCOUNT_DAY):
        return account or cap.subject
    owner = account or settings.platform.account
    if owner is None:
        raise BadInput(f"{cap.kind} {cap.subject} belongs to an account: name it with --account, or platform.account")
    return owner


def _amount(ledger: "Ledger", text: str, owner: str, currency: str | None) -> Money:
    from gaelp.budget.ledger import known_account  # noqa: PLC0415 - as above

    if owner:
        return Money.parse(text, known_account(ledger, owner).currency)
    return Money.parse(text, currency)


def _breached(ledger: "Ledger", wanted: str) -> "tuple[Bucket, str, Money]":
    from gaelp.budget.ledger import Bucket, Cap, CapKind, overview  # noqa: PLC0415 - as above

    caps = overview(ledger).caps
    for cap in caps:
        if cap.id == wanted and cap.breached:
            bucket = Bucket(Cap(CapKind(cap.kind), cap.subject), cap.day)
            return bucket, cap.account_id, Money(cap.limit_micros, cap.currency)
    breached = ", ".join(cap.id for cap in caps if cap.breached) or "none"
    raise BadInput(f"no breached cap {wanted!r}; breached: {breached}. `gaelp ledger show` lists all")


def _require_approval(settings: Settings, signature: Signature, change: str, account: str, most: Money) -> None:
    """Raise unless enough people have signed for this change; where no real money can move, nobody has to."""
    from gaelp.approvals import Action, load_policy  # noqa: PLC0415 - cryptography takes its time

    policy = load_policy(settings.approvals.policy)
    if policy.sandbox:
        return
    # Nobody in person is the one who asks, so that everyone may approve and all of them sign the same action.
    action = Action(
        kind="budget",
        run_id="ledger",
        requester="ledger",
        subject=change,
        account=account,
        currency=most.currency,
        limits_micros={"limit": most.micros},
    )
    require_signed(
        settings,
        policy,
        lambda store: first_open(store, action, policy, signature.trusted),
        signature,
        lambda given: _what_is_needed(change, given, policy),
    )


def _what_is_needed(change: str, given: int, policy: "ApprovalPolicy") -> str:
    return (
        f"{change}: needs the signatures of {policy.quorum} people, {given} have signed. Each runs this command with"
        " --key FILE --reason WHY"
    )


def _record(settings: Settings, kind: str, body: dict[str, str]) -> None:
    """Say in the audit log what is about to be changed, so that no change goes untold."""
    from gaelp.approvals import AuditLog, approvals_place, open_database  # noqa: PLC0415 - cryptography takes its time

    AuditLog(open_database(approvals_place(settings))).append(kind, body, SystemClock().now())
