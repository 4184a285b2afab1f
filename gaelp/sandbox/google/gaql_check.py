"""Check a parsed query against what its resource offers: fields, operators, segments and dates."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from gaelp.sandbox.google.failures import AdsError, AdsRefusal, Unsupported
from gaelp.sandbox.google.gaql_conditions import Predicate, compile_condition
from gaelp.sandbox.google.gaql_dates import DateWindow, window_of
from gaelp.sandbox.google.gaql_fields import GaqlField, is_known_resource, query_refusal, resolve_field
from gaelp.sandbox.google.gaql_parser import GaqlCondition, GaqlQuery
from gaelp.sandbox.google.report_figures import METRICS, NOT_BY_HOUR, SEGMENTS
from gaelp.sandbox.google.views import VIEWS, GaqlView

__all__ = ["CheckedFilter", "CheckedQuery", "check_query"]

CORE_DATES = ("date", "week", "month", "quarter", "year")  # may be filtered without being selected
CHANGE_TIME = "change_event.change_date_time"
_CHANGE_VIEW = ("change_event", "campaign", "ad_group", "customer")
_CHANGE_DAYS, _CHANGE_LIMIT = 30, 10_000


@dataclass(frozen=True, slots=True)
class CheckedFilter:
    """A condition that fits its field."""

    field: GaqlField
    holds: Predicate


@dataclass(frozen=True, slots=True)
class CheckedQuery:
    """A query that can be answered; `window` are the days its date conditions allow."""

    resource: str
    fields: tuple[GaqlField, ...]
    filters: tuple[CheckedFilter, ...]
    order: tuple[tuple[GaqlField, bool], ...]  # field, descending
    limit: int | None
    window: DateWindow
    include_drafts: bool
    with_names: bool  # whether rows have resource names that were not selected

    @property
    def used(self) -> tuple[GaqlField, ...]:
        """Every field that the query names anywhere."""
        return (*self.fields, *(condition.field for condition in self.filters), *(field for field, _ in self.order))

    def segments(self) -> tuple[str, ...]:
        """The selected segments."""
        return tuple(field.steps[0] for field in self.fields if field.resource == "segments")

    def has_figures(self) -> bool:
        """Whether hour rows are needed."""
        return any(field.resource in {"metrics", "segments"} for field in self.used)


def check_query(query: GaqlQuery, today: date, *, manager: bool) -> CheckedQuery:
    """The query, ready to run; AdsRefusal or Unsupported if it cannot."""
    offered, has_metrics = _resource(query.resource)
    fields = tuple(_field(path, offered, "SELECT", has_metrics=has_metrics) for path in query.fields)
    conditions = [(_field(item.field, offered, "WHERE", has_metrics=has_metrics), item) for item in query.conditions]
    order = tuple(
        (_field(item.field, offered, "ORDER_BY", has_metrics=has_metrics), item.descending) for item in query.order
    )
    filters = tuple(CheckedFilter(field, compile_condition(item, field, today)) for field, item in conditions)
    parameters = {name: value == "true" for name, value in query.parameters}
    checked = CheckedQuery(
        resource=query.resource,
        fields=fields,
        filters=filters,
        order=order,
        limit=query.limit,
        window=window_of(conditions, today),
        include_drafts=parameters.get("include_drafts", False),
        with_names=not parameters.get("omit_unselected_resource_names", False),
    )
    if manager and any(field.resource == "metrics" for field in checked.used):
        raise query_refusal(
            "REQUESTED_METRICS_FOR_MANAGER", "a manager account has no metrics: query a client account."
        )
    _check_segments(checked, conditions)
    if query.resource == "change_event":
        _check_changes(checked, today)
    return checked


def _resource(name: str) -> tuple[Sequence[str], bool]:
    """The resources whose fields can be selected, and whether there are metrics."""
    if name == "change_event":
        return _CHANGE_VIEW, False
    view: GaqlView | None = VIEWS.get(name)
    if view is not None:
        return view.resources, view.has_metrics
    if is_known_resource(name):
        raise Unsupported(f"FROM {name}: this sandbox has {', '.join((*VIEWS, 'change_event'))}")
    raise query_refusal("BAD_RESOURCE_TYPE_IN_FROM_CLAUSE", f"invalid resource type in FROM clause: '{name}'.", name)


def _field(path: str, offered: Sequence[str], clause: str, *, has_metrics: bool) -> GaqlField:
    field = resolve_field(path)
    if field.resource in {"metrics", "segments"}:
        kind, supported = ("METRIC", METRICS) if field.resource == "metrics" else ("SEGMENT", SEGMENTS)
        if not has_metrics:
            text = f"'{path}' cannot be selected with the resource in the FROM clause."
            raise query_refusal(f"PROHIBITED_{kind}_IN_SELECT_OR_WHERE_CLAUSE", text, path)
        if len(field.steps) != 1 or field.steps[0] not in supported:
            raise Unsupported(f"{path}: this sandbox has {', '.join(f'{field.resource}.{name}' for name in supported)}")
    elif field.resource not in offered:
        text = f"'{path}' cannot be used with the resource in the FROM clause, which offers {', '.join(offered)}."
        raise query_refusal(
            "PROHIBITED_FIELD_IN_ORDER_BY_CLAUSE"
            if clause == "ORDER_BY"
            else f"PROHIBITED_RESOURCE_TYPE_IN_{clause}_CLAUSE",
            text,
            path,
        )
    return field


def _check_segments(checked: CheckedQuery, conditions: Sequence[tuple[GaqlField, GaqlCondition]]) -> None:
    selected = {field.path for field in checked.fields}
    for field in (*(field for field, _ in conditions), *(field for field, _ in checked.order)):
        is_core = field.resource == "segments" and field.steps[0] in CORE_DATES
        in_order = field in [item for item, _ in checked.order]
        if field.resource == "segments" and field.path not in selected and (not is_core or in_order):
            text = f"'{field.path}' must be in the SELECT clause too."
            raise query_refusal("EXPECTED_REFERENCED_FIELD_IN_SELECT_CLAUSE", text, field.path)
    segments = checked.segments()
    if set(segments) & set(CORE_DATES) and not checked.window.is_finite:
        text = "a selected date segment needs a finite range of dates in the WHERE clause."
        raise query_refusal("EXPECTED_FILTERS_ON_DATE_RANGE", text)
    metrics = {field.steps[0] for field in checked.used if field.resource == "metrics"}
    if "hour" in segments and metrics & NOT_BY_HOUR:
        names = ", ".join(f"metrics.{name}" for name in sorted(metrics & NOT_BY_HOUR))
        code = "PROHIBITED_SEGMENT_WITH_METRIC_IN_SELECT_OR_WHERE_CLAUSE"
        raise query_refusal(code, f"segments.hour cannot be selected with {names}.", "segments.hour")


def _check_changes(checked: CheckedQuery, today: date) -> None:
    def refusal(code: str, message: str) -> AdsRefusal:
        return AdsRefusal(AdsError("change_event_error", code, message))

    if checked.limit is None:
        raise refusal("LIMIT_NOT_SPECIFIED", f"A query of change_event needs a LIMIT of at most {_CHANGE_LIMIT}.")
    if checked.limit > _CHANGE_LIMIT:
        raise refusal("INVALID_LIMIT_CLAUSE", f"LIMIT {checked.limit} exceeds {_CHANGE_LIMIT}.")
    if not checked.window.is_finite:
        raise refusal("CHANGE_DATE_RANGE_INFINITE", f"A query of change_event needs a finite range of {CHANGE_TIME}.")
    if checked.window.first < today - timedelta(days=_CHANGE_DAYS):
        raise refusal("START_DATE_TOO_OLD", f"The start {checked.window.first} is more than {_CHANGE_DAYS} days ago.")
