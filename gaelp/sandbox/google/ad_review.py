"""Adverts are reviewed before they serve: when each was submitted, and when its review is over."""

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta

from gaelp.sandbox.google.account_store import AccountStore
from gaelp.sandbox.google.messages import Message, set_enum
from gaelp.sandbox.spec import ReviewSpec
from gaelp.sandbox.world_call import Resource

__all__ = ["AdReviews"]

_STORED_AS = "google/ad_review"


class AdReviews:
    """The reviews of one account; how long each takes is drawn from the sandbox's seed and the advert's id."""

    def __init__(self, store: AccountStore, spec: ReviewSpec, seed: int) -> None:
        self.store, self._spec, self._seed = store, spec, seed
        self._ends: dict[int, datetime] | None = None  # by advert, read once

    def submit(self, ad_id: int, over: datetime | None = None) -> None:
        """Start the review of a new or changed advert; a copy of one that was reviewed has the same end."""
        self._keep(ad_id, over or self._draw(ad_id))

    def _draw(self, ad_id: int) -> datetime:
        digest = hashlib.blake2b(f"{self._seed}/{ad_id}".encode(), digest_size=8).digest()
        share = int.from_bytes(digest, "big") / 2**64
        hours = self._spec.hours_low + share * (self._spec.hours_high - self._spec.hours_low)
        return self.store.call.now + timedelta(hours=hours)

    def _keep(self, ad_id: int, over: datetime) -> None:
        body = over.isoformat().encode()
        self.store.call.put(Resource(self.store.account, _STORED_AS, ad_id, "", body))
        if self._ends is not None:
            self._ends[ad_id] = over

    def approved_at(self, ad_id: int) -> datetime:
        """When the review is over, or was."""
        if self._ends is None:
            self._ends = dict(self.store.call.derived(self.store.account, _STORED_AS, _ends))
        if ad_id not in self._ends:
            raise LookupError(f"advert {ad_id} was never submitted for review: the sandbox's state is damaged")
        return self._ends[ad_id]

    def show(self, ad_group_ad: Message) -> None:
        """Fill the policy summary of an advert as it is now."""
        is_over = self.approved_at(ad_group_ad.ad.id) <= self.store.call.now
        set_enum(ad_group_ad.policy_summary, "review_status", "REVIEWED" if is_over else "REVIEW_IN_PROGRESS")
        set_enum(ad_group_ad.policy_summary, "approval_status", "APPROVED" if is_over else "UNKNOWN")


def _ends(stored: Sequence[Resource]) -> dict[int, datetime]:
    return {item.id: datetime.fromisoformat(item.body.decode()) for item in stored}
