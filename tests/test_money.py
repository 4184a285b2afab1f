import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from gaelp.errors import MoneyError
from gaelp.money import MAX_MICROS, MICROS_PER_UNIT, MIN_MICROS, Money

CURRENCIES = ["USD", "EUR", "GBP", "JPY", "CHF", "CAD", "KWD", "CLF", "KRW"]
amounts = st.builds(Money, st.integers(MIN_MICROS, MAX_MICROS), st.sampled_from(CURRENCIES))
dollars = st.builds(Money, st.integers(-(10**15), 10**15), st.just("USD"))
not_exact = pytest.mark.parametrize(
    "number", [1.0, 0.1, math.nan, math.inf, True, "1", None, Decimal(1), Fraction(1), np.int64(1), np.float64(1)]
)


@pytest.mark.parametrize(
    ("text", "micros", "currency"),
    [
        ("$12.34", 12_340_000, "USD"),
        ("12.34 USD", 12_340_000, "USD"),
        ("USD 12.34", 12_340_000, "USD"),
        ("1,234.50 EUR", 1_234_500_000, "EUR"),
        ("1,234,567 EUR", 1_234_567_000_000, "EUR"),
        ("€5", 5_000_000, "EUR"),
        ("5 €", 5_000_000, "EUR"),
        ("-3.00 GBP", -3_000_000, "GBP"),
        ("-£3", -3_000_000, "GBP"),
        ("+3 GBP", 3_000_000, "GBP"),
        ("¥500", 500_000_000, "JPY"),
        ("$0.000001", 1, "USD"),
        ("  $1  ", 1_000_000, "USD"),
        ("-0 USD", 0, "USD"),
        ("9223372036854.775807 USD", MAX_MICROS, "USD"),
        ("-9223372036854.775808 USD", MIN_MICROS, "USD"),
    ],
)
def test_usual_ways_to_write_an_amount_are_read_exactly(text, micros, currency):
    assert Money.parse(text) == Money(micros, currency)


def test_a_bare_number_takes_the_given_currency_and_a_named_one_keeps_its_own():
    assert Money.parse("12.5", currency="CHF") == Money(12_500_000, "CHF")
    assert Money.parse("12.5 EUR", currency="CHF") == Money(12_500_000, "EUR")


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("1.234,50 EUR", "use the point for decimals"),
        ("12,34 EUR", "use the point for decimals"),
        ("1,2345 EUR", "use the point for decimals"),
        ("1234,567.00 EUR", "use the point for decimals"),
        ("1.2.3 EUR", "use the point for decimals"),
        ("5. EUR", "use the point for decimals"),
        ("0.1234567 USD", "round it yourself"),
        ("0.1000000 USD", "round it yourself"),
        ("12.34", "add one, as in"),
        ("$5 USD", "name it once"),
        ("5 UDS", " or USD"),
        ("5 usd", "did you mean USD"),
        ("", "write it like"),
        ("$", "write it like"),
        ("--5 USD", "write it like"),
        (".5 USD", "write it like"),
        ("1e3 USD", "write it like"),
        ("1_000 USD", "write it like"),
        ("٣ USD", "write it like"),
        ("nan USD", "write it like"),
        ("inf", "write it like"),
        ("5 USD\n6 USD", "write it like"),
        ("9223372036854.775808 USD", "signed 64-bit"),
        ("9" * 60 + " USD", "signed 64-bit"),
        ("9" * 10_000 + " USD", "10004 characters"),
    ],
)
def test_what_is_not_surely_one_amount_is_refused_with_advice(text, advice):
    with pytest.raises(MoneyError, match=advice):
        Money.parse(text)


def test_a_dollar_sign_is_refused_where_the_account_is_in_another_dollar():
    with pytest.raises(MoneyError, match="may mean USD or CAD"):
        Money.parse("$5", currency="CAD")
    assert Money.parse("$5", currency="EUR") == Money(5_000_000, "USD")


@pytest.mark.parametrize("text", [5, 5.0, None, b"5 USD", True])
def test_only_text_is_parsed(text):
    with pytest.raises(MoneyError, match="is not text"):
        Money.parse(text, currency="USD")


@pytest.mark.parametrize(
    ("money", "text"),
    [
        (Money(12_340_000, "USD"), "$12.34"),
        (Money(-1_234_500_000, "EUR"), "-€1,234.50"),
        (Money(1_234_567_500_000, "CHF"), "1,234,567.50 CHF"),
        (Money(-3_000_000, "CAD"), "-3.00 CAD"),
        (Money(500_000_000, "JPY"), "¥500"),
        (Money(500_100_000, "JPY"), "¥500.1"),
        (Money(1_500_000, "KWD"), "1.500 KWD"),
        (Money(1, "USD"), "$0.000001"),
        (Money(1_234_000, "USD"), "$1.234"),
        (Money(0, "USD"), "$0.00"),
    ],
)
def test_amounts_print_with_their_currencys_digits_and_never_lose_a_micro(money, text):
    assert str(money) == text


@given(amounts)
def test_what_is_printed_reads_back_unchanged(money):
    assert Money.parse(str(money)) == money


@given(amounts, amounts)
def test_order_is_that_of_the_micros_within_one_currency_and_refused_across(one, other):
    if one.currency == other.currency:
        assert (one < other, one <= other, one > other, one >= other) == (
            one.micros < other.micros,
            one.micros <= other.micros,
            one.micros > other.micros,
            one.micros >= other.micros,
        )
    else:
        assert one != other
        for compare in (one.__lt__, one.__le__, one.__gt__, one.__ge__):
            with pytest.raises(MoneyError, match="convert one first"):
                compare(other)


@given(dollars, dollars, st.integers(-1000, 1000))
def test_arithmetic_is_that_of_whole_numbers(one, other, factor):
    assert (one + other) - other == one
    assert (one - other).micros == one.micros - other.micros
    assert one * factor == factor * one == Money(one.micros * factor, "USD")
    assert -one + one == Money(0, "USD")


def test_mixed_currencies_are_not_added_or_subtracted():
    for operation in (Money(1, "USD").__add__, Money(1, "USD").__sub__):
        with pytest.raises(MoneyError, match="EUR and USD"):
            operation(Money(1, "EUR"))


@not_exact
def test_nothing_but_an_int_becomes_an_amount_a_factor_or_a_weight(number):
    money = Money(10, "USD")
    for make in (
        lambda: Money(number, "USD"),
        lambda: money * number,
        lambda: number * money,
        lambda: money.split(number),
        lambda: money.allocate([1, number]),
    ):
        with pytest.raises(MoneyError, match="only int is exact"):
            make()


@not_exact
def test_a_plain_number_is_no_money_to_add_or_compare_with(number):
    money = Money(10, "USD")
    for operation in (money.__add__, money.__sub__, money.__lt__):
        with pytest.raises(MoneyError, match="give both as Money"):
            operation(number)
    assert money != number


@pytest.mark.parametrize(
    "overflow",
    [
        lambda: Money(MAX_MICROS + 1, "USD"),
        lambda: Money(MIN_MICROS - 1, "USD"),
        lambda: Money(MAX_MICROS, "USD") + Money(1, "USD"),
        lambda: Money(MIN_MICROS, "USD") - Money(1, "USD"),
        lambda: Money(2**62, "USD") * 2,
        lambda: Money(1, "USD") * 10**5000,
        lambda: -Money(MIN_MICROS, "USD"),
    ],
)
def test_an_amount_beyond_64_bits_is_refused(overflow):
    with pytest.raises(MoneyError, match="signed 64-bit"):
        overflow()


@pytest.mark.parametrize("code", ["", "usd", "US", "USDT", "XXX", "US$", None, 840])
def test_a_currency_is_an_iso_code(code):
    with pytest.raises(MoneyError, match="ISO 4217"):
        Money(1, code)
    with pytest.raises(MoneyError):
        Money.parse("5 USD", currency=code or "")


@given(amounts, st.integers(1, 200))
def test_parts_of_a_split_sum_exactly_and_differ_by_at_most_a_micro(money, parts):
    split = money.split(parts)
    micros = [part.micros for part in split]
    assert len(split) == parts
    assert sum(micros) == money.micros
    assert max(micros) - min(micros) <= 1
    assert sorted(split, key=lambda part: -abs(part.micros)) == list(split)
    assert {part.currency for part in split} == {money.currency}


@given(amounts, st.lists(st.integers(0, 2**40), min_size=1, max_size=50).filter(any))
def test_shares_sum_exactly_and_stray_less_than_a_micro_from_their_weight(money, weights):
    shares = money.allocate(weights)
    assert sum(share.micros for share in shares) == money.micros
    for share, weight in zip(shares, weights, strict=True):
        assert abs(share.micros - Fraction(money.micros * weight, sum(weights))) < 1
        assert weight > 0 or share.micros == 0


def test_left_over_micros_go_to_the_largest_loss_and_then_to_the_earlier_part():
    assert [part.micros for part in Money(100, "USD").allocate([1, 1, 1])] == [34, 33, 33]
    assert [part.micros for part in Money(10, "USD").allocate([1, 2, 3])] == [2, 3, 5]
    assert [part.micros for part in Money(-10, "USD").allocate([1, 2, 3])] == [-2, -3, -5]


@pytest.mark.parametrize("weights", [[], [0], [0, 0], [1, -1], [-1], [-(10**5000)]])
def test_weights_that_share_out_nothing_are_refused(weights):
    with pytest.raises(MoneyError, match="at least one above"):
        Money(10, "USD").allocate(weights)


@pytest.mark.parametrize("parts", [0, -1, 10**12, pytest.param(10**5000, id="huge")])
def test_a_split_needs_a_sensible_number_of_parts(parts):
    with pytest.raises(MoneyError, match="ask for 1 to"):
        Money(10, "USD").split(parts)


@given(st.integers(0, 9_223_372_036_853), st.text("0123456789", max_size=6))
def test_no_decimal_is_lost_in_reading(whole, decimals):
    text = f"{whole}.{decimals} USD" if decimals else f"{whole} USD"
    assert Fraction(Money.parse(text).micros, MICROS_PER_UNIT) == Fraction(text.removesuffix(" USD"))


def test_money_is_a_frozen_hashable_value():
    assert {Money(1, "USD"), Money(1, "USD"), Money(1, "EUR")} == {Money(1, "USD"), Money(1, "EUR")}
    with pytest.raises(AttributeError):
        Money(1, "USD").micros = 2


@pytest.mark.parametrize("micros", ["1.0", "true", '"1"'])
def test_pydantic_does_not_soften_a_number_into_money(micros):
    class Bill(BaseModel):
        total: Money

    assert Bill.model_validate_json('{"total": {"micros": 1, "currency": "USD"}}').total == Money(1, "USD")
    with pytest.raises(ValidationError, match=r"total\.micros"):
        Bill.model_validate_json(f'{{"total": {{"micros": {micros}, "currency": "USD"}}}}')
