"""Which rotary planes does a trained model use, and what do keys and queries look like there? (Sections 3.4, 3.5)."""

from __future__ import annotations

from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import TRAINED

GEOMETRY = Study(
    name="geometry",
    question="Which rotary frequencies do the heads use, and what do keys and queries look like there?",
    paper="Sections 3.4 and 3.5, Figure 4, table and figure of frequencies",
    panel="Models of the paper's tasks",
    subject=TRAINED,
    folder=__name__,
    settings=".tables:GeometrySettings",
    tables={
        "weights": ".tables:PlaneWeight", "ids": ".tables:FrequencyId", "keys": ".tables:KeyAlignment",
        "queries": ".tables:QueryTurn", "matching": ".tables:LetterMatching", "vectors": ".tables:PlaneVector",
        "nulls": ".tables:NullComparison", "gating": ".tables:GatedAccuracy",
    },
    figures=(
        Figure("frequency-use", ".figures:draw_frequencies", ("weights", "ids")),
        Figure("figure-4-geometry", ".figures:draw_planes", ("weights", "queries", "matching", "vectors")),
        Figure("frequency-gating", ".figures:draw_gating", ("gating",)),
        Figure("table-angles", ".figures:draw_angles", ("ids",), shows="models"),
    ),
    page_tables=("weights", "ids", "vectors"),
    smoke={"inputs": 16},
    example="whatwhere geometry number",
)  # fmt: skip
