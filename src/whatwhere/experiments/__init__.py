"""From a model or a run to results on disk: what its heads do, which frequencies they use, how far it carries."""
