"""The check that each layer passes: its output rebuilt from the trace is its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest
import torch
from families import FAMILIES, SEQ, VOCABULARY, tiny_model

from whatwhere.errors import WhatwhereError
from whatwhere.trace.attention import Seen
from whatwhere.trace.rotary import RotaryModel

READ = import_module("whatwhere.trace.rotary")
"""The module; ``whatwhere.trace`` is callable, too."""


def read_changed(change: Callable[[torch.Tensor], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Traces all queries of a tiny model whose layers return a changed output."""
    layer_trace = READ.layer_trace

    def changed(seen: Seen, *rest: Any, **more: Any) -> Any:
        output = seen.output.clone()
        change(output)
        return layer_trace(replace(seen, output=output), *rest, **more)

    monkeypatch.setattr(READ, "layer_trace", changed)
    tokens = torch.randint(3, VOCABULARY, (2, SEQ), generator=torch.Generator().manual_seed(1))
    RotaryModel(tiny_model(FAMILIES["Llama"]), "tiny").trace(tokens, queries=range(SEQ))


@pytest.mark.parametrize("query", [0, 3, 7, 11])
def test_an_output_that_is_another_at_one_of_four_queries_is_noticed(query: int, monkeypatch: pytest.MonkeyPatch):
    def change(output: torch.Tensor) -> None:
        output[:, query] += 1

    with pytest.raises(WhatwhereError, match="tiny cannot be read: in layer 0 the attention rebuilt"):
        read_changed(change, monkeypatch)


def test_an_output_that_is_not_a_number_is_noticed(monkeypatch: pytest.MonkeyPatch):
    def change(output: torch.Tensor) -> None:
        output[:, 3] = torch.nan

    with pytest.raises(WhatwhereError, match="differs from its own by nan"):
        read_changed(change, monkeypatch)


def test_an_output_as_it_is_passes(monkeypatch: pytest.MonkeyPatch):
    read_changed(lambda _: None, monkeypatch)
