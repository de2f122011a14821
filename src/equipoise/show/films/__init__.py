"""Films and pictures, drawn in software."""
