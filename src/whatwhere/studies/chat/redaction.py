"""API keys are stored nowhere: not in results, not in inspect-ai's logs, not in messages.

Keys come from the environment. A key in a model argument is an error, because arguments are stored with the results; an
argument may name a variable instead (``$MY_KEY``), and then the name is stored. The name of a model and its address are
stored too, so a key in them is an error as well, all before the first file is written. Keys that a server echoes are
removed before inspect-ai writes them (``echoes.py``). Logs of other programs or of earlier versions may hold some: they
are removed from these before asking, afterwards, and before tabulating.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, quote, quote_plus, urlsplit
from zipfile import ZipFile, is_zipfile

from whatwhere.errors import WhatwhereError
from whatwhere.store.files import read_text, write_text

REMOVED = "[key]"
_SECRET = re.compile(
    r"(?:^|[_-])(?:(?:api)?keys?|token|secrets?|password|passwd|passphrase|pat|credentials?|authorization|auth|bearer"
    r"|cookies?|headers?)$",
    re.IGNORECASE,
)
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
"""Word boundaries in ``accessKey``."""
_LISTS = ("logs.json", "eval-set.json")
"""Index files of inspect-ai in a folder of logs."""
_SHORTEST = 8
"""Shorter values may be ordinary words ("none") and would be removed from any text."""


def is_secret(name: str) -> bool:
    """Whether something of this name holds a key: ``OPENAI_API_KEY``, ``X-Api-Key``, ``default_headers``."""
    return _SECRET.search(_CAPITAL.sub("_", name)) is not None


def secrets(arguments: Mapping[str, Any] | None = None) -> list[str]:
    """All known keys, in each spelling, longest first.

    They are environment variables with the name of a key, passwords in addresses there, and model arguments with such
    names or from the environment.
    """
    named = [value for name, value in os.environ.items() if is_secret(name)]
    named += [split_url(value).password or "" for value in os.environ.values() if "@" in value]
    named += [value for _, value in _secret_arguments(arguments or {})]

    def note(_: str, text: str) -> str:
        named.append(os.environ.get(_reference(text) or "", ""))
        return text

    _change_texts(arguments or {}, note)
    values = {part for value in named for part in value.split() if len(part) >= _SHORTEST}
    return sorted({form for value in values for form in _spellings(value)}, key=len, reverse=True)


def _spellings(key: str) -> set[str]:
    """A key as texts have it: plain, as Python shows it, in an address, in JSON, in JSON within JSON."""
    json_texts = {json.dumps(key, ensure_ascii=ascii)[1:-1] for ascii in (False, True)}
    nested = {json.dumps(text)[1:-1] for text in json_texts}
    return {key, repr(key)[1:-1], quote(key, safe=""), quote_plus(key)} | json_texts | nested


def split_url(url: str) -> SplitResult:
    """The parts of an address; empty if it is invalid."""
    try:
        return urlsplit(url)
    except ValueError:  # half a bracket
        return urlsplit("")


def _change_texts(content: Any, change: Callable[[str, str], str], name: str = "") -> Any:
    """Arguments with each text replaced by ``change(name, text)``.

    The name is that of the nearest enclosing argument, or of one further out with the name of a key.
    """
    if isinstance(content, Mapping):
        return {
            key: _change_texts(value, change, name if is_secret(name) else str(key)) for key, value in content.items()
        }
    if isinstance(content, list | tuple):
        return [_change_texts(value, change, name) for value in content]
    return change(name, content) if isinstance(content, str) else content


def _secret_arguments(content: Any) -> list[tuple[str, str]]:
    """Name and value of each argument with the name of a key, also nested."""
    found: list[tuple[str, str]] = []

    def note(name: str, value: str) -> str:
        found.extend([(name, value)] if is_secret(name) else [])
        return value

    _change_texts(content, note)
    return found


def check_kept(*texts: str) -> None:
    """Raises an error for a key of the environment in the name or the address of a model."""
    if any(key in text for key in secrets() for text in texts):
        raise WhatwhereError(
            "expected a model and an address without a key, because they are kept with the results, got one; leave it "
            "in the environment variable of the provider."
        )


def check_arguments(arguments: Mapping[str, Any]) -> None:
    """Raises an error for keys in model arguments: a text with the name of a key, or a key of the environment."""
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
    """A text with every key replaced."""
    for key in keys:
        text = text.replace(key, REMOVED)
    return text


def remove_keys(directory: Path, arguments: Mapping[str, Any] | None = None) -> list[Path]:
    """Removes keys from all inspect-ai logs in a directory and below, and from its index files.

    The directory need not exist, and no other file is changed; ``arguments`` are the model's.

    Returns:
        The changed files.

    Raises:
        WhatwhereError: a log cannot be read.
    """
    from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log, write_eval_log

    if not directory.is_dir():
        return []
    keys = secrets(arguments)
    changed = []
    for path in sorted(found for name in _LISTS for found in directory.rglob(name)):
        text = read_text(path, "a list of logs")
        if (clean := without(text, keys)) != text:
            write_text(path, clean)
            changed.append(path)
    for path in sorted(Path(log.name.removeprefix("file://")) for log in list_eval_logs(str(directory))):
        with reading_log(path):
            # Keys among the model arguments: of an evaluation that inspect-ai itself was told to run.
            named = _secret_arguments(read_eval_log(str(path), header_only=True).eval.model_args)
            own = [text for _, text in named if not _reference(text) and text != REMOVED]
            if not own and not _holds(path, keys):
                continue
            parts = [part for text in own for part in (text, *text.split()) if len(part) >= _SHORTEST]
            log = EvalLog.model_validate_json(without(read_eval_log(str(path)).model_dump_json(), [*keys, *parts]))
        log.eval.model_args = _change_texts(
            log.eval.model_args, lambda name, text: REMOVED if is_secret(name) and not _reference(text) else text
        )
        write_eval_log(log, str(path))
        changed.append(path)
    return changed


@contextmanager
def reading_log(path: str | Path) -> Iterator[None]:
    """Turns any exception while reading a log into an error that names it; inspect-ai documents no types."""
    try:
        yield
    except Exception as error:
        raise WhatwhereError(f"the log {path} cannot be read: {error}. Remove it, and run again.") from error


def _holds(path: Path, keys: Sequence[str]) -> bool:
    """Whether a key occurs in a log; reading the bytes is much faster than parsing them."""
    if not is_zipfile(path):  # of inspect-ai's other format
        return any(key in read_text(path, "a log") for key in keys)
    with ZipFile(path) as archive:
        return any(key.encode() in archive.read(name) for name in archive.namelist() for key in keys)
