"""Why neither mechanism can replace the other (the remark after Theorem 1), with pairs of inputs that show it.

*A purely symbolic head cannot compute Index.* Its logits depend on what keys hold, not on where they stand, so when two
keys change places their attention moves with them, and the attention output of the last query is the same sum in
another order. But the answer has changed: it is wrong on one of the two inputs. This holds for every value matrix and
every way to decode the output.

*A purely positional head that copies cannot compute Retrieval.* Its weights stay in place when contents move. If the
output of a token is the attention it gets (W_V = U = 1 and F(x, a) = a, as in T_Retrieval) and the match beats the
rival on one input, the rival beats the match after the two have changed places, while the answer is still the match.

The paper states the second half without "that copies", and then it is false (erratum E28):
:func:`positional_retrieval` decodes with the query's own residual and computes Retrieval with purely positional
attention at every length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Int

from whatwhere.tasks.functions import index, retrieval
from whatwhere.tasks.vocabulary import LetterVocabulary, Vocabulary
from whatwhere.theory.construction import Construction
from whatwhere.theory.directions import UP, turned
from whatwhere.theory.feasibility import LETTERS, NUMBERS
from whatwhere.theory.retrieval_head import retrieval_head

Function = Callable[[np.ndarray], np.ndarray]
"""From token ids ``[batch, seq]`` to what each should become."""


@dataclass(frozen=True, eq=False)
class Counterexample:
    """Two inputs that differ by a swap of two keys, and what the head and the function make of their last token."""

    inputs: Int[np.ndarray, "2 seq"]
    wanted: Int[np.ndarray, "2"]
    answered: Int[np.ndarray, "2"]
    wrong: int
    """On how many of the two inputs the wanted token does not win; at least one is the claim."""

    @classmethod
    def of(cls, head: Construction, first: Int[np.ndarray, "seq"], function: Function) -> Counterexample:
        """Runs the head on an input, and on the same with the two tokens before the query swapped."""
        second = first.copy()
        second[[-3, -2]] = first[[-2, -3]]
        inputs = np.stack([first, second])
        wanted = function(inputs)
        wrong = int(head.errors(inputs, wanted)[:, -1].sum())
        return cls(inputs, wanted[:, -1], head.apply(inputs)[:, -1], wrong)

    def show(self, vocabulary: Vocabulary) -> str:
        """The pair as text: each input, what its last token should become, and what it becomes."""
        name = vocabulary.names
        return "; ".join(
            f"{vocabulary.decode(tokens)} -> {name[wanted]}, head says {name[answered]}"
            for tokens, wanted, answered in zip(self.inputs, self.wanted, self.answered, strict=True)
        )


def symbolic_index_counterexample(head: Construction, length: int = 17) -> Counterexample:
    """Two letters that change places under an integer query, on inputs of at least 3 tokens.

    Args:
        head: any construction over the number task; its angle is set to 0, which makes it symbolic.
        length: tokens per input.
    """
    first = np.arange(length) % NUMBERS.symbols
    first[-1] = NUMBERS.encode("2")[0]  # it asks for the first of the last two letters
    return Counterexample.of(replace(head, theta=0.0), first, lambda tokens: index(tokens, NUMBERS))


def positional_retrieval_counterexample(theta: float, beta: float, length: int = 3) -> Counterexample:
    """A match and a rival that change places under an LL query, on T_Retrieval with one key vector for every token.

    The vector is such that the head attends to the token before the query. Inputs have at least 3 tokens.
    """
    head = retrieval_head(theta, beta)
    positional = replace(head, key=turned(UP, theta)[:, None].expand_as(head.key))  # logit cos((n - j - 1) theta)
    match, rival, query = LETTERS.encode("a1 b1 ba")
    first = np.full(length, rival)
    first[-2:] = match, query
    return Counterexample.of(positional, first, lambda tokens: retrieval(tokens, LETTERS))


def positional_retrieval(theta: float, beta: float, vocabulary: LetterVocabulary = LETTERS) -> Construction:
    """A purely positional head that computes Retrieval on every proper input of every length (erratum E28).

    The residual stream has a part for the token itself and a part for what attention copied. All keys and queries are
    one vector, so attention depends on distance alone, and softmax gives every visible key some of it. An output
    ``LR`` gets 2 if its left letter is the one sought (for an LI query: if it is the query itself), plus the attention
    its copies get, at most 1. The sought letter decides first; among its tokens only one is there to be seen.
    """
    size = len(vocabulary)
    left, right = vocabulary.left(np.arange(size)), vocabulary.right(np.arange(size))
    points = (right < vocabulary.letters)[:, None]
    sought = np.where(points, left == right[:, None], np.eye(size, dtype=bool))  # [query, output]
    one, none = torch.eye(size, dtype=torch.float64), torch.zeros(size, size, dtype=torch.float64)
    aim = torch.zeros(2, 2 * size, dtype=torch.float64)
    aim[1, :size] = 1  # every token's query and key is v = (0, 1)
    return Construction(
        theta=theta,
        beta=beta,
        embedding=torch.cat([one, none], dim=1),
        query=aim,
        key=aim,
        value=torch.cat([torch.cat([none, none], dim=1), torch.cat([one, none], dim=1)]),  # token part to copied part
        unembedding=torch.cat([2 * torch.from_numpy(sought.T).double(), one], dim=1),
        residual=True,
    )
