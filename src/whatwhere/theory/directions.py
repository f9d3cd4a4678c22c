"""Named directions of the residual stream, and matrices given by what they do to each of them.

A weight matrix of a construction is never filled in by position. It is :func:`matrix` of a rule: "this direction goes
to that vector". The order of the names is the order of the coordinates, and nothing else depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class Symbol:
    """A letter or bigram of the number task, or one half of a letter-task token; counts from 0."""

    number: int


@dataclass(frozen=True)
class Integer:
    """The integer with this value; counts from 1."""

    value: int


@dataclass(frozen=True)
class Pair:
    """An atomic token of the letter task: its address (left) and its pointer or payload (right)."""

    left: Symbol
    right: Symbol | Integer


@dataclass(frozen=True)
class Bias:
    """The direction that every embedding contains once."""


Direction = Symbol | Integer | Pair | Bias

UP = torch.tensor([0.0, 1.0], dtype=torch.float64)
"""The vector that the paper calls v; any other nonzero vector would do."""
NOWHERE = torch.zeros(2, dtype=torch.float64)


def turned(vector: Float[Tensor, "2"], angle: float) -> Float[Tensor, "2"]:
    """rho(angle) vector: the rotation of the plane that RoPE uses."""
    cos, sin = math.cos(angle), math.sin(angle)
    return torch.stack([cos * vector[0] - sin * vector[1], sin * vector[0] + cos * vector[1]])


def unit(directions: Sequence[Direction], *which: Direction) -> Float[Tensor, "d_model"]:
    """The sum of the unit vectors of some directions."""
    vector = torch.zeros(len(directions), dtype=torch.float64)
    for direction in which:
        vector[directions.index(direction)] = 1
    return vector


def matrix(
    directions: Sequence[Direction], image: Callable[[Direction], Float[Tensor, "out"]]
) -> Float[Tensor, "out d_model"]:
    """The linear map that sends each direction to its image."""
    return torch.stack([image(direction) for direction in directions], dim=1)
