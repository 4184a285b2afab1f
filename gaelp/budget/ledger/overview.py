"""The current state of the ledger: every cap with its headroom, and the number of transfers in each state."""

from typing import Any

from sqlalchemy import Connection, Row, text

from gaelp.budget.ledger.caps import Bucket, Cap, CapKind
from gaelp.budget.ledger.connection import Ledger
from gaelp.budget.ledger.fence import fence_state
from gaelp.budget.ledger.refusals import LedgerBroken
from gaelp.budget.ledger.transfers import TransferState
from gaelp.clock import account_day
from gaelp.config.base import Frozen
from gaelp.errors import BadInput
from gaelp.money import Micros

__all__ = ["CapStatus", "Overview", "StateTotal", "overview"]


class CapStatus(Frozen):
    """A bucket; its headroom is negative if real cost exceeds the limit.

    `breached`: closed, so that nothing is granted. A mandate that has ended is closed as well.
    """

    id: str
    kind: str
    subject: str
    day: str
    account_id: str
    currency: str
    limit_micros: Micros
    reserved_micros: Micros
    posted_micros: Micros
    headroom_micros: Micros
    breached: bool

    @property
    def is_over_limit(self) -> bool:
        """Whether real cost exceeds the limit."""
        return self.posted_micros > self.limit_micros


class StateTotal(Frozen):
    """The number of transfers in a state per currency, with what they reserved and what they cost."""

    state: TransferState
    currency: str
    transfers: int
    amount_micros: Micros
    cost_micros: Micros


class Overview(Frozen):
    """The ledger at one instant."""

    stopped: bool
    caps: tuple[CapStatus, ...]
    states: tuple[StateTotal, ...]


_CAPS = text(
    "SELECT id, kind, subject, day, account_id, currency, limit_micros, reserved_micros, posted_micros, breached"
    " FROM ledger_cap ORDER BY kind, subject, day"
)
_LIMITS = text(
    "SELECT kind, subject, account_id, ledger_limit.currency, limit_micros, time_zone FROM ledger_limit"
    " LEFT JOIN ledger_account ON ledger_account.id = account_id ORDER BY kind, subject"
)
_STATES = text(
    "SELECT state, currency, COUNT(*) AS transfers, SUM(amount_micros) AS amount,"
    " SUM(posted_micros + adjusted_micros) AS cost FROM ledger_transfer GROUP BY state, currency"
    " ORDER BY state, currency"
)


def overview(ledger: Ledger) -> Overview:
    """Read caps and totals from one snapshot."""
    with ledger.snapshot() as connection:
        fenced = fence_state(connection) is not None
        caps = _used_caps(connection)
        caps += _untouched_caps(connection, ledger, {cap.id for cap in caps})
        states = tuple(
            StateTotal(
                state=TransferState(row.state),
                currency=row.currency,
                transfers=row.transfers,
                amount_micros=int(row.amount),
                cost_micros=int(row.cost),
            )
            for row in connection.execute(_STATES)
        )
    return Overview(
        stopped=fenced or ledger.latch.is_set(),
        caps=tuple(sorted(caps, key=lambda cap: (cap.kind, cap.subject, cap.day))),
        states=states,
    )


def _used_caps(connection: Connection) -> list[CapStatus]:
    return [
        CapStatus(
            **row._asdict() | {"breached": bool(row.breached)},
            headroom_micros=row.limit_micros - row.reserved_micros - row.posted_micros,
        )
        for row in connection.execute(_CAPS)
    ]


def _untouched_caps(connection: Connection, ledger: Ledger, used: set[str]) -> list[CapStatus]:
    """Limits without a bucket yet (for caps that count days, today's): the first use opens it."""
    caps = []
    for row in connection.execute(_LIMITS):
        cap = _cap_of(row)
        day = account_day(ledger.clock.now(), row.time_zone).isoformat() if cap.kind.counts_days else ""
        if Bucket(cap, day).id in used:
            continue
        caps.append(
            CapStatus(
                id=Bucket(cap, day).id,
                kind=row.kind,
                subject=row.subject,
                day=day,
                account_id=row.account_id,
                currency=row.currency,
                limit_micros=row.limit_micros,
                reserved_micros=0,
                posted_micros=0,
                headroom_micros=row.limit_micros,
                breached=False,
            )
        )
    return caps


def _cap_of(row: Row[Any]) -> Cap:
    """The cap of a limit; raise for an unknown kind, or if the account whose days count is missing."""
    try:
        cap = Cap(CapKind(row.kind), row.subject)
        if not cap.kind.counts_days or row.time_zone is not None:
            return cap
        problem = f"of account {row.account_id!r}, which is missing from the ledger"
    except (ValueError, BadInput):
        problem = "of an unknown kind"
    raise LedgerBroken(
        f"the limit {row.kind} {row.subject} is {problem}: run `gaelp ledger verify`, and restore a copy of the"
        " database that verifies"
    )
