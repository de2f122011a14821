"""Poses to measure: drawn, checked, chosen."""
