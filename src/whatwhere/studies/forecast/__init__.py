"""Can inputs of the training length predict where a model breaks? (Sections 3.5, 3.6; future work of Section 4)."""

from __future__ import annotations

from dataclasses import replace

from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import TRAINED

FORECAST = Study(
    name="forecast",
    question="Can inputs of the training length predict where a model breaks?",
    paper="Sections 3.5 and 3.6; a direction of Section 4",
    panel="Models of the paper's tasks",
    subject=replace(TRAINED, part=None),  # not part of a reproduction: it takes minutes for each model
    folder=__name__,
    settings=".tables:ForecastSettings",
    tables={
        "variants": ".tables:Variant", "forecasts": ".tables:PredictedBreak", "seal": ".tables:Seal",
        "accuracy": ".tables:LengthAccuracy", "breaks": ".tables:MeasuredBreak",
        "calibration": ".tables:Calibration",
    },
    figures=(
        Figure("forecast-calibration", ".figures:draw_calibration", ("variants", "forecasts", "breaks")),
        Figure("forecast-errors", ".figures:draw_errors", ("calibration",)),
        Figure("forecast-models", ".figures:draw_calibration", ("variants", "forecasts", "breaks"),
               shows="models"),
    ),
    page_tables=("variants", "forecasts", "breaks", "calibration"),
    outcomes=".summary:outcomes",
    smoke={"inputs": 12, "forecast_inputs": 8, "longest": 34, "variations": ("as-trained", "logits-0.5")},
    example="whatwhere forecast letter --more number,runs/number/checkpoints/step-00004000.safetensors",
)  # fmt: skip
