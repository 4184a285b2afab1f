"""One contradiction in the books, as `verify` tells it."""

from collections.abc import Iterator

from gaelp.config.base import Frozen

__all__ = ["LedgerFinding", "differences"]


class LedgerFinding(Frozen):
    """One contradiction: where it is, what was recomputed and what stands there."""

    where: str
    what: str
    expected: int | str
    found: int | str


def differences(where: str, *compared: tuple[str, int | str, int | str]) -> Iterator[LedgerFinding]:
    """A finding for each (what, expected, found) whose two values are not the same."""
    for what, expected, found in compared:
        if expected != found:
            yield LedgerFinding(where=where, what=what, expected=expected, found=found)
