"""A transformers model as a traceable one, with the same traces and interventions as our own models.

Padded batches carry their own visible keys, and negative query positions count from the end of each input's own tokens.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from whatwhere.errors import WhatwhereError
from whatwhere.trace.attention import LayerCall, LayerMeasurement, layer_trace
from whatwhere.trace.forward import AttentionCall, Inputs, Traceable, Visit
from whatwhere.trace.interface import Watch, WatchGPTJ
from whatwhere.trace.layer import LayerTrace, Tokens
from whatwhere.trace.rotation import Planes

if TYPE_CHECKING:
    from transformers import PreTrainedModel

NOT_ROTARY = {
    **dict.fromkeys(
        ("gpt2", "gpt_neo", "gpt_bigcode", "opt", "bert", "roberta"), "adds learned position vectors to its input"
    ),
    **dict.fromkeys(("bloom", "mpt"), "weakens attention with distance (ALiBi)"),
    "t5": "adds a learned bias for each distance",
    **dict.fromkeys(
        ("jamba", "kimi_linear", "nemotron_h"),
        "leaves the order of tokens to recurrent layers; its attention knows none",
    ),
}
"""Families without rotary positions, and what they use instead."""
NOT_PRODUCTS = {
    "doge": "adds to each logit a number that it computes from the key's value (a dynamic mask)",
    **dict.fromkeys(
        ("indexed_attention", "minimax_m3_sparse"),
        "chooses by their content which keys a query sees (an indexer), so that keys which change places may vanish",
    ),
    **dict.fromkeys(
        ("compressed_sparse_attention", "heavily_compressed_attention"),
        "attends to keys that stand for several tokens each",
    ),
}
"""Families and layer types with rotary positions whose attention a trace cannot represent, and why."""
NOT_ATTENDING = ("conv", "linear_attention", "moe")
"""Layer types of hybrid models without attention, as in their configurations."""


def check_family(name: str, config: Any) -> None:
    """Raises an error for a family that cannot be traced; needs the configuration only."""
    family, inner = config.model_type, config.get_text_config(decoder=True)
    if family in NOT_ROTARY:
        raise WhatwhereError(
            f"{name} ({family}) cannot be read: it has no rotary positions, but {NOT_ROTARY[family]}. "
            "Positional and symbolic scores are defined for models with rotary positions."
        )
    if getattr(inner, "num_attention_heads", None) is None:
        raise WhatwhereError(
            f"{name} ({family}) cannot be read: expected a model that attends, got one without attention heads."
        )
    for kind in (family, *(getattr(inner, "layer_types", None) or ())):
        if kind in NOT_PRODUCTS:
            raise WhatwhereError(
                f"{name} ({family}) cannot be read: it {NOT_PRODUCTS[kind]}. A trace holds queries, keys, their "
                "rotation and which positions are seen."
            )


class RotaryModel(Traceable):
    """A transformers model with rotary positions.

    Args:
        model: a loaded model; each pass runs in evaluation mode and then restores the mode.
        name: its name in messages; its class by default.
        tokenizer: its tokenizer; None if unknown.

    Raises:
        WhatwhereError: its family cannot be traced.
    """

    def __init__(self, model: PreTrainedModel, name: str | None = None, tokenizer: Any = None) -> None:
        self.model, self.tokenizer = model, tokenizer
        self.family = type(model).__name__
        """The class of the model."""
        self.name = name or self.family
        self.config = model.config.get_text_config(decoder=True)
        self.depth, self.heads = int(self.config.num_hidden_layers), int(self.config.num_attention_heads)
        self.measurements: dict[int, LayerMeasurement] = {}
        """Measurements of each layer in the last pass, besides its trace."""
        check_family(self.name, model.config)
        self._planes: dict[Any, Planes] = {}
        self._keeps = "logits_to_keep" in inspect.signature(model.forward).parameters

    @property
    def attending(self) -> list[int]:
        """See :class:`Traceable`."""
        kinds = getattr(self.config, "layer_types", None) or [""] * self.depth
        return [layer for layer, kind in enumerate(kinds) if kind not in NOT_ATTENDING]

    def forward(self, inputs: Inputs, visit: Visit, layers: Collection[int]) -> Float[Tensor, "batch seq vocab"]:
        """See :class:`Traceable`. Each layer that is read is verified against its own output."""
        self.measurements = {}

        def look(layer: int, output: Tensor, value: Tensor, seen: Callable[[], LayerCall]) -> Tensor:
            def read(places: Tensor) -> LayerTrace:
                found, self.measurements[layer] = layer_trace(seen(), places, self.tables(), self.name)
                return found

            group = output.shape[2] // value.shape[1]
            edit = visit(AttentionCall(layer, read, lambda: value.repeat_interleave(group, 1)))
            return output if edit is None else edit(output)

        watch = (WatchGPTJ if self.config.model_type == "gptj" else Watch)(
            self.model, layers.__contains__, look, self._planes
        )
        training = self.model.training
        self.model.eval()
        try:
            with torch.no_grad(), watch() if layers else nullcontext():
                padding = None if bool(inputs.real.all()) else inputs.real.long()
                some = {"logits_to_keep": inputs.last} if inputs.last and self._keeps else {}
                found = self.model(input_ids=inputs.ids, attention_mask=padding, use_cache=False, **some)
        finally:
            self.model.train(training)
        if getattr(found, "logits", None) is None:
            raise WhatwhereError(f"expected a model that predicts tokens (such as ...ForCausalLM), got a {self.name}.")
        return found.logits

    def inputs(self, tokens: Tokens | Mapping[str, Any]) -> Inputs:
        """See :class:`Traceable`; a tokenizer's output brings its attention mask, 0 at padding."""
        mask = None
        if isinstance(tokens, Mapping):
            tokens, mask = tokens["input_ids"], tokens.get("attention_mask")
        device, size = self.model.device, int(self.config.vocab_size)
        ids = torch.as_tensor(tokens, device=device)
        if ids.ndim != 2 or ids.is_floating_point() or 0 in ids.shape:
            raise WhatwhereError(
                f"expected tokens as a table of ids [batch, seq], got {ids.dtype} of shape {tuple(ids.shape)}."
            )
        if not 0 <= int(ids.min()) <= int(ids.max()) < size:
            raise WhatwhereError(
                f"expected token ids in 0..{size - 1}, this model's vocabulary, got {int(ids.min())}..{int(ids.max())}."
            )
        real = torch.ones_like(ids, dtype=torch.bool) if mask is None else torch.as_tensor(mask, device=device) != 0
        if real.shape != ids.shape:
            raise WhatwhereError(
                f"expected an attention mask of the tokens' shape {tuple(ids.shape)}, got {tuple(real.shape)}."
            )
        return Inputs(ids.long(), real)

    @cached_property
    def _turning(self) -> list[tuple[nn.Module, str]]:
        """The modules and buffer names that hold frequencies; cached, because the search is slow."""
        named = ((part, name) for part in self.model.modules() for name, _ in part.named_buffers(recurse=False))
        return [(part, name) for part, name in named if name.endswith("inv_freq")]

    def tables(self) -> list[Tensor]:
        """The frequency tables of the model; not cached, because dynamic scaling changes them with the length."""
        return [getattr(part, name) for part, name in self._turning]
