"""Apply an update by its field mask: only what the mask names changes, and what is unset there is cleared."""

from collections.abc import Sequence

from gaelp.sandbox.google.failures import AdsError, AdsRefusal
from gaelp.sandbox.google.messages import Message, clean, find_field

__all__ = ["apply_mask", "changed_paths"]


def _refuse(code: str, message: str, path: str) -> AdsRefusal:
    return AdsRefusal(AdsError("field_mask_error", code, message, (("update_mask", None),), path))


def apply_mask(target: Message, update: Message, paths: Sequence[str]) -> None:
    """Change `target` where the mask says so; AdsRefusal if the mask is empty or names no field."""
    wanted = [path for path in paths if path != "resource_name"]
    if not paths:
        raise _refuse("FIELD_MASK_MISSING", "The field mask must be provided for update operations.", "")
    for path in wanted:
        _apply_path(target, update, path.split("."), path)


def _apply_path(target: Message, update: Message, steps: Sequence[str], path: str) -> None:
    field = find_field(target.DESCRIPTOR, steps[0])
    if field is None:
        raise _refuse("FIELD_NOT_FOUND", f"The field mask contained an invalid field: '{path}'.", path)
    is_message = field.message_type is not None and not field.is_repeated
    if len(steps) > 1:
        if not is_message:
            raise _refuse("FIELD_NOT_FOUND", f"The field mask contained an invalid field: '{path}'.", path)
        _apply_path(getattr(target, field.name), getattr(update, field.name), steps[1:], path)
        # An emptied message still counts as set, which matters for the choice of a bidding strategy.
        if update.HasField(field.name):
            getattr(target, field.name).SetInParent()
        return
    if is_message and field.message_type.fields:
        names = ", ".join(f"{path}.{clean(inner.name)}" for inner in field.message_type.fields)
        message = f"The field mask names '{path}', which has subfields: name the subfields instead ({names})."
        raise _refuse("FIELD_HAS_SUBFIELDS", message, path)
    _copy_field(target, update, field, is_message=is_message)


def _copy_field(target: Message, update: Message, field: object, *, is_message: bool) -> None:
    name = field.name  # type: ignore[attr-defined]  # protobuf has no types
    if is_message:
        if update.HasField(name):
            getattr(target, name).SetInParent()
        else:
            target.ClearField(name)
        return
    target.ClearField(name)
    if field.is_repeated:  # type: ignore[attr-defined]  # as above
        getattr(target, name).MergeFrom(getattr(update, name))
    elif not field.has_presence or update.HasField(name):  # type: ignore[attr-defined]  # as above
        setattr(target, name, getattr(update, name))


def changed_paths(before: Message, after: Message, prefix: str = "") -> list[str]:
    """The fields that differ between two messages of one type, as paths of a field mask."""
    paths: list[str] = []
    for field in after.DESCRIPTOR.fields:
        name, path = field.name, f"{prefix}{clean(field.name)}"
        if field.message_type is not None and not field.is_repeated:
            is_set = (before.HasField(name), after.HasField(name))
            inner = changed_paths(getattr(before, name), getattr(after, name), f"{path}.") if any(is_set) else []
            paths.extend(inner or ([path] if is_set[0] != is_set[1] else []))
        elif getattr(before, name) != getattr(after, name):
            paths.append(path)
    return paths
