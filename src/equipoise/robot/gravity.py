"""How strongly things fall where nothing else is said."""

# Standard gravity [m/s²].
STANDARD_GRAVITY = 9.80665
