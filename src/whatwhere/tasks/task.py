"""What the two tasks share: windows, hop classes, balance, longer inputs (Section 2.1).

A sequence is ``target`` tokens that may be answers, ``context`` tokens that point back (the paper's pre-target
window), and the query, which is the last token. An instance of h hops visits positions p_0 > p_1 > .. > p_h: p_0 is the
query, p_1 .. p_(h-1) lie in the pre-target window, and p_h, in the target window, holds the answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Int, Int32

from whatwhere.errors import WhatwhereError
from whatwhere.machine import memory
from whatwhere.tasks.balance import balanced_cells
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.vocabulary import Vocabulary

if TYPE_CHECKING:
    from whatwhere.tasks.dataset import Dataset


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """A multi-hop task; the paper's sizes are the defaults."""

    name: ClassVar[str]

    target: int = 8
    """Tokens of the target window, where the answer stands."""
    context: int = 8
    """Tokens of the pre-target window, without the query."""
    max_hops: int = 4
    """Hop classes are 1 .. max_hops."""

    def __post_init__(self) -> None:
        for field, value in self.to_dict().items():
            if isinstance(value, int) and value < 1:
                raise WhatwhereError(f"{field} must be 1 or more, and {value} arrived.")
        if self.max_hops > self.context + 1:
            raise WhatwhereError(
                f"{self.max_hops} hops visit {self.max_hops - 1} pre-target tokens, and there are {self.context}. "
                f"Lower max_hops to {self.context + 1} or raise context to {self.max_hops - 1}."
            )

    @property
    @abstractmethod
    def vocabulary(self) -> Vocabulary:
        """The names of the token ids."""

    @property
    @abstractmethod
    def answer_ids(self) -> Int[np.ndarray, "values"]:
        """Every token that can be an answer."""

    @abstractmethod
    def step(
        self, tokens: Int[np.ndarray, "n seq"], positions: Int[np.ndarray, "n"]
    ) -> tuple[Int[np.ndarray, "n"], Int[np.ndarray, "n"]]:
        """Follows one hop: from the pointers at ``positions`` to where they point, and how many tokens fit there.

        Returns:
            The next position of each sequence, and the number of different tokens that the pointer could mean
            (0: it points at nothing, and the position is then meaningless).
        """

    @abstractmethod
    def build(
        self,
        rng: np.random.Generator,
        hops: Int[np.ndarray, "n"],
        answers: Int[np.ndarray, "n"],
        places: Int[np.ndarray, "n"],
    ) -> Batch:
        """Draws one sequence for each prescribed hop count, answer and place of the answer in the target window."""

    @abstractmethod
    def extra(self, rng: np.random.Generator, batch: Batch, count: int) -> Int[np.ndarray, "n extra"]:
        """Draws ``count`` more target tokens for each sequence, none of which changes the answer."""

    @property
    def length(self) -> int:
        """Tokens of a sequence without extra target tokens."""
        return self.target + self.context + 1

    @property
    def windows(self) -> dict[str, range]:
        """The positions of the keys by window; the query belongs to none."""
        return {"target": range(self.target), "pre-target": range(self.target, self.length - 1)}

    @property
    def vocab_size(self) -> int:
        """The number of token ids."""
        return len(self.vocabulary)

    def encode(self, text: str) -> Int[np.ndarray, "seq"]:
        """Token ids of a text such as ``"c2 b1 gk"``."""
        return self.vocabulary.encode(text)

    def decode(self, ids: Int[np.ndarray, "seq"]) -> str:
        """The text of some token ids."""
        return self.vocabulary.decode(ids)

    def to_dict(self) -> dict[str, Any]:
        """The name and every parameter; :func:`whatwhere.tasks.task_from_dict` turns it back into the task."""
        return {"name": self.name, **asdict(self)}

    def sample(
        self, n: int, hops: int | Sequence[int] | np.ndarray | None = None, seed: int = 0, extra_target: int = 0
    ) -> Batch:
        """Draws ``n`` sequences, balanced over solution value and place within each hop class as far as possible.

        Args:
            n: sequences.
            hops: one hop count for all, one for each, or None for the classes 1 .. max_hops in turn.
            seed: same seed, same sequences; it also gives the same last ``length`` tokens at every ``extra_target``.
            extra_target: target tokens put before the target window (Section 3.6, length generalisation). No distance
                on a path changes, so that only length is tested.

        Raises:
            WhatwhereError: a count is negative or a hop class does not exist.
        """
        if extra_target < 0:
            raise WhatwhereError(f"extra_target must be 0 or more, and {extra_target} arrived.")
        self.require_memory(n, extra_target)
        instances, extras = random_streams(seed, "sample")
        batch = self.instances(instances, self._hops(n, hops))
        if not extra_target:
            return batch
        return replace(
            batch,
            tokens=np.hstack([self.extra(extras, batch, extra_target).astype(np.int32), batch.tokens]),
            paths=np.where(batch.paths < 0, -1, batch.paths + np.int32(extra_target)),
        )

    def require_memory(self, n: int, extra_target: int = 0) -> None:
        """Refuses more sequences than can fit, before any is drawn."""
        length = self.length + extra_target
        size = 12 * n * (length + self.max_hops) + 8 * self.vocab_size  # a vocabulary refuses to be too large itself
        memory.require(size, f"{n:,} sequences of {length:,} tokens")

    def _hops(self, n: int, hops: int | Sequence[int] | np.ndarray | None) -> Int[np.ndarray, "n"]:
        if n < 1:
            raise WhatwhereError(f"the number of sequences must be 1 or more, and {n} arrived.")
        if hops is None:
            return np.arange(n) % self.max_hops + 1
        each = np.full(n, hops) if isinstance(hops, int | np.integer) else np.asarray(hops)
        if each.shape != (n,):
            raise WhatwhereError(f"one hop count, or {n} of them, was expected, and {each.size} arrived.")
        wrong = (each < 1) | (each > self.max_hops)
        if wrong.any():
            raise WhatwhereError(
                f"hops from 1 to {self.max_hops} were expected, and {each[wrong][0]} arrived; max_hops sets the limit."
            )
        return each

    def instances(self, rng: np.random.Generator, hops: Int[np.ndarray, "n"]) -> Batch:
        """Draws one sequence for each hop count, with value and place of the solution balanced within each class."""
        values = np.empty(len(hops), np.int64)
        places = np.empty(len(hops), np.int64)
        for hop in range(1, self.max_hops + 1):
            (rows,) = np.nonzero(hops == hop)
            values[rows], places[rows] = balanced_cells(rng, len(rows), len(self.answer_ids), self.target)
        return self.build(rng, hops, self.answer_ids[values], places)

    def solve(self, tokens: Int[np.ndarray, "n seq"]) -> Int32[np.ndarray, "n"]:
        """The oracle: follows the hops from the last token, knowing nothing of how the sequence was made.

        Raises:
            WhatwhereError: a path leaves the sequence or is ambiguous; the message names the first such sequence.
        """
        self.vocabulary.check(tokens)
        answers = np.empty(len(tokens), np.int32)
        block = max(1, 2**22 // tokens.shape[1])  # sequences at a time, so that memory stays small at any length
        for start in range(0, len(tokens), block):
            answers[start : start + block] = self._follow(tokens[start : start + block], start)
        return answers

    def _follow(self, tokens: Int[np.ndarray, "n seq"], start: int) -> Int[np.ndarray, "n"]:
        rows = np.arange(len(tokens))
        positions = np.full(len(tokens), tokens.shape[1] - 1)
        while len(moving := rows[self.vocabulary.points(tokens[rows, positions])]):
            there, fits = self.step(tokens[moving], positions[moving])
            if (fits != 1).any():
                wrong = np.flatnonzero(fits != 1)[0]
                row, position = moving[wrong], positions[moving[wrong]]
                name = self.vocabulary.names[tokens[row, position]]
                raise WhatwhereError(
                    f"sequence {start + row} has no answer: {name!r} at position {position} points at "
                    f"{'nothing before it' if fits[wrong] == 0 else 'different tokens'}."
                )
            positions[moving] = there
        return tokens[rows, positions]

    def split(self, name: str, size: int = 480_000, seed: int = 0) -> Batch:
        """One split of the balanced data; see :func:`whatwhere.tasks.dataset.make_split`."""
        from whatwhere.tasks.dataset import make_split

        return make_split(self, name, size, seed)

    def dataset(self, size: int = 480_000, seed: int = 0) -> Dataset:
        """The balanced data with its splits; see :func:`whatwhere.tasks.dataset.make_dataset`."""
        from whatwhere.tasks.dataset import make_dataset

        return make_dataset(self, size, seed)


def random_streams(seed: int, purpose: str) -> list[np.random.Generator]:
    """Two independent generators (instances, extra tokens) for a seed; different purposes share no numbers.

    Raises:
        WhatwhereError: the seed is negative.
    """
    if seed < 0:
        raise WhatwhereError(f"a seed must be 0 or more, and {seed} arrived.")
    return np.random.default_rng([seed, *purpose.encode()]).spawn(2)
