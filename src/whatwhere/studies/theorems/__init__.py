"""The theorems: hand-built heads that run, exact margins, and the bounds as printed and as corrected."""

from __future__ import annotations

from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import NOTHING

THEOREMS = Study(
    name="theorems",
    question="Can one rotary head follow a pointer by where or by what, and up to which length?",
    paper="Sections 3.2, 3.4 and 3.5; Theorems 1 and 2; Figures 4A and 5A",
    panel="Theory and scores",
    subject=NOTHING,
    folder=__name__,
    settings=".tables:TheoremsSettings",
    tables={
        "checks": ".tables:CheckRow",
        "discrepancy": ".tables:Discrepancy",
        "layers": ".tables:LayerMargin",
        "temperatures": ".tables:Temperature",
        "reach": "whatwhere.theory.reach:Reach",
        "margins": ".tables:Margin",
        "vectors": ".tables:PlaneVector",
    },
    figures=(
        Figure("figure-5a-discrepancy", ".figures:draw_discrepancy", ("discrepancy",)),
        Figure("figure-5a-layers", ".figures:draw_layers", ("layers",)),
        Figure("figure-4a-geometry", ".figures:draw_geometry", ("vectors",)),
        Figure("margin-map", ".figures:draw_margins", ("margins",)),
    ),
    smoke={"inputs": 200},
    example="whatwhere theorems --theta 0.866 --length 64 --beta 40",
)
