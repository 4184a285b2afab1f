"""Disable an ad account as Meta does, or enable it again: a control of the sandbox, not a call of the API."""

from gaelp.errors import BadInput
from gaelp.sandbox.meta.account_objects import AccountObjects
from gaelp.sandbox.meta.account_state import store_disabled
from gaelp.sandbox.meta.graph import accounts_of
from gaelp.sandbox.meta.object_writes import ObjectWrites
from gaelp.sandbox.world import SandboxWorld

__all__ = ["set_disabled"]


def set_disabled(world: SandboxWorld, account_id: str, *, disabled: bool) -> None:
    """Disable an account, which stops its campaigns, or enable it, which lets them serve again."""
    accounts = {account.id: account for account in accounts_of(world.spec)}
    if account_id not in accounts:
        raise BadInput(f"there is no Meta account {account_id!r}; this world has {', '.join(accounts)}")
    with world.call() as call:
        objects = AccountObjects(call, accounts[account_id])
        store_disabled(objects, disabled=disabled)
        ObjectWrites(objects, world.spec).serve_all()
