"""Whether an ad account may advertise: the platform can disable it, and all its campaigns stop."""

import json

from gaelp.sandbox.meta.account_objects import AccountObjects
from gaelp.sandbox.world_call import Resource

__all__ = ["is_disabled", "store_disabled"]

_KIND = "meta/account"


def is_disabled(objects: AccountObjects) -> bool:
    """Whether the account is disabled (`account_status` 2)."""
    stored = objects.call.resource(objects.account.id, _KIND, int(objects.account.id))
    return stored is not None and bool(json.loads(stored.body)["disabled"])


def store_disabled(objects: AccountObjects, *, disabled: bool) -> None:
    """Disable the account, or enable it again; `ObjectWrites.serve_all` passes it on to the exchange."""
    body = json.dumps({"disabled": disabled}).encode()
    objects.call.put(Resource(objects.account.id, _KIND, int(objects.account.id), "", body))
