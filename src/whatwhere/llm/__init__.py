"""The one-hop benchmark for chat models (Section 6, Appendix "Generalization on LLMs"), on inspect-ai."""
