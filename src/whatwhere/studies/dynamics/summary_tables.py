"""The paper's tables, ours beside theirs, each drawn (PDF, PNG) with its data (CSV).

table-angles     weighted frequency IDs and frequencies by layer (Appendix, Generalization)
table-compute    what training, metrics and storage took (Appendix, compute resources)
table-llm        accuracy of chat models by size (Appendix, Generalization on LLMs)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan
from pathlib import Path

from whatwhere.model.rope import rope_frequencies
from whatwhere.store.storage import read_json, write_csv
from whatwhere.studies.chat.claims import MEASURED, Cell, read_cells
from whatwhere.studies.geometry.measure import FrequencyRow
from whatwhere.studies.results import Results
from whatwhere.studies.style import NEUTRAL, save_figure, style
from whatwhere.training.run import Run
from whatwhere.work.timing import CPU, GPU, STORED, duration, size

Row = Sequence[object]
ATTENTION = "attention weights, per model"
"""The authors stored them first; here scores come from a forward pass."""
PAPER_PLANES = rope_frequencies(128, 10000.0)
"""The paper's 64 frequencies, by ID less one."""


def draw_angles(geometries: Mapping[str, Path], into: Path) -> list[Path]:
    """The table of angles.

    Args:
        geometries: ``DIR/geometry`` by task.
        into: where the files go.

    Raises:
        WhatwhereError: a table is missing or damaged.
    """
    tables = {
        task: [r for r in Results(path).read("table", FrequencyRow) if r.measure == "variance" and r.head == 0]
        for task, path in geometries.items()
    }
    columns = [
        "layer",
        *(
            f"{task}_{name}"
            for task in tables
            for name in ("id", "low", "high", "frequency", "paper_id", "paper_frequency")
        ),
    ]
    layers = sorted({row.layer for rows in tables.values() for row in rows})
    data, shown = [], []
    for layer in layers:
        cells: list[object] = [layer]
        told: list[str] = [str(layer)]
        for rows in tables.values():
            row = next((row for row in rows if row.layer == layer), None)
            if row is None:
                cells += [nan] * 6
                told += ["", "", ""]
                continue
            theirs = float(PAPER_PLANES[row.paper_id - 1]) if row.paper_id else nan
            cells += [row.weighted_id, row.low, row.high, row.frequency, row.paper_id or nan, theirs]
            told += [
                f"{row.weighted_id:.1f} ({row.low:.1f}-{row.high:.1f})", f"{row.frequency:.4f}",
                f"{row.paper_id} ({theirs:.4f})" if row.paper_id else "",
            ]  # fmt: skip
        data.append(cells)
        shown.append(told)
    heads = [
        "layer",
        *(f"{task}\n{name}" for task in tables for name in ("mean ID (95 %)", "frequency", "paper: ID (freq.)")),
    ]
    title = "Weighted frequency IDs by layer (share of the logits' variance; 1 is fastest)"
    write_csv(into / "table-angles.csv", columns, data)
    return draw_table(into / "table-angles", title, heads, shown)


def draw_compute(directory: Path, into: Path) -> list[Path]:
    """The table of compute resources, from the runs and the records of the stages.

    Args:
        directory: of the reproduction.
        into: where the files go.

    Raises:
        WhatwhereError: a record is damaged.
    """
    training = {task: _training_seconds(directory / task) for task in ("number", "letter")}
    scoring = {task: _stage_seconds(directory, f"score-{task}") for task in training}
    stored = float(sum(path.stat().st_size for task in training for path in (directory / task).rglob("*.safetensors")))
    rows: list[tuple[str, float, float, str]] = [
        ("training, number", training["number"], GPU["train-number"], "GPU"),
        ("training, letter", training["letter"], GPU["train-letter"], "GPU"),
        ("training, both", sum(training.values()), GPU["train-number"] + GPU["train-letter"], "GPU"),
        (ATTENTION, nan, GPU["score-number"], "GPU"),
        ("metrics, number", scoring["number"], CPU["score-number"], "CPU"),
        ("metrics, letter", scoring["letter"], CPU["score-letter"], "CPU"),
        ("metrics, both", sum(scoring.values()), 2 * CPU["score-number"], "CPU"),
    ]
    shown = [
        (name, duration(ours) or ("not needed" if name == ATTENTION else "-"), f"{duration(theirs)} ({unit})")
        for name, ours, theirs, unit in rows
    ]
    shown.append(("stored", size(stored), size(STORED)))
    shown.append(("machine", _machine(directory), "16-core EPYC 7282, 3 x RTX A5000 24 GB"))
    data: list[Row] = [(name, ours, theirs, "seconds", unit) for name, ours, theirs, unit in rows]
    data.append(("stored", stored, STORED, "bytes", ""))
    write_csv(into / "table-compute.csv", ("what", "ours", "paper", "unit", "paper_device"), data)
    return draw_table(into / "table-compute", "Compute, ours and the paper's", ("", "ours", "the paper's"), shown)


def draw_chat_models(directory: Path, into: Path) -> list[Path]:
    """The table of chat models: mean accuracy (standard deviation over runs) by size, quoted and measured.

    Args:
        directory: of the reproduction.
        into: where the files go.

    Raises:
        WhatwhereError: the table is damaged.
    """
    cells = read_cells(directory)
    columns = list(dict.fromkeys((cell.source, cell.model, cell.task) for cell in cells))
    by_place = {(cell.size, cell.source, cell.model, cell.task): cell for cell in cells}
    shown = [
        [str(at), *(_accuracy(by_place.get((at, *column))) for column in columns)]
        for at in sorted({cell.size for cell in cells})
    ]
    heads = ["size", *(f"{model}\n{task}\n{source}" for source, model, task in columns)]
    data: list[Row] = [(c.model, c.task, c.size, c.samples or nan, c.mean, c.sd, c.source) for c in cells]
    write_csv(into / "table-llm.csv", ("model", "task", "size", "samples", "mean", "sd", "source"), data)
    where = "measured here and quoted" if any(cell.source == MEASURED for cell in cells) else "quoted from the paper"
    return draw_table(
        into / "table-llm", f"Chat models on the one-hop tasks, accuracy (sd over runs), {where}", heads, shown
    )


def draw_table(path: Path, title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[Path]:
    """A plain table: a rule above and below the heads, numbers to the right of their column."""
    from matplotlib import pyplot

    # Text of a cell may come from data; a dollar sign would start a formula.
    cells = [[str(cell).replace("$", r"\$") for cell in row] for row in (heads, *rows)]
    widths = [max(max(map(len, row[at].split("\n"))) for row in cells) + 2 for at in range(len(heads))]
    lines = 1 + max(cell.count("\n") for cell in cells[0])
    total, height = sum(widths), len(rows) + lines
    with style():
        figure, axes = pyplot.subplots(figsize=(0.085 * total + 0.3, 0.21 * height + 0.5))
        axes.set(xlim=(0, total), ylim=(height + 0.2, -0.2))
        axes.set_axis_off()
        axes.set_title(title, fontsize=9, weight="bold")
        ends = [sum(widths[: at + 1]) - 1 for at in range(len(widths))]
        for y in (0, lines, height):
            axes.axhline(y, color=NEUTRAL, linewidth=0.9)
        for row, y in [(cells[0], lines / 2), *((row, lines + at + 0.5) for at, row in enumerate(cells[1:]))]:
            for at, cell in enumerate(row):
                first = at == 0
                x = 0.5 if first else ends[at]
                weight = "bold" if row is cells[0] else "normal"
                axes.text(x, y, cell, ha="left" if first else "right", va="center", fontsize=8, weight=weight)
        return save_figure(figure, path)


def _accuracy(cell: Cell | None) -> str:
    if cell is None:
        return ""
    return f"{cell.mean:.2f}" + (f" ({cell.sd:.2f})" if cell.sd == cell.sd else "")


def _training_seconds(directory: Path) -> float:
    """What the last line of a run's metrics says; it is there also for a run that was not trained here."""
    run = Run(directory)
    rows = run.metrics() if run.exists and run.metrics_path.is_file() else []
    return rows[-1].get("seconds", nan) if rows else nan


def _stage_seconds(directory: Path, stage: str) -> float:
    path = directory / "stages" / f"{stage}.json"
    return float(read_json(path, "the record of a stage").get("seconds", nan)) if path.is_file() else nan


def _machine(directory: Path) -> str:
    for task in ("number", "letter"):
        path = directory / task / "config.json"
        if path.is_file():
            content = read_json(path, "the run's configuration")
            training = content.get("training", {})
            return f"{content.get('environment', {}).get('machine', '?')}, {training.get('device', '?')}"
    return "?"
