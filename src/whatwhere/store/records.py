"""Dataclasses out of JSON from outside: every field is there, known and of its kind, or an error says which is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from whatwhere.errors import WhatwhereError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Kind = TypeVar("Kind", bound=DataclassInstance)
else:
    Kind = TypeVar("Kind")


def from_json(kind: type[Kind], content: object, what: str, **ready: Any) -> Kind:
    """Makes a dataclass out of a JSON object.

    Args:
        kind: the dataclass.
        content: the object.
        what: its name in errors.
        ready: fields that were made already and replace what ``content`` has under their names.

    Raises:
        WhatwhereError: a field is unknown, missing or of another kind, or ``content`` is no object.
    """
    if not isinstance(content, Mapping):
        raise WhatwhereError(f"{what} should be a JSON object, and it is {content!r:.80}.")
    hints = get_type_hints(kind)
    known = {field.name for field in fields(kind)}
    unknown = sorted(set(map(str, content)) - known)
    if unknown:
        raise WhatwhereError(
            f"{what} has the unknown field {unknown[0]!r}; it may come from a newer whatwhere. "
            f"Known are {', '.join(sorted(known))}."
        )
    values = dict(ready)
    for field in fields(kind):
        if field.name in ready:
            continue
        if field.name in content:
            values[field.name] = _value(content[field.name], hints[field.name], f"{field.name} of {what}")
        elif field.default is MISSING and field.default_factory is MISSING:
            raise WhatwhereError(f"{what} lacks {field.name!r}.")
    return kind(**values)


def _value(value: object, kind: Any, what: str) -> Any:
    """The value as its kind has it: lists become tuples, whole numbers may stand for others."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (UnionType, Union):
        if value is None and NoneType in inner:
            return None
        return _value(value, next(one for one in inner if one is not NoneType), what)
    if origin is tuple and isinstance(value, list | tuple):
        if inner[-1] is Ellipsis:
            return tuple(_value(item, inner[0], what) for item in value)
        if len(inner) == len(value):
            return tuple(_value(item, of, what) for item, of in zip(value, inner, strict=True))
    if origin is Literal and isinstance(value, str) and value in inner:
        return value
    if kind is float and type(value) in (int, float):
        return value
    if kind in (bool, int, str, dict) and type(value) is kind:
        return value
    raise WhatwhereError(f"{what} should be {_name(kind)}, and {value!r:.80} arrived.")


def _name(kind: Any) -> str:
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", dict: "an object"}
    if get_origin(kind) is Literal:
        return f"one of {', '.join(map(str, get_args(kind)))}"
    return names.get(kind, "a list")
