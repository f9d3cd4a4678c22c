"""When do the heads of a language model specialise? A small Llama is trained on text and watched (future work)."""

from __future__ import annotations

from dataclasses import replace

from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import NOTHING

GROWTH = Study(
    name="growth",
    question="When do the heads of a language model become positional or symbolic, and does induction come with them?",
    paper="Section 4, future work on larger models",
    panel="Language models",
    subject=replace(NOTHING, part=None),
    folder=__name__,
    settings=".tables:GrowthSettings",
    tables={
        "scores": "whatwhere.studies.dynamics.tables:Score",
        "detectors": ".tables:Detector",
        "losses": ".tables:Loss",
        "onsets": ".tables:Onset",
    },
    figures=(
        Figure("growth", ".figures:draw_growth", ("losses", "detectors", "onsets")),
        Figure("growth-heads", "whatwhere.studies.watched.figures:draw_heads", ("scores",)),
    ),
    page_tables=("scores", "detectors", "losses", "onsets"),
    outcomes=".summary:outcomes",
    smoke={"tokens": 8192, "d_model": 16, "layers": 2, "heads": 2, "window": 32, "batch": 8, "evaluations": 3},
    example="whatwhere growth --tokens 1000000",
)
