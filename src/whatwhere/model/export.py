"""Our model as a ``transformers`` GPTJForCausalLM with the same weights, and back.

The two differ in layout only: GPT-J keeps a plane's coordinates side by side, ours half a head apart
(:func:`whatwhere.model.rope.interleaved_to_half`), and ours joins the matrices that read the same input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from whatwhere.errors import WhatwhereError, extra_for
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
_SETTINGS = {
    "vocab_size": "vocab_size", "layers": "n_layer", "heads": "n_head", "d_model": "n_embd", "dropout": "resid_pdrop",
    "attention_dropout": "attn_pdrop", "init_std": "initializer_range",
}  # fmt: skip
"""Our names of what both configurations have, and theirs."""
_ENDS = {
    "embedding.weight": "transformer.wte.weight", "norm.weight": "transformer.ln_f.weight",
    "norm.bias": "transformer.ln_f.bias", "head.weight": "lm_head.weight", "head.bias": "lm_head.bias",
}  # fmt: skip
_BLOCK = {"norm.weight": "ln_1.weight", "norm.bias": "ln_1.bias", "b_mlp": "mlp.fc_in.bias", "b_out": "mlp.fc_out.bias"}
_ROWS = ("attn.q_proj.weight", "attn.k_proj.weight", "attn.v_proj.weight", "mlp.fc_in.weight")
"""What ``w_in`` joins; ``w_out`` joins the columns of the next."""
_COLUMNS = ("attn.out_proj.weight", "mlp.fc_out.weight")


def to_hf(model: GPTJ) -> GPTJForCausalLM:
    """The same model for ``transformers``; ``save_pretrained`` then makes it loadable elsewhere.

    Raises:
        MissingExtraError: transformers is not installed.
        WhatwhereError: the model has what GPT-J cannot express (another rotary base, layers without rotation, closed
            planes).
    """
    with extra_for("to export a model", "transformers", "hf"):
        from transformers import GPTJConfig, GPTJForCausalLM
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
    sizes = {their: getattr(config, our) for our, their in _SETTINGS.items()}
    sizes |= {"n_inner": config.d_mlp, "rotary_dim": config.rotated, "embd_pdrop": config.dropout}
    theirs = GPTJForCausalLM(
        GPTJConfig(
            n_positions=LONGEST, bos_token_id=None, eos_token_id=None,
            activation_function=_ACTIVATIONS[config.activation], **sizes, **_EXACT,
        )
    )  # fmt: skip
    order, ours = _head_order(config).argsort(), model.state_dict()
    state = {their: ours[our] for our, their in _same_weights(config).items()}
    for layer, block in enumerate(model.layers()):
        query, key, value, mlp = block.w_in.split(block.sizes)
        rows = (query[order], key[order], value, mlp)
        columns = block.w_out.split([config.d_model, config.d_mlp], 1)
        for name, part in zip((*_ROWS, *_COLUMNS), (*rows, *columns), strict=True):
            state[f"transformer.h.{layer}.{name}"] = part
    theirs.load_state_dict({name: value.detach().contiguous() for name, value in state.items()})
    return theirs.eval()


def from_hf(theirs: GPTJForCausalLM) -> GPTJ:
    """One of ours with the weights of a GPTJForCausalLM."""
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
        **{our: getattr(source, their) for our, their in _SETTINGS.items()},
        d_mlp=source.n_inner or 4 * source.n_embd,
        rotary_dim=source.rotary_dim,
        activation=activations[source.activation_function],
    )
    model, order, given = GPTJ(config), _head_order(config), theirs.state_dict()
    state = {our: given[their] for our, their in _same_weights(config).items()}
    for layer in range(config.layers):
        query, key, *others = (given[f"transformer.h.{layer}.{name}"] for name in _ROWS)
        state[f"blocks.{layer}.w_in"] = torch.cat([query[order], key[order], *others])
        state[f"blocks.{layer}.w_out"] = torch.cat([given[f"transformer.h.{layer}.{name}"] for name in _COLUMNS], 1)
    model.load_state_dict(state)
    return model


def _same_weights(config: ModelConfig) -> dict[str, str]:
    """Our names of the weights that are the same on both sides, and theirs."""
    layers = range(config.layers)
    return _ENDS | {f"blocks.{k}.{our}": f"transformer.h.{k}.{their}" for k in layers for our, their in _BLOCK.items()}


def _head_order(config: ModelConfig) -> Tensor:
    """Rows of a query or key matrix, head by head, from interleaved to half-split planes."""
    within = interleaved_to_half(config.d_head, config.rotated)
    return torch.cat([within + head * config.d_head for head in range(config.heads)])
