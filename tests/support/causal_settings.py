"""Settings with which the study ``causal`` of a tiny model takes a second."""

from typing import Any

SMALL: dict[str, Any] = {
    "window": 14, "inputs": 4, "prompts": 3, "heads": 2, "draws": 2, "far": 6, "sizes": (), "recent": 2, "gamma": 0.2,
}  # fmt: skip
