"""Figures and tables, drawn from what is on disk; nothing is computed anew here."""
