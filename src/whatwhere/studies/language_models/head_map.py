"""The head map of a language model: from a model and a text file to one row per head, and to a table on disk."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from whatwhere.errors import WhatwhereError
from whatwhere.heads.purity import GAMMAS
from whatwhere.heads.scores import TAU
from whatwhere.store.storage import write_csv
from whatwhere.studies.language_models.text import cut_windows, read_text_file, spread_queries
from whatwhere.studies.language_models.text_heads import COLUMNS, TextHead, batches, map_heads
from whatwhere.trace.rotary import RotaryModel

WINDOWS = 8
TOKENS = 256
QUERIES = "8"


@dataclass(frozen=True)
class Profile:
    """One layer of a head map."""

    layer: int
    positional: float
    """Mean over its heads."""
    symbolic: float
    entropy_share: float
    first: float
    labels: Counter[str]


@dataclass(frozen=True)
class HeadMap:
    """All heads of a model on a text, with the settings that made them."""

    model: str
    family: str
    """The model's class."""
    text: str
    windows: int
    tokens: int
    """Tokens of each window."""
    queries: int
    """Query positions of each window."""
    tau: float
    gamma: float
    seed: int
    interval: str
    """What the 95 % intervals are over: windows; queries, if there is one window; none, if there is one of each."""
    error: float
    """The largest difference of a layer's rebuilt output from its own, against its largest value."""
    heads: tuple[TextHead, ...]

    def settings(self) -> dict[str, Any]:
        """Everything but the heads."""
        return {name: value for name, value in asdict(self).items() if name != "heads"}

    def write(self, path: Path) -> None:
        """Writes a tidy CSV: one line per head, the settings in the last columns."""
        settings = self.settings()
        cells = [[*(getattr(row, name) for name in COLUMNS), *settings.values()] for row in self.heads]
        write_csv(path, [*COLUMNS, *settings], cells)

    def most(self, score: str, count: int = 5) -> list[TextHead]:
        """The heads with the highest ``positional`` or ``symbolic`` score, without the undefined ones."""
        known = [row for row in self.heads if not np.isnan(getattr(row, score))]
        return sorted(known, key=lambda row: -getattr(row, score))[:count]

    def profile(self) -> list[Profile]:
        """Means over the heads of each layer."""
        found = []
        for layer in sorted({row.layer for row in self.heads}):
            rows = [row for row in self.heads if row.layer == layer]
            means = {
                name: float(np.nanmean([getattr(row, name) for row in rows]))
                for name in ("positional", "symbolic", "entropy_share", "first")
            }
            found.append(Profile(layer=layer, labels=Counter(row.label for row in rows), **means))
        return found


def map_text(
    model: RotaryModel,
    text: Path,
    *,
    tokens: int = TOKENS,
    windows: int = WINDOWS,
    queries: str = QUERIES,
    only: str | None = None,
    tau: float = TAU,
    gamma: float = GAMMAS[0],
    seed: int = 0,
    progress: Callable[[int], Callable[[], object]] = lambda _total: lambda: None,
) -> HeadMap:
    """Scores a model's heads on a text file.

    Args:
        model: with its tokenizer, as :func:`whatwhere.trace.open.load_rotary` gives it.
        text: the file.
        tokens: of each window that the text is cut into.
        windows: at most so many.
        queries: ``last``, ``all``, or how many positions of each window; see
            :func:`whatwhere.studies.language_models.text.spread_queries`.
        only: layers and heads, as ``3,5.2,7-9`` (layer 3, head 2 of layer 5, layers 7 to 9); all by default.
        tau: temperature of the weights.
        gamma: tolerance of the labels.
        seed: of the intervals.
        progress: is told how many steps there are, and returns what is called after each.

    Raises:
        WhatwhereError: the file is no text or too short, or a layer, head or setting does not exist.
    """
    chosen = choose_heads(only, model)
    cut = cut_windows(read_text_file(text), model.tokenizer, tokens=tokens, windows=windows)
    places = spread_queries(queries, cut.shape[1])
    rows, error = map_heads(
        model, cut, queries=places, layers=list(chosen), heads=chosen, tau=tau, gamma=gamma, seed=seed,
        progress=progress(len(chosen) * len(batches(cut))),
    )  # fmt: skip
    return HeadMap(
        model=model.name,
        family=model.family,
        text=text.name,
        windows=len(cut),
        tokens=cut.shape[1],
        queries=len(places),
        tau=tau,
        gamma=gamma,
        seed=seed,
        interval="windows" if len(cut) > 1 else "queries" if len(places) > 1 else "none",
        error=error,
        heads=tuple(rows),
    )


def choose_heads(only: str | None, model: RotaryModel) -> dict[int, list[int]]:
    """Heads by layer, from a list such as ``3,5.2,7-9``.

    Raises:
        WhatwhereError: it cannot be read, or a layer or head does not exist.
    """
    every = list(range(model.heads))
    if only is None:
        return dict.fromkeys(range(model.depth), every)
    chosen: dict[int, list[int]] = {}
    for item in only.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+)|\.(\d+))?", item.strip(), re.ASCII)
        if match is None:
            raise WhatwhereError(f"layers and heads as 3,5.2,7-9 were expected, and {item.strip()!r} arrived.")
        first, last, head = (None if part is None else int(part) for part in match.groups())
        assert first is not None
        for layer in range(first, (first if last is None else last) + 1):
            if layer >= model.depth:
                raise WhatwhereError(f"there is no layer {layer}: they run from 0 to {model.depth - 1}.")
            if head is not None and head >= model.heads:
                raise WhatwhereError(
                    f"there is no head {layer}.{head}: the heads of layer {layer} run from 0 to {model.heads - 1}."
                )
            heads = chosen.setdefault(layer, [])
            heads += [one for one in (every if head is None else [head]) if one not in heads]
    if not chosen:
        raise WhatwhereError(f"layers and heads as 3,5.2,7-9 were expected, and {only!r} names none.")
    return {layer: sorted(heads) for layer, heads in sorted(chosen.items())}
