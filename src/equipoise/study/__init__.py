"""Many runs: studies and where they run, maps of pushes, environments for training."""
