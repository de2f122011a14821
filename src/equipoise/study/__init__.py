"""Many runs: studies, their points, their store, and where they run; maps of pushes."""
