"""Money as an exact whole number of micros of one currency: parse, print, add, compare and split.

One unit of a currency is 1_000_000 micros. No float comes near an amount: what cannot be exact is refused.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import total_ordering
from typing import ClassVar, NoReturn, Self, TypeAlias

from gaelp.errors import MoneyError

__all__ = ["MAX_MICROS", "MICROS_PER_UNIT", "MIN_MICROS", "Micros", "Money"]

Micros: TypeAlias = int

MICROS_PER_UNIT = 1_000_000
MAX_MICROS = 2**63 - 1
MIN_MICROS = -(2**63)
_DECIMALS = 6
_MAX_TEXT_LENGTH = 64
_MAX_PARTS = 1_000_000

# Active codes of ISO 4217 that an account can be billed in, by the number of their minor digits.
_CODES_BY_MINOR_DIGITS = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF",
    2: """AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY COP
          CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR
          IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN
          NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP
          STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VES WST XCD XCG YER ZAR ZMW ZWG""",
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF",
}
_MINOR_DIGITS = {code: digits for digits, codes in _CODES_BY_MINOR_DIGITS.items() for code in codes.split()}
_CURRENCY_BY_SYMBOL = {
    "$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₩": "KRW", "₪": "ILS",
    "₫": "VND", "₱": "PHP", "₴": "UAH", "₹": "INR", "₺": "TRY", "₦": "NGN",
}  # fmt: skip
_SYMBOL_BY_CURRENCY = {code: symbol for symbol, code in _CURRENCY_BY_SYMBOL.items()}
# Currencies whose people write the same symbol: with one of them as the default, the bare symbol is ambiguous.
_ALSO_WRITTEN_WITH = {
    "$": "ARS AUD BBD BMD BND BSD BZD CAD CLP COP FJD GYD HKD JMD KYD LRD MXN NAD NZD SGD TTD TWD UYU",
    "£": "EGP FKP GIP LBP SHP SSP SYP",
    "¥": "CNY",
}
_MARK = rf"[A-Za-z]{{3}}|[{''.join(_CURRENCY_BY_SYMBOL)}]"
_AMOUNT = re.compile(rf"(?P<sign>[+-]?)(?P<before>{_MARK})?[ ]?(?P<number>[0-9][0-9.,]*)[ ]?(?P<after>{_MARK})?")
_NUMBER = re.compile(r"(?P<whole>[0-9]+|[0-9]{1,3}(?:,[0-9]{3})+)(?:\.(?P<decimals>[0-9]+))?")


@total_ordering
@dataclass(frozen=True, slots=True)
class Money:
    """An exact amount of one currency; ordering and arithmetic across currencies are refused.

    `str(money)` prints it, `Money.parse` reads it back unchanged. Equality across currencies is plainly false.
    """

    micros: Micros
    currency: str

    # Without it pydantic would turn 1.0 and True into an amount before the checks below see them.
    __pydantic_config__: ClassVar[dict[str, bool]] = {"strict": True}
    # Makes numpy leave `number * money` to the checks below; an array of money is an int64 array of micros.
    __array_ufunc__: ClassVar[None] = None

    def __post_init__(self) -> None:
        _require_int(self.micros, "an amount in micros")
        if not MIN_MICROS <= self.micros <= MAX_MICROS:
            raise MoneyError(
                f"{_shown(self.micros)} micros do not fit a signed 64-bit integer ({MIN_MICROS} to {MAX_MICROS}): "
                "check for an amount that was already in micros, or split it"
            )
        _require_currency(self.currency)

    @classmethod
    def parse(cls, text: str, currency: str | None = None) -> Self:
        """Read "$12.34", "12.34 USD", "1,234.50 EUR" or "-£3"; `currency` is the one of a number without any.

        The point separates decimals (at most six), the comma groups thousands. Anything else is refused.
        """
        match = _AMOUNT.fullmatch(_require_text(text).strip())
        if match is None:
            _refuse(text, "is not an amount", 'write it like "12.34 USD", "$12.34" or "-1,234.50 EUR"')
        micros = _number_to_micros(match["number"], text)
        code = _currency_of(match["before"], match["after"], currency, text)
        return cls(-micros if match["sign"] == "-" else micros, code)

    def __str__(self) -> str:
        """Symbol where the currency has one of its own, else the code; as many decimals as exactness needs."""
        whole, rest = divmod(abs(self.micros), MICROS_PER_UNIT)
        decimals = f"{rest:06d}".rstrip("0").ljust(_MINOR_DIGITS[self.currency], "0")
        number = f"{whole:,}.{decimals}" if decimals else f"{whole:,}"
        sign = "-" if self.micros < 0 else ""
        symbol = _SYMBOL_BY_CURRENCY.get(self.currency)
        return f"{sign}{symbol}{number}" if symbol else f"{sign}{number} {self.currency}"

    def __add__(self, other: "Money") -> "Money":
        return Money(self.micros + self._micros_of(other, "add"), self.currency)

    def __sub__(self, other: "Money") -> "Money":
        return Money(self.micros - self._micros_of(other, "subtract"), self.currency)

    def __mul__(self, factor: int) -> "Money":
        return Money(self.micros * _require_int(factor, "a factor"), self.currency)

    __rmul__ = __mul__

    def __neg__(self) -> "Money":
        return Money(-self.micros, self.currency)

    def __lt__(self, other: "Money") -> bool:
        return self.micros < self._micros_of(other, "compare")

    def split(self, parts: int) -> tuple["Money", ...]:
        """Split into parts that sum exactly to this amount and differ by at most one micro, larger ones first."""
        if not 1 <= _require_int(parts, "a number of parts") <= _MAX_PARTS:
            raise MoneyError(f"cannot split {self} into {_shown(parts)} parts: ask for 1 to {_MAX_PARTS}")
        return self.allocate((1,) * parts)

    def allocate(self, weights: Sequence[int]) -> tuple["Money", ...]:
        """Share out in proportion to whole weights; the parts sum exactly to this amount.

        Each part is rounded towards zero; the micros left over go one each to the parts that lost most by it, the
        earlier of two equals first. A weight of zero gets zero, and a negative amount splits like its positive.
        """
        total_weight = _require_weights(weights, self)
        amount = abs(self.micros)
        shares, losses = zip(*(divmod(amount * weight, total_weight) for weight in weights), strict=True)
        left_over = amount - sum(shares)
        favoured = set(sorted(range(len(shares)), key=lambda part: -losses[part])[:left_over])
        sign = -1 if self.micros < 0 else 1
        return tuple(Money(sign * (share + (part in favoured)), self.currency) for part, share in enumerate(shares))

    def _micros_of(self, other: object, verb: str) -> Micros:
        if not isinstance(other, Money):
            raise MoneyError(f"cannot {verb} {other!r} and {self}: give both as Money")
        if other.currency != self.currency:
            raise MoneyError(f"cannot {verb} {other.currency} and {self.currency} ({other}, {self}): convert one first")
        return other.micros


def _number_to_micros(number: str, text: str) -> Micros:
    match = _NUMBER.fullmatch(number)
    if match is None:
        _refuse(text, "is ambiguous", 'use the point for decimals and the comma for thousands only, as in "1,234.50"')
    decimals = match["decimals"] or ""
    if len(decimals) > _DECIMALS:
        _refuse(text, f"has {len(decimals)} decimals, exact are {_DECIMALS}", "round it yourself, the way you mean it")
    return int(match["whole"].replace(",", "")) * MICROS_PER_UNIT + int(decimals.ljust(_DECIMALS, "0"))


def _currency_of(before: str | None, after: str | None, default: str | None, text: str) -> str:
    if default is not None:
        _require_currency(default)
    if before and after:
        _refuse(text, "names its currency twice", 'name it once, as in "12.34 USD"')
    mark = before or after or default
    if mark is None:
        _refuse(text, "has no currency", 'add one, as in "12.34 USD"')
    code = _CURRENCY_BY_SYMBOL.get(mark, mark)
    if default in _ALSO_WRITTEN_WITH.get(mark, "").split():
        _refuse(text, f"may mean {code} or {default}", f'write the code, as in "12.34 {default}"')
    return code


def _require_int(value: object, what: str) -> int:
    # An exact type: bool is an int to Python, and numpy integers wrap around silently.
    if type(value) is not int:
        raise MoneyError(
            f"{what} is {value!r} ({type(value).__name__}), only int is exact: convert it on purpose or parse text"
        )
    return value


def _require_currency(code: object) -> None:
    if not isinstance(code, str) or code not in _MINOR_DIGITS:
        near = get_close_matches(str(code).upper(), sorted(_MINOR_DIGITS))
        advice = f"did you mean {' or '.join(near)}?" if near else "give a code such as USD or EUR"
        raise MoneyError(f"{code!r} is not a currency of ISO 4217 (three capital letters): {advice}")


def _require_text(text: object) -> str:
    if not isinstance(text, str):
        raise MoneyError(f"{text!r} ({type(text).__name__}) is not text: Money.parse reads str such as '12.34 USD'")
    if len(text) > _MAX_TEXT_LENGTH:
        _refuse(text[:16] + "…", f"has {len(text)} characters, allowed are {_MAX_TEXT_LENGTH}", "give one amount")
    return text


def _require_weights(weights: Sequence[int], amount: Money) -> int:
    if any(_require_int(weight, "a weight") < 0 for weight in weights) or not any(weights):
        shown = ", ".join(_shown(weight) for weight in weights[:8])
        raise MoneyError(f"cannot share out {amount} by weights [{shown}]: give none below 0 and at least one above")
    return sum(weights)


def _refuse(text: str, problem: str, way_out: str) -> NoReturn:
    raise MoneyError(f"{text!r} {problem}: {way_out}")


def _shown(number: int) -> str:
    # Python refuses to print integers of thousands of digits, with an error of its own.
    return str(number) if number.bit_length() < 256 else f"a number of {number.bit_length()} bits"
