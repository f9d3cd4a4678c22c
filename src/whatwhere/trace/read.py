"""``whatwhere.trace``: what a model's attention layers did, whoever made the model.

Our models and the hand-built heads trace themselves. A transformers model is read through
:class:`whatwhere.trace.rotary.RotaryModel`, which identifies its rotation and verifies it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.trace.layer import Tokens, Trace, Traceable
from whatwhere.trace.lens import is_bridge, unbridged
from whatwhere.trace.rotary import RotaryModel


def adapt(model: object) -> Traceable:
    """The model itself if it traces itself, otherwise an adapter that does.

    Raises:
        WhatwhereError: there is no way to read this kind of model; the message says why.
    """
    if isinstance(model, Traceable):
        return model
    if is_bridge(model):
        model = unbridged(model)
    if "transformers" in sys.modules:  # otherwise no model of it can exist
        from transformers import PreTrainedModel

        if isinstance(model, PreTrainedModel):
            return RotaryModel(model)
    raise WhatwhereError(
        "a model of whatwhere (see whatwhere.load) or a loaded transformers model was expected, "
        f"and a {type(model).__name__} arrived."
    )


def trace(
    model: object,
    tokens: Tokens | Mapping[str, Any],
    *,
    layers: Sequence[int] | None = None,
    queries: Sequence[int] | None = None,
    residuals: bool = False,
    attention_mask: Tensor | None = None,
) -> Trace:
    """Runs a model on some inputs and returns what its attention layers did.

    Args:
        model: one of ours, trained or hand-built, or a loaded transformers model with rotary positions (or a
            TransformerBridge around one).
        tokens: ids ``[batch, seq]``; for a transformers model also what its tokenizer returns.
        layers: which layers, from 0; all by default.
        queries: which query positions, from 0 (negative: from the end); only the last by default.
        residuals: keep the residual stream too; models of ours only.
        attention_mask: 0 at padding, ``[batch, seq]``; transformers models only.

    Raises:
        WhatwhereError: the model cannot be read, or a layer or position does not exist.
    """
    source = adapt(model)
    if isinstance(source, RotaryModel):
        return source.trace(tokens, layers=layers, queries=queries, residuals=residuals, attention_mask=attention_mask)
    if isinstance(tokens, Mapping) or attention_mask is not None:
        raise WhatwhereError(
            f"a {type(model).__name__} takes a table of ids and no attention mask; only transformers models take one."
        )
    return source.trace(tokens, layers=layers, queries=queries, residuals=residuals)
