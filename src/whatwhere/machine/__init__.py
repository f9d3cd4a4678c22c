"""What this computer has: memory, cores, devices."""
