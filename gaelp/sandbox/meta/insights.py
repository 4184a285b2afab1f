"""Insights: the hour rows of the exchange, added up by window, level and breakdown, as Meta reports them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from gaelp.money import MICROS_PER_UNIT
from gaelp.sandbox.meta.account_objects import AccountObjects, Node
from gaelp.sandbox.meta.graph_error import GraphError, unsupported
from gaelp.sandbox.meta.insight_query import DEVICE, HOUR, InsightQuery
from gaelp.sandbox.meta.node_types import AD, AD_SET, CAMPAIGN
from gaelp.sandbox.meta.object_lists import matches
from gaelp.sandbox.world_call import ReportRow

__all__ = ["insight_rows"]

_DEVICE_NAMES = {"mobile": "mobile_app", "desktop": "desktop"}
_CLICK, _PURCHASE = "link_click", "offsite_conversion.fb_pixel_purchase"


@dataclass(slots=True)
class _Sum:
    impressions: int = 0
    clicks: int = 0
    cost_micros: int = 0
    conversions: float = 0.0
    value_micros: int = 0

    def add(self, row: ReportRow) -> None:
        self.impressions += row.impressions
        self.clicks += row.clicks
        self.cost_micros += row.cost_micros
        self.conversions += row.conversions
        self.value_micros += row.value_micros


def insight_rows(objects: AccountObjects, scope: Node | None, query: InsightQuery) -> list[dict[str, Any]]:
    """The rows of a report on an object, or on the account if `scope` is None; rows without any figure are left out."""
    ad_sets = {ad_set.id: ad_set for ad_set in objects.all(AD_SET) if _inside(ad_set, scope)}
    names = _Names(objects, ad_sets, query.level)
    rows: list[dict[str, Any]] = []
    for first, last in query.windows:
        sums = _summed(objects, ad_sets, query, first, last)
        for (entity, *parts), total in sorted(sums.items(), key=lambda item: tuple(map(str, item[0]))):
            known = {**names.of(entity), "date_start": first.isoformat(), "date_stop": last.isoformat()}
            known |= dict(zip(query.breakdowns, parts, strict=True))
            if all(_passes(known, total, rule) for rule in query.filters):
                rows.append(_row(query, known, total))
    return _sorted(rows, query)


def _inside(ad_set: Node, scope: Node | None) -> bool:
    if scope is None:
        return True
    if scope.type is CAMPAIGN:
        return bool(ad_set.body["campaign_id"] == scope.id)
    return ad_set.id == (scope.id if scope.type is AD_SET else scope.body["adset_id"])


def _summed(
    objects: AccountObjects, ad_sets: Mapping[int, Node], query: InsightQuery, first: date, last: date
) -> dict[tuple[Any, ...], _Sum]:
    sums: dict[tuple[Any, ...], _Sum] = {}
    zone = objects.account.zone
    for row in objects.call.report(objects.account.id, first, min(last, _today(objects))):
        ad_set = ad_sets.get(row.group)
        if ad_set is None or not (row.impressions or row.clicks or row.cost_micros or row.conversions):
            continue
        entity = {"account": 0, "campaign": ad_set.body["campaign_id"]}.get(query.level, ad_set.id)
        hour = row.start.astimezone(zone).hour
        parts = {HOUR: f"{hour:02}:00:00 - {hour:02}:59:59", DEVICE: _DEVICE_NAMES[row.device]}
        sums.setdefault((entity, *(parts[name] for name in query.breakdowns)), _Sum()).add(row)
    return sums


def _today(objects: AccountObjects) -> date:
    # A day of the future has no rows; asking for it must not look further than the world.
    return objects.now.astimezone(objects.account.zone).date() + timedelta(days=1)


class _Names:
    """Ids and names of what a row is about."""

    def __init__(self, objects: AccountObjects, ad_sets: Mapping[int, Node], level: str) -> None:
        self._objects, self._ad_sets, self._level = objects, ad_sets, level
        self._campaigns = {campaign.id: campaign for campaign in objects.all(CAMPAIGN)}
        self._ads = objects.all(AD) if level == "ad" else []

    def of(self, entity: int) -> dict[str, Any]:
        account = self._objects.account
        known: dict[str, Any] = {
            "account_id": account.id,
            "account_name": account.name,
            "account_currency": account.currency,
        }
        if self._level == "account":
            return known
        campaign = entity if self._level == "campaign" else int(self._ad_sets[entity].body["campaign_id"])
        body = self._campaigns[campaign].body
        known |= {"campaign_id": str(campaign), "campaign_name": body["name"], "objective": body["objective"]}
        if self._level in ("adset", "ad"):
            known |= {"adset_id": str(entity), "adset_name": self._ad_sets[entity].body["name"]}
        if self._level == "ad":
            ad = self._only_ad(entity)
            known |= {"ad_id": str(ad.id), "ad_name": ad.body["name"]}
        return known

    def _only_ad(self, ad_set: int) -> Node:
        ads = [ad for ad in self._ads if ad.body["adset_id"] == ad_set]
        if len(ads) != 1:
            raise unsupported(
                f"level=ad for ad set {ad_set}, which has had {len(ads)} ads, while the exchange serves an ad set as"
                " one,",
                "level=adset, or one ad per ad set",
            )
        return ads[0]


def _money(micros: float) -> str:
    return str((Decimal(micros) / MICROS_PER_UNIT).quantize(Decimal("0.01"), ROUND_HALF_EVEN))


def _ratio(over: float, under: float) -> str | None:
    return f"{over / under:.6f}" if under else None


def _actions(clicks: Any, purchases: Any) -> list[dict[str, str]] | None:
    pairs = ((_CLICK, clicks), (_PURCHASE, purchases))
    return [{"action_type": name, "value": f"{value:g}"} for name, value in pairs if value] or None


def _purchases(text: str | None) -> list[dict[str, str]] | None:
    return [{"action_type": _PURCHASE, "value": text}] if text else None


_METRICS: Mapping[str, Callable[[_Sum], Any]] = {
    "impressions": lambda total: str(total.impressions),
    "clicks": lambda total: str(total.clicks),
    "inline_link_clicks": lambda total: str(total.clicks) if total.clicks else None,
    "spend": lambda total: _money(total.cost_micros),
    "cpc": lambda total: _ratio(total.cost_micros / MICROS_PER_UNIT, total.clicks),
    "cpm": lambda total: _ratio(total.cost_micros / MICROS_PER_UNIT * 1000, total.impressions),
    "ctr": lambda total: _ratio(100 * total.clicks, total.impressions),
    "actions": lambda total: _actions(total.clicks, total.conversions),
    "action_values": lambda total: _purchases(_money(total.value_micros) if total.value_micros else None),
    "conversions": lambda total: _purchases(f"{total.conversions:g}" if total.conversions else None),
    "purchase_roas": lambda total: _purchases(
        _ratio(total.value_micros, total.cost_micros) if total.value_micros else None
    ),
    "cost_per_action_type": lambda total: _purchases(
        _ratio(total.cost_micros / MICROS_PER_UNIT, total.conversions) if total.conversions else None
    ),
}
_DIMENSIONS = (
    "account_id", "account_name", "account_currency", "campaign_id", "campaign_name", "objective", "adset_id",
    "adset_name", "ad_id", "ad_name", "date_start", "date_stop",
)  # fmt: skip


def _row(query: InsightQuery, known: Mapping[str, Any], total: _Sum) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name in dict.fromkeys([*query.fields, "date_start", "date_stop", *query.breakdowns]):
        if name not in _METRICS and name not in _DIMENSIONS and name not in query.breakdowns:
            raise unsupported(f"field {name} of insights", ", ".join([*_DIMENSIONS, *_METRICS]))
        value = _METRICS[name](total) if name in _METRICS else known.get(name)
        if value is not None:
            row[name] = value
    return row


def _passes(known: Mapping[str, Any], total: _Sum, rule: Mapping[str, Any]) -> bool:
    """Filters name objects with a dot (campaign.id) and metrics without."""
    field = str(rule.get("field", "")).replace(".", "_")
    if field in _METRICS:
        return matches(_METRICS[field](total), rule)
    if field not in known:
        raise unsupported(f"filtering by {rule.get('field')}", ", ".join([*known, *_METRICS]))
    return matches(known[field], rule)


def _sorted(rows: Sequence[dict[str, Any]], query: InsightQuery) -> list[dict[str, Any]]:
    if query.sort is None:
        return list(rows)
    name, descending = query.sort
    if name not in query.fields:
        raise GraphError(f"sort by {name}: it is not among the fields; add it to them", blame="sort")
    return sorted(rows, key=lambda row: _number(row.get(name)), reverse=descending)


def _number(value: Any) -> float:
    values: Iterable[Any] = (item["value"] for item in value) if isinstance(value, list) else [value or 0]
    try:
        return sum(float(item) for item in values)
    except ValueError:
        raise unsupported("sort by a field that is no number", ", ".join(_METRICS)) from None
