"""T_Index: Selective Index as one attention head that looks only at *where* (Theorem 1, Appendix "Selective Index").

A query holding the integer i attends to the key i places back and copies it if it is a letter; a query holding a letter
attends to itself. Exact on every input whose integers are in range (sigma_j <= j - 1, counted from 1; erratum E3).
"""

from __future__ import annotations

import torch

from whatwhere.theory.arguments import check_index_angle, check_integers, check_letters, check_vocabulary
from whatwhere.theory.construction import Construction
from whatwhere.theory.directions import NOWHERE, UP, Bias, Direction, Integer, Symbol, matrix, turned, unit

COPY = 2.0
"""The paper's alpha: a copied letter (2) must outweigh the integer that stays in the residual stream (1)."""


def index_head(theta: float, beta: float, *, symbols: int = 120, integers: int = 16, length: int = 17) -> Construction:
    """Builds T_Index; token ids are the number task's (symbols first, then the integers 1, 2, ...).

    Args:
        theta: the RoPE angle. Too small, and neighbours are hard to tell apart: the margin is at most 1 - cos theta.
            Too large is the same thing read backwards (theta and 2 pi - theta are one angle). Near a rational multiple
            of 2 pi with a denominator below the length, distant keys look like the wanted one.
        beta: the inverse temperature. At or below :func:`index_minimum_beta` some input of that length is decoded
            wrongly; above it all are right, and more only sharpens.
        symbols: size of the alphabet; the paper's 120. It does not enter the margins.
        integers: the largest integer; the paper's 16. Larger ones reach further back, and ask for a larger beta.
        length: the longest input it is meant for, the paper's n_0. It enters no weight; angles at which two distances
            below it look the same are refused.
    """
    check_index_angle(theta, length)
    check_letters(symbols)
    check_integers(integers)
    check_vocabulary(symbols + integers)
    bias = Bias()
    letters = [Symbol(number) for number in range(symbols)]
    numbers = [Integer(value) for value in range(1, integers + 1)]
    tokens: list[Direction] = [*letters, *numbers]
    stream: list[Direction] = [*tokens, bias]

    # Every key is the same vector v, so that attention cannot depend on what a key holds: W_K reads the bias alone.
    def key(direction: Direction) -> torch.Tensor:
        return UP if direction == bias else NOWHERE

    # RoPE turns the query by (n - j) theta against the key at j. A query that starts at rho(-i theta) v therefore meets
    # v exactly at distance n - j = i:  v . rho((n - j) theta) rho(-i theta) v = cos((n - j - i) theta),  which is 1 at
    # j = n - i and below 1 at every other key unless theta / 2 pi is rational. A letter asks for itself: i = 0.
    def query(direction: Direction) -> torch.Tensor:
        match direction:
            case Symbol():
                return UP
            case Integer(i):
                return turned(UP, -i * theta)
            case _:
                return NOWHERE

    # Letters are copied with weight 2, integers not at all. With attention w on the wanted key (hard: w = 1):
    #   integer on a letter:   the letter gets 2w, the integer itself 1: right when w > 1/2;
    #   integer on an integer: the integer itself has 1, letters share 2(1 - w): right when w > 1/2;
    #   letter on itself:      it has 1 + 2w, another letter at most 2(1 - w): right when w > 1/4.
    def value(direction: Direction) -> torch.Tensor:
        return COPY * unit(stream, direction) if isinstance(direction, Symbol) else 0 * unit(stream)

    return Construction(
        theta=theta,
        beta=beta,
        embedding=torch.stack([unit(stream, token, bias) for token in tokens]),
        query=matrix(stream, query),
        key=matrix(stream, key),
        value=matrix(stream, value),
        unembedding=torch.stack([unit(stream, token) for token in tokens]),
        residual=True,
    )
