"""What a pilot's campaigns are called on the platform and in the ledger."""

import hashlib
import re

__all__ = ["pilot_campaign_name"]

_MOST = 64
_OTHER = re.compile(r"[^A-Za-z0-9._-]+")
_DIGITS = 8


def pilot_campaign_name(pilot: str, logged_as: str) -> str:
    """A name for a logged campaign's counterpart that no other pilot has.

    The ledger counts spending by campaign name. Two pilots with one name would share a limit.
    """
    plain = f"{pilot}-{_OTHER.sub('-', logged_as).strip('-')}"
    if len(plain) <= _MOST and plain == f"{pilot}-{logged_as}":
        return plain
    return f"{plain[: _MOST - _DIGITS - 1]}-{hashlib.sha256(f'{pilot}/{logged_as}'.encode()).hexdigest()[:_DIGITS]}"
