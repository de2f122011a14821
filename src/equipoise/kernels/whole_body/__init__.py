"""The quadratic programme of whole-body torques, compiled."""
