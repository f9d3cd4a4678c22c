"""Which rotary planes does a trained model use, and what do keys and queries look like there? (Sections 3.4, 3.5)."""

from __future__ import annotations

from whatwhere.studies.geometry import tables
from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import TRAINED

_HERE = "whatwhere.studies.geometry"

GEOMETRY = Study(
    name="geometry",
    question="Which rotary frequencies do the heads use, and what do keys and queries look like there?",
    paper="Sections 3.4 and 3.5, Figure 4, table and figure of frequencies",
    subject=TRAINED,
    settings=tables.GeometrySettings,
    tables={
        "weights": tables.PlaneWeight, "ids": tables.FrequencyId, "keys": tables.KeyAlignment,
        "queries": tables.QueryTurn, "matching": tables.LetterMatching, "vectors": tables.PlaneVector,
        "nulls": tables.NullComparison, "gating": tables.GatedAccuracy,
    },
    measure=f"{_HERE}.measure:measure",
    summary=f"{_HERE}.summary:summary",
    figures=(
        Figure("frequency-use", f"{_HERE}.figures:draw_frequencies", ("weights", "ids")),
        Figure(
            "figure-4-geometry", f"{_HERE}.plane_figures:draw_planes", ("weights", "queries", "matching", "vectors")
        ),
        Figure("frequency-gating", f"{_HERE}.figures:draw_gating", ("gating",)),
        Figure("table-angles", f"{_HERE}.figures:draw_angles", ("ids",), shows="models"),
    ),
    claims=f"{_HERE}.claims:CLAIMS",
    page=f"{_HERE}:part.js",
    page_tables=("weights", "ids", "vectors"),
    smoke={"inputs": 16},
    example="whatwhere geometry number",
)  # fmt: skip
