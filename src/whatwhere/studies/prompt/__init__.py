"""Will a language model survive a longer prompt? Predicted from short ones, and checked."""

from __future__ import annotations

from dataclasses import replace

from whatwhere.studies.prompt.tables import About, Answer, Forecast, KeyHead, LengthRow, PromptSettings, Without
from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import ROTARY

_HERE = "whatwhere.studies.prompt"

PROMPT = Study(
    name="prompt",
    question="Will it survive a longer prompt?",
    paper="beyond it; Section 3.6 asks it of the paper's own models",
    subject=replace(ROTARY, part=None, help="A model directory, a hub name or a GGUF file."),
    settings=PromptSettings,
    tables={
        "heads": KeyHead,
        "without": Without,
        "answers": Answer,
        "lengths": LengthRow,
        "forecasts": Forecast,
        "about": About,
    },
    measure=f"{_HERE}.measure:measure",
    summary=f"{_HERE}.summary:summary",
    figures=(Figure("prompt-forecast", f"{_HERE}.figures:draw_forecast", ("lengths", "forecasts")),),
    claims=f"{_HERE}.claims:CLAIMS",
    smoke={"prompts": 2, "checked": 1},
    example="whatwhere prompt HuggingFaceTB/SmolLM2-135M --text notes.txt --check 2048,4096",
)
