"""How far does a trained model generalise, and can it be predicted? (Section 3.6, Figure 5B)."""

from __future__ import annotations

from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import TRAINED

LENGTH = Study(
    name="length",
    question="How far does the model generalise beyond its training length, and can it be predicted?",
    paper="Section 3.6, Figure 5B",
    panel="Models of the paper's tasks",
    subject=TRAINED,
    folder=__name__,
    settings=".tables:LengthSettings",
    tables={"accuracy": ".tables:Accuracy", "hops": ".tables:Hop", "chain": ".tables:Chain", "breaks": ".tables:Break"},
    figures=(
        Figure("length-accuracy", ".figures:draw_accuracy", ("accuracy", "chain")),
        Figure("length-margins", ".figures:draw_margins", ("hops", "breaks")),
        Figure("figure-5b-length", ".figures:draw_models", ("accuracy",), shows="models"),
    ),
    page_tables=("accuracy", "chain", "breaks"),
    outcomes=".summary:outcomes",
    smoke={"inputs": 16, "lengths": (33,), "varied_lengths": (33,)},
    short={"far_inputs": 75},
    example="whatwhere length letter --lengths 65,850",
)
