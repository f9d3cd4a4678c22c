"""Letters or distances: which does a model follow if it learned from both? (Section 4)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import TRAINED

PREFERENCE = Study(
    name="preference",
    question="Where letters and distances disagree, which does the model follow, and up to which length?",
    paper="beyond the paper; Section 4 names training that prefers symbolic solutions",
    panel="Models of the paper's tasks",
    subject=replace(TRAINED, part=None, help="A run on the task both, or one of its checkpoints."),
    folder=__name__,
    settings=".tables:PreferenceSettings",
    tables={"accuracy": ".tables:Accuracy", "answers": ".tables:Answer", "heads": ".tables:HeadScore"},
    figures=(
        Figure("preference", ".figures:draw_preference", ("accuracy", "answers", "heads")),
        Figure("preference-arms", ".figures:draw_arms", ("accuracy", "answers"), shows="models"),
    ),
    page_tables=("accuracy", "answers", "heads"),
    outcomes=".summary:outcomes",
    sweep=Path(__file__).with_name("arms.toml"),
    smoke={"inputs": 16, "lengths": (33,)},
    example="whatwhere preference runs/both",
)
