"""A transformers model as a traceable one: the same trace as our own models give.

One forward pass; every layer is turned into its trace as it passes and given to a reducer, so memory does not grow with
the number of layers. Padded batches carry their own visible keys, and negative query positions count from the end of
each input's own tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.trace.attention import Seen, layer_trace
from whatwhere.trace.interface import Watch
from whatwhere.trace.layer import LayerTrace, Tokens, Trace, choose
from whatwhere.trace.rotation import Planes
from whatwhere.trace.transformers_gptj import WatchGPTJ

if TYPE_CHECKING:
    from transformers import PreTrainedModel

T = TypeVar("T")
NOT_ROTARY = {
    "gpt2": "adds learned position vectors to its input",
    "gpt_neo": "adds learned position vectors to its input",
    "gpt_bigcode": "adds learned position vectors to its input",
    "opt": "adds learned position vectors to its input",
    "bert": "adds learned position vectors to its input",
    "roberta": "adds learned position vectors to its input",
    "bloom": "weakens attention with distance (ALiBi)",
    "mpt": "weakens attention with distance (ALiBi)",
    "t5": "adds a learned bias for each distance",
}
"""Families without rotary positions, and what they have instead."""


class _Enough(Exception):
    """No error: the layers that were asked for have passed."""


class RotaryModel:
    """A transformers model with rotary positions.

    Args:
        model: a loaded model; it is put into evaluation mode for each pass and then left as it was.

    Raises:
        WhatwhereError: its family is known to have no rotary positions.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model
        self.name = type(model).__name__
        self.config = model.config.get_text_config(decoder=True)
        self.errors: dict[int, float] = {}
        """The largest difference of each layer's rebuilt output from its own, in the last pass."""
        instead = NOT_ROTARY.get(model.config.model_type)
        if instead is not None:
            raise WhatwhereError(
                f"{self.name} cannot be read: it has no rotary positions, but {instead}. "
                "Positional and symbolic scores are defined for models with rotary positions."
            )
        self._planes: dict[Any, Planes] = {}

    @property
    def depth(self) -> int:
        """The number of layers."""
        return int(self.config.num_hidden_layers)

    @property
    def heads(self) -> int:
        """The number of query heads of a layer."""
        return int(self.config.num_attention_heads)

    def stream(
        self,
        tokens: Tokens | Mapping[str, Any],
        reduce: Callable[[LayerTrace], T],
        *,
        layers: Sequence[int] | None = None,
        queries: Sequence[int] | None = None,
        attention_mask: Tensor | None = None,
    ) -> list[T]:
        """Reduces the trace of each layer as it passes, in one forward pass that ends with the last layer asked for.

        Args:
            tokens: ids ``[batch, seq]``, or what a tokenizer returns (with its attention mask).
            reduce: what to keep of a layer. The trace itself is dropped, unless this keeps it.
            layers: which layers, from 0; all by default.
            queries: which query positions, from 0; negative: from the end of each input, padding left out. Only the
                last by default.
            attention_mask: ``[batch, seq]``, 0 at padding; none by default.

        Returns:
            What ``reduce`` gave, in the order of ``layers``.

        Raises:
            WhatwhereError: a layer or position does not exist, or the model's attention cannot be read.
        """
        ids, real = self._inputs(tokens, attention_mask)
        chosen = choose(range(self.depth) if layers is None else layers, self.depth, "layer")
        places = _places([-1] if queries is None else queries, real)
        kept: dict[int, T] = {}
        self.errors = {}

        def visit(seen: Seen) -> None:
            layer, self.errors[seen.layer] = layer_trace(seen, places, self._tables(), self.name)
            kept[seen.layer] = reduce(layer)
            if seen.layer == max(chosen):
                raise _Enough

        watch = (WatchGPTJ if self.config.model_type == "gptj" else Watch)(
            self.model, set(chosen).__contains__, visit, self._planes
        )
        training = self.model.training
        self.model.eval()
        try:
            with torch.no_grad(), watch():
                padding = None if bool(real.all()) else real.long()
                self.model(input_ids=ids, attention_mask=padding, use_cache=False)
        except _Enough:
            pass
        finally:
            self.model.train(training)
        missing = sorted(set(chosen) - set(kept))
        if missing:
            raise WhatwhereError(
                f"{self.name} cannot be read: nothing was seen of the attention of layer {missing[0]}. It does not go "
                "through the attention interface of transformers, and has no adapter of its own here."
            )
        return [kept[layer] for layer in chosen]

    def trace(
        self,
        tokens: Tokens | Mapping[str, Any],
        *,
        layers: Sequence[int] | None = None,
        queries: Sequence[int] | None = None,
        residuals: bool = False,
        attention_mask: Tensor | None = None,
    ) -> Trace:
        """What each attention layer did; see :func:`whatwhere.trace` and :meth:`stream`."""
        if residuals:
            raise WhatwhereError(
                f"the residual stream is kept for models of whatwhere only, and a {self.name} arrived. "
                "With transformers, ask the model itself: output_hidden_states=True."
            )
        found = self.stream(tokens, lambda layer: layer, layers=layers, queries=queries, attention_mask=attention_mask)
        return Trace(tuple(found))

    def _inputs(
        self, tokens: Tokens | Mapping[str, Any], mask: Tensor | None
    ) -> tuple[Int[Tensor, "batch seq"], Bool[Tensor, "batch seq"]]:
        if isinstance(tokens, Mapping):
            tokens, mask = tokens["input_ids"], tokens.get("attention_mask") if mask is None else mask
        device, size = self.model.device, int(self.config.vocab_size)
        ids = torch.as_tensor(tokens, device=device)
        if ids.ndim != 2 or ids.is_floating_point() or 0 in ids.shape:
            raise WhatwhereError(
                f"tokens must be a table of ids [batch, seq], and {ids.dtype} of shape {tuple(ids.shape)} arrived."
            )
        if not 0 <= int(ids.min()) <= int(ids.max()) < size:
            raise WhatwhereError(
                f"token ids must lie in 0..{size - 1}, this model's vocabulary, "
                f"and {int(ids.min())}..{int(ids.max())} arrived."
            )
        real = torch.ones_like(ids, dtype=torch.bool) if mask is None else torch.as_tensor(mask, device=device) != 0
        if real.shape != ids.shape:
            raise WhatwhereError(
                f"the attention mask must have the shape of the tokens, {tuple(ids.shape)}, not {tuple(real.shape)}."
            )
        return ids.long(), real

    def _tables(self) -> list[Tensor]:
        """The frequencies that the model holds; read anew, because dynamic scaling changes them with the length."""
        return [buffer for name, buffer in self.model.named_buffers() if name.endswith("inv_freq")]


def _places(queries: Sequence[int], real: Bool[Tensor, "batch seq"]) -> Int[Tensor, "*each query"]:
    """Query positions; one set for all inputs, if they end at the same place."""
    seq = real.shape[1]
    ends = (torch.arange(seq, device=real.device) * real).amax(1) + 1  # [batch]
    choose(queries, seq, "query position")  # refuses what no input has
    asked = torch.tensor(list(queries), device=real.device)
    places = torch.where(asked < 0, ends[:, None] + asked, asked)  # [batch, query]
    bad = (places < 0) | ~real.take_along_dim(places.clamp(min=0), 1)
    if bool(bad.any()):
        row, column = bad.nonzero()[0].tolist()
        raise WhatwhereError(
            f"query position {queries[column]} of input {row} is padding; count from the end (-1 is the last token)."
        )
    return places[0] if bool((places == places[:1]).all()) else places
