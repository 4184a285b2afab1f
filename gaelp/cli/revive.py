"""`gaelp revive`: release the emergency stop, with signed approvals."""

from gaelp.approvals import SignedAction, load_policy
from gaelp.approvals.policy import LIVE
from gaelp.authority.audit_records import open_approvals
from gaelp.authority.signatures import Signer, require_signed
from gaelp.bootstrap import kill_switch, should_have_books
from gaelp.budget.kill_switch import StopState
from gaelp.budget.stop_alerts import alert_released
from gaelp.budget.stop_report_text import describe_stops
from gaelp.cli.options import ConfigOption, JsonOption, SetOption, same_settings
from gaelp.cli.output import show_json, show_paragraph, show_text
from gaelp.cli.signing import KeyOption, PassphraseFileOption, ReasonOption, TrustOption, signer_from
from gaelp.cli.stop_report import report_problems
from gaelp.clock import SystemClock
from gaelp.config import load_settings
from gaelp.config.settings import Settings
from gaelp.errors import Refused

__all__ = ["revive"]

_NO_LEDGER_HERE = "No ledger was found here: if it is elsewhere, its fence is still raised."


def revive(
    key: KeyOption = None,
    reason: ReasonOption = "",
    passphrase_file: PassphraseFileOption = None,
    trust_file: TrustOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let spending resume: everyone who approves runs this with their key, and the last one needed releases the stop.

    **Examples**

    - `gaelp revive` shows which stop is in force and what its release needs

    - `gaelp revive --key ~/.config/gaelp/keys/ann.key --reason "the bid was fixed"`

    An approval is only for the stop in force: a stop made meanwhile needs its own approvals. Campaigns that are paused
    on the platform stay paused.
    """
    settings = load_settings(config, overrides=overrides or ()).settings
    signer = signer_from(settings, key, reason, passphrase_file, trust_file)
    asked_at = SystemClock().now()
    released = kill_switch(settings).release(
        lambda state: _require_approval(state, settings, signer, same_settings(config, overrides))
    )
    elsewhere = "" if should_have_books(settings) else f" {_NO_LEDGER_HERE}"
    why = f"{signer.reason}{elsewhere}"
    report_problems(settings, lambda: alert_released(settings, released.stop_ids, why, asked_at=asked_at))
    if as_json:
        show_json({"stopped": False, "released": list(released.stop_ids)})
    elif released.is_stopped:
        show_paragraph(
            f"Released: {', '.join(released.stop_ids)}. Campaigns that were paused stay paused until they are enabled,"
            f" and mandates that ended with the stop have to be proposed again.{elsewhere}"
        )
    else:
        show_text("Nothing is stopped.")


def _require_approval(state: StopState, settings: Settings, signer: Signer, settings_again: str) -> None:
    """Raise unless the release of exactly these stops is approved; sign it first if a key is given."""
    # Always the live policy: the switch does not know whether it stopped real money. The requester is not a person, so
    # that everyone may approve and all sign the same action.
    policy, stops = load_policy(LIVE), ", ".join(state.stop_ids)
    action = SignedAction(kind="revive", run_id="kill-switch", requester="kill-switch", subject=stops)
    store = open_approvals(settings)
    try:
        require_signed(store, action, policy, signer, _what_is_needed(state, policy.quorum, settings_again))
    except Refused as refusal:
        is_over = store.is_requested(action) and store.state(action, policy, signer.trust) in ("expired", "rejected")
        if not is_over:
            raise
        again = "To ask again, pull the kill switch again: its new stop can be approved"
        raise Refused(f"{str(refusal).rstrip('.')}. {again}") from refusal


def _what_is_needed(state: StopState, quorum: int, settings_again: str) -> str:
    return (
        f"{describe_stops(state.stops)}. Releasing it needs a signed approval of exactly {', '.join(state.stop_ids)} by"
        f" {quorum} people: each runs `gaelp revive --key FILE --reason WHY{settings_again}`"
    )
