"""Do models follow longer chains than they were trained on, and does a looped block help? (Section 4)."""

from __future__ import annotations

from whatwhere.studies.hops.tables import Confirmed, HopsSettings, LoopedAccuracy
from whatwhere.studies.mechanism.tables import LayersUsed
from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import TRAINED

_HERE = "whatwhere.studies.hops"

HOPS = Study(
    name="hops",
    question="Do models follow longer chains than they were trained on?",
    paper="Section 3.2 beyond 4 hops; a direction of Section 4",
    subject=TRAINED,
    settings=HopsSettings,
    tables={"accuracy": LoopedAccuracy, "layers": LayersUsed, "confirmed": Confirmed},
    measure=f"{_HERE}.measure:measure",
    summary=f"{_HERE}.summary:summary",
    figures=(
        Figure("hops-accuracy", f"{_HERE}.figures:draw_hops", ("accuracy", "layers")),
        Figure("hops-models", f"{_HERE}.figures:draw_models", ("accuracy",), shows="models"),
    ),
    claims=f"{_HERE}.claims:CLAIMS",
    page=f"{_HERE}:part.js",
    page_tables=("accuracy", "layers", "confirmed"),
    outcomes=f"{_HERE}.summary:outcomes",
    smoke={"inputs": 16, "loops": 1},
    example="whatwhere hops number --loops 2 --compare letter",
)
