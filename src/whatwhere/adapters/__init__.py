"""Other people's models, read into the same trace; and scores along anyone's training."""
