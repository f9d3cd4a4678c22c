"""GPT-J of transformers, which has its own attention and none of the common interface."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from whatwhere.errors import WhatwhereError
from whatwhere.model.rope import interleaved_to_half
from whatwhere.trace.attention import Seen
from whatwhere.trace.interface import Look
from whatwhere.trace.rotation import Planes

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class WatchGPTJ:
    """Watches each layer's projections and its ``_attn``; the same face as :class:`whatwhere.trace.interface.Watch`.

    GPT-J turns the first ``rotary_dim`` coordinates of a head in interleaved planes, or all.
    """

    def __init__(self, model: PreTrainedModel, wanted: Callable[[int], bool], look: Look, planes: object) -> None:
        del planes
        self.modules = [module for module in model.modules() if hasattr(module, "_attn") and hasattr(module, "q_proj")]
        self.wanted, self.look = wanted, look

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Watches for the time of a ``with`` block, and leaves the model as it was."""
        with ExitStack() as undo:
            for module in self.modules[:1]:
                undo.callback(module.register_forward_pre_hook(_check, with_kwargs=True).remove)
            for layer, module in enumerate(self.modules):
                if self.wanted(layer):
                    self._watch(layer, module, undo)
            yield

    def _watch(self, layer: int, module: Any, undo: ExitStack) -> None:
        plain: dict[str, Tensor] = {}

        def keep(name: str) -> Callable[[nn.Module, Any, Tensor], None]:
            def hook(_module: nn.Module, _args: Any, output: Tensor) -> None:
                heads = output.unflatten(-1, (module.num_attention_heads, module.head_dim))
                plain[name] = heads.transpose(1, 2)  # [batch, head, seq, d_head]

            return hook

        def attend(query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None = None) -> Any:
            output, weights = own(query, key, value, attention_mask)  # [batch, head, seq, d_head]
            rotary = module.rotary_dim or module.head_dim
            seen = partial(
                Seen,
                layer=layer,
                queries=query,
                keys=key,
                plain_queries=plain["q_proj"],
                plain_keys=plain["k_proj"],
                planes=Planes(interleaved_to_half(module.head_dim, rotary), rotary // 2),
                values=value,
                output=output.transpose(1, 2),
                mask=attention_mask,
                causal=True,
                scale=float(1 / torch.as_tensor(module.scale_attn)),
            )
            return self.look(layer, output.transpose(1, 2), value, seen).transpose(1, 2), weights

        own = module._attn
        for name in ("q_proj", "k_proj"):
            undo.callback(getattr(module, name).register_forward_hook(keep(name)).remove)
        module._attn = attend
        undo.callback(module.__delattr__, "_attn")


def _check(module: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    """Refuses what GPT-J's table of angles cannot serve; it has an entry for each position, and no more."""
    hidden: Tensor = args[0] if args else keywords["hidden_states"]
    most, rotary, width = len(module.embed_positions), module.rotary_dim or module.head_dim, module.head_dim
    if hidden.shape[1] > most:
        raise WhatwhereError(
            f"expected at most {most} tokens, the positions of this GPT-J, got {hidden.shape[1]}; lower window."
        )
    if rotary % 2 or rotary > width:
        raise WhatwhereError(f"expected an even rotary_dim of at most {width} in its config.json, got {rotary}.")
