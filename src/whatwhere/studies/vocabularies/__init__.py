"""Sequence length, hop length or vocabulary size: which costs training steps, purity of heads and reach?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import SWEEP

VOCABULARIES = Study(
    name="vocabularies",
    question="Sequence length, hop length or vocabulary size: which costs training steps, pure heads and reach?",
    paper="Section 4 names larger and compositional vocabularies, which separate the three",
    panel="The whole paper, and many runs",
    subject=replace(SWEEP, help="A directory that `whatwhere sweep vocabularies` made.", home="the sweep itself"),
    sweep=Path(__file__).with_name("vocabularies.toml"),
    folder=__name__,
    settings=".tables:VocabulariesSettings",
    tables={
        "runs": ".tables:SizedRun",
        "missing": "whatwhere.studies.atlas.tables:Missing",
        "outcomes": "whatwhere.studies.atlas.tables:Outcome",
        "effects": "whatwhere.studies.atlas.tables:Effect",
        "costs": ".tables:Cost",
    },
    figures=(Figure("vocabularies", ".figures:draw_costs", ("costs", "runs")),),
    page_tables=("runs", "costs"),
    page_data=".summary:page_data",
    example="whatwhere vocabularies sweeps/vocabularies",
)
