"""A request for signatures in words, for the person who signs: what is signed, who has decided, what is missing."""

from gaelp.approvals import ApprovalRequest, SignedAction, action_hash, describe_mandate
from gaelp.approvals.approval import Statement
from gaelp.authority.requests import subject_of
from gaelp.money import Money

__all__ = ["describe_decisions", "describe_signed"]

_DIGITS = 12
_WORLDS = {"live": "live: real money can move", "sandbox": "sandbox: no real money can move"}


def describe_signed(request: ApprovalRequest) -> tuple[str, ...]:
    """Every field that is signed, one statement a line; hashes by their first digits."""
    action = request.action
    head = f"Action {action_hash(action)[:_DIGITS]} ({action.kind}): {subject_of(action)}."
    if action.mandate is not None:
        return (head, *describe_mandate(action.mandate, action.world))
    lines = [head, f"World: {_WORLDS[action.world]}."]
    if action.account:
        lines.append(f"Account: {action.account}" + (f", in {action.currency}." if action.currency else "."))
    if action.campaigns:
        lines.append(f"Campaigns ({len(action.campaigns)}): {', '.join(action.campaigns)}.")
    lines += [f"{name.capitalize()}: {_amount(action, micros)}." for name, micros in action.limits_micros.items()]
    hashes = {"Model": action.model_hash, "Verdict": action.evidence_hash, "Content": action.config_hash}
    lines += [f"{name}: {digits[:_DIGITS]}." for name, digits in hashes.items() if digits]
    attempt = f", attempt {action.attempt}" if action.attempt else ""
    return (*lines, f"Asked for by {action.requester}, run {action.run_id}{attempt}.")


def describe_decisions(statements: tuple[Statement, ...]) -> tuple[str, ...]:
    """Who has approved or rejected, when and why, one decision a line."""
    return tuple(
        f"{said.approver} {said.decision}s, {said.issued_at:%Y-%m-%d %H:%M} UTC: {said.reason}." for said in statements
    ) or ("Nobody has decided yet.",)


def _amount(action: SignedAction, micros: int) -> str:
    return str(Money(micros, action.currency)) if action.currency else f"{micros:,} micros"
