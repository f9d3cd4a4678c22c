"""GGUF files: converted once, into a cached directory that transformers loads quickly."""

from __future__ import annotations

import glob
import hashlib
import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

from whatwhere.errors import WhatwhereError, extra_for
from whatwhere.machine import memory
from whatwhere.store.files import cache_directory
from whatwhere.trace.weights import load_weights

_LOG = logging.getLogger(__name__)
MAGIC = b"GGUF"
FORMAT = 2
"""Version of the converted copies; a change converts files again."""
ROOM = 1.2
"""Memory needed for a conversion, relative to the size of the weights."""


def is_gguf(path: Path) -> bool:
    """Whether a file begins as a GGUF file does."""
    with path.open("rb") as opened:
        return opened.read(len(MAGIC)) == MAGIC


def converted(path: Path) -> Path:
    """The directory of the converted model, created on first use.

    Raises:
        MissingExtraError: gguf is not installed.
        WhatwhereError: the file is damaged, unknown to transformers or too large for the memory, or there is no disk
            space for the copy.
    """
    with extra_for("to read a GGUF file", "gguf", "hf"):
        import gguf  # noqa: F401 (transformers needs it)
    try:
        with path.open("rb") as opened:  # by content: the path and the modification time do not matter
            content = hashlib.file_digest(opened, hashlib.blake2b).hexdigest()
    except OSError as error:
        raise WhatwhereError(f"{path} cannot be read: {error.strerror or error}.") from error
    key = hashlib.sha256(f"{FORMAT} {content}".encode()).hexdigest()[:12]
    directory = cache_directory("gguf") / f"{path.stem}-{key}"
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{directory}.lock"):  # a second process waits instead of converting the same file
            if not directory.is_dir():
                _convert(path.resolve(), directory)
    except OSError as error:
        raise WhatwhereError(
            f"{path} could not be converted into {directory}: {error}. Free some space, or choose another place with "
            "XDG_CACHE_HOME."
        ) from error
    return directory


def _convert(path: Path, directory: Path) -> None:
    for left in directory.parent.glob(f"{glob.escape(directory.name)}.*.partial"):  # by a process that was killed
        shutil.rmtree(left, ignore_errors=True)
    beside = directory.with_name(f"{directory.name}.{os.getpid()}.partial")
    _LOG.info("Converting %s into %s: once, a minute or two for a small model.", path, directory)
    try:
        model, tokenizer = _read(path)
        # A dequantised model cannot be saved while it has its quantisation settings.
        del model.config.quantization_config
        model.hf_quantizer, model.is_quantized = None, False
        model.save_pretrained(beside)
        tokenizer.save_pretrained(beside)
        beside.replace(directory)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _read(path: Path) -> tuple[Any, Any]:
    """Model and tokenizer; first checks that the weights fit in memory as float32."""
    from transformers import AutoTokenizer
    from transformers.utils import logging as library

    library.set_verbosity_error()
    library.disable_progress_bar()
    place = str(path.parent)
    file = read_header(path)
    try:
        weights = sum(int(tensor.n_elements) for tensor in file.tensors)
        memory.require(int(weights * 4 * ROOM), f"{path}, {weights:,} weights in float32,")
        with _bar_on_terminals_only():
            model = load_weights(str(path), place, gguf_file=path.name)
        tokenizer = AutoTokenizer.from_pretrained(place, gguf_file=path.name, trust_remote_code=False)
        first = file.fields.get("tokenizer.ggml.add_bos_token")
        return model, with_first_token(tokenizer) if first is not None and first.contents() else tokenizer
    except WhatwhereError:
        raise
    except Exception as error:  # which error a damaged file gives depends on the damage
        raise WhatwhereError(f"{path} cannot be read as a GGUF model: {str(error).strip() or error!r}.") from error


@contextmanager
def _bar_on_terminals_only() -> Iterator[None]:
    """Hides transformers' progress bar without a terminal; in a log it would be repeated a hundred times."""
    reading: Any = import_module("transformers.modeling_gguf_pytorch_utils")
    own = reading.tqdm
    reading.tqdm = partial(own, disable=None)  # None: shown on a terminal alone
    try:
        yield
    finally:
        reading.tqdm = own


def read_header(path: Path) -> Any:
    """The header of a GGUF file, as a ``gguf.GGUFReader``."""
    from gguf import GGUFReader

    class Bounded(GGUFReader):
        """Stops at the end of a truncated file, where its base class would continue with empty reads."""

        def _get(self, offset: int, dtype: Any, count: Any = 1, *order: Any, **more: Any) -> Any:
            if offset + int(count) * np.dtype(dtype).itemsize > len(self.data):
                raise ValueError("it ends before what it announces")
            return super()._get(offset, dtype, count, *order, **more)

    try:
        return Bounded(path)
    except Exception as error:  # which error a damaged file gives depends on the damage
        raise WhatwhereError(f"{path} cannot be read as a GGUF model: {str(error).strip() or error!r}.") from error


def with_first_token(tokenizer: Any) -> Any:
    """Makes a tokenizer prepend its BOS token; transformers ignores that field of a GGUF file."""
    from tokenizers import processors

    first, number = tokenizer.bos_token, tokenizer.bos_token_id
    if first is None or list(tokenizer("a")["input_ids"])[:1] == [number]:
        return tokenizer
    template = processors.TemplateProcessing(
        single=[first, "$A"], pair=[first, "$A", f"{first}:1", "$B:1"], special_tokens=[(first, number)]
    )
    backend = tokenizer.backend_tokenizer
    own = backend.post_processor
    backend.post_processor = template if own is None else processors.Sequence([own, template])
    return tokenizer
