"""What a model answers when something in it is changed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Int

from whatwhere.model.gptj import GPTJ
from whatwhere.trace.interventions import Intervention
from whatwhere.trace.own import OwnModel

TOKENS_AT_ONCE = 1 << 13
"""Tokens run at a time: 100 MB of activations for the paper's model."""


@torch.no_grad()
def answers(
    model: GPTJ, tokens: Int[np.ndarray, "n seq"], interventions: Sequence[Intervention] = ()
) -> Int[np.ndarray, "n"]:
    """The likeliest token after each sequence.

    The sequences are run some at a time, so interventions must not depend on the others (as a mean ablation does).
    """
    if not interventions:
        return model.predict(tokens)
    some = max(1, TOKENS_AT_ONCE // tokens.shape[1])
    parts = [tokens[start : start + some] for start in range(0, len(tokens), some)]
    own = OwnModel(model)
    each = [own.run(part, interventions=interventions, last=1)[:, -1].argmax(-1) for part in parts]
    return torch.cat(each).cpu().numpy()
