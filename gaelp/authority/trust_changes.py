"""Trust and revoke the keys of approvers: first in the audit log, so that each change is recorded, then in the list."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from gaelp.approvals import AuditLog, Trust, approvals_place, load_policy, open_database
from gaelp.approvals.keys import PublicKeyFile
from gaelp.approvals.revocations import KEY_REVOKED, KEY_TRUSTED, logged_keys
from gaelp.approvals.trust import change_trust
from gaelp.authority.audit_records import check_approvals_kept
from gaelp.clock import SystemClock
from gaelp.config.settings import Settings
from gaelp.config.suggest import nearest
from gaelp.errors import BadInput, Refused

__all__ = ["revoke_key", "trust_key"]


def trust_key(settings: Settings, path: Path, offered: PublicKeyFile, roles: tuple[str, ...]) -> Trust:
    """Add a key to the list in a file, with roles that the approval policy of the settings knows."""
    _check_roles(settings, roles)

    def add(listed: Trust) -> Trust:
        at, logged = SystemClock().now(), logged_keys(settings)
        changed = logged.apply(listed).with_key(offered, roles, at)
        if logged.apply(changed) != changed:
            raise Refused(
                f"this key of {offered.name!r} was revoked, here or on another machine that shares the audit log"
                f" (`gaelp audit show --kind {KEY_REVOKED}`): make a new one with `gaelp keys new {offered.name}`"
            )
        body = {"name": offered.name, "public_key": offered.public_key, "roles": list(roles)}
        _append(settings, KEY_TRUSTED, {**body, "file": str(path)}, at)
        return changed

    return _change(settings, path, add)


def revoke_key(settings: Settings, path: Path, name: str) -> Trust:
    """Revoke the key of a name in the list of a file, and through the audit log in every home that shares it."""

    def revoke(listed: Trust) -> Trust:
        at, current = SystemClock().now(), logged_keys(settings).apply(listed)
        if current.has_key_in_force(name) or not listed.has_key_in_force(name):
            current = current.without(name, at)
            _append(settings, KEY_REVOKED, {"name": name, "file": str(path)}, at)
        return current  # without another row if the log has it: from another machine, or from before a crash

    return _change(settings, path, revoke)


def _check_roles(settings: Settings, roles: tuple[str, ...]) -> None:
    known = load_policy(settings.approvals.policy).role_names
    for role in roles:
        if role not in known:
            raise BadInput(
                f"--role {role}: the policy {settings.approvals.policy} knows {', '.join(known)}."
                f"{nearest(role, known)} Choose one of these, or give the settings that name another policy"
            )


def _change(settings: Settings, path: Path, change: Callable[[Trust], Trust]) -> Trust:
    check_approvals_kept(settings)
    return change_trust(path, change)


def _append(settings: Settings, kind: str, body: dict[str, Any], at: datetime) -> None:
    AuditLog(open_database(approvals_place(settings))).append(kind, body, at)
