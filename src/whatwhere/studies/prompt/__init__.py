"""At which prompt length does a language model lose a fact? Predicted from short prompts, and checked."""

from __future__ import annotations

from whatwhere.studies.prompt.tables import About, Answer, Forecast, KeyHead, LengthRow, PromptSettings, Without
from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import LANGUAGE_MODEL

PROMPT = Study(
    name="prompt",
    question="At which prompt length does a language model lose a fact, and do short prompts predict it?",
    paper="beyond the paper; Section 3.6 asks it of its own models",
    subject=LANGUAGE_MODEL,
    folder=__name__,
    settings=PromptSettings,
    tables={
        "heads": KeyHead,
        "without": Without,
        "answers": Answer,
        "lengths": LengthRow,
        "forecasts": Forecast,
        "about": About,
    },
    figures=(Figure("prompt-forecast", ".figures:draw_forecast", ("lengths", "forecasts")),),
    smoke={"prompts": 2, "checked": 1},
    example="whatwhere prompt HuggingFaceTB/SmolLM2-135M --text notes.txt --check 2048,4096",
)
