"""TransformerLens users: the transformers model inside a ``TransformerBridge``.

A bridge puts a component of its own in the place of each part of the model it wraps, and its attention does not go
through transformers' interface. Each component keeps the part that it stands for, so the model can be put together
again beside the bridge: same weights (the same tensors, not copies), and the bridge is not touched. It is recognised by
its shape, so nothing here needs TransformerLens.
"""

from __future__ import annotations

from copy import copy

from torch import nn

_ORIGINAL = "_original_component"
"""Where a component of a bridge keeps the part that it stands for."""


def is_bridge(model: object) -> bool:
    """Whether this is a ``TransformerBridge`` around another model."""
    named = any(kind.__name__ == "TransformerBridge" for kind in type(model).__mro__)
    return named and isinstance(getattr(model, "original_model", None), nn.Module)


def unbridged(bridge: object) -> nn.Module:
    """The model inside a bridge, with its own parts in their places and the bridge's weights."""
    return _restored(getattr(bridge, "original_model"))  # noqa: B009 (known by its shape, not by its type)


def _restored(part: nn.Module) -> nn.Module:
    kept = part._modules.get(_ORIGINAL)
    if kept is not None:
        return _restored(kept)
    again = copy(part)
    again._modules = {name: child if child is None else _restored(child) for name, child in part._modules.items()}
    return again
