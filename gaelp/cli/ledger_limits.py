"""`gaelp ledger limit` and `reopen`: set how much may be spent; takes signatures if real money can move."""

import re
from contextlib import closing
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from gaelp.authority.audit_records import record
from gaelp.authority.limit_changes import LimitChange, change_limit, change_with_authority
from gaelp.budget.ledger import (
    Bucket,
    Cap,
    CapKind,
    Ledger,
    LimitSet,
    check_reopen,
    known_account,
    overview,
    reopen_cap,
    signed_changes,
)
from gaelp.cli.options import ConfigOption, JsonOption, SetOption, same_settings
from gaelp.cli.output import show_json, show_paragraph
from gaelp.cli.signing import (
    KeyOption,
    PassphraseFileOption,
    ReasonOption,
    RequestOption,
    TrustOption,
    signer_from,
)
from gaelp.cli.startup import prepare_reading
from gaelp.config.settings import Settings
from gaelp.errors import BadInput
from gaelp.guard_bootstrap import open_platform_books, platform_world
from gaelp.money import Money

__all__ = ["LimitCommand", "limit", "reopen"]

_TOTAL = "all"  # the only total that orders count against
_NEGATIVE = re.compile(r"-[0-9.,]+")


class LimitCommand(TyperCommand):
    """Recognises a negative amount, which the parser would take for an unknown option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse a negative amount with a helpful message."""
        for given in args[: args.index("--") if "--" in args else None]:
            if _NEGATIVE.fullmatch(given):
                raise BadInput(
                    f"AMOUNT is {given}; allowed: 0 or more. To stop all spending under a limit, set it to 0"
                )
        return super().parse_args(ctx, args)


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
    request: RequestOption = False,
    passphrase_file: PassphraseFileOption = None,
    trust_file: TrustOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set how much may be spent, from the account's current day on.

    - `gaelp ledger limit account_day 123-456-7890 50`

    - `gaelp ledger limit campaign_day spring 20 --account 123-456-7890`

    - `gaelp ledger limit total all 1000 --currency USD`

    Lowering a limit is always allowed. Setting or raising one takes signatures if the policy (approvals.policy) asks
    for them, and from then on always in the same ledger: everyone who approves runs the same command with
    `--key FILE --reason WHY`, and the last one needed sets it. Without a key nothing is stored. To ask others, store
    the request with `--request`: they sign it with `gaelp approvals approve`, and then this command sets the limit.
    """
    settings = prepare_reading(config, overrides).settings
    with closing(open_platform_books(settings)) as ledger:
        cap = _cap(kind, subject)
        owner = _owner(cap, account, settings)
        given = _amount(ledger, amount, owner, currency)
        done = change_limit(
            settings,
            lambda: platform_world(settings),
            ledger,
            cap,
            given,
            lambda: signer_from(settings, key, reason, passphrase_file, trust_file, asks=request),
            account_id=owner,
            options=same_settings(config, overrides),
        )
    _show_limit(cap, given, done, as_json=as_json)


def reopen(
    cap: Annotated[str, typer.Argument(help="As `gaelp ledger show` lists it, such as account_day:acc:2026-11-16.")],
    key: KeyOption = None,
    reason: ReasonOption = "",
    request: RequestOption = False,
    passphrase_file: PassphraseFileOption = None,
    trust_file: TrustOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Reopen a cap that real cost has breached, after somebody has reviewed it.

    - `gaelp ledger reopen account_day:123-456-7890:2026-11-16 --key ann.key --reason "the refund arrived"`

    Refused while its cost is above its limit. Takes signatures like raising a limit.
    """
    settings = prepare_reading(config, overrides).settings
    with closing(open_platform_books(settings)) as ledger:
        if signed_changes(ledger):
            record(settings, ledger)  # what a crash left unrecorded; it cannot be reopened a second time
        bucket, account, most = _breached(ledger, cap)
        check_reopen(ledger, bucket)
        change = LimitChange(
            kind="cap.reopened",
            subject=f"reopen {cap}",
            account=account or "all",
            most=most,
            cap=cap,
            before=most,
            still_wanted=lambda: _breached(ledger, cap),
            options=same_settings(config, overrides),
        )
        new = change_with_authority(
            settings,
            platform_world(settings),
            ledger,
            change,
            lambda: signer_from(settings, key, reason, passphrase_file, trust_file, asks=request),
            lambda signed: reopen_cap(ledger, bucket, signed=signed),
        )
    if as_json:
        show_json({"cap": cap, "breached": False})
    else:
        show_paragraph(
            f"{cap} {'is' if new else 'was, under the same signatures, already made'} open again, at most {most}."
        )


def _show_limit(cap: Cap, given: Money, done: LimitSet, *, as_json: bool) -> None:
    # Of several concurrent signers one has set it, and somebody may have lowered it since.
    now = given if done.is_new else done.before or given
    if as_json:
        show_json({"kind": cap.kind, "subject": cap.subject, "limit_micros": now.micros, "currency": now.currency})
    elif done.is_new and done.before == now:
        show_paragraph(f"{cap.kind} {cap.subject}: at most {now}, as before.")
    elif done.is_new:
        show_paragraph(
            f"{cap.kind} {cap.subject}: at most {now}" + (f", {done.before} before." if done.before else ".")
        )
    else:
        show_paragraph(f"{cap.kind} {cap.subject}: at most {now}; the same signatures had set {given} already.")


def _cap(kind: str, subject: str) -> Cap:
    allowed = [known for known in CapKind if not known.is_of_a_mandate]
    if kind not in allowed:
        raise BadInput(f"KIND is {kind!r}; allowed: {', '.join(allowed)}")
    if kind == CapKind.TOTAL and subject != _TOTAL:
        raise BadInput(f"the total is of {subject!r}; allowed: {_TOTAL}, the only total that orders count against")
    return Cap(CapKind(kind), subject)


def _owner(cap: Cap, account: str | None, settings: Settings) -> str:
    """The account that a cap belongs to; empty for a total."""
    if cap.kind is CapKind.TOTAL:
        return account or ""
    if cap.kind in (CapKind.ACCOUNT, CapKind.ACCOUNT_DAY):
        return account or cap.subject
    owner = account or settings.platform.account
    if owner is None:
        raise BadInput(f"{cap.kind} {cap.subject} belongs to an account: name it with --account, or platform.account")
    return owner


def _amount(ledger: Ledger, text: str, owner: str, currency: str | None) -> Money:
    if not owner:
        return Money.parse(text, currency)
    own = known_account(ledger, owner).currency
    if currency not in (None, own):
        raise BadInput(f"--currency is {currency}, account {owner} is billed in {own}: leave it out, or give {own}")
    return Money.parse(text, own)


def _breached(ledger: Ledger, wanted: str) -> tuple[Bucket, str, Money]:
    caps = overview(ledger).caps
    for cap in caps:
        if cap.id == wanted and cap.breached:
            bucket = Bucket(Cap(CapKind(cap.kind), cap.subject), cap.day)
            return bucket, cap.account_id, Money(cap.limit_micros, cap.currency)
    breached = ", ".join(cap.id for cap in caps if cap.breached) or "none"
    raise BadInput(f"no breached cap {wanted!r}; breached: {breached}. `gaelp ledger show` lists all")
