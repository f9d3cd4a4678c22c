"""Keys are kept nowhere: not in results, not in inspect-ai's logs, not in messages.

Keys come from the environment. As model arguments they are refused, because arguments are kept with the results; an
argument may name a variable instead (``$MY_KEY``), and then the name is kept. What a server echoes of a key is struck
out of the logs: before anything is asked (a killed process could not do it), afterwards, and before logs are tabulated.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from whatwhere.errors import WhatwhereError
from whatwhere.store.files import read_text, write_text

STRUCK_OUT = "[key]"
_SECRET = re.compile(
    r"(?:^|[_-])(?:api[_-]?key|key|token|secret|password|credentials?|authorization|auth|bearer|cookie|headers?)$",
    re.IGNORECASE,
)
_SHORTEST = 8
"""Shorter values are words of their own ("none") and would be struck out of any text."""


def is_secret(name: str) -> bool:
    """Whether something of this name holds a key: ``OPENAI_API_KEY``, ``X-Api-Key``, ``default_headers``."""
    return _SECRET.search(name) is not None


def secrets(arguments: Mapping[str, Any] | None = None) -> list[str]:
    """Every key that is known, longest first: of environment variables, and of model arguments."""
    named = [value for name, value in os.environ.items() if is_secret(name)]
    values = {part for value in (*named, *(v for _, v in secret_arguments(arguments or {}))) for part in value.split()}
    return sorted((value for value in values if len(value) >= _SHORTEST), key=len, reverse=True)


def secret_arguments(content: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Name and value of each argument that is named as keys are, in nested ones too."""
    if isinstance(content, Mapping):
        for key, value in content.items():
            yield from secret_arguments(value, name if is_secret(name) else str(key))
    elif isinstance(content, list | tuple):
        for value in content:
            yield from secret_arguments(value, name)
    elif isinstance(content, str) and is_secret(name):
        yield name, content


def check_arguments(arguments: Mapping[str, Any]) -> None:
    """Refuses keys among model arguments.

    Raises:
        WhatwhereError: one is named as keys are and holds a text, or holds a key of the environment.
    """
    text = json.dumps(arguments)
    named = next((name for name, value in secret_arguments(arguments) if not _reference(value)), None)
    if named is not None or any(key in text for key in secrets()):
        raise WhatwhereError(
            f"expected model arguments without a key, because they are kept with the results, got one"
            f"{f' in {named!r}' if named else ''}; put it into an environment variable such as OPENAI_API_KEY, "
            "or name a variable, as in x=$MY_KEY."
        )


def from_environment(content: Any) -> Any:
    """Model arguments with the values of the environment variables that they name.

    Raises:
        WhatwhereError: there is no such variable.
    """
    if isinstance(content, Mapping):
        return {key: from_environment(value) for key, value in content.items()}
    if isinstance(content, list):
        return [from_environment(value) for value in content]
    if isinstance(content, str) and (name := _reference(content)):
        if name not in os.environ:
            raise WhatwhereError(f"expected the environment variable {name}, which a model argument names, got none.")
        return os.environ[name]
    return content


def _reference(value: str) -> str | None:
    found = re.fullmatch(r"\$(\w+)", value)
    return found.group(1) if found else None


def without(text: str, keys: Sequence[str]) -> str:
    """A text with every key struck out."""
    for key in keys:
        text = text.replace(key, STRUCK_OUT)
    return text


def strike_out(directory: Path, arguments: Mapping[str, Any] | None = None) -> list[Path]:
    """Strikes keys out of all inspect-ai logs in a directory and below, and of the lists it keeps of them.

    Args:
        directory: it need not exist.
        arguments: of the model, with the values of the environment.

    Returns:
        The files that held one.

    Raises:
        WhatwhereError: a log cannot be read.
    """
    from inspect_ai.log import EvalLog, read_eval_log, write_eval_log

    keys = [json.dumps(key)[1:-1] for key in secrets(arguments)]
    changed = []
    for path in sorted(directory.rglob("*.json")):
        text = read_text(path, "a list of logs")
        if (clean := without(text, keys)) != text:
            write_text(path, clean)
            changed.append(path)
    for path in sorted(directory.rglob("*.eval")):
        own = _named_in(path)
        if not own and not _holds(path, keys):
            continue
        text = without(
            read_eval_log(str(path)).model_dump_json(), [*keys, *(key for key in own if len(key) >= _SHORTEST)]
        )
        log = EvalLog.model_validate_json(text)
        log.eval.model_args = _masked(log.eval.model_args)
        write_eval_log(log, str(path))
        changed.append(path)
    return changed


def _named_in(path: Path) -> list[str]:
    """Keys that a log holds among its model arguments: of an evaluation that inspect-ai itself was told to run."""
    from inspect_ai.log import read_eval_log

    try:
        found = secret_arguments(read_eval_log(str(path), header_only=True).eval.model_args)
    except Exception as error:  # whatever a damaged archive raises; inspect-ai documents no kinds
        raise WhatwhereError(f"the log {path} cannot be read: {error}. Remove it, and run again.") from error
    return [
        part for _, value in found if not _reference(value) and value != STRUCK_OUT for part in (value, *value.split())
    ]


def _holds(path: Path, keys: Sequence[str]) -> bool:
    """Whether a key occurs in a log; reading the bytes is far quicker than parsing them."""
    try:
        with ZipFile(path) as archive:
            return any(key.encode() in archive.read(name) for name in archive.namelist() for key in keys)
    except BadZipFile as error:
        raise WhatwhereError(f"the log {path} cannot be read: {error}. Remove it, and run again.") from error


def _masked(content: Any, name: str = "") -> Any:
    if isinstance(content, Mapping):
        return {key: _masked(value, name if is_secret(name) else str(key)) for key, value in content.items()}
    if isinstance(content, list):
        return [_masked(value, name) for value in content]
    return STRUCK_OUT if isinstance(content, str) and is_secret(name) and not _reference(content) else content
