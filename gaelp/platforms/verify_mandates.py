"""Compare the caps of mandates with the audit log and the orders: limits as signed, closed once a mandate has ended."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, text

from gaelp.approvals import Mandate
from gaelp.budget.ledger import UNRESERVED, CapKind, Transfer, TransferState
from gaelp.budget.ledger.findings import LedgerFinding, differences
from gaelp.errors import BadInput
from gaelp.money import Micros
from gaelp.platforms.cost_booking import reserved_micros
from gaelp.platforms.order_book import OrderRow

__all__ = ["LoggedMandates", "check_ceilings", "overspent_mandates", "read_ceilings"]

_CEILINGS = text(
    "SELECT id, kind, subject, account_id, currency, limit_micros, breached FROM ledger_cap"
    " WHERE kind IN ('mandate', 'mandate_day') ORDER BY id"
)
_SENT = (TransferState.IN_FLIGHT, TransferState.POSTED)


@dataclass(frozen=True, slots=True)
class LoggedMandates:
    """What the audit log says: the signed mandates by action hash, which were revoked, and which a stop has ended."""

    signed: dict[str, Mandate] = field(default_factory=dict)
    revoked: set[str] = field(default_factory=set)
    stopped: set[str] = field(default_factory=set)

    def stop_released(self) -> None:
        """The release of a stop ends every mandate that was signed before."""
        self.stopped.update(self.signed)


def read_ceilings(connection: Connection) -> list[Row[Any]]:
    """The caps of all mandates."""
    return list(connection.execute(_CEILINGS))


def check_ceilings(
    ceilings: Iterable[Row[Any]], logged: LoggedMandates, overspent: set[str]
) -> Iterator[LedgerFinding]:
    """A cap of a mandate has the limit, account and currency that people signed, and is closed if the mandate ended."""
    for ceiling in ceilings:
        mandate = logged.signed.get(ceiling.subject)
        if mandate is None:
            yield LedgerFinding(
                where=ceiling.id, what="mandate of this cap", expected="signed, according to the log", actual="none"
            )
            continue
        limit_micros = mandate.total_micros if ceiling.kind == CapKind.MANDATE else mandate.account_daily_micros
        yield from differences(
            ceiling.id,
            ("limit, as it was signed", limit_micros, ceiling.limit_micros),
            ("account, as it was signed", mandate.account, ceiling.account_id),
            ("currency, as it was signed", mandate.currency, ceiling.currency),
        )
        if ceiling.kind != CapKind.MANDATE or ceiling.breached:
            continue
        ended = {
            "it was revoked": logged.revoked,
            "a stop": logged.stopped,
            "cost beyond what was reserved": overspent,
        }
        for why, mandates in ended.items():
            if ceiling.subject in mandates:
                yield LedgerFinding(where=ceiling.id, what=f"state, after {why}", expected="closed", actual="open")


def overspent_mandates(orders: Iterable[OrderRow], transfers: dict[str, Transfer]) -> set[str]:
    """Mandates that `reconcile` closes: their campaign cost more on a day than was reserved, after an order of theirs.

    Orders that cannot be read are skipped: they are reported by themselves.
    """
    excess_micros: Counter[tuple[str, str, str]] = Counter()  # by account, campaign and day
    sent: list[tuple[OrderRow, str]] = []
    for row in orders:
        transfer = transfers.get(row.key)
        if transfer is None:
            continue
        excess_micros[row.account_id, row.campaign, transfer.day] += _excess_micros(transfer)
        mandate = _mandate_of(row)
        if mandate is not None and (row.outcome == "done" or (not row.outcome and transfer.state in _SENT)):
            sent.append((row, mandate))
    for transfer in transfers.values():
        campaign = next((cap.subject for cap in transfer.caps if cap.kind is CapKind.CAMPAIGN), None)
        if transfer.key.startswith(UNRESERVED) and transfer.state is TransferState.VOIDED and campaign is not None:
            excess_micros[transfer.account_id, campaign, transfer.day] += _excess_micros(transfer)
    beyond = [place for place, micros in excess_micros.items() if micros > 0]
    return {
        mandate
        for row, mandate in sent
        if any((row.account_id, row.campaign) == place[:2] and row.day <= place[2] for place in beyond)
    }


def _excess_micros(transfer: Transfer) -> Micros:
    return transfer.posted_micros + transfer.adjusted_micros - reserved_micros([transfer])


def _mandate_of(row: OrderRow) -> str | None:
    try:
        return row.order.mandate
    except (ValueError, BadInput):
        return None
