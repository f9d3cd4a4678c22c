"""What inspect-ai finds by name: the tasks, the reference solvers and our trained models."""

from whatwhere.llm.reference import ReferenceSolver
from whatwhere.llm.tasks import multi_hop_letter, multi_hop_number, one_hop_letter, one_hop_number
from whatwhere.llm.trained import TrainedModel

__all__ = [
    "ReferenceSolver",
    "TrainedModel",
    "multi_hop_letter",
    "multi_hop_number",
    "one_hop_letter",
    "one_hop_number",
]
