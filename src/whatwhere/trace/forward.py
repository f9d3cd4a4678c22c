"""Models that run layer by layer, so that attention can be read and changed during the forward pass.

A kind of model implements two things: how it checks its inputs, and a forward pass that calls back at each attention
layer (:meth:`Traceable.forward`). This class adds tracing, running, and interventions. Memory is bounded by one layer:
its trace is reduced and dropped before the next one runs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.trace.interventions import Ablate, Intervention, OneHead, Patch, Write
from whatwhere.trace.layer import LayerTrace, Tokens, Trace, choose

T = TypeVar("T")
Output = Float[Tensor, "batch seq head d_value"]
"""The output of the heads of a layer: attention times values, before the output projection."""
Edit = Callable[[Output], Output]
CELLS_AT_ONCE = 1 << 24
"""Attention weights of a changed layer that are in memory at a time: 64 MB."""


class _AllLayersRun(Exception):
    """Ends the forward pass once all requested layers have run; not an error."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """Checked tokens."""

    ids: Int[Tensor, "batch seq"]
    real: Bool[Tensor, "batch seq"]
    """False at padding."""
    last: int = 0
    """Compute logits for this many positions at the end only; 0 for all. A large vocabulary makes them expensive."""

    @classmethod
    def whole(cls, ids: Int[Tensor, "batch seq"]) -> Inputs:
        """Tokens without padding."""
        return cls(ids, torch.ones_like(ids, dtype=torch.bool))

    @property
    def starts(self) -> Int[Tensor, "*each"]:
        """The position of the first token: one for all inputs, if it is the same."""
        starts = self.real.long().argmax(1)
        return starts[0] if bool((starts == starts[:1]).all()) and len(starts) else starts

    def places(self, queries: Sequence[int] | None) -> Int[Tensor, "*each query"]:
        """Query positions as in :meth:`Traceable.stream`; one set for all inputs if they end at the same position."""
        (batch, seq), device = self.ids.shape, self.ids.device
        if not choose([-1] if queries is None else queries, seq, "query position"):  # an error for what no input has
            raise WhatwhereError("expected at least one query position, got none; leave queries out for the last.")
        queries = [-1] if queries is None else [int(one) for one in queries]
        asked = torch.tensor(queries, dtype=torch.long, device=device)
        if bool(self.real.all()):
            return torch.where(asked < 0, seq + asked, asked)
        ends = (torch.arange(seq, device=device) * self.real).amax(1) + 1  # [batch]
        places = torch.where(asked < 0, ends[:, None] + asked, asked.expand(batch, -1))  # [batch, query]
        bad = (places < 0) | ~self.real.take_along_dim(places.clamp(min=0), 1)
        if bool(bad.any()):
            row, column = bad.nonzero()[0].tolist()
            raise WhatwhereError(
                f"expected query positions within each input, got {queries[column]}, which is padding in input {row}; "
                "count from the end (-1 is the last token)."
            )
        return places[0] if bool((places == places[:1]).all()) else places


@dataclass(frozen=True, eq=False)
class AttentionCall:
    """One call of an attention layer."""

    layer: int
    read: Callable[[Int[Tensor, "*each query"]], LayerTrace]
    """The trace of the layer at some query positions."""
    values: Callable[[], Float[Tensor, "batch head key d_value"]]


Visit = Callable[[AttentionCall], Edit | None]
"""Callback for a layer; may return a function that changes the output of its heads."""


class Traceable(ABC):
    """A model whose attention layers can be traced, and that runs with interventions."""

    name: str
    depth: int
    """The number of layers."""
    heads: int
    """The number of (query) heads of a layer."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}: {self.depth} layers of {self.heads} head{'s' * (self.heads != 1)})"

    @property
    def attending(self) -> Sequence[int]:
        """The layers with attention. In a hybrid model the others are convolutions or recurrences."""
        return range(self.depth)

    @abstractmethod
    def inputs(self, tokens: Tokens | Mapping[str, Any]) -> Inputs:
        """Checks tokens.

        Raises:
            WhatwhereError: the model cannot read them.
        """

    @abstractmethod
    def forward(self, inputs: Inputs, visit: Visit, layers: Collection[int]) -> Float[Tensor, "batch seq vocab"]:
        """Runs the model, calls ``visit`` at each of the given layers in order, and returns the logits.

        The logits may be those of the last ``inputs.last`` positions only.
        """

    def stream(
        self,
        tokens: Tokens | Mapping[str, Any],
        reduce: Callable[[LayerTrace], T],
        *,
        layers: Sequence[int] | None = None,
        queries: Sequence[int] | None = None,
        interventions: Sequence[Intervention] = (),
    ) -> list[T]:
        """Reduces the trace of each layer during one forward pass, which ends after the last requested layer.

        Args:
            tokens: ids ``[batch, seq]``; for a transformers model also what its tokenizer returns (with its mask).
            reduce: function of a layer's trace; the trace itself is dropped, unless the function returns it.
            layers: which layers, from 0; all with attention by default.
            queries: which query positions, from 0; negative: from the end of each input, without padding. Only the
                last by default.
            interventions: what to change; the traces include the changes.

        Returns:
            What ``reduce`` gave, in the order of ``layers``.

        Raises:
            WhatwhereError: a layer, head or position does not exist, or the model's attention cannot be read.
        """
        given = self.inputs(tokens)
        chosen = choose(self.attending if layers is None else layers, self.depth, "layer")
        places = given.places(queries)
        changes = Changes(self, given, interventions)
        kept: dict[int, T] = {}

        def visit(call: AttentionCall) -> Edit | None:
            if call.layer in chosen:
                kept[call.layer] = reduce(changes.attend(call.read(places)))
                if len(kept) == len(set(chosen)):
                    raise _AllLayersRun
            return changes.edit(call)

        self._pass(given, visit, {*chosen, *changes.layers})
        return [kept[layer] for layer in chosen]

    def trace(
        self,
        tokens: Tokens | Mapping[str, Any],
        *,
        layers: Sequence[int] | None = None,
        queries: Sequence[int] | None = None,
        interventions: Sequence[Intervention] = (),
    ) -> Trace:
        """The traces of all layers in memory; see :meth:`stream`."""
        kept = self.stream(tokens, lambda layer: layer, layers=layers, queries=queries, interventions=interventions)
        return Trace(tuple(kept))

    def run(
        self, tokens: Tokens | Mapping[str, Any], *, interventions: Sequence[Intervention] = (), last: int = 0
    ) -> Float[Tensor, "batch seq vocab"]:
        """The logits of the next token at every position, with interventions.

        Args:
            tokens: as in :meth:`stream`.
            interventions: what to change.
            last: logits of this many positions at the end only; 0 for all.

        Raises:
            WhatwhereError: a layer or head does not exist, or the attention of a layer to change cannot be read.
        """
        given = replace(self.inputs(tokens), last=last)
        changes = Changes(self, given, interventions)
        logits = self._pass(given, changes.edit, changes.layers)
        assert logits is not None, "nothing ends a run early"
        return logits[:, -last:]  # 0 gives all

    def record(self, inputs: Inputs, layers: Collection[int]) -> dict[int, Output]:
        """The outputs of the heads of some layers, without interventions."""
        kept: dict[int, Tensor] = {}

        def visit(call: AttentionCall) -> Edit:
            def keep(output: Tensor) -> Tensor:
                kept[call.layer] = output
                if len(kept) == len(layers):
                    raise _AllLayersRun
                return output

            return keep

        self._pass(inputs, visit, layers)
        return kept

    def _pass(self, inputs: Inputs, visit: Visit, layers: Collection[int]) -> Tensor | None:
        """A forward pass, None if it ended early; an error if the model did not call back at a layer."""
        passed: set[int] = set()

        def noted(call: AttentionCall) -> Edit | None:
            passed.add(call.layer)
            return visit(call)

        try:
            if still := sorted(set(layers) - set(self.attending)):
                which = ", ".join(map(str, self.attending)) or "it has none"
                raise WhatwhereError(f"expected a layer of {self.name} that attends ({which}), got {still[0]}.")
            logits = self.forward(inputs, noted, layers)
        except _AllLayersRun:
            return None
        if missing := sorted(set(layers) - passed):
            raise WhatwhereError(
                f"{self.name} cannot be read: nothing was seen of the attention of layer {missing[0]}. It does not go "
                "through the attention interface of transformers, and has no adapter of its own here."
            )
        return logits


class Changes:
    """Interventions prepared for one model and one batch of inputs."""

    def __init__(self, model: Traceable, inputs: Inputs, interventions: Sequence[object]) -> None:
        checked: list[Intervention] = []
        if not isinstance(interventions, Iterable):
            raise WhatwhereError(f"expected a list of interventions, got a {type(interventions).__name__}.")
        for change in interventions:
            if not isinstance(change, Intervention):
                raise WhatwhereError(
                    "expected interventions such as Ablate(layer, head) or ClosePlanes(planes), "
                    f"got a {type(change).__name__}."
                )
            change.check(model.depth, model.heads)
            checked.append(change)
        self.attending = [change for change in checked if not isinstance(change, OneHead)]
        every = {layer for layer in range(model.depth) if any(change.changes(layer) for change in checked)}
        # The forward pass checks that a named layer has attention; "all layers" are those with attention.
        named = {layer for change in checked for layer in (*(change.layers or ()), *dict(change.heads or ()))}
        self.layers = every & {*model.attending, *named}
        self.starts = inputs.starts
        self.written = _replacements(model, inputs, checked)

    def attend(self, layer: LayerTrace) -> LayerTrace:
        """The trace of a layer after the changes of its attention."""
        for change in self.attending:
            if change.changes(layer.layer):
                layer = change.attend(layer, self.starts)
        return layer

    def edit(self, call: AttentionCall) -> Edit | None:
        """The change of the output of a layer's heads; None if there is none."""
        written = self.written.get(call.layer, {})
        attends = any(change.changes(call.layer) for change in self.attending)
        if not (attends or written):
            return None

        def edited(output: Output) -> Output:
            output = self._attended(call, output) if attends else output.clone()
            for head, value in written.items():
                output[:, :, head] = value.to(output)
            return output

        return edited

    def _attended(self, call: AttentionCall, output: Output) -> Output:
        """Changed attention times values, some queries at a time. A query that sees no key keeps its output."""
        seq, values = output.shape[1], call.values()  # [batch, head, key, d_value]
        layer = self.attend(call.read(torch.arange(seq, device=output.device)))
        values = values.to(layer.keys.dtype)
        rows = max(1, CELLS_AT_ONCE // (values.shape[0] * values.shape[1] * seq))
        parts = (layer.of_queries(slice(start, start + rows)) for start in range(0, seq, rows))
        attended = torch.cat([part.attention() @ values for part in parts], 2).to(output.dtype)
        blind = ~layer.visible.any(-1)  # [query], [batch, query] or [batch, head, query]
        blind = blind if blind.ndim == 3 else blind[..., None, :]
        return torch.where(blind[..., None], output.transpose(1, 2), attended).transpose(1, 2)


def _replacements(
    model: Traceable, inputs: Inputs, interventions: Sequence[Intervention]
) -> dict[int, dict[int, Tensor]]:
    """The replaced outputs by layer and head: ``[batch, seq, d_value]``, or broadcastable to it."""
    found: dict[int, dict[int, Tensor]] = defaultdict(dict)
    averaged = [change for change in interventions if isinstance(change, Ablate) and change.to == "mean"]
    patches = [change for change in interventions if isinstance(change, Patch)]
    for change in interventions:
        if isinstance(change, Ablate) and change.to == "zero":
            found[change.layer][change.head] = torch.zeros(())
        elif isinstance(change, Write):
            found[change.layer][change.head] = change.value
    if averaged:
        kept = model.record(inputs, {change.layer for change in averaged})
        for change in averaged:
            weights = inputs.real[..., None].to(kept[change.layer].dtype)  # [batch, seq, 1]
            total = (kept[change.layer][:, :, change.head] * weights).sum(0)
            found[change.layer][change.head] = total / weights.sum(0).clamp(min=1)
    for source in {id(patch.tokens): patch.tokens for patch in patches}.values():
        others = model.inputs(source)
        if others.ids.shape != inputs.ids.shape:
            raise WhatwhereError(
                f"expected patches from tokens of the same shape, {tuple(inputs.ids.shape)}, "
                f"got {tuple(others.ids.shape)}."
            )
        given = [patch for patch in patches if patch.tokens is source]
        kept = model.record(others, {patch.layer for patch in given})
        for patch in given:
            found[patch.layer][patch.head] = kept[patch.layer][:, :, patch.head]
    return found
