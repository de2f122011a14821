"""Many runs: studies, and environments in which policies are trained."""
