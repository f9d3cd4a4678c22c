"""One interface for every model that can be traced: ``whatwhere.trace`` and ``whatwhere.run``.

Our GPT-J, the hand-built heads of :mod:`whatwhere.theory`, loaded transformers models and TransformerLens' bridges all
become :class:`whatwhere.trace.forward.Traceable`, so each analysis and each intervention is written once.

A ``TransformerBridge`` of TransformerLens replaces each part of the model that it wraps by a component of its own, and
its attention does not use transformers' interface. Each component keeps the original part, so the original model can be
rebuilt from the same tensors, without changing the bridge. It is recognised by its class name and attributes, so
TransformerLens need not be installed.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from whatwhere.errors import WhatwhereError
from whatwhere.model.checkpoint import model_fingerprint
from whatwhere.model.gptj import GPTJ
from whatwhere.trace.forward import Traceable as Traceable
from whatwhere.trace.interventions import Ablate, Head, Intervention
from whatwhere.trace.layer import Tokens, Trace
from whatwhere.trace.own import OwnModel
from whatwhere.trace.rotary import RotaryModel

_ORIGINAL = "_original_component"
"""The attribute of a bridge component that holds the original part."""


def traceable(model: Any) -> Traceable:
    """The model itself if it is traceable, otherwise an adapter that is.

    Raises:
        WhatwhereError: this kind of model cannot be traced; the message says why.
    """
    if isinstance(model, Traceable):
        return model
    if isinstance(model, GPTJ):
        return OwnModel(model)
    if is_bridge(model):
        model = unbridged(model.original_model)
    if "transformers" in sys.modules:  # otherwise no model of it can exist
        from transformers import PreTrainedModel

        if isinstance(model, PreTrainedModel):
            weights = list(model.parameters())
            if weights and all(one.is_meta for one in weights) and not hasattr(model, "_hf_hook"):  # accelerate's
                raise WhatwhereError("expected a model with its weights, got one on the device meta; load them first.")
            return RotaryModel(model)
    found = f"the name {model!r:.80}; load it first with whatwhere.load" if isinstance(model, str) else ""
    raise WhatwhereError(
        "expected a model of whatwhere (see whatwhere.load) or a loaded transformers model, "
        f"got {found or f'a {type(model).__name__}'}."
    )


def trace(
    model: object,
    tokens: Tokens | Mapping[str, Any],
    *,
    layers: Sequence[int] | None = None,
    queries: Sequence[int] | None = None,
    attention_mask: Tensor | None = None,
    interventions: Sequence[Intervention] = (),
) -> Trace:
    """Runs a model on some inputs and returns the trace of its attention layers.

    Args:
        model: one of ours, trained or hand-built, or a loaded transformers model with rotary positions (or a
            TransformerBridge around one).
        tokens: ids ``[batch, seq]``; for a transformers model also what its tokenizer returns.
        layers: which layers, from 0; all by default.
        queries: which query positions, from 0 (negative: from the end); only the last by default.
        attention_mask: 0 at padding, ``[batch, seq]``; transformers models only.
        interventions: what to change in the model; the trace includes it.

    Raises:
        WhatwhereError: the model cannot be read, or a layer, head or position does not exist.
    """
    _refuse_text(tokens)
    if attention_mask is not None:
        ids = tokens["input_ids"] if isinstance(tokens, Mapping) else tokens
        tokens = {"input_ids": ids, "attention_mask": attention_mask}
    return traceable(model).trace(tokens, layers=layers, queries=queries, interventions=interventions)


def run(
    model: object,
    tokens: Tokens | Mapping[str, Any],
    *,
    ablate: Iterable[Head] = (),
    interventions: Sequence[Intervention] = (),
) -> Float[Tensor, "batch seq vocab"]:
    """Runs any traceable model with interventions, and returns the logits of the next token at every position.

    Args:
        model: as for :func:`trace`.
        tokens: as for :func:`trace`.
        ablate: (layer, head) pairs; short for ``Ablate(layer, head)``: the head's output becomes its mean over these
            inputs.
        interventions: see :mod:`whatwhere.trace.interventions`.

    Raises:
        WhatwhereError: the model cannot be read, or a layer or head does not exist.
    """
    _refuse_text(tokens)
    try:
        ablations = [Ablate(layer, head) for layer, head in ablate]
    except (TypeError, ValueError) as error:
        raise WhatwhereError(f"expected (layer, head) pairs to ablate in a list, got {ablate!r:.80}.") from error
    return traceable(model).run(tokens, interventions=[*ablations, *interventions])


def weights_fingerprint(model: Traceable) -> str:
    """A checksum of the configuration and the weights of a model."""
    inner = getattr(model, "model", None)
    if isinstance(inner, GPTJ):
        return model_fingerprint(inner)
    if not isinstance(inner, nn.Module):
        return hashlib.sha256(model.name.encode()).hexdigest()[:16]
    config = getattr(inner, "config", None)  # equal weights may have another rotary base
    described = config.to_json_string() if config is not None and hasattr(config, "to_json_string") else ""
    digest = hashlib.sha256(described.encode())
    for name, parameter in inner.named_parameters():
        digest.update(f"{name} {tuple(parameter.shape)}".encode())
        if not parameter.is_meta:  # accelerate may keep weights on disk
            digest.update(parameter.detach().cpu().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()[:16]


def is_bridge(model: Any) -> bool:
    """Whether this is a ``TransformerBridge`` around another model."""
    named = any(kind.__name__ == "TransformerBridge" for kind in type(model).__mro__)
    return named and isinstance(getattr(model, "original_model", None), nn.Module)


def unbridged(part: nn.Module) -> nn.Module:
    """The ``original_model`` of a bridge with its original parts and the same weights."""
    kept = part._modules.get(_ORIGINAL)
    if kept is not None:
        return unbridged(kept)
    again = copy(part)
    again._modules = {name: child if child is None else unbridged(child) for name, child in part._modules.items()}
    return again


def _refuse_text(tokens: object) -> None:
    if isinstance(tokens, str) or (isinstance(tokens, list | tuple) and any(isinstance(one, str) for one in tokens)):
        raise WhatwhereError(
            "expected token ids [batch, seq], got text. Encode it first: task.encode(text)[None] for a task, "
            "tokenizer(text, return_tensors='pt') for a language model."
        )
