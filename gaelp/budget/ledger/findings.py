"""A contradiction in the ledger, as `verify` reports it."""

from collections.abc import Iterator

from pydantic import ConfigDict, Field

from gaelp.config.base import Frozen

__all__ = ["LedgerFinding", "differences"]


class LedgerFinding(Frozen):
    """A contradiction: where it is, what was compared, the recomputed value and the stored one."""

    model_config = ConfigDict(serialize_by_alias=True)

    where: str
    what: str
    expected: int | str
    actual: int | str = Field(serialization_alias="found")


def differences(where: str, *compared: tuple[str, int | str, int | str]) -> Iterator[LedgerFinding]:
    """Yield a finding for each (what, expected, actual) whose two values differ."""
    for what, expected, actual in compared:
        if expected != actual:
            yield LedgerFinding(where=where, what=what, expected=expected, actual=actual)
