"""Ads are reviewed before they serve: when a review that begins now is over."""

import hashlib
from datetime import datetime, timedelta

from gaelp.sandbox.spec import SandboxSpec

__all__ = ["review_ends"]


def review_ends(spec: SandboxSpec, ad_set: int, creative: int, now: datetime) -> datetime:
    """How long it takes is drawn from the sandbox's seed, the creative and the ad set."""
    digest = hashlib.blake2b(f"{spec.seed}/{ad_set}/{creative}".encode(), digest_size=8).digest()
    share = int.from_bytes(digest, "big") / 2**64
    return now + timedelta(hours=spec.review.hours_low + share * (spec.review.hours_high - spec.review.hours_low))
