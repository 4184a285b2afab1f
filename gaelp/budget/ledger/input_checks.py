"""Validate the keys, ids, reasons and amounts that the ledger is given."""

from gaelp.budget.ledger.schema import MAX_AMOUNT_MICROS
from gaelp.errors import BadInput, MoneyError
from gaelp.money import Money

__all__ = ["MAX_WORD_LENGTH", "UNRESERVED", "check_amount", "check_word"]

MAX_WORD_LENGTH = 200
UNRESERVED = "unreserved/"  # prefix of transfer keys for cost that nobody reserved; no order may use it


def check_word(word: object, what: str) -> str:
    """Return a word that is one short printable line without surrounding spaces, which would break comparisons."""
    if isinstance(word, str) and 0 < len(word) <= MAX_WORD_LENGTH and word.isprintable() and word == word.strip():
        return word
    raise BadInput(f"{what} is {repr(word)[:60]}; allowed: one printable line of 1 to {MAX_WORD_LENGTH} characters")


def check_amount(amount: object, what: str, *, least_micros: int) -> Money:
    """Return an amount that is exact money within the range of the ledger."""
    if not isinstance(amount, Money):
        raise MoneyError(f"{what} is {amount!r} ({type(amount).__name__}): give Money, such as Money(2_500_000, 'USD')")
    if not least_micros <= amount.micros <= MAX_AMOUNT_MICROS:
        raise MoneyError(
            f"{what} is {amount.micros} micros; allowed: {least_micros} to {MAX_AMOUNT_MICROS}. Check the unit."
        )
    return amount
