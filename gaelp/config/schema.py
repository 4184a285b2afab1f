"""Look into configuration models: which keys a section allows, what type a key has, where secrets are."""

import types
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, SecretBytes, SecretStr
from pydantic.fields import FieldInfo

from gaelp.config.problems import KeyPath

__all__ = [
    "constraints_at",
    "holds_secret",
    "is_required",
    "is_secret",
    "keys_at",
    "leaf_keys",
    "secret_keys",
    "types_at",
]


def types_at(model: type[BaseModel], path: KeyPath) -> tuple[Any, ...]:
    """Every type the value at a key path may have; empty if the models know no such key."""
    kinds: tuple[Any, ...] = (model,)
    for key in path:
        kinds = tuple(choice for parent in kinds for below in _below(parent, key) for choice in _choices(below))
    return kinds


def constraints_at(model: type[BaseModel], path: KeyPath) -> tuple[object, ...]:
    """What a model asks of the value at a key path beyond its type: ranges and lengths, as annotated_types."""
    if not path:
        return ()
    return tuple(
        constraint
        for parent in types_at(model, path[:-1])
        for below in _below(parent, path[-1])
        for constraint in _constraints(below)
    )


def keys_at(model: type[BaseModel], path: KeyPath) -> tuple[str, ...]:
    """The keys that the section at a key path allows, in the order of the model."""
    return tuple(
        dict.fromkeys(key for section in types_at(model, path) if _is_model(section) for key in _keys(section))
    )


@cache
def leaf_keys(model: type[BaseModel]) -> tuple[tuple[str, ...], ...]:
    """The key path of everything that is not itself a section, through optional sections too."""
    return tuple(path for path, _ in _leaves(model, ()))


@cache
def secret_keys(model: type[BaseModel]) -> tuple[tuple[str, ...], ...]:
    """The key path of every secret."""
    return tuple(path for path, choices in _leaves(model, ()) if any(map(is_secret, choices)))


def is_required(model: type[BaseModel], path: KeyPath) -> bool:
    """Whether the section of a key cannot do without it."""
    sections = [kind for kind in types_at(model, path[:-1]) if _is_model(kind)]
    return any(info.is_required() for kind in sections if (info := kind.model_fields.get(str(path[-1]))) is not None)


def is_secret(kind: Any) -> bool:
    """Whether a type is one of pydantic's secrets."""
    return isinstance(kind, type) and issubclass(kind, SecretStr | SecretBytes)


def holds_secret(kind: Any) -> bool:
    """Whether a value of this type is a secret or has one somewhere inside."""
    if is_secret(kind):
        return True
    if _is_model(kind):
        return any(holds_secret(choice) for info in kind.model_fields.values() for choice in _choices(info.annotation))
    return any(holds_secret(choice) for argument in get_args(kind) for choice in _choices(argument))


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


@cache
def _keys(model: type[BaseModel]) -> Mapping[str, Any]:
    return {
        info.alias or name: Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation
        for name, info in model.model_fields.items()
    }


def _choices(annotation: Any) -> Iterator[Any]:
    """The alternatives of a type, without None."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _choices(get_args(annotation)[0])
    elif origin in (Union, types.UnionType):
        for argument in get_args(annotation):
            yield from _choices(argument)
    elif annotation is not type(None):
        yield annotation


def _constraints(annotation: Any) -> Iterator[object]:
    """All that is annotated to a type or one of its alternatives."""
    origin = get_origin(annotation)
    if origin is Annotated:
        for extra in annotation.__metadata__:
            # Field(ge=0) inside a list's type keeps its constraints one level further down.
            yield from extra.metadata if isinstance(extra, FieldInfo) else (extra,)
        yield from _constraints(get_args(annotation)[0])
    elif origin in (Union, types.UnionType):
        for argument in get_args(annotation):
            yield from _constraints(argument)


def _below(kind: Any, key: str | int) -> Iterator[Any]:
    """The type of one key or index of a section, mapping or list."""
    if _is_model(kind):
        if key in (keys := _keys(kind)):
            yield keys[str(key)]
        return
    origin, arguments = get_origin(kind), get_args(kind)
    if not isinstance(origin, type) or not arguments:
        return
    if issubclass(origin, Mapping):
        yield arguments[1]
    elif issubclass(origin, tuple) and Ellipsis not in arguments:
        yield from arguments[int(key) : int(key) + 1] if isinstance(key, int) else ()
    elif issubclass(origin, Sequence):
        yield arguments[0]


def _leaves(model: type[BaseModel], above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], tuple[Any, ...]]]:
    for key, annotation in _keys(model).items():
        choices = tuple(_choices(annotation))
        sections = [choice for choice in choices if _is_model(choice)]
        if not sections:
            yield (*above, key), choices
        for section in sections:
            yield from _leaves(section, (*above, key))
