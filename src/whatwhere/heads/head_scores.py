"""The scores of some heads: numbers per input and query, means over a reading of queries, and their display."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.heads import display
from whatwhere.heads.entropy import entropy_share
from whatwhere.heads.long_swaps import EPSILON
from whatwhere.heads.weighting import Reading, Weighting, reading_mask
from whatwhere.trace.layer import LayerTrace

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes

Level = Literal["keys", "tokens"]
_FAILURE = 1e-3
"""How often a sampled score may lie outside its bound."""


@dataclass(frozen=True, eq=False)
class HeadScores:
    """Scores of some layers' heads on some inputs, with the settings that made them.

    ``each_*`` hold one number per input and query; NaN where a query has fewer than two keys to swap. The properties
    without ``each`` are plain means over the inputs and queries that are read, without the undefined ones.
    """

    each_positional: Float[Tensor, "layer batch head query"]
    each_symbolic: Float[Tensor, "layer batch head query"]
    each_entropy: Float[Tensor, "layer batch head query"]
    """In nats, of the attention over all visible keys, the query's own included."""
    each_own: Float[Tensor, "layer batch head query"]
    """The attention that each query pays to its own position."""
    visible: Int[Tensor, "layer *each query"]
    """How many keys each query sees, itself included (and a sink, if there is one); per input where inputs differ."""
    positions: Int[Tensor, "*each query"]
    """The position of each query; per input where inputs differ."""
    layers: tuple[int, ...]
    weighting: Weighting
    level: Level = "keys"
    """What is swapped: key vectors at the layer itself (the paper's), or input tokens."""
    bound: float = EPSILON
    """How far each number may be from the sum over all swaps; if swaps were sampled, in 999 of 1,000 cases."""
    seq: int = 0
    """Length of the inputs."""
    reading: str | None = None
    """Which queries are read: ``last``, ``path`` or ``all``; None for all traced ones."""
    mask: Bool[Tensor, "batch query"] | None = None
    """The queries that are read; None for all."""

    @classmethod
    def of(
        cls,
        layers: Sequence[LayerTrace],
        each: Float[Tensor, "4 layer batch head query"],
        weighting: Weighting,
        level: Level = "keys",
        samples: int | None = None,
    ) -> HeadScores:
        """From stacked positional and symbolic scores, entropy and attention to the query itself."""
        return cls(
            *each,
            visible=torch.stack([layer.visible.sum(-1) + (layer.sink is not None) for layer in layers]),
            positions=layers[0].query_positions,
            layers=tuple(layer.layer for layer in layers),
            weighting=weighting,
            level=level,
            bound=EPSILON if samples is None else math.sqrt(math.log(2 / _FAILURE) / (2 * samples)),  # Hoeffding's
            seq=layers[0].keys.shape[2],
        )

    def read(self, reading: Reading | str, paths: np.ndarray | None = None) -> HeadScores:
        """The same scores with means over another reading of queries (:func:`whatwhere.heads.weighting.reading_mask`).

        Raises:
            WhatwhereError: there is no such reading, or its queries were not traced.
        """
        wanted = torch.tensor(reading_mask(reading, self.seq, self.inputs, paths), device=self.positions.device)
        places = self.positions.expand(self.inputs, -1)  # [batch, query]
        mask = wanted.gather(1, places)
        if int(mask.sum()) != int(wanted.sum()):
            raise WhatwhereError(
                f"expected a trace of all queries that {reading!r} reads, got {self.positions.shape[-1]} of "
                f"{self.seq} positions; trace them: whatwhere.trace(model, tokens, queries=range({self.seq}))."
            )
        return replace(self, reading=reading, mask=mask)

    @property
    def tau(self) -> float:
        """Temperature of the weights."""
        return self.weighting.tau

    @property
    def inputs(self) -> int:
        """The number of inputs."""
        return self.each_positional.shape[1]

    def masked(self, each: Float[Tensor, "layer batch head query"]) -> Float[Tensor, "layer batch head query"]:
        """NaN for queries that are not read."""
        return each if self.mask is None else torch.where(self.mask[:, None], each, torch.nan)

    def mean(self, each: Float[Tensor, "layer batch head query"]) -> Float[Tensor, "layer head"]:
        """The mean over the inputs and queries that are read, without the undefined ones."""
        return self.masked(each).nanmean((1, 3))

    @property
    def positional(self) -> Float[Tensor, "layer head"]:
        """How far attention stays in place when contents move."""
        return self.mean(self.each_positional)

    @property
    def symbolic(self) -> Float[Tensor, "layer head"]:
        """How far attention follows contents that move."""
        return self.mean(self.each_symbolic)

    @property
    def centred_positional(self) -> Float[Tensor, "layer head"]:
        """``1 - symbolic``: 1 for a sharp positional head, 0 for a symbolic and for a flat one."""
        return 1 - self.symbolic

    @property
    def centred_symbolic(self) -> Float[Tensor, "layer head"]:
        """``1 - positional``: 1 for a sharp symbolic head, 0 for a positional and for a flat one."""
        return 1 - self.positional

    @property
    def flat(self) -> Float[Tensor, "layer head"]:
        """``positional + symbolic - 1``: what is left of 1 after both centred scores; 1 for uniform attention."""
        return self.positional + self.symbolic - 1

    @property
    def entropy(self) -> Float[Tensor, "layer head"]:
        """The entropy of attention, in nats."""
        return self.mean(self.each_entropy)

    @property
    def entropy_share(self) -> Float[Tensor, "layer head"]:
        """Entropy as a share of its maximum, the logarithm of the number of visible keys."""
        seen = self.visible if self.visible.ndim == 3 else self.visible[:, None]  # [layer, batch or 1, query]
        return self.mean(entropy_share(self.each_entropy, seen[:, :, None].double()))

    @property
    def own(self) -> Float[Tensor, "layer head"]:
        """Attention that the head pays to the query's own position; above one half it attends to itself."""
        return self.mean(self.each_own)

    @property
    def undefined(self) -> Int[Tensor, "layer head"]:
        """How many (input, query) pairs are read but have no score, and are left out of the means."""
        missing = self.each_positional.isnan()
        return (missing if self.mask is None else missing & self.mask[:, None]).sum((1, 3))

    def to_frame(self, gamma: float | None = None, seed: int = 0) -> pd.DataFrame:
        """A tidy table, one row per head; see :func:`whatwhere.heads.display.frame_of`."""
        return display.frame_of(self, gamma, seed)

    def plot(self, ax: Axes | None = None) -> Axes:
        """The head map, layer by head; takes and returns matplotlib axes."""
        return display.plot_map(self, ax)

    def __repr__(self) -> str:
        return display.text_of(self)

    def _repr_html_(self) -> str:
        return display.html_of(self)


def join_inputs(parts: Sequence[HeadScores]) -> HeadScores:
    """Joins the scores of the same heads on different inputs that see the same keys."""
    names = [field.name for field in fields(HeadScores) if field.name.startswith("each_")]
    joined = {name: torch.cat([getattr(part, name) for part in parts], 1) for name in names}
    mask = None if parts[0].mask is None else torch.cat([part.mask for part in parts if part.mask is not None])
    return replace(parts[0], mask=mask, **joined)
