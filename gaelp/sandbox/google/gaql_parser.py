"""Parse the Google Ads Query Language: SELECT, FROM, WHERE, ORDER BY, LIMIT and PARAMETERS, with Google's errors."""

import re
from dataclasses import dataclass
from typing import NoReturn

from gaelp.sandbox.google.failures import AdsError, AdsRefusal

__all__ = ["GaqlCondition", "GaqlOrder", "GaqlQuery", "parse_gaql"]

_TOKEN = re.compile(
    r"\s*(?:(?P<string>'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")"
    r"|(?P<number>-?\d+(?:\.\d+)?(?![\w.]))"
    r"|(?P<word>[A-Za-z_][\w.]*)"
    r"|(?P<sign>!=|<=|>=|[=<>(),]))"
)
_ESCAPE = re.compile(r"\\(.)")
_COMPARISONS = frozenset({"=", "!=", "<", ">", "<=", ">="})
_PARAMETERS = frozenset({"include_drafts", "omit_unselected_resource_names"})


@dataclass(frozen=True, slots=True)
class GaqlCondition:
    """One condition of WHERE; `operator` in capitals, such as NOT IN; a string or name is kept as text."""

    field: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GaqlOrder:
    """One field of ORDER BY."""

    field: str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class GaqlQuery:
    """A query whose form is right; whether its fields exist is another matter."""

    fields: tuple[str, ...]
    resource: str
    conditions: tuple[GaqlCondition, ...] = ()
    order: tuple[GaqlOrder, ...] = ()
    limit: int | None = None
    parameters: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str

    @property
    def keyword(self) -> str:
        return self.text.upper() if self.kind == "word" else self.text if self.kind == "sign" else ""


def _refuse(code: str, message: str, trigger: str = "") -> NoReturn:
    raise AdsRefusal(AdsError("query_error", code, f"Error in query: {message}", trigger=trigger))


def _tokens(query: str) -> list[_Token]:
    tokens: list[_Token] = []
    place, end = 0, len(query.rstrip())
    while place < end:
        match = _TOKEN.match(query, place)
        if match is None or match.lastgroup is None:
            _refuse_symbol(query[place:].lstrip())
        tokens.append(_Token(match.lastgroup, match.group(match.lastgroup)))
        place = match.end()
    return tokens


def _refuse_symbol(rest: str) -> NoReturn:
    if rest[0] in "'\"":
        line = rest.split("\n", 1)[0]
        if "\n" in rest and rest[0] in rest.split("\n", 1)[1]:
            _refuse("PROHIBITED_NEWLINE_IN_STRING", f"unexpected newline in string {line}.", line)
        _refuse("STRING_NOT_TERMINATED", f"string {line} is not terminated.", line)
    if re.match(r"-?\d", rest):
        word = rest.split(maxsplit=1)[0]
        _refuse("BAD_NUMBER", f"invalid number '{word}'.", word)
    _refuse("BAD_SYMBOL", f"unexpected character '{rest[0]}'.", rest[0])


class _Reader:
    """Reads the tokens of one query from left to right."""

    def __init__(self, query: str) -> None:
        self._tokens = _tokens(query)
        self._place = 0

    def peek(self) -> _Token | None:
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def next(self, expected: str) -> _Token:
        token = self.peek()
        if token is None:
            _refuse("UNEXPECTED_END_OF_QUERY", f"unexpected end of query, expected {expected}.")
        self._place += 1
        return token

    def take(self, *keywords: str) -> bool:
        """Whether the next tokens are these words; they are consumed if so."""
        following = self._tokens[self._place : self._place + len(keywords)]
        if tuple(token.keyword for token in following) != keywords:
            return False
        self._place += len(keywords)
        return True

    def name(self, expected: str) -> str:
        token = self.next(expected)
        if token.kind != "word":
            _refuse("BAD_FIELD_NAME", f"invalid field name '{token.text}', expected {expected}.", token.text)
        return token.text

    def value(self) -> str:
        token = self.next("a value")
        if token.kind == "string":
            return _unquoted(token.text)
        if token.kind == "sign":
            _refuse("BAD_VALUE", f"invalid value '{token.text}'.", token.text)
        return token.text

    def list_of_values(self) -> tuple[str, ...]:
        if not self.take("("):
            _refuse("EXPECTED_LIST", "expected a list of values in parentheses.")
        if self.take(")"):
            _refuse("PROHIBITED_EMPTY_LIST_IN_CONDITION", "a list in a condition must not be empty.")
        values = [self.value()]
        while self.take(","):
            values.append(self.value())
        if not self.take(")"):
            _refuse("UNEXPECTED_INPUT", "expected ',' or ')' in a list of values.")
        return tuple(values)


def _unquoted(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        if match.group(1) not in "'\"\\[]%_":
            _refuse("BAD_ESCAPE_SEQUENCE", f"invalid escape sequence '{match.group()}'.", match.group())
        return match.group(1)

    return _ESCAPE.sub(character, text[1:-1])


def parse_gaql(query: str) -> GaqlQuery:
    """The parts of a query; AdsRefusal with Google's QueryError if its form is wrong."""
    reader = _Reader(query)
    if not reader.take("SELECT"):
        _refuse("EXPECTED_SELECT", "Expected SELECT clause.")
    fields = [reader.name("a field")]
    while reader.take(","):
        fields.append(reader.name("a field"))
    if not reader.take("FROM"):
        following = reader.peek()
        if following is not None:
            _refuse("EXPECTED_FROM", f"Expected FROM clause, not '{following.text}'.", following.text)
        _refuse("EXPECTED_FROM", "Expected FROM clause.")
    resource = reader.name("a resource")
    if reader.take(","):
        _refuse("UNEXPECTED_INPUT", "only one resource may be named in FROM.")
    parsed = GaqlQuery(
        tuple(dict.fromkeys(fields)),
        resource,
        _conditions(reader),
        _order(reader),
        _limit(reader),
        _parameters(reader),
    )
    rest = reader.peek()
    if rest is not None:
        _refuse("UNEXPECTED_INPUT", f"unexpected input '{rest.text}'.", rest.text)
    return parsed


def _conditions(reader: _Reader) -> tuple[GaqlCondition, ...]:
    if not reader.take("WHERE"):
        return ()
    conditions = [_condition(reader)]
    while reader.take("AND"):
        conditions.append(_condition(reader))
    following = reader.peek()
    if following is not None and following.keyword not in {"ORDER", "LIMIT", "PARAMETERS"}:
        _refuse("EXPECTED_AND", f"expected AND between conditions, not '{following.text}'.", following.text)
    return tuple(conditions)


_WITH_VALUE = (("NOT", "LIKE"), ("NOT", "REGEXP_MATCH"))
_WITH_LIST = (("NOT", "IN"), ("IN",), ("CONTAINS", "ANY"), ("CONTAINS", "ALL"), ("CONTAINS", "NONE"))
_WITH_NOTHING = (("IS", "NOT", "NULL"), ("IS", "NULL"))


def _condition(reader: _Reader) -> GaqlCondition:
    field = reader.name("a field")
    for choices, read in (
        (_WITH_VALUE, lambda: (reader.value(),)),
        (_WITH_LIST, reader.list_of_values),
        (_WITH_NOTHING, tuple),
        ((("BETWEEN",),), lambda: _both_ends(reader)),
    ):
        for words in choices:
            if reader.take(*words):
                return GaqlCondition(field, " ".join(words), read())
    token = reader.next("an operator")
    if token.keyword not in _COMPARISONS | {"LIKE", "DURING", "REGEXP_MATCH"}:
        _refuse("BAD_OPERATOR", f"invalid operator '{token.text}'.", token.text)
    if reader.take("("):
        _refuse("EXPECTED_SINGLE_VALUE", f"operator {token.text} takes one value, not a list.")
    return GaqlCondition(field, token.keyword, (reader.value(),))


def _both_ends(reader: _Reader) -> tuple[str, str]:
    low = reader.value()
    if not reader.take("AND"):
        _refuse("EXPECTED_VALUE_WITH_BETWEEN_OPERATOR", "expected 'BETWEEN low AND high'.")
    return low, reader.value()


def _order(reader: _Reader) -> tuple[GaqlOrder, ...]:
    if not reader.take("ORDER"):
        return ()
    if not reader.take("BY"):
        _refuse("EXPECTED_BY", "Expected BY after ORDER.")
    order: list[GaqlOrder] = []
    while not order or reader.take(","):
        field = reader.name("a field")
        descending = reader.take("DESC")
        if not descending:
            reader.take("ASC")
        order.append(GaqlOrder(field, descending))
    return tuple(order)


def _limit(reader: _Reader) -> int | None:
    if not reader.take("LIMIT"):
        return None
    token = reader.next("a number")
    if token.kind != "number" or "." in token.text:
        _refuse("BAD_LIMIT_VALUE", f"invalid LIMIT '{token.text}', expected a whole number.", token.text)
    if int(token.text) < 1:
        _refuse("LIMIT_VALUE_TOO_LOW", f"LIMIT {token.text} is too low, expected at least 1.", token.text)
    return int(token.text)


def _parameters(reader: _Reader) -> tuple[tuple[str, str], ...]:
    if not reader.take("PARAMETERS"):
        return ()
    parameters: list[tuple[str, str]] = []
    while not parameters or reader.take(","):
        name = reader.name("a parameter")
        if name not in _PARAMETERS:
            _refuse(
                "BAD_PARAMETER_NAME", f"invalid parameter '{name}', allowed: {', '.join(sorted(_PARAMETERS))}.", name
            )
        if not reader.take("="):
            _refuse("UNEXPECTED_INPUT", f"expected '=' after parameter {name}.", name)
        value = reader.value().lower()
        if value not in {"true", "false"}:
            _refuse("BAD_PARAMETER_VALUE", f"invalid value '{value}' of {name}, expected true or false.", value)
        parameters.append((name, value))
    return tuple(parameters)
