"""The Mutate methods: of each resource's own service, of AdService, and of GoogleAdsService for several kinds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gaelp.sandbox.google.account_store import key_of
from gaelp.sandbox.google.failures import AdsError, AdsRefusal, FieldPath, Unsupported, status_message
from gaelp.sandbox.google.messages import Message, load_service, new
from gaelp.sandbox.google.mutate import MutateBatch
from gaelp.sandbox.google.resource_kinds import KINDS, ResourceKind
from gaelp.sandbox.google.resource_names import parse_name
from gaelp.sandbox.google.session import AdsHandler, AdsSession, ValidatedOnly

__all__ = ["mutate_ads", "mutate_everything", "mutate_handler"]

_MOST_OPERATIONS = 10_000
_MUTABLE_RESOURCE = 2  # ResponseContentType: the whole resource, not only its name

load_service("ad_service")


@dataclass(frozen=True, slots=True)
class _Step:
    """One operation: where it is in the request, and how it is carried out."""

    path: FieldPath
    result: str  # the field of the answer's item that gets the result; empty if the item is the result itself
    kind: ResourceKind
    apply: Callable[[MutateBatch], Message]


def mutate_handler(kind: ResourceKind) -> AdsHandler:
    """The handler of a kind's own service."""

    def handle(session: AdsSession, request: Message) -> Message:
        steps = [
            _Step((("operations", index),), "", kind, lambda batch, item=operation: batch.apply(kind, item))  # type: ignore[misc]
            for index, operation in enumerate(request.operations)
        ]
        return _mutate(session, request, steps, new(f"services.{kind.method}Response"), "results")

    return handle


def mutate_ads(session: AdsSession, request: Message) -> Message:
    """AdService.MutateAds: change the content of adverts, which are then reviewed again."""
    steps = [
        _Step((("operations", index),), "", KINDS["ad_group_ad"], lambda batch, item=operation: _apply_ad(batch, item))  # type: ignore[misc]
        for index, operation in enumerate(request.operations)
    ]
    return _mutate(session, request, steps, new("services.MutateAdsResponse"), "results")


def mutate_everything(session: AdsSession, request: Message) -> Message:
    """GoogleAdsService.Mutate: operations of several kinds, which may refer to each other by temporary ids."""
    steps = [_step(index, operation) for index, operation in enumerate(request.mutate_operations)]
    answer = new("services.MutateGoogleAdsResponse")
    return _mutate(session, request, steps, answer, "mutate_operation_responses")


def _step(index: int, operation: Message) -> _Step:
    choice = operation.WhichOneof("operation")
    path: FieldPath = (("mutate_operations", index),)
    if choice is None:
        text = "An operation of one kind is required."
        raise AdsRefusal(AdsError("request_error", "OPERATION_REQUIRED", text, path))
    name = choice.removesuffix("_operation")
    inner = getattr(operation, choice)
    path = (*path, (choice, None))
    if name == "ad":
        return _Step(path, "ad_result", KINDS["ad_group_ad"], lambda batch: _apply_ad(batch, inner))
    if name not in KINDS:
        raise Unsupported(f"{choice} in GoogleAdsService.Mutate: this sandbox has {', '.join(KINDS)}, ad")
    kind = KINDS[name]
    return _Step(path, f"{name}_result", kind, lambda batch: batch.apply(kind, inner))


def _apply_ad(batch: MutateBatch, operation: Message) -> Message:
    """Change the advert inside its AdGroupAd."""
    kind = KINDS["ad_group_ad"]
    if operation.WhichOneof("operation") != "update":
        text = "AdService changes adverts; create and remove them with AdGroupAdService."
        raise AdsRefusal(AdsError("operator_error", "OPERATOR_NOT_SUPPORTED", text))
    path: FieldPath = (("update", None), ("resource_name", None))
    name = parse_name(operation.update.resource_name, "ads", batch.store.account, path)
    holder = next((item for item in batch.store.all(kind.name) if item.ad.id == name.ids[-1]), None)
    if holder is None:
        raise AdsRefusal(AdsError("mutate_error", "RESOURCE_NOT_FOUND", f"Resource was not found: '{name}'.", path))
    inner = new("services.AdGroupAdOperation")
    inner.update.resource_name = holder.resource_name
    inner.update.ad.CopyFrom(operation.update)
    inner.update_mask.paths.extend(f"ad.{part}" for part in operation.update_mask.paths if part != "resource_name")
    return batch.apply(kind, inner, ad_service=True).ad


def _mutate(session: AdsSession, request: Message, steps: Sequence[_Step], answer: Message, results: str) -> Message:
    _check_count(steps)
    batch = session.begin_change(len(steps))
    errors: list[AdsError] = []
    changed: list[tuple[_Step, Message | None]] = []
    for step in steps:
        try:
            changed.append((step, step.apply(batch)))
        except AdsRefusal as refusal:
            errors.extend(error.below(*step.path) for error in refusal.errors)
            changed.append((step, None))
    if errors and not request.partial_failure:
        raise AdsRefusal(*errors)
    session.serve(batch.store, batch.touched)
    if errors:
        status_message(answer.partial_failure_error, errors, session.request_id)
    if request.validate_only:
        raise ValidatedOnly(answer)
    whole = getattr(request, "response_content_type", 0) == _MUTABLE_RESOURCE
    for step, resource in changed:
        item = getattr(answer, results).add()
        if resource is not None:
            _fill_result(getattr(item, step.result) if step.result else item, step, resource, batch, whole=whole)
    return answer


def _check_count(steps: Sequence[_Step]) -> None:
    if not steps:
        text = "The request has no operations."
        raise AdsRefusal(AdsError("request_error", "REQUIRED_FIELD_MISSING", text, (("operations", None),)))
    if len(steps) > _MOST_OPERATIONS:
        text = f"The request has {len(steps)} operations; {_MOST_OPERATIONS} are allowed."
        raise AdsRefusal(AdsError("request_error", "TOO_MANY_MUTATE_OPERATIONS", text))


def _fill_result(result: Message, step: _Step, resource: Message, batch: MutateBatch, *, whole: bool) -> None:
    result.resource_name = resource.resource_name
    name = "ad" if resource.DESCRIPTOR.name == "Ad" else step.kind.name
    if whole and name in result.DESCRIPTOR.fields_by_name:
        # Read again: the creation of one experiment arm changes the other.
        stored = None if name == "ad" else batch.store.find(step.kind, key_of(resource.resource_name))
        getattr(result, name).CopyFrom(stored if stored is not None else resource)
