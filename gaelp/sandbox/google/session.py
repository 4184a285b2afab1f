"""One request to the Google front inside its world call: the account, its resources, and how it serves afterwards."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from gaelp.sandbox.google.account_store import AccountStore
from gaelp.sandbox.google.accounts import AdsCaller, Customers
from gaelp.sandbox.google.ad_review import AdReviews
from gaelp.sandbox.google.computed_fields import ReadableResources
from gaelp.sandbox.google.messages import Message
from gaelp.sandbox.google.mutate import MutateBatch
from gaelp.sandbox.google.serving_projection import CampaignProjection
from gaelp.sandbox.spec import SandboxSpec
from gaelp.sandbox.world_call import WorldCall

__all__ = ["AdsHandler", "AdsSession", "ValidatedOnly"]


class ValidatedOnly(Exception):
    """The request was to be checked only: nothing of it is kept, and this is its answer."""

    def __init__(self, answer: Message) -> None:
        super().__init__("validate_only")
        self.answer = answer


@dataclass(frozen=True, slots=True)
class AdsSession:
    """What a handler works with."""

    call: WorldCall
    spec: SandboxSpec
    caller: AdsCaller
    request_id: str
    customer: str  # empty for the few methods that concern no account

    @property
    def customers(self) -> Customers:
        """The accounts of the sandbox."""
        return Customers(self.spec)

    def store(self) -> AccountStore:
        """The account's resources."""
        return AccountStore(self.call, self.customer, self.spec.zone)

    def reviews(self, store: AccountStore) -> AdReviews:
        """The reviews of its adverts."""
        return AdReviews(store, self.spec.review, self.spec.seed)

    def readable(self) -> ReadableResources:
        """The account's resources as a reader sees them."""
        store = self.store()
        return ReadableResources(store, self.reviews(store), self.customers.is_suspended(self.call, self.customer))

    def begin_change(self, operations: int) -> MutateBatch:
        """A batch of changes, once account and quota allow it."""
        self.customers.check_change(self.call, self.customer)
        self.customers.count(self.call, self.customer, operations)
        store = self.store()
        return MutateBatch(store, self.reviews(store), self.caller.editor)

    def serve(self, store: AccountStore, campaigns: Iterable[str]) -> None:
        """Give the exchange these campaigns as they are now."""
        suspended = self.customers.is_suspended(self.call, self.customer)
        limits, reviews = self.spec.overdelivery.google.limits(), self.reviews(store)
        for name in sorted(campaigns):
            campaign = store.refer(name) if name else None
            if campaign is None:
                continue
            projection = CampaignProjection(store, reviews, campaign, limits)
            for moment, served in projection.served(suspended=suspended):
                self.call.serve(served, at=moment if moment > self.call.now else None)


AdsHandler: TypeAlias = Callable[[AdsSession, Any], Any]  # a message, or a list of messages for a stream
