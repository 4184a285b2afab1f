"""Conditions of WHERE: check value and operator against the field's type, and compile to a predicate on its value."""

import operator
import re
from collections.abc import Callable, Mapping
from datetime import date
from types import MappingProxyType
from typing import Any, TypeAlias

from gaelp.sandbox.google.date_ranges import DATE_RANGES, named_range
from gaelp.sandbox.google.gaql_fields import GaqlField, query_refusal
from gaelp.sandbox.google.gaql_parser import GaqlCondition

__all__ = ["DAY_FIELDS", "Predicate", "compile_condition"]

Predicate: TypeAlias = Callable[[Any], bool]

_DATE_TIMES = frozenset({"change_event.change_date_time"})
DAY_FIELDS = frozenset({"segments.date", "segments.week", "segments.month", "segments.quarter"})  # values are days
_ORDERED: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge}
)
_LISTS = ("CONTAINS ANY", "CONTAINS ALL", "CONTAINS NONE")
_TEXTS = ("LIKE", "NOT LIKE", "REGEXP_MATCH", "NOT REGEXP_MATCH")


def compile_condition(condition: GaqlCondition, field: GaqlField, today: date) -> Predicate:
    """A predicate on the field's value (None if unset); AdsRefusal if operator or value does not fit the field."""
    kind = condition.operator
    if kind in {"IS NULL", "IS NOT NULL"}:
        empty = kind == "IS NULL"
        return lambda value: (value is None or value in ("", [])) == empty
    if kind == "DURING":
        return _during(condition, field, today)
    if kind in _LISTS:
        return _contains(condition, field)
    if field.repeated or field.type == "message":
        raise _mismatch(condition, field)
    return _text_pattern(condition, field) if kind in _TEXTS else _comparison(condition, field)


def _comparison(condition: GaqlCondition, field: GaqlField) -> Predicate:
    kind = condition.operator
    values = [_convert(text, field) for text in condition.values]
    if kind in {"IN", "=", "NOT IN", "!="}:
        inside = kind in {"IN", "="}
        return lambda value: (value in values) == inside
    if field.type in {"enum", "bool"}:
        raise _mismatch(condition, field)
    if kind == "BETWEEN":
        low, high = values
        if low > high:
            trigger = f"{condition.values[0]} AND {condition.values[1]}"
            raise query_refusal("INVALID_VALUE_WITH_BETWEEN_OPERATOR", f"BETWEEN {trigger}: low exceeds high.", trigger)
        return lambda value: value is not None and low <= value <= high
    compare = _ORDERED[kind]
    return lambda value: value is not None and compare(value, values[0])


def _mismatch(condition: GaqlCondition, field: GaqlField) -> Exception:
    message = f"operator {condition.operator} cannot be used with the field '{field.path}'."
    return query_refusal("OPERATOR_FIELD_MISMATCH", message, condition.operator)


def _convert(text: str, field: GaqlField) -> Any:
    if field.type == "enum":
        if text not in field.enum_values:
            raise query_refusal("BAD_ENUM_CONSTANT", f"invalid enum value '{text}' for '{field.path}'.", text)
        return text
    if field.type == "bool":
        if text.lower() not in {"true", "false"}:
            raise query_refusal(
                "BAD_VALUE", f"invalid value '{text}' for '{field.path}', expected TRUE or FALSE.", text
            )
        return text.lower() == "true"
    if field.type == "number":
        return _number(text, field)
    if field.path in DAY_FIELDS:
        return _day(text, field)
    return text


def _number(text: str, field: GaqlField) -> float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise query_refusal("BAD_NUMBER", f"invalid number '{text}' for '{field.path}'.", text) from None


def _day(text: str, field: GaqlField) -> str:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        message = f"invalid date '{text}' for '{field.path}', expected YYYY-MM-DD."
        raise query_refusal("INVALID_DATE_FORMAT", message, text) from None
    aligned = {"segments.week": day.weekday() == 0, "segments.month": day.day == 1}
    if not aligned.get(field.path, True):
        message = f"'{text}' is not the first day of a period of '{field.path}'."
        raise query_refusal("MISALIGNED_DATE_FOR_FILTER", message, text)
    return day.isoformat()


def _during(condition: GaqlCondition, field: GaqlField, today: date) -> Predicate:
    if field.path != "segments.date" and field.path not in _DATE_TIMES:
        raise _mismatch(condition, field)
    days = named_range(condition.values[0], today)
    if days is None:
        message = f"invalid date range '{condition.values[0]}', allowed: {', '.join(DATE_RANGES)}."
        raise query_refusal("INVALID_VALUE_WITH_DURING_OPERATOR", message, condition.values[0])
    first, last = (day.isoformat() for day in days)
    return lambda value: value is not None and first <= value[:10] <= last


def _contains(condition: GaqlCondition, field: GaqlField) -> Predicate:
    if not field.repeated or field.type == "message":
        raise _mismatch(condition, field)
    wanted = {_convert(text, field) for text in condition.values}
    if condition.operator == "CONTAINS ALL":
        return lambda value: wanted <= set(value or ())
    overlap = condition.operator == "CONTAINS ANY"
    return lambda value: bool(wanted & set(value or ())) == overlap


def _text_pattern(condition: GaqlCondition, field: GaqlField) -> Predicate:
    if field.type != "string":
        raise _mismatch(condition, field)
    try:
        if condition.operator.endswith("LIKE"):
            pattern = re.compile(_like_pattern(condition.values[0]), re.IGNORECASE | re.DOTALL)
        else:
            pattern = re.compile(condition.values[0], re.DOTALL)
    except re.error as problem:
        message = f"invalid pattern '{condition.values[0]}': {problem}."
        raise query_refusal("BAD_VALUE", message, condition.values[0]) from None
    matches = not condition.operator.startswith("NOT")
    return lambda value: (pattern.fullmatch(value or "") is not None) == matches


def _like_pattern(text: str) -> str:
    """LIKE's pattern as a regular expression: % is any text, _ any character, [%] and [_] the characters themselves."""
    parts = re.findall(r"\[[\[\]%_]\]|.", text, re.DOTALL)
    signs = {"%": ".*", "_": "."}
    return "".join(signs.get(part) or re.escape(part[1] if len(part) == 3 else part) for part in parts)
