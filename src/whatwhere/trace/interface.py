"""Hooks that read and change attention in models that use transformers' attention interface, and in its GPT-J.

The interface passes every layer's rotated queries and keys to one function. During one forward pass we replace this
function for the modules of one model. Our function calls the model's own implementation, gives a callback the means to
read the layer, and may return another output. To read a layer, it is called a second time with cos = 1 and sin = 0,
which gives the vectors before rotation. A call with cos = 0 and sin = 1 (a quarter turn, once per layer) gives the
planes. GPT-J of transformers does not use the interface.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from whatwhere.errors import WhatwhereError
from whatwhere.model.rope import interleaved_to_half
from whatwhere.trace.attention import LayerCall
from whatwhere.trace.rotation import NotARotation, Planes, find_planes

if TYPE_CHECKING:
    from transformers import PreTrainedModel

IMPLEMENTATIONS = ("eager", "sdpa")
Look = Callable[[int, Tensor, Tensor, Callable[[], LayerCall]], Tensor]
"""Callback: layer, output ``[batch, seq, head, d_value]``, values, reader of the call; returns the output to use."""
_watching = threading.RLock()
"""The interface is global, so one model is watched at a time."""


class _Stop(Exception):
    """Carries the vectors out of a call that need not finish; not an error."""

    def __init__(self, queries: Tensor, keys: Tensor) -> None:
        self.queries, self.keys = queries, keys


class Watch:
    """Replaces the attention implementation of one model.

    Args:
        model: a transformers model.
        wanted: whether a layer is requested.
        look: callback for each requested layer, in order.
        planes: cache of planes, by layer and whether its keys rotate.
    """

    def __init__(
        self, model: PreTrainedModel, wanted: Callable[[int], bool], look: Look, planes: dict[Any, Planes]
    ) -> None:
        self.name = type(model).__name__
        every: list[Any] = list(model.modules())
        self.modules = [module for module in every if getattr(module, "layer_idx", None) is not None]
        self.wanted, self.look, self.planes = wanted, look, planes
        self._calls: dict[nn.Module, tuple[tuple[Any, ...], dict[str, Any]]] = {}
        self._probing = False

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Watches during a ``with`` block, then restores model and library."""
        from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS as functions

        configs = {id(module.config): module.config for module in self.modules if hasattr(module, "config")}
        with _watching, ExitStack() as undo:
            for config in configs.values():  # sdpa replaces FlashAttention and others; it is exact too
                if config._attn_implementation not in IMPLEMENTATIONS:
                    undo.callback(setattr, config, "_attn_implementation", config._attn_implementation)
                    config._attn_implementation = "sdpa"
            used = {config._attn_implementation for config in configs.values()}
            for module in self.modules:
                undo.callback(module.register_forward_pre_hook(self._remember, with_kwargs=True).remove)
            for name in used:
                undo.callback(_restore, functions, name, functions.get(name))
                functions[name] = self._replacement(functions.get(name))
            yield

    def _remember(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._calls[module] = args, kwargs

    def _replacement(self, own: Callable[..., Any] | None) -> Callable[..., Any]:
        def attend(
            module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Any = None, **kwargs: Any
        ) -> Any:
            if self._probing and module in self._calls:
                raise _Stop(query, key)
            # The interface has no eager function: each model module defines its own.
            run = own or sys.modules[type(module).__module__].eager_attention_forward
            output = run(module, query, key, value, attention_mask, **kwargs)
            layer: Any = getattr(module, "layer_idx", None)
            if module not in self._calls or not self.wanted(layer):
                return output
            seen = partial(self._seen, module, query, key, value, attention_mask, output[0], kwargs)
            return self.look(layer, output[0], value, seen), *output[1:]

        return attend

    def _seen(
        self, module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, output: Tensor, kwargs: dict[str, Any]
    ) -> LayerCall:
        plain_queries, plain_keys = self._probe(module, 1.0, 0.0)
        kind = module.layer_idx, bool(torch.equal(plain_keys, key))
        if kind not in self.planes:
            quarter = self._probe(module, 0.0, 1.0)[1]
            try:
                self.planes[kind] = find_planes(plain_keys.flatten(0, 2), quarter.flatten(0, 2))
            except NotARotation as reason:
                raise WhatwhereError(f"{self.name} cannot be read: in layer {module.layer_idx} {reason}.") from reason
        scale = kwargs.get("scaling")
        return LayerCall(
            layer=module.layer_idx,
            queries=query,
            keys=key,
            plain_queries=plain_queries,
            plain_keys=plain_keys,
            planes=self.planes[kind],
            values=value,
            output=output,
            mask=mask,
            causal=bool(kwargs.get("is_causal", getattr(module, "is_causal", True))),
            scale=key.shape[-1] ** -0.5 if scale is None else float(scale),
            cap=kwargs.get("softcap"),
            sink=kwargs.get("s_aux"),
        )

    def _probe(self, module: nn.Module, cos: float, sin: float) -> tuple[Tensor, Tensor]:
        """Calls a layer again with another rotation and returns its queries and keys; attention itself is not run."""
        args, kwargs = self._calls[module]
        turning = kwargs.get("position_embeddings")
        if isinstance(turning, Tensor) and turning.is_complex():  # cos + i sin
            tables: Any = torch.full_like(turning, complex(cos, sin))
        elif isinstance(turning, tuple) and len(turning) == 2:
            tables = tuple(torch.full_like(table, value) for table, value in zip(turning, (cos, sin), strict=True))
        else:
            raise WhatwhereError(
                f"{self.name} cannot be read: its attention receives no rotary positions (cos and sin), so there is no "
                "rotation to measure. Positional and symbolic scores are defined for models with rotary positions."
            )
        changed = {"position_embeddings": tables, "past_key_values": None}
        self._probing = True
        try:
            module.forward(*args, **{**kwargs, **{name: changed[name] for name in changed if name in kwargs}})
        except _Stop as stop:
            return stop.queries, stop.keys
        finally:
            self._probing = False
        raise WhatwhereError(f"{self.name} cannot be read: called a second time, its attention took another way.")


def _restore(functions: Any, name: str, own: Callable[..., Any] | None) -> None:
    """Restores the function that was registered in the interface before ours."""
    del functions[name]
    if functions.get(name) is not own:
        functions[name] = own


class WatchGPTJ:
    """Watches each layer's projections and its ``_attn``; the same interface as :class:`Watch`.

    GPT-J rotates the first ``rotary_dim`` coordinates of a head, or all, in interleaved planes.
    """

    def __init__(self, model: PreTrainedModel, wanted: Callable[[int], bool], look: Look, planes: object) -> None:
        del planes
        self.modules = [module for module in model.modules() if hasattr(module, "_attn") and hasattr(module, "q_proj")]
        self.wanted, self.look = wanted, look

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Watches during a ``with`` block, then restores the model."""
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
                LayerCall,
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
    """Raises an error for inputs or settings that GPT-J's table of angles does not cover."""
    hidden: Tensor = args[0] if args else keywords["hidden_states"]
    most, rotary, width = len(module.embed_positions), module.rotary_dim or module.head_dim, module.head_dim
    if hidden.shape[1] > most:
        raise WhatwhereError(
            f"expected at most {most} tokens, the positions of this GPT-J, got {hidden.shape[1]}; lower window."
        )
    if rotary % 2 or rotary > width:
        raise WhatwhereError(f"expected an even rotary_dim of at most {width} in its config.json, got {rotary}.")
