"""The terminal summary of the study ``chat``: accuracy by size, the paper's numbers, the screening."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from whatwhere.studies.chat.tables import Cell, Quoted, Screening
from whatwhere.studies.results import Results
from whatwhere.studies.terminal import ends


def summary(results: Results) -> Sequence[RenderableType]:
    """The tables of one result, for the terminal."""
    cells = results.rows("cells", Cell)
    blocks: list[RenderableType] = [
        Text(f"{results.name}: the paper's one-hop questions for chat models (Section 3.7, Figure 5C and D)")
    ]
    for task in dict.fromkeys(cell.task for cell in cells):
        blocks += [Text(f"\n{title(task)}"), _measured([cell for cell in cells if cell.task == task])]
    if cells:
        blocks.append(Text("accuracy: strict (standard deviation over runs). none: replies without an answer.\n"
                           "floor: a guess that does not look at the window."))  # fmt: skip
    blocks += [
        Text("\nQuoted from the paper: accuracy, mean over 5 runs (the table quoted has the deviations)"),
        _quoted(results.rows("quoted", Quoted)),
    ]
    for name in dict.fromkeys(cell.model for cell in cells if cell.reasoned > 0):
        blocks.append(Text(f"{name} reasoned before some replies; the paper measured with reasoning off."))
    for row in results.rows("screening", Screening):
        blocks.append(Text(f"Screening of {row.model}: {row.status}{f' ({row.why})' if row.why else ''}"))
    return blocks


def title(task: str) -> str:
    """``one_hop_letter`` in words."""
    kind, name = task.rsplit("_", 1)
    return f"{name} task, {'one hop' if kind == 'one_hop' else 'one to four hops'}"


def with_deviation(mean: float, sd: float) -> str:
    """An accuracy as the paper prints it; a single run has no deviation."""
    return f"{mean:.2f}" + ("" if isnan(sd) else f" ({sd:.2f})")


def _measured(cells: Sequence[Cell]) -> Table:
    made = _table("model", "size", "accuracy", "95 %", "lenient", "none", "replies", "floor")
    for cell in cells:
        accuracy = cell.accuracy
        partial = f"/{cell.planned}" if accuracy.n < cell.planned else ""
        made.add_row(
            cell.model, str(cell.size), with_deviation(accuracy.value, cell.sd), ends(accuracy),
            f"{cell.lenient:.2f}", f"{cell.no_answer:.2f}", f"{accuracy.n}{partial}", f"{cell.floor:.3f}",
        )  # fmt: skip
    return made


def _quoted(rows: Sequence[Quoted]) -> Table:
    columns = list(dict.fromkeys((row.model, row.task) for row in rows))
    made = _table("size", *(f"{model}\n{task.rsplit('_', 1)[1]}" for model, task in columns))
    by_place = {(row.size, row.model, row.task): f"{row.mean:.2f}" for row in rows}
    for size in sorted({row.size for row in rows}):
        made.add_row(str(size), *(by_place.get((size, *column), "") for column in columns))
    return made


def _table(*names: str) -> Table:
    made = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False)
    for name in names:
        made.add_column(name, justify="left" if name == "model" else "right", overflow="fold")
    return made
