"""What do the paper's findings depend on: data, rate, dropout, heads, layers, length of training, or the seed?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import SHIPPED, SWEEP

SHIPPED_AT = Path(__file__).with_name(SHIPPED)
"""Tables that come with the package: no training is needed to read them."""
ATLAS = Study(
    name="atlas",
    question="What do the paper's findings depend on: data, rate, dropout, heads, layers, training length, or seed?",
    paper="all of Section 3, which shows one run per task",
    panel="The whole paper, and many runs",
    subject=replace(SWEEP, shipped=SHIPPED_AT),
    source=SHIPPED,
    sweep=Path(__file__).with_name("conditions.toml"),
    folder=__name__,
    settings=".tables:AtlasSettings",
    tables={
        "items": ".tables:Item",
        "missing": ".tables:Missing",
        "outcomes": ".tables:Outcome",
        "verdicts": ".tables:ItemVerdict",
        "curves": ".tables:Point",
        "effects": ".tables:Effect",
        "map": ".tables:Cell",
        "recipes": ".tables:RecipePair",
        "answers": ".tables:Answer",
    },
    figures=(
        Figure("atlas-map", ".figures:draw_map", ("map",)),
        Figure("atlas-paper", ".figures:draw_paper", ("map",)),
        Figure("atlas-effects", ".figures:draw_effects", ("effects",)),
    ),
    page_tables=("items", "verdicts", "curves", "effects", "map", "answers"),
    page_data=".claim_map:page_data",
    example="whatwhere atlas shipped",
)
