"""Create, change and delete objects: read the parameters, check them, store them, and tell the exchange."""

import json
from collections.abc import Mapping
from typing import Any

from gaelp.sandbox.meta.account_objects import AccountObjects, Node
from gaelp.sandbox.meta.account_state import is_disabled
from gaelp.sandbox.meta.ad_review import review_ends
from gaelp.sandbox.meta.delivery import CampaignDelivery
from gaelp.sandbox.meta.graph_error import NOT_PERMITTED, GraphError, missing_object
from gaelp.sandbox.meta.node_types import ACTIVITY, AD, AD_SET, CAMPAIGN, CREATIVE, LABEL, NodeType
from gaelp.sandbox.meta.object_rules import check_object
from gaelp.sandbox.spec import SandboxSpec

__all__ = ["ObjectWrites", "ValidateOnly"]

_NOT_FOR_THE_OBJECT = frozenset({"execution_options", "fields", "date_format", "redownload", "include_headers"})


class ValidateOnly(Exception):
    """The request is valid; nothing of it is kept."""


class ObjectWrites:
    """The writes of one call on one account."""

    def __init__(self, objects: AccountObjects, spec: SandboxSpec, application: int = 0) -> None:
        self._objects, self._spec, self._application = objects, spec, application

    def create(self, node_type: NodeType, parameters: Mapping[str, str]) -> dict[str, Any]:
        """Create an object; with validate_only it is checked and not kept."""
        self._check_account()
        body = self._read(node_type, parameters, creating=True)
        if missing := [name for name in node_type.required if name not in body]:
            raise GraphError(f"The parameter {missing[0]} is required", blame=missing[0])
        if node_type in (CAMPAIGN, AD_SET, AD):
            body.setdefault("status", "PAUSED" if node_type is CAMPAIGN else "ACTIVE")
        if node_type is CREATIVE:
            body.setdefault("status", "ACTIVE")
        node = Node(node_type, 0, body)
        self._resolve(node)
        check_object(self._objects, node, None)
        stored = self._objects.create(node_type, body)
        self._record("create", stored, body)
        self._serve(stored)
        self._end_if_only_validated(parameters)
        return {"id": str(stored.id)}

    def update(self, node: Node, parameters: Mapping[str, str]) -> dict[str, Any]:
        """Change the given fields of an object."""
        self._check_account()
        before = dict(node.body)
        changes = self._read(node.type, parameters, creating=False)
        bids = changes.pop("adset_bid_amounts", {})
        node.body |= changes
        self._resolve(node)
        check_object(self._objects, node, before)
        self._objects.save(node)
        self._set_bids(node, bids)
        self._record("update", node, {**changes, **({"adset_bid_amounts": bids} if bids else {})})
        self._serve(node)
        self._end_if_only_validated(parameters)
        return {"success": True}

    def delete(self, node: Node) -> dict[str, Any]:
        """Delete an object: it is kept with that status; a label disappears, also from the objects that have it."""
        if node.type is LABEL:
            self._remove_label(node)
        else:
            node.body["status"] = "DELETED"
            self._objects.save(node)
            self._record("delete", node, {})
            self._serve(node)
        return {"success": True}

    def label(self, node: Node, labels: list[dict[str, Any]], *, remove: bool = False) -> dict[str, Any]:
        """Add labels to an object, or take them from it."""
        self._check_account()
        before = dict(node.body)
        given = self._label_ids(labels)
        kept = [item for item in node.body.get("adlabels", []) if item["id"] not in given]
        node.body["adlabels"] = kept if remove else [*kept, *({"id": label} for label in given)]
        check_object(self._objects, node, before)
        self._objects.save(node)
        return {"success": True}

    def serve_all(self) -> None:
        """Tell the exchange about every campaign again, after the account was disabled or enabled."""
        for campaign in self._objects.all(CAMPAIGN):
            self._serve(campaign)

    def _check_account(self) -> None:
        if is_disabled(self._objects):
            raise GraphError(
                f"act_{self._objects.account.id} is disabled (account_status 2): nothing can be created or changed"
                " until it is enabled again",
                code=NOT_PERMITTED,
                title="Ad account disabled",
                status=403,
            )

    def _read(self, node_type: NodeType, parameters: Mapping[str, str], *, creating: bool) -> dict[str, Any]:
        body: dict[str, Any] = {}
        for name, raw in parameters.items():
            if name in _NOT_FOR_THE_OBJECT:
                continue
            reader = node_type.parameters.get(name)
            if reader is None or (creating and name == "adset_bid_amounts"):
                known = ", ".join(sorted(node_type.parameters))
                raise GraphError(
                    f"Param {name} of {node_type.name} is not supported by the sandbox; supported: {known}"
                )
            if not creating and name in node_type.fixed:
                raise GraphError(f"{name} of {node_type.name} cannot be changed after creation", blame=name)
            body[name] = reader(name, raw, self._objects.account.zone)
        return body

    def _resolve(self, node: Node) -> None:
        """Replace what refers to other objects by their ids."""
        if "adlabels" in node.body:
            node.body["adlabels"] = [{"id": label} for label in self._label_ids(node.body["adlabels"])]
        if node.type is AD and node.body["creative"].keys() != {"id"}:
            node.body["creative"] = {"id": self._creative_id(node.body["creative"])}
        if node.type is AD:
            ad_set = self._objects.require(int(node.body["adset_id"]), AD_SET, "adset_id")
            node.body["campaign_id"] = ad_set.body["campaign_id"]
            reviewed = {"creative": node.body["creative"]["id"]}
            if node.body.get("reviewed") != reviewed:
                ends = review_ends(self._spec, ad_set.id, reviewed["creative"], self._objects.now)
                node.body |= {"reviewed": reviewed, "review_ends": ends.isoformat()}

    def _label_ids(self, labels: list[dict[str, Any]]) -> list[int]:
        ids: dict[int, None] = {}
        for label in labels:
            if "id" in label:
                ids[self._objects.require(_number(label["id"], "adlabels"), LABEL, "adlabels").id] = None
            elif isinstance(label.get("name"), str) and label["name"].strip():
                ids[self._objects.label_named(label["name"]).id] = None
            else:
                raise GraphError(f"adlabels needs items with an id or a name; got {label!r}", blame="adlabels")
        return list(ids)

    def _creative_id(self, creative: Mapping[str, Any]) -> int:
        """An existing creative, or a new one from the fields given inside the ad."""
        for name in ("creative_id", "id"):
            if name in creative:
                return _number(creative[name], "creative")
        text = {name: value if isinstance(value, str) else json.dumps(value) for name, value in creative.items()}
        return int(self.create(CREATIVE, text)["id"])

    def _set_bids(self, campaign: Node, bids: Mapping[str, Any]) -> None:
        """The bids of several ad sets of the campaign, all of them or none."""
        own = {ad_set.id: ad_set for ad_set in self._objects.ad_sets_of(campaign) if ad_set.is_living}
        for name, amount in bids.items():
            ad_set = own.get(_number(name, "adset_bid_amounts"))
            if ad_set is None:
                raise missing_object(str(name), "post")
            before = dict(ad_set.body)
            amount_cents = AD_SET.parameters["bid_amount"]("bid_amount", str(amount), self._objects.account.zone)
            ad_set.body["bid_amount"] = amount_cents
            check_object(self._objects, ad_set, before)
            self._objects.save(ad_set)

    def _remove_label(self, label: Node) -> None:
        for node_type in (CAMPAIGN, AD_SET, AD, CREATIVE):
            for node in self._objects.all(node_type):
                kept = [item for item in node.body.get("adlabels", []) if item["id"] != label.id]
                if len(kept) != len(node.body.get("adlabels", [])):
                    node.body["adlabels"] = kept
                    self._objects.save(node)
        self._objects.call.remove(self._objects.account.id, LABEL.kind, label.id)

    def _record(self, what: str, node: Node, fields: Mapping[str, Any]) -> None:
        """Keep who changed what, for the account's activities."""
        if node.type not in (CAMPAIGN, AD_SET, AD):
            return
        body = {
            "event_time": self._objects.now.isoformat(),
            "event_type": f"{what}_{node.type.name.lower()}",
            "object_id": str(node.id),
            "object_name": node.body["name"],
            "object_type": node.type.name.upper(),
            "application_id": str(self._application),
            "application_name": f"app {self._application}",
            "actor_name": f"user of app {self._application}",
            "extra_data": json.dumps({"fields": sorted(fields)}),
        }
        self._objects.create(ACTIVITY, body)

    def _serve(self, node: Node) -> None:
        """Tell the exchange what changes for the campaign of this object."""
        if node.type not in (CAMPAIGN, AD_SET, AD):
            return
        campaign = self._objects.campaign_of(node)
        limits = self._spec.overdelivery.meta.limits()
        delivery = CampaignDelivery(self._objects, campaign, limits, disabled=is_disabled(self._objects))
        for moment, served in delivery.served():
            self._objects.call.serve(served, at=moment)

    @staticmethod
    def _end_if_only_validated(parameters: Mapping[str, str]) -> None:
        if "validate_only" in parameters.get("execution_options", ""):
            raise ValidateOnly


def _number(value: object, parameter: str) -> int:
    text = str(value)
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise GraphError(f"{parameter} names the id {text[:40]!r}; an id is a whole number", blame=parameter)
    return int(text)
