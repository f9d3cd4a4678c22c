"""Do models follow longer chains than they were trained on, and does a looped block help? (Section 4)."""

from __future__ import annotations

from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import TRAINED

HOPS = Study(
    name="hops",
    question="Do models follow longer chains than they were trained on?",
    paper="Section 3.2 beyond 4 hops; a direction of Section 4",
    panel="Models of the paper's tasks",
    subject=TRAINED,
    folder=__name__,
    settings=".tables:HopsSettings",
    tables={
        "accuracy": ".tables:LoopedAccuracy",
        "layers": "whatwhere.studies.mechanism.tables:LayersUsed",
        "confirmed": ".tables:Confirmed",
    },
    figures=(
        Figure("hops-accuracy", ".figures:draw_hops", ("accuracy", "layers")),
        Figure("hops-models", ".figures:draw_models", ("accuracy",), shows="models"),
    ),
    page_tables=("accuracy", "layers", "confirmed"),
    outcomes=".summary:outcomes",
    smoke={"inputs": 16, "loops": 1},
    short={"loops": 1},
    example="whatwhere hops number --loops 2 --compare letter",
)
