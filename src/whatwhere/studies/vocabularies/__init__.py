"""Sequence length, hop length or vocabulary size: which costs training steps, purity of heads and reach?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import SWEEP
from whatwhere.studies.vocabularies import tables

_HERE = "whatwhere.studies.vocabularies"

VOCABULARIES = Study(
    name="vocabularies",
    question="Sequence length, hop length or vocabulary size: which costs training steps, pure heads and reach?",
    paper="Section 4 names larger and compositional vocabularies, which separate the three",
    subject=replace(SWEEP, help="A directory that `whatwhere sweep vocabularies` made."),
    sweep=Path(__file__).with_name("vocabularies.toml"),
    settings=tables.VocabulariesSettings,
    tables={
        "runs": tables.SizedRun,
        "missing": tables.Missing,
        "outcomes": tables.Outcome,
        "effects": tables.Effect,
        "costs": tables.Cost,
    },
    measure=f"{_HERE}.measure:measure",
    summary=f"{_HERE}.summary:summary",
    figures=(Figure("vocabularies", f"{_HERE}.figures:draw_costs", ("costs", "runs")),),
    claims=f"{_HERE}.claims:CLAIMS",
    page=f"{_HERE}:part.js",
    page_tables=("runs", "costs"),
    page_data=f"{_HERE}.summary:page_data",
    example="whatwhere vocabularies sweeps/vocabularies",
)
