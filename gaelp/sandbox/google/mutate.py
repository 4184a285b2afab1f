"""The mutate engine: create, update and remove resources of any kind, by the rules in the table of kinds."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from gaelp.sandbox.google.account_store import AccountStore, is_removed, key_of, unique_name
from gaelp.sandbox.google.ad_checks import check_ad_group_ad, check_label
from gaelp.sandbox.google.ad_review import AdReviews
from gaelp.sandbox.google.campaign_checks import LAST_MOMENT, check_campaign, check_portfolio
from gaelp.sandbox.google.change_events import Editor, record_change
from gaelp.sandbox.google.criteria import check_criterion, check_modifier_criterion, criterion_id, criterion_type
from gaelp.sandbox.google.experiments import check_arm, check_experiment, design_treatment
from gaelp.sandbox.google.failures import AdsError, AdsRefusal, FieldPath
from gaelp.sandbox.google.field_checks import check_enums, check_name, check_required
from gaelp.sandbox.google.field_masks import apply_mask
from gaelp.sandbox.google.messages import Message, clean, copy_of, enum_name, find_field, set_enum
from gaelp.sandbox.google.money_checks import check_ad_group_bids, check_budget, check_criterion_bids, check_targets
from gaelp.sandbox.google.resource_kinds import KINDS, ResourceKind
from gaelp.sandbox.google.resource_names import parse_name, replace_temporary_ids

__all__ = ["MutateBatch"]

Check = Callable[[Message, Message | None, AccountStore], Iterator[AdsError]]

_CHECKS: Mapping[str, tuple[Check, ...]] = MappingProxyType(
    {
        "campaign_budget": (check_budget,),
        "campaign": (check_campaign, check_targets),
        "ad_group": (check_ad_group_bids,),
        "ad_group_ad": (check_ad_group_ad,),
        "ad_group_criterion": (check_criterion, check_criterion_bids),
        "campaign_criterion": (check_criterion,),
        "ad_group_bid_modifier": (check_modifier_criterion,),
        "label": (check_label,),
        "bidding_strategy": (check_portfolio, check_targets),
        "experiment": (check_experiment,),
        "experiment_arm": (check_arm,),
    }
)


@dataclass(slots=True)
class MutateBatch:
    """The operations of one request, one after the other; each is applied as a whole or raises AdsRefusal."""

    store: AccountStore
    reviews: AdReviews
    editor: Editor
    touched: set[str] = field(default_factory=set)  # resource names of campaigns that may serve differently now
    _real_ids: dict[int, int] = field(default_factory=dict)  # of temporary ids
    _failed_ids: set[int] = field(default_factory=set)

    def apply(self, kind: ResourceKind, operation: Message, *, ad_service: bool = False) -> Message:
        """Carry out one operation; the resource as it is afterwards, or was before it was removed."""
        choice = operation.WhichOneof("operation")
        if choice is None:
            raise AdsRefusal(
                AdsError("request_error", "OPERATION_REQUIRED", "An operation is create, update or remove.")
            )
        if choice not in kind.operations:
            raise AdsRefusal(
                AdsError(
                    "operator_error", "OPERATOR_NOT_SUPPORTED", f"{kind.service} has no {choice}.", ((choice, None),)
                )
            )
        try:
            if choice == "remove":
                return self._remove(kind, operation.remove)
            content = copy_of(getattr(operation, choice))
            replace_temporary_ids(content, self._real_ids)
            if choice == "create":
                return self._create(kind, content)
            return self._update(kind, content, list(operation.update_mask.paths), ad_service=ad_service)
        except AdsRefusal as refusal:
            on_mask = [error.path[:1] == (("update_mask", None),) for error in refusal.errors]
            path = () if any(on_mask) or choice == "remove" else ((choice, None),)
            raise AdsRefusal(*(error.below(*path) for error in refusal.errors)) from None

    # Create

    def _create(self, kind: ResourceKind, content: Message) -> Message:
        temporary = self._temporary_id(kind, content)
        try:
            self._prepare_new(kind, content)
            self._check(kind, content, None)
            self._name_new(kind, content)
            self._check_unique(kind, content)
        except AdsRefusal:
            self._failed_ids |= {temporary} if temporary is not None else set()
            raise
        self._keep(kind, None, content)
        if temporary is not None:
            self._real_ids[temporary] = int(key_of(content.resource_name).split("~")[-1])
        return content

    def _temporary_id(self, kind: ResourceKind, content: Message) -> int | None:
        if not content.resource_name:
            return None
        path = (("resource_name", None),)
        name = parse_name(content.resource_name, kind.collection, self.store.account, path)
        last = name.ids[-1]
        if last >= 0:
            text = "A new resource gets its id from the platform; use a negative id as a temporary one."
            if kind.second != "new":
                return None  # the real API accepts the name that the resource will have anyway
            raise AdsRefusal(AdsError("new_resource_creation_error", "CANNOT_SET_ID_FOR_CREATE", text, path, str(name)))
        if last in self._real_ids or last in self._failed_ids:
            text = f"The temporary id {last} is used twice."
            raise AdsRefusal(AdsError("new_resource_creation_error", "DUPLICATE_TEMP_IDS", text, path, str(name)))
        return last

    def _prepare_new(self, kind: ResourceKind, content: Message) -> None:
        for name in kind.computed:
            content.ClearField(name)
        status = find_field(content.DESCRIPTOR, "status")
        if status is not None and enum_name(content, "status") == "REMOVED":
            text = "A resource cannot be created as removed."
            raise AdsRefusal(
                AdsError("operation_access_denied_error", "CREATE_AS_REMOVED_NOT_PERMITTED", text, (("status", None),))
            )
        for name, value in kind.defaults.items():
            if enum_name(content, name) == "UNSPECIFIED":
                set_enum(content, name, value)
        if kind.name == "campaign":
            content.start_date_time = content.start_date_time or self.store.now.strftime("%Y-%m-%d %H:%M:%S")
            content.end_date_time = content.end_date_time or LAST_MOMENT

    def _name_new(self, kind: ResourceKind, content: Message) -> None:
        """Give a new resource its id and resource name."""
        if not kind.owner:
            number = self.store.call.next_id()
            setattr(content, kind.id_field, number)
            content.resource_name = self.store.resource_name(kind.collection, number)
            return
        if kind.second == "linked":
            number = int(key_of(getattr(content, kind.linked)))
        else:
            number = criterion_id(content) if kind.second == "criterion" else self.store.call.next_id()
        if kind.id_field == "ad.id":
            content.ad.id = number
            content.ad.resource_name = self.store.resource_name("ads", number)
            set_enum(content.ad, "type", "RESPONSIVE_SEARCH_AD")
        elif kind.id_field:
            setattr(content, kind.id_field, number)
        if find_field(content.DESCRIPTOR, "type") is not None and kind.second == "criterion":
            set_enum(content, "type", criterion_type(content).upper())
        content.resource_name = self.store.resource_name(kind.collection, key_of(getattr(content, kind.owner)), number)

    # Update and remove

    def _existing(self, kind: ResourceKind, name: str, path: tuple[tuple[str, None], ...]) -> Message:
        for temporary, real in self._real_ids.items():
            name = name.replace(f"/{temporary}", f"/{real}").replace(f"~{temporary}", f"~{real}")
        parsed = parse_name(name, kind.collection, self.store.account, path)
        stored = self.store.find(kind, parsed.key)
        if stored is None:
            text = f"Resource was not found: '{name}'."
            raise AdsRefusal(AdsError("mutate_error", "RESOURCE_NOT_FOUND", text, path, name))
        if is_removed(stored):
            raise AdsRefusal(AdsError(*kind.removed_error, f"'{name}' is removed and cannot be changed.", path, name))
        return stored

    def _update(self, kind: ResourceKind, content: Message, paths: list[str], *, ad_service: bool) -> Message:
        before = self._existing(kind, content.resource_name, (("resource_name", None),))
        after = copy_of(before)
        apply_mask(after, content, paths)
        roots = {clean(path.split(".")[0]) for path in paths if path != "resource_name"}
        self._refuse_fixed(kind, before, after, roots, ad_service=ad_service)
        if "status" in roots and is_removed(after):
            text = "Use a remove operation to remove a resource."
            raise AdsRefusal(AdsError("enum_error", "ENUM_VALUE_NOT_PERMITTED", text, (("status", None),), "REMOVED"))
        self._check(kind, after, before)
        if after.SerializeToString(deterministic=True) == before.SerializeToString(deterministic=True):
            return after
        if getattr(after, "name", None) != getattr(before, "name", None):
            self._check_unique(kind, after)
        self._keep(kind, before, after)
        return after

    def _refuse_fixed(
        self, kind: ResourceKind, before: Message, after: Message, roots: set[str], *, ad_service: bool
    ) -> None:
        if kind.name == "ad_group_ad" and "ad" in roots and not ad_service:
            text = "The content of an advert is changed with AdService."
            raise AdsRefusal(AdsError("ad_error", "CANNOT_MODIFY_AD", text, (("ad", None),)))
        for name in (*kind.fixed, *kind.computed):
            if clean(name) in roots and (getattr(before, name) != getattr(after, name) or name in kind.computed):
                text = f"The field '{clean(name)}' cannot be changed."
                raise AdsRefusal(AdsError("field_error", "IMMUTABLE_FIELD", text, ((clean(name), None),)))

    def _remove(self, kind: ResourceKind, name: str) -> Message:
        before = self._existing(kind, name, (("remove", None),))
        if kind.name == "campaign_budget" and self.store.children("campaign", "campaign_budget", before.resource_name):
            text = f"'{name}' is used by a campaign."
            raise AdsRefusal(
                AdsError("campaign_budget_error", "CAMPAIGN_BUDGET_IN_USE", text, (("remove", None),), name)
            )
        if kind.name == "bidding_strategy" and self.store.children(
            "campaign", "bidding_strategy", before.resource_name
        ):
            text = f"'{name}' is used by a campaign."
            raise AdsRefusal(
                AdsError("bidding_strategy_error", "CANNOT_REMOVE_ASSOCIATED_STRATEGY", text, (("remove", None),), name)
            )
        self._touch(kind, before)
        record_change(self.store, kind, self.editor, before, None)
        if kind.removal == "delete":
            self.store.delete(kind, before)
            self._delete_links(kind, before)
            return before
        after = copy_of(before)
        set_enum(after, "status", "REMOVED")
        self.store.put(kind, after)
        return before

    def _delete_links(self, kind: ResourceKind, removed: Message) -> None:
        """A label that is gone is gone from everything it was attached to."""
        if kind.name == "label":
            for link in ("campaign_label", "ad_group_label"):
                for attached in self.store.children(link, "label", removed.resource_name):
                    self.store.delete(KINDS[link], attached)

    # What all operations share

    def _check(self, kind: ResourceKind, content: Message, before: Message | None) -> None:
        errors = [*check_enums(content), *check_required(kind, content), *check_name(content)]
        errors += self._check_references(kind, content, before)
        if not errors:
            for check in _CHECKS.get(kind.name, ()):
                errors += check(content, before, self.store)
        if errors:
            raise AdsRefusal(*errors)

    def _check_references(self, kind: ResourceKind, content: Message, before: Message | None) -> list[AdsError]:
        errors: list[AdsError] = []
        for name, target in kind.references.items():
            value = getattr(content, name)
            if not value or (before is not None and getattr(before, name) == value):
                continue
            path = ((name, None),)
            try:
                parsed = parse_name(value, KINDS[target].collection, self.store.account, path)
                if self._failed_ids & set(parsed.ids):
                    text = f"The operation that creates '{value}' failed."
                    errors.append(
                        AdsError("new_resource_creation_error", "TEMP_ID_RESOURCE_HAD_ERRORS", text, path, value)
                    )
                else:
                    self._existing(KINDS[target], value, path)
            except AdsRefusal as refusal:
                errors.extend(refusal.errors)
        return errors

    def _check_unique(self, kind: ResourceKind, content: Message) -> None:
        if kind.owner:
            existing = self.store.find(kind, key_of(content.resource_name))
            path: FieldPath = ()
            text, trigger = f"'{content.resource_name}' exists.", content.resource_name
        elif kind.unique_in != "nothing" and content.name:
            existing = self.store.with_name(kind, unique_name(kind, content))
            text, path, trigger = (
                f"The name '{content.name}' is used by another resource.",
                (("name", None),),
                content.name,
            )
        else:
            return
        if existing is not None and not is_removed(existing):
            raise AdsRefusal(AdsError(*kind.duplicate, text, path, trigger))

    def _keep(self, kind: ResourceKind, before: Message | None, after: Message) -> None:
        self.store.put(kind, after)
        if kind.name == "ad_group_ad" and (before is None or before.ad != after.ad):
            self.reviews.submit(after.ad.id)
        if kind.name == "experiment_arm" and before is None:
            design_treatment(self.store, self.reviews, after)
        record_change(self.store, kind, self.editor, before, after)
        self._touch(kind, after)

    def _touch(self, kind: ResourceKind, message: Message) -> None:
        """Note the campaigns whose serving depends on a resource."""
        if kind.name == "campaign":
            self.touched.add(message.resource_name)
        elif kind.name in {"campaign_budget", "bidding_strategy"}:
            users = self.store.children("campaign", kind.name, message.resource_name)
            self.touched.update(campaign.resource_name for campaign in users)
        elif kind.owner == "ad_group":
            owner = self.store.refer(message.ad_group)
            self.touched.add(owner.campaign if owner is not None else "")
        elif "campaign" in message.DESCRIPTOR.fields_by_name:
            self.touched.add(message.campaign)
