"""JSON documents, and typed records parsed from them.

A record is a dataclass. A missing or unknown field, or one of the wrong type, is an error that names the document and
the field; pydantic checks the types.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

from whatwhere.errors import WhatwhereError
from whatwhere.store.files import read_text, write_text

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from pydantic import TypeAdapter

    Record = TypeVar("Record", bound=DataclassInstance)
else:
    Record = TypeVar("Record")


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Writes an indented JSON object atomically."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path, what: str) -> dict[str, Any]:
    """Reads a JSON object.

    Raises:
        WhatwhereError: there is no such file, or it is not a JSON object.
    """
    try:
        content = json.loads(read_text(path, what))
    except (ValueError, RecursionError) as error:
        if isinstance(error, WhatwhereError):
            raise
        raise WhatwhereError(f"{what} at {path} is not valid JSON: {error}. Restore it, or make it again.") from error
    if not isinstance(content, dict):
        raise WhatwhereError(f"{what} at {path}: expected a JSON object, got {_kind(content)}.")
    return content


def plain(record: Any) -> Any:
    """A record or value as JSON types: tuples and arrays become lists; NaN, infinities and pandas' NA become null."""
    if is_dataclass(record) and not isinstance(record, type):
        return plain(asdict(record))
    if isinstance(record, Mapping):
        return {str(key): plain(value) for key, value in record.items()}
    if isinstance(record, list | tuple):
        return [plain(value) for value in record]
    if (listed := getattr(record, "tolist", None)) is not None:  # an array or a number of numpy
        return plain(listed())
    undefined = isinstance(record, float) and not math.isfinite(record)
    return None if undefined or type(record).__name__ == "NAType" else record


def parse(kind: type[Record], content: object, what: str, **ready: Any) -> Record:
    """Parses a JSON object into a record.

    Args:
        kind: the dataclass; nested dataclasses are parsed too.
        content: the object.
        what: its name in errors.
        ready: values of fields that need no parsing; they override ``content``.

    Raises:
        WhatwhereError: a field is unknown, missing or of another type, or ``content`` is no object.
    """
    if not isinstance(content, Mapping):
        raise WhatwhereError(f"{what}: expected a JSON object, got {_kind(content)}.")
    hints = get_type_hints(kind)
    known = [field.name for field in fields(kind)]
    unknown = sorted(set(map(str, content)) - set(known))
    if unknown:
        raise WhatwhereError(
            f"{what}: expected the fields {', '.join(sorted(known))}, got {unknown[0]!r}; "
            "it may come from a newer whatwhere."
        )
    values = dict(ready)
    for field in fields(kind):
        if field.name in ready:
            continue
        if field.name in content:
            values[field.name] = _value(hints[field.name], content[field.name], f"{what}, {field.name}")
        elif field.default is MISSING and field.default_factory is MISSING:
            raise WhatwhereError(f"{what}: expected the field {field.name!r}, got none.")
    return kind(**values)


def _value(kind: Any, value: object, what: str) -> Any:
    from pydantic import ValidationError

    if isinstance(kind, type) and is_dataclass(kind):
        return parse(kind, value, what)
    try:
        return _adapter(kind).validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        reason = error.errors()[0]["msg"].removeprefix("Input should be ")
        raise WhatwhereError(f"{what}: expected {reason}, got {value!r:.80}.") from error
    except (TypeError, RecursionError) as error:
        raise WhatwhereError(f"{what}: expected JSON, got {_kind(value)}.") from error


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else type(value).__name__)
