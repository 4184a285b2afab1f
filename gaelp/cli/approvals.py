"""`gaelp approvals`: list what waits for signatures, show what exactly would be signed, and decide."""

from contextlib import ExitStack, closing, suppress
from typing import Annotated

import typer

from gaelp.approvals import SignedAction, Trust, action_hash, policy_for
from gaelp.approvals.approval import ApprovalDecision
from gaelp.authority.request_status import RequestStatus, request_statuses
from gaelp.authority.request_text import describe_decisions, describe_signed
from gaelp.authority.requests import existing_approvals, find_request, subject_of
from gaelp.authority.signatures import Signer, describe_missing, has_signed, submit_decision
from gaelp.bootstrap import kill_switch
from gaelp.cli.options import ConfigOption, JsonOption, SetOption, same_settings
from gaelp.cli.output import say, show_json, show_paragraph, show_table, show_text
from gaelp.cli.signing import (
    PassphraseFileOption,
    ReasonOption,
    RequiredKeyOption,
    TrustOption,
    load_trusted,
    signer_from,
)
from gaelp.cli.startup import prepare_reading
from gaelp.config.settings import Settings
from gaelp.errors import BadInput, GaelpError
from gaelp.guard_bootstrap import open_platform_books

__all__ = ["app", "approve", "list_", "reject", "show"]

app = typer.Typer(no_args_is_help=True, help="What waits for signatures: orders, limits, releases.")

_WAITING = ("waiting", "escalate")
_INDENT = "  "  # of the second line of a sentence
_DIGITS = 12
_DIGITS_MIN = 8  # of what is signed: a typing error must not match anything
# These have a command of their own, which shows the evidence first and does what was approved.
_ELSEWHERE = {
    "gate": "`gaelp gate show RUN`, then `gaelp gate approve`",
    "revive": "`gaelp revive --key FILE`",
    "mandate": "`gaelp mandate show MANDATE`, then `gaelp mandate sign`",
}

ActionArgument = Annotated[
    str, typer.Argument(metavar="ACTION", help="Its hash, or the first digits, as `gaelp approvals list` shows it.")
]


@app.command("list")
def list_(
    everything: Annotated[
        bool, typer.Option("--all", help="Also what is decided, used or over.", show_default=False)
    ] = False,
    trust_file: TrustOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what waits for people, the oldest first."""
    settings = prepare_reading(config, overrides).settings
    trusted = load_trusted(trust_file, settings)
    rows = [
        {
            "action": status.action_hash[:_DIGITS],
            "kind": status.action.kind,
            "subject": subject_of(status.action),
            "state": status.state,
            "signed_by": ", ".join(status.signed_by) or "nobody",
            "expires_at": status.expires_at.isoformat(timespec="minutes"),
        }
        for status in _statuses(settings, trusted)
        if everything or status.state in _WAITING
    ]
    if as_json:
        show_json({"requests": rows})
        return
    if not rows:
        show_text("Nothing waits for signatures." if not everything else "Nobody has requested a signature.")
    else:
        show_table(
            ("action", "kind", "subject", "state", "signed by", "expires (UTC)"),
            [[*list(row.values())[:-1], row["expires_at"][:16].replace("T", " ")] for row in rows],
        )
        say("`gaelp approvals show ACTION` shows what would be signed, and who has signed.")


def _statuses(settings: Settings, trusted: Trust) -> list[RequestStatus]:
    """Every request, compared with the ledger and the stop in force where these can be read."""
    with ExitStack() as opened:
        ledger, stop = None, None
        with suppress(GaelpError):
            ledger = opened.enter_context(closing(open_platform_books(settings)))
        with suppress(GaelpError):
            stop = kill_switch(settings).state()
        return request_statuses(settings, trusted, ledger=ledger, stop=stop)


@app.command()
def show(
    action: ActionArgument,
    trust_file: TrustOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what would be signed in words, who has decided, and what is missing; with --json every signed field."""
    settings = prepare_reading(config, overrides).settings
    store = existing_approvals(settings)
    request = find_request(store, action)
    statements = tuple(approval.statement for approval in store.approvals(request.action))
    if as_json:
        decisions = [said.model_dump(mode="json") for said in statements]
        show_json({"hash": action_hash(request.action), **request.model_dump(mode="json"), "decisions": decisions})
        return
    trusted = load_trusted(trust_file, settings)
    [status] = [known for known in _statuses(settings, trusted) if known.action == request.action]
    for line in (*describe_signed(request), *describe_decisions(statements)):
        show_paragraph(line, _INDENT)
    until = f", until {status.expires_at:%Y-%m-%d %H:%M} UTC" if status.state in _WAITING else ""
    show_paragraph(f"State: {status.state}{until}.", _INDENT)
    if status.state in _WAITING:
        policy = policy_for(settings, request.action.world)
        show_paragraph(f"{describe_missing(store.tally(request.action, policy, trusted))}.", _INDENT)
        say(f"To decide: {_how_to_decide(request.action, same_settings(config, overrides))}")
    say("`--json` shows every field as it is signed.")


def _how_to_decide(action: SignedAction, settings_again: str) -> str:
    if action.kind in _ELSEWHERE:
        return _ELSEWHERE[action.kind]
    return (
        f"`gaelp approvals approve {action_hash(action)[:_DIGITS]} --key FILE --reason WHY{settings_again}`, or reject"
    )


@app.command()
def approve(
    action: ActionArgument,
    key: RequiredKeyOption,
    reason: ReasonOption,
    passphrase_file: PassphraseFileOption = None,
    trust_file: TrustOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Sign an action, exactly as it is: one that differs in any field, even by a cent, needs another approval.

    - `gaelp approvals approve 3f9a0c41d2b7 --key ~/.config/gaelp/keys/ann.key --reason "within the plan for November"`
    """
    settings = prepare_reading(config, overrides).settings
    signer = signer_from(settings, key, reason, passphrase_file, trust_file)
    _decide(settings, action, "approve", signer, as_json=as_json)


@app.command()
def reject(
    action: ActionArgument,
    key: RequiredKeyOption,
    reason: ReasonOption,
    passphrase_file: PassphraseFileOption = None,
    trust_file: TrustOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Refuse an action, for good: one rejection outweighs all approvals."""
    settings = prepare_reading(config, overrides).settings
    signer = signer_from(settings, key, reason, passphrase_file, trust_file)
    _decide(settings, action, "reject", signer, as_json=as_json)


def _decide(settings: Settings, digits: str, decision: ApprovalDecision, signer: Signer, *, as_json: bool) -> None:
    if len(digits) < _DIGITS_MIN:
        raise BadInput(f"ACTION {digits!r} has {len(digits)} digits; to decide, give {_DIGITS_MIN} or more of its hash")
    store = existing_approvals(settings)
    action = find_request(store, digits).action
    if action.kind in _ELSEWHERE:
        raise BadInput(f"a {action.kind} is decided where it is seen: {_ELSEWHERE[action.kind]}")
    policy, wanted = policy_for(settings, action.world), action_hash(action)
    is_new = decision == "reject" or not has_signed(store, action, policy, signer)
    state = (
        submit_decision(store, action, policy, signer, decision)
        if is_new
        else store.state(action, policy, signer.trust)
    )
    given = store.tally(action, policy, signer.trust)
    if as_json:
        missing = list(given.missing)
        show_json({"action": wanted, "decision": decision, "state": state, "missing": missing, "new": is_new})
        return
    effect = {
        "approved": "It has every signature it needs, and is carried out when whoever asked for it tries again",
        "rejected": "One rejection ends the request",
    }.get(state, describe_missing(given))
    who = signer.key.name if signer.key else ""
    recorded = f"Recorded: {who} {decision}s" if is_new else f"Nothing new is recorded: {who} has already approved"
    show_paragraph(f"{recorded} {wanted[:_DIGITS]} ({subject_of(action)}). {effect}.")
