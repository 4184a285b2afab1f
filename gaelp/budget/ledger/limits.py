"""Set, raise, lower and reopen limits, each in one transaction that checks its preconditions."""

from dataclasses import dataclass

from sqlalchemy import Connection, text

from gaelp.budget.ledger.accounts import AdAccount, find_account
from gaelp.budget.ledger.caps import Bucket, Cap, CapKind
from gaelp.budget.ledger.connection import Ledger
from gaelp.budget.ledger.input_checks import check_amount
from gaelp.budget.ledger.refusals import CapReached, LedgerBroken
from gaelp.budget.ledger.signed import SignedChange, check_signed, is_done, remember
from gaelp.clock import account_day
from gaelp.errors import BadInput, Refused
from gaelp.money import Money

__all__ = [
    "ExpectedLimit",
    "LimitSet",
    "check_limit",
    "check_reopen",
    "known_limit",
    "limits_in_force",
    "reopen_cap",
    "set_limit",
]


@dataclass(frozen=True, slots=True)
class ExpectedLimit:
    """The limit that the caller expects to replace; None if there was no limit."""

    limit: Money | None


@dataclass(frozen=True, slots=True)
class LimitSet:
    """The limit before the call, and whether the call changed it; a signed change is made only once."""

    before: Money | None
    is_new: bool


_FIND = text("SELECT * FROM ledger_cap WHERE id = :id")
_FIND_LIMIT = text(
    "SELECT account_id, currency, limit_micros FROM ledger_limit WHERE kind = :kind AND subject = :subject"
)
_ALL_LIMITS = text("SELECT kind, subject, currency, limit_micros FROM ledger_limit ORDER BY kind, subject")
_SET_LIMIT = text(
    "INSERT INTO ledger_limit (kind, subject, account_id, currency, limit_micros)"
    " VALUES (:kind, :subject, :account_id, :currency, :limit_micros)"
    " ON CONFLICT (kind, subject) DO UPDATE SET limit_micros = excluded.limit_micros"
)
_OPEN_BUCKETS = text(
    "SELECT id FROM ledger_cap WHERE kind = :kind AND subject = :subject AND (day = '' OR day >= :today) ORDER BY id"
)
_MOVE_LIMIT = text(
    "UPDATE ledger_cap SET limit_micros = :limit_micros,"
    " breached = CASE WHEN reserved_micros + posted_micros > :limit_micros THEN 1 ELSE breached END WHERE id = :id"
)
_REOPEN = text("UPDATE ledger_cap SET breached = 0 WHERE id = :id")


def set_limit(
    ledger: Ledger,
    cap: Cap,
    limit: Money,
    *,
    account_id: str = "",
    expected: ExpectedLimit | None = None,
    signed: SignedChange | None = None,
) -> LimitSet:
    """Set or change a limit from the account's current day on; only a total spans accounts and needs no account.

    A limit below the amount already used is accepted and closes the bucket, which is the safe direction. If the limit
    is raised, it must still be the `expected` one. A `signed` change is made once, however often it is requested; after
    the first signed change, raising without signatures is refused.
    """
    with ledger.alone() as connection:
        account, before = _checked(connection, cap, limit, account_id)
        if signed is not None and is_done(connection, signed):
            return LimitSet(before, is_new=False)
        raised = before is None or before < limit
        if expected is not None and (raised or signed is not None):
            _check_expected(cap, before, expected)
        if signed is not None:
            remember(connection, signed, ledger.wall_ms())
        elif raised:
            check_signed(connection, f"limit {cap.kind} {cap.subject}: {before or 'none'} -> {limit}")
        _write(connection, ledger, cap, limit, account)
    return LimitSet(before, is_new=True)


def check_limit(
    ledger: Ledger, cap: Cap, limit: Money, *, account_id: str = "", expected: ExpectedLimit | None = None
) -> Money | None:
    """Refuse what `set_limit` would refuse without changing anything, and return the current limit."""
    with ledger.snapshot() as connection:
        before = _checked(connection, cap, limit, account_id)[1]
    if expected is not None:
        _check_expected(cap, before, expected)
    return before


def known_limit(ledger: Ledger, cap: Cap) -> Money | None:
    """The limit of a cap; None if it has none, and then nothing may be spent under it."""
    with ledger.snapshot() as connection:
        row = connection.execute(_FIND_LIMIT, _names(cap)).one_or_none()
    return None if row is None else Money(row.limit_micros, row.currency)


def limits_in_force(ledger: Ledger) -> dict[str, Money]:
    """Every limit, by `kind:subject`."""
    with ledger.snapshot() as connection:
        rows = connection.execute(_ALL_LIMITS).all()
    try:
        return {f"{row.kind}:{row.subject}": Money(row.limit_micros, row.currency) for row in rows}
    except BadInput as problem:
        raise LedgerBroken(f"a limit of the ledger cannot be read ({problem}): run `gaelp ledger verify`") from problem


def reopen_cap(ledger: Ledger, bucket: Bucket, *, signed: SignedChange | None = None) -> bool:
    """Let a breached bucket grant again; refused while its cost is above its limit.

    Return False if the same change was made already. Signatures are needed as in `set_limit`.
    """
    _refuse_mandate(bucket.cap)
    with ledger.alone() as connection:
        if signed is not None and is_done(connection, signed):
            return False
        _check_fits(connection, bucket)
        if signed is not None:
            remember(connection, signed, ledger.wall_ms())
        else:
            check_signed(connection, f"reopen {bucket.id}")
        connection.execute(_REOPEN, {"id": bucket.id})
    return True


def check_reopen(ledger: Ledger, bucket: Bucket) -> None:
    """Refuse what `reopen_cap` would refuse without changing anything."""
    _refuse_mandate(bucket.cap)
    with ledger.snapshot() as connection:
        _check_fits(connection, bucket)


def _checked(connection: Connection, cap: Cap, limit: Money, account_id: str) -> tuple[AdAccount | None, Money | None]:
    """The account of a cap and its current limit; refuses an amount, owner or currency that does not fit."""
    check_amount(limit, f"the limit of {cap.kind} {cap.subject}", least_micros=0)
    _refuse_mandate(cap)
    _check_owner(cap, account_id)
    account = find_account(connection, account_id) if account_id else None
    if account is not None:
        _check_same(cap, "currency", account.currency, limit.currency)
    before = connection.execute(_FIND_LIMIT, _names(cap)).one_or_none()
    if before is None:
        return account, None
    _check_same(cap, "currency", before.currency, limit.currency)
    _check_same(cap, "account", before.account_id, account_id)
    return account, Money(before.limit_micros, before.currency)


def _write(connection: Connection, ledger: Ledger, cap: Cap, limit: Money, account: AdAccount | None) -> None:
    values = {"account_id": account.id if account else "", "currency": limit.currency, "limit_micros": limit.micros}
    connection.execute(_SET_LIMIT, {**_names(cap), **values})
    ledger.at_point("limit set")
    today = account_day(ledger.clock.now(), account.time_zone).isoformat() if account else ""
    for bucket_id in connection.execute(_OPEN_BUCKETS, {**_names(cap), "today": today}).scalars().all():
        connection.execute(_MOVE_LIMIT, {"id": bucket_id, "limit_micros": limit.micros})


def _check_fits(connection: Connection, bucket: Bucket) -> None:
    row = connection.execute(_FIND, {"id": bucket.id}).one_or_none()
    if row is None:
        raise BadInput(f"there is no bucket {bucket.id}: `gaelp ledger show` lists them")
    used = row.reserved_micros + row.posted_micros
    if used > row.limit_micros:
        raise CapReached(
            f"{bucket.id} uses {Money(used, row.currency)} of {Money(row.limit_micros, row.currency)}: raise its"
            " limit first, or wait until reservations are settled"
        )


def _refuse_mandate(cap: Cap) -> None:
    if cap.kind.is_of_a_mandate:
        raise BadInput(
            f"{cap.kind} {cap.subject[:12]} is a ceiling of a mandate, which only its signers set: sign another mandate"
        )


def _check_owner(cap: Cap, account_id: str) -> None:
    if (cap.kind is CapKind.TOTAL) != (account_id == ""):
        raise BadInput(f"{cap.kind} {cap.subject} with account {account_id!r}: every cap but a total has an account")
    if cap.kind in (CapKind.ACCOUNT, CapKind.ACCOUNT_DAY) and cap.subject != account_id:
        raise BadInput(f"{cap.kind} {cap.subject} belongs to account {account_id!r}: its subject is the account's id")


def _check_expected(cap: Cap, now: Money | None, expected: ExpectedLimit) -> None:
    if expected.limit != now:
        raise Refused(
            f"{cap.kind} {cap.subject}: the limit is {now or 'none'} now and was {expected.limit or 'none'} when this"
            " began: somebody else has changed it. Nothing was set; check it and repeat"
        )


def _check_same(cap: Cap, what: str, known: str, given: str) -> None:
    if known != given:
        raise BadInput(
            f"{cap.kind} {cap.subject} has the {what} {known or 'none'}, not {given or 'none'}: a cap keeps its {what};"
            " give the same"
        )


def _names(cap: Cap) -> dict[str, str]:
    return {"kind": cap.kind, "subject": cap.subject}
