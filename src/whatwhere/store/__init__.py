"""Files that appear whole or not at all: documents, tables, weights, manifests, addresses."""
