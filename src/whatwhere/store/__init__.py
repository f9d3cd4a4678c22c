"""Atomic files on disk: documents, tables, weights, manifests, remote addresses."""
