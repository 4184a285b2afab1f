"""Revoked keys in the audit log: a key that is revoked on one machine counts on none that shares the database.

The list of approvers is a file of each home. Revoking only takes power away, so a revocation in the log is believed
everywhere. Trusting gives power, so a row of the log is not enough for that: each home's own file must name the key.
"""

from datetime import datetime
from pathlib import Path

from gaelp.approvals.audit import AuditRow, check_no_gap
from gaelp.approvals.canonical import parse
from gaelp.approvals.database import Session, approvals_place, is_begun, open_database
from gaelp.approvals.trust import Approver, Trust, load_trust, trust_place
from gaelp.config.settings import Settings
from gaelp.errors import Refused

__all__ = [
    "KEY_REVOKED",
    "KEY_TRUSTED",
    "LoggedKeys",
    "logged_keys",
    "names_trusted_elsewhere",
    "read_logged_keys",
    "trusted_approvers",
]

KEY_TRUSTED, KEY_REVOKED = "trust.added", "trust.revoked"


class LoggedKeys:
    """Which keys the audit log says were trusted and revoked; names that differ in case alone are one person."""

    def __init__(self) -> None:
        self.in_force: dict[str, set[str]] = {}  # name to public keys
        self._revoked_names: dict[str, list[datetime]] = {}
        self._revoked_keys: dict[str, datetime] = {}

    def trust(self, name: str, public_key: str) -> None:
        """Note that a key was trusted; one that was revoked before stays revoked."""
        if public_key not in self._revoked_keys:
            self.in_force.setdefault(name.casefold(), set()).add(public_key)

    def revoke(self, name: str, at: datetime) -> None:
        """Note that all keys of a name were revoked."""
        self._revoked_names.setdefault(name.casefold(), []).append(at)
        for key in self.in_force.pop(name.casefold(), ()):
            self._revoked_keys[key] = at

    def apply(self, trust: Trust) -> Trust:
        """The list with every key revoked that was revoked on any machine."""
        approvers = tuple(self._apply(entry) for entry in trust.approvers)
        return trust if approvers == trust.approvers else Trust(approvers=approvers)

    def _apply(self, entry: Approver) -> Approver:
        times = [at for at in self._revoked_names.get(entry.name.casefold(), ()) if at >= entry.added_at]
        if entry.public_key in self._revoked_keys:
            times.append(max(self._revoked_keys[entry.public_key], entry.added_at))
        earliest = min(times, default=None)
        if earliest is None or (entry.revoked_at is not None and entry.revoked_at <= earliest):
            return entry
        return entry.model_copy(update={"revoked_at": earliest})


def read_logged_keys(session: Session) -> LoggedKeys:
    """What the log says about keys; Refused if one of these rows was changed."""
    keys = LoggedKeys()
    query = "SELECT seq, at, kind, body, previous_hash, hash FROM audit WHERE kind IN (?, ?) ORDER BY seq"
    for row in (AuditRow(*values) for values in session.execute(query, (KEY_TRUSTED, KEY_REVOKED))):
        body = parse(row.checked_body())
        name, key = (body.get("name"), body.get("public_key")) if isinstance(body, dict) else (None, None)
        if row.kind == KEY_REVOKED:
            if not isinstance(name, str):
                raise Refused(f"row {row.seq} of the audit log is {row.kind} and names nobody: GAELP did not write it")
            keys.revoke(name, datetime.fromisoformat(row.at))
        elif isinstance(name, str) and isinstance(key, str):
            keys.trust(name, key)
    return keys


def logged_keys(settings: Settings) -> LoggedKeys:
    """What the audit log of these settings says about keys; a database that does not answer is an error."""
    place = approvals_place(settings)
    if not is_begun(place):
        return LoggedKeys()
    with open_database(place, create=False).reading() as session:
        check_no_gap(session)
        return read_logged_keys(session)


def names_trusted_elsewhere(settings: Settings, trust: Trust) -> list[str]:
    """Whose keys the log says are in force, although this list does not name them."""
    listed = {entry.public_key for entry in trust.approvers}
    return sorted(name for name, keys in logged_keys(settings).in_force.items() if keys - listed)


def trusted_approvers(settings: Settings, path: Path | None = None) -> Trust:
    """The list in a file, by default that of the settings, without the keys that were revoked on any machine."""
    return logged_keys(settings).apply(load_trust(path or trust_place(settings)))
