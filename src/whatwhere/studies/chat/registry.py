"""What inspect-ai finds by name: the tasks, the reference solvers and our trained models."""

from whatwhere.studies.chat.reference import reference
from whatwhere.studies.chat.tasks import multi_hop_letter, multi_hop_number, one_hop_letter, one_hop_number
from whatwhere.studies.chat.trained import trained

__all__ = ["multi_hop_letter", "multi_hop_number", "one_hop_letter", "one_hop_number", "reference", "trained"]
