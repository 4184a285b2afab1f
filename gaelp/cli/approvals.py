"""`gaelp approvals`: what waits for signatures, what exactly would be signed, and the decision."""

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import show_json, show_table, show_text
from gaelp.cli.signing import PassphraseFileOption, Signature, TrustOption, signature_from
from gaelp.cli.startup import prepare
from gaelp.clock import SystemClock
from gaelp.config.places import shown
from gaelp.errors import BadInput

if TYPE_CHECKING:
    from gaelp.approvals import Action, ApprovalStore, Trust
    from gaelp.approvals.policy import ApprovalRequest
    from gaelp.config.settings import Settings

__all__ = ["app", "approve", "list_", "reject", "show"]

app = typer.Typer(no_args_is_help=True, help="What waits for signatures: orders, limits, releases.")

_DIGITS = 12
_DIGITS_MIN = 8  # of what is signed: a slip of the finger must not fit anything
# These have a command of their own, which shows the evidence first and does what was approved.
_ELSEWHERE = {"gate": "`gaelp gate show RUN`, then `gaelp gate approve`", "revive": "`gaelp revive --key FILE`"}

ActionArgument = Annotated[
    str, typer.Argument(metavar="ACTION", help="Its hash, or the first digits, as `gaelp approvals list` shows it.")
]
KeyOption = Annotated[Path, typer.Option("--key", metavar="FILE", help="Your private key.")]
WhyOption = Annotated[str, typer.Option("--reason", help="Why; signed with the decision.")]


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
    settings = prepare(config, overrides).settings
    rows = _rows(settings, signature_from(settings, None, "", None, trust_file).trusted, everything=everything)
    if as_json:
        show_json({"requests": rows})
        return
    columns = ("action", "kind", "subject", "state", "signed_by", "expires_at")
    if not rows:
        show_text("Nothing waits for signatures.")
    else:
        show_table(columns, [tuple(str(row[name]) for name in columns) for row in rows])


@app.command()
def show(action: ActionArgument, config: ConfigOption = None, overrides: SetOption = None) -> None:
    """Show exactly what would be signed, as JSON: every field of the action, and who has signed."""
    settings = prepare(config, overrides).settings
    store = _store(settings)
    request = _request(store, action)
    signed = [one.statement.model_dump(mode="json") for one in store.approvals(request.action)]
    show_json({"hash": _hash(request.action), **request.model_dump(mode="json"), "decisions": signed})


@app.command()
def approve(
    action: ActionArgument,
    key: KeyOption,
    reason: WhyOption,
    passphrase_file: PassphraseFileOption = None,
    trust_file: TrustOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Sign an action: what differs from it in any field, were it a cent, needs another approval.

    - `gaelp approvals approve 3f9a0c41d2b7 --key ~/.config/gaelp/keys/ann.key --reason "within the plan for November"`
    """
    settings = prepare(config, overrides).settings
    signature = signature_from(settings, key, reason, passphrase_file, trust_file)
    _decide(settings, action, "approve", signature, as_json=as_json)


@app.command()
def reject(
    action: ActionArgument,
    key: KeyOption,
    reason: WhyOption,
    passphrase_file: PassphraseFileOption = None,
    trust_file: TrustOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Refuse an action, for good: one rejection outweighs all approvals."""
    settings = prepare(config, overrides).settings
    signature = signature_from(settings, key, reason, passphrase_file, trust_file)
    _decide(settings, action, "reject", signature, as_json=as_json)


def _decide(
    settings: "Settings",
    wanted: str,
    decision: Literal["approve", "reject"],
    signature: Signature,
    *,
    as_json: bool,
) -> None:
    from gaelp.approvals import policy_for, sign  # noqa: PLC0415 - cryptography takes its time

    if len(wanted) < _DIGITS_MIN:
        raise BadInput(f"ACTION {wanted!r} has {len(wanted)} digits; to decide, give {_DIGITS_MIN} or more of its hash")
    store = _store(settings)
    action = _request(store, wanted).action
    if action.kind in _ELSEWHERE:
        raise BadInput(f"a {action.kind} is decided where it is seen: {_ELSEWHERE[action.kind]}")
    if signature.key is None or not signature.reason:
        raise BadInput("--reason is empty: say why, for that is what you sign")
    policy, clock = policy_for(settings, action.world), SystemClock()
    holds = timedelta(minutes=policy.valid_minutes_max)
    signed = sign(action, signature.key, decision=decision, reason=signature.reason, at=clock.now(), valid_for=holds)
    store.submit(signed, policy, signature.trusted)
    state = store.state(action, policy, signature.trusted)
    if as_json:
        show_json({"action": _hash(action), "decision": decision, "state": state})
    else:
        show_text(f"{_hash(action)[:_DIGITS]} {action.subject}: {decision} of {signature.key.name} taken; now {state}.")


def _rows(settings: "Settings", trusted: "Trust", *, everything: bool) -> list[dict[str, Any]]:
    from gaelp.approvals import approvals_place, is_begun, policy_for  # noqa: PLC0415 - cryptography takes its time
    from gaelp.cli.ledger_records import check_kept  # noqa: PLC0415 - sqlalchemy takes its time

    check_kept(settings)
    if not is_begun(approvals_place(settings)):
        return []  # nobody has asked for anything yet; looking begins nothing
    store = _store(settings)
    rows = []
    for request in store.requests():
        action, policy = request.action, policy_for(settings, request.action.world)
        state = "used" if store.is_used(action) else store.state(action, policy, trusted)
        if not everything and state not in ("waiting", "escalate"):
            continue
        rows.append(
            {
                "action": _hash(action)[:_DIGITS],
                "kind": action.kind,
                "subject": action.subject or f"{action.gate} of run {action.run_id}",
                "state": state,
                "signed_by": ", ".join(one.statement.approver for one in store.approvals(action)) or "nobody",
                "expires_at": request.expires_at(policy).isoformat(timespec="minutes"),
            }
        )
    return rows


def _store(settings: "Settings") -> "ApprovalStore":
    """The approvals, which have to be there: a decision is on what somebody has asked for."""
    from gaelp.approvals import ApprovalStore, approvals_place, is_begun  # noqa: PLC0415 - cryptography takes its time
    from gaelp.cli.ledger_records import check_kept  # noqa: PLC0415 - sqlalchemy takes its time

    check_kept(settings)
    place = approvals_place(settings)
    if not is_begun(place):
        where = shown(place) if isinstance(place, Path) else "the PostgreSQL database"
        raise BadInput(f"{where}: there are no approvals yet; set GAELP_HOME or --config to where they are")
    return ApprovalStore(place, SystemClock(), create=False)


def _request(store: "ApprovalStore", wanted: str) -> "ApprovalRequest":
    requests = store.requests()
    found = [request for request in requests if wanted and _hash(request.action).startswith(wanted.lower())]
    if len(found) != 1:
        known = ", ".join(_hash(request.action)[:_DIGITS] for request in requests[-10:]) or "none"
        raise BadInput(f"ACTION {wanted!r} fits {len(found)} actions; known: {known}. Give more digits of one of them")
    return found[0]


def _hash(action: "Action") -> str:
    from gaelp.approvals import action_hash  # noqa: PLC0415 - as above

    return action_hash(action)
