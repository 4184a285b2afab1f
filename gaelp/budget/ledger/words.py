"""What a key, an id or a reason may look like in the ledger, and which amounts it takes."""

from gaelp.budget.ledger.schema import MAX_AMOUNT_MICROS
from gaelp.errors import BadInput, MoneyError
from gaelp.money import Money

__all__ = ["MAX_WORD_LENGTH", "UNRESERVED", "check_amount", "check_word"]

MAX_WORD_LENGTH = 200
UNRESERVED = "unreserved/"  # begins the keys of transfers for cost that no order reserved; no order may have one


def check_word(word: object, what: str) -> str:
    """The word itself if it is one short printable line; keys and ids are compared as they are, so no spaces around."""
    if isinstance(word, str) and 0 < len(word) <= MAX_WORD_LENGTH and word.isprintable() and word == word.strip():
        return word
    seen = repr(word)[:60]
    raise BadInput(f"{what} is {seen}; allowed: one printable line of 1 to {MAX_WORD_LENGTH} characters. Name it so.")


def check_amount(amount: object, what: str, *, least_micros: int) -> Money:
    """The amount itself if it is exact money that the ledger can hold."""
    if not isinstance(amount, Money):
        raise MoneyError(f"{what} is {amount!r} ({type(amount).__name__}): give Money, such as Money(2_500_000, 'USD')")
    if not least_micros <= amount.micros <= MAX_AMOUNT_MICROS:
        raise MoneyError(
            f"{what} is {amount.micros} micros; allowed: {least_micros} to {MAX_AMOUNT_MICROS}. Check the unit."
        )
    return amount
