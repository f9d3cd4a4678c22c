"""Removes keys that a server echoes before inspect-ai stores them, so that no file ever holds one.

A process that is killed cannot tidy up its logs. So keys are removed twice on their way there: from what the
provider returns or raises (before it is cut to length, coloured or wrapped, which would leave pieces of a key), and
from all that the recorder of logs writes (requests, headers, and what a provider keeps of a call that is under way).
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from whatwhere.errors import WhatwhereError
from whatwhere.studies.chat.redaction import without

if TYPE_CHECKING:
    from inspect_ai.model import Model, ModelCall, ModelOutput

_COLOURED, _PLAIN = "traceback_ansi", "traceback"


def clean_replies(model: Model, keys: Sequence[str]) -> None:
    """Makes a model return and raise nothing that holds a key."""
    generate = model.api.generate

    async def generate_clean(*arguments: Any, **named: Any) -> Any:
        try:
            made = await generate(*arguments, **named)
        except Exception as error:
            clean = without_keys(error, keys)
            if clean is error:
                raise
            raise clean from None
        output, call = made if isinstance(made, tuple) else (made, None)
        if call is not None:
            _clean_call(call, keys)
        output = without_keys(output, keys) if isinstance(output, Exception) else _cleaned_output(output, keys)
        return output if call is None else (output, call)

    model.api.generate = generate_clean


def _cleaned_output(output: ModelOutput, keys: Sequence[str]) -> ModelOutput:
    content = output.model_dump(mode="json")
    clean = cleaned(content, keys)
    return output if clean == content else type(output).model_validate(clean)


def _clean_call(call: ModelCall, keys: Sequence[str]) -> None:
    """In place, because a log that is being written refers to it."""
    call.request, call.response = cleaned(call.request, keys), cleaned(call.response, keys)


def without_keys(error: Exception, keys: Sequence[str]) -> Exception:
    """An error that shows no key: the same one where its texts can be changed, because its kind decides on retries."""
    if not _shown(error, keys):
        return error
    chain: list[BaseException] = [error]
    for one in chain:  # grows
        one.args = tuple(cleaned(list(one.args), keys))
        for name, value in list(vars(one).items()):
            if isinstance(value, str | dict | list):
                setattr(one, name, cleaned(value, keys))
        more = [one.__cause__, one.__context__, *(one.exceptions if isinstance(one, BaseExceptionGroup) else ())]
        chain += [other for other in more if other is not None and other not in chain]
    return RuntimeError(without(str(error), keys)) if _shown(error, keys) else error


def _shown(error: Exception, keys: Sequence[str]) -> bool:
    shown = "".join(traceback.format_exception(error)) + repr(error) + str(vars(error))
    return any(key in shown for key in keys)


def cleaned(content: Any, keys: Sequence[str]) -> Any:
    """Lists, dictionaries and texts, as JSON has them, without the keys."""
    if isinstance(content, str):
        return without(content, keys)
    if isinstance(content, dict):
        return {without(str(name), keys): cleaned(value, keys) for name, value in content.items()}
    return [cleaned(value, keys) for value in content] if isinstance(content, list) else content


@contextmanager
def recorder_without_keys(keys: Sequence[str]) -> Iterator[None]:
    """Removes keys from all that inspect-ai writes into logs.

    Raises:
        WhatwhereError: this version of inspect-ai writes its logs in another way.
    """
    from inspect_ai import __version__
    from inspect_ai.log._recorders import eval as found

    recorder: Any = found  # of inspect-ai's own: it has no public place for this
    plain = getattr(recorder, "to_json_safe", None)
    if plain is None:
        raise WhatwhereError(
            f"expected an inspect-ai whose logs can be kept free of keys, got version {__version__}, which writes them "
            "in another way; install the version that constraints.txt names."
        )

    def written(*arguments: Any, **named: Any) -> bytes:
        content: bytes = plain(*arguments, **named)
        return json.dumps(_uncoloured(cleaned(json.loads(content), keys))).encode()

    recorder.to_json_safe = written
    try:
        yield
    finally:
        recorder.to_json_safe = plain


def _uncoloured(content: Any) -> Any:
    """Coloured tracebacks break keys apart by codes and line ends; the plain ones beside them do not."""
    if isinstance(content, dict):
        plain = {_COLOURED: content[_PLAIN]} if _COLOURED in content and _PLAIN in content else {}
        return {name: _uncoloured(value) for name, value in {**content, **plain}.items()}
    return [_uncoloured(value) for value in content] if isinstance(content, list) else content
