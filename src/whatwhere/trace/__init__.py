"""What a model's attention layers did, and models run with interventions."""
