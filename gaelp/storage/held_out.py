"""Which campaigns are held out: decided by a keyed hash of the name, so a campaign is always on the same side."""

import hashlib

__all__ = ["is_held_out"]

_DIGEST_BYTES = 8


def is_held_out(campaign: str, *, key: str, share: float) -> bool:
    """Whether a campaign is one of the held-out `share` under this key; other campaigns play no part in it."""
    digest = hashlib.blake2b(campaign.encode(), digest_size=_DIGEST_BYTES, key=key.encode()).digest()
    return int.from_bytes(digest) < share * float(1 << (8 * _DIGEST_BYTES))
