"""``whatwhere compare`` and ``whatwhere share``: head scores of two models side by side, or given to others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whatwhere.cli import console
from whatwhere.cli.parameters import AsJson, place
from whatwhere.errors import WhatwhereError
from whatwhere.store.files import write_bytes, write_text
from whatwhere.store.tables import write_csv

if TYPE_CHECKING:
    from whatwhere.studies.language_models.agreement import Agreement

_SCORES = (
    "heads.csv of `whatwhere heads`, the directory that holds it, a Parquet file, or scores that ship: smollm2-135m, "
    "gemma3-270m."
)
_COLUMNS = {
    "rest_positional": "positional score beyond the first token",
    "positional": "positional score",
    "symbolic": "symbolic score",
    "previous": "attention to the previous token",
    "induction": "induction",
}
_MOST = 12
"""Heads whose labels differ that are listed."""


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command(epilog="Example: [bold]whatwhere compare analysis-a/heads analysis-b/heads[/bold]")(compare)
    app.command(epilog="Example: [bold]whatwhere share analysis-a/heads --push me/head-scores[/bold]")(share)


def compare(
    first: Annotated[Path, typer.Argument(help=_SCORES, parser=place)],
    second: Annotated[
        Path, typer.Argument(help="A second table: of another text, temperature or model.", parser=place)
    ],
    out: Annotated[
        Path | None, typer.Option(help="Where the table and the figure go.", show_default="comparison", parser=place)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Which heads agree in two tables of head scores?"""
    from whatwhere.page.writing import FILE, build
    from whatwhere.studies.language_models import agreement
    from whatwhere.studies.language_models.shared_scores import read_scores
    from whatwhere.studies.style import save_figure, style

    out = Path("comparison") if out is None else out
    tables = [read_scores(path) for path in (first, second)]
    found = agreement.compare(*tables)
    names = [f"{table['model'][0]}, tau {table['tau'][0]:g}" for table in tables]
    same_text = str(tables[0]["text"][0]) == str(tables[1]["text"][0])
    write_bytes(out / "agreement.csv", write_csv(found.heads))
    with style():
        save_figure(agreement.draw(found, [str(table["model"][0]) for table in tables]), out / "agreement")
    confusion = found.confusion.rename_axis(None).rename_axis(None, axis=1).to_dict("index")
    data = {
        "heading": "Which heads agree?",
        "names": names,
        "heads": found.heads.to_dict("records"),
        "correlations": found.correlations,
        "confusion": confusion,
        "left_out": found.left_out,
    }
    write_text(out / FILE, build("Which heads agree?", ["agreement"], data))
    if as_json:
        shared = {"heads": len(found.heads), "left_out": found.left_out, "same_label": found.share}
        console.print_json(
            {"of": names, "page": str(out / FILE), **shared, "correlations": found.correlations, "confusion": confusion}
        )
        return
    _print(found, names, same_text)
    console.note(f"Table and figure: {out}")
    console.note(f"The page: {out / FILE}")


def _print(found: Agreement, names: list[str], same_text: bool) -> None:
    for letter, name in zip("AB", names, strict=True):
        console.out.print(f"{letter}: {name}", markup=False)
    text = "The text is the same." if same_text else "The texts differ."
    console.out.print(f"{len(found.heads)} heads in both, {found.share:.0%} with the same label. {text}\n")
    labels = console.table("label in A", *(f" {label} in B" for label in found.confusion.columns), left=("label in A",))
    for label, row in found.confusion.iterrows():
        labels.add_row(str(label), *(str(count) for count in row))
    console.out.print(labels)
    numbers = console.table("\nrank correlation of", "", left=("\nrank correlation of",))
    for name, value in found.correlations.items():
        numbers.add_row(_COLUMNS.get(name, name), "-" if value != value else f"{value:.2f}")
    console.out.print(numbers)
    others = found.heads.loc[~found.heads["same"]]
    if len(others):
        some = others.head(_MOST).to_dict("records")
        listed = [f"{row['layer']}.{row['head']} ({row['label_a']}, {row['label_b']})" for row in some]
        more = f" and {len(others) - _MOST} more" if len(others) > _MOST else ""
        console.remark(f"Heads with another label (in A, in B): {', '.join(listed)}{more}.")
    if found.left_out:
        console.remark(
            f"{found.left_out} heads are in one table only: heads are paired by layer and number, which says little of "
            "two models of another shape."
        )


def share(
    scores: Annotated[Path, typer.Argument(help=_SCORES, parser=place)],
    parquet: Annotated[Path | None, typer.Option(help="Write them as Parquet to this file.", parser=place)] = None,
    push: Annotated[str | None, typer.Option(help="Add them to this dataset of the Hub, OWNER/NAME.")] = None,
) -> None:
    """Give head scores to others: as a Parquet file, or as a dataset of the Hub."""
    from whatwhere.studies.language_models import shared_scores

    if parquet is None and push is None:
        raise WhatwhereError("expected --parquet FILE or --push OWNER/NAME, got neither; name one of them.")
    table = shared_scores.read_scores(scores)
    if parquet is not None:
        content = shared_scores.to_parquet(table)
        if content is None:
            raise WhatwhereError("pyarrow is needed to write Parquet; install it: pip install pyarrow")
        write_bytes(parquet, content)
        console.note(f"Written: {parquet}")
    if push is not None:
        console.note(f"Pushed: {shared_scores.push(table, push)}")
