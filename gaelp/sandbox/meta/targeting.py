"""What an ad set's targeting means to the exchange: interests are topics, device platforms are devices."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from gaelp.sandbox.meta.graph_error import GraphError, unsupported
from gaelp.sandbox.serving import DEVICES
from gaelp.sandbox.topics import TOPICS, topic_of

__all__ = ["check_targeting", "interest_named", "targeted_devices", "targeted_topics"]

_NAMED = ("interests", "behaviors")  # lists of {"id": ..., "name": ...} whose names are matched to topics
_SUPPORTED = frozenset({*_NAMED, "geo_locations", "device_platforms", "flexible_spec", "targeting_automation"})
# Stored and returned: the users of the sandbox have no place, age or gender.
_WITHOUT_EFFECT = frozenset({"age_min", "age_max", "genders", "locales", "publisher_platforms", "facebook_positions"})


def check_targeting(targeting: Mapping[str, Any]) -> None:
    """Refuse a targeting that Meta or the sandbox does not know."""
    if not targeting.get("geo_locations"):
        raise GraphError(
            'targeting has no geo_locations; give at least one place, such as {"countries": ["US"]}', blame="targeting"
        )
    if unknown := sorted(targeting.keys() - _SUPPORTED - _WITHOUT_EFFECT):
        raise unsupported(f"targeting.{unknown[0]}", ", ".join(sorted(_SUPPORTED | _WITHOUT_EFFECT)))
    for entry in _groups(targeting):
        for name in _NAMED:
            for item in entry.get(name, ()):
                if not isinstance(item, Mapping) or not isinstance(item.get("name"), str) or not item["name"].strip():
                    raise GraphError(f'targeting.{name} needs items like {{"id": 1, "name": "Baking"}}; got {item!r}')
    devices = targeting.get("device_platforms", DEVICES)
    if not isinstance(devices, list | tuple) or not devices or set(devices) - set(DEVICES):
        raise GraphError(f"targeting.device_platforms must be a list of {', '.join(DEVICES)}; got {devices!r}")


def interest_named(text: str) -> dict[str, str]:
    """The interest that targeting search finds for a text: every text is one here, and has a topic."""
    number = int.from_bytes(hashlib.blake2b(text.casefold().encode(), digest_size=6).digest(), "big")
    return {"id": str(number), "name": text, "topic": str(topic_of(text))}


def targeted_topics(targeting: Mapping[str, Any]) -> tuple[int, ...]:
    """The topics that its interests and behaviours reach; without any, all of them."""
    names = [item["name"] for entry in _groups(targeting) for name in _NAMED for item in entry.get(name, ())]
    return tuple(sorted({topic_of(name) for name in names})) or tuple(range(TOPICS))


def targeted_devices(targeting: Mapping[str, Any]) -> tuple[float, ...]:
    """The factor of the bid on each of DEVICES: 1, or 0 where it does not serve."""
    devices = targeting.get("device_platforms", DEVICES)
    return tuple(float(device in devices) for device in DEVICES)


def _groups(targeting: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The targeting itself and the entries of its flexible_spec."""
    yield targeting
    entries = targeting.get("flexible_spec", [])
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise GraphError(f"targeting.flexible_spec must be a list of objects; got {entries!r}", blame="targeting")
    for entry in entries:
        if unknown := sorted(entry.keys() - set(_NAMED)):
            raise unsupported(f"targeting.flexible_spec.{unknown[0]}", ", ".join(_NAMED))
        yield entry
