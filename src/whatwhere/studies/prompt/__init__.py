"""At which prompt length does a language model lose a fact? Predicted from short prompts, and checked."""

from __future__ import annotations

from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import LANGUAGE_MODEL

PROMPT = Study(
    name="prompt",
    question="At which prompt length does a language model lose a fact, and do short prompts predict it?",
    paper="beyond the paper; Section 3.6 asks it of its own models",
    panel="Language models",
    subject=LANGUAGE_MODEL,
    folder=__name__,
    settings=".tables:PromptSettings",
    tables={
        "heads": ".tables:KeyHead",
        "without": ".tables:Without",
        "answers": ".tables:Answer",
        "lengths": ".tables:LengthRow",
        "forecasts": ".tables:Forecast",
        "about": ".tables:About",
    },
    figures=(Figure("prompt-forecast", ".figures:draw_forecast", ("lengths", "forecasts")),),
    smoke={"prompts": 2, "checked": 1},
    example="whatwhere prompt HuggingFaceTB/SmolLM2-135M --text notes.txt --check 2048,4096",
)
