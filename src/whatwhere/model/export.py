"""Our model as a ``transformers`` GPTJForCausalLM with the same weights, and back.

The two differ in layout only: GPT-J keeps a plane's coordinates side by side, ours half a head apart
(:func:`whatwhere.model.rope.interleaved_to_half`), and ours joins the matrices that read the same input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from whatwhere.errors import MissingExtraError, WhatwhereError
from whatwhere.model.gptj import GPTJ, NORM_EPSILON
from whatwhere.model.rope import interleaved_to_half
from whatwhere.model.shape import ModelConfig

if TYPE_CHECKING:
    from transformers import GPTJForCausalLM

LONGEST = 2048
"""Positions that an exported model is declared for; the rotation itself has no limit."""
_BASE = 10000.0
_EXACT = {"layer_norm_epsilon": NORM_EPSILON, "tie_word_embeddings": False}
_ACTIVATIONS = {"gelu": "gelu", "gelu_tanh": "gelu_new"}
"""Our names of GELU's forms, and theirs."""


def to_hf(model: GPTJ) -> GPTJForCausalLM:
    """The same model for ``transformers``; ``save_pretrained`` then makes it loadable elsewhere.

    Raises:
        MissingExtraError: transformers is not installed.
        WhatwhereError: the model has what GPT-J cannot express (another rotary base, layers without rotation, closed
            planes).
    """
    try:
        from transformers import GPTJConfig, GPTJForCausalLM
    except ImportError as error:
        raise MissingExtraError("transformers", "hf", "to export a model") from error
    config = model.config
    if config.rope_base != _BASE:
        raise WhatwhereError(
            f"expected a model with the rotary base {_BASE:g}, which GPT-J in transformers has built in, "
            f"got {config.rope_base}."
        )
    if any(config.closed_planes):
        raise WhatwhereError("expected a model with all rotary planes open, as GPT-J in transformers cannot close any.")
    if config.nope_from is not None and config.nope_from < config.layers:
        raise WhatwhereError(
            f"expected a model that rotates in every layer, got one with nope_from {config.nope_from}; GPT-J in "
            "transformers cannot leave the rotation out."
        )
    rates = dict.fromkeys(("embd_pdrop", "resid_pdrop"), config.dropout) | {"attn_pdrop": config.attention_dropout}
    theirs = GPTJForCausalLM(
        GPTJConfig(
            vocab_size=config.vocab_size, n_positions=LONGEST, n_embd=config.d_model, n_layer=config.layers,
            n_head=config.heads, rotary_dim=config.rotated, n_inner=config.d_mlp, initializer_range=config.init_std,
            bos_token_id=None, eos_token_id=None,
            activation_function=_ACTIVATIONS[config.activation], **rates, **_EXACT,
        )
    )  # fmt: skip
    order = _head_order(config).argsort()
    state = {
        "transformer.wte.weight": model.embedding.weight,
        "transformer.ln_f.weight": model.norm.weight,
        "transformer.ln_f.bias": model.norm.bias,
        "lm_head.weight": model.head.weight,
        "lm_head.bias": model.head.bias,
    }
    for layer, block in enumerate(model.layers()):
        w_query, w_key, w_value, w_mlp = block.w_in.split(block.sizes)
        w_attended, w_hidden = block.w_out.split([config.d_model, config.d_mlp], 1)
        state |= {
            f"transformer.h.{layer}.{name}": value
            for name, value in {
                "ln_1.weight": block.norm.weight,
                "ln_1.bias": block.norm.bias,
                "attn.q_proj.weight": w_query[order],
                "attn.k_proj.weight": w_key[order],
                "attn.v_proj.weight": w_value,
                "attn.out_proj.weight": w_attended,
                "mlp.fc_in.weight": w_mlp,
                "mlp.fc_in.bias": block.b_mlp,
                "mlp.fc_out.weight": w_hidden,
                "mlp.fc_out.bias": block.b_out,
            }.items()
        }
    theirs.load_state_dict({name: value.detach().contiguous() for name, value in state.items()})
    return theirs.eval()


def from_hf(theirs: GPTJForCausalLM) -> GPTJ:
    """One of ours with the weights of a GPTJForCausalLM.

    Raises:
        WhatwhereError: it is another class, or its configuration has what our model does not.
    """
    if type(theirs).__name__ != "GPTJForCausalLM":
        raise WhatwhereError(f"expected a GPTJForCausalLM, got a {type(theirs).__name__}.")
    source = theirs.config
    for name, value in _EXACT.items():
        if getattr(source, name) != value:
            raise WhatwhereError(f"expected a GPT-J with {name} = {value!r}, got {getattr(source, name)!r}.")
    activations = {their: our for our, their in _ACTIVATIONS.items()}
    if source.activation_function not in activations:
        raise WhatwhereError(
            f"expected a GPT-J with the activation {' or '.join(activations)}, got {source.activation_function!r}."
        )
    config = ModelConfig(
        vocab_size=source.vocab_size,
        layers=source.n_layer,
        heads=source.n_head,
        d_model=source.n_embd,
        d_mlp=source.n_inner or 4 * source.n_embd,
        rotary_dim=source.rotary_dim,
        dropout=source.resid_pdrop,
        attention_dropout=source.attn_pdrop,
        activation=activations[source.activation_function],
        init_std=source.initializer_range,
    )
    model = GPTJ(config)
    order = _head_order(config)
    given = theirs.state_dict()
    state: dict[str, Tensor] = {
        "embedding.weight": given["transformer.wte.weight"],
        "norm.weight": given["transformer.ln_f.weight"],
        "norm.bias": given["transformer.ln_f.bias"],
        "head.weight": given["lm_head.weight"],
        "head.bias": given["lm_head.bias"],
    }
    for layer in range(config.layers):
        here = f"transformer.h.{layer}"
        query, key, value = (given[f"{here}.attn.{name}_proj.weight"] for name in "qkv")
        rows = [query[order], key[order], value, given[f"{here}.mlp.fc_in.weight"]]
        columns = [given[f"{here}.attn.out_proj.weight"], given[f"{here}.mlp.fc_out.weight"]]
        state |= {
            f"blocks.{layer}.norm.weight": given[f"{here}.ln_1.weight"],
            f"blocks.{layer}.norm.bias": given[f"{here}.ln_1.bias"],
            f"blocks.{layer}.w_in": torch.cat(rows),
            f"blocks.{layer}.b_mlp": given[f"{here}.mlp.fc_in.bias"],
            f"blocks.{layer}.w_out": torch.cat(columns, 1),
            f"blocks.{layer}.b_out": given[f"{here}.mlp.fc_out.bias"],
        }
    model.load_state_dict(state)
    return model


def _head_order(config: ModelConfig) -> Tensor:
    """Rows of a query or key matrix, head by head, from interleaved to half-split planes."""
    within = interleaved_to_half(config.d_head, config.rotated)
    return torch.cat([within + head * config.d_head for head in range(config.heads)])
