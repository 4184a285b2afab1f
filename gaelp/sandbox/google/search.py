"""Answer a GAQL query: join resources, sum up hour rows by segment, filter, sort, and fill GoogleAdsRow messages."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from gaelp.sandbox.google.accounts import Customers
from gaelp.sandbox.google.bid_simulator import fill_points
from gaelp.sandbox.google.change_events import read_changes
from gaelp.sandbox.google.computed_fields import ReadableResources, is_computed
from gaelp.sandbox.google.gaql_check import CheckedQuery, check_query
from gaelp.sandbox.google.gaql_fields import GaqlField, field_value
from gaelp.sandbox.google.gaql_parser import parse_gaql
from gaelp.sandbox.google.hour_rows import HourRows
from gaelp.sandbox.google.messages import Message, copy_of, new, set_enum
from gaelp.sandbox.google.report_figures import METRICS, FigureTotals
from gaelp.sandbox.google.views import VIEWS, ViewEntity, ViewReader

__all__ = ["SearchAnswer", "run_search"]


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """Rows within LIMIT, how many there are without it, the selected fields, and the sum of all rows."""

    rows: Sequence[Message]
    total_rows: int
    paths: Sequence[str]
    summary: Message


@dataclass(frozen=True, slots=True)
class _Line:
    """One row before it becomes a message."""

    entity: ViewEntity
    segments: dict[str, Any] = field(default_factory=dict)
    totals: FigureTotals = field(default_factory=FigureTotals)

    def value(self, source: GaqlField) -> Any:
        if source.resource == "segments":
            return self.segments.get(source.steps[0])
        if source.resource == "metrics":
            return METRICS[source.steps[0]](self.totals)
        message = self.entity.resources.get(source.resource)
        return None if message is None else field_value(message, source)


def run_search(text: str, readable: ReadableResources, customers: Customers) -> SearchAnswer:
    """Parse, check and run a query on one account."""
    store = readable.store
    today = store.now.date()
    query = check_query(parse_gaql(text), today, manager=customers.is_manager(store.account))
    lines = list(_Search(query, readable, customers).lines())
    for sorting, descending in reversed(query.order):
        lines.sort(key=lambda line, by=sorting: _sort_key(line.value(by)), reverse=descending)  # type: ignore[misc]
    summary = FigureTotals()
    for line in lines:
        summary.merge(line.totals)
    limited = lines[: query.limit]
    metrics = tuple(source for source in query.fields if source.resource == "metrics")
    total = new("services.GoogleAdsRow")
    _fill_figures(total, _Line(ViewEntity({}), {}, summary), metrics)
    return SearchAnswer(
        list(_rows(limited, query)),
        len(lines),
        [source.path for source in query.fields],
        total,
    )


def _sort_key(value: Any) -> tuple[bool, Any]:
    return (value is not None, value if value is not None else 0)


class _Search:
    """One query on one account."""

    def __init__(self, query: CheckedQuery, readable: ReadableResources, customers: Customers) -> None:
        self._query, self._readable, self._customers = query, readable, customers
        self._hours: HourRows | None = None
        if query.has_figures():
            first_day = customers.spec.start.astimezone(readable.store.zone).date()
            self._hours = HourRows(readable.store, query.window, query.filters, first_day)

    def lines(self) -> Iterator[_Line]:
        """The rows that fulfil all conditions, in no particular order."""
        filters = self._query.filters
        of_entity = [item for item in filters if item.field.resource not in {"metrics", "segments"}]
        of_metrics = [item for item in filters if item.field.resource == "metrics"]
        for entity in self._entities():
            line = _Line(entity)
            if not all(item.holds(line.value(item.field)) for item in of_entity) or not self._is_complete(entity):
                continue
            for filled in self._with_figures(entity):
                if all(item.holds(filled.value(item.field)) for item in of_metrics):
                    yield filled

    def _entities(self) -> Iterator[ViewEntity]:
        named = frozenset(source.resource for source in self._query.used)
        shown = frozenset(used.resource for used in self._query.used if is_computed(used.resource, used.steps[0]))
        reader = ViewReader(self._readable, self._customers, self._query.include_drafts, "campaign" in named, shown)
        if self._query.resource == "change_event":
            return self._changes(reader, named)
        return VIEWS[self._query.resource].read(reader)

    def _changes(self, reader: ViewReader, named: Collection[str]) -> Iterator[ViewEntity]:
        """Events with their campaign and ad group, as far as these are asked for and still exist."""
        base = next(reader.customer()).resources
        store = self._readable.store
        kinds = [kind for kind in ("campaign", "ad_group") if kind in named]
        for event in read_changes(store, self._query.window.first, self._query.window.last):
            resources = {**base, "change_event": event}
            for kind in kinds:
                owner = store.refer(getattr(event, kind)) if getattr(event, kind) else None
                if owner is not None:
                    resources[kind] = self._readable.show(kind, owner)
            yield ViewEntity(resources)

    def _is_complete(self, entity: ViewEntity) -> bool:
        """Simulations get their points last, because each costs several days of auctions."""
        simulation = entity.resources.get("ad_group_simulation")
        if simulation is None:
            return True
        return fill_points(self._readable.store, entity.resources["campaign"], entity.resources["ad_group"], simulation)

    def _with_figures(self, entity: ViewEntity) -> Iterator[_Line]:
        if self._hours is None:
            yield _Line(entity)
            return
        names = self._query.segments()
        sums: dict[tuple[Any, ...], FigureTotals] = {} if names else {(): FigureTotals()}
        part, parts = entity.scope.part, entity.scope.parts
        for row in self._hours.of(entity.scope):
            key = tuple([row.segments[name] for name in names])
            totals = sums.get(key)
            if totals is None:
                totals = sums[key] = FigureTotals()
            totals.add(row.report, share_is_known=row.share_is_known, part=part, parts=parts)
        for key, totals in sorted(sums.items(), key=itemgetter(0)):
            if not names or not totals.is_empty:
                yield _Line(entity, dict(zip(names, key, strict=True)), totals)


def _rows(lines: Iterable[_Line], query: CheckedQuery) -> Iterator[Message]:
    """The messages of rows; lines of one entity, which often follow each other, share what is said of resources."""
    figures = [source for source in query.fields if source.resource in {"metrics", "segments"}]
    entity, resources = None, None
    for line in lines:
        if line.entity is not entity:
            entity, resources = line.entity, _resources(line.entity, query.fields, with_names=query.with_names)
        row = copy_of(resources) if figures else resources
        _fill_figures(row, line, figures)
        yield row


def _resources(entity: ViewEntity, fields: Sequence[GaqlField], *, with_names: bool) -> Message:
    """The selected fields of an entity, and if wanted the names of the resources they belong to."""
    row = new("services.GoogleAdsRow")
    for source in fields:
        message = entity.resources.get(source.resource)
        if message is not None:
            target = getattr(row, source.resource)
            if with_names:
                target.resource_name = message.resource_name
            _copy_field(target, message, source.steps)
    return row


def _copy_field(target: Message, source: Message, steps: Sequence[str]) -> None:
    for step in steps[:-1]:
        if not source.HasField(step):
            return
        source, target = getattr(source, step), getattr(target, step)
    name = steps[-1]
    descriptor = source.DESCRIPTOR.fields_by_name[name]
    if descriptor.is_repeated or descriptor.message_type is not None:
        if descriptor.is_repeated or source.HasField(name):
            target.ClearField(name)
            getattr(target, name).MergeFrom(getattr(source, name))
    elif not descriptor.has_presence or source.HasField(name):
        setattr(target, name, getattr(source, name))


def _fill_figures(row: Message, line: _Line, fields: Sequence[GaqlField]) -> None:
    targets = {name: getattr(row, name) for name in {source.resource for source in fields}}
    for target in targets.values():
        target.SetInParent()
    for source in fields:
        value, name, target = line.value(source), source.steps[0], targets[source.resource]
        if source.type == "enum":
            set_enum(target, name, value)
        elif value is not None:
            setattr(target, name, value)
