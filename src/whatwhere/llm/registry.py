"""What inspect-ai finds by name: the tasks, the reference solvers and our trained models."""

from whatwhere.llm.reference import reference
from whatwhere.llm.tasks import multi_hop_letter, multi_hop_number, one_hop_letter, one_hop_number
from whatwhere.llm.trained import trained

__all__ = ["multi_hop_letter", "multi_hop_number", "one_hop_letter", "one_hop_number", "reference", "trained"]
