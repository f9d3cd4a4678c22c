"""What the two tasks share: windows, hop classes, balance, longer inputs (Section 2.1).

A sequence is ``target`` tokens that may be answers, ``context`` tokens that point back (the paper's pre-target
window), and the query, which is the last token. An instance of h hops visits positions p_0 > p_1 > .. > p_h: p_0 is the
query, p_1 .. p_(h-1) lie in the pre-target window, and p_h, in the target window, holds the answer.

``parts`` tokens may spell a pointer (:mod:`whatwhere.tasks.spelled`), so that sequences, paths and vocabularies grow
independently. Then an *item* is an answer (always one token) or a whole pointer, windows count items, and the position
of an item is that of its last token: before it, no causal model can know the pointer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Bool, Int, Int32

from whatwhere.errors import WhatwhereError
from whatwhere.machine import memory
from whatwhere.machine.limits import LARGEST_SEED
from whatwhere.tasks.balance import balanced_cells
from whatwhere.tasks.batch import Batch, hops_of, paths_through
from whatwhere.tasks.vocabulary import Each, Sequences, Vocabulary

if TYPE_CHECKING:
    from whatwhere.tasks.dataset import Dataset

Built = tuple[Int32[np.ndarray, "seq n"], Bool[np.ndarray, "context n"]]
LONGEST, LARGEST = 2**15, 2**20
"""The most tokens of a sequence and of a vocabulary; more would take minutes to draw or to name."""
MOST_PARTS = 8
"""Tokens of a pointer; what they write stays far below 2^63."""


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """A multi-hop task; the paper's sizes are the defaults."""

    name: ClassVar[str]
    choices: ClassVar[dict[str, tuple[str, ...]]] = {}
    """The parameters that are words, with the words that are allowed."""

    target: int = 8
    """Tokens of the target window, where the answer stands."""
    context: int = 8
    """Pointers of the pre-target window, without the query."""
    max_hops: int = 4
    """Hop classes are 1 .. max_hops."""
    parts: int = 1
    """Tokens that spell a pointer, the query's included; answers are one token."""

    def __post_init__(self) -> None:
        for field, value in self.to_dict().items():
            if field not in (*self.choices, "name") and not isinstance(value, Integral):
                raise WhatwhereError(f"expected {field} as a whole number, got {value!r:.40}.")
            if isinstance(value, int) and value < 1:
                raise WhatwhereError(f"expected {field} of 1 or more, got {value}.")
            if field in self.choices and value not in self.choices[field]:
                raise WhatwhereError(f"expected {field} of {', '.join(self.choices[field])}, got {value!r}.")
        if self.max_hops > self.context + 1:
            raise WhatwhereError(
                f"{self.max_hops} hops visit {self.max_hops - 1} pre-target tokens, and there are {self.context}. "
                f"Lower max_hops to {self.context + 1} or raise context to {self.max_hops - 1}."
            )
        for what, count, most in (
            ("parts of a pointer", self.parts, MOST_PARTS),
            ("tokens in a sequence (target + context + 1)", self.length, LONGEST),
            ("tokens in the vocabulary", self.vocab_size, LARGEST),
        ):
            if count > most:
                raise WhatwhereError(f"expected at most {most:,} {what}, got {count:,}; lower the sizes.")

    @cached_property
    @abstractmethod
    def vocabulary(self) -> Vocabulary:
        """The names of the token ids."""

    @property
    @abstractmethod
    def answer_ids(self) -> Int[np.ndarray, "values"]:
        """Every token that can be an answer."""

    @abstractmethod
    def step(self, tokens: Sequences, positions: Each) -> tuple[Each, Each]:
        """Follows one hop: from the pointers at ``positions`` to where they point, and how many tokens fit there.

        Returns:
            The next position of each sequence, and the number of different tokens that the pointer could mean
            (0: it points at nothing, and the position is then meaningless).
        """

    @abstractmethod
    def build(self, rng: np.random.Generator, hops: Each, answers: Each, places: Each) -> Built:
        """Draws one sequence for each prescribed hop count, answer and place of the answer in the target window.

        Answers and sequences are ids of :attr:`Vocabulary.whole`.

        Returns:
            The items, and which pre-target items each path visits; items first, so that one is contiguous.
        """

    @abstractmethod
    def extra(self, rng: np.random.Generator, batch: Batch, count: int) -> Int[np.ndarray, "n extra"]:
        """Draws ``count`` more target tokens for each sequence, none of which changes the answer."""

    @abstractmethod
    def fillers(self, batch: Batch) -> Bool[np.ndarray, "n target"]:
        """Which tokens of the target window could be extra tokens; never the answer."""

    @abstractmethod
    def chain_chance(self, hops: int) -> float:
        """The accuracy of a guess among the target tokens that look like the answer, in :meth:`chains`."""

    @property
    def most_hops(self) -> int:
        """The longest chain that fits the sizes, beyond the task's own classes."""
        return self.context + 1

    def chains(self, n: int, hops: int, seed: int = 0) -> Batch:
        """Draws ``n`` sequences of any hop count that fits, beyond the task's own classes.

        Raises:
            WhatwhereError: there is no room for so many hops.
        """
        if not 1 <= hops <= self.most_hops:
            raise WhatwhereError(f"expected chains of 1 to {self.most_hops} hops, which fit this task, got {hops}.")
        return self.for_chains(hops).sample(n, hops=hops, seed=seed)

    def for_chains(self, hops: int) -> Task:
        """The task with ``hops`` as its highest class."""
        return replace(self, max_hops=hops)

    @property
    def pointing(self) -> int:
        """Tokens after the target window: those of all pointers, the query's included."""
        return self.parts * (self.context + 1)

    @property
    def length(self) -> int:
        """Tokens of a sequence without extra target tokens."""
        return self.target + self.pointing

    @property
    def ends(self) -> Int32[np.ndarray, "item"]:
        """The position of the last token of each item."""
        item = np.arange(self.target + self.context + 1, dtype=np.int32)
        return item + (self.parts - 1) * np.maximum(item - self.target + 1, 0)

    @property
    def windows(self) -> dict[str, range]:
        """The positions of the keys by window; the query belongs to none."""
        return {"target": range(self.target), "pre-target": range(self.target, self.length - self.parts)}

    def require_whole_pointers(self, study: str) -> None:
        """Refuses spelled pointers where a measurement is defined by a pointer's one token.

        Raises:
            WhatwhereError: several tokens spell a pointer.
        """
        if self.parts > 1:
            raise WhatwhereError(
                f"expected a task whose pointers are one token each, got parts={self.parts}: {study} changes or "
                "compares single tokens, which mean nothing alone here. Measure dynamics, length, forecast or hops."
            )

    @property
    def vocab_size(self) -> int:
        """The number of token ids."""
        return len(self.vocabulary)

    def encode(self, text: Any) -> Int[np.ndarray, "seq"]:
        """Token ids of a text such as ``"c2 b1 gk"``, or of a list of token names."""
        return self.vocabulary.encode(text)

    def decode(self, ids: Any) -> Any:
        """The text of a number, lists, an array or a tensor of token ids; see :meth:`Vocabulary.decode`."""
        return self.vocabulary.decode(ids)

    def to_dict(self) -> dict[str, Any]:
        """The name and every parameter; :func:`whatwhere.tasks.task_from_dict` turns it back into the task.

        ``parts`` is left out where it is 1, so that earlier runs keep their name.
        """
        content = {"name": self.name, **asdict(self)}
        return {name: value for name, value in content.items() if (name, value) != ("parts", 1)}

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
        if not all(isinstance(count, Integral) for count in (n, extra_target)):
            raise WhatwhereError(f"expected whole numbers n and extra_target, got {n!r:.40} and {extra_target!r:.40}.")
        if extra_target < 0:
            raise WhatwhereError(f"expected extra_target of 0 or more, got {extra_target}.")
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
        """Raises an error before drawing more sequences than fit in memory."""
        length = self.length + extra_target
        memory.require(12 * n * (length + self.max_hops) + 8 * self.vocab_size, f"{n:,} sequences of {length:,} tokens")

    def _hops(self, n: int, hops: int | Sequence[int] | np.ndarray | None) -> Each:
        if n < 1:
            raise WhatwhereError(f"expected 1 sequence or more, got {n}.")
        if hops is None:
            return np.arange(n) % self.max_hops + 1
        each = np.full(n, hops) if isinstance(hops, int | np.integer) else np.asarray(hops)
        if each.shape != (n,):
            raise WhatwhereError(f"expected one hop count, or {n} of them, got {each.size}.")
        wrong = (each < 1) | (each > self.max_hops)
        if wrong.any():
            raise WhatwhereError(
                f"expected hops from 1 to {self.max_hops}, got {each[wrong][0]}; max_hops sets the limit."
            )
        return each

    def instances(self, rng: np.random.Generator, hops: Each) -> Batch:
        """Draws one sequence for each hop count, with value and place of the solution balanced within each class."""
        values, places = np.empty((2, len(hops)), np.int64)
        for hop in range(1, self.max_hops + 1):
            (rows,) = np.nonzero(hops == hop)
            values[rows], places[rows] = balanced_cells(rng, len(rows), len(self.answer_ids), self.target)
        answers = self.answer_ids[values].astype(np.int32)
        items, visited = self.build(rng, hops, self.vocabulary.read(answers[:, None])[:, 0], places)
        paths = paths_through(visited, places, self.target, self.max_hops)
        paths = np.where(paths < 0, paths, self.ends[paths])
        tokens = np.ascontiguousarray(self.vocabulary.spell(items.T))
        return Batch(tokens, answers, hops.astype(np.int32), paths, self.vocabulary)

    def solve(self, tokens: Sequences) -> Int32[np.ndarray, "n"]:
        """The oracle: follows the hops from the last token, independently of the generator.

        Raises:
            WhatwhereError: a path leaves the sequence or is ambiguous; the message names the first such sequence.
        """
        self.vocabulary.check(tokens)
        answers = np.empty(len(tokens), np.int32)
        block = max(1, 2**22 // tokens.shape[1])  # sequences at a time, so that memory stays small at any length
        for start in range(0, len(tokens), block):
            some = tokens[start : start + block]
            paths, answered = self.follow(some)
            rows = np.arange(len(some))
            ends = paths[rows, hops_of(paths)]
            if not answered.all():
                row = int(np.flatnonzero(~answered)[0])
                _, fits = self.step(some[[row]], ends[[row]])
                raise WhatwhereError(
                    f"sequence {start + row} has no answer: {self.decode(some[row, ends[row]])!r} at position "
                    f"{ends[row]} points at {'nothing before it' if fits[0] == 0 else 'different tokens'}."
                )
            answers[start : start + block] = some[rows, ends]
        return answers

    def follow(self, tokens: Sequences) -> tuple[Int32[np.ndarray, "n visited"], Bool[np.ndarray, "n"]]:
        """Follows the hops from the last token.

        Returns:
            The positions visited, -1 after the end, and whether each path ends at an answer (it may leave the sequence
            or be ambiguous).
        """
        rows = np.arange(len(tokens))
        position = np.full(len(tokens), tokens.shape[1] - 1)
        answered = np.ones(len(tokens), bool)
        path = [position.copy()]
        while len(moving := rows[answered & self.vocabulary.points(tokens[rows, position])]):
            there, fits = self.step(tokens[moving], position[moving])
            answered[moving] = fits == 1
            position[moving] = np.where(fits == 1, there, position[moving])
            path.append(np.full(len(tokens), -1))
            path[-1][moving] = np.where(fits == 1, there, -1)
        return np.stack(path, 1).astype(np.int32), answered

    def batch_of(self, tokens: Sequences) -> Batch:
        """Given sequences as a batch; raises the errors of :meth:`solve`."""
        paths, _ = self.follow(tokens)
        return Batch(tokens.astype(np.int32), self.solve(tokens), hops_of(paths), paths, self.vocabulary)

    def split(self, name: str, size: int = 480_000, seed: int = 0) -> Batch:
        """One split of the balanced data; see :func:`whatwhere.tasks.dataset.make_split`."""
        from whatwhere.tasks.dataset import make_split

        return make_split(self, name, size, seed)

    def dataset(self, size: int = 480_000, seed: int = 0) -> Dataset:
        """The balanced data with its splits; see :func:`whatwhere.tasks.dataset.make_split`."""
        from whatwhere.tasks.dataset import SPLITS, Dataset

        return Dataset(self, seed=seed, **{name: self.split(name, size, seed) for name in SPLITS})


def random_streams(seed: int, purpose: str) -> list[np.random.Generator]:
    """Two independent generators (instances, extra tokens) for a seed; different purposes share no numbers."""
    if not (isinstance(seed, Integral) and 0 <= seed <= LARGEST_SEED):
        shown = f"{seed:,}" if isinstance(seed, Integral) else repr(seed)[:80]
        raise WhatwhereError(f"expected a seed of 0 or more, and at most {LARGEST_SEED:,}, got {shown}.")
    return np.random.default_rng([seed, *purpose.encode()]).spawn(2)
