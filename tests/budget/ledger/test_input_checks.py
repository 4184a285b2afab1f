"""Keys and amounts are checked before they reach the database."""

import pytest

from gaelp.budget.ledger.input_checks import MAX_WORD_LENGTH, check_amount, check_word
from gaelp.budget.ledger.schema import MAX_AMOUNT_MICROS
from gaelp.errors import BadInput, MoneyError
from gaelp.money import Money


@pytest.mark.parametrize("word", ["", " a", "a ", "a\nb", "a\x00", "a" * (MAX_WORD_LENGTH + 1), None, 7])
def test_a_word_that_is_no_short_printable_line_is_refused(word):
    with pytest.raises(BadInput, match=r"the key is .* allowed: one printable line"):
        check_word(word, "the key")


def test_a_word_of_the_largest_length_is_returned_unchanged():
    assert check_word("ü" * MAX_WORD_LENGTH, "the key") == "ü" * MAX_WORD_LENGTH


@pytest.mark.parametrize("micros", [-1, MAX_AMOUNT_MICROS + 1])
def test_an_amount_outside_the_range_is_refused(micros):
    with pytest.raises(MoneyError, match="allowed: 0 to"):
        check_amount(Money(micros, "USD"), "the amount", least_micros=0)


@pytest.mark.parametrize("amount", [1, 1.0, "1", None])
def test_what_is_not_money_is_refused(amount):
    with pytest.raises(MoneyError, match="give Money"):
        check_amount(amount, "the amount", least_micros=0)
