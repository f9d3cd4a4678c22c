"""Keys are kept nowhere: not in results, not in inspect-ai's logs, not in messages.

Keys come from the environment. As model arguments they are refused, because arguments are kept with the results; an
argument may name a variable instead (``$MY_KEY``), and then the name is kept. What a server echoes of a key is struck
out of the logs: before anything is asked (a killed process could not do it), afterwards, and before logs are tabulated.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import ZipFile

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
    values = {part for value in (*named, *(v for _, v in _secret_arguments(arguments or {}))) for part in value.split()}
    return sorted((value for value in values if len(value) >= _SHORTEST), key=len, reverse=True)


def _change_texts(content: Any, change: Callable[[str, str], str], name: str = "") -> Any:
    """Arguments with each text replaced by ``change(name, text)``.

    The name is that of the nearest argument around it, or of one further out that is named as keys are.
    """
    if isinstance(content, Mapping):
        return {
            key: _change_texts(value, change, name if is_secret(name) else str(key)) for key, value in content.items()
        }
    if isinstance(content, list | tuple):
        return [_change_texts(value, change, name) for value in content]
    return change(name, content) if isinstance(content, str) else content


def _secret_arguments(content: Any) -> list[tuple[str, str]]:
    """Name and value of each argument that is named as keys are, in nested ones too."""
    found: list[tuple[str, str]] = []

    def note(name: str, value: str) -> str:
        found.extend([(name, value)] if is_secret(name) else [])
        return value

    _change_texts(content, note)
    return found


def check_arguments(arguments: Mapping[str, Any]) -> None:
    """Refuses keys among model arguments: a text that is named as keys are, or a key of the environment."""
    text = json.dumps(arguments)
    named = next((name for name, value in _secret_arguments(arguments) if not _reference(value)), None)
    if named is not None or any(key in text for key in secrets()):
        raise WhatwhereError(
            f"expected model arguments without a key, because they are kept with the results, got one"
            f"{f' in {named!r}' if named else ''}; put it into an environment variable such as OPENAI_API_KEY, "
            "or name a variable, as in x=$MY_KEY."
        )


def from_environment(content: Any) -> Any:
    """Model arguments with the values of the environment variables that they name."""

    def value_of(_: str, text: str) -> str:
        name = _reference(text)
        if name is not None and name not in os.environ:
            raise WhatwhereError(f"expected the environment variable {name}, which a model argument names, got none.")
        return text if name is None else os.environ[name]

    return _change_texts(content, value_of)


def _reference(value: str) -> str | None:
    found = re.fullmatch(r"\$(\w+)", value)
    return found.group(1) if found else None


def without(text: str, keys: Sequence[str]) -> str:
    """A text with every key struck out."""
    for key in keys:
        text = text.replace(key, STRUCK_OUT)
    return text


def strike_out(directory: Path, arguments: Mapping[str, Any] | None = None) -> list[Path]:
    """Strikes keys out of all inspect-ai logs in a directory and below, and of the lists that it keeps of them.

    The directory need not exist; ``arguments`` are the model's, with the values of the environment.

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
        with reading_log(path):
            # Keys among the model arguments: of an evaluation that inspect-ai itself was told to run.
            named = _secret_arguments(read_eval_log(str(path), header_only=True).eval.model_args)
            own = [text for _, text in named if not _reference(text) and text != STRUCK_OUT]
            if not own and not _holds(path, keys):
                continue
            parts = [part for text in own for part in (text, *text.split()) if len(part) >= _SHORTEST]
            log = EvalLog.model_validate_json(without(read_eval_log(str(path)).model_dump_json(), [*keys, *parts]))
        log.eval.model_args = _change_texts(
            log.eval.model_args, lambda name, text: STRUCK_OUT if is_secret(name) and not _reference(text) else text
        )
        write_eval_log(log, str(path))
        changed.append(path)
    return changed


@contextmanager
def reading_log(path: str | Path) -> Iterator[None]:
    """Names the log that cannot be read, whatever a damaged archive raises; inspect-ai documents no kinds."""
    try:
        yield
    except Exception as error:
        raise WhatwhereError(f"the log {path} cannot be read: {error}. Remove it, and run again.") from error


def _holds(path: Path, keys: Sequence[str]) -> bool:
    """Whether a key occurs in a log; reading the bytes is far quicker than parsing them."""
    with ZipFile(path) as archive:
        return any(key.encode() in archive.read(name) for name in archive.namelist() for key in keys)
