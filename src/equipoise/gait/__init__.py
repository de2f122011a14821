"""Where the centre of mass, the zero-moment point and the feet should be over time."""
