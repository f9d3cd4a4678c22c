"""The training text of a small language model, as tokens: files, or the documentation of Python's standard library.

The documentation comes with every Python: the language reference that ``pydoc`` shows, and the docstrings of the
library's modules (Python Software Foundation licence). It differs a little between versions of Python, so the manifest
has its checksum.
"""

from __future__ import annotations

import ast
import hashlib
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from jaxtyping import Int

from whatwhere.errors import WhatwhereError, extra_for
from whatwhere.studies.language_models.passages import FINGERPRINT

HELD_OUT = 0.05
"""The share of the text, at its end, that is never trained on."""
_LEFT_OUT = {"site-packages", "test", "tests", "idlelib", "lib2to3"}
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, eq=False)
class Corpus:
    """A text as token ids."""

    train: Int[np.ndarray, "token"]
    held_out: Int[np.ndarray, "held"]
    vocabulary: int
    """How many ids there are; fewer than asked for if the text is small."""

    def batch(self, rows: int, window: int, seed: int, step: int) -> Int[np.ndarray, "row window"]:
        """Windows of the training text, drawn by seed and step, so that a resumed training sees the same ones."""
        starts = np.random.default_rng([seed, step]).integers(0, len(self.train) - window + 1, rows)
        return self.train[starts[:, None] + np.arange(window)]

    def held_out_windows(self, most: int, window: int) -> Int[np.ndarray, "row window"]:
        """The first windows of the text that is never trained on."""
        rows = min(most, len(self.held_out) // window)
        return self.held_out[: rows * window].reshape(rows, window)


def make_corpus(texts: Sequence[str], vocabulary: int, window: int) -> Corpus:
    """Tokens of some texts, in a vocabulary of byte pairs made from them.

    Raises:
        WhatwhereError: the texts are too short for one held-out window.
        MissingExtraError: transformers is not installed.
    """
    with extra_for("to train a language model", "transformers", "hf"):
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    ids = np.concatenate([np.array(one.ids, np.int64) for one in tokenizer.encode_batch(list(texts))])
    cut = len(ids) - max(int(HELD_OUT * len(ids)), window)
    if cut < window:
        raise WhatwhereError(
            f"expected a text of at least {2 * window} tokens (two windows), got {len(ids)}; give a longer text or "
            "lower window."
        )
    return Corpus(ids[:cut], ids[cut:], tokenizer.get_vocab_size())


@cache
def library_text() -> tuple[str, ...]:
    """The documentation of Python's standard library: the language reference, then docstrings by module."""
    from pydoc_data.topics import topics

    root = Path(sysconfig.get_paths()["stdlib"])
    files = sorted(file for file in root.rglob("*.py") if not _LEFT_OUT & set(file.relative_to(root).parts))
    return (*(topics[name] for name in sorted(topics)), *(text for file in files for text in _docstrings(file)))


def library_fingerprint() -> str:
    """The checksum of that text for the manifest."""
    digest = hashlib.sha256("\n".join(library_text()).encode("utf-8", "surrogatepass"))
    return FINGERPRINT + digest.hexdigest()[:16]


def _docstrings(file: Path) -> Iterator[str]:
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, OSError):  # templates and files of other versions
        return
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and (text := ast.get_docstring(node)):
            yield text
