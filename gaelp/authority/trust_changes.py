"""Change the list of trusted approvers, and record the change in the audit log."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from gaelp.approvals import AuditLog, Trust, approvals_place, open_database
from gaelp.approvals.trust import change_trust
from gaelp.authority.audit_records import check_approvals_kept
from gaelp.clock import SystemClock
from gaelp.config.settings import Settings

__all__ = ["change_trusted"]


def change_trusted(
    settings: Settings, path: Path, kind: str, body: dict[str, Any], change: Callable[[Trust, datetime], Trust]
) -> Trust:
    """Change the list in a file; the audit log is written first, so that no change goes unrecorded."""
    check_approvals_kept(settings)
    at = SystemClock().now()

    def record_and_change(trust: Trust) -> Trust:
        changed = change(trust, at)
        AuditLog(open_database(approvals_place(settings))).append(kind, {**body, "file": str(path)}, at)
        return changed

    return change_trust(path, record_and_change)
