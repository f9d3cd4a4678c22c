"""Rotary position embedding: the one place where positions enter the model (Appendix "Transformer preliminaries").

A head of width d holds d/2 planes. Plane k (the paper counts from 1, arrays from 0) turns by ``g_k`` radians per
position, ``g_k = base^(-2(k-1)/d)``: ID 1 is the fastest (one radian), the last the slowest. With ``R^p`` the rotation
by position p, the logit of query n on key j is ``(R^j k_j) . (R^n q_n) = k_j . R^(n-j) q_n``: only the distance counts.

Where the two coordinates of a plane stand is a matter of layout, and only of layout:

- ``interleaved`` (GPT-J, Cohere): plane k is coordinates 2k and 2k+1;
- ``half`` (Llama, Qwen, and our model inside, because its memory is contiguous): coordinates k and k + planes.

:func:`interleaved_to_half` is the permutation between them. Coordinates past ``2 * planes`` are not rotated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from whatwhere.errors import WhatwhereError

Layout = Literal["half", "interleaved"]


def rope_frequencies(width: int, base: float | None) -> Float[Tensor, "plane"]:
    """The frequencies g_1 .. g_(width/2) in radians per position, in float64.

    Args:
        width: rotated coordinates of a head; even. The paper's heads rotate all 128, hence 64 planes.
        base: the constant that the paper calls theta, 10000; None for no rotation at all (NoPE).
    """
    if width % 2 or width < 0:
        raise WhatwhereError(f"expected an even rotary width of at least 0, got {width}: a plane is two coordinates.")
    planes = torch.arange(width // 2, dtype=torch.float64)
    if base is None:
        return torch.zeros_like(planes)
    if not base > 0:
        raise WhatwhereError(f"expected a rotary base above 0 (or None for no rotation), got {base}.")
    return base ** (-2 * planes / max(width, 1))


def interleaved_to_half(width: int, rotary: int) -> Tensor:
    """Index ``i`` such that ``x[..., i]`` holds in half-split layout what ``x`` holds interleaved.

    Of the ``width`` coordinates of a head, the first ``rotary`` are rotated.
    """
    order = torch.arange(width)
    order[:rotary] = torch.arange(rotary).unflatten(0, (rotary // 2, 2)).t().flatten()
    return order


@dataclass(frozen=True, eq=False, repr=False)
class Rotation:
    """Frequencies and layout: how a head's vectors turn with their position."""

    frequencies: Float[Tensor, "plane"]
    """Radians per position; entry k belongs to the paper's frequency ID k + 1."""
    layout: Layout = "half"

    def __repr__(self) -> str:
        span = f", {float(self.frequencies[0]):.3g} to {float(self.frequencies[-1]):.3g} radians per position"
        return f"Rotation({len(self.frequencies)} planes{span if len(self.frequencies) else ''}, {self.layout})"

    @property
    def width(self) -> int:
        """The number of rotated coordinates, from the first."""
        return 2 * len(self.frequencies)

    def planes(self, x: Shaped[Tensor, "*any d_head"]) -> Shaped[Tensor, "*any plane 2"]:
        """The rotated coordinates by plane: entry ``[..., k, :]`` is the vector in plane k."""
        rotated = x[..., : self.width]
        if self.layout == "interleaved":
            return rotated.unflatten(-1, (self.width // 2, 2))
        return rotated.unflatten(-1, (2, self.width // 2)).transpose(-1, -2)

    def coordinates(self, planes: Sequence[int]) -> Int[Tensor, "coordinate"]:
        """Which coordinates of a head form the given planes (from 0)."""
        order = torch.arange(self.width)
        first, second = self.planes(order)[list(planes)].unbind(-1)
        return torch.cat([first, second])

    def turn(self, x: Float[Tensor, "*any d_head"], by: Float[Tensor, "..."] | Tensor) -> Float[Tensor, "*out d_head"]:
        """Rotates each vector of ``x [..., d_head]`` by ``by [...]`` positions (``R^by x``); the two broadcast.

        Positions may be whole or not, of either sign.
        """
        # In float64, because a large position times a frequency needs the digits; the CPU has them on any machine.
        angle = by.to("cpu", torch.float64)[..., None] * self.frequencies.cpu()  # [..., plane]
        cos, sin = angle.cos().to(x.device, x.dtype), angle.sin().to(x.device, x.dtype)
        plane = self.planes(x)  # [..., plane, 2]
        first = plane[..., 0] * cos - plane[..., 1] * sin
        second = plane[..., 1] * cos + plane[..., 0] * sin
        joined = (
            torch.stack([first, second], -1).flatten(-2)
            if self.layout == "interleaved"
            else torch.cat([first, second], -1)
        )
        rest = x[..., self.width :]
        if rest.shape[-1] == 0:
            return joined
        return torch.cat([joined, rest.expand(*joined.shape[:-1], -1)], -1)
