"""The theorems: hand-built heads that run, exact margins, and the bounds as printed and as corrected."""

from __future__ import annotations

from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import NOTHING
from whatwhere.studies.theorems.tables import (
    CheckRow,
    Discrepancy,
    LayerMargin,
    Margin,
    PlaneVector,
    ReachRow,
    Temperature,
    TheoremsSettings,
)

_HERE = "whatwhere.studies.theorems"

THEOREMS = Study(
    name="theorems",
    question="Can one rotary head follow a pointer by where or by what, and up to which length?",
    paper="Sections 3.2, 3.4 and 3.5; Theorems 1 and 2; Figures 4A and 5A",
    subject=NOTHING,
    settings=TheoremsSettings,
    tables={
        "checks": CheckRow,
        "discrepancy": Discrepancy,
        "layers": LayerMargin,
        "temperatures": Temperature,
        "reach": ReachRow,
        "margins": Margin,
        "vectors": PlaneVector,
    },
    measure=f"{_HERE}.measure:measure",
    summary=f"{_HERE}.summary:summary",
    figures=(
        Figure("figure-5a-discrepancy", f"{_HERE}.figures:draw_discrepancy", ("discrepancy",)),
        Figure("figure-5a-layers", f"{_HERE}.figures:draw_layers", ("layers",)),
        Figure("figure-4a-geometry", f"{_HERE}.figures:draw_geometry", ("vectors",)),
        Figure("margin-map", f"{_HERE}.figures:draw_margins", ("margins",)),
    ),
    claims=f"{_HERE}.claims:CLAIMS",
    page=f"{_HERE}:part.js",
    smoke={"inputs": 200},
    example="whatwhere theorems --theta 0.866 --length 64 --beta 40",
)
