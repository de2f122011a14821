"""Limbs, soles and the standing posture, which robot files do not name."""
