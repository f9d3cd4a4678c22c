"""T_Retrieval: Retrieval as one attention head that looks at *what* (Theorem 1, Appendix "Retrieval function").

A letter-letter (LL) token attends to the token whose left letter is its right letter and becomes a copy of it; a
letter-integer (LI) token attends to its own left letter. Exact on left-unique inputs (equal left letter, equal token;
erratum E4) while (2 n - 3) theta < omega (the paper asks for the slightly stronger theta < omega / 2 n).
"""

from __future__ import annotations

import math

import torch

from whatwhere.theory.arguments import check_integers, check_letters, check_vocabulary
from whatwhere.theory.construction import Construction
from whatwhere.theory.directions import UP, Direction, Integer, Pair, Symbol, matrix, turned


def retrieval_head(theta: float, beta: float, *, letters: int = 8, integers: int = 8) -> Construction:
    """Builds T_Retrieval; token ids are the letter task's: ``left * (letters + integers) + right``.

    Args:
        theta: the RoPE angle. 0 (NoPE) is best and serves every length, for then a key counts by its letter alone; but
            then two tokens with one left letter tie (erratum E4). Too large, and a distant neighbour in the alphabet
            turns into the wanted letter: hard attention fails once (2 n - 3) theta >= 2 pi / letters.
        beta: the inverse temperature. At or below :func:`retrieval_minimum_beta` some input of that length is decoded
            wrongly; above it all are right, and more only sharpens.
        letters: size of the alphabet, the paper's 8. More letters stand closer on the circle: the margin at theta = 0
            is 1 - cos(2 pi / letters).
        integers: the number of integers; the paper's 8. They are cargo and enter no logit.
    """
    check_letters(letters)
    check_integers(integers)
    check_vocabulary(letters * (letters + integers))
    omega = math.tau / letters
    alphabet = [Symbol(number) for number in range(letters)]
    cargo = [Integer(value) for value in range(1, integers + 1)]
    stream: list[Direction] = [Pair(left, right) for left in alphabet for right in (*alphabet, *cargo)]

    # Each letter has its place on the circle, omega apart. The paper counts letters from 1; only differences matter.
    def place(letter: Symbol) -> torch.Tensor:
        return turned(UP, -omega * letter.number)

    # A key shows its left letter, an LL query seeks its right letter, an LI query seeks its own left letter. With RoPE
    #   place(L_j) . rho((n - j) theta) place(s) = cos((L_j - s) omega + (n - j) theta)   for the sought letter s,
    # so the match gets cos((n - j) theta), and its worst rival is the letter before s in the alphabet, which RoPE turns
    # towards s: cos(omega - (n - j) theta).
    def key(direction: Direction) -> torch.Tensor:
        assert isinstance(direction, Pair)
        return place(direction.left)

    def query(direction: Direction) -> torch.Tensor:
        assert isinstance(direction, Pair)
        return place(direction.right if isinstance(direction.right, Symbol) else direction.left)

    # W_V = U = identity and F(x, a) = a: the output of a token is the attention that it gets, over all its copies.
    identity = torch.eye(len(stream), dtype=torch.float64)
    return Construction(
        theta=theta,
        beta=beta,
        embedding=identity,
        query=matrix(stream, query),
        key=matrix(stream, key),
        value=identity,
        unembedding=identity,
        residual=False,
    )
