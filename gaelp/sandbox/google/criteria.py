"""Criteria: their type, the id each has in every account, and the checks of keywords, schedules and modifiers."""

import hashlib
from collections.abc import Iterator

from gaelp.sandbox.google.account_store import AccountStore, key_of
from gaelp.sandbox.google.failures import AdsError, Unsupported
from gaelp.sandbox.google.messages import Message, enum_name, enum_values

__all__ = ["check_criterion", "check_modifier_criterion", "criterion_id", "criterion_type", "device_of"]

_DEVICE_IDS = {"DESKTOP": 30000, "MOBILE": 30001, "TABLET": 30002, "CONNECTED_TV": 30004}
_BAD_KEYWORD_CHARACTERS = frozenset("!@%,*=<>;^~`(){}|\\")
_MAX_KEYWORD_LENGTH, _MAX_KEYWORD_WORDS = 80, 10
_LOWEST_MODIFIER, _HIGHEST_MODIFIER = 0.1, 10.0


def criterion_type(message: Message) -> str:
    """Which criterion a message has, such as keyword; empty if none."""
    return message.WhichOneof("criterion") or ""


def device_of(number: int) -> str:
    """The device of a criterion id; empty if it is another criterion."""
    return next((name for name, value in _DEVICE_IDS.items() if value == number), "")


def criterion_id(message: Message) -> int:
    """The same criterion has the same id everywhere, as in the real API; devices and places have well-known ids."""
    kind = criterion_type(message)
    content = getattr(message, kind)
    if kind == "device":
        return _DEVICE_IDS[enum_name(content, "type")]
    if kind in {"location", "language"}:
        constant = content.geo_target_constant if kind == "location" else content.language_constant
        return int(key_of(constant))
    text = f"{content.text.lower()}|{enum_name(content, 'match_type')}" if kind == "keyword" else str(content)
    digest = hashlib.blake2b(f"{kind}|{text}".encode(), digest_size=5).digest()
    return 10**9 + int.from_bytes(digest, "big")


def _error(category: str, code: str, message: str, *fields: str, trigger: str = "") -> AdsError:
    return AdsError(category, code, message, tuple((field, None) for field in fields), trigger)


def check_criterion(message: Message, _before: Message | None, store: AccountStore) -> Iterator[AdsError]:
    """Of an ad group or a campaign."""
    kind = criterion_type(message)
    if not kind:
        yield _error("criterion_error", "CONCRETE_TYPE_REQUIRED", "A criterion of one concrete type is required.")
        return
    if kind.upper() not in enum_values(message.DESCRIPTOR, "type"):
        raise Unsupported(f"criteria of type {kind}")
    if kind == "keyword":
        yield from _check_keyword(message.keyword)
    if kind in {"location", "language"}:
        yield from _check_constant(message, kind)
    if kind == "device" and enum_name(message.device, "type") not in _DEVICE_IDS:
        yield _error("field_error", "REQUIRED", f"Device type is one of {', '.join(_DEVICE_IDS)}.", "device", "type")
    if kind == "ad_schedule":
        yield from _check_schedule(message, store)
    if message.HasField("bid_modifier"):
        yield from _check_modifier(message, kind)


def _check_keyword(keyword: Message) -> Iterator[AdsError]:
    text = keyword.text
    if not text.strip():
        yield _error("field_error", "REQUIRED", "Keyword text is required.", "keyword", "text")
        return
    if enum_name(keyword, "match_type") in {"UNSPECIFIED", "UNKNOWN"}:
        yield _error("field_error", "REQUIRED", "The match type of a keyword is required.", "keyword", "match_type")
    checks = (
        (
            len(text) > _MAX_KEYWORD_LENGTH,
            "KEYWORD_TEXT_TOO_LONG",
            f"Keyword text exceeds {_MAX_KEYWORD_LENGTH} characters.",
        ),
        (
            len(text.split()) > _MAX_KEYWORD_WORDS,
            "KEYWORD_HAS_TOO_MANY_WORDS",
            f"Keyword has more than {_MAX_KEYWORD_WORDS} words.",
        ),
        (
            bool(_BAD_KEYWORD_CHARACTERS & set(text)),
            "KEYWORD_HAS_INVALID_CHARS",
            "Keyword contains invalid characters or symbols.",
        ),
    )
    for is_wrong, code, problem in checks:
        if is_wrong:
            yield _error("criterion_error", code, problem, "keyword", "text", trigger=text)


def _check_constant(message: Message, kind: str) -> Iterator[AdsError]:
    field, collection = (
        ("geo_target_constant", "geoTargetConstants")
        if kind == "location"
        else ("language_constant", "languageConstants")
    )
    constant = getattr(getattr(message, kind), field)
    place, _, number = constant.partition("/")
    if place != collection or not number.isdigit():
        text = f"Resource name '{constant}' is malformed: expected '{collection}/{{id}}'."
        yield _error("request_error", "RESOURCE_NAME_MALFORMED", text, kind, field, trigger=constant)


def _check_schedule(message: Message, store: AccountStore) -> Iterator[AdsError]:
    schedule = message.ad_schedule
    day = enum_name(schedule, "day_of_week")
    if day in {"UNSPECIFIED", "UNKNOWN"}:
        yield _error("field_error", "REQUIRED", "The day of the week is required.", "ad_schedule", "day_of_week")
        return
    if not (0 <= schedule.start_hour < schedule.end_hour <= 24):
        text = f"Hours {schedule.start_hour} to {schedule.end_hour} are no interval of a day (0 to 24)."
        yield _error("criterion_error", "AD_SCHEDULE_INVALID_TIME_INTERVAL", text, "ad_schedule")
        return
    for other in store.children("campaign_criterion", "campaign", message.campaign):
        if criterion_type(other) != "ad_schedule" or criterion_id(other) == criterion_id(message):
            continue
        same_day = enum_name(other.ad_schedule, "day_of_week") == day
        if (
            same_day
            and other.ad_schedule.start_hour < schedule.end_hour
            and schedule.start_hour < other.ad_schedule.end_hour
        ):
            text = f"The interval overlaps with that of {other.resource_name}."
            yield _error("criterion_error", "AD_SCHEDULE_TIME_INTERVALS_OVERLAP", text, "ad_schedule")


def _check_modifier(message: Message, kind: str) -> Iterator[AdsError]:
    value = message.bid_modifier
    if message.DESCRIPTOR.fields_by_name.get("negative") is not None and message.negative:
        text = "A negative criterion has no bid modifier."
        yield _error("criterion_error", "CANNOT_BID_MODIFY_NEGATIVE_CRITERION", text, "bid_modifier")
    if value == 0.0 and kind == "device":
        return  # -100%: no adverts on this device
    if value < _LOWEST_MODIFIER:
        text = f"Bid modifier {value:g} is below {_LOWEST_MODIFIER:g}."
        yield _error("multiplier_error", "MULTIPLIER_TOO_LOW", text, "bid_modifier", trigger=f"{value:g}")
    if value > _HIGHEST_MODIFIER:
        text = f"Bid modifier {value:g} is above {_HIGHEST_MODIFIER:g}."
        yield _error("multiplier_error", "MULTIPLIER_TOO_HIGH", text, "bid_modifier", trigger=f"{value:g}")


def check_modifier_criterion(message: Message, _before: Message | None, _store: AccountStore) -> Iterator[AdsError]:
    """Of an ad group bid modifier: a device and its factor."""
    if criterion_type(message) != "device" or enum_name(message.device, "type") not in _DEVICE_IDS:
        text = f"An ad group bid modifier needs a device of {', '.join(_DEVICE_IDS)}."
        yield _error("criterion_error", "CONCRETE_TYPE_REQUIRED", text, "device", "type")
        return
    yield from _check_modifier(message, "device")
