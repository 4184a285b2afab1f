"""The Graph API on a world: find the object a path names, and read, list, create, change or delete."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gaelp.sandbox.meta import parameter_readers as read
from gaelp.sandbox.meta.account_objects import AccountObjects, MetaAccount, Node, find_owner
from gaelp.sandbox.meta.business_invoices import BUSINESS_PREFIX, business_invoices
from gaelp.sandbox.meta.field_selection import parse_fields
from gaelp.sandbox.meta.graph_error import UNKNOWN_PATH, GraphError, missing_object
from gaelp.sandbox.meta.graph_request import GraphRequest
from gaelp.sandbox.meta.insight_query import read_insight_query
from gaelp.sandbox.meta.insights import insight_rows
from gaelp.sandbox.meta.node_types import (
    ACTIVITY,
    AD,
    AD_SET,
    CAMPAIGN,
    CREATIVE,
    LABEL,
    REPORT_RUN,
    NodeType,
    type_of_edge,
)
from gaelp.sandbox.meta.object_lists import filtered, page
from gaelp.sandbox.meta.object_view import account_view, node_view
from gaelp.sandbox.meta.object_writes import ObjectWrites
from gaelp.sandbox.meta.report_runs import start_report, view_report
from gaelp.sandbox.meta.targeting import interest_named
from gaelp.sandbox.spec import SandboxSpec
from gaelp.sandbox.world_call import WorldCall

__all__ = ["GraphCall", "accounts_of"]

_LEVEL = {CAMPAIGN: "campaign", AD_SET: "adset", AD: "ad"}
_BY_LABELS = {f"{node_type.edge}bylabels": node_type for node_type in (CAMPAIGN, AD_SET, AD, CREATIVE)}
_EDGES: Mapping[NodeType, tuple[str, ...]] = {
    CAMPAIGN: ("adsets", "ads", "adlabels", "insights"),
    AD_SET: ("ads", "adcreatives", "adlabels", "insights"),
    AD: ("adcreatives", "adlabels", "insights"),
    CREATIVE: ("adlabels",),
    LABEL: ("campaigns", "adsets", "ads", "adcreatives"),
    REPORT_RUN: ("insights",),
}
_ACCOUNT_EDGES = ("campaigns", "adsets", "ads", "adcreatives", "adlabels", "activities", "insights", *_BY_LABELS)


def accounts_of(spec: SandboxSpec) -> tuple[MetaAccount, ...]:
    """The ad accounts of a world."""
    return tuple(
        MetaAccount(number, f"Sandbox account {number}", spec.currency, spec.zone) for number in spec.meta_account_ids
    )


@dataclass(frozen=True, slots=True)
class GraphCall:
    """One request within one WorldCall."""

    call: WorldCall
    spec: SandboxSpec
    request: GraphRequest

    def answer(self) -> Any:
        """The body of the answer; GraphError if the request is refused."""
        if self.request.method == "GET" and (read_only := self._read_only()) is not None:
            return read_only()
        match self.request.path:
            case (name,):
                return self._on_node(name)
            case (name, edge):
                return self._on_edge(name, edge)
        raise self._unknown_path("me/adaccounts, app, search, an object, or an object and one of its edges")

    def _read_only(self) -> Callable[[], Any] | None:
        """What can be read besides objects of an ad account and their edges."""
        application = self.request.application
        match self.request.path:
            case () if "ids" in self.request.parameters:
                return self._several
            case ("me", "adaccounts"):
                return self._accounts
            case ("app",):
                return lambda: {"id": str(application), "name": f"app {application}"}
            case ("search",):
                return self._interests
            case (name, "business_invoices"):
                return lambda: self._invoices(name)
        return None

    # Objects

    def _on_node(self, name: str) -> Any:
        objects, node = self._find(name)
        fields = parse_fields(self.request.parameters.get("fields", ""))
        match self.request.method:
            case "GET" if node is None:
                return account_view(objects, fields)
            case "GET" if node is not None and node.type is REPORT_RUN:
                return view_report(objects, node)
            case "GET" if node is not None:
                return node_view(objects, node, fields)
            case "POST" if node is not None and node.type is not REPORT_RUN:
                return self._writes(objects).update(node, self.request.parameters)
            case "DELETE" if node is not None and node.type is not REPORT_RUN:
                return self._writes(objects).delete(node)
        raise missing_object(name, self.request.method)

    def _several(self) -> dict[str, Any]:
        names = read.listed()("ids", self.request.parameters["ids"], self.spec.zone)
        fields = parse_fields(self.request.parameters.get("fields", ""))
        nodes = {name: self._find(name) for name in names}
        return {
            name: account_view(objects, fields) if node is None else node_view(objects, node, fields)
            for name, (objects, node) in nodes.items()
        }

    def _accounts(self) -> dict[str, Any]:
        fields = parse_fields(self.request.parameters.get("fields", ""))
        accounts = [AccountObjects(self.call, account) for account in accounts_of(self.spec)]
        return self._page(accounts, lambda objects: account_view(objects, fields))

    def _interests(self) -> dict[str, Any]:
        """Targeting search: every text is an interest here, and has a topic."""
        zone, parameters = self.spec.zone, self.request.parameters
        read.choice("adinterest")("type", parameters.get("type", ""), zone)
        text = read.text("q", parameters.get("q", ""), zone)
        return self._page([interest_named(text)], dict)

    # Edges

    def _on_edge(self, name: str, edge: str) -> Any:
        objects, node = self._find(name)
        known = _ACCOUNT_EDGES if node is None else _EDGES[node.type]
        if edge not in known:
            raise self._unknown_path(", ".join(known))
        method = self.request.method
        if edge == "activities" and method == "GET":
            return self._activities(objects)
        if edge == "insights":
            return self._insights(objects, node)
        if edge == "adlabels" and node is not None:
            return self._label(objects, node)
        if method == "GET":
            return self._list(objects, node, edge)
        node_type = type_of_edge(edge)
        if method == "POST" and node is None and node_type is not None:
            return self._writes(objects).create(node_type, self.request.parameters)
        raise missing_object(f"{name}/{edge}", method)

    def _list(self, objects: AccountObjects, node: Node | None, edge: str) -> dict[str, Any]:
        node_type = type_of_edge(edge) or _BY_LABELS[edge]
        nodes = [other for other in objects.all(node_type) if node is None or _belongs(objects, other, node)]
        if edge in _BY_LABELS:
            nodes = self._with_labels(nodes)
        nodes = filtered(objects, nodes, self.request.parameters)
        fields = parse_fields(self.request.parameters.get("fields", ""))
        return self._page(nodes, lambda each: node_view(objects, each, fields), [each.id for each in nodes])

    def _activities(self, objects: AccountObjects) -> dict[str, Any]:
        """Who changed what from `since` to `until`, both included, the newest first."""
        zone, parameters = self.spec.zone, self.request.parameters
        since = read.instant("since", parameters.get("since", "0"), zone)
        until = read.instant("until", parameters.get("until", "9999999999"), zone)
        fields = parse_fields(parameters.get("fields", "event_time,event_type"))
        nodes = [each for each in objects.all(ACTIVITY) if since <= each.body["event_time"] <= until]
        return self._page(
            nodes[::-1], lambda each: node_view(objects, each, fields), [-each.id for each in nodes[::-1]]
        )

    def _with_labels(self, nodes: list[Node]) -> list[Node]:
        parameters, zone = self.request.parameters, self.spec.zone
        labels = set(read.listed()("ad_label_ids", parameters.get("ad_label_ids", ""), zone))
        operator = read.choice("ALL", "ANY")("operator", parameters.get("operator", "ALL"), zone)
        wanted = labels.issubset if operator == "ALL" else lambda own: not labels.isdisjoint(own)
        return [node for node in nodes if wanted({str(item["id"]) for item in node.body.get("adlabels", [])})]

    def _label(self, objects: AccountObjects, node: Node) -> dict[str, Any]:
        if self.request.method == "GET":
            raise missing_object(f"{node.id}/adlabels", "get")
        labels = read.objects("adlabels", self.request.parameters.get("adlabels", ""), self.spec.zone)
        return self._writes(objects).label(node, labels, remove=self.request.method == "DELETE")

    def _invoices(self, business: str) -> dict[str, Any]:
        for account in accounts_of(self.spec):
            if business == f"{BUSINESS_PREFIX}{account.id}":
                documents = business_invoices(AccountObjects(self.call, account), self.request.parameters)
                return self._page(documents, dict)
        raise missing_object(business, "get")

    def _insights(self, objects: AccountObjects, node: Node | None) -> dict[str, Any]:
        parameters = self.request.parameters
        if node is not None and node.type is REPORT_RUN:
            parameters = {**node.body["parameters"], **parameters}
            scope = objects.find(node.body["scope"]) if node.body["scope"] else None
        else:
            scope = node
        today = objects.now.astimezone(objects.account.zone).date()
        level = _LEVEL[scope.type] if scope else "account"
        query = read_insight_query(parameters, level, today, objects.account.zone)
        rows = insight_rows(objects, scope, query)
        if self.request.method == "POST":
            return start_report(objects, scope, parameters, query)
        return self._page(rows, lambda row: row, parameters=parameters)

    # What the parts share

    def _find(self, name: str) -> tuple[AccountObjects, Node | None]:
        """The account of an object and the object; None for the account itself."""
        accounts = {account.id: account for account in accounts_of(self.spec)}
        if name.startswith("act_") and (account := accounts.get(name.removeprefix("act_"))):
            return AccountObjects(self.call, account), None
        is_id = name.isascii() and name.isdigit() and len(name) <= 18
        owner = find_owner(self.call, int(name)) if is_id else None
        if owner is not None and owner[1] is not ACTIVITY:
            objects = AccountObjects(self.call, accounts[owner[0]])
            if node := objects.find(int(name), owner[1]):
                return objects, node
        raise missing_object(name, self.request.method)

    def _writes(self, objects: AccountObjects) -> ObjectWrites:
        return ObjectWrites(objects, self.spec, self.request.application)

    def _page(
        self,
        items: Sequence[Any],
        view: Callable[[Any], dict[str, Any]],
        keys: Sequence[int] | None = None,
        parameters: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        address = f"{self.request.base}/{'/'.join(self.request.path)}"
        return page(items, self.request.parameters if parameters is None else parameters, address, view, keys)

    def _unknown_path(self, supported: str) -> GraphError:
        path = "/".join(self.request.path)
        return GraphError(
            f"Unknown path components: /{path} is not supported by the sandbox; supported: {supported}",
            code=UNKNOWN_PATH,
        )


def _belongs(objects: AccountObjects, node: Node, parent: Node) -> bool:
    if parent.type is LABEL:
        return any(item["id"] == parent.id for item in node.body.get("adlabels", []))
    if node.type is CREATIVE:
        ads = objects.all(AD)
        own = [ad for ad in ads if ad.id == parent.id or ad.body["adset_id"] == parent.id]
        return any(ad.body["creative"]["id"] == node.id for ad in own)
    return bool(node.body["campaign_id" if parent.type is CAMPAIGN else "adset_id"] == parent.id)
