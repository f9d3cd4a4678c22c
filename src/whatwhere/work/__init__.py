"""Which studies run on which models, in which processes."""
