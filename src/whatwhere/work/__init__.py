"""The jobs of reproductions and sweeps, and their execution in processes or on a cluster."""
