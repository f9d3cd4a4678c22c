"""The data of each figure as CSV beside its copy in ``DIR/figures``.

Analyses draw beside their tables. A copy of a figure takes the tables that it was drawn from along, under its own
name: ``frequency-use-number.png`` has ``frequency-use-number.frequency.csv`` and ``frequency-use-number.table.csv``.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from whatwhere.store.storage import whole_file, write_csv
from whatwhere.studies.mechanism.flow import Flow

TABLES: dict[str, tuple[str, ...]] = {
    "mechanism": (
        "roles", "readout", "pointers", "moves", "ablation", "patching", "layers_used", "hops", "windows", "verdicts",
    ),
    "frequency-use": ("frequency", "table"),
    "figure-4-geometry": ("vectors", "frequency", "queries", "matching"),
    "frequency-gating": ("gating",),
    "figure-5b-length": ("accuracy", "chain"),
    "margins": ("hops", "breaks"),
}  # fmt: skip
"""By figure; tables that a task does not have are left out."""
FLOW = "figure-3-flow"
FLOW_COLUMNS = ("panel", "layer", "position", "key", "weight", "head", "token", "chance", "function")


def write_data(figure: str, source: Path, to: Path) -> None:
    """Writes the data of one figure beside its copy.

    Args:
        figure: its name in the analysis, such as ``frequency-use``.
        source: the directory of the analysis.
        to: the copy of the figure; only its name matters.

    Raises:
        WhatwhereError: a flow is damaged, or the disk is full.
    """
    if figure == FLOW:
        flow = Flow.read(source / "flow.json")
        panels = (("trained", flow.trained), ("ideal", flow.ideal))
        rows = [
            (panel, look.layer, look.position, look.key, look.weight, look.head, look.token, look.chance, look.function)
            for panel, looks in panels
            for look in looks
        ]
        write_csv(to.with_suffix(".csv"), FLOW_COLUMNS, rows)
    elif figure in TABLES:
        for table in TABLES[figure]:
            _copy(source / f"{table}.csv", to.with_suffix(f".{table}.csv"))
    else:
        _copy(source / f"{figure}.csv", to.with_suffix(".csv"))


def _copy(table: Path, to: Path) -> None:
    if table.is_file():
        with whole_file(to) as beside:
            shutil.copyfile(table, beside)
