"""Drawing in software: triangles, light and shadow, for films without a display."""
