"""``whatwhere heads MODEL --text FILE``: the heads of a language model on text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from whatwhere.cli import console
from whatwhere.errors import WhatwhereError

if TYPE_CHECKING:
    from whatwhere.studies.language_models.head_map import HeadMap, Profile, TextHead
    from whatwhere.trace.rotary import RotaryModel

SHOWN = 5
"""Heads in each of the two lists."""


def is_language_model(model: str) -> bool:
    """Whether a name can only mean a model of transformers: a model directory, a GGUF file, or ``owner/name``."""
    path = Path(model)
    if path.is_dir():  # a run has a config.json too, but of another kind
        try:
            return "model_type" in json.loads((path / "config.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
    if path.is_file():
        return path.suffix == ".gguf"
    return model.count("/") == 1 and not model.startswith((".", "/", "~"))


def heads_on_text(
    model: str,
    text: Path,
    *,
    tokens: int,
    windows: int,
    queries: str,
    only: str | None,
    tau: float,
    gamma: float,
    seed: int,
    page: Path | None = None,
) -> HeadMap:
    """Loads the model and scores its heads, with a progress bar; writes the page, if one is asked for."""
    from whatwhere.heads.purity import check_gamma
    from whatwhere.heads.scores import Weighting
    from whatwhere.studies.language_models.head_map import map_text
    from whatwhere.studies.language_models.text import read_text_file
    from whatwhere.trace.open import load_rotary

    read_text_file(text)  # a mistake in the text or a setting shows before the model is loaded
    check_gamma(gamma)
    Weighting(tau)
    with console.err.status(f"loading {model} (a GGUF file is converted once)", spinner="dots"):
        loaded = load_rotary(model)
    with console.progress() as bar:

        def progress(total: int) -> Callable[[], object]:
            task = bar.add_task("scoring", total=total)
            return lambda: bar.advance(task)

        found = map_text(
            loaded, text, tokens=tokens, windows=windows, queries=queries, only=only, tau=tau, gamma=gamma, seed=seed,
            progress=progress,
        )  # fmt: skip
    if page is not None:
        _write_page(page, found, loaded, text)
    return found


def _write_page(path: Path, found: HeadMap, loaded: RotaryModel, text: Path) -> None:
    from whatwhere.studies.language_models.page import write_heads_page
    from whatwhere.studies.language_models.text import cut_windows, read_text_file
    from whatwhere.studies.language_models.text_attention import text_attention

    window = cut_windows(read_text_file(text), loaded.tokenizer, tokens=found.tokens, windows=1)[0]
    layers = sorted({row.layer for row in found.heads})
    write_heads_page(path, found, text_attention(loaded, loaded.tokenizer, window, layers))
    console.note(f"The page: {path}")


def refuse_task_options(**given: object) -> None:
    """Refuses options that only make sense for the models of whatwhere.

    Raises:
        WhatwhereError: one of them was given.
    """
    for name, value in given.items():
        if value:
            raise WhatwhereError(f"--{name} belongs to models of whatwhere; leave it out when a text is scored.")


def print_json(found: HeadMap) -> None:
    """Prints everything as one JSON object."""
    console.print_json({**found.settings(), "heads": [asdict(row) for row in found.heads]})


def print_summary(found: HeadMap) -> None:
    """Prints counts of labels, the most positional and most symbolic heads, and the profile over layers."""
    console.out.print(
        f"{_count(len(found.heads), 'head')} of {Path(found.model).name} ({found.family}) on {found.text}: "
        f"{_count(found.windows, 'window')} of {found.tokens} tokens, "
        f"{_count(found.queries, 'query', 'queries')} each, tau {found.tau:g}",
        markup=False,
    )
    for title, labels in (
        ("labels", (row.label for row in found.heads)),
        ("beyond the first token", (row.rest_label for row in found.heads)),
    ):
        counts = Counter(labels)
        named = ("positional", "symbolic", "uniform", "mixed", "undefined")
        console.out.print(f"{title}: " + ", ".join(f"{counts[name]} {name}" for name in named if counts[name]))
    for score in ("positional", "symbolic"):
        console.out.print(f"\nThe most {score} heads")
        console.out.print(_heads(found.most(score, SHOWN)))
    if len(found.heads) <= 4 * SHOWN:
        console.out.print("\nAll heads")
        console.out.print(_heads(found.heads))
    profile = found.profile()
    if len(profile) > 1:
        console.out.print("\nLayers: means over heads, and how many are pure")
        console.out.print(_layers(profile))
    over = {"windows": "windows", "queries": "the queries of one window, too narrow"}.get(found.interval)
    console.remark(
        f"positional, symbolic: pure within gamma {found.gamma:g}; uniform: both scores high; mixed: the rest. "
        + (f"In brackets: 95 % intervals (bootstrap over {over}). " if over else "")
        + "H: entropy as a share of its maximum. first, prev: attention to the first and to the previous token. "
        "ID: weighted frequency ID, 1 is the fastest plane. beyond: the two scores of swaps among keys after the first "
        "token, where many heads park attention (not the paper's score)."
    )
    if any(row.planes == 0 for row in found.heads):
        console.remark("Layers without rotation (no ID) are symbolic by construction: position does not enter them.")
    console.remark(
        f"Rebuilt attention agrees with the model's own output within {found.error:.1g} of its largest value."
    )


def _heads(rows: Sequence[TextHead]) -> object:
    table = console.table(
        "head", "positional", "symbolic", "H", "first", "prev", "ID", "beyond", "label", left=["label"]
    )
    for row in rows:
        table.add_row(
            f"{row.layer}.{row.head}",
            f"{row.positional:.2f} ({row.positional_low:.2f}-{row.positional_high:.2f})",
            f"{row.symbolic:.2f} ({row.symbolic_low:.2f}-{row.symbolic_high:.2f})",
            f"{row.entropy_share:.2f}",
            f"{row.first:.2f}",
            f"{row.previous:.2f}",
            f"{row.weighted_id:.0f}" if row.planes else "-",
            f"{row.rest_positional:.2f} {row.rest_symbolic:.2f}",
            f"{row.label}{'*' if row.self_attending else ''}",
        )
    return table


def _layers(profile: Sequence[Profile]) -> object:
    table = console.table("layer", "positional", "symbolic", "H", "first", "pure positional", "pure symbolic")
    for row in profile:
        means = (f"{value:.2f}" for value in (row.positional, row.symbolic, row.entropy_share, row.first))
        counts = (str(row.labels[name] or "") for name in ("positional", "symbolic"))
        table.add_row(str(row.layer), *means, *counts)
    return table


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
