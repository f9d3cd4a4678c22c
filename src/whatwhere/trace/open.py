"""A transformers model from a directory, a hub name or a GGUF file, with its tokenizer; checked before it is loaded.

A model that does not fit in memory is an error before any weight is read. A GGUF file is converted once, into the
user's cache directory, because transformers takes a long time to read one.
"""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from whatwhere.errors import WhatwhereError, extra_for
from whatwhere.machine import memory
from whatwhere.trace.gguf import converted, is_gguf
from whatwhere.trace.rotary import RotaryModel, check_family
from whatwhere.trace.weights import check_description, check_files, load_weights

ROOM = 1.2
"""Memory needed for loading, relative to the size of the weights."""
_HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?", re.ASCII)


def load_rotary(source: str) -> RotaryModel:
    """Loads a model that can be traced, with its tokenizer if there is one.

    Args:
        source: a directory that ``save_pretrained`` wrote, the name of a model on the hub, or a GGUF file.

    Raises:
        MissingExtraError: transformers is not installed.
        WhatwhereError: there is no such model, it cannot be reached, its tokenizer cannot be loaded, it has no rotary
            positions, it does not fit in memory, or its weights do not match its configuration.
    """
    with extra_for("to read a language model", "transformers", "hf"):
        from transformers import AutoConfig, AutoTokenizer
        from transformers.utils import logging
    place = _place(source)
    if (Path(place) / "adapter_config.json").is_file():
        raise WhatwhereError(
            f"expected a whole model in {source}, got an adapter (adapter_config.json), and would read its base alone; "
            "merge it with peft: model.merge_and_unload().save_pretrained(DIR)."
        )
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    with _explained(source):
        check_description(source, _raw_configuration(place))
        config: Any = AutoConfig.from_pretrained(place, trust_remote_code=False)
    check_family(source, config)
    _check_size(source, place, config)
    with _explained(source):
        model = load_weights(source, place, dtype="auto", use_safetensors=True).eval().requires_grad_(False)
    try:
        tokenizer = AutoTokenizer.from_pretrained(place, trust_remote_code=False)
        tokenizer("a")
    except Exception as error:  # the type depends on the kind of tokenizer
        if not _has_tokenizer(place):
            return RotaryModel(model, source)
        raise WhatwhereError(
            f"{source} comes without a tokenizer that can be loaded ({_first_line(error)}). "
            "Put its tokenizer files (tokenizer.json, tokenizer_config.json) beside the model."
        ) from error
    return RotaryModel(model, source, tokenizer)


def _place(source: str) -> str:
    """Where transformers finds the model: a directory, or a hub name as it is."""
    try:
        path = Path(source).expanduser()
    except RuntimeError as error:  # ~user without such a user
        raise WhatwhereError(f"expected a model, got {source!r:.80}: {error}") from error
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise WhatwhereError(
                f"expected a directory that save_pretrained wrote, got {source}, which holds no config.json."
            )
        return str(path)
    if path.is_file():
        if not is_gguf(path):
            raise WhatwhereError(
                f"expected a model directory, a GGUF file or the name of a model, got {source}, which is another file."
            )
        return str(converted(path))
    if not _HUB_NAME.fullmatch(source) or path.suffix == ".gguf":
        raise WhatwhereError(f"expected a model directory or a GGUF file, got {source}, where there is nothing.")
    _check_reachable(source)
    return source


def _has_tokenizer(place: str) -> bool:
    """Whether there are tokenizer files; a model that was saved without them can still be traced."""
    patterns = ("*token*", "vocab*", "merges*", "*.model")
    return not Path(place).is_dir() or any(any(Path(place).glob(pattern)) for pattern in patterns)


def _check_reachable(source: str) -> None:
    """Raises an error at once if a model is not cached and the hub is unreachable; its client would retry for long."""
    from huggingface_hub import constants, try_to_load_from_cache

    proxied = any(os.environ.get(name) for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"))
    if isinstance(try_to_load_from_cache(source, "config.json"), str) or (proxied and not constants.HF_HUB_OFFLINE):
        return
    hub = urlsplit(constants.ENDPOINT)
    try:
        if constants.HF_HUB_OFFLINE:
            raise OSError("HF_HUB_OFFLINE is set")
        socket.create_connection((hub.hostname or "", hub.port or 443), timeout=5).close()
    except OSError as error:
        raise WhatwhereError(
            f"the model {source} is neither a local directory nor in the local cache, and {hub.hostname} cannot be "
            f"reached ({error}). Give the path of a directory or of a GGUF file, or try again when online."
        ) from error


@contextmanager
def _explained(source: str) -> Iterator[None]:
    """Turns the errors of transformers for a model that it cannot load into one message."""
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    try:
        yield
    except WhatwhereError:
        raise
    except Exception as error:  # the type depends on the damage
        causes: list[BaseException] = [error]
        while causes[-1].__cause__ or causes[-1].__context__:
            causes.append(causes[-1].__cause__ or causes[-1].__context__)  # pyright: ignore[reportArgumentType]
        if any(isinstance(cause, GatedRepoError) for cause in causes):
            reason = "it is gated: accept its terms on its page and log in (hf auth login), then try again"
        elif any(isinstance(cause, RepositoryNotFoundError) for cause in causes):
            reason = "the hub has no model of this name, or it is private"
        else:
            reason = _first_line(error)
        raise WhatwhereError(f"the model {source} cannot be loaded: {reason}.") from error


def _check_size(source: str, place: str, config: Any) -> None:
    """Raises an error for a model that does not fit in memory, before its weights are downloaded or read."""
    import torch
    from transformers import AutoModelForCausalLM

    with torch.device("meta"), _explained(source):  # shapes only
        dtype: torch.dtype = config.dtype or torch.float32
        weights = sum(tensor.numel() for tensor in AutoModelForCausalLM.from_config(config).parameters())
        size = int(weights * torch.empty(0, dtype=dtype).element_size() * ROOM)
    memory.require(size, f"{source}, {weights:,} weights in {str(dtype).removeprefix('torch.')},")
    if Path(place).is_dir():
        check_files(source, Path(place), weights)


def _raw_configuration(place: str) -> object:
    """The content of ``config.json``."""
    from transformers.utils.hub import cached_file

    found = cached_file(place, "config.json")
    return None if found is None else json.loads(Path(found).read_text(encoding="utf-8"))


def _first_line(error: BaseException) -> str:
    """The first line of an error; errors that only contain a value get their type in front."""
    lines = [line.strip().rstrip(".") for line in str(error).strip().splitlines()] or [type(error).__name__]
    reason = " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]
    plain = isinstance(error, LookupError | TypeError | AttributeError | ArithmeticError)
    return f"{type(error).__name__}: {reason}" if plain else reason
