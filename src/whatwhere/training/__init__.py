"""From a configuration to a series of checkpoints that can be interrupted, resumed and repeated bit for bit."""
