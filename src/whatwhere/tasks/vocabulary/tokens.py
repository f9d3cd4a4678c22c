"""What the two vocabularies share: names of tokens in both directions, and questions about what tokens mean.

Both tasks have two kinds of token (Appendix "Multi-hop task formalization"): *pointers* send one further back, and
everything else stays as it is and may be an answer. What the tasks do differently with a token, the vocabularies say:
what a pointer asks for, what a token is found by, and which ideal function (Index or Retrieval) follows pointers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Int

from whatwhere.errors import WhatwhereError


class Vocabulary(ABC):
    """Names of token ids in both directions, and what tokens mean."""

    function: ClassVar[str]
    """The ideal function that follows pointers (Section 3.2): ``index`` or ``retrieval``."""
    pointer: ClassVar[str]
    """What a pointer is, in words."""
    label: ClassVar[str]
    """What :meth:`labels` are, in words."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The text of each token, by id."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def points(self, ids: Int[np.ndarray, "..."]) -> Bool[np.ndarray, "..."]:
        """Whether a token sends one further back: an integer in the number task, two letters in the letter task."""

    @abstractmethod
    def goals(self, tokens: Int[np.ndarray, "n seq"]) -> Int[np.ndarray, "n seq"]:
        """The earlier position at which each pointer points; -1 for what does not point, or points at nothing.

        Where a right letter is the left letter of several tokens, it is the leftmost, as in the paper's listing.
        """

    @abstractmethod
    def requests(self, tokens: Int[np.ndarray, "..."]) -> Int[np.ndarray, "..."]:
        """What each pointer asks for, as an index into :attr:`request_names`; -1 for what does not point."""

    @property
    @abstractmethod
    def request_names(self) -> list[str]:
        """What a pointer can ask for: the integers, or the letters."""

    @abstractmethod
    def request_for(
        self, tokens: Int[np.ndarray, "n seq"], starts: Int[np.ndarray, "n"], goals: Int[np.ndarray, "n"]
    ) -> Int[np.ndarray, "n"]:
        """What a pointer at ``starts`` would have to ask for to lead to ``goals``, as in :meth:`requests`."""

    @abstractmethod
    def labels(self, tokens: Int[np.ndarray, "..."]) -> Int[np.ndarray, "..."]:
        """What tells one key from another, as an index into :attr:`label_names`: its left letter, or its token."""

    @property
    @abstractmethod
    def label_names(self) -> list[str]:
        """What :meth:`labels` counts."""

    @abstractmethod
    def same_meaning(
        self, tokens: Int[np.ndarray, "n seq"], positions: Int[np.ndarray, "n"]
    ) -> Bool[np.ndarray, "n seq"]:
        """Which tokens mean the same as the one at ``positions``: equal tokens, but an integer only itself."""

    @abstractmethod
    def alternatives(self, tokens: Int[np.ndarray, "n"]) -> Int[np.ndarray, "option n"]:
        """Every pointer that may replace each token: any integer; any pair with the same left letter."""

    @abstractmethod
    def describe_hop(self, name: str) -> str:
        """What the pointer of this name asks for, in words."""

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    def encode(self, text: Any) -> Int[np.ndarray, "seq"]:
        """Token ids of a text in which spaces stand between tokens, or of a list of token names.

        Raises:
            WhatwhereError: it is neither, or a word is not a token of this vocabulary.
        """
        words = text.split() if isinstance(text, str) else list(text) if isinstance(text, list | tuple) else None
        if words is None:
            raise WhatwhereError(f"expected a text or a list of token names, got {type(text).__name__}.")
        unknown = [word for word in words if not isinstance(word, str) or word not in self._ids]
        if unknown:
            raise WhatwhereError(
                f"expected tokens from {self.names[0]!r} to {self.names[-1]!r} with spaces between them, "
                f"got {unknown[0]!r}, which is none of these {len(self)}."
            )
        return np.array([self._ids[word] for word in words], dtype=np.int32)

    def decode(self, ids: Any) -> Any:
        """The text of token ids: an integer or a list of them gives one text, a list of sequences a list of texts.

        Args:
            ids: whole numbers, as a Python number, nested lists, a NumPy array or a tensor of at most two axes.

        Raises:
            WhatwhereError: it is none of these, or an id is outside the vocabulary.
        """
        try:
            array = np.asarray(ids.detach().cpu() if hasattr(ids, "detach") else ids)
        except (ValueError, TypeError) as error:
            raise WhatwhereError(f"expected token ids in sequences of equal length, got {ids!r:.80}.") from error
        array = array.astype(int) if array.size == 0 else array
        if array.dtype.kind not in "iu" or array.ndim > 2:
            raise WhatwhereError(
                f"expected whole numbers with at most two axes (sequences, tokens), "
                f"got {array.dtype} of shape {array.shape}."
            )
        array = array.astype(np.int64, copy=False)
        self.check(array)
        texts = [" ".join(self.names[i] for i in row) for row in np.atleast_2d(array)]
        return texts if array.ndim == 2 else texts[0]

    def check(self, ids: Int[np.ndarray, "..."]) -> None:
        """Refuses ids outside the vocabulary."""
        wrong = (ids < 0) | (ids >= len(self))
        if wrong.any():
            raise WhatwhereError(f"expected token ids from 0 to {len(self) - 1}, got {ids[wrong][0]}.")


def integer_names(integers: int) -> list[str]:
    """The texts ``1`` .. ``integers``."""
    return [str(i + 1) for i in range(integers)]
